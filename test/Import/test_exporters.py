"""Models from PyTorch's exporters, interpreted and compared with ONNX Runtime."""

import re

import harness
import numpy as np
import onnx
import onnx_cases
import pytest
import test_forward

MODELS = sorted((harness.ROOT / "test" / "Import" / "Inputs").glob("*.onnx"))


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_model(path, tmp_path):
    model = onnx.load(path)
    axes = [dim.dim_param for dim in model.graph.input[0].type.tensor_type.shape.dim][:2]
    shape = [{"T": 7, "B": 2}[name] for name in axes] + [4]
    case = onnx_cases.Case(path.stem, model, {"x": onnx_cases.floats(*shape)})
    found, wanted = test_forward.interpret(case, tmp_path), test_forward.expected(case)
    for left, right in zip(found, wanted, strict=True):
        np.testing.assert_allclose(left, right, rtol=2e-5, atol=2e-6)
    # Data flow analysis finds the batch and time axes of the input.
    argument = (tmp_path / "model.mlir").read_text().split("%arg1")[0]
    for name, role in zip(axes, ("batch", "time") if axes[0] == "B" else ("time", "batch")):
        assert re.search(rf"bppsa.{role}_axis = {axes.index(name)} : i64", argument)


def test_model_that_drops_a_step():
    """Variants are timed on shorter batches, which must not make an array of the model empty."""
    path = harness.ROOT / "test" / "Import" / "Inputs" / "flip_differences_dynamo.onnx"
    program = harness.compile_model(path, "--loss=mse")
    x, target = onnx_cases.floats(7, 2, 4), onnx_cases.floats(6, 2, 3)
    chosen = program.grad({"x": x, "target": target})
    sequential = program.grad({"x": x, "target": target}, "--backward=sequential")
    assert chosen.keys() == sequential.keys()
    for name, value in sequential.items():
        np.testing.assert_allclose(chosen[name], value, rtol=1e-4, atol=1e-6)
