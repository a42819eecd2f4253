"""Unrolled cells are rolled up: outputs against ONNX Runtime, gradients against JAX."""

import pathlib
import re
import resource

import harness
import numpy as np
import onnx
import onnxruntime
import pytest
import references

INPUTS = pathlib.Path(__file__).parent / "Inputs"
FILES = sorted(path.stem for path in INPUTS.glob("unrolled_*.onnx"))
# Number of loops: one per layer.
LOOPS = {"tagger": 2, "attention": 2, "stepped_gru": 2}


def load(name):
    return onnx.load(INPUTS / f"{name}.onnx")


def arrays(model, samples=3):
    rng = np.random.default_rng(5)
    (x,) = model.graph.input
    dims = [d.dim_value or samples for d in x.type.tensor_type.shape.dim]
    if x.type.tensor_type.elem_type == onnx.TensorProto.INT64:
        return {"x": rng.integers(0, 11, dims)}
    return {"x": rng.normal(0, 1, dims).astype(np.float32)}


def count_loops(model, directory):
    path = directory / "model.onnx"
    path.write_bytes(model.SerializeToString())
    compiler = harness.require_tool("bppsa-compile")
    ir = harness.check_succeeded(harness.run(compiler, path, "--compile-to=import", "-o", "-")).stdout
    # Outputs that are not states become separate loops without states.
    return len(re.findall(r"bppsa\.recurrence.* initial\(", ir))


def check(model, samples=3, options=()):
    program = harness.compile_model(model, "--loss=mse", *options)
    given = arrays(model, samples)
    (wanted,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, given)
    np.testing.assert_allclose(program.infer(given)["y"], wanted, rtol=2e-5, atol=2e-6)
    given["target"] = wanted + np.random.default_rng(8).normal(0, 1, wanted.shape).astype(np.float32)
    exact, single = references.gradients(model, given, "mse")
    found = program.grad(given)
    # The exporter stores some constants as initializers; they are not trained.
    for name in [name for name in exact if name.startswith(("val_", "scalar_tensor")) and name not in found]:
        del exact[name], single[name]
    harness.check_gradients(found, exact, single)


@pytest.mark.parametrize("name", FILES)
def test_rolled_up(name, tmp_path):
    model = load(name)
    assert count_loops(model, tmp_path) == LOOPS.get(name.removeprefix("unrolled_").rpartition("_")[0], 1)
    check(model)


@pytest.mark.parametrize("name, steps", [("unrolled_lstm_dynamo", 6), ("unrolled_decoder_torchscript", 24)])
def test_rolled_up_loops_are_reported(name, steps, tmp_path):
    """A compiler note and `info` name the nodes of one step."""
    model = load(name)
    (loop,) = harness.compile_model(model, "--loss=mse").info()["rolled_up"]
    kinds = {node.name: node.op_type for node in model.graph.node}
    assert loop["steps"] == steps
    assert {"Gemm", "Tanh"} <= {kinds[node] for node in loop["nodes"]} <= set(kinds.values())
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    compiler = harness.require_tool("bppsa-compile")
    result = harness.run(compiler, path, "--compile-to=import", "-o", tmp_path / "out.mlir")
    first, last = loop["nodes"][0], loop["nodes"][-1]
    line = f": {steps} equal steps became one loop; a step is the nodes '{first}' to '{last}', {len(loop['nodes'])} of them"
    (note,) = [n for n in harness.check_succeeded(result).stderr.splitlines() if line in n]
    assert note.startswith("bppsa-compile: note: ")


@pytest.mark.parametrize("name", ["unrolled_lstm_dynamo", "unrolled_decoder_torchscript"])
def test_one_sample(name):
    check(load(name), samples=1)


@pytest.mark.parametrize("plan", ["linear", "blelloch", "chunked:3"])
def test_plans(plan):
    """The loop body is in vector form, like the body of a recurrent layer."""
    check(load("unrolled_lstm_dynamo"), options=["--backward=scan", f"--scan={plan}"])


