"""Emulated gradients for a grid of cells, plans, T, B and H, within the numerics bound.

The full grid takes an hour on one core and runs only on request: `pytest -m grid`. Seven of its
programs always run; they combine every T with every plan, cell, B and H. In test_gpu.py, every plan
runs on wide layers.
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
CELLS = ("RNN", "GRU", "LSTM")
LOSS = "cross-entropy"


def check_gradients(spec, plan, sizes):
    model = models.build(spec)
    backward = ["--backward=scan", f"--scan={plan}"]
    if plan == "sequential":
        backward = ["--backward=sequential"]
    program = harness.compile_model(
        model, f"--loss={LOSS}", "--target=cuda", "--emulate", *backward
    )
    for time, batch in sizes:
        arrays = models.data(model, {"T": time, "B": batch}, LOSS)
        exact, single = references.gradients(model, arrays, LOSS)
        found = program.grad(arrays)
        harness.check_gradients(found, exact, single, f"T={time} B={batch}")


# Products of Jacobians take H^3 multiply-adds per step; plans without them get the largest H.
COVERED_WIDTHS = dict(zip(PLANS, (64, 20, 4, 4, 1, 33, 20), strict=True))


@pytest.mark.parametrize("number,plan", list(enumerate(PLANS)))
def test_sizes_that_always_run(number, plan):
    """Every other program has samples of different lengths."""
    spec = models.Spec(CELLS[number % 3], hidden=COVERED_WIDTHS[plan], lengths=number % 2 == 1)
    batches = itertools.islice(itertools.cycle(BATCHES), number, None)
    check_gradients(spec, plan, zip(LENGTHS, batches))


@pytest.mark.grid
@pytest.mark.parametrize("lengths", [False, True], ids=["whole", "ragged"])
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("hidden", WIDTHS)
@pytest.mark.parametrize("cell", CELLS)
def test_gradients(cell, hidden, plan, lengths):
    spec = models.Spec(cell, hidden=hidden, lengths=lengths)
    check_gradients(spec, plan, itertools.product(LENGTHS, BATCHES))
