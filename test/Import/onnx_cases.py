"""Small models that together use every op, attribute and opset that the importer accepts.

A case is a model and the arrays that feed it. What the model must compute is never written down
here: the tests ask ONNX Runtime.
"""

import dataclasses

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {
    np.dtype(np.float32): TensorProto.FLOAT,
    np.dtype(np.int64): TensorProto.INT64,
    np.dtype(np.int32): TensorProto.INT32,
    np.dtype(np.bool_): TensorProto.BOOL,
}
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


@dataclasses.dataclass
class Case:
    name: str
    model: onnx.ModelProto
    arrays: dict


def generator(*key):
    """A random generator that depends on the case only."""
    return np.random.default_rng(list(repr(key).encode()))


def model(nodes, inputs, outputs, initializers=(), opset=17):
    """`inputs` and `outputs` are pairs of name and shape, or of name and (dtype, shape)."""

    def info(name, kind):
        dtype, shape = kind if isinstance(kind, tuple) else (np.float32, kind)
        return helper.make_tensor_value_info(name, TYPES[np.dtype(dtype)], shape)

    graph = helper.make_graph(
        nodes,
        "graph",
        [info(*pair) for pair in inputs],
        [info(*pair) for pair in outputs],
        [numpy_helper.from_array(array, name) for name, array in initializers],
    )
    result = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    result.ir_version = 8 if opset < 19 else 10
    return result


def op_case(op, arrays, outputs=1, opset=17, constants=(), label="", shapes=None, **attributes):
    """One node; `constants` names initializers, `shapes` gives symbolic shapes."""
    names = list(arrays)
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(
        op, ["" if arrays[n] is None else n for n in names], results, name="node", **attributes
    )
    given = {n: a for n, a in arrays.items() if a is not None and n not in constants}
    shapes = shapes or {}
    inputs = [(n, (a.dtype, shapes.get(n, a.shape))) for n, a in given.items()]
    initializers = [(n, arrays[n]) for n in constants]
    outputs_info = [(n, (np.float32, None)) for n in results]
    built = model([node], inputs, outputs_info, initializers, opset)
    # The checker wants types of outputs; inference knows them.
    for output in built.graph.output:
        output.ClearField("type")
    built = onnx.shape_inference.infer_shapes(built)
    words = [op, f"opset{opset}", label] + [f"{k}={v}" for k, v in attributes.items()]
    return Case("-".join(w for w in words if w), built, given)


# --- recurrent layers ---


def recurrent_case(
    op,
    direction="forward",
    layout=0,
    bias=True,
    initial=True,
    opset=17,
    symbolic=True,
    weights="initializers",
    sizes=(5, 3, 4, 6),
    label="",
    **attributes,
):
    """One layer with all of its outputs; sizes are T, B, I and H."""
    rng = generator(op, direction, layout, bias, initial, opset, label)
    time, batch, features, hidden = sizes
    directions = 2 if direction == "bidirectional" else 1
    gates = GATES[op]

    def random(*shape):
        return rng.uniform(-0.7, 0.7, shape).astype(np.float32)

    x = random(batch, time, features) if layout else random(time, batch, features)
    arrays = {
        "W": random(directions, gates * hidden, features),
        "R": random(directions, gates * hidden, hidden),
    }
    names = ["x", "W", "R"]
    if bias:
        arrays["B"] = random(directions, 2 * gates * hidden)
    names += ["B" if bias else "", ""]
    states = ["h0", "c0"] if op == "LSTM" else ["h0"]
    if initial:
        shape = (batch, directions, hidden) if layout else (directions, batch, hidden)
        names += states
        feeds = {s: random(*shape) for s in states}
    else:
        feeds = {}
    outputs = ["Y", "Y_h"] + (["Y_c"] if op == "LSTM" else [])
    if layout:
        attributes["layout"] = 1
    node = helper.make_node(
        op, names, outputs, name="layer", direction=direction, hidden_size=hidden, **attributes
    )
    feeds["x"] = x
    t, b = ("T", "B") if symbolic else (time, batch)
    inputs = [("x", [b, t, features] if layout else [t, b, features])]
    inputs += [
        (s, [b, directions, hidden] if layout else [directions, b, hidden])
        for s in states
        if initial
    ]
    if weights == "inputs":
        feeds.update(arrays)
        inputs += [(n, list(a.shape)) for n, a in arrays.items()]
        arrays = {}
    last = [b, directions, hidden] if layout else [directions, b, hidden]
    every = [b, t, directions, hidden] if layout else [t, directions, b, hidden]
    built = model(
        [node], inputs, list(zip(outputs, [every, last, last])), list(arrays.items()), opset
    )
    words = [op, direction, f"layout{layout}", f"opset{opset}", label]
    words += [] if bias else ["nobias"]
    words += [] if initial else ["zero"]
    words += [] if symbolic else ["static"]
    words += [f"{k}={v}" for k, v in attributes.items() if k != "layout"]
    return Case("-".join(w for w in words if w), built, feeds)


