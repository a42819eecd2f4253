"""Learning rates of individual parameters, weight averaging, and the learning-rate finder."""

import json
import os
import re

import fake_model
import fake_trainer
import harness
import numpy as np
import onnx
import pytest
from fake_trainer import refused, run, samples, save

NAMES = ("head.weight", "head.bias")


def train(folder, data, *options, epochs=2, batch=10):
    saved = folder / "saved.onnx"
    options = [f"--batch={batch}", f"--epochs={epochs}", "--seed=4", "--save", saved, *options]
    harness.check_succeeded(run("train", "--data", data, *options))
    return values(saved)


def values(path):
    tensors = onnx.load(path).graph.initializer
    return {t.name: onnx.numpy_helper.to_array(t) for t in tensors if t.name in NAMES}


def same(found, expected):
    return all(np.array_equal(found[name], expected[name]) for name in expected)


def checkpoint(path):
    with np.load(path) as arrays:
        return dict(arrays)


INITIAL = {"head.weight": fake_model.WEIGHT, "head.bias": fake_model.BIAS}


def test_rates_of_individual_parameters(tmp_path):
    """Adam's first update of a parameter is proportional to its rate."""
    arrays = samples(10)
    data = save(tmp_path / "data.npz", arrays)
    gradients = fake_trainer.exact(arrays)
    for options, rates in (
        (["--lr-for=bias=0.02"], (0.1, 0.02)),
        (["--lr-for=head=0.02", "--lr-for=^head.w=0.03"], (0.03, 0.02)),
        (["--lr-for=(weight|bias)$=0"], (0, 0)),
    ):
        found = train(tmp_path, data, "--lr=0.1", *options, epochs=1)
        for name, rate in zip(NAMES, rates):
            change = -rate * np.sign(gradients[name])
            np.testing.assert_allclose(found[name] - INITIAL[name], change, rtol=1e-3, atol=1e-6)


def test_equal_rates_match_single_rate(tmp_path):
    data = save(tmp_path / "data.npz", samples(95))
    options = ["--lr=0.03", "--lr-schedule=warmup:3,cosine:0.001"]
    expected = train(tmp_path, data, *options)
    assert same(train(tmp_path, data, *options, "--lr-for=bias=0.03"), expected)
    others = train(tmp_path, data, *options, "--lr-for=bias=0.01")
    assert not same(others, expected)
    state = tmp_path / "state"
    words = [*options, "--lr-for=bias=0.01", "--epochs=2", "--seed=4", "--batch=10"]
    harness.check_succeeded(
        run("train", "--data", data, *words, "--checkpoint", state, "--checkpoint-every=7")
    )
    resumed = tmp_path / "resumed.onnx"
    words = ["--epochs=3", "--lr-schedule=constant", "--resume", state, "--save", resumed]
    harness.check_succeeded(run("train", "--data", data, *words))
    first = checkpoint(state)
    assert json.loads(first["checkpoint"].tobytes())["settings"]["lr_for"] == [["bias", 0.01]]
    assert same(values(tmp_path / "saved.onnx"), {n: first[f"parameter/{n}"] for n in NAMES})


@pytest.mark.parametrize(
    "word, status, words",
    [
        ("encoder=0.1", 1, ["'encoder' matches no trained initializer", "'head.weight'", "'head.bias'"]),
        ("scale=0.1", 1, ["matches no trained initializer"]),
        ("[=0.1", 1, ["is not a regular expression"]),
        ("head", 2, ["expected REGEX=X"]),
        ("head=fast", 2, ["expected REGEX=X"]),
        ("=0.1", 2, ["expected REGEX=X"]),
        ("head=-1", 1, ["expected a number of at least 0"]),
    ],
)
def test_invalid_parameter_rates(tmp_path, word, status, words):
    data = save(tmp_path / "data.npz", samples(10))
    result = run("train", "--data", data, f"--lr-for={word}")
    assert result.returncode == status and result.stderr.count("\n") == 1, result.stderr
    assert all(part in result.stderr for part in ["--lr-for", *words]), result.stderr


@pytest.mark.parametrize("options", [["--lr-for=bias=0.02"], ["--ema=0.7"]], ids=str)
def test_device_matches_cpu(tmp_path, options):
    data, found = save(tmp_path / "data.npz", samples(40)), []
    for trainer in ("bppsa-fake-trainer", "bppsa-fake-trainer-emulated"):
        words = ["--data", data, "--save", tmp_path / "saved.onnx", "--batch=10", *options]
        harness.check_succeeded(run("train", *words, "--epochs=2", trainer=trainer))
        found.append(values(tmp_path / "saved.onnx"))
    assert same(*found)


# --- averaged weights -----------------------------------------------------------------------------


