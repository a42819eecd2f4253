"""Scan plans over chains of layers: gradients against JAX in float64."""

import harness
import images
import models
import numpy as np
import pytest
import references
from test_feed_forward import drop_statistics

MODELS = {"lenet5": images.lenet5, "residual": images.residual, "mixed": images.mixed}
PLANS = ("linear", "blelloch", "hybrid:1", "chunked:2", "auto")


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("name", MODELS)
def test_gradients(name, plan):
    model = MODELS[name]()
    options = ("--loss=cross-entropy", "--backward=scan", f"--scan={plan}")
    program = harness.compile_model(model, *options)
    for samples in (1, 5, 21):
        arrays = models.data(model, {"N": samples}, "cross-entropy")
        exact, single = map(drop_statistics, references.gradients(model, arrays, "cross-entropy"))
        found = program.grad(arrays)
        harness.check_gradients(found, exact, single, f"{name}, {plan}, {samples} samples")
        again = program.grad(arrays, "--threads=1")
        for key, value in found.items():
            assert np.array_equal(value, again[key]), key