def recurrent_cases():
    for op in GATES:
        for direction in ("forward", "reverse", "bidirectional"):
            # ONNX Runtime has no kernels for layout 1: the tests turn it into layout 0.
            yield recurrent_case(op, direction)
            yield recurrent_case(op, direction, layout=1, opset=14)
            yield recurrent_case(op, direction, bias=False, initial=False, opset=7)
        yield recurrent_case(op, opset=22)
        yield recurrent_case(op, symbolic=False, initial=False)
        yield recurrent_case(op, weights="inputs", label="inputs")
        yield recurrent_case(op, "bidirectional", weights="inputs", label="inputs")
        yield recurrent_case(op, sizes=(1, 1, 1, 1), label="ones")
    for direction in ("forward", "bidirectional"):
        yield recurrent_case("GRU", direction, linear_before_reset=1)
        yield recurrent_case("GRU", direction, bias=False, linear_before_reset=1)
    yield recurrent_case("RNN", activations=["Relu"])
    yield recurrent_case("RNN", activations=["Sigmoid"])
    yield recurrent_case("RNN", "bidirectional", activations=["Tanh", "Relu"])
    yield recurrent_case("GRU", activations=["Sigmoid", "Tanh"])
    yield recurrent_case("LSTM", activations=["Sigmoid", "Tanh", "Tanh"])
    yield recurrent_case(
        "LSTM", "bidirectional", activations=["Sigmoid", "Tanh", "Tanh", "Sigmoid", "Relu", "Tanh"]
    )


# --- other ops ---


