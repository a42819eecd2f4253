"""Sums over steps (products and unit sums), computed after each block of the backward chain."""

import harness
import models
import numpy as np
import onnx
import pytest
import references
from test_mappings import check_on_threads

LOSS = "cross-entropy"
MODELS = {
    "rnn": models.Spec("RNN", hidden=100, features=7),
    "rnn-both-ways": models.Spec("RNN", hidden=100, direction="bidirectional"),
    "gru-reverse": models.Spec("GRU", hidden=96, direction="reverse", initial="parameter"),
    "gru-steps": models.Spec("GRU", hidden=96, features=80, head="steps", linear_before_reset=1),
    "lstm-ragged": models.Spec("LSTM", hidden=96, lengths=True),
    "lstm-stack": models.Spec("LSTM", hidden=80, layers=2, head="steps"),
}


@pytest.mark.parametrize("mapping", ["lanes", "units"])
@pytest.mark.parametrize("name", MODELS)
def test_gradients(name, mapping):
    """Blocks may be partial and lanes empty; the thread count does not change the result."""
    model = models.build(MODELS[name])
    program = harness.compile_model(model, f"--loss={LOSS}", "--backward=sequential")
    sizes = ((1, 17), (2, 5), (67, 20), (150, 33)) if mapping == "lanes" else ((1, 3), (700, 2), (1100, 1))
    for time, batch in sizes:
        check_on_threads(model, program, time, batch, f"--mapping={mapping}")


@pytest.mark.parametrize("mapping, batch, time", [("lanes", 18, 400), ("units", 1, 2000)])
@pytest.mark.parametrize("cell", ["RNN", "GRU", "LSTM"])
def test_cotangents_that_become_zero(cell, mapping, batch, time):
    """With weights near zero, the cotangent of the last step vanishes after a few steps."""
    model = models.build(models.Spec(cell, hidden=96))
    for tensor in model.graph.initializer:
        if tensor.name.endswith(".R"):
            array = onnx.numpy_helper.to_array(tensor) * np.float32(0.02)
            tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
    program = harness.compile_model(model, f"--loss={LOSS}", "--backward=sequential")
    arrays = models.data(model, {"T": time, "B": batch}, LOSS)
    exact, single = references.gradients(model, arrays, LOSS)
    found = program.grad(arrays, f"--mapping={mapping}", "--threads", 1)
    harness.check_gradients(found, exact, single)
