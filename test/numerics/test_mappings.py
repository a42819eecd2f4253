"""Vector mappings for small batches: hidden units of one sample, and time chunks in scans."""

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


def check_on_threads(model, program, steps, samples, mapping):
    """Checks the gradients, and that one and three threads give the same bits."""
    sizes = {"T": steps, "B": samples}
    arrays = models.data(model, sizes, specs.LOSS)
    exact, single = references.gradients(model, arrays, specs.LOSS)
    runs = [program.grad(arrays, mapping, f"--threads={n}") for n in (1, 3)]
    harness.check_gradients(runs[0], exact, single, str(sizes))
    for name, array in runs[0].items():
        assert array.tobytes() == runs[1][name].tobytes(), name


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


@pytest.mark.parametrize("cell", CELLS)
def test_lanes_with_few_registers(cell):
    """With few vector registers, the products of each gate are computed in separate blocks."""
    model = models.build(models.Spec(**CELLS[cell], hidden=70, features=9))
    arrays = models.data(model, {"T": 35, "B": 21}, specs.LOSS)
    program = harness.compile_model(
        model, f"--loss={specs.LOSS}", "--backward=sequential", "--mcpu=x86-64-v3"
    )
    exact, single = references.gradients(model, arrays, specs.LOSS)
    harness.check_gradients(program.grad(arrays, "--mapping=lanes"), exact, single)


@pytest.mark.parametrize(
    "cell, direction",
    [("RNN", "forward"), ("GRU", "bidirectional"), ("GRU-linear", "forward"), ("LSTM", "reverse")],
)
def test_lanes_with_loss_on_every_step(cell, direction):
    """Cotangents of every step are computed in the chain if the layer has one direction."""
    spec = models.Spec(**CELLS[cell], hidden=9, direction=direction, head="steps")
    model = models.build(spec)
    program = harness.compile_model(model, f"--loss={specs.LOSS}", "--backward=sequential")
    for steps, samples in ((1, 3), (70, 21)):
        check_on_threads(model, program, steps, samples, "--mapping=lanes")


@pytest.mark.parametrize("cell", CELLS)
def test_units_with_matrices_larger_than_cache(cell):
    """Input projections are hoisted into a loop whose steps share the matrices, as samples do."""
    model = models.build(models.Spec(**CELLS[cell], hidden=100, features=70, layers=2))
    program = harness.compile_model(model, f"--loss={specs.LOSS}", "--backward=sequential")
    for steps, samples in ((1, 1), (7, 6), (70, 3)):
        check_on_threads(model, program, steps, samples, "--mapping=units")


@pytest.mark.parametrize("hidden, features", [(260, 5), (36, 300)])
def test_lanes_with_wide_weight_gradients(hidden, features):
    """Gradients of matrices with more columns than a tile; the last tile is partly filled."""
    model = models.build(models.Spec("RNN", hidden=hidden, features=features))
    arrays = models.data(model, {"T": 35, "B": 21}, specs.LOSS)
    program = harness.compile_model(model, f"--loss={specs.LOSS}", "--backward=sequential")
    exact, single = references.gradients(model, arrays, specs.LOSS)
    runs = [program.grad(arrays, "--mapping=lanes", f"--threads={n}") for n in (1, 3)]
    harness.check_gradients(runs[0], exact, single)
    for name, array in runs[0].items():
        assert array.tobytes() == runs[1][name].tobytes(), name


@pytest.mark.parametrize("spec", specs.feature_specs(), ids=specs.identifier)
def test_feature_with_units_mapping(spec):
    model = models.build(spec)
    arrays = models.data(model, {"T": 6, "B": 2}, specs.LOSS)
    program = harness.compile_model(model, f"--loss={specs.LOSS}")
    exact, single = references.gradients(model, arrays, specs.LOSS)
    harness.check_gradients(program.grad(arrays, "--mapping=units"), exact, single)


@pytest.mark.parametrize("samples", [1, 5])
def test_results_do_not_depend_on_thread_count(samples):
    model = models.build(models.Spec("GRU", hidden=20))
    arrays = models.data(model, {"T": 40, "B": samples}, specs.LOSS)
    program = harness.compile_model(model, f"--loss={specs.LOSS}")
    runs = [program.grad(arrays, "--mapping=units", f"--threads={n}") for n in (1, 2, 5)]
    for other in runs[1:]:
        for name, array in runs[0].items():
            assert array.tobytes() == other[name].tobytes(), name


@pytest.mark.parametrize("head", ["last", "steps"])
@pytest.mark.parametrize("hidden", [1, 4, 20])
@pytest.mark.parametrize("cell", CELLS)
def test_chunks(cell, hidden, head):
    """Fewer chunks than lanes, full blocks, and chunk lengths chosen at run time."""
    model = models.build(models.Spec(**CELLS[cell], hidden=hidden, head=head))
    for plan in ("chunked:5", "chunked"):
        program = harness.compile_model(
            model, f"--loss={specs.LOSS}", "--backward=scan", f"--scan={plan}"
        )
        for steps, samples in ((1, 1), (5, 2), (6, 1), (33, 3), (300, 1), (300, 5)):
            sizes = {"T": steps, "B": samples}
            arrays = models.data(model, sizes, specs.LOSS)
            exact, single = references.gradients(model, arrays, specs.LOSS)
            found = program.grad(arrays, "--mapping=chunks")
            harness.check_gradients(found, exact, single, f"{plan} {sizes}")


@pytest.mark.parametrize("direction", ["reverse", "bidirectional"])
def test_chunks_of_several_layers(direction):
    model = models.build(models.Spec("GRU", hidden=6, layers=2, direction=direction, head="steps"))
    arrays = models.data(model, {"T": 100, "B": 3}, specs.LOSS)
    program = harness.compile_model(model, f"--loss={specs.LOSS}", "--scan=chunked:8")
    exact, single = references.gradients(model, arrays, specs.LOSS)
    runs = [program.grad(arrays, "--mapping=chunks", f"--threads={n}") for n in (1, 3)]
    harness.check_gradients(runs[0], exact, single)
    for name, array in runs[0].items():
        assert array.tobytes() == runs[1][name].tobytes(), name


@pytest.mark.parametrize("hidden,held", [(4, True), (64, False)])
def test_chunks_variant_only_for_small_hidden_size(hidden, held):
    model = models.build(models.Spec("RNN", hidden=hidden))
    program = harness.compile_model(model, f"--loss={specs.LOSS}")
    variants = [(v["backward"], v["mapping"]) for v in program.info()["variants"]]
    assert (("scan", "chunks") in variants) == held


def test_inference_of_chunks_mapping_uses_units():
    model = models.build(models.Spec("RNN"))
    arrays = models.data(model, {"T": 4, "B": 1}, specs.LOSS)
    program = harness.compile_model(model, f"--loss={specs.LOSS}")
    units = program.infer(arrays, "--mapping=units")
    for name, array in program.infer(arrays, "--mapping=chunks").items():
        assert array.tobytes() == units[name].tobytes(), name


def test_scan_over_units_is_refused():
    model = models.build(models.Spec("RNN"))
    arrays = models.data(model, {"T": 4, "B": 1}, specs.LOSS)
    program = harness.compile_model(model, f"--loss={specs.LOSS}")
    with pytest.raises(AssertionError, match="this program holds the variants"):
        program.grad(arrays, "--backward=scan", "--mapping=units")
