"""Ragged batches with several blocks of lanes and sequences sharing rows, against float64 JAX."""

import sys

import harness
import models
import numpy as np
import pytest
import references
import specs

STEPS, SAMPLES = 20, 37
LENGTHS = {
    "uniform": np.random.default_rng(3).integers(1, STEPS + 1, SAMPLES),
    "one step": np.ones(SAMPLES),
    "all steps": np.full(SAMPLES, STEPS),
    "one long": np.where(np.arange(SAMPLES) == 11, STEPS, 2),
}
MODELS = {
    "RNN": models.Spec("RNN", lengths=True, activations=("Relu",)),
    "GRU-reverse": models.Spec("GRU", lengths=True, direction="reverse", initial="input"),
    "GRU-bidirectional": models.Spec(
        "GRU", lengths=True, layers=2, direction="bidirectional", head="steps"
    ),
    "LSTM": models.Spec("LSTM", lengths=True, peepholes=True, initial="input", head="steps"),
    "LSTM-bidirectional": models.Spec("LSTM", lengths=True, direction="bidirectional", head="cell"),
}


def arrays_of(model, lengths):
    arrays = models.data(model, {"T": STEPS, "B": SAMPLES}, specs.LOSS)
    return {**arrays, "lengths": lengths.astype(np.int32)}


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("name", MODELS)
def test_gradients(name, lengths):
    model = models.build(MODELS[name])
    arrays = arrays_of(model, LENGTHS[lengths])
    program = harness.compile_model(model, f"--loss={specs.LOSS}")
    exact, single = references.gradients(model, arrays, specs.LOSS)
    for backward in ("sequential", "scan"):
        harness.check_gradients(program.grad(arrays, f"--backward={backward}"), exact, single)
    expected = references.onnx_in_jax.outputs(model, arrays, np.float64)
    for output, array in program.infer(arrays).items():
        np.testing.assert_allclose(array, expected[output], rtol=1e-5, atol=2e-6, err_msg=output)


@pytest.mark.parametrize("plan", ["blelloch", "hybrid:1", "chunked:8"])
def test_plans(plan):
    model = models.build(MODELS["GRU-bidirectional"])
    arrays = arrays_of(model, LENGTHS["uniform"])
    program = harness.compile_model(model, f"--loss={specs.LOSS}", f"--scan={plan}")
    exact, single = references.gradients(model, arrays, specs.LOSS)
    harness.check_gradients(program.grad(arrays, "--backward=scan"), exact, single)


def test_static_batch_size():
    """Row sizes may be known at compile time, or follow from the lengths at run time."""
    for samples in (3, 16, SAMPLES):
        model = models.build(MODELS["LSTM"])
        for info in [*model.graph.input, *model.graph.output]:
            for dim in info.type.tensor_type.shape.dim:
                if dim.dim_param == "B":
                    dim.dim_value = samples
        arrays = models.data(model, {"T": STEPS}, specs.LOSS)
        program = harness.compile_model(model, f"--loss={specs.LOSS}")
        exact, single = references.gradients(model, arrays, specs.LOSS)
        harness.check_gradients(program.grad(arrays), exact, single, str(samples))


def test_results_do_not_depend_on_thread_count():
    model = models.build(MODELS["GRU-bidirectional"])
    arrays = arrays_of(model, LENGTHS["uniform"])
    program = harness.compile_model(model, f"--loss={specs.LOSS}")
    runs = [program.grad(arrays, f"--threads={n}") for n in (1, 2, 5)]
    for other in runs[1:]:
        for name, array in runs[0].items():
            assert array.tobytes() == other[name].tobytes(), name


def peak_memory(program, data):
    """Returns the peak memory of a process that computes gradients, in bytes."""
    out = data.with_suffix(".out.npz")
    command = [program.path, "grad", "--data", data, "--out", out, "--backward", "sequential"]
    return harness.peak_memory(*command, "--threads", "1")


def test_short_sequences_take_less_memory(tmp_path):
    """Values stored for the backward pass cover the computed steps only, not the padding."""
    steps, samples, hidden = 6000, 32, 64
    model = models.build(models.Spec("GRU", hidden=hidden, features=2, lengths=True))
    program = harness.compile_model(model, f"--loss={specs.LOSS}")
    peaks = {}
    for name, low in {"half": 1, "all": steps}.items():
        arrays = models.data(model, {"T": steps, "B": samples}, specs.LOSS)
        arrays["lengths"] = np.linspace(low, steps, samples).round().astype(np.int32)
        np.savez(tmp_path / "d.npz", **arrays)
        peaks[name] = peak_memory(program, tmp_path / "d.npz")
    # Lower bound per step: the states and the gate inputs, at least four arrays.
    kept = 4 * 4 * steps * samples * hidden
    assert peaks["all"] - peaks["half"] > 0.4 * kept, peaks
