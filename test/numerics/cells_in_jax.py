"""Recurrent operators of ONNX in JAX, for onnx_in_jax.py."""

import jax
import jax.numpy as jnp
import numpy as np

# name: function of the operand, alpha and beta; defaults of alpha and beta, which ONNX has in
# float32
ACTIVATIONS = {
    "Affine": (lambda v, a, b: a * v + b, None, None),
    "Elu": (lambda v, a: jnp.where(v > 0, v, a * jnp.expm1(jnp.minimum(v, 0))), 1.0),
    "HardSigmoid": (lambda v, a, b: jnp.clip(a * v + b, 0, 1), np.float32(0.2), 0.5),
    "LeakyRelu": (lambda v, a: jnp.where(v > 0, v, a * v), np.float32(0.01)),
    "Relu": (lambda v: jnp.maximum(v, 0),),
    "ScaledTanh": (lambda v, a, b: a * jnp.tanh(b * v), None, None),
    "Sigmoid": (jax.nn.sigmoid,),
    "Softplus": (jax.nn.softplus,),
    "Softsign": (lambda v: v / (1 + jnp.abs(v)),),
    "Tanh": (jnp.tanh,),
    "ThresholdedRelu": (lambda v, a: jnp.where(v > a, v, 0), 1.0),
}


def read_activations(names, per_direction, attrs):
    """Each takes the next element of activation_alpha, and of activation_beta, if it has one.

    As in ONNX Runtime, `clip` limits what gates and candidates take, not what h of an LSTM takes.
    """
    given = [list(attrs.get(f"activation_{name}", [])) for name in ("alpha", "beta")]

    def make(clips, function, *defaults):
        values = [rest.pop(0) if rest else default for rest, default in zip(given, defaults)]
        values = [None if value is None else float(value) for value in values]

        def activation(v):
            if clips and "clip" in attrs:
                v = jnp.clip(v, -attrs["clip"], attrs["clip"])
            return function(v, *values)

        return activation

    return [
        make(per_direction < 3 or i % 3 != 2, *ACTIVATIONS[name]) for i, name in enumerate(names)
    ]


def rnn_step(x, states, w, r, wb, rb, p, activations, attrs):
    (f,) = activations
    return (f(x @ w.T + states[0] @ r.T + wb + rb),)


def gru_step(x, states, w, r, wb, rb, p, activations, attrs):
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


def lstm_step(x, states, w, r, wb, rb, p, activations, attrs):
    f, g, out = activations
    h, c = states
    pre = x @ w.T + h @ r.T + wb + rb
    i, o, forget, candidate = jnp.split(pre, 4, axis=-1)
    pi, po, pf = jnp.split(p, 3)
    i, forget, candidate = f(i + pi * c), f(forget + pf * c), g(candidate)
    if attrs.get("input_forget", 0):
        forget = 1 - i
    c = forget * c + i * candidate
    return (out(c) * f(o + po * c), c)


# op: step function, gates, states, default activations
CELLS = {
    "RNN": (rnn_step, 1, 1, ["Tanh"]),
    "GRU": (gru_step, 3, 1, ["Sigmoid", "Tanh"]),
    "LSTM": (lstm_step, 4, 2, ["Sigmoid", "Tanh", "Tanh"]),
}


def recurrent(node, attrs, x, w, r, b=None, sequence_lens=None, *rest):
    """Y, Y_h and, for LSTM, Y_c of one recurrent node."""
    step, gates, num_states, default_activations = CELLS[node.op_type]
    initial = list(rest[:num_states]) + [None] * (num_states - len(rest))
    peepholes = rest[num_states] if len(rest) > num_states else None
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

    steps = jnp.arange(x.shape[0])[:, None, None]
    lengths = jnp.full(x.shape[1], x.shape[0]) if sequence_lens is None else sequence_lens
    is_part = steps < jnp.asarray(lengths)[None, :, None]
    activations = read_activations(names, per_direction, attrs)
    sequences, finals = [], []
    for d, reverse in enumerate(directions):
        wb, rb = jnp.zeros((2, gates * hidden), x.dtype) if b is None else jnp.split(b[d], 2)
        p = jnp.zeros(3 * hidden, x.dtype) if peepholes is None else peepholes[d]
        own = activations[d * per_direction : (d + 1) * per_direction]
        start = tuple(
            jnp.zeros((x.shape[1], hidden), x.dtype) if s is None else s[d] for s in initial
        )

        def body(states, inputs, d=d, wb=wb, rb=rb, p=p, own=own):
            x_t, is_part = inputs
            after = step(x_t, states, w[d], r[d], wb, rb, p, own, attrs)
            states = tuple(jnp.where(is_part, new, old) for new, old in zip(after, states))
            return states, jnp.where(is_part, states[0], 0)

        final, outputs = jax.lax.scan(body, start, (x, is_part), reverse=reverse)
        sequences.append(outputs)
        finals.append(final)

    y = jnp.stack(sequences, axis=1)  # [T, D, B, H]
    lasts = [jnp.stack([f[s] for f in finals]) for s in range(num_states)]  # [D, B, H]
    if batch_first:
        y = jnp.transpose(y, (2, 0, 1, 3))
        lasts = [jnp.swapaxes(last, 0, 1) for last in lasts]
    return (y, *lasts)
