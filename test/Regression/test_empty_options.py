"""Regression test: an empty option value (`--save "$UNSET"`) was ignored."""

import os

import pytest
from fake_trainer import run, samples, save

OPTIONS = {
    "train": ["--data", "--val", "--save", "--checkpoint", "--resume", "--log", "--calibration"]
    + ["--lr", "--beta1", "--clip-norm", "--lr-schedule", "--scan", "--batch", "--threads"],
    "eval": ["--data", "--batch"],
    "infer": ["--data", "--out"],
    "grad": ["--data", "--out"],
    "bench": ["--calibration", "--repeat"],
}


@pytest.mark.parametrize("command, option", [(c, o) for c, os in OPTIONS.items() for o in os])
def test_empty_values_are_refused(tmp_path, command, option):
    needed = {"--data": save(tmp_path / "data.npz", samples(20)), "--out": tmp_path / "out"}
    words = []
    for name in ("--data", "--out"):
        if name in OPTIONS[command] and name != option:
            words += [name, needed[name]]
    result = run(command, *words, option, "")
    assert result.returncode == 2 and result.stdout == ""
    assert result.stderr.startswith(f"error: {option}: found ''")
    assert result.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == ["data.npz"]
