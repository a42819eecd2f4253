"""Gradients of compiled programs against central finite differences."""

import harness
import models
import pytest
import test_reference

SIZES = {"T": 5, "B": 3}


@pytest.mark.parametrize("backward", ["sequential", "scan"])
@pytest.mark.parametrize(
    "spec",
    [
        models.Spec("RNN", direction="bidirectional", initial="input"),
        models.Spec("GRU", direction="reverse", initial="parameter"),
        models.Spec("GRU", linear_before_reset=1, layers=2),
        models.Spec("LSTM", direction="bidirectional", layout=1, initial="input"),
        models.Spec("LSTM", head="steps", layers=2),
    ],
    ids=models.Spec.label,
)
def test_directional_derivatives(spec, backward):
    model = models.build(spec)
    arrays = models.data(model, SIZES, "cross-entropy")
    program = harness.compile_model(model, "--loss=cross-entropy")
    found = program.grad(arrays, f"--backward={backward}")
    slopes = test_reference.directional_derivatives(model, arrays, "cross-entropy", found)
    for name, slope, difference in slopes:
        assert slope == pytest.approx(difference, rel=1e-4, abs=1e-6), name
