"""Data sets larger than memory: files and directories that are read block by block."""

import json
import resource
import time
import zipfile

import fake_trainer
import harness
import numpy as np
import pytest
from fake_trainer import refused, run, samples, save

STEPS = 6
# Bytes per sample: its steps and its class.
SAMPLE = 4 * 3 * STEPS + 8


def cut(arrays, sizes):
    """Yields the arrays of shards with these numbers of samples; the batch axis of x is 1."""
    ends = np.cumsum([0, *sizes])
    for first, end in zip(ends, ends[1:]):
        yield {"x": arrays["x"][:, first:end], "target": arrays["target"][first:end]}


def save_shards(folder, arrays, sizes, write=np.savez):
    folder.mkdir()
    for number, part in enumerate(cut(arrays, sizes)):
        write(folder / f"{number:03}.npz", **part)
    return folder


def train(folder, data, *options, lr=0.05, epochs=3):
    """Trains; returns the saved model and the log without times."""
    saved, log = folder / "saved.onnx", folder / "log.jsonl"
    options = ["--batch=7", f"--epochs={epochs}", "--seed=5", f"--lr={lr}", *options]
    harness.check_succeeded(run("train", "--data", data, "--save", saved, "--log", log, *options))
    log = [json.loads(line) for line in log.read_text().splitlines()]
    return saved.read_bytes(), [{k: v for k, v in e.items() if "seconds" not in k} for e in log]


@pytest.mark.parametrize("options", [[], ["--val-split=0.2"], ["--no-shuffle"]], ids=str)
def test_results_do_not_depend_on_storage_of_samples(tmp_path, options):
    arrays = samples(150, STEPS)
    single = save(tmp_path / "single.npz", arrays)
    sets = [
        save_shards(tmp_path / "shards", arrays, [31, 1, 70, 48]),
        save_shards(tmp_path / "compressed", arrays, [75, 75], np.savez_compressed),
        save(tmp_path / "fortran.npz", {name: np.asfortranarray(a) for name, a in arrays.items()}),
        save(tmp_path / "int8.npz", {"x": arrays["x"], "target": arrays["target"].astype(np.int8)}),
    ]
    found = {}
    for memory in (f"{40 * SAMPLE}", "1K", "1M"):
        expected = train(tmp_path, single, f"--shuffle-memory={memory}", *options)
        for data in sets:
            assert train(tmp_path, data, f"--shuffle-memory={memory}", *options) == expected
        # A prefetching thread does not change results.
        assert train(tmp_path, sets[0], f"--shuffle-memory={memory}", "--threads=1", *options) == expected
        found[memory] = expected
    # Only the shuffle memory determines the order of the samples.
    assert found["1M"] == train(tmp_path, single, *options)
    assert len({saved for saved, _ in found.values()}) == (1 if "--no-shuffle" in options else 3)


def test_every_epoch_uses_every_sample(tmp_path):
    """With learning rate 0, the mean loss of an epoch is the loss of the set in any order."""
    arrays = samples(200, STEPS)
    data = save_shards(tmp_path / "shards", arrays, [90, 110])
    _, log = train(tmp_path, data, "--shuffle-memory=4K", "--val", data, lr=0)
    exact = fake_trainer.exact(arrays)["loss"]
    for record in log:
        assert record["loss"] == pytest.approx(exact, rel=1e-5)
        assert record["val_loss"] == pytest.approx(exact, rel=1e-5)
    found = json.loads(harness.check_succeeded(run("eval", "--data", data)).stdout)
    assert found["samples"] == 200 and found["loss"] == pytest.approx(exact, rel=1e-5)
    out = tmp_path / "out.npz"
    for command, name in (("infer", "logits"), ("grad", "x")):
        harness.check_succeeded(run(command, "--data", data, "--out", out))
        with np.load(out) as results:
            np.testing.assert_allclose(
                results[name], fake_trainer.exact(arrays)[name], rtol=1e-4, atol=1e-6
            )


def test_resumed_run_keeps_sample_order(tmp_path):
    data = save_shards(tmp_path / "shards", samples(150, STEPS), [75, 75])
    state = tmp_path / "state"
    options = ["--shuffle-memory=4K"]
    expected = train(tmp_path, data, *options)
    train(tmp_path, data, *options, "--checkpoint", state, epochs=1)
    assert train(tmp_path, data, "--resume", state) == expected
    result = run("train", "--data", data, "--resume", state, "--shuffle-memory=8K")
    refused(result, "was written with --shuffle-memory 4096")
    shorter = save_shards(tmp_path / "others", samples(150, STEPS, seed=1), [75, 75])
    refused(run("train", "--data", shorter, "--resume", state), "other data")


