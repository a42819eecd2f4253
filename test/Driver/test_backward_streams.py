"""--backward-streams: a second stream does not change any bit of parameter gradients.

Programs are emulated. With seed 0, the second stream runs as late as the waits of the main
stream allow; with seed 1, it runs as early as its own waits allow. Other seeds draw a random
order. A race of two kernels on the same memory of the arena ends the program.
"""

import functools
import json
import re

import harness
import layer_models
import loop_models
import numpy as np
import pytest

MODELS = {**layer_models.MODELS, "wide": layer_models.wide}
STREAMS = ["2", "2:joint"]
SEEDS = [0, 1, 5]
# The recurrent model covers the scan plan, which is slow to emulate for the wide model.
PLANS = {"recurrent": "scan"}


def compile_emulated(kind, streams, *options):
    backward = PLANS.get(kind, "sequential")
    options = [f"--backward={backward}", "--target=cuda", "--emulate", *options]
    if streams:
        options.append(f"--backward-streams={streams}")
    return harness.compile_model(MODELS[kind]()[0], *options)


@functools.cache
def train(kind, streams, seed, directory, *options):
    """Trains with a smaller last batch and returns the content of the saved model."""
    _, shape, positions = MODELS[kind]()
    rng = np.random.default_rng(1)
    data, saved = directory / f"{kind}.npz", directory / "saved.onnx"
    x = rng.standard_normal(shape).astype(np.float32)
    np.savez(data, x=x, target=rng.integers(0, 3, positions))
    program = compile_emulated(kind, streams)
    words = ["train", "--data", data, "--epochs", 3, "--batch", 5, "--lr", 0.01, "--save", saved]
    harness.check_succeeded(program.run(*words, "--emulate-seed", seed, *options))
    return saved.read_bytes()


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("streams")


@pytest.mark.parametrize("streams", STREAMS)
@pytest.mark.parametrize("kind", MODELS)
def test_two_streams_train_to_the_same_bits(kind, streams, directory):
    expected = train(kind, "", 0, directory)
    for seed in SEEDS:
        assert train(kind, streams, seed, directory) == expected, seed


@pytest.mark.parametrize("kind", MODELS)
def test_gradients_have_the_same_bits(kind):
    model, shape, positions = MODELS[kind]()
    rng = np.random.default_rng(2)
    arrays = {"x": rng.standard_normal(shape).astype(np.float32), "target": rng.integers(0, 3, positions)}
    expected = compile_emulated(kind, "1").grad(arrays)
    for seed in SEEDS:
        found = compile_emulated(kind, "2").grad(arrays, "--emulate-seed", seed)
        assert set(found) == set(expected)
        for name, array in expected.items():
            assert found[name].tobytes() == array.tobytes(), (seed, name)


def test_clipping_and_accumulation(directory):
    options = ["--clip-norm", 0.1, "--accumulate", 2]
    expected = train("dense", "", 0, directory, *options)
    for seed in SEEDS:
        assert train("dense", "2", seed, directory, *options) == expected, seed


def read_step(kind, streams, directory):
    """Returns the calls of kernels and of the runtime in the backward pass of the training step."""
    dump = directory / f"{kind}-{streams.replace(':', '-')}"
    compile_to = ["--emit=ptx", "-o", directory / "kernels.ptx", f"--dump-phases-to={dump}"]
    options = ["--target=cuda", "--backward=sequential", f"--backward-streams={streams}"]
    source = directory / f"{kind}.onnx"
    source.write_bytes(MODELS[kind]()[0].SerializeToString())
    tool = harness.require_tool("bppsa-compile")
    harness.check_succeeded(harness.run(tool, source, *options, *compile_to))
    step = (dump / "kernels.mlir").read_text().split("func.func @step_sequential(")[1].split("func.func")[0]
    return re.findall(r"call @(\w+)\((?:%c(\d+)_i64)?", step.split("@bppsa_rt_phase(%c1_i64)")[1])


@pytest.mark.parametrize("kind", MODELS)
def test_second_stream_computes_parameter_gradients(kind, tmp_path):
    """Kernels between bppsa_rt_select_stream(1) and (0) run on the second stream."""
    calls = read_step(kind, "2", tmp_path)
    stream, given, recorded, waited = "0", {"0": 0, "1": 0}, {}, {"0": 0, "1": 0}
    for name, number in calls:
        if name == "bppsa_rt_select_stream":
            stream = number
        elif name == "bppsa_rt_record_event":
            recorded[number] = stream, given[stream]
        elif name == "bppsa_rt_wait_event":
            other, count = recorded[number]
            assert other != stream
            waited[stream] = max(waited[stream], count)
        elif not name.startswith("bppsa_rt"):
            given[stream] += 1
    assert stream == "0"
    assert given["1"] > 0, "nothing runs beside"
    assert waited["0"] == given["1"], "the main stream has waited for all"


def test_single_stream_steps_are_reported(tmp_path):
    """In this loop, a step accumulates gradients and propagates cotangents in the same launch."""
    source = tmp_path / "loop.onnx"
    source.write_bytes(loop_models.ALL["loop-gather-1"].model.SerializeToString())
    options = ["--target=cuda", "--loss=mse", "--backward=sequential", "--emit=ptx", "-o", tmp_path / "l.ptx"]
    tool = harness.require_tool("bppsa-compile")
    for streams, notes in (("1", 0), ("2", 1)):
        result = harness.run(tool, source, f"--backward-streams={streams}", *options)
        harness.check_succeeded(result)
        note = "'step.sequential' has no launch that computes only parameter gradients, and runs on one stream"
        assert result.stderr.count(f"note: {source}: --backward-streams={streams}: {note}") == notes


def test_one_stream_is_the_default(tmp_path):
    assert not any(name.endswith("_stream") for name, _ in read_step("dense", "1", tmp_path))


def test_stream_count_does_not_change_kernels(tmp_path):
    """The PTX is the same as with one stream."""
    texts = []
    for streams in ("1", "2"):
        source = tmp_path / "dense.onnx"
        source.write_bytes(MODELS["dense"]()[0].SerializeToString())
        out = tmp_path / f"{streams}.ptx"
        options = ["--target=cuda", "--emit=ptx", f"--backward-streams={streams}", "-o", out]
        harness.check_succeeded(harness.run(harness.require_tool("bppsa-compile"), source, *options))
        texts.append(out.read_text())
    assert texts[0] == texts[1]


def test_arena_size(tmp_path):
    """Values read by gradient kernels stay alive until these kernels have run."""
    sizes = []
    for streams in ("1", "2"):
        options = ["--repeat", 1, "--batch", 16]
        result = compile_emulated("dense", streams).run("bench", *options)
        harness.check_succeeded(result)
        sizes.append(json.loads(result.stdout)["arena_bytes"])
    assert sizes[0] < sizes[1]


@pytest.mark.parametrize(
    "options, words",
    [
        (["--backward-streams=3"], "--backward-streams must be 1, 2 or 2:joint, found '3'"),
        (["--backward-streams=2"], "--backward-streams=2 needs --target=cuda; CPUs have no streams"),
        (
            ["--backward-streams=2", "--target=cuda", "--backward-order=reverse-first:1"],
            "--backward-streams=2 cannot be combined with --backward-order=reverse-first:1",
        ),
        (
            ["--backward-streams=2:joint", "--target=cuda", "--loss=vjp"],
            "--backward-streams=2:joint cannot be combined with --loss=vjp",
        ),
    ],
)
def test_invalid_options_are_refused(options, words, tmp_path):
    harness.check_refused(MODELS["dense"]()[0], tmp_path, options, 2, words)
