"""Checkpoints, resuming, and interrupted or killed training."""

import json
import os
import signal
import time

import fake_trainer
import harness
import numpy as np
import pytest
from fake_trainer import refused, run, samples, save, start


@pytest.fixture
def data(tmp_path):
    return save(tmp_path / "data.npz", samples(100))


def train(data, *options, epochs=4, **kwargs):
    return run("train", "--data", data, "--epochs", epochs, "--batch", 16, *options, **kwargs)


def settled(data, tmp_path):
    """Returns the model after four uninterrupted epochs."""
    saved = tmp_path / "whole.onnx"
    harness.check_succeeded(train(data, "--seed", 3, "--lr", 0.01, "--save", saved))
    return saved.read_bytes()


def without_seconds(log):
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    return [{k: v for k, v in entry.items() if "seconds" not in k} for entry in entries]


@pytest.mark.parametrize("epochs", [1, 2, 3, 4])
def test_resumed_run_matches_uninterrupted_run(tmp_path, data, epochs):
    expected = settled(data, tmp_path)
    checkpoint, saved, log = (tmp_path / name for name in ("c", "s.onnx", "log"))
    options = ["--seed", 3, "--lr", 0.01, "--checkpoint", checkpoint]
    # The learning rate is constant, because a cosine schedule depends on the number of epochs.
    harness.check_succeeded(train(data, *options, epochs=epochs))
    harness.check_succeeded(train(data, "--resume", checkpoint, "--save", saved, "--log", log))
    assert saved.read_bytes() == expected
    assert [entry["epoch"] for entry in without_seconds(log)] == [1, 2, 3, 4][: max(epochs, 4)]


def test_resuming_within_an_epoch(tmp_path, data):
    """Resumes from a checkpoint within an epoch, as left by a killed run."""
    expected = settled(data, tmp_path)
    checkpoint, saved, log = (tmp_path / name for name in ("c", "s.onnx", "log"))
    trainer = start(
        "train", "--data", data, "--epochs", 4, "--batch", 16, "--seed", 3, "--lr", 0.01,
        "--checkpoint", checkpoint, "--checkpoint-every", 1,
    )  # fmt: skip
    with trainer as process:
        while not checkpoint.exists() and process.poll() is None:
            time.sleep(0.0005)
    harness.check_succeeded(train(data, "--resume", checkpoint, "--save", saved, "--log", log))
    assert saved.read_bytes() == expected
    whole = tmp_path / "whole.log"
    harness.check_succeeded(train(data, "--seed", 3, "--lr", 0.01, "--log", whole))
    assert without_seconds(log) == without_seconds(whole)


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_checkpoint_after_signal(tmp_path, data, number, status):
    checkpoint = tmp_path / "c"
    forever = ["--epochs", 10**9, "--batch", 16]
    with start("train", "--data", data, *forever, "--checkpoint", checkpoint) as process:
        time.sleep(0.3)
        process.send_signal(number)
        _, message = process.communicate(timeout=20)
    assert process.returncode == status
    assert message.count("\n") == 1 and f"--resume {checkpoint}" in message
    with np.load(checkpoint) as archive:
        state = json.loads(archive["checkpoint"].tobytes())["state"]
    assert state["step"] == state["epoch"] * 7 + state["batch"] > 0
    harness.check_succeeded(train(data, "--resume", checkpoint, epochs=state["epoch"] + 1))


def test_interruption_without_checkpoint(tmp_path, data):
    with start("train", "--data", data, "--epochs", 10**9) as process:
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, message = process.communicate(timeout=20)
    assert process.returncode == 130 and "--checkpoint" in message
    assert os.listdir(tmp_path) == ["data.npz"]


@pytest.mark.parametrize("seed", range(6))
def test_checkpoint_after_sigkill(tmp_path, data, seed):
    print("seed", seed)
    checkpoint = tmp_path / "c"
    forever = ["--epochs", 10**9, "--batch", 16, "--checkpoint-every", 1]
    with start("train", "--data", data, *forever, "--checkpoint", checkpoint) as process:
        while not checkpoint.exists() and process.poll() is None:
            time.sleep(0.001)
        time.sleep(float(np.random.default_rng(seed).uniform(0, 0.1)))
    with np.load(checkpoint) as archive:
        state = json.loads(archive["checkpoint"].tobytes())["state"]
    harness.check_succeeded(train(data, "--resume", checkpoint, epochs=state["epoch"] + 1))


# --- checkpoints that do not fit ------------------------------------------------------------------


@pytest.fixture
def checkpoint(tmp_path, data):
    path = tmp_path / "c"
    harness.check_succeeded(train(data, "--checkpoint", path, "--seed", 3, epochs=2))
    return path


