"""Forward and backward passes apart, of programs compiled with `--loss=vjp`."""

import capi
import harness
import models
import numpy as np
import onnx
import onnx_in_jax
import pytest
import references

KERAS = onnx.load(harness.ROOT / "examples" / "keras_gru.onnx")
CASES = {
    "rnn": models.build(models.Spec("RNN", initial="input", head="steps")),
    "gru": models.build(models.Spec("GRU", direction="bidirectional")),
    "lstm": models.build(models.Spec("LSTM", lengths=True, initial="input")),
    "two outputs": KERAS,
}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    """A model, its program, inputs, and the outputs for them in float64."""
    model = CASES[request.param]
    program = capi.Program.compile(model.SerializeToString(), loss="vjp", O=1)
    if model is KERAS:
        rng = np.random.default_rng(3)
        inputs = {"x": rng.standard_normal((5, 6, 12)).astype("f4")}
    else:
        inputs = models.data(model, {"T": 6, "B": 5}, "none")
    return model, program, inputs, onnx_in_jax.outputs(model, inputs, np.float64)


def products(model, inputs, outputs, rng):
    """Cotangents, and their products in float64 and float32: those of the gradients of
    mean((y - t)^2) are 2 (y - t) / n, for any targets t."""
    cotangents, exact, single = {}, {}, {}
    for name, y in outputs.items():
        targets = (np.asarray(y) + rng.standard_normal(y.shape)).astype("f4")
        cotangents[name] = (2 * (np.asarray(y, "f8") - targets) / y.size).astype("f4")
        arrays = {**inputs, "target": targets}
        for sums, found in zip((exact, single), references.gradients(model, arrays, "mse", name)):
            for key, value in found.items():
                sums[key] = sums.get(key, 0) + value
    for sums in (exact, single):
        del sums["loss"]
    return cotangents, exact, single


@pytest.mark.parametrize("backward", ["sequential", "scan"])
def test_products(case, backward):
    model, program, inputs, exact_outputs = case
    program.set_variant(backward)
    cotangents, exact, single = products(model, inputs, exact_outputs, np.random.default_rng(1))
    outputs = {name: np.empty(y.shape, "f4") for name, y in exact_outputs.items()}
    residuals = program.forward(inputs, outputs)
    for name, y in exact_outputs.items():
        np.testing.assert_allclose(outputs[name], y, rtol=1e-5, atol=2e-6)
    gradients = {name: np.empty(value.shape, "f4") for name, value in exact.items()}
    program.backward(residuals, cotangents, gradients)
    harness.check_gradients(gradients, exact, single)
    program.lib.bppsaResidualsDestroy(residuals)


def test_what_is_between_does_not_matter(case):
    """Inputs and parameters may change, and other calls may come, before a backward pass."""
    _, program, inputs, exact_outputs = case
    program.set_variant("sequential")
    rng = np.random.default_rng(2)
    outputs = {name: np.empty(y.shape, "f4") for name, y in exact_outputs.items()}
    cotangents = {n: rng.standard_normal(y.shape).astype("f4") for n, y in exact_outputs.items()}
    names = program.names(capi.GRADIENT)
    shapes = {**inputs, **program.parameters()}
    first = {name: np.empty(shapes[name].shape, "f4") for name in names}
    again = {name: np.empty(shapes[name].shape, "f4") for name in names}
    own = {name: array.copy() for name, array in inputs.items()}
    residuals = program.forward(own, outputs)
    program.backward(residuals, cotangents, first)
    own["x"] += 1
    for view in program.parameters().values():
        view *= 0.5
    changed = {name: view.copy() for name, view in program.parameters().items()}
    other = program.forward(own, outputs)
    program.backward(residuals, cotangents, again)
    for name in names:
        np.testing.assert_array_equal(again[name], first[name])
    for name, view in program.parameters().items():
        np.testing.assert_array_equal(view, changed[name])
    program.reset()
    for handle in (residuals, other):
        program.lib.bppsaResidualsDestroy(handle)


def test_cotangents_that_are_left_out_are_zero(case):
    _, program, inputs, exact_outputs = case
    outputs = {name: np.empty(y.shape, "f4") for name, y in exact_outputs.items()}
    residuals = program.forward(inputs, outputs)
    gradient = {"x": np.full_like(inputs["x"], 7)}
    program.backward(residuals, {}, gradient)
    assert (gradient["x"] == 0).all()
    program.lib.bppsaResidualsDestroy(residuals)


def test_infinite_results_are_results(case):
    _, program, inputs, exact_outputs = case
    outputs = {name: np.empty(y.shape, "f4") for name, y in exact_outputs.items()}
    residuals = program.forward(inputs, outputs)
    cotangents = {name: np.full(y.shape, np.inf, "f4") for name, y in exact_outputs.items()}
    gradient = {"x": np.zeros_like(inputs["x"])}
    program.backward(residuals, cotangents, gradient)
    assert not np.isfinite(gradient["x"]).all()
    program.lib.bppsaResidualsDestroy(residuals)


def test_wrong_use(case):
    _, program, inputs, exact_outputs = case
    outputs = {name: np.empty(y.shape, "f4") for name, y in exact_outputs.items()}
    residuals = program.forward(inputs, outputs)
    name, y = next(iter(exact_outputs.items()))
    gradient = {"x": np.full_like(inputs["x"], 7)}
    for cotangents, words in [
        ({"z": np.zeros(y.shape, "f4")}, "a cotangent is named twice, or after none of the outputs"),
        ({name: np.zeros((2, *y.shape), "f4")}, f"array '{name}': found float32"),
        ({name: np.zeros(y.shape, "f8")}, f"array '{name}': found float64"),
    ]:
        with pytest.raises(capi.Failure, match=words):
            program.backward(residuals, cotangents, gradient)
    with pytest.raises(capi.Failure, match="unknown gradient 'z'"):
        program.backward(residuals, {}, {"z": y.astype("f4")})
    assert (gradient["x"] == 7).all()
    program.lib.bppsaResidualsDestroy(residuals)


def test_other_losses():
    model = CASES["rnn"]
    program = capi.Program.compile(model.SerializeToString(), loss="mse", O=0)
    inputs = models.data(model, {"T": 6, "B": 5}, "none")
    with pytest.raises(capi.Failure, match="need a program compiled with --loss=vjp, found the loss mse"):
        program.forward(inputs, {})


def test_options():
    model = CASES["rnn"].SerializeToString()
    with pytest.raises(capi.Failure, match="--loss=vjp goes with no other loss"):
        capi.Program.compile(model, loss="vjp,mse", loss_on="a,b")
