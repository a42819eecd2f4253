"""Compiled models that combine many operators, against the same formulas in float64 JAX."""

import harness
import jax
import jax.numpy as jnp
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

jax.config.update("jax_enable_x64", True)
TARGETS = {"cpu": (), "emulated": ("--target=cuda", "--emulate")}


def node(kind, inputs, output, **attributes):
    return helper.make_node(kind, inputs.split(), [output], **attributes)


def parameter(shape, low=-1.0, high=1.5, seed=1):
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


SEQUENCE_NODES = [
    node("Sin", "x", "sin"),
    node("Cos", "x", "cos"),
    node("Atan", "x", "atan"),
    node("Max", "sin cos w", "max"),
    node("Min", "max atan", "min"),
    node("Mod", "x v", "mod", fmod=1),
    node("Less", "x w", "less"),
    node("Not", "less", "not"),
    node("Where", "not min mod", "chosen"),
    node("CumSum", "chosen zero", "cumulated"),
    node("Softsign", "cumulated", "signed"),
    node("Celu", "signed", "bent", alpha=0.5),
    node("Trilu", "bent one", "lower", upper=0),
    node("ReduceMax", "lower", "largest", axes=[1], keepdims=0),
    node("ReduceMin", "chosen", "smallest", axes=[2], keepdims=0),
    node("ReduceLogSumExp", "bent", "lse", axes=[1], keepdims=0),
    node("ReduceProd", "w", "product", keepdims=1),
    node("LpNormalization", "chosen", "unit", axis=2),
    node("ReduceL2", "unit", "norms", axes=[1], keepdims=0),
    node("Mul", "largest product", "scaled"),
    node("Sum", "scaled lse norms", "sum"),
    node("ReduceL1", "smallest", "sizes", axes=[1], keepdims=1),
    node("Reciprocal", "sizes", "inverse"),
    node("Mean", "sum inverse", "y"),
]


def sequence(x, w, v):
    sin, cos, atan = jnp.sin(x), jnp.cos(x), jnp.arctan(x)
    low = jnp.minimum(jnp.maximum(jnp.maximum(sin, cos), w), atan)
    chosen = jnp.where(x < w, jnp.fmod(x, v), low)
    signed = jnp.cumsum(chosen, axis=0)
    signed = signed / (1 + jnp.abs(signed))
    bent = jax.nn.celu(signed, 0.5)
    largest = jnp.max(jnp.tril(bent, 1), axis=1)
    lse = jax.nn.logsumexp(bent, axis=1)
    unit = chosen / jnp.linalg.norm(chosen, axis=2, keepdims=True)
    total = largest * jnp.prod(w) + lse + jnp.linalg.norm(unit, axis=1)
    sizes = jnp.sum(jnp.abs(jnp.min(chosen, axis=2)), axis=1, keepdims=True)
    return (total + 1 / sizes) / 2


IMAGE_NODES = [
    node("ConvTranspose", "x w b", "spread", strides=[2, 3], pads=[1, 0, 0, 1], output_padding=[1, 0]),
    node("InstanceNormalization", "spread s t", "instance"),
    node("Mish", "instance", "mish"),
    node("Pad", "mish p", "padded", mode="reflect"),
    node("Conv", "padded k", "conv", strides=[2, 2]),
    node("GroupNormalization", "conv s2 t2", "group", num_groups=2),
    node("Swish", "group", "swish"),
    node("LpPool", "swish", "pooled", kernel_shape=[2, 2]),
    node("GlobalMaxPool", "pooled", "most"),
    node("Flatten", "most", "y"),
]


