"""The compiled trainer on real models: training, checkpoints, metrics and invalid input."""

import json
import os
import signal
import subprocess
import time

import harness
import images
import models
import numpy as np
import onnx
import pytest

LOSS = "cross-entropy"


@pytest.fixture(scope="module")
def program():
    return harness.compile_model(models.build(models.Spec("GRU", hidden=8)), f"--loss={LOSS}")


def separable(samples=96, length=12, seed=0):
    """Returns an easily learned data set: the class determines the mean of the first feature."""
    rng = np.random.default_rng(seed)
    target = rng.integers(0, 5, samples)
    x = 0.5 * rng.standard_normal((length, samples, 3)).astype(np.float32)
    x[:, :, 0] += (target - 2).astype(np.float32)
    return {"x": x, "target": target}


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "train.npz"
    np.savez(path, **separable())
    return path


def train(program, data, *flags, epochs=3, lr=0.02, seed=1, batch=16):
    values = ["--epochs", epochs, "--batch", batch, "--lr", lr, "--seed", seed]
    return program.run("train", "--data", data, *values, *flags)


def test_training_learns(program, data, tmp_path):
    log = tmp_path / "log.jsonl"
    validation = tmp_path / "val.npz"
    np.savez(validation, **separable(seed=1))
    result = program.run(
        "train", "--data", data, "--val", validation, "--epochs", 30, "--batch", 16, "--lr", 0.03,
        "--seed", 1, "--log", log,
    )  # fmt: skip
    harness.check_succeeded(result)
    epochs = [json.loads(line) for line in log.read_text().splitlines()]
    assert [e["epoch"] for e in epochs] == list(range(1, 31))
    for entry in epochs:
        assert {"epoch", "loss", "val_loss", "val_accuracy", "seconds"} <= set(entry)
    assert epochs[-1]["loss"] < 0.5 * epochs[0]["loss"]
    assert epochs[-1]["val_accuracy"] > 0.8


def test_resumed_training_is_bitwise_equal(program, data, tmp_path):
    whole, resumed, checkpoint = (tmp_path / n for n in ("whole.onnx", "resumed.onnx", "state"))
    harness.check_succeeded(train(program, data, "--save", whole, epochs=4))
    harness.check_succeeded(train(program, data, "--checkpoint", checkpoint, epochs=2))
    harness.check_succeeded(
        train(program, data, "--resume", checkpoint, "--save", resumed, epochs=4)
    )
    assert whole.read_bytes() == resumed.read_bytes()


def test_seed_and_threads(program, data, tmp_path):
    def weights(*flags, **values):
        path = tmp_path / "out.onnx"
        harness.check_succeeded(train(program, data, "--save", path, *flags, **values))
        return path.read_bytes()

    assert weights("--threads=1") == weights("--threads=2")
    assert weights() != weights(seed=2)


def test_checkpoint_after_sigkill(program, data, tmp_path):
    checkpoint = tmp_path / "state"
    for delay in (0.02, 0.05, 0.1, 0.2):
        command = [program.path, "train", "--data", data, "--epochs", "100000", "--batch", "16"]
        command += ["--lr", "0.001", "--seed", "1", "--checkpoint", checkpoint]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while not checkpoint.exists() and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
        saved = tmp_path / "resumed.onnx"
        result = train(program, data, "--resume", checkpoint, "--save", saved, epochs=1)
        assert result.returncode in (0, 1), result.stderr
        # The checkpoint may be past the first epoch (an error), but must not be damaged.
        assert "damaged" not in result.stderr and "truncated" not in result.stderr


@pytest.mark.parametrize("size", [0, 10, 100, -1])
def test_truncated_checkpoint(program, data, tmp_path, size):
    checkpoint = tmp_path / "state"
    harness.check_succeeded(train(program, data, "--checkpoint", checkpoint))
    checkpoint.write_bytes(checkpoint.read_bytes()[:size])
    refused(train(program, data, "--resume", checkpoint), "state")


