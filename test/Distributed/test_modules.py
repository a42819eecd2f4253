"""Interlocked modules on separate ranks give the results of one process bit for bit."""

import functools
import json
import pathlib
import re
import signal
import sys

import harness
import mpi
import numpy as np
import pytest
import test_pipeline
from fake_trainer import refused, save
from onnx import helper
from test_failures import wait_for
from test_pipeline import SETTINGS, check_same
from test_programs import compile_model

sys.path.append(str(pathlib.Path(__file__).parent.parent / "Driver"))
from test_interlock import GOLDEN, chain, elementwise, make_model  # noqa: E402

COUNT = 4
HEADS = [f"y{i}" for i in range(COUNT)]


def samples(kind, count=37):
    rng = np.random.default_rng(2)
    shape = (count,) if kind == "dense" else (5, count)
    arrays = {"x": rng.standard_normal((*shape, 6)).astype(np.float32)}
    return arrays | {f"target.{name}": rng.integers(0, 4, shape) for name in HEADS}


def compile_chain(kind, *options):
    return compile_model(chain(kind)[0], f"--loss-on={','.join(HEADS)}", *options)


@pytest.fixture(scope="module")
def compiled():
    programs = {}

    def get(kind, *options):
        key = kind, *options
        if key not in programs:
            programs[key] = compile_chain(kind, f"--pipeline={COUNT}", *options)
        return programs[key]

    return get


train = functools.partial(test_pipeline.train, keys=("loss", "val_loss", "lr", "losses"))


CASES = [("dense", 1, "last"), ("dense", 2, "last"), ("dense", 3, "last"), ("dense", 4, "last")]
CASES += [("dense", 2, "sum"), ("dense", 3, "mean"), ("gru", 1, "last"), ("gru", 3, "last"), ("gru", 3, "sum")]


@pytest.mark.parametrize("kind, window, combine", CASES)
def test_ranks_match_one_process(tmp_path, compiled, kind, window, combine):
    data = save(tmp_path / "data.npz", samples(kind))
    program = compiled(kind, f"--interlock={window}", f"--interlock-combine={combine}")
    alone = train(tmp_path, 0, program, data, "alone", "--batch", 8)
    check_same(train(tmp_path, COUNT, program, data, "ranks", "--batch", 8), alone)


@pytest.mark.parametrize("kind, window", [("dense", 1), ("gru", 2)])
def test_ranks_match_program_without_stages(tmp_path, compiled, kind, window):
    """A program without stages runs the same computation in a different order."""
    data = save(tmp_path / "data.npz", samples(kind))
    train(tmp_path, COUNT, compiled(kind, f"--interlock={window}"), data, "ranks", "--batch", 8)
    train(tmp_path, 0, compile_chain(kind, f"--interlock={window}"), data, "whole", "--batch", 8)
    mpi.check_close(tmp_path / "ranks.onnx", tmp_path / "whole.onnx")


def test_data_parallel_ranks_without_pipeline(tmp_path):
    """Without --pipeline, ranks share the samples as with other models."""
    data = save(tmp_path / "data.npz", samples("dense"))
    program = compile_chain("dense", "--interlock=2")
    train(tmp_path, 0, program, data, "alone", "--batch", 8)
    train(tmp_path, 2, program, data, "shares", "--batch", 8)
    mpi.check_close(tmp_path / "shares.onnx", tmp_path / "alone.onnx")


@pytest.mark.parametrize("start, window, combine, expected", GOLDEN)
def test_gradients_match_expected_values(tmp_path, start, window, combine, expected):
    heads = [f"y{i}" for i in range(1, len(start))]
    losses = ",".join(["cross-entropy"] * len(heads) + ["none"])
    program = compile_model(
        elementwise(start), f"--loss={losses}", f"--loss-on={','.join(heads)},loss", "--freeze=tenth",
        "--optimizer=sgd", f"--interlock={window}", f"--interlock-combine={combine}", f"--pipeline={len(start)}",
    )  # fmt: skip
    saved = tmp_path / "saved.onnx"
    arrays = {f"target.{name}": np.array([1]) for name in heads}
    data = save(tmp_path / "data.npz", arrays | {"x": np.ones((1, 2), np.float32)})
    words = ["--data", data, "--epochs", 1, "--batch", 1, "--lr", 1, "--save", saved]
    harness.check_succeeded(mpi.run(len(start), program, "train", *words))
    found = mpi.weights(saved)
    for i, values in enumerate(expected, 1):
        np.testing.assert_allclose(found[f"p{i}"], values, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found["h1"], [1 - start[0] / 2, 1 + start[0] / 2], rtol=1e-6)


