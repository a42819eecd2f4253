"""Graphs without a batch axis process the arrays of a file in one call.

Regression test: outputs had the supposed number of samples as a size, with zeros after their
elements.
"""

import harness
import numpy as np
import onnxruntime
import pytest
import references
from onnx import TensorProto, helper, numpy_helper

RANDOM = np.random.default_rng(0)
WEIGHT = RANDOM.standard_normal((4, 3)).astype(np.float32)


def build(nodes, inputs, outputs):
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "whole",
        [info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
        [numpy_helper.from_array(WEIGHT, "w")] if any("w" in node.input for node in nodes) else [],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def split():
    """Splits six elements into three parts."""
    nodes = [
        helper.make_node("Split", ["x"], ["p", "q", "r"], axis=0),
        helper.make_node("Tanh", ["p"], ["y"]),
        helper.make_node("Mul", ["q", "r"], ["z"]),
    ]
    return build(nodes, {"x": [6]}, {"y": [2], "q": [2], "z": [2]})


def gather():
    """Gathers the rows 2 and 0 of x w."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"]),
        helper.make_node("Constant", [], ["i"], value_ints=[2, 0]),
        helper.make_node("Gather", ["m", "i"], ["y"], axis=0),
    ]
    return build(nodes, {"x": [5, 4]}, {"y": [2, 3]})


def numbers(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


CASES = {
    "split": (split(), {"x": numbers(6), "target": numbers(2)}),
    "gather": (gather(), {"x": numbers(5, 4), "target": numbers(2, 3)}),
}


def check_infer(model, data):
    feeds = {name: array for name, array in data.items() if name != "target"}
    session = onnxruntime.InferenceSession(model.SerializeToString())
    names = [output.name for output in session.get_outputs()]
    found = harness.compile_model(model, "--loss=mse").infer(feeds)
    for name, value in zip(names, session.run(names, feeds), strict=True):
        assert found[name].shape == value.shape
        np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_infer_and_grad_do_not_slice(case):
    model, data = CASES[case]
    check_infer(model, data)
    program = harness.compile_model(model, "--loss=mse")
    assert program.info()["inputs"][0]["batch_axis"] is None
    exact, single = references.gradients(model, data, "mse")
    for backward in ("sequential", "scan"):
        harness.check_gradients(program.grad(data, f"--backward={backward}"), exact, single)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("command", ["train", "eval", "bench"])
def test_commands_that_need_batches_are_refused(case, command, tmp_path):
    model, data = CASES[case]
    np.savez(tmp_path / "d.npz", **data)
    options = {
        "train": ["--data", tmp_path / "d.npz", "--save", tmp_path / "out.onnx"],
        "eval": ["--data", tmp_path / "d.npz"],
        "bench": ["--batch=4"],
    }[command]
    found = harness.compile_model(model, "--loss=mse").run(command, *options)
    assert found.returncode == 1 and found.stdout == "" and found.stderr.count("\n") == 1
    assert "so nothing can be sliced into batches" in found.stderr
    # The columns of x w are not samples, because w has different values for each of them.
    assert "`infer` and `grad` take the arrays of a file as one call" in found.stderr
    assert not (tmp_path / "out.onnx").exists()


def test_accepted_axes_are_named():
    nodes = [helper.make_node("Split", ["x"], ["y", "z"], axis=0)]
    model = build(nodes, {"x": [2, 4]}, {"y": [1, 4], "z": [1, 4]})
    found = harness.compile_model(model, "--loss=mse").run("bench", "--batch=4")
    assert found.returncode == 1 and found.stderr.endswith(
        "accepted: [--batch-axis=x:1 (axis 1 of input 'x', [2, 4])]\n"
    )


def gemm(c):
    """y = x w + c"""
    nodes = [helper.make_node("Gemm", ["x", "w", "c"], ["y"])]
    return build(nodes, {"x": ["N", 4], "c": c}, {"y": ["N", 3]})


@pytest.mark.parametrize("c", [[3], [1, 3], [1], [1, 1]], ids=str)
def test_input_without_batch_axis_is_shared(c, tmp_path):
    """All batches use the same array; 300 samples need several batches."""
    model = gemm(c)
    data = {"x": numbers(300, 4), "c": numbers(*c), "target": numbers(300, 3)}
    check_infer(model, data)
    program = harness.compile_model(model, "--loss=mse")
    part = {name: array if name == "c" else array[:20] for name, array in data.items()}
    exact, single = references.gradients(model, part, "mse")
    for backward in ("sequential", "scan"):
        harness.check_gradients(program.grad(part, f"--backward={backward}"), exact, single)
    found = program.eval(part, "--batch=8")
    assert found["samples"] == 20 and np.isclose(found["loss"], exact["loss"], rtol=1e-5)
    np.savez(tmp_path / "d.npz", **data)
    saved = tmp_path / "m.onnx"
    options = ["--batch=100", "--quiet", "--save", saved]
    harness.check_succeeded(program.run("train", "--data", tmp_path / "d.npz", *options))
    assert saved.exists()


def test_batched_bias_is_sliced():
    """The input C of the Gemm has one row per sample."""
    model = gemm(["N", 3])
    check_infer(model, {"x": numbers(300, 4), "c": numbers(300, 3)})
    inputs = harness.compile_model(model, "--loss=mse").info()["inputs"]
    assert [array["batch_axis"] for array in inputs] == [0, 0]


@pytest.mark.parametrize("command", ["train", "eval"])
def test_class_axis_is_not_sliced(command, tmp_path):
    """The transposed samples are the classes of the cross-entropy, so the loss mixes samples."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"]),
        helper.make_node("Transpose", ["m"], ["y"]),
    ]
    program = harness.compile_model(build(nodes, {"x": [5, 4]}, {"y": [3, 5]}))
    np.savez(tmp_path / "d.npz", x=numbers(10, 4), target=np.array([0, 1, 2]))
    found = program.run(command, "--data", tmp_path / "d.npz")
    assert found.returncode == 1 and found.stderr.endswith(
        "axis 1 of output 'y' carries the samples, but the loss cross-entropy has its classes "
        "there, so the array 'target' cannot be sliced into batches\n"
    )


def test_number_of_classes_must_be_fixed(tmp_path):
    compiler = harness.require_tool("bppsa-compile")
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    model = build(nodes, {"x": ["N", "M"]}, {"y": ["N", "M"]})
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    found = harness.run(compiler, tmp_path / "m.onnx", "-o", tmp_path / "out")
    assert found.returncode == 1 and not (tmp_path / "out").exists()
    assert found.stderr.endswith(
        "loss cross-entropy needs an output with a fixed number of classes, its last axis, found "
        "'tensor<?x?xf32>'; choose another output or a loss\n"
    )