def test_checkpoint_of_another_model(program, data, tmp_path):
    checkpoint = tmp_path / "state"
    harness.check_succeeded(train(program, data, "--checkpoint", checkpoint))
    other = harness.compile_model(
        models.build(models.Spec("GRU", hidden=8, seed=5)), f"--loss={LOSS}"
    )
    refused(train(other, data, "--resume", checkpoint), "state")


def refused(result, *words):
    """Checks for exit status 1 and one line that contains the words."""
    assert result.returncode == 1, f"status {result.returncode}: {result.stderr}"
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    assert len(lines) == 1, result.stderr
    for word in words:
        assert word in lines[0]


def changed(**changes):
    arrays = separable()
    for name, value in changes.items():
        if value is None:
            del arrays[name]
        else:
            arrays[name] = value
    return arrays


GOOD = separable()
BAD_ARRAYS = {
    "rank": (changed(x=GOOD["x"][..., 0]), "x"),
    "feature size": (changed(x=GOOD["x"][..., :2]), "x"),
    "float64": (changed(x=GOOD["x"].astype(np.float64)), "x"),
    "integer input": (changed(x=GOOD["x"].astype(np.int64)), "x"),
    "missing input": (changed(x=None), "x"),
    "missing target": (changed(target=None), "target"),
    "extra array": (changed(other=np.zeros(3, np.float32)), "other"),
    "float target": (changed(target=GOOD["target"].astype(np.float32)), "target"),
    "target count": (changed(target=GOOD["target"][:-1]), "target"),
    "target rank": (changed(target=GOOD["target"][:, None]), "target"),
    "class too large": (changed(target=GOOD["target"] + 1), "target"),
    "class negative": (changed(target=GOOD["target"] - 1), "target"),
    "not a number": (changed(x=np.where(GOOD["x"] == GOOD["x"].max(), np.nan, GOOD["x"])), "x"),
    "infinity": (changed(x=np.where(GOOD["x"] == GOOD["x"].max(), np.inf, GOOD["x"])), "x"),
    "no time steps": (changed(x=GOOD["x"][:0]), "x"),
    "no samples": (changed(x=GOOD["x"][:, :0], target=GOOD["target"][:0]), ""),
}


@pytest.mark.parametrize("command", ["train", "eval", "grad"])
@pytest.mark.parametrize("case", BAD_ARRAYS)
def test_bad_arrays(program, tmp_path, case, command):
    arrays, word = BAD_ARRAYS[case]
    data = tmp_path / "bad.npz"
    np.savez(data, **arrays)
    if command == "train":
        result = train(program, data, "--save", tmp_path / "out.onnx")
    elif command == "eval":
        result = program.run("eval", "--data", data)
    else:
        result = program.run("grad", "--data", data, "--out", tmp_path / "out.npz")
    refused(result, "bad.npz", word)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.npz"]


