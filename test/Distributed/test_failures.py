"""A failure of one rank ends all ranks."""

import json
import os
import signal
import time

import harness
import mpi
import numpy as np
import pytest
from fake_trainer import samples, save

OPTIONS = ["--batch", 16, "--seed", 3, "--lr", 0.01]


@pytest.fixture
def data(tmp_path):
    return save(tmp_path / "data.npz", samples(101))


def errors(text):
    return [line for line in text.splitlines() if line.startswith("error: ")]


def state_of(checkpoint):
    with np.load(checkpoint) as archive:
        return json.loads(archive["checkpoint"].tobytes())["state"]


def resume(data, checkpoint):
    epochs = state_of(checkpoint)["epoch"] + 1
    words = ["train", "--data", data, "--resume", checkpoint, "--epochs", epochs]
    harness.check_succeeded(mpi.run(0, mpi.fake(), *words))


def wait_for(path, process):
    while not path.exists() and process.poll() is None:
        time.sleep(0.01)


def ranks_of(launcher):
    """Returns all processes that mpirun has started."""
    children = f"/proc/{launcher.pid}/task/{launcher.pid}/children"
    with open(children) as file:
        return [int(word) for word in file.read().split()]


def test_killed_rank(tmp_path, data):
    checkpoint = tmp_path / "c"
    words = ["train", "--data", data, "--epochs", 10**9, *OPTIONS, "--checkpoint", checkpoint]
    process = mpi.start(3, mpi.fake(), *words, "--checkpoint-every", 1)
    wait_for(checkpoint, process)
    begin = time.monotonic()
    os.kill(ranks_of(process)[1], signal.SIGKILL)
    process.communicate(timeout=60)
    assert time.monotonic() - begin < 10 and process.returncode != 0
    resume(data, checkpoint)


@pytest.mark.parametrize("stopped", [0, 1])
def test_stopped_rank(tmp_path, data, stopped):
    checkpoint = tmp_path / "c"
    words = ["train", "--data", data, "--epochs", 10**9, *OPTIONS, "--checkpoint", checkpoint]
    process = mpi.start(3, mpi.fake(), *words, "--quiet", "--stall-timeout", 3)
    wait_for(checkpoint, process)
    os.kill(ranks_of(process)[stopped], signal.SIGSTOP)
    lines = errors(mpi.wait(process))
    assert process.returncode != 0
    # If rank 0 is stopped, other ranks on a busy machine may report the same error.
    assert len(lines) == 1 or stopped == 0
    assert f" rank {stopped} " in lines[0].partition("waited")[2].partition(" epoch ")[0]
    assert "--stall-timeout=3" in lines[0]
    resume(data, checkpoint)


def test_suspended_run_continues(tmp_path, data):
    """Time during which all ranks are stopped does not count towards --stall-timeout."""
    saved = tmp_path / "m.onnx"
    words = ["train", "--data", data, "--epochs", 2000, *OPTIONS, "--quiet", "--save", saved]
    process = mpi.start(2, mpi.fake(), *words, "--stall-timeout", 1)
    time.sleep(0.5)
    ranks = ranks_of(process)
    for number, pause in ((signal.SIGSTOP, 3), (signal.SIGCONT, 0)):
        for rank in ranks:
            os.kill(rank, number)
        time.sleep(pause)
    assert errors(mpi.wait(process)) == [] and process.returncode == 0 and saved.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt(tmp_path, data, number):
    checkpoint = tmp_path / "c"
    words = ["train", "--data", data, "--epochs", 10**9, *OPTIONS, "--checkpoint", checkpoint]
    # mpirun does not read output while it waits for ranks to end; a thousand lines would block.
    process = mpi.start(2, mpi.fake(), *words, "--quiet")
    wait_for(checkpoint, process)
    process.send_signal(number)
    message = mpi.wait(process)
    assert f"go on with --resume {checkpoint}" in message and message.count("\n") == 1
    resume(data, checkpoint)


def test_bad_data_on_one_rank(tmp_path, data):
    arrays = samples(101)
    arrays["x"][0, 50, 0] = np.nan
    bad = save(tmp_path / "bad.npz", arrays)
    words = [[mpi.fake(), "train", "--data", path, *OPTIONS] for path in (data, bad)]
    begin = time.monotonic()
    result = mpi.run_differing(*words)
    assert result.returncode == 1 and time.monotonic() - begin < 10
    [line] = errors(result.stderr)
    assert line.startswith("error: rank 1: ") and "bad.npz" in line


def test_error_on_all_ranks_is_reported_once(tmp_path):
    result = mpi.run(3, mpi.fake(), "train", "--data", tmp_path / "none.npz")
    assert result.returncode == 1
    [line] = errors(result.stderr)
    assert "none.npz" in line


def test_wrong_usage(data):
    result = mpi.run(3, mpi.fake(), "train", "--data", data, "--exchange=ring")
    assert result.returncode == 2
    [line] = errors(result.stderr)
    assert "allreduce" in line


def test_nonfinite_loss(tmp_path, data):
    checkpoint = tmp_path / "c"
    words = ["train", "--data", data, "--epochs", 50, "--batch", 16, "--lr", 1e38]
    result = mpi.run(3, mpi.fake(), *words, "--weight-decay", 1e5, "--checkpoint", checkpoint)
    assert result.returncode == 1
    [line] = errors(result.stderr)
    assert "the loss is" in line and "nothing was saved" in line
