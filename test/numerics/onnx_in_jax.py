"""Evaluates an ONNX graph with JAX: the independent reference of the gradient tests.

It is written from the ONNX operator specification and follows it word by word; speed does not
matter. Floating-point values take one element type (float64 for the reference, float32 for the
error that an ordinary sequential implementation makes); integers, and with them all shape
arithmetic, stay NumPy arrays, so that a traced function has static shapes.

`test_reference.py` checks the evaluator against ONNX Runtime and its gradients against central
finite differences.
"""

import jax
import jax.numpy as jnp
import numpy as np
import onnx
from cells_in_jax import CELLS, recurrent
from onnx import numpy_helper
from windows_in_jax import average_pool, batch_normalization, conv, max_pool

jax.config.update("jax_enable_x64", True)


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


# --- control flow: loops are unrolled, conditions are known ----------------------------------------


def run_body(graph, values, inputs, opset, dtype):
    """The outputs of a graph inside of a node, which also reads `values`."""
    inner = dict(values)
    for tensor in graph.initializer:
        value = numpy_helper.to_array(tensor)
        inner[tensor.name] = value.astype(dtype) if value.dtype == np.float32 else value
    inner.update({info.name: value for info, value in zip(graph.input, inputs, strict=True)})
    evaluate_nodes(graph.node, inner, opset, dtype)
    return [inner[output.name] for output in graph.output]


def scan_op(attrs, inputs, run):
    count = attrs["num_scan_inputs"]
    states, arrays = list(inputs[:-count]), list(inputs[-count:])
    axes = attrs.get("scan_input_axes", [0] * count)
    backwards = attrs.get("scan_input_directions", [0] * count)
    arrays = [
        jnp.moveaxis(array, axis, 0)[:: -1 if back else 1]
        for array, axis, back in zip(arrays, axes, backwards)
    ]
    steps = []
    for i in range(arrays[0].shape[0]):
        outputs = run(states + [array[i] for array in arrays])
        states = outputs[: len(states)]
        steps.append(outputs[len(states) :])
    outputs = len(steps[0])
    axes = attrs.get("scan_output_axes", [0] * outputs)
    backwards = attrs.get("scan_output_directions", [0] * outputs)
    stacked = [jnp.stack(column[:: -1 if back else 1], axis) for column, axis, back in zip(zip(*steps), axes, backwards)]
    return states + stacked


def loop_op(inputs, run):
    count, condition, *states = inputs
    going = True if condition is None else bool(np.asarray(condition).reshape(()))
    steps = []
    for i in range(int(np.asarray(count).reshape(()))):
        if not going:
            break
        going, *outputs = run([np.asarray(i), np.asarray(going)] + states)
        states = outputs[: len(states)]
        steps.append(outputs[len(states) :])
    return states + [jnp.stack(column) for column in zip(*steps)]


def evaluate_nodes(nodes, values, opset, dtype):
    """Adds what the nodes define to `values`."""
    for node in nodes:
        inputs = [values[name] for name in node.input]
        if node.op_type in ("If", "Loop", "Scan"):
            attrs = attributes(node)
            if node.op_type == "If":
                branch = "then_branch" if np.asarray(inputs[0]).reshape(()) else "else_branch"
                outputs = run_body(attrs[branch], values, [], opset, dtype)
            else:
                body = attrs["body"]

                def run(given, body=body):
                    return run_body(body, values, given, opset, dtype)

                outputs = loop_op(inputs, run) if node.op_type == "Loop" else scan_op(attrs, inputs, run)
        else:
            outputs = evaluate_node(node, inputs, opset, dtype)
        values.update({name: v for name, v in zip(node.output, outputs) if name})
    return values


def evaluate(model, floats, others, dtype):
    """Every named value of the graph.

    floats: name -> array for float inputs and float initializers (those of the model when absent);
    others: name -> NumPy array for the remaining graph inputs.
    """
    values = {"": None}
    for tensor in model.graph.initializer:
        value = numpy_helper.to_array(tensor)
        values[tensor.name] = value.astype(dtype) if value.dtype == np.float32 else value
    values.update(others)
    values.update({name: jnp.asarray(value, dtype) for name, value in floats.items()})
    opset = next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
    return evaluate_nodes(model.graph.node, values, opset, dtype)


