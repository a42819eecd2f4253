# Part of the bppsa project, under the MIT License.
"""Measures a training step in JAX on the CPU, written with lax.scan and compiled by jit.

Forward, forward with gradient, and the whole step are three compiled functions; backward and
update are differences of their times. The unroll factor of the scan is the best one of each shape,
determined on at most a hundred steps.
"""

import functools
import statistics
import time

import jax
import jax.numpy as jnp
import numpy as np

import cells_jax
from shapes import CLASSES
from worker import serve

UNROLLS = (1, 2, 4, 8)
# Longer sequences use the best unroll factor of this length.
LONGEST_TRIAL = 100


def _adam(p, m, v, count, gradient):
    tree = jax.tree_util.tree_map
    m = tree(lambda m, g: 0.9 * m + 0.1 * g, m, gradient)
    v = tree(lambda v, g: 0.999 * v + 0.001 * g * g, v, gradient)
    rate, scale = 1e-3 / (1 - 0.9**count), (1 - 0.999**count) ** -0.5
    return tree(lambda p, m, v: p - rate * m / (jnp.sqrt(v) * scale + 1e-8), p, m, v), m, v


def _time(call, repeat):
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        jax.block_until_ready(call())
        times.append(1e6 * (time.perf_counter() - start))
    return statistics.median(times)


class _Functions:
    """The compiled functions of one shape at one unroll factor."""

    def __init__(self, cell, features, hidden, batch, steps, every_step, unroll):
        rng = np.random.default_rng(1)
        self.p = cells_jax.parameters(cell, features, hidden, rng)
        self.x = jnp.asarray(rng.random((steps, batch, features)), jnp.float32)
        self.target = jnp.arange(batch) % CLASSES
        self.m = jax.tree_util.tree_map(jnp.zeros_like, self.p)
        loss = functools.partial(cells_jax.loss, cell, unroll=unroll, every_step=every_step)
        gradient = jax.value_and_grad(loss)

        def step(p, m, v, count, x, target):
            value, g = gradient(p, x, target)
            return value, _adam(p, m, v, count, g)

        self._forward, self._gradient, self._step = jax.jit(loss), jax.jit(gradient), jax.jit(step)

    def forward(self):
        return self._forward(self.p, self.x, self.target)

    def gradient(self):
        return self._gradient(self.p, self.x, self.target)

    def step(self):
        return self._step(self.p, self.m, self.m, 3.0, self.x, self.target)


@functools.lru_cache(maxsize=4)
def _best_unroll(*shape):
    """Returns the unroll factor with the fastest step."""
    candidates = []
    for unroll in UNROLLS:
        functions = _Functions(*shape, unroll)
        warm = _time(functions.step, 1)
        candidates.append((_time(functions.step, 1 if warm > 3e6 else 3), unroll))
    return min(candidates)[1]


@functools.lru_cache(maxsize=4)
def _best(cell, features, hidden, batch, steps, every_step):
    """Returns the best unroll factor and its compiled functions."""
    trial = min(steps, LONGEST_TRIAL)
    unroll = _best_unroll(cell, features, hidden, batch, trial, every_step)
    functions = _Functions(cell, features, hidden, batch, steps, every_step, unroll)
    for call in (functions.forward, functions.gradient, functions.step):
        _time(call, 1)
    return unroll, functions


def measure(request):
    unroll, functions = _best(
        *(request[key] for key in ("cell", "features", "hidden", "batch", "steps", "every_step"))
    )
    repeat = request["repeat"]
    forward, gradient, step = (
        _time(f, repeat) for f in (functions.forward, functions.gradient, functions.step)
    )
    return {
        "forward_us": forward,
        "backward_us": gradient - forward,
        "update_us": max(0.0, step - gradient),
        "step_us": step,
        "variant": f"unroll {unroll}",
    }


if __name__ == "__main__":
    serve({"jax": jax.__version__}, measure)
