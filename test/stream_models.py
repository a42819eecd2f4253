"""Step graphs, which process one frame and update states, and their execution with ONNX Runtime."""

import dataclasses

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64}


@dataclasses.dataclass(frozen=True)
class StepGraph:
    """A model, its options for streams, and the step and batch axes of its arrays."""

    name: str
    model: onnx.ModelProto
    carry: dict  # input: output
    options: tuple = ()
    batch: dict = dataclasses.field(default_factory=dict)  # axes of the arrays of the graph
    step: dict = dataclasses.field(default_factory=dict)
    bound: dict = dataclasses.field(default_factory=dict)
    # The model with `If` resolved, and the initializers that the bound graph does not read.
    resolved: onnx.ModelProto = None
    unread: tuple = ()

    @property
    def flags(self):
        return ["--carry=" + ",".join(f"{i}:{o}" for i, o in self.carry.items()), *self.options]


def info(name, shape, dtype=np.float32):
    return helper.make_tensor_value_info(name, TYPES[np.dtype(dtype)], shape)


def build(nodes, inputs, outputs, weights=(), opset=17):
    """Builds a model from input infos, output names and pairs (name, array) of weights."""
    for i, node in enumerate(nodes):
        node.name = node.name or f"{node.op_type}_{i}"
    outputs = [helper.make_empty_tensor_value_info(name) for name in outputs]
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in weights]
    graph = helper.make_graph(nodes, "step", inputs, outputs, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 8
    return model


def weight(rng, *shape):
    return rng.normal(0, 0.4, shape).astype(np.float32)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


# --- graphs ---


def cell():
    """A state multiplied by a matrix; arrays have neither batch nor time axes."""
    rng = np.random.default_rng(1)
    nodes = [
        node("MatMul", "r h", "a"),
        node("Add", "a x", "b"),
        node("Tanh", "b", "h_next"),
        node("ReduceSum", "h_next", "y", keepdims=0),
    ]
    weights = [("r", weight(rng, 4, 4))]
    model = build(nodes, [info("x", [4]), info("h", [4])], ["h_next", "y"], weights)
    return StepGraph("cell", model, {"h": "h_next"})


def written_out_cell(x, h, c, layer=""):
    """Returns the nodes of an LSTM cell as written by exporters; their names end with `layer`."""
    names = lambda text: " ".join(name + layer for name in text.split())
    weights = names("wx bias wh").split()
    return [
        node("Gemm", f"{x} {weights[0]} {weights[1]}", names("gx"), transB=1),
        node("Gemm", f"{h} {weights[2]}", names("gh"), transB=1),
        node("Add", names("gx gh"), names("g")),
        node("Split", names("g"), names("gi gf gc go"), axis=1),
        node("Sigmoid", names("gi"), names("i")),
        node("Sigmoid", names("gf"), names("f")),
        node("Tanh", names("gc"), names("c_new")),
        node("Sigmoid", names("go"), names("o")),
        node("Mul", f"{names('f')} {c}", names("kept")),
        node("Mul", names("i c_new"), names("added")),
        node("Add", names("kept added"), names("c_out")),
        node("Tanh", names("c_out"), names("c_tanh")),
        node("Mul", names("o c_tanh"), names("h_out")),
    ]


def lstm_written_out():
    """An LSTM cell as exporters write it, with a symbolic batch size."""
    rng = np.random.default_rng(2)
    nodes = [*written_out_cell("x", "h", "c"), node("Gemm", "h_out wy", "y")]
    shapes = [("wx", (24, 3)), ("wh", (24, 6)), ("bias", (24,)), ("wy", (6, 2))]
    weights = [(name, weight(rng, *shape)) for name, shape in shapes]
    inputs = [info("x", ["batch", 3]), info("h", ["batch", 6]), info("c", ["batch", 6])]
    model = build(nodes, inputs, ["y", "h_out", "c_out"], weights)
    batch = dict.fromkeys(["x", "h", "c", "y", "h_out", "c_out"], 0)
    return StepGraph("lstm_written_out", model, {"h": "h_out", "c": "c_out"}, batch=batch)


def lstm_stack_written_out():
    """Two layers of LSTM cells as exporters write them."""
    rng = np.random.default_rng(11)
    nodes = [
        *written_out_cell("x", "h0", "c0", "0"),
        *written_out_cell("h_out0", "h1", "c1", "1"),
        node("Gemm", "h_out1 wy", "y"),
    ]
    shapes = [("wx0", (20, 3)), ("wh0", (20, 5)), ("bias0", (20,))]
    shapes += [("wx1", (20, 5)), ("wh1", (20, 5)), ("bias1", (20,)), ("wy", (5, 2))]
    weights = [(name, weight(rng, *shape)) for name, shape in shapes]
    carry = {f"{kind}{layer}": f"{kind}_out{layer}" for layer in (0, 1) for kind in "hc"}
    inputs = [info("x", ["batch", 3]), *(info(name, ["batch", 5]) for name in carry)]
    model = build(nodes, inputs, ["y", *carry.values()], weights)
    batch = dict.fromkeys(["x", "y", *carry, *carry.values()], 0)
    return StepGraph("lstm_stack_written_out", model, carry, batch=batch)


def lstm_stack():
    """Two LSTM layers with batch size 1 and constant reshapes; states have batch axis 1."""
    rng = np.random.default_rng(3)
    nodes = [
        node("LSTM", "x w0 r0 b0 empty h0 c0".replace("empty", "_"), "y0 h0n c0n", hidden_size=5),
        node("Reshape", "y0 frame", "z0"),
        node("LSTM", "z0 w1 r1 b1 _ h1 c1", "y1 h1n c1n", hidden_size=5),
        node("Reshape", "y1 row", "z1"),
        node("MatMul", "z1 out", "y"),
    ]
    for n in nodes:
        n.input[:] = ["" if name == "_" else name for name in n.input]
    shapes = [("w0", (1, 20, 3)), ("r0", (1, 20, 5)), ("b0", (1, 40))]
    shapes += [("w1", (1, 20, 5)), ("r1", (1, 20, 5)), ("b1", (1, 40)), ("out", (5, 2))]
    weights = [(name, weight(rng, *shape)) for name, shape in shapes]
    weights += [("frame", np.array([1, 1, 5])), ("row", np.array([1, 5]))]
    states = ["h0", "c0", "h1", "c1"]
    inputs = [info("x", [1, 1, 3])] + [info(s, [1, 1, 5]) for s in states]
    model = build(nodes, inputs, ["y"] + [s + "n" for s in states], weights)
    axes = {"x": 1, "y": 0} | dict.fromkeys(states + [s + "n" for s in states], 1)
    options = [f"--batch-axis={name}:{axis}" for name, axis in axes.items() if name[-1] != "n"]
    return StepGraph(
        "lstm_stack",
        model,
        {s: s + "n" for s in states},
        (*options, "--step-axis=x:0"),
        axes,
        {"x": 0},
    )


def causal_conv():
    """A convolution over time with a cache of the last two frames."""
    rng = np.random.default_rng(4)
    nodes = [
        node("Concat", "cache x", "window", axis=2),
        node("Conv", "window k b", "features", kernel_shape=[3, 3], pads=[0, 1, 0, 1]),
        node("PRelu", "features slope", "active"),
        node("Conv", "active p", "y", kernel_shape=[1, 1]),
        node("Slice", "window one end two", "cache_next"),
    ]
    shapes = [("k", (4, 2, 3, 3)), ("b", (4,)), ("slope", (4, 1, 1)), ("p", (1, 4, 1, 1))]
    weights = [(name, weight(rng, *shape)) for name, shape in shapes]
    weights += [("one", np.array([1])), ("end", np.array([99])), ("two", np.array([2]))]
    inputs = [info("x", [1, 2, 1, 9]), info("cache", [1, 2, 2, 9])]
    model = build(nodes, inputs, ["y", "cache_next"], weights)
    batch = dict.fromkeys(["x", "cache", "y", "cache_next"], 0)
    options = [f"--batch-axis={name}:0" for name in ("x", "cache", "y")]
    return StepGraph("causal_conv", model, {"cache": "cache_next"}, tuple(options), batch)


def scattered_caches():
    """A causal convolution with two caches: Concat shifts one, ScatterND the other one."""
    rng = np.random.default_rng(8)
    nodes = [
        node("Concat", "cache x", "window", axis=2),
        node("Conv", "window k b", "features", kernel_shape=[3, 3], pads=[0, 1, 0, 1]),
        node("Slice", "window one end two", "cache_next"),
        node("Tanh", "features", "active"),
        node("Transpose", "frames", "rows", perm=[2, 0, 1, 3]),
        node("Gather", "rows second", "older", axis=0),
        node("Transpose", "active", "newest", perm=[2, 0, 1, 3]),
        node("Concat", "older newest", "updates", axis=0),
        node("ScatterND", "rows places updates", "moved"),
        node("Transpose", "moved", "frames_next", perm=[1, 2, 0, 3]),
        node("Conv", "frames_next p", "y", kernel_shape=[2, 1]),
    ]
    shapes = [("k", (4, 2, 3, 3)), ("b", (4,)), ("p", (1, 4, 2, 1))]
    weights = [(name, weight(rng, *shape)) for name, shape in shapes]
    weights += [("one", np.array([1])), ("end", np.array([99])), ("two", np.array([2]))]
    weights += [("second", np.array([1])), ("places", np.array([[0], [1]]))]
    inputs = [info("x", [1, 2, 1, 9]), info("cache", [1, 2, 2, 9]), info("frames", [1, 4, 2, 9])]
    model = build(nodes, inputs, ["y", "cache_next", "frames_next"], weights)
    batch = dict.fromkeys(["x", "cache", "frames", "y", "cache_next", "frames_next"], 0)
    options = [f"--batch-axis={name}:0" for name in ("x", "cache", "frames", "y")]
    carry = {"cache": "cache_next", "frames": "frames_next"}
    return StepGraph("scattered_caches", model, carry, tuple(options), batch)


def bands():
    """A bidirectional GRU over the 33 bands of a frame, then a GRU over frames in each band."""
    rng = np.random.default_rng(5)
    nodes = [
        node("Transpose", "x", "xt", perm=[2, 0, 1]),
        node("GRU", "xt wi ri bi", "yi _i", hidden_size=4, direction="bidirectional"),
        node("Transpose", "yi", "yt", perm=[2, 0, 1, 3]),
        node("Reshape", "yt inner", "z"),
        node("GRU", "z wo ro bo _ s", "yo s_next", hidden_size=4),
        node("Reshape", "yo outer", "y"),
    ]
    for n in nodes:
        n.input[:] = ["" if name == "_" else name for name in n.input]
    shapes = [("wi", (2, 12, 2)), ("ri", (2, 12, 4)), ("bi", (2, 24))]
    shapes += [("wo", (1, 12, 8)), ("ro", (1, 12, 4)), ("bo", (1, 24))]
    weights = [(name, weight(rng, *shape)) for name, shape in shapes]
    weights += [("inner", np.array([1, 33, 8])), ("outer", np.array([1, 33, 4]))]
    model = build(
        nodes, [info("x", [1, 2, 33]), info("s", [1, 33, 4])], ["y", "s_next"], weights
    )
    return StepGraph("bands", model, {"s": "s_next"}, ("--batch-axis=x:0",), {"x": 0, "y": 0})


def band_layers():
    """Two bidirectional GRUs over the 33 bands of a frame, and a decaying average over frames."""
    rng = np.random.default_rng(12)
    nodes = [
        node("Concat", "x s", "both", axis=1),
        node("Transpose", "both", "xt", perm=[2, 0, 1]),
        node("GRU", "xt w0 r0 b0", "y0 _0", hidden_size=4, direction="bidirectional"),
        node("Transpose", "y0", "t0", perm=[0, 2, 1, 3]),
        node("Reshape", "t0 rows", "z0"),
        node("GRU", "z0 w1 r1 b1", "y1 _1", hidden_size=4, direction="bidirectional"),
        node("Transpose", "y1", "t1", perm=[2, 0, 1, 3]),
        node("Reshape", "t1 bands", "z1"),
        node("MatMul", "z1 out", "mixed"),
        node("Transpose", "mixed", "y", perm=[0, 2, 1]),
        node("Mul", "y decay", "new"),
        node("Add", "s new", "s_next"),
    ]
    shapes = [("w0", (2, 12, 4)), ("r0", (2, 12, 4)), ("b0", (2, 24))]
    shapes += [("w1", (2, 12, 8)), ("r1", (2, 12, 4)), ("b1", (2, 24)), ("out", (8, 2))]
    weights = [(name, weight(rng, *shape)) for name, shape in shapes]
    weights += [("rows", np.array([33, 1, 8])), ("bands", np.array([1, 33, 8]))]
    weights += [("decay", np.full([1], 0.1, np.float32))]
    inputs = [info("x", [1, 2, 33]), info("s", [1, 2, 33])]
    model = build(nodes, inputs, ["y", "s_next"], weights)
    batch = dict.fromkeys(["x", "s", "y", "s_next"], 0)
    return StepGraph("band_layers", model, {"s": "s_next"}, ("--batch-axis=x:0",), batch)


def rated():
    """One If on the bound sampling rate, and one on the frame size."""
    rng = np.random.default_rng(6)

    def branch(name, *nodes):
        for n in nodes:
            n.name = f"{name}_{n.op_type}"
        outputs = [helper.make_empty_tensor_value_info(nodes[-1].output[0])]
        return helper.make_graph(list(nodes), name, [], outputs)

    by_size = node(
        "If",
        "is_long",
        "g",
        then_branch=branch("long", node("MatMul", "x w", "long_g")),
        else_branch=branch("short", node("Neg", "x", "short_g")),
    )
    nodes = [
        node("Equal", "sr fast", "is_fast"),
        node("Shape", "x", "shape"),
        node("Gather", "shape last", "width"),
        node("Equal", "width six", "is_long"),
        node(
            "If",
            "is_fast",
            "a",
            then_branch=branch("fast", by_size),
            else_branch=branch("slow", node("MatMul", "x v", "slow_g")),
        ),
        node("Mul", "h decay", "old"),
        node("Add", "a old", "h_next"),
        node("Sigmoid", "h_next", "y"),
    ]
    weights = [("w", weight(rng, 6, 3)), ("v", weight(rng, 6, 3))]
    weights += [("decay", np.full([3], 0.5, np.float32)), ("fast", np.array(16000))]
    weights += [("last", np.array([1])), ("six", np.array([6]))]
    inputs = [info("x", ["batch", "frame"]), info("sr", [], np.int64), info("h", ["batch", 3])]
    model = build(nodes, inputs, ["y", "h_next"], weights)
    options = ("--bind=sr=16000", "--bind=frame=6", "--batch-axis=x:0")
    batch = dict.fromkeys(["x", "h", "h_next", "y"], 0)
    bound = {"sr": np.array(16000)}
    plain = [node("MatMul", "x w", "a"), *nodes[5:]]
    resolved = build(plain, inputs, ["y", "h_next"], weights)
    return StepGraph(
        "rated", model, {"h": "h_next"}, options, batch, {}, bound, resolved, ("v",)
    )



def tokens():
    """A sequence of integers that index an embedding table."""
    rng = np.random.default_rng(7)
    nodes = [
        node("Gather", "table x", "row"),
        node("MatMul", "h r", "old"),
        node("Add", "row old", "sum"),
        node("Tanh", "sum", "h_next"),
        node("MatMul", "h_next out", "y"),
    ]
    weights = [("table", weight(rng, 5, 4)), ("r", weight(rng, 4, 4)), ("out", weight(rng, 4, 3))]
    inputs = [info("x", ["batch"], np.int64), info("h", ["batch", 4])]
    model = build(nodes, inputs, ["y", "h_next"], weights)
    batch = dict.fromkeys(["x", "h", "h_next", "y"], 0)
    return StepGraph(
        "tokens", model, {"h": "h_next"}, ("--batch-axis=x:0",), batch
    )


def picked():
    """A table whose rows are selected by the argmax of the state."""
    rng = np.random.default_rng(10)
    nodes = [
        node("ArgMax", "h", "place", axis=1, keepdims=0),
        node("Gather", "table place", "row"),
        node("MatMul", "h r", "old"),
        node("Sum", "row old x", "sum"),
        node("Tanh", "sum", "h_next"),
        node("MatMul", "h_next out", "y"),
    ]
    weights = [("table", weight(rng, 4, 4)), ("r", weight(rng, 4, 4)), ("out", weight(rng, 4, 3))]
    inputs = [info("x", ["batch", 4]), info("h", ["batch", 4])]
    model = build(nodes, inputs, ["y", "h_next"], weights)
    batch = dict.fromkeys(["x", "h", "h_next", "y"], 0)
    return StepGraph("picked", model, {"h": "h_next"}, ("--batch-axis=x:0",), batch)


MAKERS = [
    *(cell, lstm_written_out, lstm_stack, causal_conv, scattered_caches, bands, rated, tokens),
    *(picked, lstm_stack_written_out, band_layers),
]
ALL = {graph.name: graph for graph in (make() for make in MAKERS)}

# --- arrays of a stream ---


def shape_of(graph, name):
    """Returns the shape of an input for one step and one sample."""
    (value,) = [i for i in graph.model.graph.input if i.name == name]
    bound = dict(o.split("=")[1:] for o in graph.options if o.startswith("--bind"))
    return [
        d.dim_value or int(bound.get(d.dim_param, 1)) for d in value.type.tensor_type.shape.dim
    ]


def insert_axes(graph, name, shape, steps, samples):
    """Returns the shape of an array of the stream; `steps` is None for a state."""
    shape = list(shape)
    if name in graph.batch:
        shape[graph.batch[name]] = samples
    if steps is not None and name in graph.step:
        shape[graph.step[name]] = steps
    front = [] if steps is None or name in graph.step else [steps]
    return front + ([] if name in graph.batch else [samples]) + shape


def place(graph, name, array, step, sample):
    """Returns the index of one step of one sample; `step` is None for a state."""
    front = 0 if step is None or name in graph.step else 1
    batch = graph.batch.get(name)
    index = [slice(None)] * array.ndim
    if step is not None:
        at = graph.step[name] + (batch is None) if name in graph.step else 0
        index[at] = slice(step, step + 1) if name in graph.step else step
    if batch is None:
        index[front] = sample
    else:
        index[front + batch] = slice(sample, sample + 1)
    return tuple(index)


def random_arrays(graph, steps, samples, seed=0, states=True):
    rng = np.random.default_rng(seed)
    arrays = {}
    for value in graph.model.graph.input:
        name = value.name
        if name in graph.bound or (name in graph.carry and not states):
            continue
        count = None if name in graph.carry else steps
        shape = insert_axes(graph, name, shape_of(graph, name), count, samples)
        if value.type.tensor_type.elem_type == TensorProto.INT64:
            arrays[name] = rng.integers(0, 5, shape)
        else:
            arrays[name] = rng.normal(0, 1, shape).astype(np.float32)
    return arrays


def run_steps(graph, arrays, steps, samples):
    """Returns all outputs of the stream, computed by ONNX Runtime for each sample and step."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(graph.model.SerializeToString(), options)
    names = [o.name for o in graph.model.graph.output]
    results = None
    for sample in range(samples):
        state = {
            name: arrays[name][place(graph, name, arrays[name], None, sample)]
            if name in arrays
            else np.zeros(shape_of(graph, name), np.float32)
            for name in graph.carry
        }
        for step in range(steps):
            feeds = {
                name: array[place(graph, name, array, step, sample)]
                for name, array in arrays.items()
                if name not in graph.carry
            }
            outputs = dict(zip(names, session.run(None, feeds | state | graph.bound)))
            if results is None:
                results = {
                    name: np.zeros(
                        insert_axes(
                            graph,
                            name,
                            value.shape,
                            None if name in graph.carry.values() else steps,
                            samples,
                        ),
                        value.dtype,
                    )
                    for name, value in outputs.items()
                }
            for name, value in outputs.items():
                if name not in graph.carry.values():
                    results[name][place(graph, name, results[name], step, sample)] = value
            state = {name: outputs[out] for name, out in graph.carry.items()}
        for name, out in graph.carry.items():
            results[out][place(graph, out, results[out], None, sample)] = state[name]
    return results
