"""Models with Scan and Loop, and their input arrays."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx_case import Case, floats, model


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def weight(key, *shape):
    rng = np.random.default_rng(key)
    return rng.normal(0, 0.4, shape).astype(np.float32)


def values(names, dtype=TensorProto.FLOAT):
    return [helper.make_tensor_value_info(name, dtype, None) for name in names.split()]


def body(nodes, inputs, outputs, constants=()):
    tensors = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants]
    return helper.make_graph(nodes, "body", values(inputs), values(outputs), tensors)


def loop_body(nodes, states, outputs, constants=()):
    graph = body(nodes, states, outputs, constants)
    infos = [
        helper.make_tensor_value_info("i", TensorProto.INT64, []),
        helper.make_tensor_value_info("go", TensorProto.BOOL, []),
    ]
    inputs = infos + list(graph.input)
    del graph.input[:]
    graph.input.extend(inputs)
    (go,) = [o for o in graph.output if o.name in ("go", "go_on")]
    go.type.tensor_type.elem_type = TensorProto.BOOL
    return graph


def scan(graph, inputs, outputs, count, **attributes):
    return helper.make_node(
        "Scan", inputs.split(), outputs.split(), name="scan", body=graph, num_scan_inputs=count, **attributes
    )


def loop(graph, inputs, outputs):
    inputs = ["" if name == "_" else name for name in inputs.split()]
    return helper.make_node("Loop", inputs, outputs.split(), name="loop", body=graph)


def case(name, nodes, arrays, outputs, weights=(), shapes=None, opset=17):
    shapes = shapes or {}
    inputs = [(n, (a.dtype, shapes.get(n, a.shape))) for n, a in arrays.items()]
    outputs = [(n, None) for n in outputs.split()]
    return Case(name, model(nodes, inputs, outputs, weights, opset), arrays)


RNN = [
    node("MatMul", "xt wx", "a"),
    node("MatMul", "h wh", "b"),
    node("Add", "a b", "c"),
    node("Tanh", "c", "h_next"),
    node("Identity", "h_next", "ht"),
]
RNN_WEIGHTS = [("wx", weight(1, 3, 4)), ("wh", weight(2, 4, 4))]
SYMBOLIC = {"x": ["T", "B", 3], "h0": ["B", 4]}


def rnn_arrays(steps=5, samples=2):
    return {"h0": floats(samples, 4, key=1), "x": floats(steps, samples, 3, key=2)}


def scan_cases():
    rnn = body(RNN, "h xt", "h_next ht")
    plain = scan(rnn, "h0 x", "hn y", 1)
    yield case("scan-fixed", [plain], rnn_arrays(), "hn y", RNN_WEIGHTS)
    yield case("scan-symbolic", [plain], rnn_arrays(), "hn y", RNN_WEIGHTS, SYMBOLIC)
    yield case("scan-one-step", [plain], rnn_arrays(1, 1), "hn y", RNN_WEIGHTS, SYMBOLIC)
    back = scan(rnn, "h0 x", "hn y", 1, scan_input_directions=[1], scan_output_directions=[1])
    yield case("scan-reverse", [back], rnn_arrays(), "hn y", RNN_WEIGHTS, SYMBOLIC)
    for first, last in ((1, 0), (0, 1)):
        mixed = scan(rnn, "h0 x", "hn y", 1, scan_input_directions=[first], scan_output_directions=[last])
        name = f"scan-directions-{first}{last}"
        yield case(name, [mixed], rnn_arrays(), "hn y", RNN_WEIGHTS, SYMBOLIC)
    arrays = {"h0": floats(2, 4), "x": floats(2, 5, 3)}
    batch_major = scan(rnn, "h0 x", "hn y", 1, scan_input_axes=[1], scan_output_axes=[1])
    shapes = {"x": ["B", "T", 3], "h0": ["B", 4]}
    yield case("scan-axes", [batch_major], arrays, "hn y", RNN_WEIGHTS, shapes)
    negative = scan(rnn, "h0 x", "hn y", 1, scan_input_axes=[-2], scan_output_axes=[-1])
    yield case("scan-negative-axes", [negative], arrays, "hn y", RNN_WEIGHTS, shapes)

    # Two states of different ranks, two sequences, two outputs; one state without a product.
    several = body(
        [
            node("Mul", "s u", "su"),
            node("Add", "su p", "s_next"),
            node("MatMul", "xt w", "m"),
            node("Add", "s_next m", "q"),
            node("Sigmoid", "q", "p_next"),
            node("Neg", "p_next", "o1"),
            node("Mul", "s_next ut", "o2"),
        ],
        "s p xt ut",
        "s_next p_next o1 o2",
    )
    nodes = [scan(several, "s0 p0 x v", "sn pn y1 y2", 2, scan_input_axes=[0, 1], scan_output_axes=[1, 0])]
    arrays = {
        "s0": floats(2, 4),
        "p0": floats(2, 4, key=3),
        "x": floats(5, 2, 3),
        "v": floats(2, 5, 4),
    }
    weights = [("u", weight(4, 4)), ("w", weight(5, 3, 4))]
    yield case("scan-several", nodes, arrays, "sn pn y1 y2", weights)
    shapes = {"s0": ["B", 4], "p0": ["B", 4], "x": ["T", "B", 3], "v": ["B", "T", 4]}
    yield case("scan-several-symbolic", nodes, arrays, "sn pn y1 y2", weights, shapes)

    # The body reads a value per sample and a constant from outside; there are no output sequences.
    outer = body([node("Mul", "h gate", "g"), node("Add", "g xt", "s"), node("Mul", "s half", "h_next")], "h xt", "h_next")
    nodes = [
        helper.make_node("Constant", [], ["half"], value_float=0.5),
        node("Sigmoid", "k", "gate"),
        scan(outer, "h0 x", "hn", 1),
    ]
    arrays = {"h0": floats(2, 4), "x": floats(5, 2, 4), "k": floats(2, 4, key=6)}
    shapes = {"h0": ["B", 4], "x": ["T", "B", 4], "k": ["B", 4]}
    yield case("scan-captured", nodes, arrays, "hn", (), shapes)

    # Mixed samples: one row.
    mixing = body([node("Add", "h xt", "s"), node("Softmax", "s", "h_next", axis=0)], "h xt", "h_next")
    arrays = {"h0": floats(2, 4), "x": floats(5, 2, 4)}
    yield case("scan-mixing", [scan(mixing, "h0 x", "hn", 1)], arrays, "hn")

    # Reshapes to constant shapes: samples cannot be separated.
    flat = body(
        [node("Add", "h xt", "s"), node("Reshape", "s to", "r"), node("Tanh", "r", "t"), node("Reshape", "t back", "h_next")],
        "h xt",
        "h_next",
        [("to", np.array([8])), ("back", np.array([2, 4]))],
    )
    yield case("scan-reshape", [scan(flat, "h0 x", "hn", 1)], arrays, "hn")

    # No states.
    stateless = body([node("Tanh", "xt", "ht")], "xt", "ht")
    yield case("scan-stateless", [scan(stateless, "x", "y", 1)], {"x": floats(5, 4)}, "y")

    # A scan over units nested in a scan over time steps.
    inner = body([node("Mul", "a d", "ad"), node("Add", "ad xu", "a_next"), node("Identity", "a_next", "au")], "a xu", "a_next au")
    outer = body(
        [
            node("ReduceSum", "h axes", "a0", keepdims=0),
            scan(inner, "a0 xt", "an z", 1, scan_input_axes=[1], scan_output_axes=[1]),
            node("Tanh", "z", "h_next"),
            node("Identity", "h_next", "ht"),
        ],
        "h xt",
        "h_next ht",
    )
    weights = [("d", np.array(0.5, np.float32)), ("axes", np.array([1]))]
    nodes = [scan(outer, "h0 x", "hn y", 1)]
    shapes = {"h0": ["B", 4], "x": ["T", "B", 4]}
    yield case("scan-nested", nodes, arrays, "hn y", weights)
    yield case("scan-nested-symbolic", nodes, arrays, "hn y", weights, shapes)


def loop_cases():
    go_on = node("Identity", "go", "go_on")
    count = ("count", np.array(5))

    # The body uses the iteration number as data.
    nodes = [
        go_on,
        node("Cast", "i", "number", to=1),
        node("Mul", "h scale", "s"),
        node("Add", "s number", "h_next"),
        node("Tanh", "h_next", "out"),
    ]
    graph = loop_body(nodes, "h", "go_on h_next out")
    weights = [count, ("scale", np.array(0.5, np.float32))]
    arrays = {"h0": floats(2, 4)}
    yield case("loop-number", [loop(graph, "count _ h0", "hn y")], arrays, "hn y", weights)
    shapes = {"h0": ["B", 4]}
    yield case("loop-number-symbolic", [loop(graph, "count _ h0", "hn y")], arrays, "hn y", weights, shapes)

    # Exporters of JAX write scans this way: each step gathers its slice.
    for rank in (0, 1):
        nodes = [go_on]
        index = "i"
        if rank == 1:
            nodes += [node("Unsqueeze", "i zero", "i1")]
            index = "i1"
        nodes += [node("Gather", f"x {index}", "picked", axis=0)]
        nodes += [node("Squeeze", "picked zero", "xt")] if rank else [node("Identity", "picked", "xt")]
        graph = loop_body(nodes + RNN, "h", "go_on h_next ht")
        weights = [count, ("zero", np.array([0])), *RNN_WEIGHTS]
        name = f"loop-gather-{rank}"
        yield case(name, [loop(graph, "count _ h0", "hn y")], rnn_arrays(), "hn y", weights)
        sizes = [node("Shape", "x", "sizes"), node("Gather", "sizes zero", "steps1"), node("Squeeze", "steps1 zero", "steps")]
        counted = [*sizes, loop(graph, "steps _ h0", "hn y")]
        yield case(name + "-size", counted, rnn_arrays(), "hn y", weights[1:], SYMBOLIC)

    # Each step takes a slice that starts at the iteration number.
    numbers = [node("Add", "i one", "next"), node("Unsqueeze", "i zero", "start"), node("Unsqueeze", "next zero", "end")]
    rest = [node("Add", "h piece", "h_next"), node("Identity", "h_next", "out"), go_on]
    graph = loop_body([*numbers, node("Slice", "x start end", "piece"), *rest], "h", "go_on h_next out")
    weights = [count, ("zero", np.array([0])), ("one", np.array(1)), ("yes", np.array(True))]
    arrays = {"h0": floats(1), "x": floats(7)}
    yield case("loop-slice", [loop(graph, "count yes h0", "hn y")], arrays, "hn y", weights)

    # The body needs a constant iteration number, so the loop is unrolled.
    nodes = [*numbers, node("Slice", "x zero end", "pieces"), node("ReduceSum", "pieces", "piece"), *rest]
    graph = loop_body(nodes, "h", "go_on h_next out")
    yield case("loop-unrolled", [loop(graph, "count yes h0", "hn y")], arrays, "hn y", weights)

    # No iterations.
    graph = loop_body([go_on, node("Tanh", "h", "h_next")], "h", "go_on h_next")
    weights = [("count", np.array(0))]
    yield case("loop-zero", [loop(graph, "count _ h0", "hn")], {"h0": floats(3)}, "hn", weights)
    weights = [("count", np.array(3)), ("no", np.array(False))]
    yield case("loop-false", [loop(graph, "count no h0", "hn")], {"h0": floats(3)}, "hn", weights)


ALL = {c.name: c for c in (*scan_cases(), *loop_cases())}
