# Part of the bppsa project, under the MIT License.
"""RNN, GRU (linear_before_reset = 1) and LSTM classifiers in JAX, in their fastest form.

The input projection is one matrix product outside the scan; the recurrent product is one per step.
Weights: `r` [H, G H], `w` [I, G H], `b` [G H], `head` [H, C], `head_b` [C], and for GRU `q` [H],
the bias inside the reset product. Gate order: GRU r z n; LSTM i f g o.
"""

import jax
import jax.numpy as jnp

from shapes import CLASSES, GATES


def parameters(cell, features, hidden, rng, dtype=jnp.float32):
    """Returns uniform random weights from a numpy generator."""
    gates = GATES[cell]
    shapes = {
        "r": (hidden, gates * hidden),
        "w": (features, gates * hidden),
        "b": (gates * hidden,),
        "head": (hidden, CLASSES),
        "head_b": (CLASSES,),
    }
    if cell == "gru":
        shapes["q"] = (hidden,)
    bound = hidden**-0.5
    return {
        name: jnp.asarray(rng.uniform(-bound, bound, shape), dtype)
        for name, shape in shapes.items()
    }


def _rnn(p, h, given):
    h = jnp.tanh(given + h @ p["r"])
    return h, h


def _gru(p, h, given):
    size = h.shape[-1]
    kept = h @ p["r"]
    r, z = jnp.split(jax.nn.sigmoid(given[..., : 2 * size] + kept[..., : 2 * size]), 2, -1)
    n = jnp.tanh(given[..., 2 * size :] + r * (kept[..., 2 * size :] + p["q"]))
    h = n + z * (h - n)
    return h, h


def _lstm(p, state, given):
    h, c = state
    i, f, g, o = jnp.split(given + h @ p["r"], 4, -1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return (h, c), h


def logits(cell, p, x, unroll=1, every_step=False):
    """Returns scores [B, C] of sequences [T, B, I], or [T, B, C] with `every_step`."""
    zero = jnp.zeros((x.shape[1], p["r"].shape[0]), x.dtype)
    step = {"rnn": _rnn, "gru": _gru, "lstm": _lstm}[cell]
    given = x @ p["w"] + p["b"]
    state = (zero, zero) if cell == "lstm" else zero
    if every_step:
        _, h = jax.lax.scan(lambda s, g: step(p, s, g), state, given, unroll=unroll)
        return h @ p["head"] + p["head_b"]
    state, _ = jax.lax.scan(lambda s, g: (step(p, s, g)[0], None), state, given, unroll=unroll)
    return (state[0] if cell == "lstm" else state) @ p["head"] + p["head_b"]


def loss(cell, p, x, target, unroll=1, every_step=False):
    """Returns the mean cross-entropy; with `every_step`, every step has the same target [B]."""
    scores = jax.nn.log_softmax(logits(cell, p, x, unroll, every_step))
    targets = jnp.broadcast_to(target, scores.shape[:-1])
    return -jnp.mean(jnp.take_along_axis(scores, targets[..., None], -1))
