"""Regression test: when the loss became NaN, the error mentioned a missing checkpoint."""

import json
import os
import resource

import harness
import numpy as np
import pytest
from fake_trainer import refused, run, samples, save, start


@pytest.fixture
def data(tmp_path):
    return save(tmp_path / "data.npz", samples(40))


def diverge(data, *options):
    rate = ["--lr", "3e38", "--batch", 40, "--epochs", 500]
    return refused(run("train", "--data", data, *rate, *options), "loss is")


def position(checkpoint):
    with np.load(checkpoint) as archive:
        state = json.loads(archive["checkpoint"].tobytes())["state"]
    return state["epoch"], state["batch"]


def test_nan_without_checkpoint(data):
    assert diverge(data).endswith("; nothing was saved\n")


def test_nan_before_first_checkpoint(tmp_path):
    large = save(tmp_path / "large.npz", {**samples(40), "x": np.full((6, 40, 3), 3e38, np.float32)})
    checkpoint = tmp_path / "c"
    checkpoint.write_bytes(b"of another run")
    assert diverge(large, "--checkpoint", checkpoint).endswith("; nothing was saved\n")
    assert checkpoint.read_bytes() == b"of another run"


def test_nan_after_checkpoint_of_epoch(tmp_path, data):
    checkpoint = tmp_path / "c"
    message = diverge(data, "--checkpoint", checkpoint)
    epoch, batch = position(checkpoint)
    assert epoch > 0 and batch == 0
    assert message.endswith(f"; the checkpoint '{checkpoint}' of epoch {epoch} is kept\n")


def test_nan_after_checkpoint_of_batch(tmp_path):
    arrays = samples(40)
    arrays["x"][:, 20:] = 3e38
    data, checkpoint = save(tmp_path / "data.npz", arrays), tmp_path / "c"
    options = ["--checkpoint", checkpoint, "--checkpoint-every", 1, "--no-shuffle", "--batch", 10]
    message = refused(run("train", "--data", data, *options), "batch 3", "loss is")
    assert position(checkpoint) == (0, 2)
    assert message.endswith(f"; the checkpoint '{checkpoint}' of epoch 1, batch 2 is kept\n")


def test_nan_after_resume(tmp_path, data):
    checkpoint, other = tmp_path / "c", tmp_path / "other"
    train = ["train", "--data", data, "--batch", 40, "--epochs", 2, "--checkpoint", checkpoint]
    harness.check_succeeded(run(*train))
    again = ["train", "--data", data, "--resume", checkpoint, "--epochs", 500, "--lr", "3e38"]
    # The first step still has a finite loss.
    message = refused(run(*again), "loss is")
    assert message.endswith("; nothing was saved\n")
    message = refused(run(*again, "--checkpoint", other), "loss is")
    assert message.endswith(f"'{other}' of epoch {position(other)[0]} is kept\n")
    message = refused(run(*again, "--checkpoint", checkpoint), "loss is")
    assert message.endswith(f"'{checkpoint}' of epoch {position(checkpoint)[0]} is kept\n")


def test_nan_in_validation(tmp_path, data):
    arrays = {**samples(40), "x": np.full((6, 40, 3), 3e38, np.float32)}
    val, checkpoint = save(tmp_path / "val.npz", arrays), tmp_path / "c"
    options = ["--checkpoint", checkpoint, "--checkpoint-every", 1, "--batch", 10]
    message = refused(run("train", "--data", data, "--val", val, *options), "'", "val.npz", "loss")
    assert message.endswith(f"; the checkpoint '{checkpoint}' of epoch 1, batch 4 is kept\n")


def test_unwritable_checkpoint_on_sigterm(tmp_path, data):
    """After the first checkpoint, a limit on the file size makes further ones fail."""
    checkpoint = tmp_path / "c"
    options = ["--epochs", 10**9, "--checkpoint", checkpoint]
    with start("train", "--data", data, *options) as process:
        while not checkpoint.exists() and process.poll() is None:
            os.sched_yield()
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (100, 100))
        line = process.stderr.readline()
        process.terminate()
        _, message = process.communicate(timeout=harness.TIME_LIMIT)
    assert process.returncode == 143
    assert "(File too large)" in line and line.endswith("; training goes on\n")
    assert message.count("\n") == 1 and "(File too large)" in message
    epoch, _ = position(checkpoint)
    assert message.endswith(f"; the checkpoint '{checkpoint}' of epoch {epoch} is kept\n")
