"""The compiler and programs accept only batch axes that are consistent with data flow.

Other axes caused out-of-bounds writes and outputs of wrong shapes.
"""

import harness
import models
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT
RANDOM = np.random.default_rng(0)
WEIGHT = RANDOM.standard_normal((4, 3)).astype(np.float32)
KERNEL = RANDOM.standard_normal((2, 1, 3, 3)).astype(np.float32)


def build(nodes, inputs, outputs, **initializers):
    graph = helper.make_graph(
        [helper.make_node(op, ins.split(), outs.split(), **attrs) for op, ins, outs, attrs in nodes],
        "axes",
        [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in outputs.items()],
        [numpy_helper.from_array(value, name) for name, value in initializers.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


# Each case: graph, sizes of symbols, and accepted batch axes with the default ones first.
CASES = {
    "recurrent": (
        models.build(models.Spec()),
        {"T": 6, "B": 5},
        ["x:1", "logits:0"],
    ),
    "every step": (
        models.build(models.Spec(cell="GRU", direction="bidirectional", head="steps")),
        {"T": 6, "B": 5},
        ["x:1", "logits:1"],
    ),
    "elementwise": (
        build([("Relu", "x", "y", {})], {"x": ["N", "M"]}, {"y": ["N", "M"]}),
        {"N": 5, "M": 3},
        ["x:0", "y:0", "x:1", "y:1"],
    ),
    "softmax": (
        build([("Softmax", "x", "y", {"axis": 1})], {"x": ["N", 3]}, {"y": ["N", 3]}),
        {"N": 5},
        ["x:0", "y:0"],
    ),
    "pairs": (
        build([("MatMul", "x r", "y", {})], {"x": ["N", 4], "r": [4, "M"]}, {"y": ["N", "M"]}),
        {"N": 5, "M": 2},
        ["x:0", "y:0", "r:1", "y:1"],
    ),
    "convolution": (
        build(
            [
                ("Conv", "x k", "c", {"pads": [1, 1, 1, 1]}),
                ("MaxPool", "c", "p", {"kernel_shape": [2, 2], "strides": [2, 2]}),
                ("Flatten", "p", "f", {}),
                ("Transpose", "f", "y", {}),
            ],
            {"x": ["N", 1, 4, 4]},
            {"y": [8, "N"]},
            k=KERNEL,
        ),
        {"N": 5},
        ["x:0", "y:1"],
    ),
    "merged and split": (
        build(
            [
                ("Reshape", "x rows", "r", {}),
                ("MatMul", "r w", "m", {}),
                ("Reshape", "m steps", "y", {}),
            ],
            {"x": [2, "N", 4]},
            {"y": [2, "N", 3]},
            rows=np.array([-1, 4]),
            steps=np.array([2, -1, 3]),
            w=WEIGHT,
        ),
        {"N": 5},
        ["x:1", "y:1", "x:0", "y:0"],
    ),
    "shared input": (
        build(
            [("Gemm", "x w c", "y", {}), ("Neg", "c", "z", {})],
            {"x": ["N", 4], "c": [3]},
            {"y": ["N", 3], "z": [3]},
            w=WEIGHT,
        ),
        {"N": 5},
        ["x:0", "y:0"],
    ),
    "samples that mix": (
        build(
            [("ReduceMean", "x", "m", {"axes": [0]}), ("Sub", "x m", "y", {})],
            {"x": ["N", 4]},
            {"y": ["N", 4]},
        ),
        {"N": 5},
        ["x:0", "y:0", "x:1", "y:1"],
    ),
    "every sample with every other": (
        build(
            [("Transpose", "x", "t", {}), ("MatMul", "x t", "y", {})],
            {"x": ["N", 4]},
            {"y": ["N", "N"]},
        ),
        {"N": 5},
        ["x:0"],
    ),
    "fixed": (
        build([("MatMul", "x w", "y", {})], {"x": [5, 4]}, {"y": [5, 3]}, w=WEIGHT),
        {},
        ["x:0", "y:0"],
    ),
    "cut": (
        build([("Split", "x", "a b c", {"axis": 0})], {"x": [6]}, {"a": [2], "b": [2], "c": [2]}),
        {},
        [],
    ),
    "halves": (
        build([("Split", "x", "a b", {"axis": 0})], {"x": [6, 4]}, {"a": [3, 4], "b": [3, 4]}),
        {},
        ["x:1", "a:1", "b:1"],
    ),
    "joined": (
        build([("Concat", "x x", "y", {"axis": 0})], {"x": ["N", 4]}, {"y": [None, 4]}),
        {"N": 5},
        ["x:1", "y:1"],
    ),
    "regrouped": (
        build(
            [("Reshape", "x rows", "y", {})],
            {"x": ["N", 4]},
            {"y": [None, 2]},
            rows=np.array([-1, 2]),
        ),
        {"N": 5},
        [],
    ),
}


def feeds(model, sizes):
    """Draws an array for each input with the given sizes of symbols."""
    arrays = {}
    for info in model.graph.input:
        dims = info.type.tensor_type.shape.dim
        shape = [sizes[dim.dim_param] if dim.dim_param else dim.dim_value for dim in dims]
        arrays[info.name] = RANDOM.standard_normal(shape).astype(np.float32)
    return arrays


def reference(model, data):
    session = onnxruntime.InferenceSession(model.SerializeToString())
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, data), strict=True))


