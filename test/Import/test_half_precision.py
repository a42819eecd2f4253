"""Models in float16 and bfloat16 are computed in float32."""

import harness
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

F32, F16, BF16 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16
HALF = np.float16([[0.5, -1.25, 6e-8, -3e-5], [65504, 1e-3, -0.0, 2], [0.1, 0.2, 0.3, -0.4]]) / np.float16(64)


def brain(array):
    """Converts to bfloat16 by truncation."""
    return (np.float32(array).view(np.uint32) >> 16).astype(np.uint16)


def widened(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def brain_tensor(name, bits, listed=False):
    tensor = TensorProto(name=name, data_type=BF16, dims=bits.shape)
    if listed:
        tensor.int32_data.extend(bits.ravel().tolist())
    else:
        tensor.raw_data = bits.tobytes()
    return tensor


V = brain(np.random.default_rng(1).normal(size=(4, 2)))
BIAS = brain([0.3, -0.7])


def make_model():
    """Returns a model with both types in initializers, inputs, outputs, casts and constants."""
    nodes = [
        ("MatMul", "x w", "h", {}),
        ("Cast", "h", "wide", {"to": F32}),
        ("Tanh", "wide", "t", {}),
        ("Cast", "t", "small", {"to": BF16}),
        ("MatMul", "small v", "product", {}),
        ("Add", "product bias", "sum", {}),
        ("Cast", "sum", "same", {"to": F16}),
        ("Constant", "", "two", {"value": numpy_helper.from_array(np.float16(2), "two")}),
        ("Mul", "same two", "y", {}),
    ]
    graph = helper.make_graph(
        [helper.make_node(op, inputs.split(), [output], name=output, **more) for op, inputs, output, more in nodes],
        "g",
        [helper.make_tensor_value_info("x", F16, ["N", 3])],
        [helper.make_tensor_value_info("y", F16, ["N", 2])],
        [numpy_helper.from_array(HALF, "w"), brain_tensor("v", V), brain_tensor("bias", BIAS, listed=True)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


X = np.random.default_rng(2).normal(size=(5, 3)).astype(np.float16)


def wanted(x):
    return 2 * (np.tanh(np.float32(x) @ np.float32(HALF)) @ widened(V) + widened(BIAS))


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_outputs(dtype):
    found = harness.compile_model(make_model(), "--loss=mse").infer({"x": X.astype(dtype)})["y"]
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted(X), rtol=2e-6, atol=1e-6)


def test_special_values():
    """Subnormals and negative zeros of float16 arrays are converted exactly."""
    node = helper.make_node("Mul", ["x", "s"], ["y"], name="node")
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", F16, ["N", 4])],
                              [helper.make_tensor_value_info("y", F16, ["N", 4])],
                              [numpy_helper.from_array(np.float16(1), "s")])  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    found = harness.compile_model(model, "--loss=mse").infer({"x": HALF})["y"]
    np.testing.assert_array_equal(found, np.float32(HALF))
    np.testing.assert_array_equal(np.signbit(found), np.signbit(HALF))


def test_saved_model(tmp_path):
    """The saved model is in float32 and computes the same outputs in ONNX Runtime."""
    program = harness.compile_model(make_model(), "--loss=mse")
    data, saved = tmp_path / "data.npz", tmp_path / "saved.onnx"
    np.savez(data, x=X, target=np.ones((5, 2), np.float16))
    harness.check_succeeded(
        program.run("train", "--data", data, "--epochs", 3, "--batch", 5, "--lr", 0.01, "--save", saved)
    )
    model = onnx.load(saved)
    onnx.checker.check_model(model, full_check=True)
    assert {tensor.data_type for tensor in model.graph.initializer} == {F32}
    assert not np.array_equal(numpy_helper.to_array(model.graph.initializer[1]), widened(V))
    x = X.astype(np.float32)
    (expected,) = onnxruntime.InferenceSession(saved).run(None, {"x": x})
    found = harness.compile_model(model, "--loss=mse").infer({"x": x})["y"]
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-6)


def test_note_about_float32(tmp_path):
    (tmp_path / "model.onnx").write_bytes(make_model().SerializeToString())
    command = [harness.require_tool("bppsa-compile"), tmp_path / "model.onnx", "-o", tmp_path / "out"]
    result = harness.check_succeeded(harness.run(*command, "--loss=mse", "--compile-to=import"))
    assert result.stderr.count("note: ") == 1
    assert "computed, and saved, as float32: 3 initializers, 2 graph inputs and outputs" in result.stderr
