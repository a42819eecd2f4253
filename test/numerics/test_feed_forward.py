"""Compiled convolutional models: gradients against float64 JAX, training, and saved files."""

import sys

import harness
import images
import losses_in_jax
import models
import numpy as np
import onnx
import onnxruntime
import pytest
import references
from onnx import numpy_helper

sys.path.insert(0, str(harness.PACKAGE))

from bppsa.data import gratings

LENET = harness.ROOT / "examples" / "lenet5.onnx"
MODELS = {
    "lenet5": images.lenet5,
    "vgg11": lambda: images.vgg11(2),
    "vgg11-bn": lambda: images.vgg11(2, batch_norm=True),
    "residual": images.residual,
    "mixed": images.mixed,
}


def reference_gradients(model, arrays):
    """`references.gradients` without the running statistics of batch normalization."""
    exact, single = references.gradients(model, arrays, "cross-entropy")
    return {n: a for n, a in exact.items() if not n.startswith(("bn.mean", "bn.var"))}, single


@pytest.mark.parametrize("samples", [1, 5])
@pytest.mark.parametrize("name", MODELS)
def test_gradients(name, samples):
    model = MODELS[name]()
    arrays = models.data(model, {"N": samples}, "cross-entropy")
    program = harness.compile_model(model, "--loss=cross-entropy", "--backward=sequential")
    exact, single = reference_gradients(model, arrays)
    found = program.grad(arrays)
    harness.check_gradients(found, exact, single)
    again = program.grad(arrays, "--threads=1")
    for key, value in found.items():
        assert np.array_equal(value, again[key]), key


@pytest.mark.parametrize("plan", ["linear", "blelloch", "hybrid:1", "chunked:2"])
@pytest.mark.parametrize("name", MODELS)
def test_gradients_of_scan_plans(name, plan):
    model = MODELS[name]()
    program = harness.compile_model(
        model, "--loss=cross-entropy", "--backward=scan", f"--scan={plan}"
    )
    for samples in (1, 21):
        arrays = models.data(model, {"N": samples}, "cross-entropy")
        exact, single = reference_gradients(model, arrays)
        found = program.grad(arrays)
        harness.check_gradients(found, exact, single)
        again = program.grad(arrays, "--threads=1")
        for key, value in found.items():
            assert np.array_equal(value, again[key]), key


@pytest.mark.parametrize("plan", ["linear", "blelloch"])
@pytest.mark.parametrize("name", ["lenet5", "vgg11", "residual"])
def test_pruned_gradients(name, plan):
    model, kept = images.prune(MODELS[name](), 80)
    options = ["--loss=cross-entropy", "--prune-zeros", f"--scan={plan}"]
    program = harness.compile_model(model, *options)
    arrays = models.data(model, {"N": 5}, "cross-entropy")
    exact, single = reference_gradients(model, arrays)
    for gradients in (exact, single):
        for key, mask in kept.items():
            gradients[key] = np.where(mask, gradients[key], 0)
    for variant in ("scan", "sequential"):
        harness.check_gradients(program.grad(arrays, f"--backward={variant}"), exact, single)


@pytest.mark.parametrize("option, samples", [("--scan=linear", 37), ("--backward=sequential", 1)])
def test_highly_pruned_model(option, samples):
    """Outputs and gradients are right if only 3 % of the weights remain, so products are sparse."""
    model, kept = images.prune(images.vgg11(4), 97)
    program = harness.compile_model(model, "--loss=cross-entropy", "--prune-zeros", option)
    arrays = models.data(model, {"N": samples}, "cross-entropy")
    inputs = {i.name: arrays[i.name] for i in model.graph.input}
    (expected,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, inputs)
    found = program.infer(inputs)
    np.testing.assert_allclose(found["logits"], expected, rtol=1e-4, atol=1e-5)
    exact, single = reference_gradients(model, arrays)
    for gradients in (exact, single):
        for key, mask in kept.items():
            gradients[key] = np.where(mask, gradients[key], 0)
    harness.check_gradients(program.grad(arrays), exact, single)


@pytest.mark.parametrize("percent", [97, 80])
def test_pruning_ratio_selects_sparse_products(percent, tmp_path):
    source, ir = tmp_path / "model.onnx", tmp_path / "scan.mlir"
    model, kept = images.prune(images.vgg11(4), percent)
    onnx.save(model, source)
    options = ["--loss=cross-entropy", "--backward=sequential", "--prune-zeros", "--emit=mlir"]
    command = [source, *options, "--compile-to=scan", "-o", ir]
    harness.check_succeeded(harness.run(harness.COMPILER, *command))
    (forward,) = (f for f in ir.read_text().split("func.func ") if f.startswith("@forward("))
    sparse = len(kept) if percent == 97 else 0
    assert forward.count("jacobian.sparse_apply") == sparse


@pytest.mark.parametrize("jacobians", ["structured", "dense"])
@pytest.mark.parametrize("plan", ["linear", "blelloch", "hybrid:1"])
def test_dense_jacobians(plan, jacobians):
    """Dense and structured Jacobians give the same gradients."""
    model = images.small()
    options = ["--loss=cross-entropy", f"--scan={plan}", f"--jacobians={jacobians}"]
    program = harness.compile_model(model, *options, "--backward=scan")
    arrays = models.data(model, {"N": 5}, "cross-entropy")
    exact, single = references.gradients(model, arrays, "cross-entropy")
    harness.check_gradients(program.grad(arrays), exact, single)


