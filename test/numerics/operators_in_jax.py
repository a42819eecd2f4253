"""What the operators of ONNX compute, but for those with graphs inside: part of `onnx_in_jax`."""

import jax
import jax.numpy as jnp
import numpy as np
import onnx
from cells_in_jax import CELLS, recurrent
from onnx import numpy_helper
from windows_in_jax import average_pool, batch_normalization, conv, max_pool


def is_static(*values):
    return all(value is None or isinstance(value, (np.ndarray, np.generic)) for value in values)


def attributes(node):
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def ints(value):
    return [int(v) for v in np.asarray(value).reshape(-1)]


def reshape(x, shape, allowzero):
    shape = ints(shape)
    if not allowzero:
        shape = [x.shape[i] if d == 0 else d for i, d in enumerate(shape)]
    return x.reshape(shape)


def slice_op(x, starts, ends, axes=None, steps=None):
    axes = range(len(ints(starts))) if axes is None else ints(axes)
    steps = [1] * len(ints(starts)) if steps is None else ints(steps)
    index = [slice(None)] * x.ndim
    for start, end, axis, step in zip(ints(starts), ints(ends), axes, steps):
        size = x.shape[axis]
        if step < 0 and end < -size:
            end = None
        index[axis] = slice(start, end, step)
    return x[tuple(index)]


def softmax(x, attrs, opset, log):
    function = jax.nn.log_softmax if log else jax.nn.softmax
    if opset >= 13:
        return function(x, axis=attrs.get("axis", -1))
    axis = attrs.get("axis", 1) % x.ndim
    flat = x.reshape(int(np.prod(x.shape[:axis])), -1)
    return function(flat, axis=-1).reshape(x.shape)


def reduction(xp, name, x, axes, attrs):
    if axes is None and "axes" in attrs:
        axes = attrs["axes"]
    keepdims = bool(attrs.get("keepdims", 1))
    if axes is None or len(ints(axes)) == 0:
        if attrs.get("noop_with_empty_axes", 0):
            return x
        axes = range(x.ndim)
    function = {"ReduceSum": xp.sum, "ReduceMean": xp.mean}[name]
    return function(x, axis=tuple(a % x.ndim for a in ints(axes)), keepdims=keepdims)