@harness.needs_true_memory
def test_resident_memory(tmp_path):
    """Of a 240 MB set in shards, only 16 MB are resident."""
    steps, count = 500, 10_000
    arrays = samples(count, steps)
    data = save_shards(tmp_path / "shards", arrays, [2500] * 4)
    for number in range(4, 16):
        (data / f"{number:03}.npz").hardlink_to(data / f"{number % 4:03}.npz")
    size = sum(path.stat().st_size for path in data.iterdir())
    command = [fake_trainer.program(), "train", "--data", data, "--val", data, "--quiet"]
    most = harness.peak_memory(*command, "--batch=100", "--shuffle-memory=16M")
    assert size > 200e6 and most < 100e6, (size, most)


def damage(arrays, index, **changes):
    parts = list(cut(arrays, [20, 20]))
    parts[index] = {k: v for k, v in {**parts[index], **changes}.items() if v is not None}
    return parts


GOOD = samples(40, STEPS)
X, TARGET = GOOD["x"][:, 20:], GOOD["target"][20:]
BAD = X.copy()
BAD[3, 7, 1] = np.nan
UNLIKE = {
    "steps": (dict(x=X[:4]), "1.npz", "'x'", "found float32 [4, 20, 3], expected float32 [6, 20, 3]", "axis 1"),
    "type": (dict(target=TARGET.astype(np.int32)), "1.npz", "'target'", "found int32 [20]"),
    "missing": (dict(target=None), "1.npz", "no array 'target'"),
    "unknown": (dict(y=TARGET), "1.npz", "unknown array 'y'"),
    "samples": (dict(target=TARGET[1:]), "1.npz", "found 20 samples (axis 1), expected 19 as in array 'target'"),
    "value": (dict(x=BAD), "1.npz", "array 'x'", "element [3, 7, 1] is nan"),
    "class": (dict(target=np.r_[TARGET[:-1], 9]), "1.npz", "element [19] is 9"),
}


@pytest.mark.parametrize("memory", ["1K", "1M"])
@pytest.mark.parametrize("case", UNLIKE)
def test_inconsistent_shards(tmp_path, case, memory):
    changes, *words = UNLIKE[case]
    (tmp_path / "shards").mkdir()
    for number, part in enumerate(damage(GOOD, 1, **changes)):
        save(tmp_path / "shards" / f"{number}.npz", part)
    options = ["--shuffle-memory", memory, "--quiet"]
    refused(run("train", "--data", tmp_path / "shards", *options), *words)


def test_directories_without_shards(tmp_path):
    (tmp_path / "notes.txt").write_text("no archive")
    refused(run("train", "--data", tmp_path), "is a directory without .npz files")
    shards = save_shards(tmp_path / "shards", GOOD, [40])
    for option in ("--save", "--checkpoint", "--log", "--save-best"):
        words = ["--data", shards, "--val-split=0.5", option, shards / "000.npz"]
        refused(run("train", *words), option)


@pytest.mark.parametrize("change", ["removed", "rewritten", "cut"])
def test_shards_that_change_during_training(tmp_path, change):
    data = save_shards(tmp_path / "shards", samples(400, STEPS), [200, 200])
    log, victim = tmp_path / "log", data / "001.npz"
    words = ["--data", data, "--epochs=1000000", "--shuffle-memory=2K", "--log", log]
    with fake_trainer.start("train", *words) as process:
        while not log.exists() or not log.read_text():
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.01)
        if change == "removed":
            victim.unlink()
        elif change == "cut":
            with open(victim, "r+b") as file:
                file.truncate(1000)
        else:
            victim.write_bytes(victim.read_bytes())
        line = process.stderr.read()
        assert process.wait(60) == 1
    assert line.count("\n") == 1 and line.startswith("error: ") and str(victim) in line
    # The file may be truncated while it is open.
    words = ["cannot be read any more"] if change == "removed" else ["was changed", "is cut short"]
    assert any(word in line for word in words)


@harness.needs_true_memory
def test_compressed_sets_larger_than_memory(tmp_path):
    data = tmp_path / "data.npz"
    count = 20_000
    arrays = {"x": np.zeros((1000, count, 3), np.float32), "target": np.zeros(count, np.int64)}
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as file:
                np.save(file, array)

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))

    result = run("train", "--data", data, "--shuffle-memory=1M", "--threads=1", preexec_fn=limit)
    refused(result, "data.npz': array 'x': is compressed", "457.92 MiB", "numpy.savez")


@pytest.mark.parametrize(
    "value, status", [("0", 1), ("2.5M", 2), ("", 2), ("K", 2), ("9999999999G", 1), ("-1", 2)]
)
def test_invalid_shuffle_memory(tmp_path, value, status):
    data = save(tmp_path / "data.npz", GOOD)
    result = run("train", "--data", data, f"--shuffle-memory={value}")
    assert result.returncode == status and "--shuffle-memory" in result.stderr, result.stderr
    assert result.stderr.count("\n") == 1