@pytest.mark.parametrize("spec", [models.Spec("LSTM"), models.Spec("RNN")], ids=str)
def test_dense_jacobians_over_time(spec):
    model = models.build(spec)
    options = ["--loss=cross-entropy", "--scan=blelloch", "--jacobians=dense"]
    program = harness.compile_model(model, *options, "--backward=scan")
    arrays = models.data(model, {"T": 9, "B": 3}, "cross-entropy")
    exact, single = references.gradients(model, arrays, "cross-entropy")
    harness.check_gradients(program.grad(arrays), exact, single)


LEFT = {
    "nothing": lambda rows, cols: np.zeros((rows, cols), bool),
    "one weight": lambda rows, cols: np.arange(rows * cols).reshape(rows, cols) == cols + 2,
    "a diagonal": lambda rows, cols: np.eye(rows, cols, dtype=bool),
    "some rows": lambda rows, cols: np.repeat(np.arange(rows) % 5 == 1, cols).reshape(rows, cols),
}


@pytest.mark.parametrize("plan", ["linear", "blelloch"])
@pytest.mark.parametrize("left", LEFT)
def test_one_pruned_layer(left, plan):
    builder = images.ImageBuilder((1, 4, 4)).conv(2, (2, 2)).layer("Relu").flatten()
    model = builder.linear(12).layer("Tanh").linear(12).layer("Tanh").linear(4).finish()
    (weight,) = (i for i in model.graph.initializer if tuple(i.dims) == (12, 12))
    mask = LEFT[left](12, 12)
    weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) * mask, weight.name))
    options = ["--loss=cross-entropy", "--prune-zeros", "--backward=scan", f"--scan={plan}"]
    program = harness.compile_model(model, *options)
    arrays = models.data(model, {"N": 5}, "cross-entropy")
    exact, single = references.gradients(model, arrays, "cross-entropy")
    for gradients in (exact, single):
        gradients[weight.name] = np.where(mask, gradients[weight.name], 0)
    harness.check_gradients(program.grad(arrays), exact, single)


@pytest.mark.parametrize("backward", ["sequential", "scan"])
def test_pruned_weights_stay_zero(backward, tmp_path):
    model, kept = images.prune(images.vgg11(2), 90)
    options = ["--loss=cross-entropy", "--prune-zeros", f"--backward={backward}"]
    program = harness.compile_model(model, *options, "--optimizer=adamw")
    np.savez(tmp_path / "data.npz", **models.data(model, {"N": 24}, "cross-entropy"))
    options = ["--epochs", 2, "--batch", 8, "--lr", 1e-2, "--weight-decay", 0.1]
    saved = tmp_path / "saved.onnx"
    harness.check_succeeded(
        program.run("train", "--data", tmp_path / "data.npz", *options, "--save", saved)
    )
    before = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
    for initializer in onnx.load(saved).graph.initializer:
        array = numpy_helper.to_array(initializer)
        if initializer.name in kept:
            mask = kept[initializer.name]
            assert not np.any(array[~mask])
            assert np.any(array[mask] != before[initializer.name][mask])


@pytest.mark.parametrize("name", MODELS)
def test_outputs(name):
    model = MODELS[name]()
    arrays = models.data(model, {"N": 3}, "none")
    program = harness.compile_model(model, "--loss=cross-entropy", "--backward=sequential")
    found = program.infer(arrays)
    (expected,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, arrays)
    np.testing.assert_allclose(found["logits"], expected, rtol=1e-4, atol=1e-5)


def test_running_statistics_are_not_trained():
    program = harness.compile_model(
        images.residual(), "--loss=cross-entropy", "--backward=sequential"
    )
    trained = {i["name"]: i["trained"] for i in program.info()["initializers"]}
    assert not any(trained[name] for name in trained if name.startswith(("bn.mean", "bn.var")))
    assert all(trained[name] for name in trained if name.startswith(("conv", "bn.scale", "fc")))


@pytest.mark.parametrize("name", ["lenet5", "vgg11"])
def test_learns_gratings(name, tmp_path):
    model = onnx.load(LENET) if name == "lenet5" else images.vgg11(4)
    program = harness.compile_model(model, "--loss=cross-entropy", "--backward=sequential")
    sets = {}
    for which, samples, seed in (("train", 1000, 1), ("test", 200, 2)):
        x, target = gratings.generate(samples, seed)
        sets[which] = {"x": x, "target": target}
        np.savez(tmp_path / f"{which}.npz", **sets[which])
    before = program.eval(sets["test"])
    options = ["--epochs", 5, "--batch", 16, "--lr", 3e-3, "--seed", 1, "--threads", 2]
    saved = tmp_path / "saved.onnx"
    harness.check_succeeded(
        program.run("train", "--data", tmp_path / "train.npz", *options, "--save", saved)
    )
    session = onnxruntime.InferenceSession(saved)
    (logits,) = session.run(None, {"x": sets["test"]["x"]})
    accuracy = (logits.argmax(-1) == sets["test"]["target"]).mean()
    loss = losses_in_jax.loss_value("cross-entropy", logits.astype(np.float64), sets["test"]["target"])
    assert before["accuracy"] < 0.3 and accuracy > 0.5, f"{before}, then {accuracy}"
    after = harness.compile_model(
        onnx.load(saved), "--loss=cross-entropy", "--backward=sequential"
    ).eval(sets["test"])
    np.testing.assert_allclose(after["loss"], loss, rtol=1e-4)
    assert after["accuracy"] == pytest.approx(accuracy)
