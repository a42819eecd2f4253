"""Arrays without elements are allowed inside a graph and as outputs without a loss.

Regression test: for empty outputs and for empty slices at the end of an array, the compiler
printed a verifier error.
"""

import harness
import numpy as np
import onnxruntime
import pytest
import references
from onnx import TensorProto, helper, numpy_helper


def build(nodes, shape=("B", 4), outputs=("y",)):
    constants = {"zero": [0], "one": [1], "four": [4]}
    initializers = [
        numpy_helper.from_array(np.array(value), name) for name, value in constants.items()
    ]
    initializers.append(numpy_helper.from_array(np.array([2], np.float32), "w"))
    graph = helper.make_graph(
        nodes,
        "empty",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


SCALE = helper.make_node("Mul", ["x", "w"], ["q"])


def cut(output, start="zero", end="zero", axis="one"):
    return helper.make_node("Slice", ["q", start, end, axis], [output], name="cut")


def refusal(model, tmp_path, *options):
    compiler = harness.require_tool("bppsa-compile")
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    found = harness.run(compiler, tmp_path / "m.onnx", "-o", tmp_path / "out", *options)
    assert found.returncode == 1 and found.stderr.count("\n") == 1, found.stderr
    assert not (tmp_path / "out").exists()
    return found.stderr


@pytest.mark.parametrize("samples", [1, 5, 300])
def test_empty_output(samples):
    model = build([SCALE, cut("y")], outputs=("q", "y"))
    x = np.random.default_rng(0).standard_normal((samples, 4)).astype(np.float32)
    found = harness.compile_model(model, "--loss=mse").infer({"x": x})
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for name, expected in zip(("q", "y"), session.run(None, {"x": x}), strict=True):
        assert found[name].shape == expected.shape
        np.testing.assert_array_equal(found[name], expected)
    assert found["y"].shape == (samples, 0)


@pytest.mark.parametrize("loss", ["cross-entropy", "mse"])
def test_loss_on_empty_output_is_refused(tmp_path, loss):
    assert refusal(build([SCALE, cut("y")]), tmp_path, f"--loss={loss}").endswith(
        f"m.onnx: loss {loss} needs an output with elements, found \"y\" of 'tensor<?x0xf32>'; "
        "choose another output\n"
    )


def test_empty_input_of_fixed_size(tmp_path):
    """A fixed size of 0 is accepted for inference, but a loss on its elements is refused."""
    assert "loss mse needs an output with elements" in refusal(
        build([SCALE], ("B", 0), ["q"]), tmp_path, "--loss=mse"
    )
    total = helper.make_node("ReduceSum", ["x", "one"], ["y"])
    program = harness.compile_model(build([total], ("B", 0)), "--loss=mse", "--freeze=w")
    np.testing.assert_array_equal(program.infer({"x": np.zeros((3, 0), np.float32)})["y"], np.zeros((3, 1)))


def test_empty_input_of_dynamic_size_is_refused(tmp_path):
    program = harness.compile_model(build([SCALE], ("B", "M"), ["q"]), "--loss=mse")
    np.savez(tmp_path / "x.npz", x=np.zeros((3, 0), np.float32))
    found = program.run("infer", "--data", tmp_path / "x.npz", "--out", tmp_path / "y.npz")
    assert found.returncode == 1
    assert "axis 1 (M) is empty; every axis needs at least one element" in found.stderr


INSIDE = {
    "concat": [SCALE, cut("s"), helper.make_node("Concat", ["s", "q"], ["y"], axis=1)],
    "concat of a function": [
        SCALE,
        cut("s"),
        helper.make_node("Tanh", ["s"], ["t"]),
        helper.make_node("Mul", ["t", "w"], ["u"]),
        helper.make_node("Concat", ["q", "u"], ["y"], axis=1),
    ],
    "split": [
        SCALE,
        helper.make_node("Constant", [], ["sizes"], value_ints=[0, 4]),
        helper.make_node("Split", ["q", "sizes"], ["s", "t"], axis=1),
        helper.make_node("Concat", ["t", "s"], ["y"], axis=1),
    ],
    "sum": [
        SCALE,
        cut("s"),
        helper.make_node("ReduceSum", ["s", "one"], ["t"]),
        helper.make_node("Add", ["q", "t"], ["y"]),
    ],
    "unused": [SCALE, cut("s"), helper.make_node("Tanh", ["s"], ["t"]), helper.make_node("Tanh", ["q"], ["y"])],
}


@pytest.mark.parametrize("case", INSIDE)
def test_empty_intermediate_values(case):
    model = build(INSIDE[case])
    x, target = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
    program = harness.compile_model(model, "--loss=mse")
    (expected,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    np.testing.assert_allclose(program.infer({"x": x})["y"], expected, rtol=1e-6)
    data = {"x": x, "target": target}
    exact, single = references.gradients(model, data, "mse")
    for backward in ("sequential", "scan"):
        harness.check_gradients(program.grad(data, f"--backward={backward}"), exact, single)


def test_output_that_is_empty_for_some_sizes():
    """y = x[:, 4:] for widths of at least 4."""
    end = helper.make_node("Constant", [], ["end"], value_ints=[2**31 - 1])
    model = build([SCALE, end, cut("y", start="four", end="end")], shape=("B", "M"))
    program = harness.compile_model(model, "--loss=mse")
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for width in (4, 5):
        x = np.ones((3, width), np.float32)
        (expected,) = session.run(None, {"x": x})
        found = program.infer({"x": x})["y"]
        assert found.shape == expected.shape == (3, width - 4)
        np.testing.assert_array_equal(found, expected)