def check_outputs(found, expected):
    assert set(found) == set(expected)
    for name, value in expected.items():
        assert found[name].shape == value.shape, name
        np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


def pairs(model):
    """Yields every axis of every array, and the first axis out of range."""
    for info in [*model.graph.input, *model.graph.output]:
        for axis in range(len(info.type.tensor_type.shape.dim) + 1):
            yield info.name, axis


def check_refusal(completed, name, axis, accepted):
    """Checks for a one-line error that lists the accepted axes of the array."""
    assert completed.returncode == 1 and completed.stdout == "", completed.stderr
    own = sorted(text.split(":")[1] for text in accepted if text.startswith(name + ":"))
    expected = " or ".join(own) or "no axis of this array"
    assert completed.stderr.endswith(
        f"--batch-axis: axis {axis} of '{name}' cannot carry the samples; accepted: {expected}\n"
    )
    assert completed.stderr.count("\n") == 1


@pytest.mark.parametrize("case", CASES)
def test_batch_axes_at_run_time(case, tmp_path):
    model, sizes, accepted = CASES[case]
    program = harness.compile_model(model, "--loss=mse")
    data = feeds(model, sizes)
    expected = reference(model, data)
    np.savez(tmp_path / "d.npz", **data)
    check_outputs(program.infer(data), expected)
    for name, axis in pairs(model):
        flag = f"--batch-axis={name}:{axis}"
        if f"{name}:{axis}" in accepted:
            check_outputs(program.infer(data, flag), expected)
            continue
        out = tmp_path / "out.npz"
        completed = program.run("infer", "--data", tmp_path / "d.npz", "--out", out, flag)
        check_refusal(completed, name, axis, accepted)
        assert not out.exists()


@pytest.mark.parametrize("case", CASES)
def test_batch_axes_at_compile_time(case, tmp_path):
    model, _, accepted = CASES[case]
    compiler = harness.require_tool("bppsa-compile")
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    command = [compiler, tmp_path / "m.onnx", "--emit=mlir", "--compile-to=import"]
    for name, axis in pairs(model):
        out = tmp_path / f"{name}{axis}.mlir"
        completed = harness.run(*command, "-o", out, f"--batch-axis={name}:{axis}")
        if f"{name}:{axis}" in accepted:
            harness.check_succeeded(completed)
        else:
            check_refusal(completed, name, axis, accepted)
        assert out.exists() == (completed.returncode == 0)


@pytest.mark.parametrize("case", ["recurrent", "every step", "convolution", "merged and split"])
def test_batched_inference_equals_whole(case):
    model, sizes, _ = CASES[case]
    program = harness.compile_model(model, "--loss=mse")
    data = feeds(model, sizes)
    check_outputs(program.infer(data, "--batch=2"), reference(model, data))


@pytest.mark.parametrize("case", ["samples that mix", "every sample with every other"])
def test_mixed_samples_are_not_batched(case, tmp_path):
    """300 samples exceed the default batch of 256."""
    model, _, _ = CASES[case]
    program = harness.compile_model(model, "--loss=mse")
    data = feeds(model, {"N": 300})
    check_outputs(program.infer(data), reference(model, data))
    np.savez(tmp_path / "d.npz", **data)
    completed = program.run(
        "infer", "--data", tmp_path / "d.npz", "--out", tmp_path / "o.npz", "--batch=100"
    )
    assert completed.returncode == 1 and completed.stderr.count("\n") == 1
    assert "output 'y' is not a list with one result per sample" in completed.stderr


def test_compiled_batch_axis_is_the_default():
    model, sizes, _ = CASES["elementwise"]
    program = harness.compile_model(model, "--loss=mse", "--batch-axis=y:1")
    axes = {a["name"]: a["batch_axis"] for key in ("inputs", "outputs") for a in program.info()[key]}
    assert axes == {"x": 1, "y": 1}
    data = feeds(model, sizes)
    check_outputs(program.infer(data, "--batch=2"), reference(model, data))
    check_outputs(program.infer(data, "--batch=2", "--batch-axis=x:0"), reference(model, data))


def test_batch_axes_must_be_consistent():
    model, _, _ = CASES["elementwise"]
    program = harness.compile_model(model, "--loss=mse", "--batch-axis=y:1")
    completed = program.run("info", "--batch-axis=x:0", "--batch-axis=y:1")
    assert completed.returncode == 1
    assert completed.stderr.endswith(
        "--batch-axis: axis 1 of 'y' cannot carry the samples with the axes given before it; "
        "accepted: 0\n"
    )


@pytest.mark.parametrize("value", ["x", "x:", "x:-1", "x:one", ""])
def test_malformed_batch_axis(value, tmp_path):
    model, _, _ = CASES["elementwise"]
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    compiler = harness.require_tool("bppsa-compile")
    flag = f"--batch-axis={value}"
    found = harness.run(compiler, tmp_path / "m.onnx", "-o", tmp_path / "out", flag)
    assert found.returncode == 2 and found.stderr.count("\n") == 1, found.stderr
    assert "NAME:AXIS" in found.stderr
    found = harness.compile_model(model, "--loss=mse").run("info", flag)
    assert found.returncode == 2 and found.stderr.count("\n") == 1, found.stderr
