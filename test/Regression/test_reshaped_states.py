"""Regression test: a collapsed temporary for reshaped states crashed the arena planner."""

import harness
import models
import onnx
import pytest
import references


@pytest.mark.parametrize("target", [[], ["--target=cuda", "--emulate"]], ids=["cpu", "cuda"])
def test_gradients(target):
    model = onnx.load(harness.ROOT / "examples" / "irmas_gru_dynamo.onnx")
    # val_2 is the zero initial state, which the exporter turned into a constant.
    program = harness.compile_model(model, "--backward=sequential", "--train=^val_2$", *target)
    arrays = models.data(model, {"T": 3, "B": 2}, "cross-entropy")
    exact, single = references.gradients(model, arrays, "cross-entropy")
    harness.check_gradients(program.grad(arrays), exact, single)