def floats(*shape, low=-2.0, high=2.0, key=0):
    return generator(shape, key).uniform(low, high, shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


def elementwise_cases():
    for op in ("Abs", "Neg", "Exp", "Tanh", "Relu", "Sigmoid"):
        yield op_case(op, {"x": floats(2, 3)}, shapes={"x": ["N", 3]})
    for op in ("Sqrt", "Log"):
        yield op_case(op, {"x": floats(2, 3, low=0.1)})
    yield op_case("LeakyRelu", {"x": floats(4, 3)})
    yield op_case("LeakyRelu", {"x": floats(4, 3)}, alpha=0.3)
    for op in ("Add", "Sub", "Mul", "Div"):
        a, b = floats(2, 1, 3), floats(4, 1, low=0.5)
        yield op_case(op, {"a": a, "b": b}, opset=7)
        yield op_case(op, {"a": a, "b": b}, shapes={"a": ["N", 1, 3], "b": ["M", 1]})
        yield op_case(op, {"a": floats(2, 3), "b": floats(2, 3, low=1)}, opset=14, constants=["b"])
        yield op_case(op, {"a": floats(2, 3), "b": floats(low=1)}, label="scalar")
    for op in ("Add", "Sub", "Mul"):
        yield op_case(op, {"a": ints(1, -2, 3), "b": ints(4, 5, 6)}, label="ints")
    yield op_case("Pow", {"x": floats(2, 3, low=0.1), "e": floats(3)})
    yield op_case("Equal", {"a": ints(1, 2, 3), "b": ints(3, 2, 1)})
    condition = np.array([[True], [False]])
    yield op_case("Where", {"c": condition, "a": floats(2, 3), "b": floats(3, key=1)})
    values = np.array([0.0, -1.7, 2.5], np.float32)
    for to in (TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL, TensorProto.FLOAT):
        yield op_case("Cast", {"x": values}, to=to, label="float")
        yield op_case("Cast", {"x": ints(0, 3, -2)}, to=to, label="int64")
        yield op_case("Cast", {"x": np.array([True, False])}, to=to, label="bool")
    yield op_case("Identity", {"x": floats(2, 3)})
    yield op_case("Dropout", {"x": floats(2, 3)}, opset=10, ratio=0.3)
    yield op_case("Dropout", {"x": floats(2, 3)}, opset=13)
    for exponent in (0.5, 1.0, 2.0, 3.0, 2.5):
        constant = helper.make_node("Constant", [], ["e"], value_float=exponent)
        nodes = [constant, helper.make_node("Pow", ["x", "e"], ["y"])]
        x = floats(2, 3, low=0.1)
        yield Case(f"Pow-{exponent}", model(nodes, [("x", [2, 3])], [("y", [2, 3])]), {"x": x})


def product_cases():
    for a, b in [
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((5, 1, 2, 3), (4, 3, 2)),
        ((1, 2, 3), (6, 3, 4)),
        ((3,), (3, 4)),
        ((2, 3), (3,)),
        ((3,), (3,)),
        ((5, 2, 3), (3,)),
    ]:
        yield op_case("MatMul", {"a": floats(*a), "b": floats(*b)}, label=f"{a}x{b}")
    yield op_case(
        "MatMul", {"a": floats(5, 2, 3), "b": floats(3, 4)}, shapes={"a": ["T", "B", 3]}
    )
    for trans_a in (0, 1):
        for trans_b in (0, 1):
            a = floats(3, 2) if trans_a else floats(2, 3)
            b = floats(4, 3) if trans_b else floats(3, 4)
            arrays = {"a": a, "b": b, "c": floats(4)}
            yield op_case("Gemm", arrays, transA=trans_a, transB=trans_b)
    arrays = {"a": floats(2, 3), "b": floats(3, 4), "c": floats(2, 1)}
    yield op_case("Gemm", arrays, alpha=0.5, beta=2.0, shapes={"a": ["N", 3], "c": ["N", 1]})
    yield op_case("Gemm", {"a": floats(2, 3), "b": floats(3, 4)}, label="no-c")


def reduction_cases():
    x = floats(2, 3, 4)
    symbolic = {"x": ["T", "B", 4]}
    for op, last in (("ReduceSum", 12), ("ReduceMean", 17)):
        yield op_case(op, {"x": x}, opset=11, axes=[1], keepdims=0, shapes=symbolic)
        yield op_case(op, {"x": x}, opset=last, axes=[-1, 0])
        yield op_case(op, {"x": x}, opset=last, label="all", keepdims=0)
        arrays = {"x": x, "axes": ints(-1, 0)}
        yield op_case(op, arrays, opset=18, constants=["axes"], shapes=symbolic)
        yield op_case(op, arrays, opset=18, constants=["axes"], keepdims=0)
        yield op_case(op, {"x": x}, opset=18, noop_with_empty_axes=1)
    for op in ("Softmax", "LogSoftmax"):
        for opset in (7, 11, 13):
            for axis in (None, 0, 1, 2, -1):
                if opset == 7 and axis == -1:
                    continue
                attributes = {} if axis is None else {"axis": axis}
                yield op_case(op, {"x": x}, opset=opset, shapes=symbolic, **attributes)
    scale, bias = floats(4), floats(4, key=1)
    yield op_case("LayerNormalization", {"x": x, "s": scale, "b": bias}, shapes=symbolic)
    yield op_case("LayerNormalization", {"x": x, "s": scale}, outputs=3, epsilon=0.1)
    yield op_case("LayerNormalization", {"x": x, "s": floats(3, 4), "b": floats(3, 4)}, axis=1)


def shape_cases():
    x = floats(2, 3, 4)
    symbolic = {"x": ["T", "B", 4]}
    yield op_case("Transpose", {"x": x}, shapes=symbolic)
    yield op_case("Transpose", {"x": x}, shapes=symbolic, perm=[1, 0, 2])
    for target in ([0, -1], [-1, 4], [2, 3, 2, 2], [-1], [1, 0, -1], [6, 1, 4], [4, 3, 2]):
        label = "x".join(map(str, target))
        arrays = {"x": x, "shape": ints(*target)}
        yield op_case("Reshape", arrays, constants=["shape"], label=label)
    for target in ([0, -1], [-1, 4], [-1], [0, 0, 2, 2], [1, 0, -1, 4]):
        label = "symbolic-" + "x".join(map(str, target))
        arrays = {"x": x, "shape": ints(*target)}
        yield op_case("Reshape", arrays, constants=["shape"], label=label, shapes=symbolic)
    ones = floats(1, 3, 1, 2)
    yield op_case("Squeeze", {"x": ones}, opset=11, axes=[0])
    yield op_case("Squeeze", {"x": ones}, opset=11, axes=[-2, 0])
    yield op_case("Squeeze", {"x": ones}, opset=13, label="all")
    yield op_case("Squeeze", {"x": ones, "axes": ints(2)}, constants=["axes"])
    yield op_case("Unsqueeze", {"x": x}, opset=11, axes=[0, 4])
    yield op_case(
        "Unsqueeze", {"x": x, "axes": ints(-1, 1)}, constants=["axes"], shapes=symbolic
    )
    for axis in (0, 1, 2, 3, -1):
        yield op_case("Flatten", {"x": x}, axis=axis, shapes=symbolic)
    yield op_case("Concat", {"a": x, "b": floats(2, 1, 4)}, axis=1)
    shapes = {"a": ["N", "B", 4], "b": ["M", "B", 4]}
    yield op_case("Concat", {"a": x, "b": floats(5, 3, 4)}, axis=-3, shapes=shapes)
    yield op_case("Split", {"x": x}, outputs=2, opset=11, axis=2)
    yield op_case("Split", {"x": x}, outputs=2, opset=11, axis=-1, split=[1, 3])
    yield op_case("Split", {"x": x, "split": ints(1, 3)}, outputs=2, constants=["split"], axis=2)
    shapes = {"x": ["T", 3, 4]}
    yield op_case("Split", {"x": x}, outputs=3, opset=18, axis=1, num_outputs=3, shapes=shapes)
    yield op_case("Split", {"x": floats(7, 2)}, outputs=3, opset=18, num_outputs=3, label="uneven")
    arrays = {"x": floats(3, 1), "shape": ints(2, 3, 4)}
    yield op_case("Expand", arrays, constants=["shape"])
    yield op_case("Expand", {"x": floats(3, 4), "shape": ints(1)}, constants=["shape"], label="one")
    yield op_case("Shape", {"x": x}, shapes=symbolic)
    yield op_case("Shape", {"x": x}, opset=15, start=-2, end=9, shapes=symbolic)
    yield op_case("Size", {"x": x}, shapes=symbolic)
    for attributes in (
        {"value": numpy_helper.from_array(floats(2, 3))},
        {"value": numpy_helper.from_array(ints(1, 2))},
        {"value_float": 2.5},
        {"value_floats": [1.0, 2.0]},
        {"value_int": 3},
        {"value_ints": [4, 5]},
    ):
        node = helper.make_node("Constant", [], ["c"], **attributes)
        cast = helper.make_node("Cast", ["c"], ["f"], to=TensorProto.FLOAT)
        add = helper.make_node("Add", ["x", "f"], ["y"])
        (name,) = attributes
        built = model([node, cast, add], [("x", [1])], [("y", None)])
        yield Case(f"Constant-{name}-{len(built.SerializeToString())}", built, {"x": floats(1)})
    value = numpy_helper.from_array(np.array([2.5], np.float32))
    arrays = {"shape": ints(2, 3)}
    yield op_case("ConstantOfShape", arrays, constants=["shape"], value=value, label="value")
    yield op_case("ConstantOfShape", arrays, constants=["shape"])
    arrays = {"start": np.int64(3) + ints(0)[0], "limit": ints(-5)[0], "delta": ints(-3)[0]}
    arrays = {n: np.array(a, np.int64) for n, a in arrays.items()}
    yield op_case("Range", arrays, constants=list(arrays))


def index_cases():
    x = floats(5, 3, 4)
    symbolic = {"x": ["T", "B", 4]}
    names = ["starts", "ends", "axes", "steps"]
    big = np.iinfo(np.int64).max
    for bounds in (
        ([1], [4], [0], [1]),
        ([-2, 0], [big, 2], [0, -1], [1, 1]),
        ([0], [big], [0], [2]),
        ([1], [4], [2], [2]),
        ([-1], [-big], [0], [-1]),
        ([3], [0], [0], [-2]),
        ([2], [1], [1], [1]),
        ([4], [-6], [0], [-2]),
    ):
        arrays = {"x": x} | {n: ints(*b) for n, b in zip(names, bounds)}
        yield op_case("Slice", arrays, constants=names, label=str(bounds).replace(" ", ""))
    for bounds in (
        ([1], [big], [0], [1]),
        ([-1], [big], [0], [1]),
        ([0], [-1], [0], [1]),
        ([-1], [-big], [0], [-1]),
        ([0], [big], [0], [2]),
        ([1], [3], [2], [1]),
        ([0], [3], [0], [1]),
        ([-4], [big], [0], [1]),
        ([2], [-1], [0], [2]),
        ([4], [0], [0], [-2]),
        ([1, -2], [4, big], [0, 1], [1, 1]),
    ):
        arrays = {"x": x} | {n: ints(*b) for n, b in zip(names, bounds)}
        label = "symbolic" + str(bounds).replace(" ", "")
        yield op_case("Slice", arrays, constants=names, label=label, shapes=symbolic)
    arrays = {"x": x, "starts": ints(1, 0), "ends": ints(3, 2)}
    yield op_case("Slice", arrays, constants=["starts", "ends"], label="no-axes")
    yield op_case("Slice", {"x": x}, opset=9, starts=[1], ends=[-1], axes=[1])
    for axis in (0, 1, 2):
        for index in (np.array(-1), np.array([0, 2, -3]), np.array([[1, 0], [2, 2]])):
            arrays = {"x": x, "i": index.astype(np.int64)}
            label = f"rank{index.ndim}"
            shapes = symbolic
            yield op_case(
                "Gather", arrays, constants=["i"], axis=axis, label=label, shapes=shapes
            )
            yield op_case("Gather", arrays, axis=axis, label=f"data-{label}")
    arrays = {"x": floats(7, 4), "i": np.array([[1, 6], [-7, 2]], np.int32)}
    yield op_case("Gather", arrays, label="embedding", shapes={"i": ["T", "B"]}, opset=11)


# --- windows and what stands around them ---


def conv_cases():
    def conv(x, w, bias=True, opset=17, **rest):
        arrays = {"x": floats(*x), "w": floats(*w)}
        constants = ["w"]
        if bias:
            arrays["b"] = floats(w[0], key=1)
            constants.append("b")
        label = rest.pop("label", "") + "x".join(map(str, x)) + "," + "x".join(map(str, w))
        label += "" if bias else "-nobias"
        return op_case("Conv", arrays, opset=opset, constants=constants, label=label, **rest)

    batch = {"x": ["N", 2, 7, 8]}
    yield conv((2, 3, 7), (4, 3, 3))
    yield conv((2, 3, 7), (4, 3, 3), pads=[2, 1], strides=[2], dilations=[2], bias=False)
    yield conv((1, 1, 5, 5), (1, 1, 1, 1))
    for opset in (7, 11, 22):
        yield conv((3, 2, 7, 8), (4, 2, 3, 3), shapes=batch, opset=opset)
    yield conv((3, 2, 7, 8), (4, 2, 3, 2), shapes=batch, kernel_shape=[3, 2], pads=[1, 0, 2, 1])
    yield conv((3, 2, 7, 8), (4, 2, 3, 2), strides=[2, 3], bias=False)
    yield conv((3, 2, 7, 8), (4, 2, 2, 3), dilations=[3, 2], pads=[2, 3, 0, 1], strides=[1, 2])
    for auto_pad in ("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"):
        yield conv((2, 2, 7, 8), (3, 2, 4, 3), strides=[2, 3], auto_pad=auto_pad, shapes=batch)
        yield conv((2, 2, 7, 8), (3, 2, 3, 2), auto_pad=auto_pad, label="unit")
    yield conv((2, 4, 5, 6), (6, 2, 3, 3), group=2, pads=[1, 1, 1, 1], shapes={"x": ["N", 4, 5, 6]})
    yield conv((2, 4, 5, 6), (4, 1, 3, 3), group=4, strides=[2, 1], bias=False)
    yield conv((2, 4, 5, 6), (8, 1, 3, 3), group=4, dilations=[1, 2])
    yield conv((2, 6, 9), (9, 2, 4), group=3, pads=[0, 3])
    yield conv((1, 2, 4, 5, 3), (3, 2, 2, 3, 2), strides=[1, 2, 1], pads=[0, 1, 1, 1, 0, 0])
    yield conv((3, 2, 7, 8), (4, 2, 3, 3), pads=[1] * 4, shapes={"x": ["N", 2, "H", "W"]})
    yield conv(
        (3, 2, 7, 8), (4, 2, 3, 3), pads=[1, 1, 2, 2], strides=[3, 2], shapes={"x": ["N", 2, "H", "W"]}
    )
    arrays = {"x": floats(2, 3, 5, 5), "w": floats(4, 3, 3, 3), "b": floats(4)}
    yield op_case("Conv", arrays, label="weights-as-inputs", shapes={"x": ["N", 3, 5, 5]})


def pool_cases():
    x = floats(2, 3, 7, 8)
    batch = {"x": ["N", 3, 7, 8]}
    sizes = {"x": ["N", 3, "H", "W"]}
    ties = np.round(x)
    for op, newest in (("MaxPool", 22), ("AveragePool", 22)):
        dilations = {"dilations": [2, 3]}
        yield op_case(op, {"x": x}, opset=7, kernel_shape=[2, 2], strides=[2, 2], shapes=batch)
        yield op_case(op, {"x": x}, opset=8, kernel_shape=[3, 2], strides=[2, 1])
        yield op_case(op, {"x": ties}, kernel_shape=[3, 3], label="ties")
        yield op_case(op, {"x": floats(2, 3, 9)}, kernel_shape=[3], strides=[2], pads=[1, 2])
        yield op_case(op, {"x": floats(1, 2, 4, 5, 3)}, kernel_shape=[2, 3, 2], strides=[1, 2, 1])
        yield op_case(op, {"x": x}, kernel_shape=[3, 3], pads=[1, 2, 2, 0], shapes=batch)
        yield op_case(op, {"x": x}, opset=newest, kernel_shape=[3, 2], **dilations)
        yield op_case(
            op, {"x": x}, opset=newest, kernel_shape=[3, 2], pads=[2, 1, 1, 1], **dilations
        )
        for kernel, strides, pads in (
            ([3, 3], [2, 2], [0, 0, 0, 0]),
            ([2, 2], [3, 3], [1, 1, 1, 1]),
            ([3, 2], [2, 3], [1, 0, 2, 1]),
        ):
            yield op_case(
                op, {"x": x}, kernel_shape=kernel, strides=strides, pads=pads, ceil_mode=1
            )
        for auto_pad in ("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"):
            yield op_case(op, {"x": x}, kernel_shape=[3, 2], strides=[2, 3], auto_pad=auto_pad)
        yield op_case(op, {"x": x}, kernel_shape=[1, 1], shapes=sizes)
        yield op_case(op, {"x": x}, kernel_shape=[1, 1], strides=[2, 3], shapes=sizes, ceil_mode=0)
        yield op_case(op, {"x": x}, kernel_shape=[1, 1], shapes=sizes, ceil_mode=1)
        yield op_case(op, {"x": -9 + x}, kernel_shape=[2, 2], pads=[1] * 4, label="negative")
    yield op_case("MaxPool", {"x": x}, kernel_shape=[3, 3], pads=[1] * 4, shapes=sizes)
    yield op_case("MaxPool", {"x": x}, kernel_shape=[2, 2], storage_order=1)
    for options in (
        {"pads": [1, 2, 2, 0]},
        {"auto_pad": "SAME_UPPER"},
        {"pads": [1, 0, 2, 1], "strides": [2, 3], "ceil_mode": 1},
        {"strides": [2, 2], "ceil_mode": 1},
    ):
        yield op_case(
            "AveragePool", {"x": x}, opset=19, kernel_shape=[3, 3], count_include_pad=1, **options
        )
    options = {"kernel_shape": [3, 3], "pads": [1] * 4, "count_include_pad": 1}
    yield op_case("AveragePool", {"x": x}, shapes=sizes, **options)
    yield op_case("GlobalAveragePool", {"x": x}, shapes=sizes)
    yield op_case("GlobalAveragePool", {"x": floats(2, 3, 7)}, label="one-axis")
    pads = [0, 1, 2, 0, 0, 0, 1, 3]
    yield op_case("Pad", {"x": x}, opset=10, pads=pads, value=1.5, mode="constant", shapes=batch)
    yield op_case("Pad", {"x": x, "p": ints(*pads)}, opset=13, constants=["p"], shapes=sizes)
    arrays = {"x": x, "p": ints(*pads), "c": np.array(-2.5, np.float32)}
    yield op_case("Pad", arrays, opset=11, constants=["p", "c"])
    arrays = {"x": x, "p": ints(1, 2, 3, 0), "c": None, "a": ints(-1, 2)}
    yield op_case("Pad", arrays, opset=18, constants=["p", "a"])


def normalization_cases():
    for shape, symbolic in (
        ((2, 3, 4, 5), ["N", 3, 4, 5]),
        ((4, 3), ["N", 3]),
        ((2, 3, 6), ["N", 3, "L"]),
    ):
        arrays = {"x": floats(*shape), "s": floats(3), "b": floats(3, key=1)}
        arrays |= {"m": floats(3, key=2), "v": floats(3, low=0.5, key=3)}
        constants = ["s", "b", "m", "v"]
        for opset, attributes in (
            (7, {"spatial": 1}),
            (9, {"epsilon": 0.1, "momentum": 0.7}),
            (14, {"training_mode": 0}),
            (17, {}),
        ):
            yield op_case(
                "BatchNormalization",
                arrays,
                opset=opset,
                constants=constants,
                shapes={"x": symbolic},
                label=f"rank{len(shape)}",
                **attributes,
            )
        for attributes in ({}, {"momentum": 0.6, "epsilon": 0.01}):
            yield op_case(
                "BatchNormalization",
                arrays,
                outputs=3,
                opset=15,
                constants=constants,
                shapes={"x": symbolic},
                label=f"rank{len(shape)}",
                training_mode=1,
                **attributes,
            )


def activation_cases():
    x = floats(4, 5, low=-6.0, high=6.0)
    x[0, :] = [0.0, 3.0, -3.0, 100.0, -100.0]
    symbolic = {"x": ["N", 5]}
    for op, opset in (("Elu", 7), ("Selu", 7), ("HardSigmoid", 7), ("HardSwish", 14)):
        yield op_case(op, {"x": x}, opset=opset, shapes=symbolic)
        yield op_case(op, {"x": x}, opset=22)
    yield op_case("Elu", {"x": x}, alpha=0.3)
    yield op_case("Selu", {"x": x}, alpha=1.2, gamma=0.7)
    yield op_case("HardSigmoid", {"x": x}, alpha=0.3, beta=0.4)
    yield op_case("Softplus", {"x": x})
    yield op_case("Erf", {"x": x}, opset=9)
    yield op_case("Gelu", {"x": x}, opset=20)
    for approximate in ("none", "tanh"):
        yield op_case("Gelu", {"x": x}, opset=20, approximate=approximate, shapes=symbolic)
    yield op_case("PRelu", {"x": x, "s": floats(5)}, constants=["s"], shapes=symbolic)
    yield op_case("PRelu", {"x": floats(2, 3, 4, 4), "s": floats(3, 1, 1)}, opset=7)
    low, high = np.array(-1.5, np.float32), np.array(2.0, np.float32)
    yield op_case("Clip", {"x": x}, opset=7)
    yield op_case("Clip", {"x": x}, opset=10, min=-1.0, max=2.5)
    yield op_case("Clip", {"x": x}, opset=7, max=0.5, shapes=symbolic)
    yield op_case("Clip", {"x": x}, opset=13, label="none")
    yield op_case("Clip", {"x": x, "l": low}, opset=11, constants=["l"])
    yield op_case("Clip", {"x": x, "l": None, "h": high}, opset=12, constants=["h"])
    yield op_case("Clip", {"x": x, "l": low, "h": high}, opset=13, constants=["l", "h"])
    yield op_case("Clip", {"x": x, "l": high, "h": low}, constants=["l", "h"], label="crossed")
    nodes = [
        helper.make_node("Constant", [], ["l"], value_float=-1.0),
        helper.make_node("Clip", ["x", "l"], ["y"]),
    ]
    yield Case("Clip-constant", model(nodes, [("x", [4, 5])], [("y", [4, 5])]), {"x": x})


# --- shape arithmetic, as exporters write it ---


def arithmetic_cases():
    """Graphs in which sizes are computed from the shape of x[T, B, 4]."""
    x = floats(5, 3, 4)

    def build(name, nodes, initializers=(), output=("y", None), opset=17):
        return Case(
            "arithmetic-" + name,
            model(nodes, [("x", ["T", "B", 4])], [output], initializers, opset),
            {"x": x},
        )

    node = helper.make_node
    shape = node("Shape", ["x"], ["s"])
    scalars = [("k0", np.array(0, np.int64)), ("k1", np.array(1, np.int64))]
    lists = [("one", ints(1)), ("six", ints(6)), ("zero", ints(0)), ("minus", ints(-1))]
    pick = [
        node("Gather", ["s", "k0"], ["t"], axis=0),
        node("Gather", ["s", "k1"], ["b"], axis=0),
        node("Unsqueeze", ["t", "zero"], ["t1"]),
        node("Unsqueeze", ["b", "zero"], ["b1"]),
    ]
    yield build(
        "zeros-of-batch",
        [shape, *pick, node("Concat", ["one", "b1", "six"], ["hs"], axis=0)]
        + [node("ConstantOfShape", ["hs"], ["y"])],
        scalars + lists,
    )
    yield build(
        "expand",
        [shape, *pick, node("Concat", ["b1", "t1", "minus"], ["e"], axis=0)]
        + [node("Equal", ["e", "minus"], ["m"]), node("ConstantOfShape", ["three"], ["ones0"])]
        + [node("Where", ["m", "onesi", "e"], ["e2"])]
        + [node("Expand", ["v", "e2"], ["y"])],
        scalars + lists + [("onesi", ints(1, 1, 1)), ("three", ints(3)), ("v", floats(1, 1, 2))],
    )
    yield build(
        "merge-and-split",
        [shape, *pick, node("Mul", ["t1", "b1"], ["n"])]
        + [node("Concat", ["n", "minus"], ["flat"], axis=0), node("Reshape", ["x", "flat"], ["f"])]
        + [node("Relu", ["f"], ["g"]), node("Concat", ["t1", "b1", "minus"], ["back"], axis=0)]
        + [node("Reshape", ["g", "back"], ["y"])],
        scalars + lists,
    )
    yield build(
        "halves",
        [shape, node("Slice", ["s", "two", "three"], ["f"]), node("Div", ["f", "two"], ["h"])]
        + [node("Slice", ["x", "h", "f", "two"], ["y"])],
        [("two", ints(2)), ("three", ints(3))],
    )
    yield build(
        "last-step",
        [shape, *pick, node("Sub", ["t", "k1"], ["l"]), node("Gather", ["x", "l"], ["y"], axis=0)],
        scalars + lists,
    )
    yield build(
        "casts",
        [shape, *pick, node("Cast", ["t1"], ["ti"], to=6), node("Cast", ["ti"], ["tf"], to=1)]
        + [node("Sqrt", ["tf"], ["r"]), node("Div", ["x", "r"], ["y"])],
        scalars + lists,
    )
    yield build(
        "scatter",
        [shape, node("ScatterND", ["s", "where", "what"], ["s2"])]
        + [node("ConstantOfShape", ["s2"], ["y"])],
        [("where", np.array([[2]], np.int64)), ("what", ints(7))],
    )
    yield build(
        "sizes-as-result",
        [shape, *pick, node("Concat", ["t1", "b1"], ["y"], axis=0)],
        scalars + lists,
        ("y", (np.int64, [2])),
    )
    # A size that is only known after two names turn out to be the same.
    yield Case(
        "arithmetic-unified-names",
        model(
            [node("Add", ["x", "z"], ["a"]), node("Reshape", ["a", "r"], ["y"])],
            [("x", ["T", 4]), ("z", ["S", 4])],
            [("y", None)],
            [("r", ints(-1))],
        ),
        {"x": floats(5, 4), "z": floats(5, 4, key=1)},
    )


def all_cases():
    for cases in (
        recurrent_cases,
        elementwise_cases,
        product_cases,
        reduction_cases,
        shape_cases,
        index_cases,
        conv_cases,
        pool_cases,
        normalization_cases,
        activation_cases,
        arithmetic_cases,
    ):
        yield from cases()
