# Part of the bppsa project, under the MIT License.
"""Reference gradients of the benchmark models: PyTorch's layers, or JAX without PyTorch.

Names and layouts are those of the ONNX models: W [1, G H, I], R [1, G H, H], B [1, 2 G H] with
the gates in ONNX's order, `head.weight` and `head.bias`, and the input x [T, B, I].
"""

import numpy as np

import frameworks

# Index of each gate of PyTorch and frameworks.jax_cells (GRU r z n; LSTM i f g o) in ONNX's order
# (GRU z r h; LSTM i o f c).
GATE_ORDER = {"rnn": (0,), "gru": (1, 0, 2), "lstm": (0, 2, 3, 1)}


def rows(cell, hidden):
    """Returns ONNX's row for each row of a peer's weights."""
    return np.concatenate([gate * hidden + np.arange(hidden) for gate in GATE_ORDER[cell]])


def by_pytorch(cell, weights, x, target, dtype):
    """Returns gradients of nn.RNN, nn.GRU or nn.LSTM with a linear head, on the CPU."""
    import torch

    hidden, features = weights["R0"].shape[2], weights["W0"].shape[2]
    precision = torch.float64 if dtype == np.float64 else torch.float32
    order = rows(cell, hidden)
    count = len(order)
    layer = getattr(torch.nn, cell.upper())(features, hidden, dtype=precision)
    head = torch.nn.Linear(hidden, frameworks.CLASSES, dtype=precision)
    values = {
        layer.weight_ih_l0: weights["W0"][0][order],
        layer.weight_hh_l0: weights["R0"][0][order],
        layer.bias_ih_l0: weights["B0"][0][:count][order],
        layer.bias_hh_l0: weights["B0"][0][count:][order],
        head.weight: weights["head.weight"],
        head.bias: weights["head.bias"],
    }
    with torch.no_grad():
        for parameter, value in values.items():
            parameter.copy_(torch.from_numpy(np.ascontiguousarray(value)))
    given = torch.from_numpy(x).to(precision).requires_grad_()
    scores = head(layer(given)[0][-1])
    torch.nn.functional.cross_entropy(scores, torch.from_numpy(target)).backward()
    back = np.argsort(order)
    grad = {p: p.grad.numpy() for p in values}
    bias = [grad[layer.bias_ih_l0][back], grad[layer.bias_hh_l0][back]]
    return {
        "W0": grad[layer.weight_ih_l0][back][None],
        "R0": grad[layer.weight_hh_l0][back][None],
        "B0": np.concatenate(bias)[None],
        "head.weight": grad[head.weight],
        "head.bias": grad[head.bias],
        "x": given.grad.numpy(),
    }


def by_jax(cell, weights, x, target, dtype):
    """Returns gradients of the loops of frameworks.py, differentiated by JAX, on the CPU."""
    import jax

    jnp = jax.numpy
    hidden = weights["R0"].shape[2]
    order = rows(cell, hidden)
    count = len(order)
    step = jax.vmap(frameworks.jax_cells(jnp, jax.nn.sigmoid)[cell], (None, 0, 0))

    def loss(given):
        w, r = given["W0"][0][order].T, given["R0"][0][order].T
        first, second = given["B0"][0][:count][order], given["B0"][0][count:][order]
        # The last gate of a GRU has a bias inside the recurrent product.
        inside = jnp.arange(count) >= (count - hidden if cell == "gru" else count)
        p = {"w": w, "r": r, "b": first + jnp.where(inside, 0, second), "q": second[-hidden:]}
        zero = jnp.zeros((x.shape[1], frameworks.state_size(cell, hidden)), w.dtype)
        last = jax.lax.scan(lambda s, row: (step(p, s, row), None), zero, given["x"])[0]
        scores = last[:, :hidden] @ given["head.weight"].T + given["head.bias"]
        chosen = jnp.take_along_axis(jax.nn.log_softmax(scores), target[:, None], 1)
        return -jnp.mean(chosen)

    with jax.enable_x64(dtype == np.float64), jax.default_device(jax.devices("cpu")[0]):
        arrays = {n: jnp.asarray(a, dtype) for n, a in {**weights, "x": x}.items()}
        return {n: np.asarray(g) for n, g in jax.jit(jax.grad(loss))(arrays).items()}


def reference():
    """Returns (name, function) of the reference available on this machine."""
    for name, module, function in (("pytorch", "torch", by_pytorch), ("jax", "jax", by_jax)):
        try:
            __import__(module)
        except ImportError:
            continue
        return name, function
    raise SystemExit("run.py: gradients are compared with PyTorch's or JAX's, and neither is here")


def relative_error(found, wanted):
    norm = np.linalg.norm(wanted.astype(np.float64))
    return float(np.linalg.norm(found.astype(np.float64) - wanted) / max(norm, 1e-300))


def compare(found, wanted, single):
    """Returns the array with the largest error relative to its limit.

    The limit is max(20 e, 1e-6), where e is the error of `single`, a plain float32 program.
    """
    worst = {"array": "", "error": 0.0, "limit": 1e-6, "ok": True}
    for name, array in wanted.items():
        limit = max(20 * relative_error(single[name], array), 1e-6)
        # A missing array or NaN is an error.
        error = relative_error(found[name], array) if name in found else float("inf")
        if not error / limit <= worst["error"] / worst["limit"]:
            worst = {"array": name, "error": error, "limit": limit, "ok": error <= limit}
        if not np.isfinite(error):
            return {**worst, "error": str(error), "ok": False}
    return worst
