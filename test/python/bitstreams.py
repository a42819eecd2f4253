# Part of the bppsa project, under the MIT License.
"""The example RNN with 20 units, its arrays, and the same function in float64 JAX."""

import functools

import harness
import jax
import jax.numpy as jnp
import numpy as np

MODEL = harness.ROOT / "examples" / "bitstream_rnn.onnx"
HEAD_W, HEAD_B, W, R, B = (
    "head.weight",
    "head.bias",
    "onnx::RNN_36",
    "onnx::RNN_37",
    "onnx::RNN_38",
)


def arrays(seed=0, steps=7, samples=5):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(steps, samples, 1)).astype(np.float32)
    return {"x": x}, rng.integers(0, 10, samples)


def logits(parameters, x):
    units = parameters[R].shape[-1]
    bias = parameters[B][0, :units] + parameters[B][0, units:]

    def step(h, value):
        return jnp.tanh(value @ parameters[W][0].T + h @ parameters[R][0].T + bias), None

    h, _ = jax.lax.scan(step, jnp.zeros((x.shape[1], units), x.dtype), x)
    return h @ parameters[HEAD_W].T + parameters[HEAD_B]


def loss(parameters, x, target):
    scores = jax.nn.log_softmax(logits(parameters, x))
    return -jnp.mean(scores[jnp.arange(len(target)), target])


@functools.wraps(loss)
def exact_gradients(parameters, x, target):
    """Returns the loss and its gradients with respect to the parameters and x, in float64."""
    with jax.enable_x64(True):
        doubles = {name: jnp.asarray(value, jnp.float64) for name, value in parameters.items()}
        value, (own, by_x) = jax.value_and_grad(loss, argnums=(0, 1))(
            doubles, jnp.asarray(x, jnp.float64), jnp.asarray(target)
        )
        return float(value), {**{n: np.asarray(g) for n, g in own.items()}, "x": np.asarray(by_x)}
