# Part of the bppsa project, under the MIT License.
"""ONNX models as JAX functions.

    f = bppsa.jax.function("gru.onnx")
    loss = lambda parameters, x: jax.numpy.mean(f(parameters, {"x": x})["logits"] ** 2)
    gradients = jax.jit(jax.grad(loss))(f.parameters, x)
"""

from bppsa.jax.functions import Function, function

__all__ = ["Function", "function"]
