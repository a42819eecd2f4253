"""The JAX reference: its outputs against ONNX Runtime, its gradients against finite differences."""

import dataclasses

import jax
import losses_in_jax
import models
import numpy as np
import onnx_in_jax
import onnxruntime
import pytest
import references
import specs

SIZES = {"T": 6, "B": 5}


def swap_batch_and_time(spec, arrays):
    """Converts the arrays of a layout 1 model to layout 0."""
    return {
        name: array
        if name == "lengths" or name.endswith((".W", ".R", ".B", ".P"))
        else array.swapaxes(0, 1)
        for name, array in arrays.items()
    }


@pytest.mark.parametrize("spec", specs.feature_specs(), ids=specs.identifier)
def test_outputs_agree_with_onnx_runtime(spec):
    model = models.build(spec)
    arrays = models.data(model, SIZES, "none")
    (found,) = onnx_in_jax.outputs(model, arrays, np.float32).values()
    if spec.layout == 1:  # ONNX Runtime does not support layout 1
        spec = dataclasses.replace(spec, layout=0)
        model = models.build(spec)
        arrays = swap_batch_and_time(spec, arrays)
        found = found.swapaxes(0, 1) if spec.head == "steps" else found
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (expected,) = session.run(None, arrays)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("loss", ["cross-entropy", "nll", "mse", "l1", "huber", "bce-with-logits"])
@pytest.mark.parametrize("cell", ["RNN", "GRU", "LSTM"])
def test_gradients_agree_with_finite_differences(cell, loss):
    model = models.build(
        models.Spec(cell, head="steps", direction="bidirectional", initial="input")
    )
    arrays = models.data(model, SIZES, loss)
    exact = onnx_in_jax.gradients(model, arrays, loss, np.float64)
    for name, slope, difference in directional_derivatives(model, arrays, loss, exact):
        assert slope == pytest.approx(difference, rel=1e-5, abs=1e-9), name


def directional_derivatives(model, arrays, loss, gradients, step=1e-5):
    """For each array: name, gradient along a random direction, central difference."""
    floats, others = onnx_in_jax.split_inputs(model, arrays)
    floats = {name: value.astype(np.float64) for name, value in floats.items()}
    output = model.graph.output[0].name
    target, weight = arrays.get("target"), losses_in_jax.position_weights(model, arrays)

    @jax.jit
    def function(changed):
        values = onnx_in_jax.evaluate(model, changed, others, np.float64)
        return losses_in_jax.loss_value(loss, values[output], target, weight)

    rng = np.random.default_rng(1)
    for name, value in floats.items():
        direction = rng.standard_normal(value.shape)
        up = float(function({**floats, name: value + step * direction}))
        down = float(function({**floats, name: value - step * direction}))
        yield name, float(np.vdot(gradients[name], direction)), (up - down) / (2 * step)


@pytest.mark.parametrize("spec", specs.feature_specs()[::20], ids=specs.identifier)
def test_recorded_references_match_jax(spec):
    model = models.build(spec)
    arrays = models.data(model, SIZES, specs.LOSS)
    recorded = references.gradients(model, arrays, specs.LOSS)
    for found, dtype, bound in zip(recorded, (np.float64, np.float32), (1e-12, 1e-4), strict=True):
        computed = onnx_in_jax.gradients(model, arrays, specs.LOSS, dtype)
        assert set(found) == set(computed)
        for name, value in computed.items():
            np.testing.assert_allclose(found[name], value, rtol=bound, atol=bound, err_msg=name)
