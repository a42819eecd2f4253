"""Loops that carry an array and fill it row by row need memory linear in the number of steps."""

import harness
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

STEPS, SAMPLES, UNITS = 800, 8, 8
# Storing the array of every step would take 160 MiB.
MOST_BYTES = 32 << 20


def by_index():
    """Reads rows with Gather and writes them with ScatterND."""
    read = [helper.make_node("Gather", ["buffer", "before"], ["row"])]
    write = [
        helper.make_node("Reshape", ["i", "one_by_one"], ["at"]),
        helper.make_node("Unsqueeze", ["h_next", "first"], ["update"]),
        helper.make_node("ScatterND", ["buffer", "at", "update"], ["buffer_next"]),
    ]
    return read + write


def by_mask():
    """Reads rows by a masked sum over all rows, and writes them with Where."""
    read = [
        helper.make_node("Equal", ["rows", "before"], ["is_before"]),
        helper.make_node("Cast", ["is_before"], ["hot"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["buffer", "hot"], ["picked"]),
        helper.make_node("ReduceSum", ["picked", "first"], ["row"], keepdims=0),
    ]
    write = [
        helper.make_node("Equal", ["rows", "i"], ["is_now"]),
        helper.make_node("Unsqueeze", ["h_next", "first"], ["update"]),
        helper.make_node("Where", ["is_now", "update", "buffer"], ["buffer_next"]),
    ]
    return read + write


def make_model(nodes, steps):
    """h' = tanh(x + h W + previous row), written to row i; the output is the array."""
    cell = [
        helper.make_node("Gather", ["x", "i"], ["xt"]),
        helper.make_node("Sub", ["i", "one"], ["less"]),
        helper.make_node("Max", ["less", "zero"], ["before"]),
        helper.make_node("MatMul", ["h", "W"], ["a"]),
        helper.make_node("Identity", ["go"], ["go_on"]),
    ]
    split = next(i for i, node in enumerate(nodes) if "row" in node.output) + 1
    cell = [*cell[:3], *nodes[:split], *cell[3:], helper.make_node("Sum", ["xt", "a", "row"], ["s"])]
    cell += [helper.make_node("Tanh", ["s"], ["h_next"]), *nodes[split:]]
    kinds = {"i": (TensorProto.INT64, []), "go": (TensorProto.BOOL, []), "go_on": (TensorProto.BOOL, [])}
    infos = lambda names: [helper.make_tensor_value_info(n, *kinds.get(n, (TensorProto.FLOAT, None))) for n in names]
    body = helper.make_graph(cell, "body", infos(["i", "go", "h", "buffer"]), infos(["go_on", "h_next", "buffer_next"]))
    loop = helper.make_node("Loop", ["count", "", "h0", "b0"], ["h_last", "y"], name="loop", body=body)
    weights = {
        "W": np.random.default_rng(1).normal(0, 0.3, (UNITS, UNITS)).astype(np.float32),
        "count": np.int64(steps),
        "one": np.int64(1),
        "zero": np.int64(0),
        "one_by_one": np.array([1, 1]),
        "first": np.array([0]),
        "rows": np.arange(steps).reshape(-1, 1, 1),
    }
    shapes = {"x": [steps, SAMPLES, UNITS], "h0": [SAMPLES, UNITS], "b0": [steps, SAMPLES, UNITS]}
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, shapes["b0"])]
    tensors = [numpy_helper.from_array(np.asarray(v), n) for n, v in weights.items()]
    model = helper.make_model(helper.make_graph([loop], "graph", inputs, outputs, tensors), opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model, shapes


@pytest.mark.parametrize("nodes", [by_index(), by_mask()], ids=["index", "mask"])
def test_memory(nodes, tmp_path):
    model, shapes = make_model(nodes, STEPS)
    program = harness.compile_model(model, "--loss=mse", "-O0")
    rng = np.random.default_rng(2)
    arrays = {n: rng.normal(0, 0.3, s).astype(np.float32) for n, s in shapes.items()}
    np.savez(tmp_path / "data.npz", **arrays, target=arrays["b0"])
    least = harness.peak_memory(program.path, "info")
    peak = harness.peak_memory(program.path, "grad", "--data", tmp_path / "data.npz", "--out", tmp_path / "g.npz")
    assert peak - least < MOST_BYTES
