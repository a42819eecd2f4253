"""`train --save` changes only the trained initializers; ONNX Runtime runs the saved file."""

import harness
import models
import numpy as np
import onnx
import onnxruntime
import pytest

LOSS = "cross-entropy"
SPECS = [
    models.Spec("RNN"),
    models.Spec("GRU", direction="bidirectional", layers=2),
    models.Spec("GRU", linear_before_reset=1, head="steps"),
    models.Spec("LSTM", initial="parameter"),
]


def train(program, tmp_path, *options, samples=20, time=9, data_seed=0):
    """Trains for two epochs and returns the saved model and the data."""
    arrays = models.data(program.model, {"T": time, "B": samples}, LOSS, data_seed)
    data, saved = tmp_path / "data.npz", tmp_path / "saved.onnx"
    np.savez(data, **arrays)
    command = [
        "--data",
        data,
        "--epochs",
        2,
        "--batch",
        8,
        "--lr",
        0.01,
        "--seed",
        1,
        "--save",
        saved,
    ]
    harness.check_succeeded(program.run("train", *command, *options))
    return onnx.load(saved), arrays


@pytest.mark.parametrize("spec", SPECS, ids=models.Spec.label)
def test_onnx_runtime_agrees_with_infer(spec, tmp_path):
    program = harness.compile_model(models.build(spec), f"--loss={LOSS}")
    saved, arrays = train(program, tmp_path)
    onnx.checker.check_model(saved)
    session = onnxruntime.InferenceSession(saved.SerializeToString())
    inputs = {name: array for name, array in arrays.items() if name != "target"}
    expected = dict(zip([o.name for o in saved.graph.output], session.run(None, inputs)))
    found = harness.compile_model(saved, f"--loss={LOSS}").infer(arrays)
    assert set(found) == set(expected)
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("spec", SPECS, ids=models.Spec.label)
def test_only_trained_initializers_change(spec, tmp_path):
    program = harness.compile_model(models.build(spec), f"--loss={LOSS}", "--freeze=head[.]bias")
    saved, _ = train(program, tmp_path)
    before = {t.name: onnx.numpy_helper.to_array(t) for t in program.model.graph.initializer}
    after = {t.name: onnx.numpy_helper.to_array(t) for t in saved.graph.initializer}
    assert set(before) == set(after)
    for name, array in before.items():
        trained = array.dtype == np.float32 and name != "head.bias"
        assert np.array_equal(array, after[name]) != trained, name
    for model in (
        saved,
        reference := onnx.ModelProto.FromString(program.model.SerializeToString()),
    ):
        del model.graph.initializer[:]
    assert saved == reference
