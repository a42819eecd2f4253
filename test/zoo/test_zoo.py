"""Typical PyTorch models, exported to ONNX: 100 training steps match PyTorch, and saved models run.

export_zoo.py exports the models and records the losses.
"""

import json
import pathlib

import harness
import numpy as np
import onnx
import onnxruntime
import pytest
from zoo_models import ZOO, make_data

INPUTS = pathlib.Path(__file__).parent / "Inputs"
RECORDED = json.loads((INPUTS / "losses.json").read_text())


def cross_entropy(y, t):
    y = y - np.log(np.exp(y).sum(-1, keepdims=True))
    return -np.mean(np.take_along_axis(y, t[..., None], -1))


def huber(y, t):
    error = np.abs(y - t)
    return np.mean(np.where(error <= 1, error**2 / 2, error - 0.5))


LOSSES = {
    "cross-entropy": cross_entropy,
    "mse": lambda y, t: np.mean((y - t) ** 2),
    "l1": lambda y, t: np.mean(np.abs(y - t)),
    "huber": huber,
    "bce-with-logits": lambda y, t: np.mean(np.logaddexp(0, y) - y * t),
}
CASES = [(name, exporter) for name, entry in ZOO.items() for exporter in entry.exporters]


def load(name, exporter):
    return onnx.load(INPUTS / f"{name}_{exporter}.onnx")


def options_of(name, exporter):
    """Returns the compiler options; the dynamo exporter drops the training mode of nodes."""
    entry = ZOO[name]
    options = [f"--loss={entry.loss}", f"--optimizer={entry.optimizer}", *entry.options]
    if entry.frozen:
        options.append(f"--freeze={entry.frozen}")
    if exporter in entry.untied:
        options.append("--untie")
    if entry.mode == "train" and exporter == "dynamo" and entry.has_modes:
        options.append("--training-mode")
    return options


def train(program, name, arrays, tmp_path, epochs=None):
    """Returns the losses of the epochs, the results of `eval`, and the saved model."""
    entry = ZOO[name]
    source, log, saved = (tmp_path / file for file in ("data.npz", "log.jsonl", "saved.onnx"))
    np.savez(source, **arrays)
    words = ["--epochs", epochs or entry.epochs, "--batch", entry.batch, "--lr", entry.rate]
    words += ["--no-shuffle", "--log", log, "--save", saved, "--threads", 1, "--val", source]
    harness.check_succeeded(program.run("train", "--data", source, *words))
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return [line["loss"] for line in lines], lines[-1]["val_loss"], onnx.load(saved)


@pytest.mark.parametrize("name, exporter", CASES)
def test_losses_match_pytorch(name, exporter, tmp_path):
    arrays = make_data(name)
    program = harness.compile_model(load(name, exporter), *options_of(name, exporter))
    losses, found, saved = train(program, name, arrays, tmp_path)
    np.testing.assert_allclose(losses, RECORDED[name], rtol=1e-4)
    # ONNX Runtime and `eval` agree on the trained model.
    onnx.checker.check_model(saved)
    inputs = {key: array for key, array in arrays.items() if key != "target"}
    (out,) = onnxruntime.InferenceSession(saved.SerializeToString()).run(None, inputs)
    loss = LOSSES[ZOO[name].loss](out.astype(np.float64), arrays["target"])
    np.testing.assert_allclose(found, loss, rtol=1e-4)


@pytest.mark.parametrize("name", [name for name, entry in ZOO.items() if entry.has_unoptimized])
def test_exports_without_optimization(name, tmp_path):
    """With optimize=False, models compile without warnings and match two epochs of PyTorch."""
    program = harness.compile_model(load(name, "unoptimized"), *options_of(name, "unoptimized"))
    losses, _, _ = train(program, name, make_data(name), tmp_path, epochs=2)
    np.testing.assert_allclose(losses, RECORDED[name][:2], rtol=1e-4)
    command = [harness.require_tool("bppsa-compile"), INPUTS / f"{name}_unoptimized.onnx"]
    command += ["-o", tmp_path / "out", "--compile-to=import", *options_of(name, "unoptimized")]
    assert "warning" not in harness.check_succeeded(harness.run(*command)).stderr


# Models with recurrent layers.
RECURRENT = ("char_lm", "bigru_attention", "bigru_max", "packed", "seq2seq", "loop_decoder", "forecaster")


@pytest.mark.parametrize("name, exporter", [case for case in CASES if case[0] in RECURRENT])
def test_losses_on_an_emulated_gpu(name, exporter, tmp_path):
    """The first two epochs match PyTorch."""
    options = ["--target=cuda", "--emulate", *options_of(name, exporter)]
    program = harness.compile_model(load(name, exporter), *options)
    losses, _, _ = train(program, name, make_data(name), tmp_path, epochs=2)
    np.testing.assert_allclose(losses, RECORDED[name][:2], rtol=1e-4)


@pytest.mark.parametrize("name, exporter", CASES)
def test_warnings(name, exporter, tmp_path):
    """There are no warnings, except for a parameter that TorchScript exports do not record."""
    command = [harness.require_tool("bppsa-compile"), INPUTS / f"{name}_{exporter}.onnx"]
    command += ["-o", tmp_path / "out", "--compile-to=import", *options_of(name, exporter)]
    if (name, exporter) == ("causal_transformer", "torchscript"):
        said = harness.check_succeeded(harness.run(*command)).stderr
        assert said.count("warning: ") == 1 and "'positions'; --freeze='^(positions)$' keeps" in said
        command.append("--train=^positions$")
    result = harness.check_succeeded(harness.run(*command))
    assert "warning" not in result.stderr
    if exporter in ZOO[name].untied:
        tied = harness.check_succeeded(harness.run(*(w for w in command if w != "--untie")))
        assert tied.stderr.count("warning: ") == 1 and "look merged" in tied.stderr
