"""Regression test: closing the terminal ended training without a last checkpoint."""

import signal
import time

import harness
from fake_trainer import run, samples, save, start


def test_checkpoint_after_sighup(tmp_path):
    data, checkpoint = save(tmp_path / "data.npz", samples(40)), tmp_path / "c"
    options = ["--epochs", 10**9, "--checkpoint", checkpoint]
    with start("train", "--data", data, *options) as process:
        while not checkpoint.exists() and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(signal.SIGHUP)
        _, message = process.communicate(timeout=harness.TIME_LIMIT)
    assert process.returncode == 128 + signal.SIGHUP
    assert message.count("\n") == 1 and f"--resume {checkpoint}" in message
