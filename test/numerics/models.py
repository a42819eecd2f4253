"""Small ONNX models for the tests, built with onnx.helper only."""

import dataclasses

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
STATES = {"RNN": 1, "GRU": 1, "LSTM": 2}
ACTIVATIONS = {"RNN": 1, "GRU": 2, "LSTM": 3}


@dataclasses.dataclass(frozen=True)
class Spec:
    """One recurrent model; a field is a feature of the ONNX operator or of the graph around it."""

    cell: str = "RNN"
    hidden: int = 4
    features: int = 3
    classes: int = 5
    direction: str = "forward"
    layout: int = 0
    linear_before_reset: int = 0
    activations: tuple = ()  # for one direction, or for both if the tuple has twice the length
    alphas: tuple = ()
    betas: tuple = ()
    clip: float = 0.0
    peepholes: bool = False
    input_forget: int = 0
    lengths: bool = False  # add an input `lengths` for sequence_lens
    bias: bool = True
    initial: str = "absent"  # absent | input | parameter (one row, expanded) | constant (zeros)
    weights_as_inputs: bool = False
    layers: int = 1
    # last: classifier on Y_h | steps: classifier on every step of Y | gated: `steps` times the
    # sigmoid of a second classifier | none: Y itself | cell: classifier on Y_c
    head: str = "last"
    opset: int = 17
    fixed_time: int = 0  # 0: symbolic
    fixed_batch: int = 0
    weights: str = "uniform"  # uniform | orthogonal
    z_bias: float = 0.0  # GRU: added to the update gate's bias
    seed: int = 0

    @property
    def directions(self):
        return 2 if self.direction == "bidirectional" else 1

    def label(self):
        """A short test id: the cell and the fields with non-default values."""
        default = Spec()
        words = [self.cell.lower()]
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name != "cell" and value != getattr(default, field.name):
                text = "-".join(map(str, value)) if isinstance(value, tuple) else str(value)
                words.append(f"{field.name}:{text}")
        return "-".join(words)


