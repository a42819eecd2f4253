"""`info --seq-len T --batch B`: predicted training memory, compared with resident memory."""

import json

import harness
import models
import numpy as np
import pytest


@pytest.fixture(scope="module")
def program():
    model = models.build(models.Spec("GRU", hidden=32, head="steps"))
    return harness.compile_model(model, "--loss=cross-entropy", "--backward=sequential")


def memory(program, steps, batch):
    words = ["--seq-len", steps, "--batch", batch]
    found = json.loads(harness.check_succeeded(program.run("info", *words)).stdout)["memory"]
    assert (found["seq_len"], found["batch"]) == (steps, batch)
    return found


def test_parts(program):
    found = memory(program, 50, 3)
    elements = program.info()["parameters"]["trained"]
    assert found["parameters"] == found["gradients"] == 4 * elements
    assert found["optimizer"] == 2 * 4 * elements  # Adam
    # x has three features, classes are int64, and there may be a weight per position.
    positions = 50 * 3
    assert found["arrays"] in (positions * (3 * 4 + 8), positions * (3 * 4 + 8 + 4))
    assert "memory" not in program.info()


def test_prediction_matches_resident_memory(program, tmp_path):
    """The increase over short sequences agrees within 25 %."""
    resident, told = [], []
    for steps, batch in ((2, 64), (4000, 64)):
        rng = np.random.default_rng(0)
        arrays = {
            "x": rng.standard_normal((steps, batch, 3)).astype(np.float32),
            "target": rng.integers(0, 5, (steps, batch)),
        }
        data = tmp_path / f"{steps}.npz"
        np.savez(data, **arrays)
        words = ["--data", data, "--batch", batch, "--threads=1", "--mapping=lanes", "--quiet"]
        resident.append(harness.peak_memory(program.path, "train", *words))
        found = memory(program, steps, batch)
        (step,) = [v for name, v in found["step"].items() if "units" not in name]
        # The data set and a batch, which holds all its samples, are in memory.
        told.append(2 * found["arrays"] + step)
    assert told[1] > 50e6
    assert resident[1] - resident[0] == pytest.approx(told[1] - told[0], rel=0.25)


def test_invalid_sizes(program):
    for words, status, line in (
        (["--batch=3"], 2, "--seq-len"),
        (["--seq-len=0"], 1, "--seq-len"),
    ):
        result = program.run("info", *words)
        assert result.returncode == status and line in result.stderr, result.stderr
        assert result.stderr.count("\n") == 1
