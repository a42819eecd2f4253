"""Import and differentiation of long graphs take linear time and do not recurse deeply."""

import random
import resource

import harness
import onnx
import pytest
from onnx import TensorProto, helper


def chain(count):
    """Returns a chain of operations with separate initializers."""
    nodes, weights = [], []
    for i in range(count):
        weights.append(helper.make_tensor(f"w{i}", TensorProto.FLOAT, [4], [0.1] * 4))
        nodes.append(helper.make_node("Add", [f"v{i}" if i else "x", f"w{i}"], [f"v{i + 1}" if i < count - 1 else "y"]))
    return nodes, weights, 4


def parts(count):
    """Returns a split, an operation on each part, and a concatenation."""
    names = [f"s{i}" for i in range(count)], [f"t{i}" for i in range(count)]
    nodes = [helper.make_node("Tanh", [s], [t]) for s, t in zip(*names)]
    split = helper.make_node("Split", ["x"], names[0], axis=1)
    return [split, *nodes, helper.make_node("Concat", names[1], ["y"], axis=1)], [], count


def unlike_steps(count):
    """Returns products with 40 shared matrices and activations that vary randomly between steps."""
    weights = [helper.make_tensor(f"w{i}", TensorProto.FLOAT, [4, 4], [0.1] * 16) for i in range(40)]
    nodes, rng = [], random.Random(3)
    for i in range(count // 2):
        nodes.append(helper.make_node("MatMul", [f"v{i}" if i else "x", f"w{i % 40}"], [f"p{i}"]))
        kind = "Sigmoid" if rng.random() < 0.05 else "Tanh"
        nodes.append(helper.make_node(kind, [f"p{i}"], [f"v{i + 1}" if i < count // 2 - 1 else "y"]))
    return nodes, weights, 4


def measure(make, count, phase, directory):
    """Returns the user time of the compiler in seconds."""
    nodes, weights, size = make(count)
    arrays = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["B", size]) for name in "xy"]
    graph = helper.make_graph(nodes, "long", arrays[:1], arrays[1:], weights)
    path = directory / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), path)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    command = [harness.require_tool("bppsa-compile"), path, "--loss=mse", f"--compile-to={phase}"]
    harness.check_succeeded(harness.run(*command, "-o", directory / "out.mlir"))
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


@pytest.mark.parametrize(
    "make, count, phase",
    [(chain, 10000, "differentiate"), (parts, 4000, "differentiate"), (unlike_steps, 20000, "import")],
)
def test_linear_time(make, count, phase, tmp_path):
    short, long = (measure(make, number, phase, tmp_path) for number in (count // 8, count))
    # The ratio is 8 if time is linear and 64 if it is quadratic.
    assert long < 25 * max(short, 0.1)
