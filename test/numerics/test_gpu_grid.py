"""Emulated gradients of every cell, plan, T, B and H of a grid, within the numerics bound.

This takes half an hour of one core, so that it runs by request alone: `pytest -m grid`. test_gpu.py
has a sample of it that always runs.
"""

import itertools

import harness
import models
import pytest
import references

LENGTHS = (1, 2, 7, 64, 257)
BATCHES = (1, 3, 5)
WIDTHS = (1, 4, 20, 33, 64)
PLANS = ("sequential", "linear", "blelloch", "hybrid:1", "hybrid:2", "chunked:7", "chunked")
LOSS = "cross-entropy"


@pytest.mark.grid
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("hidden", WIDTHS)
@pytest.mark.parametrize("cell", ["RNN", "GRU", "LSTM"])
def test_gradients(cell, hidden, plan):
    model = models.build(models.Spec(cell, hidden=hidden))
    backward = ["--backward=scan", f"--scan={plan}"]
    if plan == "sequential":
        backward = ["--backward=sequential"]
    program = harness.compile_model(
        model, f"--loss={LOSS}", "--target=cuda", "--emulate", *backward
    )
    for time, batch in itertools.product(LENGTHS, BATCHES):
        arrays = models.data(model, {"T": time, "B": batch}, LOSS)
        exact, single = references.gradients(model, arrays, LOSS)
        found = program.grad(arrays)
        harness.check_gradients(found, exact, single, f"T={time} B={batch}")
