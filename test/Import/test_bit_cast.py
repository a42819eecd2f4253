"""BitCast: bits of inputs can be reinterpreted; bits of computed floats have no derivative."""

import harness
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

F32, I32 = TensorProto.FLOAT, TensorProto.INT32


def make_model(nodes, type_):
    graph = helper.make_graph(
        [helper.make_node(op, inputs.split(), [output], name=output, **more) for op, inputs, output, more in nodes],
        "g", [helper.make_tensor_value_info("x", type_, ["N", 3])],
        [helper.make_tensor_value_info("y", F32, ["N", 3])],
        [numpy_helper.from_array(np.float32([1, -2, 3]), "w"), numpy_helper.from_array(np.int32(1 << 23), "one")],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 26)], ir_version=11)


@pytest.mark.parametrize("options", [[], ["--target=cuda", "--emulate"]], ids=["cpu", "emulated"])
def test_program(options):
    """Reinterprets an input as floats and differentiates a product with them."""
    model = make_model([("BitCast", "x", "f", {"to": F32}), ("Mul", "f w", "y", {})], I32)
    values = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)
    arrays = {"x": values.view(np.int32)}
    program = harness.compile_model(model, "--loss=mse", *options)
    w = np.float32([1, -2, 3])
    np.testing.assert_array_equal(program.infer(arrays)["y"], values * w)
    found = program.grad({**arrays, "target": np.zeros((4, 3), np.float32)})["w"]
    wide = values.astype(np.float64)
    np.testing.assert_allclose(found, (2 * wide * wide * w).sum(0) / 12, rtol=1e-5)


def test_sign_bit_mask():
    """Uses the sign bit as a mask; like a Cast to integers, it has no gradient."""
    nodes = [("BitCast", "x", "bits", {"to": I32}), ("Less", "bits zero", "negative", {}),
             ("Mul", "x w", "scaled", {}), ("Where", "negative scaled x", "y", {})]  # fmt: skip
    model = make_model(nodes, F32)
    model.graph.initializer.append(numpy_helper.from_array(np.int32(0), "zero"))
    x = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)
    found = harness.compile_model(model, "--loss=mse").infer({"x": x})["y"]
    np.testing.assert_array_equal(found, np.where(x < 0, x * np.float32([1, -2, 3]), x))


def test_floats_of_computed_bits_are_refused(tmp_path):
    nodes = [("Mul", "x w", "h", {}), ("BitCast", "h", "bits", {"to": I32}), ("Add", "bits one", "more", {}),
             ("BitCast", "more", "y", {"to": F32})]  # fmt: skip
    (tmp_path / "model.onnx").write_bytes(make_model(nodes, F32).SerializeToString())
    result = harness.run(harness.require_tool("bppsa-translate"), "--import-onnx", tmp_path / "model.onnx")
    assert result.returncode == 1 and "node 'y' (BitCast): reinterprets the bits of computed floats" in result.stderr
