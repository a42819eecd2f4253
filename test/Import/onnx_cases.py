"""Small models that together use every operator, attribute and opset supported by the importer.

ONNX Runtime computes the expected results.
"""

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx_arithmetic_cases import arithmetic_cases
from onnx_case import GATES, Case, floats, generator, ints, model, op_case
from onnx_layer_cases import activation_cases, conv_cases, normalization_cases, pool_cases
from onnx_operator_cases import operator_cases
from onnx_transform_cases import transform_cases

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
    """Returns a recurrent layer with all its outputs; sizes are T, B, I and H."""
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
            # ONNX Runtime has no kernels for layout 1, so the tests convert it to layout 0.
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
        like = {1: np.float32, 6: np.int32, 7: np.int64, 9: np.bool_}[to]
        yield op_case("CastLike", {"x": values, "like": np.zeros(2, like)}, opset=15, label=f"{to}")
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
        operator_cases,
        transform_cases,
        arithmetic_cases,
    ):
        yield from cases()
