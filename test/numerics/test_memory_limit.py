"""`--memory-limit` and loops in graph form: memory, bits, and limits that nothing fits in."""

import sys

import harness
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


# Both limits hold some segments of each size but the smallest, which fits whole.
@pytest.mark.parametrize("name, limit", [("scattered_caches", "200K"), ("lstm_stack", "120K")])
def test_segments_change_no_bit(name, limit):
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
    """A step with few numbers in and out, and many in between."""
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


# In a process of its own: a child counts the memory of the process that it was forked from.
MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak_memory(program, data):
    out = data.with_suffix(".out.npz")
    command = [program.path, "grad", "--data", data, "--out", out, "--threads", "1"]
    result = harness.run(sys.executable, "-c", MEASURE, *command)
    return int(harness.check_succeeded(result).stdout)


def test_memory(tmp_path):
    graph, steps, samples = wide(), 400, 8
    rng = np.random.default_rng(1)
    shape = (steps, samples, 2)
    arrays = {name: rng.normal(size=shape).astype(np.float32) for name in ("x", "target")}
    data = tmp_path / "data.npz"
    np.savez(data, **arrays)
    programs = {limit: compile_stream(graph, f"--memory-limit={limit}M") for limit in (0, 4, 20)}
    peaks = {limit: peak_memory(program, data) / 2**20 for limit, program in programs.items()}
    # At least what both activations take of every step.
    kept = 2 * 4 * steps * samples * 2000 / 2**20
    assert peaks[0] - peaks[4] > kept - 8, peaks
    assert 10 < peaks[20] - peaks[4] < 22, peaks
    wanted = programs[0].grad(arrays)
    for limit in (4, 20):
        for tensor, array in programs[limit].grad(arrays).items():
            assert array.tobytes() == wanted[tensor].tobytes(), tensor


def test_limit_that_nothing_fits_in(tmp_path):
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
    # What has no backward pass keeps nothing.
    harness.check_succeeded(program.run("eval", "--data", tmp_path / "data.npz"))
