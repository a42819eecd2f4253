"""Training steps against torch.optim's formulas in float64, with gradients of JAX in float64.

The whole data set is one batch, so an epoch is one step and shuffling does not matter.
"""

import harness
import models
import numpy as np
import onnx
import onnx_in_jax
import optimizers
import pytest

LOSS = "cross-entropy"
STEPS = 4


def trained_by_reference(model, arrays, optimizer, lr, weight_decay, clip_norm):
    model = onnx.ModelProto.FromString(model.SerializeToString())
    states = {}
    for step in range(1, STEPS + 1):
        gradients = onnx_in_jax.gradients(model, arrays, LOSS, np.float64)
        names = [t.name for t in model.graph.initializer if t.data_type == onnx.TensorProto.FLOAT]
        gradients = {name: gradients[name] for name in names}
        if clip_norm is not None:
            gradients = optimizers.clip(gradients, clip_norm)
        for tensor in model.graph.initializer:
            if tensor.name in gradients:
                value = onnx.numpy_helper.to_array(tensor).astype(np.float64)
                state = states.setdefault(tensor.name, {})
                value = optimizers.ALL[optimizer](
                    value, gradients[tensor.name], state, step, lr, weight_decay
                )
                new = onnx.numpy_helper.from_array(value.astype(np.float32), tensor.name)
                tensor.CopyFrom(new)
    return {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}


@pytest.mark.parametrize("clip_norm", [None, 0.05])
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
@pytest.mark.parametrize("optimizer", optimizers.ALL)
def test_steps(optimizer, weight_decay, clip_norm, tmp_path):
    lr = 1e-2
    model = models.build(models.Spec("GRU", hidden=5))
    arrays = models.data(model, {"T": 6, "B": 11}, LOSS)
    program = harness.compile_model(model, f"--loss={LOSS}", f"--optimizer={optimizer}")
    data, saved = tmp_path / "data.npz", tmp_path / "saved.onnx"
    np.savez(data, **arrays)
    command = [
        "--data",
        data,
        "--epochs",
        STEPS,
        "--batch",
        11,
        "--lr",
        lr,
        "--seed",
        1,
        "--save",
        saved,
    ]
    command += ["--weight-decay", weight_decay]
    if clip_norm is not None:
        command += ["--clip-norm", clip_norm]
    harness.check_succeeded(program.run("train", *command))
    expected = trained_by_reference(model, arrays, optimizer, lr, weight_decay, clip_norm)
    start = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    for tensor in onnx.load(saved).graph.initializer:
        found = onnx.numpy_helper.to_array(tensor)
        if found.dtype != np.float32:
            continue
        # The change, not the value, is compared: the value hides a wrong step behind the start.
        change = expected[tensor.name].astype(np.float64) - start[tensor.name]
        error = found.astype(np.float64) - expected[tensor.name]
        assert np.linalg.norm(error) <= 2e-3 * np.linalg.norm(change), tensor.name
