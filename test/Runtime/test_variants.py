"""How a run selects, shows and changes its variant, with artificially slowed variants."""

import os
import re

import fake_trainer
import harness
import numpy as np
import pytest
from fake_trainer import run, samples, save

MSE = "bppsa-fake-trainer-mse"
# A program whose steps pass gradients to the next step.
CARRIED = "bppsa-fake-trainer-carried"


def train(data, epochs, *options, trainer=MSE, **environment):
    values = ["--data", data, "--epochs", epochs, "--batch", 10, "--lr", 0.01]
    result = run("train", *values, *options, trainer=trainer, env={**os.environ, **environment})
    return harness.check_succeeded(result).stdout.splitlines()


def mse_data(path):
    arrays = samples(10)
    arrays["target"] = np.eye(fake_trainer.CLASSES, dtype=np.float32)[arrays["target"]]
    return save(path, arrays)


def shown(lines):
    """Returns the variants shown in the lines of epochs, in order."""
    return [line.split()[-1] for line in lines if line.startswith("epoch ")]


def test_progress_shows_the_variant(tmp_path):
    data = mse_data(tmp_path / "data.npz")
    for variant in ("sequential", "scan"):
        assert shown(train(data, 3, f"--backward={variant}")) == 3 * [variant]
    assert shown(train(data, 3)) == 3 * ["sequential"]


@pytest.mark.parametrize("trainer", [MSE, CARRIED])
def test_slower_variant_is_replaced(trainer, tmp_path):
    """A variant that turns out to be slower is replaced during the run.

    99 steps are too few for timing in advance. Results of trial steps are discarded until the run
    changes to scan. The gradients of scan are zero here, so plain SGD keeps the weights of the last
    sequential step.
    """
    data, saved, other = (tmp_path / name for name in ("data.npz", "s.onnx", "o.onnx"))
    mse_data(data)
    checkpoint = tmp_path / "c"
    made_slow = {"FAKE_SLOW": "sequential:20000", "FAKE_ZERO": "scan:1"}
    lines = train(data, 99, "--save", saved, "--checkpoint", checkpoint, trainer=trainer, **made_slow)
    (change,) = (line for line in lines if "in place of" in line)
    pattern = r"after step (\d+): scan in place of sequential: it takes (\d+) % of its time"
    step, percent = map(int, re.fullmatch(pattern, change).groups())
    assert 50 < step < 99 and percent < 97
    # The line of an epoch follows the message of its only step.
    assert shown(lines) == (step - 1) * ["sequential"] + (100 - step) * ["scan"]

    assert shown(train(data, step, "--backward=sequential", "--save", other)) == step * [
        "sequential"
    ]
    assert saved.read_bytes() == other.read_bytes()
    # A resumed run keeps the variant.
    assert shown(train(data, 101, "--resume", checkpoint, trainer=trainer)) == 2 * ["scan"]


@pytest.mark.parametrize("trainer", [MSE, CARRIED])
def test_slower_variant_is_not_selected(trainer, tmp_path):
    data, saved, other = (tmp_path / name for name in ("data.npz", "s.onnx", "o.onnx"))
    mse_data(data)
    made_slow = {"FAKE_SLOW": "scan:1000", "FAKE_ZERO": "scan:1"}
    lines = train(data, 5000, "--save", saved, trainer=trainer, **made_slow)
    assert set(shown(lines)) == {"sequential"}
    train(data, 5000, "--backward=sequential", "--save", other)
    assert saved.read_bytes() == other.read_bytes()
    made_slow["FAKE_SLOW"] = "sequential:1000"
    assert set(shown(train(data, 5000, trainer=trainer, **made_slow))) == {"scan"}
