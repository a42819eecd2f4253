"""The training loop: validation, early stopping, gradient accumulation and learning rates."""

import json

import harness
import models
import numpy as np
import onnx
import pytest

OPTIONS = ["--loss=cross-entropy", "--backward=sequential"]


@pytest.fixture(scope="module")
def program():
    return harness.compile_model(models.build(models.Spec("GRU", hidden=6)), *OPTIONS)


def samples(count=40, seed=0, noise=0.0):
    """Returns sequences whose class sets the mean of a feature; a share `noise` is mislabeled."""
    rng = np.random.default_rng(seed)
    target = rng.integers(0, 5, count)
    x = 0.5 * rng.standard_normal((7, count, 3)).astype(np.float32)
    x[:, :, 0] += (target - 2).astype(np.float32)
    wrong = rng.random(count) < noise
    return {"x": x, "target": np.where(wrong, rng.integers(0, 5, count), target)}


def part(arrays, which):
    return {name: a[:, which] if name == "x" else a[which] for name, a in arrays.items()}


class Run:
    """The output of one call of `train`."""

    def __init__(self, program, folder, arrays, *options, epochs=6, val=None, seed=3):
        data, log, saved = folder / "data.npz", folder / "log.jsonl", folder / "saved.onnx"
        np.savez(data, **arrays)
        words = ["--data", data, "--epochs", epochs, "--log", log, "--save", saved]
        words += ["--seed", seed]
        if val is not None:
            np.savez(folder / "val.npz", **val)
            words += ["--val", folder / "val.npz"]
        self.result = harness.check_succeeded(
            program.run("train", *words, "--mapping=lanes", *options)
        )
        self.log = [json.loads(line) for line in log.read_text().splitlines()]
        for record in self.log:
            del record["seconds"], record["load_seconds"]
        self.saved = saved.read_bytes()

    def column(self, name):
        return [record[name] for record in self.log]


@pytest.mark.parametrize("share, left", [(0.25, 30), (0.01, None), (0.99, None)])
def test_unshuffled_split_is_the_end_of_the_file(program, tmp_path, share, left):
    arrays = samples()
    if left is None:
        np.savez(tmp_path / "data.npz", **arrays)
        result = program.run("train", "--data", tmp_path / "data.npz", "--val-split", str(share))
        assert result.returncode == 1 and result.stderr.count("\n") == 1
        assert "choose a fraction that leaves at least one sample for each" in result.stderr
        return
    options = ["--batch", "8", "--lr", "0.01", "--no-shuffle"]
    found = Run(program, tmp_path, arrays, *options, "--val-split", str(share))
    first, last = part(arrays, slice(left)), part(arrays, slice(left, None))
    expected = Run(program, tmp_path, first, *options, val=last)
    assert found.saved == expected.saved and found.log == expected.log


def test_split_depends_on_the_seed(program, tmp_path):
    """With lr = 0, the mean of both losses weighted by samples is the loss of the whole file."""
    arrays = samples()
    whole = program.eval(arrays)["loss"]
    found = set()
    for seed in ("1", "2"):
        log = Run(program, tmp_path, arrays, "--lr=0", "--val-split=0.3", seed=seed).log
        loss, validated = log[0]["loss"], log[0]["val_loss"]
        assert 0.7 * loss + 0.3 * validated == pytest.approx(whole, rel=1e-5)
        assert len({round(record["val_loss"], 6) for record in log}) == 1
        found.add(validated)
    assert len(found) == 2


@pytest.mark.parametrize("metric", ["loss", "accuracy"])
def test_patience_and_best_epoch(program, tmp_path, metric):
    arrays, val = samples(noise=0.3), samples(seed=1, noise=0.6)
    best = tmp_path / "best.onnx"
    options = ["--batch", "8", "--lr", "0.05"]
    chosen = ["--patience", "3", "--best", metric, "--save-best", best]
    found = Run(program, tmp_path, arrays, *options, *chosen, epochs=60, val=val)
    values = np.array(found.column(f"val_{metric}"))
    epoch = int(values.argmin() if metric == "loss" else values.argmax()) + 1
    assert len(values) == epoch + 3 < 60
    assert f"stopped after epoch {epoch + 3}: epoch {epoch} has the best val_{metric}" in (
        found.result.stdout
    )
    # The saved model equals that of a run that ends after this epoch.
    assert best.read_bytes() == Run(program, tmp_path, arrays, *options, epochs=epoch, val=val).saved