def test_averaged_weights(tmp_path):
    """Like in torch.optim.swa_utils.AveragedModel, the first update initializes the average."""
    data = save(tmp_path / "data.npz", samples(50))
    decay, states = 0.8, []
    for epochs in range(1, 5):
        # With one update per epoch, a run of n epochs ends with the weights after n updates.
        plain = train(tmp_path, data, "--lr=0.1", epochs=epochs, batch=50)
        states.append({name: array.astype(np.float64) for name, array in plain.items()})
    expected = states[0]
    for state in states[1:]:
        expected = {n: decay * expected[n] + (1 - decay) * state[n] for n in NAMES}
    log, best = tmp_path / "log", tmp_path / "best.onnx"
    val = save(tmp_path / "val.npz", samples(40, seed=7))
    words = ["--lr=0.1", f"--ema={decay}", "--log", log, "--val", val]
    found = train(tmp_path, data, *words, "--save-best", best, epochs=4, batch=50)
    for name in NAMES:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-5, atol=1e-6)
        assert abs(found[name] - states[-1][name]).max() > 1e-3
    last = [json.loads(line) for line in log.read_text().splitlines()][-1]
    with np.load(val) as arrays:
        loss = fake_trainer.exact(arrays, expected["head.weight"], expected["head.bias"])["loss"]
    assert last["val_loss"] == pytest.approx(loss, rel=1e-5)
    assert same(values(best), found)


def test_averages_in_checkpoints(tmp_path):
    data = save(tmp_path / "data.npz", samples(95))
    options, state = ["--lr=0.05", "--ema=0.9"], tmp_path / "state"
    expected = train(tmp_path, data, *options, epochs=3)
    train(tmp_path, data, *options, "--checkpoint", state, epochs=1)
    kept = checkpoint(state)
    assert not same({n: kept[f"average/{n}"] for n in NAMES}, {n: kept[f"parameter/{n}"] for n in NAMES})
    saved = tmp_path / "resumed.onnx"
    words = ["--resume", state, "--epochs=3", "--save", saved, "--lr=0.05"]
    harness.check_succeeded(run("train", "--data", data, *words))
    assert same(values(saved), expected)
    refused(run("train", "--data", data, *words, "--ema=0.5"), "was written with --ema 0.9")
    train(tmp_path, data, "--checkpoint", state, epochs=1)
    refused(run("train", "--data", data, *words, "--ema=0.5"), "was written with no --ema")


@pytest.mark.parametrize("value", ["0", "1", "-0.5", "nan"])
def test_invalid_ema_decay(tmp_path, value):
    data = save(tmp_path / "data.npz", samples(10))
    refused(run("train", "--data", data, f"--ema={value}"), "--ema", "above 0 and below 1")


# --- the search for a rate ------------------------------------------------------------------------


def search(data, *options):
    lines = harness.check_succeeded(run("train", "--data", data, "--lr-find", *options)).stdout
    *table, suggestion = lines.splitlines()
    rows = [line.split() for line in table if re.match(r" +\d", line)]
    return np.array(rows, float), float(suggestion.removeprefix("suggestion: --lr=")), table


def test_rate_finder(tmp_path):
    arrays = samples(100)
    # Classes that cannot be separated, so that large rates increase the loss.
    arrays["target"][::3] = np.random.default_rng(2).integers(0, 4, 34)
    data = save(tmp_path / "data.npz", arrays)
    rows, rate, table = search(data, "--batch=20", "--seed=1")
    assert os.listdir(tmp_path) == ["data.npz"]
    assert table[0].split() == ["rate", "loss"]
    # Small rates do not change the weights, so the loss is that of the initial model.
    assert rows[0][0] == pytest.approx(1e-6) and np.all(np.diff(rows[:, 0]) > 0)
    assert rows[0][1] == pytest.approx(fake_trainer.exact(arrays)["loss"], rel=0.5)
    assert rows[:, 1].min() < 0.8 * rows[0][1] and rows[:, 1].min() < 0.95 * rows[-1][1]
    # The suggested rate reaches a lower loss than a hundredth of it.
    losses = []
    for value in (rate, rate / 100):
        log = tmp_path / "log"
        train(tmp_path, data, f"--lr={value}", "--log", log, epochs=5)
        losses.append(json.loads(log.read_text().splitlines()[-1])["loss"])
    assert losses[0] < 0.9 * losses[1]
    # The search is deterministic and does not change the program's weights.
    again, _, _ = search(data, "--batch=20", "--seed=1")
    np.testing.assert_array_equal(again, rows)


@pytest.mark.parametrize("option", ["--save=x", "--checkpoint=x", "--log=x", "--epochs=3", "--ema=0.5"])
def test_rate_finder_refuses_output_options(tmp_path, option):
    data = save(tmp_path / "data.npz", samples(10))
    result = run("train", "--data", data, "--lr-find", option)
    assert result.returncode == 2 and "--lr-find" in result.stderr and result.stderr.count("\n") == 1