def test_training_options_match_one_process(tmp_path, compiled):
    """Learning rates, averages and optimizer states follow the parameters of each module."""
    data = save(tmp_path / "data.npz", samples("dense"))
    program = compiled("dense", "--interlock=2", "--optimizer=adamw")
    options = ["--batch", 8, "--val-split", 0.2, "--ema", 0.9, "--lr-for", "^w0=0.02", "--lr-schedule"]
    options += ["warmup:2,cosine", "--weight-decay", 0.01]
    alone = train(tmp_path, 0, program, data, "alone", *options)
    check_same(train(tmp_path, COUNT, program, data, "ranks", *options, "--threads", 2), alone)
    throttled = [*options, "--throttle", "0.05,0.0001"]
    check_same(train(tmp_path, COUNT, program, data, "throttled", *throttled), alone)


@pytest.mark.parametrize("parts", [["--accumulate", 2], ["--microbatches", 4]])
def test_accumulation_and_microbatches_match_one_process(tmp_path, compiled, parts):
    data = save(tmp_path / "data.npz", samples("dense"))
    program = compiled("dense", "--interlock=2")
    alone = train(tmp_path, 0, program, data, "alone", "--batch", 8, *parts)
    check_same(train(tmp_path, COUNT, program, data, "ranks", "--batch", 8, *parts), alone)


def test_position_weights(tmp_path, compiled):
    """In some batches, all losses have zero weight."""
    arrays = samples("dense")
    rng = np.random.default_rng(4)
    for name in HEADS:
        arrays[f"weight.{name}"] = rng.integers(0, 3, 37).astype(np.float32)
    arrays["weight.y1"][:16] = 0
    data = save(tmp_path / "data.npz", arrays)
    program = compiled("dense", "--interlock=2")
    options = ["--batch", 8, "--no-shuffle"]
    alone = train(tmp_path, 0, program, data, "alone", *options)
    check_same(train(tmp_path, COUNT, program, data, "ranks", *options), alone)


def test_clip_norm(tmp_path, compiled):
    """Clipping uses the norm over all modules."""
    data = save(tmp_path / "data.npz", samples("dense"))
    program = compiled("dense", "--interlock=2")
    free, _ = train(tmp_path, 0, program, data, "free", "--batch", 8)
    options = ["--batch", 8, "--clip-norm", 0.05]
    alone, _ = train(tmp_path, 0, program, data, "alone", *options)
    train(tmp_path, COUNT, program, data, "ranks", *options)
    assert np.abs(free["w0"] - alone["w0"]).max() > 1e-6
    mpi.check_close(tmp_path / "ranks.onnx", tmp_path / "alone.onnx")


@pytest.mark.parametrize("first, second", [(0, COUNT), (COUNT, 0), (COUNT, COUNT)])
def test_resumed(tmp_path, compiled, first, second):
    data = save(tmp_path / "data.npz", samples("dense"))
    program, kept = compiled("dense", "--interlock=2"), tmp_path / "kept.npz"
    whole = train(tmp_path, 0, program, data, "whole", "--batch", 8)
    words = ["train", "--data", data, "--checkpoint", kept, "--checkpoint-every", 3]
    harness.check_succeeded(mpi.run(first, program, *words, *SETTINGS, "--batch", 8, "--epochs", 1))
    saved = tmp_path / "resumed.onnx"
    end = [*words, "--resume", kept, "--epochs", 2, "--save", saved]
    harness.check_succeeded(mpi.run(second, program, *end))
    for name, array in mpi.weights(saved).items():
        np.testing.assert_array_equal(array, whole[0][name], name)


def parts_of(folder, program, data, *options):
    """Returns for each rank the start and end times of its forward and backward parts by step."""
    trace = folder / "t.json"
    words = ["train", "--data", data, *SETTINGS, "--batch", 4, "--epochs", 1, "--trace", trace]
    harness.check_succeeded(mpi.run(COUNT, program, *words, *options))
    parts = [{} for _ in range(COUNT)]
    for event in json.loads(trace.read_text())["traceEvents"]:
        if event.get("tid") == 0 and event["ph"] == "X" and event["name"][:2] in ("F ", "B "):
            parts[event["pid"]][event["name"]] = event["ts"], event["ts"] + event["dur"]
    return parts


