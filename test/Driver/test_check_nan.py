"""`--check-nan` names the node that produces the first NaN, and its time step in a loop."""

import numpy as np
import pytest
from harness import compile_model, run
from loop_models import body, node, scan
from onnx import TensorProto, helper, numpy_helper

W = np.array([1, 2, 3], np.float32)


def make(nodes, shape, **initializers):
    loss = helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    tensors = [numpy_helper.from_array(np.asarray(a), n) for n, a in initializers.items()]
    graph = helper.make_graph([*nodes, node("ReduceMean", "y", "loss", keepdims=0)], "graph", [x], [loss], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def forward():
    nodes = [node("Sub", "x w", "d", name="shift"), node("Log", "d", "l", name="/loss/Log"),
             node("Mul", "l w", "y", name="late")]  # fmt: skip
    return make(nodes, ["N", 3], w=W), np.array([[2, 3, 4], [2, 1, 5]])


def backward():
    """The infinite slope of the root at zero is multiplied by the zero slope of the square."""
    nodes = [node("Mul", "x w", "a", name="scale"), node("Mul", "a a", "q", name="square"),
             node("ReduceSum", "q one", "s", name="sum"), node("Sqrt", "s", "y", name="root")]  # fmt: skip
    return make(nodes, ["N", 3], w=W, one=np.array([1])), np.array([[1, 1, 1], [0, 0, 0]])


def steps(bad):
    x = np.zeros((6, 2, 3))
    x[bad, 1, 2] = 100
    return x


def vectors():
    """The body of the loop becomes a recurrence on vectors."""
    cell = [node("Sub", "s xt", "d", name="shift"), node("Sqrt", "d", "so", name="/cell/Sqrt"),
            node("Mul", "so w", "yt", name="late")]  # fmt: skip
    nodes = [scan(body(cell, "s xt", "so yt"), "s0 x", "last y", 1)]
    return make(nodes, ["T", 2, 3], w=W, s0=np.full((2, 3), 2, np.float32)), steps(3)


def tensors():
    """The body of the loop remains a graph."""
    cell = [node("MatMul", "s w", "h", name="/cell/MatMul"), node("Sub", "h xt", "d", name="/cell/Sub"),
            node("ReduceLogSumExp", "d", "q", name="/cell/LogSumExp", axes=[1]),
            node("Log", "q", "z", name="/cell/Log"), node("Add", "h z", "so", name="/cell/Add")]  # fmt: skip
    nodes = [scan(body(cell, "s xt", "so"), "s0 x", "y", 1)]
    x = steps(3)
    x[4] += 50
    return make(nodes, ["T", 2, 3], w=np.eye(3, dtype=np.float32), s0=np.ones((2, 3), np.float32)), x


CASES = {
    forward: "node '/loss/Log' (Log)\n",
    backward: "the backward pass of node 'square' (Mul)\n",
    vectors: "node '/cell/Sqrt' (Sqrt) at step 3\n",
    tensors: "node '/cell/Log' (Log) at step 4\n",
}


def write(path, x):
    np.savez(path, x=x.astype(np.float32))
    return path


@pytest.mark.parametrize("case", CASES)
def test_grad_names_the_node(tmp_path, case):
    model, x = case()
    program = compile_model(model, "--loss=none", "--check-nan")
    data, out = write(tmp_path / "data.npz", x), tmp_path / "out.npz"
    result = program.run("grad", "--data", data, "--out", out, "--check-nan")
    assert result.returncode == 1 and not out.exists()
    assert result.stderr.endswith(f"; the first NaN comes from {CASES[case]}"), result.stderr


def test_train_names_the_node(tmp_path):
    model, x = forward()
    program = compile_model(model, "--loss=none", "--check-nan")
    data = write(tmp_path / "data.npz", x)
    result = program.run("train", "--data", data, "--no-shuffle", "--batch", 1, "--check-nan", "--quiet")
    assert result.returncode == 1
    assert "(step 2): the loss is nan" in result.stderr and "node '/loss/Log' (Log)" in result.stderr
    good = write(tmp_path / "good.npz", x[:1])
    assert program.run("train", "--data", good, "--check-nan", "--quiet").returncode == 0


def test_infinite_loss(tmp_path):
    model, x = forward()
    program = compile_model(model, "--loss=none", "--check-nan")
    data = write(tmp_path / "data.npz", x[:1] * 0 + W)
    result = program.run("grad", "--data", data, "--out", tmp_path / "out.npz", "--check-nan")
    assert result.returncode == 1 and "no node produces a NaN" in result.stderr


def test_refusals(tmp_path):
    model, x = forward()
    data = write(tmp_path / "data.npz", x)
    plain = compile_model(model, "--loss=none")
    for words in (["grad", "--out", tmp_path / "out.npz"], ["train", "--quiet"]):
        result = plain.run(*words, "--data", data, "--check-nan")
        assert result.returncode == 1 and "compile the model with bppsa-compile --check-nan" in result.stderr
    tracing = compile_model(model, "--loss=none", "--check-nan")
    result = tracing.run("train", "--data", data, "--check-nan", "--accumulate", 2)
    assert result.returncode == 2 and "remove --accumulate" in result.stderr