@pytest.mark.parametrize("name", ["unrolled_gru_dynamo", "unrolled_attention_torchscript"])
def test_emulated_gpu(name):
    """A step without vector form is not rolled up, because GPUs have no kernels for such a loop."""
    check(load(name), options=["--target=cuda", "--emulate"])


def change_step(model):
    """Replaces one tanh in the middle with a sigmoid."""
    nodes = [n for n in model.graph.node if n.op_type == "Tanh"]
    nodes[len(nodes) // 2].op_type = "Sigmoid"


def give_steps_weights(model):
    """Gives every product its own matrix."""
    initializers = {t.name: t for t in model.graph.initializer}
    for i, node in enumerate(n for n in model.graph.node if n.op_type == "Gemm"):
        tensor = model.graph.initializer.add()
        tensor.CopyFrom(initializers[node.input[1]])
        tensor.name = node.input[1] = f"{tensor.name}/{i}"
    for name in ("cell.weight_ih", "cell.weight_hh", "head.weight"):
        model.graph.initializer.remove(initializers[name])


@pytest.mark.parametrize("change", [change_step, give_steps_weights])
def test_unequal_steps_are_not_rolled_up(change, tmp_path):
    model = load("unrolled_lstm_torchscript")
    change(model)
    assert count_loops(model, tmp_path) == 0
    check(model)
    assert harness.compile_model(model, "--loss=mse").info()["rolled_up"] == []


def call_lstm_step_by_step(steps, hidden=6, classes=3):
    """A decoder that calls an LSTM once per step and feeds back its output."""
    rng = np.random.default_rng(3)
    shapes = {"w": (1, 4 * hidden, classes), "r": (1, 4 * hidden, hidden), "b": (1, 8 * hidden), "head": (hidden, classes)}
    weights = {name: rng.normal(0, 0.3, shape).astype(np.float32) for name, shape in shapes.items()}
    nodes, x, states = [], "x", ["", "", ""]
    for t in range(steps):
        outputs = [f"all{t}", f"h{t}", f"c{t}"]
        nodes.append(onnx.helper.make_node("LSTM", [x, "w", "r", "b", *states], outputs, f"lstm{t}", hidden_size=hidden))
        nodes.append(onnx.helper.make_node("Squeeze", [f"all{t}", "axis"], [f"row{t}"], f"squeeze{t}"))
        nodes.append(onnx.helper.make_node("MatMul", [f"row{t}", "head"], [f"y{t}"], f"head{t}"))
        x, states = f"y{t}", ["", f"h{t}", f"c{t}"]
    nodes.append(onnx.helper.make_node("Concat", [f"y{t}" for t in range(steps)], ["y"], "concat", axis=0))
    weights["axis"] = np.array([1])
    values = [("x", (1, "B", classes)), ("y", (steps, "B", classes))]
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in values)
    initializers = [onnx.numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = onnx.helper.make_graph(nodes, "decoder", [x], [y], initializers)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)


def test_layer_called_step_by_step(tmp_path):
    model = call_lstm_step_by_step(24)
    assert count_loops(model, tmp_path) == 1
    check(model)


def test_few_steps_are_not_rolled_up(tmp_path):
    """Three steps are too few: each remains a separate recurrence."""
    model = call_lstm_step_by_step(3)
    assert count_loops(model, tmp_path) == 3
    check(model)


@pytest.mark.parametrize("make", [lambda: load("unrolled_decoder_torchscript"), lambda: call_lstm_step_by_step(456)])
def test_compile_time(make, tmp_path):
    """Compiling these decoders as straight-line code took minutes."""
    (tmp_path / "model.onnx").write_bytes(make().SerializeToString())
    compiler = harness.require_tool("bppsa-compile")
    begin = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    command = [compiler, tmp_path / "model.onnx", "--loss=mse", "-o", tmp_path / "program"]
    harness.check_succeeded(harness.run(*command))
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begin < 30