LATENCY = 0.02


@pytest.mark.parametrize("window", [1, 2, 4])
def test_modules_wait_for_their_window(tmp_path, compiled, window):
    """A module runs ahead of distant modules, but waits for the modules that it follows.

    Over a slow network, a module starts its next step before the module after its window has
    finished the current one, and after the last module of its window has computed its loss.
    """
    data = save(tmp_path / "data.npz", samples("dense"))
    parts = parts_of(tmp_path, compiled("dense", f"--interlock={window}"), data, "--throttle", f"10,{LATENCY}")
    assert len(parts[0]) == 20
    # No module is ahead of another by more than 2 * COUNT steps.
    for step in range(2 * COUNT - 1):
        begin = parts[0][f"F {step + 1}"][0]
        if window < COUNT:
            assert begin < parts[window][f"B {step}"][1]
        assert begin > parts[window - 1][f"F {step}"][1] or window == 1


def test_step_time_of_windows(tmp_path, compiled):
    """With a window of N modules, a step takes 2 (N - 1) latencies.

    For N = 3, this requires sending cotangents one by one; sent together, they would pass through
    all four modules.
    """
    data = save(tmp_path / "data.npz", samples("dense"))
    for window in (1, 2, 3):
        program = compiled("dense", f"--interlock={window}")
        first = parts_of(tmp_path, program, data, "--throttle", f"10,{LATENCY}")[0]
        # Only use the steps before the module reaches its maximum lead and waits for the others.
        steps = 2 * COUNT - 1
        period = (first[f"F {steps}"][0] - first["F 1"][0]) / (steps - 1) / 1e6
        assert period > 2 * (window - 1) * LATENCY
        assert period < (2 * (window - 1) + 1.5) * LATENCY


def test_divergence(tmp_path, compiled):
    """If a module diverges, its rank ends all ranks."""
    data = save(tmp_path / "data.npz", samples("dense"))
    words = ["train", "--data", data, "--batch", 8, "--lr", 1e38]
    result = mpi.run(COUNT, compiled("dense", "--interlock=1"), *words)
    assert result.returncode == 1
    assert re.match(r"error: (rank \d: )?epoch 1, batch 2 \(step 2\): the loss of 'y\d' is nan", result.stderr)
    assert "use a smaller --lr or --clip-norm; nothing was saved" in result.stderr


def test_interrupt(tmp_path, compiled):
    """All modules end after the same step with a checkpoint from which training can resume."""
    data = save(tmp_path / "data.npz", samples("dense"))
    program, kept = compiled("dense", "--interlock=1"), tmp_path / "kept.npz"
    words = ["train", "--data", data, "--batch", 8, *SETTINGS, "--checkpoint", kept, "--quiet"]
    process = mpi.start(COUNT, program, *words, "--epochs", 1000000)
    wait_for(kept, process)
    process.send_signal(signal.SIGINT)
    message = mpi.wait(process)
    assert f"go on with --resume {kept}" in message and message.count("\n") == 1
    found = re.search(r"in epoch (\d+) after", message)
    words = ["train", "--data", data, "--resume", kept, "--quiet", "--epochs", int(found[1]) + 1]
    harness.check_succeeded(mpi.run(0, program, *words))


@pytest.mark.parametrize(
    "ranks, options, words",
    [
        (3, [], "the program is for 4 ranks (--pipeline=4), found 3; start it with mpirun -n 4"),
        (COUNT, ["--exchange=p3"], "--exchange: pipeline stages do not exchange gradients"),
    ],
)
def test_invalid_training_options_are_refused(tmp_path, compiled, ranks, options, words):
    data = save(tmp_path / "data.npz", samples("dense"))
    program = compiled("dense", "--interlock=2")
    result = mpi.run(ranks, program, "train", "--data", data, "--batch", 16, *options)
    assert words in refused(result)


