"""Regression test: if the disk was full, writing --log or --checkpoint ended training with an
unrelated error message."""

import json
import os
import resource

import harness
import pytest
from fake_trainer import run, samples, save


@pytest.fixture
def data(tmp_path):
    return save(tmp_path / "data.npz", samples(40))


def limit_files(size):
    """Limits the size of files to `size` bytes."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def train(data, *options, **kwargs):
    return run("train", "--data", data, "--epochs", 30, *options, **kwargs)


def check_trained(result, saved, data, tmp_path, *words):
    """Checks for one line on stderr, status 1, and the same model as without the failure."""
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1 and result.stderr.endswith("; training goes on\n")
    for word in words:
        assert word in result.stderr
    expected = tmp_path / "expected.onnx"
    harness.check_succeeded(train(data, "--save", expected))
    assert saved.read_bytes() == expected.read_bytes()


def test_log_on_a_full_device(tmp_path, data):
    saved = tmp_path / "s.onnx"
    result = train(data, "--log", "/dev/full", "--save", saved)
    words = "--log: '/dev/full': writing failed (No space left on device)"
    check_trained(result, saved, data, tmp_path, words)


def test_truncated_log_has_whole_lines(tmp_path, data):
    saved, log = tmp_path / "s.onnx", tmp_path / "log"
    result = train(data, "--log", log, "--save", saved, preexec_fn=limit_files(1000))
    check_trained(result, saved, data, tmp_path, f"--log: '{log}'", "(File too large)")
    assert log.read_text().endswith("\n")
    epochs = [json.loads(line)["epoch"] for line in log.read_text().splitlines()]
    assert epochs == list(range(1, len(epochs) + 1)) and 3 < len(epochs) < 12


def test_checkpoint_on_a_full_disk(tmp_path, data):
    saved, checkpoint = tmp_path / "s.onnx", tmp_path / "c"
    checkpoint.write_bytes(b"previous")
    options = ["--checkpoint", "c", "--checkpoint-every", 1, "--save", saved]
    result = train(data, *options, preexec_fn=limit_files(1000), cwd=tmp_path)
    check_trained(result, saved, data, tmp_path, "'c': writing failed (File too large)")
    assert checkpoint.read_bytes() == b"previous"
    assert sorted(os.listdir(tmp_path)) == ["c", "data.npz", "expected.onnx", "s.onnx"]


def test_model_on_a_full_disk(tmp_path, data):
    saved = tmp_path / "s.onnx"
    result = train(data, "--save", saved, preexec_fn=limit_files(100))
    assert result.returncode == 1 and result.stderr.count("\n") == 1
    assert f"'{saved}': writing failed (File too large)" in result.stderr
    assert result.stderr.endswith("; nothing was saved\n")
    assert os.listdir(tmp_path) == ["data.npz"]
