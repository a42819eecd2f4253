"""`eval` computes loss and accuracy over a whole data set."""

import harness
import losses_in_jax
import models
import numpy as np
import onnx_in_jax
import pytest


@pytest.mark.parametrize("head", ["last", "steps"])
@pytest.mark.parametrize("loss", ["cross-entropy", "nll", "mse", "l1", "huber", "bce-with-logits"])
def test_eval(loss, head):
    model = models.build(models.Spec("GRU", head=head))
    arrays = models.data(model, {"T": 7, "B": 37}, loss)
    found = harness.compile_model(model, f"--loss={loss}").eval(arrays)
    (logits,) = onnx_in_jax.outputs(model, arrays, np.float64).values()
    expected = float(losses_in_jax.loss_value(loss, logits, arrays["target"]))
    assert found["loss"] == pytest.approx(expected, rel=1e-5, abs=1e-6)
    assert found["samples"] == 37
    if loss in ("cross-entropy", "nll"):
        accuracy = np.mean(logits.argmax(-1) == arrays["target"])
        assert found["accuracy"] == pytest.approx(accuracy, abs=1e-6)
    else:
        assert "accuracy" not in found
