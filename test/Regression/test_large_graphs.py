"""What the compiler spends on a graph, up to differentiation, grows with its nodes and not with their square.

Times are those of the processor, so that other work on the machine does not count. Four times the nodes took
4 times as long where a step was linear, and 16 times where one was quadratic.
"""

import resource

import harness
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

WIDTH = 4


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
    """Initializers that are no parameters, but settings of nodes."""
    bounds = {name: [] for i in range(n) for name in (f"low{i}", f"high{i}")}
    nodes = chain("Clip", n, lambda i: [f"low{i}", f"high{i}"])
    return build([*nodes[:-1], helper.make_node("Mul", [nodes[-1].input[0], "w"], ["y"])],
                 {**bounds, "w": [WIDTH]})


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


def wide(n):
    """`n` products beside each other, and the tree of their sums."""
    nodes = [helper.make_node("Mul", ["x", "w"], [f"leaf{i}"]) for i in range(n)]
    level = [f"leaf{i}" for i in range(n)]
    while len(level) > 1:
        sums = [f"{left}+" if len(level) > 2 else "y" for left in level[::2]]
        nodes += [
            helper.make_node("Add", [left, right], [out])
            for left, right, out in zip(level[::2], level[1::2], sums, strict=True)
        ]
        level = sums
    return build(nodes, {"w": [WIDTH]})


def seconds(tmp_path, model):
    """What one processor takes up to differentiation."""
    source = tmp_path / "model.onnx"
    source.write_bytes(model.SerializeToString())
    compiler = harness.require_tool("bppsa-compile")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    harness.check_succeeded(
        harness.run(compiler, source, "-o", "/dev/null", "--loss=mse", "--emit=mlir",
                    "--compile-to=differentiate", "--mlir-disable-threading")
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize(
    ("make", "nodes"), [(adds, 1000), (parameters, 1000), (settings, 1000), (parts, 1000), (wide, 512)]
)
def test_time_grows_with_the_nodes(tmp_path, make, nodes):
    small, large = (min(seconds(tmp_path, make(n)) for _ in range(2)) for n in (nodes, 4 * nodes))
    assert large <= 8 * small


@pytest.mark.parametrize(("make", "nodes"), [(adds, 20000), (parts, 8000)])
def test_many_nodes(tmp_path, make, nodes):
    assert seconds(tmp_path, make(nodes)) <= 40
