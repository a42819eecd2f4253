# Part of the bppsa project, under the MIT License.
"""ONNX models as JAX functions, compared with the same function written in JAX."""

import bitstreams
import harness
import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("bppsa._native", reason="the package is not built: utils/python.sh")
import bppsa.jax  # noqa: E402


@pytest.fixture(scope="module")
def function():
    return bppsa.jax.function(bitstreams.MODEL, backward="sequential")


def loss_of(function):
    def loss(parameters, x, target):
        scores = jax.nn.log_softmax(function(parameters, {"x": x})["logits"])
        return -jnp.mean(scores[jnp.arange(len(target)), target])

    return loss


@pytest.mark.parametrize("transform", [jax.jit, lambda function: function], ids=["jit", "eager"])
def test_gradients(function, transform):
    inputs, target = bitstreams.arrays()
    gradients_of = transform(jax.value_and_grad(loss_of(function), argnums=(0, 1)))
    loss, (gradients, by_x) = gradients_of(function.parameters, inputs["x"], target)
    expected, exact = bitstreams.exact_gradients(function.parameters, inputs["x"], target)
    assert loss == pytest.approx(expected, rel=1e-6)
    for name, gradient in {**gradients, "x": by_x}.items():
        assert harness.relative_error(np.asarray(gradient), exact[name]) < 1e-5, name


def test_parameters_are_arguments(function):
    inputs, _ = bitstreams.arrays()
    zeros = jax.tree.map(jnp.zeros_like, function.parameters)
    assert not function(zeros, inputs)["logits"].any()
    found = function(function.parameters, inputs)["logits"]
    expected = bitstreams.logits(function.parameters, jnp.asarray(inputs["x"]))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_vmap(function):
    x = jnp.stack([bitstreams.arrays(seed)[0]["x"] for seed in range(3)])
    each = jax.vmap(lambda one: function(function.parameters, {"x": one})["logits"])
    expected = jax.vmap(lambda one: bitstreams.logits(function.parameters, one))
    np.testing.assert_allclose(each(x), expected(x), rtol=1e-4, atol=1e-6)
    found, exact = (
        jax.grad(lambda x, f=f: jnp.sum(jnp.sin(f(x))))(x) for f in (each, expected)
    )
    np.testing.assert_allclose(found, exact, rtol=1e-3, atol=1e-5)


def test_training_loop(function):
    inputs, target = bitstreams.arrays(samples=20)

    @jax.jit
    def step(parameters):
        loss, gradients = jax.value_and_grad(loss_of(function))(parameters, inputs["x"], target)
        return loss, jax.tree.map(lambda p, g: p - 0.5 * g, parameters, gradients)

    parameters, losses = function.parameters, []
    for _ in range(50):
        loss, parameters = step(parameters)
        losses.append(float(loss))
    assert losses[-1] < 0.7 * losses[0]


def test_nonfinite_gradients(function):
    inputs, _ = bitstreams.arrays()
    infinite = {**inputs, "x": jnp.asarray(inputs["x"]).at[0].set(jnp.inf)}
    gradients = jax.grad(lambda p: function(p, infinite)["logits"].sum())(function.parameters)
    assert not jnp.isfinite(gradients["onnx::RNN_36"]).all()
    assert jnp.isfinite(gradients["head.bias"]).all()


def test_several_backward_passes(function):
    """One forward pass supports several backward passes with different cotangents."""
    inputs, _ = bitstreams.arrays()
    result, pull_back = jax.vjp(lambda p: function(p, inputs)["logits"], function.parameters)
    one, again = pull_back(jnp.ones_like(result)), pull_back(2 * jnp.ones_like(result))
    for name, gradient in one[0].items():
        np.testing.assert_allclose(again[0][name], 2 * gradient, rtol=1e-6)


def test_invalid_arguments(function):
    inputs, _ = bitstreams.arrays()
    for parameters, arrays, message in (
        ({}, inputs, "has the parameters head.weight"),
        (function.parameters, {"y": inputs["x"]}, "has the inputs x, found y"),
        (function.parameters, {"x": inputs["x"][0]}, "expected x: float32"),
        (function.parameters, {"x": inputs["x"].astype(np.float16)}, "found float16"),
        ({**function.parameters, "head.bias": jnp.zeros(9)}, inputs, "expected head.bias"),
    ):
        with pytest.raises(bppsa.Error, match=message):
            function(parameters, arrays)
    with pytest.raises(bppsa.Error, match="the framework provides"):
        bppsa.jax.function(bitstreams.MODEL, loss="mse")