@pytest.mark.parametrize("content", ["empty", "random", "truncated", "text"])
def test_file_that_is_not_npz(program, tmp_path, content, data):
    whole = data.read_bytes()
    data.unlink()
    bad = tmp_path / "bad.npz"
    bad.write_bytes(
        {
            "empty": b"",
            "random": np.random.default_rng(0).bytes(5000),
            "truncated": whole[: len(whole) // 2],
            "text": b"x = 1\n",
        }[content]
    )
    refused(train(program, bad), "bad.npz")


@pytest.mark.parametrize(
    "values", [{"lr": -1}, {"lr": "nan"}, {"lr": "x"}, {"batch": 0}, {"epochs": -1}], ids=str
)
def test_bad_values(program, data, values):
    result = train(program, data, **values)
    assert result.returncode in (1, 2)
    assert len(result.stderr.splitlines()) >= 1


def test_bad_schedule(program, data):
    refused(train(program, data, "--lr-schedule", "frobnicate"), "--lr-schedule", "frobnicate")


@pytest.mark.parametrize("option", ["--save", "--checkpoint", "--log"])
def test_unwritable_output(program, data, tmp_path, option):
    refused(train(program, data, option, tmp_path / "no" / "such" / "folder" / "file"), "folder")


def test_missing_data_file(program, tmp_path):
    refused(train(program, tmp_path / "absent.npz"), "absent.npz")


@pytest.mark.parametrize("arguments", [[], ["frobnicate"], ["train", "--frobnicate"], ["train"]])
def test_wrong_usage(program, arguments):
    assert harness.run(program.path, *arguments).returncode == 2


def test_help(program):
    assert "train" in harness.check_succeeded(harness.run(program.path, "--help")).stdout
    assert "--epochs" in harness.check_succeeded(program.run("train", "--help")).stdout


def test_info(program):
    info = program.info()
    (x,) = info["inputs"]
    assert (x["name"], x["batch_axis"], x["time_axis"]) == ("x", 1, 0)
    assert info["outputs"][0]["name"] == "logits"
    shapes = {p["name"]: list(p["shape"]) for p in info["initializers"]}
    assert shapes == {
        t.name: list(t.dims)
        for t in program.model.graph.initializer
        if t.data_type == onnx.TensorProto.FLOAT
    }


def test_bench(program):
    result = program.run("bench", "--seq-len", 20, "--batch", 4, "--repeat", 3)
    found = json.loads(harness.check_succeeded(result).stdout)
    for key in ("forward_us", "backward_us", "update_us", "step_us", "bytes", "flops", "variant"):
        assert key in found
    assert found["step_us"] > 0


@pytest.mark.parametrize("plan", ["sequential", "linear", "blelloch"])
def test_bench_counts_operations_of_layers(plan):
    """Two layers have five products: two forward, two weight gradients and one cotangent."""
    model = images.ImageBuilder((1, 8, 8)).flatten().linear(64).layer("Relu").linear(64).finish()
    backward = "sequential" if plan == "sequential" else "scan"
    options = [f"--backward={backward}"] + ([] if backward == "sequential" else [f"--scan={plan}"])
    program = harness.compile_model(model, "--loss=cross-entropy", *options)
    result = program.run("bench", "--batch", 4, "--repeat", 1)
    flops = json.loads(harness.check_succeeded(result).stdout)["flops"] / 4
    # A tree also composes the ReLU's Jacobian with the matrix after it: 64 x 64 products.
    products = 5 * 2 * 64 * 64
    assert products < flops < 1.05 * products + (2 * 64 * 64 if plan == "blelloch" else 0)


def test_start_up_time(program):
    times = []
    for _ in range(5):
        start = time.monotonic()
        harness.check_succeeded(program.run("info"))
        times.append(time.monotonic() - start)
    # The target is 50 ms, but the measured time includes starting a process from Python.
    assert min(times) <= 0.1


def test_output_without_a_terminal(program, data):
    result = harness.check_succeeded(train(program, data))
    assert "\r" not in result.stdout + result.stderr
    assert "\x1b" not in result.stdout + result.stderr


def test_progress_bar_on_a_terminal(program, data):
    leader, follower = os.openpty()
    command = [program.path, "train", "--data", data, "--epochs", "2", "--batch", "16"]
    command += ["--lr", "0.01", "--seed", "1"]
    process = subprocess.Popen([str(c) for c in command], stdout=follower, stderr=follower)
    os.close(follower)
    shown = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(leader)
    assert process.wait() == 0
    assert b"loss" in shown
    assert b"\r" in shown


def test_cpu_programs_do_not_contain_the_emulator(program):
    flags = ("--target=cuda", "--emulate", f"--loss={LOSS}")
    emulated = harness.compile_model(models.build(models.Spec("RNN", hidden=4)), *flags)
    mark = b"EmulatedDevice"
    assert mark in emulated.path.read_bytes()
    assert mark not in program.path.read_bytes()