def test_misspelled_options_and_compact_info(program):
    for word, guess in (("--epoch", "--epochs"), ("--leraning-rate", None), ("--val-splt=1", "--val-split")):
        result = program.run("train", word)
        assert result.returncode == 2 and result.stderr.count("\n") == 1
        assert (f"did you mean '{guess}'" in result.stderr) == (guess is not None)
    line = harness.check_succeeded(program.run("info", "--compact")).stdout
    assert line.count("\n") == 1 and json.loads(line) == program.info()
    sizes = [np.prod(tensor.dims) for tensor in program.model.graph.initializer if tensor.data_type == 1]
    assert program.info()["parameters"] == {"total": sum(sizes), "trained": sum(sizes)}


def rates_of_plateaus(losses, base, factor, patience):
    """Reimplements torch.optim.lr_scheduler.ReduceLROnPlateau with its defaults in float64."""
    rates, rate, best, bad = [], base, np.inf, 0
    for loss in losses:
        rates.append(rate)
        best, bad = (loss, 0) if loss < best * (1 - 1e-4) else (best, bad + 1)
        if bad > patience:
            rate, bad = rate * factor, 0
    return rates


@pytest.mark.parametrize("validates", [False, True])
def test_plateau_schedule(program, tmp_path, validates):
    val = samples(seed=1, noise=0.6) if validates else None
    options = ["--batch", "8", "--lr", "0.3", "--lr-schedule", "plateau:0.5:1"]
    found = Run(program, tmp_path, samples(noise=0.3), *options, epochs=25, val=val)
    losses = found.column("val_loss" if validates else "loss")
    expected = rates_of_plateaus(losses, 0.3, 0.5, 1)
    np.testing.assert_allclose(found.column("lr"), expected, rtol=1e-6)
    assert len(set(expected)) > 2
    assert set(found.column("variant")) == {"sequential"}
    assert f"lr {expected[-1]:.3g}" in found.result.stdout.splitlines()[-2]


@pytest.mark.parametrize("weighted", [False, True])
def test_accumulation_equals_large_batch(program, tmp_path, weighted):
    arrays = samples(38)
    if weighted:
        arrays["weight"] = np.random.default_rng(5).random(38).astype(np.float32)
        arrays["weight"][:4] = 0
    options = ["--lr", "0.02", "--clip-norm", "1"]
    found = Run(program, tmp_path, arrays, *options, "--batch=4", "--accumulate=4")
    expected = Run(program, tmp_path, arrays, *options, "--batch=16")
    np.testing.assert_allclose(found.column("loss"), expected.column("loss"), rtol=1e-5)
    for one, other in zip(
        onnx.load_from_string(found.saved).graph.initializer,
        onnx.load_from_string(expected.saved).graph.initializer,
    ):
        one, other = onnx.numpy_helper.to_array(one), onnx.numpy_helper.to_array(other)
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)


def test_resumed_training_is_bitwise_equal(program, tmp_path):
    arrays = samples(noise=0.3)
    options = ["--batch=4", "--accumulate=3", "--val-split=0.25", "--lr=0.1", "--patience=4"]
    options += ["--lr-schedule=warmup:3,plateau:0.5:1"]
    best, state = tmp_path / "best.onnx", tmp_path / "state"
    whole = Run(program, tmp_path, arrays, *options, "--save-best", best, epochs=9)
    first = best.read_bytes()
    Run(program, tmp_path, arrays, *options, "--checkpoint", state, "--save-best", best, epochs=3)
    kept = best.read_bytes()
    found = Run(
        program, tmp_path, arrays, "--resume", state, "--save-best", best, "--lr=0.1", epochs=9
    )
    assert found.saved == whole.saved and found.log == whole.log
    assert best.read_bytes() == first
    assert first != kept or np.argmin(whole.column("val_loss")) < 3
    for option in ("--accumulate=2", "--val-split=0.5"):
        result = program.run("train", "--data", tmp_path / "data.npz", "--resume", state, option)
        assert result.returncode == 1 and "was written with" in result.stderr


@pytest.mark.parametrize(
    "options, status, words",
    [
        (["--val-split=0.5", "--val=v.npz"], 2, "exclude each other"),
        (["--val-split=1"], 1, "above 0 and below 1"),
        (["--patience=2"], 2, "need --val or --val-split"),
        (["--save-best=x.onnx"], 2, "need --val or --val-split"),
        (["--best=accurate", "--val-split=0.5"], 2, "--best"),
        (["--accumulate=2", "--tbptt=2"], 2, "exclude each other"),
        (["--lr-schedule=plateau:2"], 1, "plateau[:FACTOR[:N]]"),
        (["--lr-schedule=plateau:0.5:0"], 1, "plateau[:FACTOR[:N]]"),
    ],
    ids=str,
)
def test_invalid_options(program, tmp_path, options, status, words):
    np.savez(tmp_path / "data.npz", **samples())
    result = program.run("train", "--data", tmp_path / "data.npz", *options)
    assert result.returncode == status and words in result.stderr, result.stderr
    assert result.stderr.count("\n") == 1