def image(x, w, b, s, t, k, s2, t2):
    # A transposed convolution is the VJP of a convolution.
    def convolve(image):
        pads = [(1, 0), (0, 1)]
        return jax.lax.conv_general_dilated(image, w, [2, 3], pads)

    whole = jnp.zeros((x.shape[0], w.shape[1], 2 * x.shape[2] + 1, 3 * x.shape[3] - 2), x.dtype)
    (spread,) = jax.vjp(convolve, whole)[1](x)
    spread = spread + b[:, None, None]

    def standard(v, axes):
        centred = v - v.mean(axes, keepdims=True)
        return centred / jnp.sqrt((centred**2).mean(axes, keepdims=True) + 1e-5)

    instance = standard(spread, (2, 3)) * s[:, None, None] + t[:, None, None]
    mish = instance * jnp.tanh(jax.nn.softplus(instance))
    padded = jnp.pad(mish, [(0, 0), (0, 0), (2, 1), (1, 2)], mode="reflect")
    conv = jax.lax.conv_general_dilated(padded, k, [2, 2], "VALID")
    n, c, h, u = conv.shape
    group = standard(conv.reshape(n, 2, c // 2, h, u), (2, 3, 4)).reshape(conv.shape)
    group = group * s2[:, None, None] + t2[:, None, None]
    swish = group * jax.nn.sigmoid(group)
    squares = swish**2
    windows = squares[..., :-1, :] + squares[..., 1:, :]
    pooled = jnp.sqrt(windows[..., :-1] + windows[..., 1:])
    return pooled.max((2, 3))


INDEX_NODES = [
    node("Einsum", "x w", "heads", equation="ntf,fhd->nhtd"),
    node("Einsum", "heads heads", "scores", equation="nhid,nhjd->nhij"),
    node("Softmax", "scores", "weights", axis=-1),
    node("Einsum", "weights heads", "mixed", equation="nhij,nhjd->nihd"),
    node("Reshape", "mixed shape", "flat"),
    node("Transpose", "flat", "first", perm=[1, 0, 2]),
    node("Shape", "first", "sizes"),
    node("ScatterND", "sizes front two", "wanted"),
    node("Expand", "u wanted", "updates"),
    node("ScatterND", "first rows updates", "written"),
    node("GatherND", "written picks", "gathered"),
    node("ScatterElements", "v places c", "table", axis=1),
    node("GatherElements", "table columns", "picked", axis=1),
    node("Einsum", "gathered picked", "y", equation="inf,fg->nig"),
]


def indices(x, w, u, v, c):
    heads = jnp.einsum("ntf,fhd->nhtd", x, w)
    weights = jax.nn.softmax(jnp.einsum("nhid,nhjd->nhij", heads, heads), axis=-1)
    mixed = jnp.einsum("nhij,nhjd->nihd", weights, heads)
    first = mixed.reshape(*mixed.shape[:2], -1).swapaxes(0, 1)
    gathered = first.at[jnp.array([3, 1])].set(jnp.broadcast_to(u, (2, *first.shape[1:])))[jnp.array([1, 4, 1])]
    table = v.at[0, 1].set(c[0, 0]).at[1, 3].set(c[1, 0])
    return jnp.einsum("inf,fg->nig", gathered, table[:, jnp.array([3, 1, 3])])


CASES = {
    "indices": (
        INDEX_NODES,
        indices,
        {
            "w": parameter((6, 2, 3)),
            "u": parameter((2, 1, 6), seed=2),
            "v": parameter((6, 4), seed=3),
            "c": parameter((2, 1), seed=4),
        },
        {
            "shape": np.array([0, 0, -1], np.int64),
            "rows": np.array([[3], [-4]], np.int64),
            "front": np.array([[0]], np.int64),
            "two": np.array([2], np.int64),
            "picks": np.array([[1], [-1], [1]], np.int64),
            "places": np.array([[1], [3]], np.int64),
            "columns": np.array([[3, 1, -1]] * 6, np.int64),
        },
        ["N", 5, 6],
        17,
    ),
    "sequence": (
        SEQUENCE_NODES,
        sequence,
        {"w": parameter(6), "v": parameter(6, 0.4, 0.9)},
        {"zero": np.array(0, np.int64), "one": np.array(1, np.int64)},
        ["N", 5, 6],
        17,
    ),
    "image": (
        IMAGE_NODES,
        image,
        {
            "w": parameter((3, 4, 3, 2)),
            "b": parameter(4),
            "s": parameter(4, 0.5),
            "t": parameter(4, seed=2),
            "k": parameter((4, 4, 3, 3)),
            "s2": parameter(4, 0.5, seed=3),
            "t2": parameter(4, seed=4),
        },
        {"p": np.array([0, 0, 2, 1, 0, 0, 1, 2], np.int64)},
        ["N", 3, 5, 4],
        24,
    ),
}


def build(name):
    nodes, _, parameters, constants, shape, opset = CASES[name]
    tensors = [numpy_helper.from_array(a, n) for n, a in (parameters | constants).items()]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", None])
    graph = helper.make_graph(nodes, name, [x], [y], tensors)
    opsets = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    onnx.checker.check_model(model)
    return model


def expected(name, dtype, arrays):
    """Returns the outputs and the gradients of the mean squared error."""
    _, function, parameters, _, _, _ = CASES[name]
    values = {"x": arrays["x"], **parameters}
    values = {n: jnp.asarray(a, dtype) for n, a in values.items()}

    def loss(values):
        return jnp.mean((function(**values) - arrays["target"]) ** 2)

    value, gradients = jax.value_and_grad(loss)(values)
    return function(**values), {"loss": value, **gradients}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_gradients(name, target):
    rng = np.random.default_rng(3)
    x = rng.uniform(0.2, 2.0, [7, *CASES[name][4][1:]]).astype(np.float32)
    shape = expected(name, np.float64, {"x": x, "target": 0})[0].shape
    arrays = {"x": x, "target": rng.standard_normal(shape).astype(np.float32)}
    outputs, exact = expected(name, np.float64, arrays)
    _, single = expected(name, np.float32, arrays)
    program = harness.compile_model(build(name), "--loss=mse", *TARGETS[target])
    np.testing.assert_allclose(program.infer(arrays)["y"], outputs, rtol=2e-5, atol=2e-5)
    exact, single = ({n: np.asarray(a) for n, a in found.items()} for found in (exact, single))
    harness.check_gradients(program.grad(arrays), exact, single)