class GraphBuilder:
    def __init__(self):
        self.nodes = []
        self.inputs = []
        self.initializers = []
        self.outputs = []

    def add(self, op, inputs, outputs=1, **attrs):
        names = [f"{op.lower()}_{len(self.nodes)}_{i}" for i in range(outputs)]
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, names, name=name, **attrs))
        return names if outputs > 1 else names[0]

    def constant(self, values):
        name = f"constant_{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(values, np.int64), name))
        return name

    def parameter(self, name, value):
        self.initializers.append(numpy_helper.from_array(value.astype(np.float32), name))
        return name

    def input(self, name, shape, dtype=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def squeeze(self, value, axes, opset):
        if opset < 13:
            return self.add("Squeeze", [value], axes=axes)
        return self.add("Squeeze", [value, self.constant(axes)])


def orthogonal(rng, size):
    q, r = np.linalg.qr(rng.standard_normal((size, size)))
    return q * np.sign(np.diag(r))


def layer_weights(spec, rng, features):
    """Returns W, R and B of one ONNX recurrent node."""
    h, gates, directions = spec.hidden, GATES[spec.cell], spec.directions
    bound = 1 / np.sqrt(h)
    w = rng.uniform(-bound, bound, (directions, gates * h, features))
    r = rng.uniform(-bound, bound, (directions, gates * h, h))
    b = rng.uniform(-bound, bound, (directions, 2 * gates * h))
    if spec.weights == "orthogonal":
        blocks = [[orthogonal(rng, h) for _ in range(gates)] for _ in range(directions)]
        r = np.concatenate([np.concatenate(gate)[None] for gate in blocks])
    if spec.cell == "GRU":
        b[:, :h] += spec.z_bias
    return w, r, b


def recurrent_layer(builder, spec, rng, x, index, features, dims):
    """Adds one recurrent node; returns the names of Y, Y_h and (LSTM) Y_c."""
    time, batch = dims
    arrays = dict(zip("WRB", layer_weights(spec, rng, features)))
    if not spec.bias:
        del arrays["B"]
    names = {}
    for key, value in arrays.items():
        name = f"layer{index}.{key}"
        if spec.weights_as_inputs:
            names[key] = builder.input(name, list(value.shape))
        else:
            names[key] = builder.parameter(name, value)

    initial = []
    if spec.initial != "absent":
        for state in ("h", "c")[: STATES[spec.cell]]:
            name = f"layer{index}.initial_{state}"
            shape = [spec.directions, batch, spec.hidden]
            if spec.layout == 1:
                shape = [batch, spec.directions, spec.hidden]
            if spec.initial == "input":
                initial.append(builder.input(name, shape))
                continue
            # Like exporters, read the batch size from the input.
            sizes = builder.add("Shape", [x])
            axis = 0 if spec.layout == 1 else 1
            count = builder.add("Gather", [sizes, builder.constant([axis])])
            full = [builder.constant([d]) if d != batch else count for d in shape]
            full = builder.add("Concat", full, axis=0)
            if spec.initial == "constant":
                initial.append(builder.add("ConstantOfShape", [full]))
            else:
                row = rng.standard_normal([1 if d == batch else d for d in shape])
                initial.append(builder.add("Expand", [builder.parameter(name, row), full]))

    attrs = {"hidden_size": spec.hidden, "direction": spec.direction}
    if spec.layout:
        attrs["layout"] = spec.layout
    if spec.cell == "GRU" and spec.linear_before_reset:
        attrs["linear_before_reset"] = 1
    if spec.activations:
        whole = len(spec.activations) == spec.directions * ACTIVATIONS[spec.cell]
        attrs["activations"] = list(spec.activations) * (1 if whole else spec.directions)
    for key, values in (("activation_alpha", spec.alphas), ("activation_beta", spec.betas)):
        if values:
            attrs[key] = list(values)
    if spec.clip:
        attrs["clip"] = spec.clip
    if spec.input_forget:
        attrs["input_forget"] = 1
    lengths = ""
    if spec.lengths:
        lengths = "lengths" if index else builder.input("lengths", [batch], TensorProto.INT32)
    inputs = [x, names["W"], names["R"], names.get("B", ""), lengths, *initial]
    if spec.peepholes:
        inputs += [""] * (7 - len(inputs))
        values = rng.uniform(-0.7, 0.7, (spec.directions, 3 * spec.hidden))
        inputs.append(builder.parameter(f"layer{index}.P", values))
    while not inputs[-1]:
        inputs.pop()
    return builder.add(spec.cell, inputs, outputs=1 + STATES[spec.cell], **attrs)


def merge_directions(builder, spec, y):
    """Returns Y with the direction axis folded into the features."""
    if spec.layout == 1:  # [B, T, D, H]: the last two axes are already adjacent
        return builder.add("Reshape", [y, builder.constant([0, 0, -1])])
    y = builder.add("Transpose", [y], perm=[0, 2, 1, 3])
    return builder.add("Reshape", [y, builder.constant([0, 0, -1])])


def last_state(builder, spec, y_h):
    """Returns Y_h or Y_c as [B, D * H]."""
    if spec.layout == 0:
        y_h = builder.add("Transpose", [y_h], perm=[1, 0, 2])
    return builder.add("Flatten", [y_h], axis=1)


def build(spec):
    """Returns the ONNX model; its float input is `x`, and the loss applies to its first output."""
    rng = np.random.default_rng(spec.seed)
    builder = GraphBuilder()
    time, batch = spec.fixed_time or "T", spec.fixed_batch or "B"
    shape = [batch, time, spec.features] if spec.layout == 1 else [time, batch, spec.features]
    x = builder.input("x", shape)
    value, features = x, spec.features
    for index in range(spec.layers):
        results = recurrent_layer(builder, spec, rng, value, index, features, (time, batch))
        features = spec.directions * spec.hidden
        if index + 1 < spec.layers:
            value = merge_directions(builder, spec, results[0])

    if spec.head == "none":
        builder.nodes.append(helper.make_node("Identity", [results[0]], ["y"]))
        dims = (
            [batch, time, spec.directions, spec.hidden]
            if spec.layout == 1
            else [time, spec.directions, batch, spec.hidden]
        )
        output = helper.make_tensor_value_info("y", TensorProto.FLOAT, dims)
    else:
        bound = 1 / np.sqrt(features)
        weight = rng.uniform(-bound, bound, (features, spec.classes))
        bias = rng.uniform(-bound, bound, spec.classes)
        builder.parameter("head.weight", weight)
        builder.parameter("head.bias", bias)
        if spec.head in ("steps", "gated"):
            steps = merge_directions(builder, spec, results[0])
            product = builder.add("MatMul", [steps, "head.weight"])
            last = ("Add", [product, "head.bias"])
            if spec.head == "gated":
                weight = builder.parameter("gate.weight", rng.uniform(-bound, bound, weight.shape))
                bias = builder.parameter("gate.bias", rng.uniform(-bound, bound, bias.shape))
                gate = builder.add("Add", [builder.add("MatMul", [steps, weight]), bias])
                last = ("Mul", [builder.add(*last), builder.add("Sigmoid", [gate])])
            builder.nodes.append(helper.make_node(*last, ["logits"]))
            dims = [*shape[:2], spec.classes]
        else:
            last = last_state(builder, spec, results[2 if spec.head == "cell" else 1])
            gemm = helper.make_node("Gemm", [last, "head.weight", "head.bias"], ["logits"])
            builder.nodes.append(gemm)
            dims = [batch, spec.classes]
        output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, dims)

    graph = helper.make_graph(
        builder.nodes, "test", builder.inputs, [output], initializer=builder.initializers
    )
    opsets = [helper.make_opsetid("", spec.opset)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    onnx.checker.check_model(model)
    return model


def slice_features(model, first, width):
    """Returns `model` on the input features [first, first + width)."""
    [x] = model.graph.input
    features = x.type.tensor_type.shape.dim[2]
    bounds = {"slice_first": first, "slice_last": first + features.dim_value, "slice_axis": 2}
    features.dim_value = width
    for node in model.graph.node:
        node.input[:] = ["x_part" if name == "x" else name for name in node.input]
    for name, value in bounds.items():
        model.graph.initializer.append(numpy_helper.from_array(np.array([value]), name))
    model.graph.node.insert(0, helper.make_node("Slice", ["x", *bounds], ["x_part"]))
    return model


def concrete(info, sizes):
    """Returns the shape of a graph input with its symbolic sizes replaced."""
    return [d.dim_value or sizes[d.dim_param] for d in info.type.tensor_type.shape.dim]


def is_batch_first(model):
    return any(a.name == "layout" and a.i for node in model.graph.node for a in node.attribute)


def data(model, sizes, loss, seed=0, classes=None):
    """Returns random arrays for every graph input and the target of the first output."""
    rng = np.random.default_rng([seed, *sizes.values()])
    arrays = {}
    given = {tensor.name for tensor in model.graph.initializer}
    for info in model.graph.input:
        if info.name in given:
            continue
        shape = concrete(info, sizes)
        if info.type.tensor_type.elem_type == TensorProto.FLOAT:
            scale = 1.0 if info.name == "x" else 0.3
            arrays[info.name] = (scale * rng.standard_normal(shape)).astype(np.float32)
        elif info.name == "lengths":
            steps = concrete(model.graph.input[0], sizes)[1 if is_batch_first(model) else 0]
            arrays[info.name] = rng.integers(1, steps + 1, shape).astype(np.int32)
        else:
            arrays[info.name] = rng.integers(0, classes or 2, shape)
    shape = concrete(model.graph.output[0], sizes)
    if loss in ("cross-entropy", "nll"):
        arrays["target"] = rng.integers(0, shape[-1], shape[:-1])
    elif loss == "bce-with-logits":
        arrays["target"] = rng.integers(0, 2, shape).astype(np.float32)
    elif loss != "none":
        arrays["target"] = rng.standard_normal(shape).astype(np.float32)
    return arrays