def test_pipeline_schedule_is_refused(tmp_path, compiled):
    data = save(tmp_path / "data.npz", samples("dense"))
    result = mpi.run(0, compiled("dense", "--interlock=2"), "train", "--data", data, "--pipeline-schedule=gpipe")
    assert result.returncode == 2
    assert "--pipeline-schedule" in result.stderr


@pytest.mark.parametrize(
    "options, words",
    [
        (["--pipeline=3"], "--loss-on names 4, found --pipeline=3"),
        (["--pipeline=4", "--split-backward"], "--split-backward cannot be combined with --interlock"),
    ],
)
def test_refused_options(tmp_path, options, words):
    options = ["--distributed=mpi", "--interlock=2", f"--loss-on={','.join(HEADS)}", *options]
    harness.check_refused(chain("dense")[0], tmp_path, options, 2, words)


def normalized():
    """One module with BatchNormalization in training mode and one without, each with a head."""
    rng = np.random.default_rng(6)
    shapes = {"k": (6, 6), "l": (6, 6), "u0": (6, 4), "u1": (6, 4), "u2": (6, 4)}
    arrays = {name: rng.standard_normal(shape).astype(np.float32) / 2 for name, shape in shapes.items()}
    values = {"g": 1, "h": 0.1, "m": 0, "v": 1, "g2": 1, "h2": 0.1, "m2": 0, "v2": 1}
    arrays |= {name: np.full(6, value, np.float32) for name, value in values.items()}
    arrays["w"] = arrays["k"][::-1].copy()
    nodes = [
        helper.make_node("MatMul", ["x", "k"], ["a"]),
        helper.make_node("BatchNormalization", ["a", "g", "h", "m", "v"], ["b", "rm", "rv"], training_mode=1),
        helper.make_node("MatMul", ["b", "u0"], ["y0"]),
        helper.make_node("MatMul", ["b", "w"], ["c"]),
        helper.make_node("Tanh", ["c"], ["d"]),
        helper.make_node("MatMul", ["d", "u1"], ["y1"]),
        helper.make_node("MatMul", ["d", "l"], ["e"]),
        helper.make_node("BatchNormalization", ["e", "g2", "h2", "m2", "v2"], ["f", "rm2", "rv2"], training_mode=1),
        helper.make_node("MatMul", ["f", "u2"], ["y2"]),
    ]
    return make_model(nodes, {f"y{i}": ["N", 4] for i in range(3)}, arrays, ["N", 6])


@pytest.mark.parametrize("window", [1, 2, 3])
def test_running_statistics(tmp_path, window):
    """Each module updates its own statistics; validation and saved models use all of them."""
    arrays = samples("dense")
    del arrays["target.y3"]
    data = save(tmp_path / "data.npz", arrays)
    program = compile_model(normalized(), "--loss-on=y0,y1,y2", f"--interlock={window}", "--pipeline=3")
    options = ["--batch", 8, "--val-split", 0.2]
    alone = train(tmp_path, 0, program, data, "alone", *options)
    assert np.abs(alone[0]["m"]).max() > 0.01 and np.abs(alone[0]["v2"] - 1).max() > 0.01
    check_same(train(tmp_path, 3, program, data, "ranks", *options), alone)


def tied(first, second):
    model = type(chain("dense")[0]).FromString(chain("dense")[0].SerializeToString())
    for node in model.graph.node:
        node.input[:] = [first if name == second else name for name in node.input]
    for tensor in [t for t in model.graph.initializer if t.name == second]:
        model.graph.initializer.remove(tensor)
    return model


def test_parameter_shared_by_adjacent_modules(tmp_path):
    """The rank that owns a parameter also does the next module's computations with it."""
    data = save(tmp_path / "data.npz", samples("dense"))
    options = ["--interlock=2", f"--loss-on={','.join(HEADS)}"]
    program = compile_model(tied("w1", "w2"), *options, f"--pipeline={COUNT}")
    alone = train(tmp_path, 0, program, data, "alone", "--batch", 8)
    check_same(train(tmp_path, COUNT, program, data, "ranks", "--batch", 8), alone)


def test_parameter_shared_by_distant_modules_is_refused(tmp_path):
    options = ["--distributed=mpi", "--interlock=2", f"--loss-on={','.join(HEADS)}", "--pipeline=4"]
    words = 'a module needs parameters that no other module has, found "w1" in stages 1 and 2'
    harness.check_refused(tied("w1", "w3"), tmp_path, options, 1, words)
