"""Models that slice a fixed number of steps from a sequence require a minimum sequence length."""

import harness
import numpy as np
import onnxruntime
import pytest
import references
from onnx import TensorProto, helper, numpy_helper

HIDDEN, FEATURES = 4, 3
END = np.iinfo(np.int64).max


def build(start, end, step=1):
    """An RNN over x[start:end:step] with x of shape [T, N, 3]."""
    random = np.random.default_rng(0)
    weights = {"W": (1, HIDDEN, FEATURES), "R": (1, HIDDEN, HIDDEN)}
    initializers = [
        numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name)
        for name, shape in weights.items()
    ]
    for name, value in {"start": start, "end": end, "axis": 0, "step": step}.items():
        initializers.append(numpy_helper.from_array(np.array([value], np.int64), name))
    graph = helper.make_graph(
        [
            helper.make_node("Slice", ["x", "start", "end", "axis", "step"], ["cut"]),
            helper.make_node("RNN", ["cut", "W", "R"], ["", "y"], hidden_size=HIDDEN),
        ],
        "cut",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["T", "N", FEATURES])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, "N", HIDDEN])],
        initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def arrays(steps, samples=3):
    random = np.random.default_rng(steps)
    x, target = random.standard_normal((2, steps, samples, HIDDEN)).astype(np.float32)
    return {"x": x[:, :, :FEATURES], "target": target[:1]}


# Each of these requires five steps.
CUTS = [(0, 5, 1), (-5, END, 1), (2, -3, 1), (4, 0, -2), (-2, -6, -1)]


@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_values_and_gradients(cut):
    model = build(*cut)
    program = harness.compile_model(model, "--loss=mse")
    assert program.info()["least_sizes"] == {"T": 5}
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for steps in (6, 7, 20):
        data = arrays(steps)
        (expected,) = session.run(None, {"x": data["x"]})
        np.testing.assert_allclose(program.infer(data)["y"], expected, rtol=1e-5, atol=1e-6)
        exact, single = references.gradients(model, data, "mse")
        for backward in ("sequential", "scan"):
            harness.check_gradients(program.grad(data, f"--backward={backward}"), exact, single)


@pytest.mark.parametrize("command", ["train", "eval", "grad", "infer"])
def test_short_sequences_are_refused(command, tmp_path):
    data = arrays(3)
    if command == "infer":
        del data["target"]
    np.savez(tmp_path / "d.npz", **data)
    options = ["--out", tmp_path / "out"] if command in ("grad", "infer") else []
    program = harness.compile_model(build(-5, END), "--loss=mse")
    result = program.run(command, "--data", tmp_path / "d.npz", *options)
    assert result.returncode == 1 and result.stdout == ""
    assert result.stderr.endswith(
        "array 'x': found shape [3, 3, 3]: the model needs T >= 5, found 3\n"
    )
    assert not (tmp_path / "out").exists()


def test_bench_needs_enough_steps():
    program = harness.compile_model(build(-5, END), "--loss=mse")
    harness.check_succeeded(program.run("bench", "--seq-len", 5, "--repeat", 1))
    result = program.run("bench", "--seq-len", 4)
    assert result.returncode == 1 and "the model needs T >= 5, found 4" in result.stderr


def test_slice_to_another_symbol_is_refused():
    """x[:N] would require T >= N for every N."""
    model = build(0, 5)
    nodes = [
        helper.make_node("Shape", ["x"], ["sizes"], start=1, end=2),
        helper.make_node("Slice", ["x", "start", "sizes", "axis", "step"], ["cut"]),
    ]
    recurrent = model.graph.node.pop()
    del model.graph.node[:]
    model.graph.node.extend([*nodes, recurrent])
    with pytest.raises(harness.CompileError) as refusal:
        harness.compile_model(model, "--loss=mse")
    assert refusal.value.status == 1
    assert "slices dimension 0 of size T from 0 to N" in refusal.value.message
