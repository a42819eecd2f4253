"""Transposes that only move axes of size one, and concatenated parts, are not copied."""

import re

import harness
import models
import onnx
import pytest


def import_to_ir(model, tmp_path):
    source = tmp_path / "model.onnx"
    onnx.save(model, source)
    imported = tmp_path / "model.mlir"
    command = [harness.require_tool("bppsa-translate"), "--import-onnx", source, "-o", imported]
    harness.check_succeeded(harness.run(*command))
    simplify = [harness.require_tool("bppsa-opt"), "--canonicalize", imported]
    return harness.check_succeeded(harness.run(*simplify)).stdout


def count_copies(ir):
    return len(re.findall(r"linalg\.yield %in : f32", ir))


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_concatenated_directions(direction, tmp_path):
    """Y of shape [T, D, B, H] becomes [T, B, D, H] and then [T, B, D * H]."""
    ir = import_to_ir(models.build(models.Spec("GRU", direction=direction, head="steps")), tmp_path)
    assert count_copies(ir) == 0
    assert ir.count("tensor.concat dim(2)") == (direction == "bidirectional")
    assert "tensor.expand_shape" not in ir.partition("bppsa.yield")[2]


def test_other_transposes_copy(tmp_path):
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["B", 3, 4])
    y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["B", 4, 3])
    node = onnx.helper.make_node("Transpose", ["x"], ["y"], perm=[0, 2, 1])
    graph = onnx.helper.make_graph([node], "transpose", [x], [y])
    opsets = [onnx.helper.make_opsetid("", 17)]
    ir = import_to_ir(onnx.helper.make_model(graph, opset_imports=opsets), tmp_path)
    assert count_copies(ir) == 1
