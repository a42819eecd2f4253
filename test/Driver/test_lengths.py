"""Arrays of sample lengths: lengths out of range are refused."""

import harness
import models
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

STEPS, SAMPLES = 6, 5
SPEC = models.Spec("GRU", lengths=True)


def arrays(length):
    found = models.data(models.build(SPEC), {"T": STEPS, "B": SAMPLES}, "cross-entropy")
    found["lengths"][3] = length
    return found


@pytest.mark.parametrize("length", [0, -1, STEPS + 1])
@pytest.mark.parametrize("command", ["train", "eval", "grad", "infer"])
def test_lengths_out_of_range_are_refused(command, length, tmp_path):
    data = arrays(length)
    if command == "infer":
        del data["target"]
    np.savez(tmp_path / "d.npz", **data)
    outputs = {"train": "--save", "grad": "--out", "infer": "--out"}
    options = [outputs[command], tmp_path / "out"] if command in outputs else []
    program = harness.compile_model(models.build(SPEC), "--loss=cross-entropy")
    result = program.run(command, "--data", tmp_path / "d.npz", *options)
    assert result.returncode == 1 and result.stdout == ""
    assert result.stderr.endswith(
        f"array 'lengths': element [3] is {length}, but the model takes it as the length of a "
        f"sample; expected 1 to {STEPS}\n"
    )
    assert not (tmp_path / "out").exists()


def test_bench_draws_lengths():
    program = harness.compile_model(models.build(SPEC), "--loss=cross-entropy")
    result = program.run("bench", "--seq-len", "9", "--batch", "3", "--repeat", "2")
    assert result.returncode == 0 and '"seq_len":9' in result.stdout, result.stderr


def test_info_shows_bounds_of_lengths():
    program = harness.compile_model(models.build(SPEC), "--loss=cross-entropy")
    found = {array["name"]: array for array in program.info()["inputs"]}
    assert found["lengths"]["length_bounds"] == ["T"] and "length_bounds" not in found["x"]


def with_lengths(make):
    """Returns the model with nodes or initializers of `make` in place of the input `lengths`."""
    model = models.build(SPEC)
    (layer,) = [node for node in model.graph.node if node.op_type == "GRU"]
    layer.input[4] = "own"
    del model.graph.input[1]
    make(model.graph)
    return model


def constant(*values):
    tensor = numpy_helper.from_array(np.array(values, np.int32), "own")
    return with_lengths(lambda graph: graph.initializer.append(tensor))


def test_constant_lengths_set_minimum_steps():
    model = constant(3, 1, 4, 2, 3)
    program = harness.compile_model(model, "--loss=cross-entropy")
    assert program.info()["least_sizes"] == {"T": 4}


@pytest.mark.parametrize("length", [0, -2])
def test_constant_lengths_below_one_are_refused(length):
    with pytest.raises(harness.CompileError) as refusal:
        harness.compile_model(constant(3, length, 4, 2, 3), "--loss=cross-entropy")
    assert refusal.value.status == 1
    assert f"input 'sequence_lens' holds {length}, accepted: 1 to T" in refusal.value.message


def test_cast_lengths_are_checked(tmp_path):
    """PyTorch exports packed sequences with a Cast before the recurrent layer."""

    def make(graph):
        graph.input.append(helper.make_tensor_value_info("given", TensorProto.INT64, ["B"]))
        cast = helper.make_node("Cast", ["given"], ["own"], to=TensorProto.INT32)
        graph.node.insert(0, cast)

    data = arrays(STEPS + 3)
    data["given"] = data.pop("lengths").astype(np.int64)
    np.savez(tmp_path / "d.npz", **data)
    program = harness.compile_model(with_lengths(make), "--loss=cross-entropy")
    result = program.run("eval", "--data", tmp_path / "d.npz")
    assert result.returncode == 1 and "element [3] is 9" in result.stderr


def test_packed_batch_from_pytorch():
    path = harness.ROOT / "test" / "Driver" / "Inputs" / "packed_torchscript.onnx"
    x = np.random.default_rng(0).standard_normal((4, 6, 4)).astype(np.float32)
    arrays = {"x": x, "lengths": np.array([6, 4, 4, 1])}
    (expected,) = onnxruntime.InferenceSession(path).run(None, arrays)
    found = harness.compile_model(path, "--loss=mse").infer(arrays)["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_padding_does_not_affect_gradients():
    data = arrays(2)
    changed = {**data, "x": data["x"].copy()}
    for sample, length in enumerate(data["lengths"]):
        changed["x"][length:, sample] = 1e30
    program = harness.compile_model(models.build(SPEC), "--loss=cross-entropy")
    for name, array in program.grad(data).items():
        np.testing.assert_array_equal(array, program.grad(changed)[name], err_msg=name)
