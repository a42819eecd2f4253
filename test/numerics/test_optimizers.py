"""Training steps against torch.optim's formulas in float64, with float64 gradients from JAX.

The whole data set is one batch, so an epoch is one step and shuffling does not matter.
"""

import harness
import jax
import losses_in_jax
import models
import numpy as np
import onnx
import onnx_in_jax
import optimizers
import pytest
import references
from images import ImageBuilder

LOSS = "cross-entropy"
STEPS, LR = 4, 1e-2
COMPILED = {}


def gradient_function(model, arrays):
    """Returns a function from float initializers and inputs to the float64 gradients of the loss.

    The function is cached: steps and tests share its JAX compilation.
    """
    key = references.make_key(model, arrays, LOSS)
    if key not in COMPILED:
        _, others = onnx_in_jax.split_inputs(model, arrays)
        output = model.graph.output[0].name

        def loss(floats):
            values = onnx_in_jax.evaluate(model, floats, others, np.float64)
            return losses_in_jax.loss_value(LOSS, values[output], arrays["target"])

        COMPILED[key] = jax.jit(jax.grad(loss))
    return COMPILED[key]


def gradients_in_float64(function, model, arrays):
    floats, _ = onnx_in_jax.split_inputs(model, arrays)
    found = function({name: np.asarray(value, np.float64) for name, value in floats.items()})
    return {name: np.asarray(value) for name, value in found.items()}


def trained_by_reference(model, arrays, optimizer, lr, weight_decay, clip_norm, kept=None):
    """Trains with the reference; `kept` has masks of the elements that have a gradient."""
    function = gradient_function(model, arrays)
    model = onnx.ModelProto.FromString(model.SerializeToString())
    states = {}
    for step in range(1, STEPS + 1):
        gradients = gradients_in_float64(function, model, arrays)
        names = [t.name for t in model.graph.initializer if t.data_type == onnx.TensorProto.FLOAT]
        gradients = {name: gradients[name] * (kept or {}).get(name, 1) for name in names}
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


def check_trained(model, saved, expected):
    start = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    for tensor in onnx.load(saved).graph.initializer:
        found = onnx.numpy_helper.to_array(tensor)
        if found.dtype != np.float32:
            continue
        # Compare the change: a wrong step would be small relative to the value itself.
        change = expected[tensor.name].astype(np.float64) - start[tensor.name]
        error = found.astype(np.float64) - expected[tensor.name]
        assert np.linalg.norm(error) <= 2e-3 * np.linalg.norm(change), tensor.name


def train(program, arrays, weight_decay, clip_norm, folder, *extra):
    """Returns the ONNX file after STEPS full-batch updates."""
    data, saved = folder / "data.npz", folder / "saved.onnx"
    np.savez(data, **arrays)
    options = ["--epochs", STEPS, "--batch", 11, "--lr", LR, "--weight-decay", weight_decay]
    if clip_norm is not None:
        options += ["--clip-norm", clip_norm]
    command = ["train", "--data", data, *options, "--seed", 1, "--save", saved, *extra]
    harness.check_succeeded(program.run(*command))
    return saved


@pytest.mark.parametrize("clip_norm", [None, 0.05])
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
@pytest.mark.parametrize("optimizer", optimizers.ALL)
def test_steps(optimizer, weight_decay, clip_norm, tmp_path):
    model = models.build(models.Spec("GRU", hidden=5))
    arrays = models.data(model, {"T": 6, "B": 11}, LOSS)
    program = harness.compile_model(model, f"--loss={LOSS}", f"--optimizer={optimizer}")
    saved = train(program, arrays, weight_decay, clip_norm, tmp_path)
    expected = trained_by_reference(model, arrays, optimizer, LR, weight_decay, clip_norm)
    check_trained(model, saved, expected)


def pruned_chain():
    """Two half-zero matrices, pruned by element and by row: whole blocks of 16 are skipped."""
    b = ImageBuilder((40,))
    model = b.linear(36).layer("Tanh").linear(4).finish()
    kept = {}
    for tensor in model.graph.initializer:
        if len(tensor.dims) < 2:
            continue
        array = onnx.numpy_helper.to_array(tensor).copy()
        array.flat[::2] = 0
        array.flat[array.size // 4 : array.size // 2] = 0
        kept[tensor.name] = array != 0
        tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
    return model, kept


@pytest.mark.parametrize("extra", ["nothing", "clipping", "a rate of its own"])
@pytest.mark.parametrize("optimizer", optimizers.ALL)
def test_steps_of_pruned_weights(optimizer, extra, tmp_path):
    model, kept = pruned_chain()
    arrays = models.data(model, {"N": 11}, LOSS)
    options = [f"--optimizer={optimizer}", "--prune-zeros", "--backward=scan"]
    program = harness.compile_model(model, f"--loss={LOSS}", *options)
    clip_norm = 0.05 if extra == "clipping" else None
    own_rate = ["--lr-for", f"{list(kept)[-1]}={LR}"] if extra == "a rate of its own" else []
    saved = train(program, arrays, 0.1, clip_norm, tmp_path, *own_rate)
    expected = trained_by_reference(model, arrays, optimizer, LR, 0.1, clip_norm, kept)
    check_trained(model, saved, expected)
    for tensor in onnx.load(saved).graph.initializer:
        if tensor.name in kept:
            assert not np.any(onnx.numpy_helper.to_array(tensor)[~kept[tensor.name]])
