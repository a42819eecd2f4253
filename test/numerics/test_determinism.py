"""The same program, input and variant give identical bits for any number of threads."""

import harness
import models
import pytest

LOSS = "cross-entropy"


@pytest.mark.parametrize("backward", ["sequential", "scan"])
@pytest.mark.parametrize("cell", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("samples", [5, 37])
def test_gradients_do_not_depend_on_thread_count(cell, backward, samples):
    """For the smaller batch, the two directions run in parallel."""
    model = models.build(models.Spec(cell, hidden=20, direction="bidirectional", head="steps"))
    program = harness.compile_model(model, f"--loss={LOSS}", "--scan=chunked:16")
    arrays = models.data(model, {"T": 131, "B": samples}, LOSS)
    first = program.grad(arrays, f"--backward={backward}", "--threads=1")
    for threads in (1, 2, 2, 3):
        again = program.grad(arrays, f"--backward={backward}", f"--threads={threads}")
        for name, array in first.items():
            assert array.tobytes() == again[name].tobytes(), f"{name}, {threads} threads"
