"""Regression test: after a resume at the end of an epoch, its learning rate was logged as 0."""

import json
import time

import harness
import numpy as np
from fake_trainer import run, samples, save, start


def entries(log):
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return [(entry["epoch"], entry["loss"], entry["lr"]) for entry in lines]


def test_learning_rate_after_resume_at_end_of_epoch(tmp_path):
    """Validation is slow enough for the kill to come before the end of the epoch."""
    data = save(tmp_path / "d.npz", samples(48))
    validation = save(tmp_path / "v.npz", samples(200_000, seed=1))
    checkpoint, log, whole = (tmp_path / name for name in ("c", "l", "w"))
    words = ["train", "--data", data, "--batch", 16, "--lr", 0.01, "--lr-schedule", "step:1:0.5"]
    with start(*words, "--val", validation, "--checkpoint", checkpoint, "--checkpoint-every", 3) as process:
        while not checkpoint.exists() and process.poll() is None:
            time.sleep(0.001)
    with np.load(checkpoint) as archive:
        state = json.loads(archive["checkpoint"].tobytes())["state"]
    assert (state["epoch"], state["batch"]) == (0, 3)
    words += ["--epochs", 2]
    harness.check_succeeded(run(*words, "--resume", checkpoint, "--log", log))
    harness.check_succeeded(run(*words, "--log", whole))
    assert entries(log) == entries(whole)
    assert [round(rate, 6) for _, _, rate in entries(log)] == [0.01, 0.005]
