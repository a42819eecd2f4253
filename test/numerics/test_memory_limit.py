"""`--memory-limit` for loops in graph form: peak memory, identical results, too low limits."""

import json
import sys

import harness
import loop_models
import numpy as np
import pytest
import stream_models
from stream_models import build, info, node, weight


def compile_stream(graph, *options):
    return harness.compile_model(graph.model, "--loss=mse", "--loss-on=y", *graph.flags, *options)


def arrays_of(graph, steps, samples):
    arrays = stream_models.random_arrays(graph, steps, samples)
    wanted = stream_models.run_steps(graph, arrays, steps, samples)["y"]
    return arrays | {"target": wanted + np.float32(1)}


# Both limits require several segments for every size except the smallest, which fits as a whole.
@pytest.mark.parametrize("name, limit", [("scattered_caches", "200K"), ("lstm_stack", "120K")])
def test_segments_do_not_change_results(name, limit):
    graph = stream_models.ALL[name]
    whole = compile_stream(graph, "--memory-limit=0")
    segmented = compile_stream(graph, f"--memory-limit={limit}")
    for steps, samples in ((1, 1), (7, 3), (64, 17), (150, 9)):
        arrays = arrays_of(graph, steps, samples)
        wanted = whole.grad(arrays, "--threads=1")
        for threads in (1, 2):
            found = segmented.grad(arrays, f"--threads={threads}")
            assert set(found) == set(wanted)
            for tensor, array in wanted.items():
                assert array.tobytes() == found[tensor].tobytes(), (tensor, steps, samples)


def wide():
    """A step with few inputs and outputs and many intermediate values."""
    rng = np.random.default_rng(3)
    nodes = [
        node("MatMul", "x w", "wide"),
        node("Softmax", "wide", "first", axis=1),
        node("Softmax", "first", "second", axis=1),
        node("MatMul", "second v", "narrow"),
        node("Add", "narrow h", "sum"),
        node("Tanh", "sum", "h_next"),
        node("Identity", "narrow", "y"),
    ]
    weights = [("w", weight(rng, 2, 2000)), ("v", weight(rng, 2000, 2))]
    model = build(nodes, [info("x", [1, 2]), info("h", [1, 2])], ["y", "h_next"], weights)
    batch = dict.fromkeys(["x", "h", "h_next", "y"], 0)
    options = ("--batch-axis=x:0", "--batch-axis=h:0", "--batch-axis=y:0")
    return stream_models.StepGraph("wide", model, {"h": "h_next"}, options, batch)


# A separate process, because a forked child's peak includes the memory of its parent.
MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak_memory(program, data):
    out = data.with_suffix(".out.npz")
    command = [program.path, "grad", "--data", data, "--out", out, "--threads", "1"]
    result = harness.run(sys.executable, "-c", MEASURE, *command)
    # The program prints its own output first.
    return int(harness.check_succeeded(result).stdout.splitlines()[-1])


def test_memory(tmp_path):
    graph, steps, samples = wide(), 400, 8
    rng = np.random.default_rng(1)
    shape = (steps, samples, 2)
    arrays = {name: rng.normal(size=shape).astype(np.float32) for name in ("x", "target")}
    data = tmp_path / "data.npz"
    np.savez(data, **arrays)
    programs = {limit: compile_stream(graph, f"--memory-limit={limit}M") for limit in (0, 4, 20)}
    peaks = {limit: peak_memory(program, data) / 2**20 for limit, program in programs.items()}
    # Lower bound: both activations of every step.
    kept = 2 * 4 * steps * samples * 2000 / 2**20
    assert peaks[0] - peaks[4] > kept - 8, peaks
    assert 10 < peaks[20] - peaks[4] < 22, peaks
    wanted = programs[0].grad(arrays)
    for limit in (4, 20):
        for tensor, array in programs[limit].grad(arrays).items():
            assert array.tobytes() == wanted[tensor].tobytes(), tensor


