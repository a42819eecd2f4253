"""Attention, STFT and ScatterND in compiled programs, compared with JAX in float64."""

import harness
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

jax.config.update("jax_enable_x64", True)
RNG = np.random.default_rng(0)
N, T, F, HEADS = 3, 6, 8, 2


def uniform(*shape):
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def attend(f, x, dtype):
    """Causal attention with a left window of two steps and a soft cap."""
    split = lambda a: a.reshape(a.shape[0], a.shape[1], HEADS, -1).transpose(0, 2, 1, 3)
    q, k, v = (split(x @ f[name]) for name in ("wq", "wk", "wv"))
    scores = q @ k.swapaxes(2, 3) / np.sqrt(F / HEADS)
    scores = 2 * jnp.tanh(scores / 2)
    steps = np.arange(x.shape[1])
    seen = (steps[None] <= steps[:, None]) & (steps[None] >= steps[:, None] - 2)
    weights = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1)
    return (weights @ v).transpose(0, 2, 1, 3).reshape(x.shape)


def spectrum(f, x, dtype):
    """Squared magnitudes of the spectra of windowed frames."""
    signal = (x @ f["w"]).reshape(x.shape[0], -1)
    frames = jnp.stack([signal[:, i : i + 4] for i in range(0, signal.shape[1] - 3, 2)], 1)
    parts = jnp.fft.rfft(frames * f["hann"], axis=-1)
    return parts.real**2 + parts.imag**2


def scatter(f, x, dtype):
    return jnp.tanh((f["table"].at[np.array([2, 0, 2])].add(f["u"])) @ x.swapaxes(1, 2))


NODE = helper.make_node
HANN = np.hanning(5)[:4].astype(np.float32)
MODELS = {
    "attention": (
        attend,
        [
            *[NODE("MatMul", ["x", f"w{n}"], [n]) for n in "qkv"],
            NODE("Attention", ["q", "k", "v"], ["y"], q_num_heads=HEADS, kv_num_heads=HEADS, is_causal=1,
                 softcap=2.0, left_window_size=2),
        ],
        {f"w{n}": uniform(F, F) for n in "qkv"},
        {},
    ),
    "spectrum": (
        spectrum,
        [
            NODE("MatMul", ["x", "w"], ["s"]),
            NODE("STFT", ["s", "step", "hann"], ["z"]),
            NODE("Mul", ["z", "z"], ["squares"]),
            NODE("ReduceSum", ["squares", "last"], ["y"], keepdims=0),
        ],
        {"w": uniform(F, 1)},
        {"step": np.array(2), "last": np.array([-1]), "hann": HANN},
    ),
    "scatter": (
        scatter,
        [
            NODE("ScatterND", ["table", "rows", "u"], ["r"], reduction="add"),
            NODE("Transpose", ["x"], ["c"], perm=[0, 2, 1]),
            NODE("MatMul", ["r", "c"], ["p"]),
            NODE("Tanh", ["p"], ["y"]),
        ],
        {"table": uniform(4, F), "u": uniform(3, F)},
        {"rows": np.array([[2], [0], [-2]])},
    ),
}  # fmt: skip


def make_model(name):
    _, nodes, weights, settings = MODELS[name]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        name,
        [info("x", TensorProto.FLOAT, ["N", "T", F])],
        [info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(a, n) for n, a in {**weights, **settings}.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=10)


def reference(name, x, target, dtype):
    """Returns the mean squared error and its gradients."""
    function, _, weights, settings = MODELS[name]
    fixed = {n: a.astype(dtype) for n, a in settings.items() if a.dtype == np.float32}

    def loss(f, x):
        return jnp.mean((function({**f, **fixed}, x, dtype) - target.astype(dtype)) ** 2)

    weights = {n: a.astype(dtype) for n, a in weights.items()}
    value, (grads, of_x) = jax.value_and_grad(loss, (0, 1))(weights, x.astype(dtype))
    return {"loss": np.asarray(value), "x": np.asarray(of_x), **{n: np.asarray(a) for n, a in grads.items()}}


@pytest.mark.parametrize("backward", ["sequential", "scan"])
@pytest.mark.parametrize("name", MODELS)
def test_gradients(name, backward):
    program = harness.compile_model(make_model(name), "--loss=mse")
    x = uniform(N, T, F)
    target = uniform(*program.infer({"x": x})["y"].shape)
    found = program.grad({"x": x, "target": target}, f"--backward={backward}")
    exact, single = (reference(name, x, target, dtype) for dtype in (np.float64, np.float32))
    harness.check_gradients(found, {n: exact[n] for n in found}, single, name)
    assert set(MODELS[name][2]) <= set(found)
