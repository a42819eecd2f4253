"""Sequences whose time steps are sharded over ranks: train --shard-time.

With --optimizer=sgd and a rate so large that the initial weights vanish next to the update, a saved
model is the gradient, which JAX computes in float64.
"""

import functools

import harness
import mpi
import numpy as np
import onnx
import pytest
import stream_models
from fake_trainer import save
from streams_in_jax import reference, with_target
from test_programs import compile_model

RATE = 2.0**20
# Matrix cell; LSTM with batch axis 1; two decomposed LSTMs; caches of frames; layers over the bands
# of a frame; indices and a state that selects rows.
NAMES = ["cell", "lstm_stack", "lstm_stack_written_out", "scattered_caches", "bands", "tokens"]


@functools.cache
def program(name, *options):
    graph = stream_models.ALL[name]
    return compile_model(
        graph.model, "--loss=mse", "--loss-on=y", *graph.flags, "--shard-time", "--optimizer=sgd", *options
    )


def make_data(name, steps, samples):
    graph = stream_models.ALL[name]
    return with_target(graph, stream_models.random_arrays(graph, steps, samples), steps, samples)


def train(ranks, name, directory, arrays, *words, options=()):
    """Returns the weights at the end of a run."""
    data, saved = save(directory / "data.npz", arrays), directory / f"{ranks}.onnx"
    words = ["train", "--data", data, *words, "--save", saved]
    words += ["--shard-time"] if ranks else []
    harness.check_succeeded(mpi.run(ranks, program(name, *options), *words))
    return mpi.weights(saved)


def gradients(ranks, name, directory, arrays, samples, *words, options=()):
    graph = stream_models.ALL[name]
    before = {t.name: onnx.numpy_helper.to_array(t) for t in graph.model.graph.initializer}
    after = train(ranks, name, directory, arrays, "--batch", samples, "--lr", RATE, *words, options=options)
    return {
        key: (before[key].astype(np.float64) - array) / RATE
        for key, array in after.items()
        if array.dtype == np.float32 and key not in graph.unread
    }


# The limit makes ranks recompute segments of their steps.
CASES = [(name, f"--backward={kind}", 10) for name in NAMES for kind in ("sequential", "scan")]
CASES += [("lstm_stack", "--memory-limit=20K", 200)]


@pytest.mark.parametrize("name, option, steps", CASES)
def test_gradients_match_whole_sequences(name, option, steps, tmp_path):
    arrays = make_data(name, steps, 3)
    exact = reference(stream_models.ALL[name], arrays, np.float64)
    one = gradients(0, name, tmp_path, arrays, 3, options=[option])
    found = gradients(3, name, tmp_path, arrays, 3, options=[option])
    assert found.keys() <= exact.keys() and found
    for key in found:
        single = harness.relative_error(one[key], exact[key])
        assert harness.relative_error(found[key], exact[key]) < max(2 * single, 2e-6), key


# Shards of 4, 4 and 2 steps; of 2, 2 and 1; of 1 and 1 with two empty ranks; one shard.
@pytest.mark.parametrize("steps, ranks", [(10, 3), (5, 3), (2, 4), (1, 2)])
def test_uneven_shards(steps, ranks, tmp_path):
    arrays = make_data("lstm_stack", steps, 2)
    exact = reference(stream_models.ALL["lstm_stack"], arrays, np.float64)
    found = gradients(ranks, "lstm_stack", tmp_path, arrays, 2)
    for key, array in found.items():
        assert harness.relative_error(array, exact[key]) < 3e-6, key


