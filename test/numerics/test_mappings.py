"""Both mappings of vectors: lanes over samples, and units of one sample for small batches."""

import harness
import models
import numpy as np
import pytest
import references
import specs

CELLS = {
    "RNN": {"cell": "RNN"},
    "GRU": {"cell": "GRU", "linear_before_reset": 0},
    "GRU-linear": {"cell": "GRU", "linear_before_reset": 1},
    "LSTM": {"cell": "LSTM"},
}
SIZES = [(steps, samples) for steps in (1, 7, 64) for samples in (1, 3)]


@pytest.mark.parametrize("hidden", [1, 4, 20, 33])
@pytest.mark.parametrize("cell", CELLS)
def test_units(cell, hidden):
    model = models.build(models.Spec(**CELLS[cell], hidden=hidden))
    program = harness.compile_model(model, f"--loss={specs.LOSS}")
    for steps, samples in SIZES:
        sizes = {"T": steps, "B": samples}
        arrays = models.data(model, sizes, specs.LOSS)
        exact, single = references.gradients(model, arrays, specs.LOSS)
        harness.check_gradients(program.grad(arrays, "--mapping=units"), exact, single, str(sizes))
        expected = references.onnx_in_jax.outputs(model, arrays, np.float64)
        for name, array in program.infer(arrays, "--mapping=units").items():
            np.testing.assert_allclose(array, expected[name], rtol=1e-5, atol=2e-6, err_msg=name)


@pytest.mark.parametrize("spec", specs.feature_specs(), ids=specs.identifier)
def test_feature_over_units(spec):
    model = models.build(spec)
    arrays = models.data(model, {"T": 6, "B": 2}, specs.LOSS)
    program = harness.compile_model(model, f"--loss={specs.LOSS}")
    exact, single = references.gradients(model, arrays, specs.LOSS)
    harness.check_gradients(program.grad(arrays, "--mapping=units"), exact, single)


@pytest.mark.parametrize("samples", [1, 5])
def test_threads_change_no_bit(samples):
    model = models.build(models.Spec("GRU", hidden=20))
    arrays = models.data(model, {"T": 40, "B": samples}, specs.LOSS)
    program = harness.compile_model(model, f"--loss={specs.LOSS}")
    runs = [program.grad(arrays, "--mapping=units", f"--threads={n}") for n in (1, 2, 5)]
    for other in runs[1:]:
        for name, array in runs[0].items():
            assert array.tobytes() == other[name].tobytes(), name


def test_scan_over_units_is_refused():
    model = models.build(models.Spec("RNN"))
    arrays = models.data(model, {"T": 4, "B": 1}, specs.LOSS)
    program = harness.compile_model(model, f"--loss={specs.LOSS}")
    with pytest.raises(AssertionError, match="this program holds the variants"):
        program.grad(arrays, "--backward=scan", "--mapping=units")