# --- losses and gradients -------------------------------------------------------------------------


def position_losses(kind, prediction, target):
    """The loss of each position."""
    if kind in ("cross-entropy", "nll"):
        log_p = jax.nn.log_softmax(prediction, axis=-1) if kind == "cross-entropy" else prediction
        return -jnp.take_along_axis(log_p, target[..., None], axis=-1)[..., 0]
    target = jnp.asarray(target, prediction.dtype)
    difference = prediction - target
    if kind == "mse":
        return difference**2
    if kind == "l1":
        return jnp.abs(difference)
    if kind == "huber":
        magnitude = jnp.abs(difference)
        return jnp.where(magnitude <= 1, 0.5 * difference**2, magnitude - 0.5)
    if kind == "bce-with-logits":
        return jnp.logaddexp(0, prediction) - prediction * target
    raise ValueError(kind)


def loss_value(kind, prediction, target, weight=None):
    """A loss is the mean over all its positions (design, section 2), weighted where they are."""
    if kind == "none":
        return prediction.reshape(())
    losses = position_losses(kind, prediction, target)
    return jnp.mean(losses) if weight is None else jnp.sum(losses * weight) / jnp.sum(weight)


def position_weights(model, arrays, output=None):
    """The array `weight`, and zeros beyond the ends of samples where there are `lengths`; or None."""
    weight, lengths = arrays.get("weight"), arrays.get("lengths")
    if lengths is None or "target" not in arrays:
        return weight
    names = [value.name for value in model.graph.input]
    inputs = dict(zip(names, map(dimensions, model.graph.input)))
    outputs = {value.name: dimensions(value) for value in model.graph.output}
    target = outputs[output or model.graph.output[0].name][: arrays["target"].ndim]
    (batch,) = inputs["lengths"]
    (steps,) = [size for size in inputs["x"][:2] if size != batch]
    if steps not in target:
        return weight
    shape = [len(lengths) if size == batch else 1 for size in target]
    is_part = np.indices(arrays["target"].shape)[target.index(steps)] < lengths.reshape(shape)
    return is_part * (1.0 if weight is None else weight)


def dimensions(value):
    """Sizes and names of symbolic sizes."""
    return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]


def split_inputs(model, arrays):
    """The float values that have a gradient (initializers and inputs) and the other inputs."""
    floats = {
        tensor.name: numpy_helper.to_array(tensor)
        for tensor in model.graph.initializer
        if tensor.data_type == onnx.TensorProto.FLOAT
    }
    others = {}
    for name, array in arrays.items():
        if name not in ("target", "weight"):
            (floats if array.dtype == np.float32 else others)[name] = array
    return floats, others


def outputs(model, arrays, dtype):
    """Every graph output as a NumPy array."""
    floats, others = split_inputs(model, arrays)
    values = jax.jit(
        lambda f: [evaluate(model, f, others, dtype)[o.name] for o in model.graph.output]
    )(floats)
    return {o.name: np.asarray(v) for o, v in zip(model.graph.output, values)}


def gradients(model, arrays, loss, dtype, loss_on=None):
    """`loss` and one gradient for each float initializer and float graph input, as NumPy arrays."""
    floats, others = split_inputs(model, arrays)
    floats = {name: np.asarray(value, dtype) for name, value in floats.items()}
    name = loss_on or model.graph.output[0].name

    weight = position_weights(model, arrays, name)

    def function(f, target):
        return loss_value(loss, evaluate(model, f, others, dtype)[name], target, weight)

    value, grads = jax.jit(jax.value_and_grad(function))(floats, arrays.get("target"))
    return {"loss": np.asarray(value), **{n: np.asarray(g) for n, g in grads.items()}}
