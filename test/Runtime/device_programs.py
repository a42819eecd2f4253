"""Fake trainers with device kernels, and helpers shared by their tests.

Modules that import the fixtures run on the fake CUDA driver.
"""

import fake_trainer
import harness
import numpy as np
import pytest
from fake_trainer import run, samples, save

CPU, CUDA, EMULATED = "bppsa-fake-trainer", "bppsa-fake-trainer-cuda", "bppsa-fake-trainer-emulated"
DEVICES = (CUDA, EMULATED)


@pytest.fixture(autouse=True)
def fake_driver(monkeypatch):
    driver = fake_trainer.DIRECTORY / "libbppsa-fake-cuda.so"
    monkeypatch.setenv("BPPSA_CUDA_DRIVER", str(driver))
    return monkeypatch


@pytest.fixture
def data(tmp_path):
    return save(tmp_path / "data.npz", samples(100))


def succeeded(command, *arguments, trainer):
    return harness.check_succeeded(run(command, *arguments, trainer=trainer)).stdout


def arrays(command, data, path, *arguments, trainer):
    succeeded(command, "--data", data, "--out", path, *arguments, trainer=trainer)
    with np.load(path) as archive:
        return dict(archive)


def equal(found, expected):
    assert set(found) == set(expected)
    for name, value in expected.items():
        assert found[name].dtype == value.dtype
        assert found[name].tobytes() == value.tobytes(), name


def train(data, *arguments, trainer, epochs=3):
    options = ["--batch", 16, "--seed", 1, "--lr", 0.01, "--clip-norm", 0.5, "--epochs", epochs]
    return succeeded("train", "--data", data, *options, *arguments, trainer=trainer)