def test_reported_segments(tmp_path):
    """Segments cover all steps and fit within the limit, and fewer segments would not fit."""
    graph, steps, samples, limit = stream_models.ALL["lstm_stack"], 64, 16, 120 * 1024
    program = compile_stream(graph, "--memory-limit=120K")
    np.savez(tmp_path / "data.npz", **arrays_of(graph, steps, samples))
    words = ["--data", tmp_path / "data.npz", "--out", tmp_path / "g.npz"]
    told = json.loads(harness.check_succeeded(program.run("grad", *words)).stdout)["segments"]
    (loop,) = told
    assert (loop["steps"], loop["samples"]) == (steps, samples)
    assert 1 < loop["segment_steps"] < steps and loop["bytes"] <= limit
    # Segment memory is linear in its length; the remainder is available for the states.
    per_step = loop["bytes"] / loop["segment_steps"]
    segments = -(-steps // loop["segment_steps"])
    assert -(-steps // (segments - 1)) * per_step > limit
    words = ["--seq-len", steps, "--batch", samples]
    info = json.loads(harness.check_succeeded(program.run("info", *words)).stdout)
    assert info["memory_limit"] == limit
    assert list(info["memory"]["segments"].values()) == [told] * len(info["variants"])
    assert compile_stream(graph).info()["memory_limit"] == 0


def attention():
    """h' = tanh(u x + m softmax(h m^T)) over a constant memory m of 100 positions."""
    nodes = [
        loop_models.node("Unsqueeze", "h one", "row"),
        loop_models.node("MatMul", "row m", "scores"),
        loop_models.node("Softmax", "scores", "shares", axis=2),
        loop_models.node("MatMul", "shares mt", "read"),
        loop_models.node("Squeeze", "read one", "context"),
        loop_models.node("Mul", "u xt", "scaled"),
        loop_models.node("Add", "context scaled", "sum"),
        loop_models.node("Tanh", "sum", "h_next"),
        loop_models.node("Identity", "h_next", "ht"),
    ]
    body = loop_models.body(nodes, "h xt", "h_next ht", [("one", np.array([1]))])
    nodes = [
        loop_models.node("Transpose", "m", "mt", perm=[0, 2, 1]),
        loop_models.scan(body, "h0 x", "hn y", 1),
    ]
    shapes = {"h0": ["B", 16], "x": ["T", "B", 16], "m": ["B", 16, 100]}
    arrays = {name: np.zeros([2] * len(shape), np.float32) for name, shape in shapes.items()}
    weights = [("u", loop_models.weight(1, 16))]
    return loop_models.case("attention", nodes, arrays, "hn y", weights, shapes)


def test_constant_states_are_stored_once(tmp_path):
    program = harness.compile_model(attention().model, "--loss=mse", "--loss-on=y")
    samples, memory, peaks, rng = 8, 16 * 100, {}, np.random.default_rng(0)
    for steps in (400, 800):
        shapes = {"h0": (samples, 16), "m": (samples, 16, 100), "x": (steps, samples, 16)}
        shapes["target"] = shapes["x"]
        data = tmp_path / f"{steps}.npz"
        arrays = {name: rng.normal(size=shape) for name, shape in shapes.items()}
        np.savez(data, **{name: array.astype(np.float32) for name, array in arrays.items()})
        peaks[steps] = peak_memory(program, data)
    # A step stores the scores of its sample, not the memory, which it reads in two layouts.
    assert peaks[800] - peaks[400] < 400 * samples * 4 * memory


def test_limit_that_is_too_low(tmp_path):
    graph = stream_models.ALL["lstm_stack"]
    np.savez(tmp_path / "data.npz", **arrays_of(graph, 9, 4))
    program = compile_stream(graph, "--memory-limit=1K")
    words = ["--data", tmp_path / "data.npz", "--out", tmp_path / "g.npz"]
    result = program.run("grad", *words)
    assert result.returncode == 1
    assert "9 steps of 4 samples needs at least" in result.stderr
    assert "1.00 KiB of --memory-limit are left for it; use a smaller --batch" in result.stderr
    assert "--memory-limit=2M" in result.stderr and result.stderr.count("\n") == 1
    assert not (tmp_path / "g.npz").exists()
    # Commands without a backward pass store nothing, so the limit does not apply.
    harness.check_succeeded(program.run("eval", "--data", tmp_path / "data.npz"))
