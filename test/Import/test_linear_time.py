"""Import and differentiation of long graphs: work that grows as the graph does, and no deep recursion."""

import resource

import harness
import onnx
import pytest
from onnx import TensorProto, helper


def chain(count):
    """Operations one after the other; each has an initializer of its own."""
    nodes, weights = [], []
    for i in range(count):
        weights.append(helper.make_tensor(f"w{i}", TensorProto.FLOAT, [4], [0.1] * 4))
        nodes.append(helper.make_node("Add", [f"v{i}" if i else "x", f"w{i}"], [f"v{i + 1}" if i < count - 1 else "y"]))
    return nodes, weights, 4


def parts(count):
    """A split, and a concatenation of what is made of each part."""
    names = [f"s{i}" for i in range(count)], [f"t{i}" for i in range(count)]
    nodes = [helper.make_node("Tanh", [s], [t]) for s, t in zip(*names)]
    split = helper.make_node("Split", ["x"], names[0], axis=1)
    return [split, *nodes, helper.make_node("Concat", names[1], ["y"], axis=1)], [], count


def measure(make, count, directory):
    """Seconds that the compiler works."""
    nodes, weights, size = make(count)
    arrays = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["B", size]) for name in "xy"]
    graph = helper.make_graph(nodes, "long", arrays[:1], arrays[1:], weights)
    path = directory / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), path)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    command = [harness.require_tool("bppsa-compile"), path, "--loss=mse", "--compile-to=differentiate"]
    harness.check_succeeded(harness.run(*command, "-o", directory / "out.mlir"))
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


@pytest.mark.parametrize("make, count", [(chain, 10000), (parts, 4000)])
def test_linear_time(make, count, tmp_path):
    short, long = measure(make, count // 8, tmp_path), measure(make, count, tmp_path)
    # Eight times as much where it is linear, 64 times where it is quadratic.
    assert long < 25 * max(short, 0.1)
