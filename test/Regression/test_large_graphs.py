"""Compile time grows linearly with the number of nodes.

The tests measure CPU time, which does not depend on the load of the machine. With four times
the nodes, linear algorithms take four times as long and quadratic ones 16 times.
"""

import resource

import harness
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

WIDTH = 4


@pytest.fixture(autouse=True)
def verify_once_a_phase(monkeypatch):
    """Verifies once per phase, as for users; other tests verify after every pass."""
    monkeypatch.setenv("BPPSA_VERIFY_EACH", "0")


def build(nodes, initializers=(), features=WIDTH, opset=18):
    """Returns a model from `x` to `y`, both [N, features]; initializers map names to shapes."""
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
    """Returns a chain of `n` nodes; node i also reads `inputs(i)`."""
    names = ["x", *(f"v{i}" for i in range(1, n)), "y"]
    return [
        helper.make_node(op, [names[i], *inputs(i)], [names[i + 1]], name=f"node{i}")
        for i in range(n)
    ]


def adds(n):
    return build(chain("Add", n, lambda i: ["w"]), {"w": [WIDTH]})


def parameters(n):
    """Returns a chain with a separate parameter for each node."""
    return build(chain("Mul", n, lambda i: [f"w{i}"]), {f"w{i}": [WIDTH] for i in range(n)})


def settings(n):
    """Returns a chain whose initializers, except one, are constant settings of nodes."""
    bounds = {name: [] for i in range(n) for name in (f"low{i}", f"high{i}")}
    nodes = chain("Clip", n, lambda i: [f"low{i}", f"high{i}"])
    nodes[-1] = helper.make_node("Mul", [nodes[-1].input[0], "w"], ["y"])
    return build(nodes, {**bounds, "w": [WIDTH]})


def parts(n):
    """Returns a Split and a Concat of its parts in reverse order."""
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
    """Returns the single-threaded compile time up to `phase` in seconds."""
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
def test_compile_time_is_linear(tmp_path, make, nodes, phase):
    small = min(seconds(tmp_path, make(nodes), phase) for _ in range(2))
    assert seconds(tmp_path, make(4 * nodes), phase) <= 8 * small


@pytest.mark.parametrize(
    ("make", "nodes", "phase"),
    [
        (adds, 20000, "differentiate"),
        (parts, 8000, "differentiate"),
        # Bufferization compared all pairs of loops that write tensors of one size.
        (adds, 250, "lower"),
    ],
)
def test_compile_time_of_large_graphs(tmp_path, make, nodes, phase):
    assert seconds(tmp_path, make(nodes), phase) <= 20
