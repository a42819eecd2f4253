"""Sizes fixed by the exporter: the note about them, and --dynamic.

export_fixed.py writes the models in Inputs/fixed for four samples and six steps.
"""

import pathlib

import harness
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

INPUTS = pathlib.Path(__file__).parent / "Inputs" / "fixed"
NAMES = ["gru", "encoder", "flattened"]
CASES = [(name, exporter) for name in NAMES for exporter in ("torchscript", "dynamo")]
OPTIONS = ["--loss=mse", "--untie"]


def load(name, exporter):
    return onnx.load(INPUTS / f"{name}_{exporter}.onnx")


def run_onnx(model, x):
    return onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]


def make_x(model, samples):
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    return np.random.default_rng(0).standard_normal((samples, *shape[1:])).astype(np.float32)


def compile_to_ir(model, tmp_path, *options):
    source = tmp_path / "model.onnx"
    onnx.save(model, source)
    command = [harness.require_tool("bppsa-compile"), source, "-o", tmp_path / "ir", "--compile-to=import"]
    return harness.run(*command, *OPTIONS, *options)


@pytest.mark.parametrize("name, exporter", CASES)
def test_note_about_fixed_batch_size(name, exporter, tmp_path):
    result = harness.check_succeeded(compile_to_ir(load(name, exporter), tmp_path))
    assert "note: " in result.stderr and "warning" not in result.stderr
    assert "the number of samples (axis 0 of 'x') is fixed by the exporter" in result.stderr
    assert "--dynamic=x:0 turns it into a dynamic size" in result.stderr
    released = harness.check_succeeded(compile_to_ir(load(name, exporter), tmp_path, "--dynamic=x:0"))
    assert "the number of samples" not in released.stderr


@pytest.mark.parametrize("name, exporter", CASES)
def test_dynamic_batch_size(name, exporter, tmp_path):
    model = load(name, exporter)
    program = harness.compile_model(model, *OPTIONS, "--dynamic=x:0")
    x = make_x(model, 12)
    # ONNX Runtime runs the exported model on batches of four samples.
    expected = np.concatenate([run_onnx(model, x[i : i + 4]) for i in range(0, 12, 4)])
    for samples in (1, 5, 12):
        (found,) = program.infer({"x": x[:samples]}).values()
        np.testing.assert_allclose(found, expected[:samples], rtol=1e-5, atol=1e-6)
    # The saved model has a dynamic batch size in ONNX Runtime.
    data, saved = tmp_path / "data.npz", tmp_path / "saved.onnx"
    np.savez(data, x=x[:5], target=expected[:5])
    command = ["train", "--data", data, "--batch", "5", "--lr", "0", "--save", saved]
    harness.check_succeeded(program.run(*command))
    trained = onnx.load(saved)
    onnx.checker.check_model(trained)
    np.testing.assert_allclose(run_onnx(trained, x[:5]), expected[:5], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("exporter", ["torchscript", "dynamo"])
def test_dynamic_steps_and_batch_size(exporter):
    model = load("gru", exporter)
    program = harness.compile_model(model, *OPTIONS, "--dynamic=x:0", "--dynamic=x:1")
    x = make_x(model, 4)
    (whole,) = program.infer({"x": x}).values()
    np.testing.assert_allclose(whole, run_onnx(model, x), rtol=1e-5, atol=1e-6)
    # Different numbers of steps give different outputs.
    shorter, longer = (program.infer({"x": x[:3, :steps]}) for steps in (2, 6))
    assert shorter["y"].shape == longer["y"].shape == (3, 2)
    assert not np.allclose(shorter["y"], longer["y"])


def graph_of(nodes, initializers, shape=(4, 6)):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    tensors = [numpy_helper.from_array(np.asarray(a), n) for n, a in initializers.items()]
    graph = helper.make_graph(nodes, "fixed", [x], [y], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def row_for_each_sample():
    rows = np.arange(24, dtype=np.float32).reshape(4, 6)
    return graph_of([helper.make_node("Add", ["x", "rows"], ["y"], "rows")], {"rows": rows})


def end_of_a_slice():
    nodes = [
        helper.make_node("Slice", ["x", "from", "to"], ["cut"], "cut"),
        helper.make_node("Mul", ["cut", "x"], ["y"], "product"),
    ]
    return graph_of(nodes, {"from": np.array([0]), "to": np.array([4])})




REFUSED = {
    "row": (row_for_each_sample, "--dynamic=x:0", 1, "node 'rows' (Add)"),
    "slice": (end_of_a_slice, "--dynamic=x:0", 1, "(Mul)"),
    "input": (row_for_each_sample, "--dynamic=z:0", 1, "the model has no input 'z'"),
    "axis": (row_for_each_sample, "--dynamic=x:2", 1, "input 'x' has rank 2"),
    "form": (row_for_each_sample, "--dynamic=x", 2, "--dynamic must be NAME:AXIS, found 'x'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_invalid_dynamic_axes(name, tmp_path):
    build, option, status, words = REFUSED[name]
    result = compile_to_ir(build(), tmp_path, option)
    assert result.returncode == status and words in result.stderr, result.stderr
    assert result.stderr.count("\n") == 1


def test_no_note_if_the_graph_needs_the_size(tmp_path):
    result = harness.check_succeeded(compile_to_ir(row_for_each_sample(), tmp_path))
    assert "fixed by the exporter" not in result.stderr


def test_dynamic_axis_is_refused_again(tmp_path):
    model = row_for_each_sample()
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
    result = compile_to_ir(model, tmp_path, "--dynamic=x:0")
    assert result.returncode == 1 and "has no fixed size" in result.stderr
