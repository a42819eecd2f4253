"""Every scan plan over many lengths, batch sizes and widths, within the numerics bound.

A program supports every T and B, so each test uses one program for its list of (T, B).

Coverage:
  * H = 4: every plan, each T with two values of B;
  * H = 20: every plan, with T and B paired so that each value of one meets several of the other;
  * H = 1, 33, 128: a third of the plans each, so that every plan runs with one of these widths.
A plan that forms products of Jacobians, or propagates H + 1 columns through the cell, takes about
    T * B * states * gates * H^2 * H
multiplications. (T, B) pairs above WORK_LIMIT are left to the sequential and linear plans
(including hybrid:0), which take T * B * gates * H^2.
"""

import itertools

import harness
import models
import pytest
import references

LENGTHS = (1, 2, 3, 7, 64, 1000, 4099)
BATCHES = (1, 3, 16, 33)
TREE_PLANS = (
    "blelloch", "hybrid:1", "hybrid:2", "hybrid:5",
    "chunked:1", "chunked:4", "chunked:32", "auto",
)  # fmt: skip
PLANS = ("sequential", "linear", "hybrid:0", *TREE_PLANS)
WORK_LIMIT = 1e9

CELLS = {
    "rnn": models.Spec("RNN"),
    "gru": models.Spec("GRU"),
    "gru-linear-before-reset": models.Spec("GRU", linear_before_reset=1),
    "lstm": models.Spec("LSTM"),
}
LOSS = "cross-entropy"


def cases():
    for (name, spec), (index, plan) in itertools.product(CELLS.items(), enumerate(PLANS)):
        for hidden in (4, 20):
            yield name, spec, hidden, plan
        for offset, hidden in enumerate((1, 33, 128)):
            if (index + offset) % 3 == 0:
                yield name, spec, hidden, plan


def pairs(hidden):
    if hidden == 4:
        return [(t, BATCHES[(i + j) % len(BATCHES)]) for i, t in enumerate(LENGTHS) for j in (0, 2)]
    # Every length with one batch size, rotated by one for each width.
    shift = (1, 20, 33, 128).index(hidden)
    return [(t, BATCHES[(i + shift) % len(BATCHES)]) for i, t in enumerate(LENGTHS)]


def multiplications(spec, hidden, plan, time, batch):
    per_column = models.GATES[spec.cell] * hidden * hidden
    columns = models.STATES[spec.cell] * hidden + 1 if plan in TREE_PLANS else 1
    return time * batch * per_column * columns


@pytest.mark.parametrize(
    "name,spec,hidden,plan", [pytest.param(*c, id=f"{c[0]}-h{c[2]}-{c[3]}") for c in cases()]
)
def test_plan(name, spec, hidden, plan):
    model = models.build(models.dataclasses.replace(spec, hidden=hidden, head="last"))
    if plan == "sequential":
        options = ["--backward=sequential"]
    else:
        options = ["--backward=scan", f"--scan={plan}"]
    program = harness.compile_model(model, f"--loss={LOSS}", *options)
    for time, batch in pairs(hidden):
        if multiplications(spec, hidden, plan, time, batch) > WORK_LIMIT:
            continue
        arrays = models.data(model, {"T": time, "B": batch}, LOSS)
        exact, single = references.gradients(model, arrays, LOSS)
        harness.check_gradients(program.grad(arrays), exact, single, f"T={time} B={batch}")


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("cell", ["RNN", "GRU", "LSTM"])
def test_cotangents_at_every_step(cell, plan):
    """A loss on every step adds a cotangent per step; lengths are around multiples of the chunk."""
    model = models.build(models.Spec(cell, head="steps", hidden=5))
    options = (
        ["--backward=sequential"] if plan == "sequential" else ["--backward=scan", f"--scan={plan}"]
    )
    program = harness.compile_model(model, f"--loss={LOSS}", *options)
    for time, batch in ((1, 2), (2, 1), (5, 17), (31, 3), (32, 16), (33, 5), (64, 1), (97, 4)):
        arrays = models.data(model, {"T": time, "B": batch}, LOSS)
        exact, single = references.gradients(model, arrays, LOSS)
        harness.check_gradients(program.grad(arrays), exact, single, f"T={time} B={batch}")


def test_chunk_lengths_chosen_at_run_time():
    """The runtime chooses chunks of 8 steps for T <= 128 and of 64 steps for T >= 8192."""
    model = models.build(models.Spec("RNN", head="steps", hidden=4))
    program = harness.compile_model(model, f"--loss={LOSS}", "--backward=scan", "--scan=chunked")
    held = [(variant["plan"], variant["mapping"]) for variant in program.info()["variants"]]
    assert held == [("chunked", "lanes"), ("chunked", "chunks")]
    for time in (1, 8, 9, 1000, 9001):
        arrays = models.data(model, {"T": time, "B": 3}, LOSS)
        exact, single = references.gradients(model, arrays, LOSS)
        harness.check_gradients(program.grad(arrays, "--scan=chunked"), exact, single, f"T={time}")