SETTINGS = {
    # Batches of 4, 4 and 1 samples.
    "plain": ["--batch", 4, "--epochs", 3],
    "clipped": ["--batch", 4, "--clip-norm", 0.05, "--weight-decay", 0.01],
    "p3": ["--batch", 4, "--exchange=p3", "--slice", 7, "--ema", 0.9],
    "validated": ["--batch", 4, "--val-split", 0.3, "--lr-schedule", "cosine"],
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_training_matches_one_process(setting, tmp_path):
    arrays = make_data("lstm_stack", 11, 9)
    words = ["--lr", 0.05, "--seed", 3, "--mapping=lanes", *SETTINGS[setting]]
    found = train(3, "lstm_stack", tmp_path, arrays, *words)
    one = train(0, "lstm_stack", tmp_path, arrays, *[word for word in words if not is_for_ranks(word)])
    for key, array in one.items():
        assert harness.relative_error(found[key], array) < 1e-6, key
    again = train(3, "lstm_stack", tmp_path, arrays, *words, "--throttle=0.01,0.0005")
    assert all(np.array_equal(again[key], found[key]) for key in found)


def is_for_ranks(word):
    return str(word).startswith("--exchange")


def test_shard_with_zero_weight(tmp_path):
    """Only the last two steps have weight, so the first ranks have no loss."""
    arrays = make_data("lstm_stack", 9, 3)
    weight = np.zeros(arrays["target"].shape, np.float32)
    weight[7:] = np.random.default_rng(0).uniform(0.5, 2, weight[7:].shape)
    arrays["weight"] = weight
    one = gradients(0, "lstm_stack", tmp_path, arrays, 3)
    found = gradients(3, "lstm_stack", tmp_path, arrays, 3)
    for key, array in one.items():
        assert np.abs(array).max() > 0
        assert harness.relative_error(found[key], array) < 3e-6, key


def test_resuming_sharded_steps_with_sharded_samples(tmp_path):
    arrays = make_data("lstm_stack", 6, 8)
    data, checkpoint = save(tmp_path / "d.npz", arrays), tmp_path / "c"
    common = ["train", "--data", data, "--batch", 4, "--lr", 0.05, "--mapping=lanes"]
    run = lambda ranks, *words: harness.check_succeeded(mpi.run(ranks, program("lstm_stack"), *common, *words))
    run(2, "--epochs", 2, "--shard-time", "--checkpoint", checkpoint)
    run(2, "--epochs", 3, "--resume", checkpoint, "--save", tmp_path / "a.onnx")
    run(0, "--epochs", 3, "--save", tmp_path / "b.onnx")
    mpi.check_close(tmp_path / "a.onnx", tmp_path / "b.onnx", 1e-5)


def test_memory_of_sharded_steps(tmp_path):
    """The values stored for the backward pass are divided among ranks."""
    graph = stream_models.ALL["lstm_stack"]
    arrays = make_data("lstm_stack", 4, 1)
    long = {n: a if n in graph.carry else np.repeat(a, 80000, axis=0) for n, a in arrays.items()}
    data = save(tmp_path / "long.npz", long)
    words = ["train", "--data", data, "--batch", 1, "--threads", 1, "--backward=sequential", "--mapping=units"]
    variables = [f"{key}={value}" for key, value in mpi.ENVIRONMENT.items() if key.startswith("OMPI_")]
    alone = harness.peak_memory(program("lstm_stack"), *words)
    shares = mpi.command(4, program("lstm_stack"), *words, "--shard-time")
    assert harness.peak_memory("env", *variables, *shares) < 0.6 * alone


REFUSALS = [
    (["--tbptt", 2], "found --tbptt; remove one of them"),
    (["--accumulate", 2], "found --accumulate; remove one of them"),
]


@pytest.mark.parametrize("words, message", REFUSALS)
def test_incompatible_training_options_are_refused(words, message, tmp_path):
    data = save(tmp_path / "d.npz", make_data("lstm_stack", 4, 4))
    found = mpi.run(2, program("lstm_stack"), "train", "--data", data, "--batch", 2, "--shard-time", *words)
    assert found.returncode == 1 and message in found.stderr


def test_programs_without_shard_time_are_refused(tmp_path):
    graph = stream_models.ALL["lstm_stack"]
    other = compile_model(graph.model, "--loss=mse", "--loss-on=y", *graph.flags)
    data = save(tmp_path / "d.npz", make_data("lstm_stack", 4, 2))
    found = harness.run(other, "train", "--data", data, "--shard-time")
    assert found.returncode == 1
    assert "has no functions for shares of the steps; compile the model with --shard-time" in found.stderr


def test_loss_on_state_is_refused(tmp_path):
    graph = stream_models.ALL["lstm_stack"]
    states = compile_model(graph.model, "--loss=mse", "--loss-on=h1n", *graph.flags, "--shard-time")
    arrays = make_data("lstm_stack", 4, 2)
    data = save(tmp_path / "d.npz", arrays | {"target": arrays["h1"]})
    found = harness.run(states, "train", "--data", data, "--shard-time")
    assert found.returncode == 1
    assert "--shard-time: the loss output 'h1n' is not a sequence" in found.stderr


@pytest.mark.parametrize(
    "options, message",
    [
        (["--carry=h:h_next"], "--shard-time needs --distributed=mpi"),
        (["--distributed=mpi", "--carry=h:h_next", "--interlock=1"], "--shard-time cannot be combined with --interlock"),
        (["--distributed=mpi", "--carry=h:h_next", "--sync-bn"], "--shard-time cannot be combined with --sync-bn"),
        (["--distributed=mpi", "--carry=h:h_next", "--target=cuda"], "--shard-time needs --target=cpu"),
    ],
)
def test_incompatible_compiler_options_are_refused(options, message, tmp_path):
    model = stream_models.ALL["cell"].model
    options = ["--loss=mse", "--loss-on=y", "--shard-time", *options]
    harness.check_refused(model, tmp_path, options, 2, message)
