"""Padded lanes: a batch that does not fill its last vector leaves lanes without a sample.

They run on zero inputs. A cell that grows on zeros (ReLU, positive bias, recurrent weights above 1)
overflows in these lanes within a few hundred steps, while the inputs of every sample keep its state
small. The overflow must not reach any gradient.
"""

import harness
import models
import numpy as np
import onnx
import pytest
import references

LOSS = "cross-entropy"
STEPS = 300


def growing_model():
    """An RNN whose state doubles at each step unless its inputs are strongly negative."""
    model = models.build(models.Spec("RNN", hidden=4, activations=("Relu",), seed=5))
    for tensor in model.graph.initializer:
        if tensor.name.startswith("layer0."):
            value = np.abs(onnx.numpy_helper.to_array(tensor)) + 0.5
            tensor.CopyFrom(onnx.numpy_helper.from_array(value.astype(np.float32), tensor.name))
    return model


def held_down(model, batch):
    """Strongly negative inputs except in the last steps."""
    arrays = models.data(model, {"T": STEPS, "B": batch}, LOSS)
    arrays["x"][:-3] = -20 - np.abs(arrays["x"][:-3])
    return arrays


@pytest.mark.parametrize("plan", ["sequential", "linear", "blelloch", "hybrid:1", "chunked:8"])
@pytest.mark.parametrize("batch", [2, 3, 17])  # 2: one vector over units on most machines
def test_overflow_in_padded_lanes(plan, batch):
    model = growing_model()
    if plan == "sequential":
        options = ["--backward=sequential"]
    else:
        options = ["--backward=scan", f"--scan={plan}"]
    program = harness.compile_model(model, f"--loss={LOSS}", *options)
    arrays = held_down(model, batch)
    exact, single = references.gradients(model, arrays, LOSS)
    assert all(np.any(exact[name]) for name in ("layer0.W", "layer0.R", "layer0.B"))
    harness.check_gradients(program.grad(arrays), exact, single)
