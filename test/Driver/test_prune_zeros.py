"""`--prune-zeros`: initializers that contain zeros keep them in training."""

import re

import harness
import models
import numpy as np
import onnx
import pytest
from images import ImageBuilder
from onnx import numpy_helper

TRAINED = ["--loss=cross-entropy", "--optimizer=adamw", "--prune-zeros"]


def build():
    b = ImageBuilder((2, 6, 6))
    b.conv(3, (3, 3)).layer("Relu").pool("MaxPool", (2, 2))
    return b.flatten().linear(8).layer("Tanh").linear(4).finish()


def clear(model, *names):
    """Sets every other element of these initializers to zero."""
    for initializer in model.graph.initializer:
        if initializer.name in names:
            array = numpy_helper.to_array(initializer).copy()
            array.flat[::2] = 0
            initializer.CopyFrom(numpy_helper.from_array(array, initializer.name))
    return model


def matrices(model):
    return [i.name for i in model.graph.initializer if len(i.dims) >= 2]


def import_model(directory, model, *options):
    source, ir = directory / "model.onnx", directory / "import.mlir"
    source.write_bytes(model.SerializeToString())
    words = ["-o", ir, "--compile-to=import", "--emit=mlir", *options]
    result = harness.run(harness.require_tool("bppsa-compile"), source, *words)
    return result, ir.read_text() if ir.exists() else None


def marked(ir):
    """Returns the parameters with an attribute for their nonzeros."""
    (signature,) = (line for line in ir.splitlines() if "func.func @forward(" in line)
    arguments = re.findall(r"%\w+: [^{]*\{([^}]*)\}", signature)
    return [
        re.search(r'bppsa.parameter = "([^"]*)"', argument)[1]
        for argument in arguments
        if "bppsa.nonzeros" in argument
    ]


def test_matrices_with_zeros_are_marked(tmp_path):
    model = build()
    conv, _, last = matrices(model)
    vectors = [i.name for i in model.graph.initializer if len(i.dims) < 2]
    result, ir = import_model(tmp_path, clear(model, conv, last, *vectors), "--prune-zeros")
    harness.check_succeeded(result)
    assert marked(ir) == [conv, last]


def test_zeros_are_trained_without_the_option(tmp_path):
    model = build()
    result, ir = import_model(tmp_path, clear(model, *matrices(model)))
    harness.check_succeeded(result)
    assert "bppsa.nonzeros" not in ir


@pytest.mark.parametrize("cleared", ["nothing", "vectors"])
def test_nothing_to_prune(tmp_path, cleared):
    model = build()
    names = [i.name for i in model.graph.initializer if len(i.dims) < 2]
    model = clear(model, *(names if cleared == "vectors" else []))
    result, ir = import_model(tmp_path, model, "--prune-zeros")
    assert result.returncode == 1 and ir is None
    assert result.stderr.count("\n") == 1
    assert "--prune-zeros: no float initializer of rank 2 or more holds a zero" in result.stderr


@pytest.mark.parametrize("backward", ["sequential", "scan"])
def test_resumed_training_keeps_bits_and_zeros(tmp_path, backward):
    model = build()
    names = matrices(model)
    program = harness.compile_model(clear(model, *names), *TRAINED, f"--backward={backward}")
    data = tmp_path / "data.npz"
    np.savez(data, **models.data(model, {"N": 24}, "cross-entropy"))
    whole, resumed, checkpoint = (tmp_path / n for n in ("whole.onnx", "resumed.onnx", "state"))

    def train(epochs, *flags):
        options = ["--epochs", epochs, "--batch", 8, "--lr", 1e-2, "--weight-decay", 0.1]
        harness.check_succeeded(
            program.run("train", "--data", data, *options, "--seed", 1, *flags)
        )

    train(4, "--save", whole)
    train(2, "--checkpoint", checkpoint)
    train(4, "--resume", checkpoint, "--save", resumed)
    assert whole.read_bytes() == resumed.read_bytes()
    for initializer in onnx.load(resumed).graph.initializer:
        if initializer.name in names:
            values = numpy_helper.to_array(initializer).flat
            assert not np.any(values[::2]) and np.all(values[1::2])
