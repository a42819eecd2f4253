"""What the compiler spends on a graph grows with its nodes, and not with their square.

Times are those of the processor, so that other work on the machine does not count. Four times the
nodes take four times as long where every step is linear, and 16 times where one is quadratic.
"""

import resource

import harness
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

WIDTH = 4


@pytest.fixture(autouse=True)
def verify_once_a_phase(monkeypatch):
    """As users have it: other tests verify after every pass."""
    monkeypatch.setenv("BPPSA_VERIFY_EACH", "0")


def build(nodes, initializers=(), features=WIDTH, opset=18):
    """A model of `x` and `y`, both [N, features]; initializers are names and shapes."""
    values = [
        numpy_helper.from_array(np.full(shape, 0.5, np.float32), name)
        for name, shape in dict(initializers).items()
    ]
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", features]) for name in "xy"
    )
    graph = helper.make_graph(nodes, "large", [x], [y], values)
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def chain(op, n, inputs):
    """`n` nodes behind one another, each with the inputs `inputs(i)` besides the one before."""
    names = ["x", *(f"v{i}" for i in range(1, n)), "y"]
    return [
        helper.make_node(op, [names[i], *inputs(i)], [names[i + 1]], name=f"node{i}")
        for i in range(n)
    ]


def adds(n):
    return build(chain("Add", n, lambda i: ["w"]), {"w": [WIDTH]})


def parameters(n):
    """As `adds`, with a parameter of its own for each node."""
    return build(chain("Mul", n, lambda i: [f"w{i}"]), {f"w{i}": [WIDTH] for i in range(n)})


def settings(n):
    """Initializers that are no parameters but settings of nodes, all but two."""
    bounds = {name: [] for i in range(n) for name in (f"low{i}", f"high{i}")}
    nodes = chain("Clip", n, lambda i: [f"low{i}", f"high{i}"])
    nodes[-1] = helper.make_node("Mul", [nodes[-1].input[0], "w"], ["y"])
    return build(nodes, {**bounds, "w": [WIDTH]})


def parts(n):
    """A Split and a Concat of all parts in another order."""
    names = [f"part{i}" for i in range(n)]
    return build(
        [
            helper.make_node("Mul", ["x", "w"], ["scaled"]),
            helper.make_node("Split", ["scaled"], names, axis=1, num_outputs=n),
            helper.make_node("Concat", names[::-1], ["y"], axis=1),
        ],
        {"w": [n]},
        features=n,
    )


def seconds(tmp_path, model, phase):
    """What the compiler takes up to `phase`, on one processor."""
    source = tmp_path / "model.onnx"
    source.write_bytes(model.SerializeToString())
    compiler = harness.require_tool("bppsa-compile")
    options = ("--loss=mse", "--mcpu=native", "--emit=mlir", f"--compile-to={phase}")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    harness.check_succeeded(
        harness.run(compiler, source, "-o", "/dev/null", *options, "--mlir-disable-threading")
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize(
    ("make", "nodes", "phase"),
    [
        (parameters, 5000, "import"),
        (settings, 2500, "import"),
        (parts, 1000, "differentiate"),
    ],
)
def test_time_grows_with_the_nodes(tmp_path, make, nodes, phase):
    small = min(seconds(tmp_path, make(nodes), phase) for _ in range(2))
    assert seconds(tmp_path, make(4 * nodes), phase) <= 8 * small


@pytest.mark.parametrize(
    ("make", "nodes", "phase"),
    [
        (adds, 20000, "differentiate"),
        (parts, 8000, "differentiate"),
        # Bufferization compared all loops that write into tensors of one size with each other.
        (adds, 250, "lower"),
    ],
)
def test_many_nodes(tmp_path, make, nodes, phase):
    assert seconds(tmp_path, make(nodes), phase) <= 20
