"""Recurrent operators of ONNX in JAX, for onnx_in_jax.py."""

import jax
import jax.numpy as jnp

ACTIVATIONS = {
    "Tanh": jnp.tanh,
    "Relu": lambda v: jnp.maximum(v, 0),
    "Sigmoid": jax.nn.sigmoid,
}


def rnn_step(x, states, w, r, wb, rb, activations, attrs):
    (f,) = activations
    return (f(x @ w.T + states[0] @ r.T + wb + rb),)


def gru_step(x, states, w, r, wb, rb, activations, attrs):
    f, g = activations
    (h,) = states
    wz, wr, wh = jnp.split(w, 3)
    rz, rr, rh = jnp.split(r, 3)
    wbz, wbr, wbh = jnp.split(wb, 3)
    rbz, rbr, rbh = jnp.split(rb, 3)
    z = f(x @ wz.T + h @ rz.T + wbz + rbz)
    reset = f(x @ wr.T + h @ rr.T + wbr + rbr)
    if attrs.get("linear_before_reset", 0):
        candidate = g(x @ wh.T + reset * (h @ rh.T + rbh) + wbh)
    else:
        candidate = g(x @ wh.T + (reset * h) @ rh.T + rbh + wbh)
    return ((1 - z) * candidate + z * h,)


def lstm_step(x, states, w, r, wb, rb, activations, attrs):
    f, g, out = activations
    h, c = states
    pre = x @ w.T + h @ r.T + wb + rb
    i, o, forget, candidate = jnp.split(pre, 4, axis=-1)
    i, o, forget, candidate = f(i), f(o), f(forget), g(candidate)
    if attrs.get("input_forget", 0):
        forget = 1 - i
    c = forget * c + i * candidate
    return (out(c) * o, c)


# op: step function, gates, states, default activations
CELLS = {
    "RNN": (rnn_step, 1, 1, ["Tanh"]),
    "GRU": (gru_step, 3, 1, ["Sigmoid", "Tanh"]),
    "LSTM": (lstm_step, 4, 2, ["Sigmoid", "Tanh", "Tanh"]),
}


def recurrent(node, attrs, x, w, r, b=None, sequence_lens=None, *initial):
    """Y, Y_h and, for LSTM, Y_c of one recurrent node."""
    assert sequence_lens is None and "clip" not in attrs, "outside the tested subset"
    step, gates, num_states, default_activations = CELLS[node.op_type]
    initial = list(initial[:num_states]) + [None] * (num_states - len(initial))
    batch_first = attrs.get("layout", 0) == 1
    direction = attrs.get("direction", b"forward").decode()
    directions = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
    names = [a.decode() for a in attrs.get("activations", [])]
    names = names or default_activations * len(directions)
    per_direction = len(default_activations)
    hidden = attrs.get("hidden_size", r.shape[-1])
    if batch_first:
        x = jnp.swapaxes(x, 0, 1)
        initial = [None if s is None else jnp.swapaxes(s, 0, 1) for s in initial]

    sequences, finals = [], []
    for d, reverse in enumerate(directions):
        wb, rb = jnp.zeros((2, gates * hidden), x.dtype) if b is None else jnp.split(b[d], 2)
        own = names[d * per_direction : (d + 1) * per_direction]
        activations = [ACTIVATIONS[name] for name in own]
        start = tuple(
            jnp.zeros((x.shape[1], hidden), x.dtype) if s is None else s[d] for s in initial
        )

        def body(states, x_t, d=d, wb=wb, rb=rb, activations=activations):
            states = step(x_t, states, w[d], r[d], wb, rb, activations, attrs)
            return states, states[0]

        final, outputs = jax.lax.scan(body, start, x, reverse=reverse)
        sequences.append(outputs)
        finals.append(final)

    y = jnp.stack(sequences, axis=1)  # [T, D, B, H]
    lasts = [jnp.stack([f[s] for f in finals]) for s in range(num_states)]  # [D, B, H]
    if batch_first:
        y = jnp.transpose(y, (2, 0, 1, 3))
        lasts = [jnp.swapaxes(last, 0, 1) for last in lasts]
    return (y, *lasts)