def split(x, sizes, attrs, outputs):
    axis = attrs.get("axis", 0)
    if sizes is None and "split" in attrs:
        sizes = attrs["split"]
    if sizes is None:
        part = -(-x.shape[axis] // outputs)
        sizes = [min(part, x.shape[axis] - i * part) for i in range(outputs)]
    bounds = np.cumsum(ints(sizes))[:-1]
    return tuple((np if is_static(x) else jnp).split(x, bounds, axis=axis))


def pad(x, pads, value, axes, attrs):
    pads = attrs["pads"] if pads is None else ints(pads)
    axes = range(x.ndim) if axes is None else [a % x.ndim for a in ints(axes)]
    widths = [(0, 0)] * x.ndim
    for i, axis in enumerate(axes):
        widths[axis] = (pads[i], pads[len(pads) // 2 + i])
    value = attrs.get("value", 0.0) if value is None else value
    return jnp.pad(x, widths, constant_values=value)


# --- activations with parameters ------------------------------------------------------------------


def elu(x, alpha):
    return jnp.where(x > 0, x, alpha * jnp.expm1(jnp.where(x > 0, 0, x)))


def hard_sigmoid(x, alpha, beta):
    return jnp.clip(alpha * x + beta, 0, 1)


def gelu(x, attrs):
    return jax.nn.gelu(x, approximate=attrs.get("approximate", b"none") == b"tanh")


def clip(x, low, high, attrs):
    low = attrs.get("min", -np.inf) if low is None else low
    high = attrs.get("max", np.inf) if high is None else high
    return jnp.clip(x, low, high)


def selu(x, attrs):
    alpha = attrs.get("alpha", 1.67326319217681884765625)
    return attrs.get("gamma", 1.05070102214813232421875) * elu(x, alpha)


# Functions of the inputs, padded with None, and of the attributes.
FEED_FORWARD = {
    "Conv": lambda attrs, x, w, b, *_: conv(x, w, b, attrs),
    "MaxPool": lambda attrs, x, *_: max_pool(x, attrs),
    "AveragePool": lambda attrs, x, *_: average_pool(x, attrs),
    "GlobalAveragePool": lambda attrs, x, *_: x.mean(tuple(range(2, x.ndim)), keepdims=True),
    "Pad": lambda attrs, x, pads, value, axes, *_: pad(x, pads, value, axes, attrs),
    "Elu": lambda attrs, x, *_: elu(x, attrs.get("alpha", 1.0)),
    "Selu": lambda attrs, x, *_: selu(x, attrs),
    "PRelu": lambda attrs, x, slope, *_: jnp.where(x > 0, x, x * slope),
    "HardSigmoid": lambda attrs, x, *_: hard_sigmoid(
        x, attrs.get("alpha", 0.2), attrs.get("beta", 0.5)
    ),
    "HardSwish": lambda attrs, x, *_: x * hard_sigmoid(x, 1 / 6, 0.5),
    "Gelu": lambda attrs, x, *_: gelu(x, attrs),
    "Erf": lambda attrs, x, *_: jax.lax.erf(x),
    "Softplus": lambda attrs, x, *_: jax.nn.softplus(x),
    "Clip": lambda attrs, x, low, high, *_: clip(x, low, high, attrs),
}


def layer_normalization(x, scale, bias, attrs):
    axis = attrs.get("axis", -1) % x.ndim
    axes = tuple(range(axis, x.ndim))
    mean = x.mean(axes, keepdims=True)
    variance = ((x - mean) ** 2).mean(axes, keepdims=True)
    normal = (x - mean) / jnp.sqrt(variance + attrs.get("epsilon", 1e-5))
    return normal * scale + (0 if bias is None else bias)


def unsqueeze(x, axes, xp):
    rank = x.ndim + len(ints(axes))
    for axis in sorted(a % rank for a in ints(axes)):
        x = xp.expand_dims(x, axis)
    return x


def gemm(a, b, c, attrs):
    a = a.T if attrs.get("transA", 0) else a
    b = b.T if attrs.get("transB", 0) else b
    result = attrs.get("alpha", 1.0) * (a @ b)
    return result if c is None else result + attrs.get("beta", 1.0) * c


def divide(xp, a, b):
    if np.issubdtype(a.dtype, np.integer):
        return np.trunc(a / b).astype(a.dtype)
    return xp.true_divide(a, b)


ELEMENTWISE = {
    "Add": lambda xp, a, b: a + b,
    "Sub": lambda xp, a, b: a - b,
    "Mul": lambda xp, a, b: a * b,
    "Div": divide,
    "Pow": lambda xp, a, b: xp.power(a, b),
    "Neg": lambda xp, a: -a,
    "Sqrt": lambda xp, a: xp.sqrt(a),
    "Exp": lambda xp, a: xp.exp(a),
    "Log": lambda xp, a: xp.log(a),
    "Abs": lambda xp, a: xp.abs(a),
    "Tanh": lambda xp, a: xp.tanh(a),
    "Sigmoid": lambda xp, a: jax.nn.sigmoid(a),
    "Relu": lambda xp, a: xp.maximum(a, 0),
    "Identity": lambda xp, a: a,
    "MatMul": lambda xp, a, b: xp.matmul(a, b),
}


def evaluate_node(node, inputs, opset, dtype):
    """The outputs of one node as a tuple."""
    attrs = attributes(node)
    xp = np if is_static(*inputs) else jnp
    op = node.op_type
    first = inputs[0] if inputs else None
    second = inputs[1] if len(inputs) > 1 else None

    def from_proto(tensor):
        value = numpy_helper.to_array(tensor)
        return value.astype(dtype) if value.dtype == np.float32 else value

    if op in ELEMENTWISE:
        return (ELEMENTWISE[op](xp, *inputs),)
    if op in CELLS:
        return recurrent(node, attrs, *inputs)
    if op in FEED_FORWARD:
        return (FEED_FORWARD[op](attrs, *inputs, None, None, None),)
    if op == "BatchNormalization":
        return batch_normalization(*inputs, attrs)
    if op == "LeakyRelu":
        return (jnp.where(first >= 0, first, attrs.get("alpha", 0.01) * first),)
    if op in ("Softmax", "LogSoftmax"):
        return (softmax(first, attrs, opset, op == "LogSoftmax"),)
    if op in ("ReduceSum", "ReduceMean"):
        return (reduction(xp, op, first, second, attrs),)
    if op == "Gemm":
        return (gemm(first, second, inputs[2] if len(inputs) > 2 else None, attrs),)
    if op == "Transpose":
        return (xp.transpose(first, attrs.get("perm")),)
    if op == "Reshape":
        return (reshape(first, second, attrs.get("allowzero", 0)),)
    if op == "Flatten":
        axis = attrs.get("axis", 1)
        axis += first.ndim if axis < 0 else 0
        return (first.reshape(int(np.prod(first.shape[:axis])), -1),)
    if op == "Squeeze":
        axes = attrs.get("axes") if second is None else second
        return (xp.squeeze(first, None if axes is None else tuple(ints(axes))),)
    if op == "Unsqueeze":
        return (unsqueeze(first, attrs.get("axes") if second is None else second, xp),)
    if op == "Slice":
        if "starts" in attrs:
            return (slice_op(first, attrs["starts"], attrs["ends"], attrs.get("axes")),)
        return (slice_op(*inputs),)
    if op == "ArgMax":
        found = xp.argmax(first, axis=attrs.get("axis", 0), keepdims=bool(attrs.get("keepdims", 1)))
        return (found,)
    if op == "Sum":
        return (sum(inputs),)
    if op == "ScatterND":
        data, indices, updates = inputs
        return (jnp.asarray(data).at[tuple(np.moveaxis(indices, -1, 0))].set(updates),)
    if op == "Gather":
        xp = xp if is_static(first, second) else jnp
        return (xp.take(first, xp.asarray(second).astype(np.int64), axis=attrs.get("axis", 0)),)
    if op == "Concat":
        return (xp.concatenate(inputs, axis=attrs["axis"]),)
    if op == "Split":
        return split(first, second, attrs, len(node.output))
    if op == "Expand":
        return (first * xp.ones(ints(second), first.dtype),)
    if op == "Shape":
        shape = np.asarray(first.shape, np.int64)
        return (shape[attrs.get("start", 0) : attrs.get("end", len(shape))],)
    if op == "Constant":
        for name in ("value_float", "value_floats"):
            if name in attrs:
                return (np.asarray(attrs[name], dtype),)
        for name in ("value_int", "value_ints"):
            if name in attrs:
                return (np.asarray(attrs[name], np.int64),)
        return (from_proto(attrs["value"]),)
    if op == "ConstantOfShape":
        value = from_proto(attrs["value"]) if "value" in attrs else np.zeros(1, dtype)
        return (np.full(ints(first), value.reshape(-1)[0]),)
    if op == "Cast":
        target = onnx.helper.tensor_dtype_to_np_dtype(attrs["to"])
        return (first.astype(dtype if target == np.float32 else target),)
    if op == "Dropout":
        return (first, np.ones(first.shape, bool))
    if op == "LayerNormalization":
        return (layer_normalization(first, second, inputs[2] if len(inputs) > 2 else None, attrs),)
    raise NotImplementedError(f"the reference has no rule for {op}")