def test_settings_come_from_the_checkpoint(tmp_path, data):
    first, resumed, whole = tmp_path / "c", tmp_path / "r.onnx", tmp_path / "w.onnx"
    options = ["--seed", 5, "--lr", 0.02, "--clip-norm", 0.1, "--weight-decay", 0.01]
    harness.check_succeeded(train(data, *options, "--checkpoint", first, epochs=2))
    harness.check_succeeded(
        run("train", "--data", data, "--resume", first, "--epochs", 4, "--save", resumed)
    )
    harness.check_succeeded(train(data, *options, "--save", whole))
    assert resumed.read_bytes() == whole.read_bytes()


def test_contradicting_settings_are_refused(tmp_path, data, checkpoint):
    refused(train(data, "--resume", checkpoint, "--seed", 4), "--seed 3", "--seed 4")
    result = run("train", "--data", data, "--resume", checkpoint, "--batch", 8)
    refused(result, "--batch 16", "--batch 8")
    refused(train(data, "--resume", checkpoint, "--no-shuffle"), "--no-shuffle")


def test_checkpoint_of_other_data(tmp_path, data, checkpoint):
    other = save(tmp_path / "other.npz", samples(100, seed=9))
    refused(train(other, "--resume", checkpoint), "other data")
    more = save(tmp_path / "more.npz", samples(101))
    refused(train(more, "--resume", checkpoint), "100 samples", "101")
    most = save(tmp_path / "most.npz", samples(200))
    refused(train(most, "--resume", checkpoint), "other data", "100 samples", "200")


def test_checkpoint_of_another_program(tmp_path, data, checkpoint):
    arrays = samples(100)
    arrays["target"] = np.eye(4, dtype=np.float32)[arrays["target"]]
    other = save(tmp_path / "mse.npz", arrays)
    result = train(other, "--resume", checkpoint, trainer="bppsa-fake-trainer-mse")
    refused(result, "another program", '"adam"', '"sgd"')


def test_data_file_is_not_a_checkpoint(data):
    refused(train(data, "--resume", data), "not a checkpoint")


@pytest.mark.parametrize("seed", range(6))
def test_damaged_checkpoints(tmp_path, data, checkpoint, seed):
    """A damaged checkpoint is refused or has no effect, but never crashes."""
    print("seed", seed)
    rng = np.random.default_rng(seed)
    good, bad, saved = checkpoint.read_bytes(), tmp_path / "bad", tmp_path / "saved.onnx"
    harness.check_succeeded(train(data, "--resume", checkpoint, "--save", saved))
    expected = saved.read_bytes()
    for _ in range(30):
        content = bytearray(good)
        for _ in range(rng.integers(1, 4)):
            content[rng.integers(len(content))] = rng.integers(256)
        if rng.random() < 0.3:
            content = content[: rng.integers(len(content))]
        bad.write_bytes(content)
        saved.unlink(missing_ok=True)
        result = train(data, "--resume", bad, "--save", saved)
        if result.returncode == 0:
            assert saved.read_bytes() == expected
        else:
            refused(result, "bad")
            assert not saved.exists()


def edited(checkpoint, path, edit):
    """Writes an edited checkpoint with valid checksums."""
    with np.load(checkpoint) as archive:
        arrays = dict(archive)
    meta = json.loads(arrays["checkpoint"].tobytes())
    edit(meta, arrays)
    arrays["checkpoint"] = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    np.savez(path.with_suffix(".npz"), **arrays)
    return path.with_suffix(".npz")


def set_state(key, value):
    return lambda meta, arrays: meta["state"].update({key: value})


def set_setting(key, value):
    return lambda meta, arrays: meta["settings"].update({key: value})


def set_array(name, value):
    return lambda meta, arrays: arrays.update({name: value})


EDITS = {
    "format": lambda meta, arrays: meta.update(format=2),
    "missing key": lambda meta, arrays: meta["state"].pop("step"),
    "text": set_state("epoch", "two"),
    "negative epoch": set_state("epoch", -1),
    "batch beyond the epoch": set_state("batch", 8),
    "step that does not fit": set_state("step", 3),
    "batch size 0": set_setting("batch", 0),
    "schedule": set_setting("schedule", "x"),
    "negative rate": set_setting("hyper", {"lr": -1}),
    "shape": set_array("parameter/head.bias", np.zeros(3, np.float32)),
    "dtype": set_array("parameter/head.bias", np.zeros(4)),
    "nan": set_array("state1/head.bias", np.full(4, np.nan, np.float32)),
}


def test_variant_of_another_program(tmp_path, data, checkpoint):
    """If the program lacks the checkpoint's variant, it selects another one."""
    other = edited(checkpoint, tmp_path / "other", set_setting("variant", "x"))
    harness.check_succeeded(train(data, "--resume", other))


@pytest.mark.parametrize("case", EDITS)
def test_invalid_checkpoint_contents(tmp_path, data, checkpoint, case):
    bad = edited(checkpoint, tmp_path / "bad", EDITS[case])
    refused(train(data, "--resume", bad), "bad.npz")
