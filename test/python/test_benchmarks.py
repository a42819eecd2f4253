# Part of the bppsa project, under the MIT License.
"""The benchmark driver runs tiny shapes and reports them; speed is not tested."""

import argparse
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import claims
import onnx_models
import ranks
import report
import shapes
import what_pays
from peers import WORKERS
from shapes import Shape

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPILER = pathlib.Path(os.environ.get("BPPSA_BUILD_DIR", ROOT / "build")) / "bin/bppsa-compile"


def _run(tmp_path, *arguments):
    command = [sys.executable, ROOT / "benchmarks/run.py", "--work", tmp_path, *arguments]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads((tmp_path / "results.json").read_text())


def _check_times(result):
    assert result["step_us"] > 0 and result["forward_us"] > 0
    assert result["step_us"] < 60e6


@pytest.mark.parametrize("peer", ["handwritten", "jax", "pytorch", "onnxruntime"])
def test_smoke_of_each_peer(tmp_path, peer):
    if peer != "handwritten":
        pytest.importorskip(WORKERS[peer])
    results = _run(
        tmp_path,
        "--cells",
        "gru",
        "--hidden",
        20,
        "--batch",
        1,
        "--steps",
        5,
        "--rounds",
        2,
        "--seconds",
        0.001,
        "--peers",
        peer,
    )
    if peer in results["skipped"]:
        pytest.skip(results["skipped"][peer])
    assert str(tmp_path) not in results["command"] and "--hidden 20" in results["command"]
    (entry,) = results["runs"]
    assert entry["shape"] == vars(Shape("gru", 20, 12, 1, 5)) and entry["threads"] == 1
    _check_times(entry["peers"][peer])
    assert len(entry["peers"][peer]["rounds_step_us"]) == 2


def test_smoke_of_compiled_programs(tmp_path):
    pytest.importorskip("onnx")
    if not COMPILER.exists():
        pytest.skip(f"{COMPILER} is not built")
    results = _run(
        tmp_path,
        "--smoke",
        "--peers",
        "bppsa",
        "--variants",
        "auto,sequential,chunked:4",
        "--compiler",
        COMPILER,
    )
    for entry in results["runs"]:
        for name in ("bppsa auto", "bppsa sequential", "bppsa chunked:4"):
            assert "error" not in entry["peers"][name], entry["peers"][name]
            _check_times(entry["peers"][name])


def test_missing_compiler_is_reported_as_skipped(tmp_path):
    results = _run(
        tmp_path,
        "--smoke",
        "--peers",
        "bppsa",
        "--variants",
        "auto",
        "--compiler",
        tmp_path / "none",
    )
    assert "is not there" in results["skipped"]["bppsa auto"]


def test_resume_keeps_measured_points(tmp_path):
    first = _run(
        tmp_path,
        "--cells",
        "rnn",
        "--hidden",
        20,
        "--batch",
        1,
        "--steps",
        5,
        "--rounds",
        1,
        "--seconds",
        0.001,
        "--peers",
        "handwritten",
    )
    again = _run(
        tmp_path,
        "--cells",
        "rnn",
        "--hidden",
        20,
        "--batch",
        1,
        "--steps",
        "5,6",
        "--rounds",
        1,
        "--seconds",
        0.001,
        "--peers",
        "handwritten",
        "--resume",
    )
    assert again["runs"][0] == first["runs"][0] and len(again["runs"]) == 2


def _results(**step_us):
    peers = {
        name: {"forward_us": t / 3, "backward_us": t / 2, "update_us": 1.0, "step_us": t}
        for name, t in step_us.items()
    }
    return {
        "machine": {"cpu": "a processor", "cores": 2, "memory_gb": 8},
        "date": "2026-01-01",
        "command": "benchmarks/run.py --bars",
        "rounds": 3,
        "versions": {"jax": "1"},
        "skipped": {},
        "compiler_bars": [],
        "runs": [{"shape": vars(Shape("rnn", 20, 1, 16, 1000)), "threads": 1, "peers": peers}],
    }


def test_bars_compare_default_variant_on_one_thread():
    results = _results(
        **{"bppsa auto": 600.0, "bppsa sequential": 500.0, "pytorch": 30000.0, "jax": 2400.0}
    )
    found = {str(bar): ratio for bar, ratio in report.bars(results["runs"]) if ratio is not None}
    assert found == {
        "RNN H=20 I=1 B=16 T=1000: >= 30x pytorch": 50.0,
        "RNN H=20 I=1 B=16 T=1000: >= 50x pytorch": 50.0,
        "RNN H=20 I=1 B=16 T=1000: >= 5x jax": 4.0,
        "RNN H=20 I=1 B=16 T=1000: >= 7x jax": 4.0,
    }
    assert report.verdict(50.0, 50) == "pass" and report.verdict(4.0, 5) == "FAIL"


def test_report_names_best_plan_and_skipped_plans():
    results = _results(
        **{"bppsa sequential": 500.0, "bppsa linear": 9000.0, "bppsa chunked:64": 700.0}
    )
    results["runs"][0]["peers"]["bppsa blelloch"] = {"skipped": "about 9 GB of Jacobians"}
    text = report.markdown(results)
    assert (
        "0.7 (chunked:64)" in text and "about 9 GB of Jacobians" in text and "a processor" in text
    )


def test_report_replaces_text_between_markers(tmp_path):
    document = tmp_path / "doc.md"
    document.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    report.write_into(document, "new")
    report.write_into(document, "newer")
    text = document.read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n")
    assert "newer" in text and "old" not in text


def test_grid_of_shapes():
    grid = shapes.grid()
    assert len(grid) == 3 * 4 * 3 * 3 == len(set(grid))
    assert {shape.features for shape in grid if shape.hidden == 20} == {1, 12}


def test_flops_of_one_step():
    # One sample, one step: R h, R^T g, g h^T and W x, g x^T.
    assert Shape("rnn", 3, 2, 1, 1).flops() == 2 * (3 * 9 + 2 * 6)


def test_smoke_of_diagonal_chains(tmp_path):
    script, out = ROOT / "benchmarks/diagonal.py", tmp_path / "diagonal.json"
    options = ["--hidden", "5", "--batch", "3", "--steps", "4,33", "--rounds", "1"]
    options += ["--seconds", "0.001", "--plans", "chunked:4,blelloch"]
    done = subprocess.run(
        [sys.executable, script, *options, "--out", out], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(out.read_text())
    assert [(e["cell"], e["steps"]) for e in results["runs"]] == [
        (cell, steps) for cell in ("average", "unit") for steps in (4, 33)
    ]
    for entry in results["runs"]:
        assert list(entry["backward_us"]) == ["sequential", "chunked:4", "blelloch"]
        assert all(time > 0 for time in entry["backward_us"].values())
        # With several chunks, forming, multiplying and applying maps takes up to 3x the FLOPs.
        assert entry["steps"] == 4 or 1 < entry["flops_ratio"]["blelloch"] < 3
    rendered = subprocess.run(
        [sys.executable, script, "--render", out], capture_output=True, text=True, check=True
    )
    assert rendered.stdout == done.stdout and rendered.stdout.count("\n") == 2 + 4 * 3


def test_bidirectional_stacks(tmp_path):
    """The model runs in ONNX Runtime, and its points are measured with one and two threads."""
    runtime = pytest.importorskip("onnxruntime")
    shape = Shape("gru", 4, 3, 2, 5, layers=2, directions=2)
    onnx_models.write(shape, tmp_path / "model.onnx")
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    (logits,) = session.run(None, {"x": np.ones((5, 2, 3), np.float32)})
    assert logits.shape == (2, shapes.CLASSES) and np.all(np.isfinite(logits))
    at_every_step = Shape("gru", 4, 3, 2, 5, every_step=True)
    onnx_models.write(at_every_step, tmp_path / "steps.onnx")
    session = runtime.InferenceSession(tmp_path / "steps.onnx")
    (logits,) = session.run(None, {"x": np.ones((5, 2, 3), np.float32)})
    assert logits.shape == (5, 2, shapes.CLASSES)
    options = argparse.Namespace(
        compiler=COMPILER, work=tmp_path, rounds=2, seconds=0.001, timeout=60, pytorch_python=""
    )
    points = [claims.Point("auto", shape), claims.Point("auto", shape, 2, "backward_us")]
    found = claims.measure_points(points, options)
    assert set(found) == set(points) and all(time > 0 for time in found.values())


def test_verdicts_of_claims():
    short, long = Shape("rnn", 20, 1, 16, 100), Shape("rnn", 20, 1, 16, 10000)
    over, under = claims.Point("auto", long), claims.Point("auto", short)
    claim = claims.Claim("long", over, under, 1.15, at_most=True, scale=0.01)
    found = {over: 11000.0, under: 100.0}
    (row,) = claims.judge_points([claim], found)
    assert row["verdict"] == "pass" and row["ratio"] == pytest.approx(1.1)
    (row,) = claims.judge_points([claim], {over: 12000.0, under: 100.0})
    assert row["verdict"] == "FAIL"
    (row,) = claims.judge_points([claim], {under: 100.0})
    assert row["verdict"] == "not measured" and row["ratio"] is None
    # 2 * 100 * 16 * 20 * (3 * 20 + 2 * 1) = 3.968 MFLOP in 100 us are 39.68 GFLOP/s.
    (row,) = claims.judge_shares([short], found, peak=79.36)
    assert row["ratio"] == pytest.approx(0.5) and row["verdict"] == "FAIL"
    (row,) = claims.judge_shares([short], found, peak=44.0)
    assert row["verdict"] == "pass"


def test_verdicts_of_counted_claims():
    """A step takes the counted time of its multiply-adds and functions, plus overhead."""
    shape = Shape("lstm", 20, 12, 16, 100, every_step=True)
    # 4 gates of 20 units with 3 * 20 + 2 * 12 columns; three products with a 10-class classifier.
    assert shape.flops() == 2 * 1600 * (80 * 84 + 600)
    assert shape.functions() == 1600 * (5 * 20 + 10)
    counted = shape.flops() / 100e3 + shape.functions() / 2e3
    found = {claims.Point("auto", shape): 1.2 * counted}
    (row,) = claims.judge_counts([shape], found, peak=100, functions=2)
    assert row["ratio"] == pytest.approx(1.2) and row["verdict"] == "pass"
    (row,) = claims.judge_counts([shape], {}, peak=100, functions=2)
    assert row["verdict"] == "not measured"


def test_every_claim_is_rendered():
    rows = claims.judge_points(claims.CLAIMS, {}) + claims.judge_shares(claims.NEAR_PEAK, {}, 100)
    rows += claims.judge_counts(claims.COUNTED, {}, 100, 2)
    results = {
        "machine": {"cpu": "a CPU", "cores": 2},
        "peak_gflops": 100.0,
        "date": "today",
        "versions": {"bppsa": "bppsa 1"},
        "command": "benchmarks/claims.py",
        "rounds": 5,
        "claims": rows,
    }
    text = claims.markdown(results)
    assert "today; bppsa 1. Command" in text
    assert all(row["case"] in text for row in rows)
    assert len({row["case"] for row in rows}) == len(rows)


def test_pruned_chain_in_onnx_runtime_and_jax(tmp_path):
    """ONNX Runtime and JAX compute the same network, whose weights are mostly zero."""
    runtime, jax = pytest.importorskip("onnxruntime"), pytest.importorskip("jax")
    what_pays.write_pruned_chain(tmp_path / "chain.onnx")
    size = what_pays.SIZE
    x = np.random.default_rng(0).random((2, what_pays.CHANNELS, size, size), np.float32)
    session = runtime.InferenceSession(tmp_path / "chain.onnx")
    (logits,) = session.run(None, {"x": x})
    (found,) = jax.device_get([what_pays.logits_in_jax(what_pays.pruned_weights(), x)])
    np.testing.assert_allclose(found, logits, rtol=1e-3, atol=1e-4)
    zeros = np.mean([np.mean(w == 0) for w in what_pays.pruned_weights()[0]])
    assert 0.96 < zeros < 0.98


class _Trainer:
    """Fake ranks.Program: steps take 10 ms and messages take a share of a core."""

    path, parameters = pathlib.Path("model"), 10**6

    def __init__(self, share):
        self.share = share

    def train(self, count, *options):
        return [10e3, 10e3], [2e3, 2e3], [self.share]

    def bench(self, count, compute):
        assert compute == 8
        return "times"

    def predict(self, count, times, exchange, gigabits, share):
        # Check the arguments like bppsa-schedule.
        assert times == "times" and share <= 0.9
        # Transfers in each direction take 8 ms, as long as the computation.
        assert gigabits == pytest.approx(2 * 10**6 * (count - 1) / count * 32 / 8e6)
        return 9.0, 1.0


PREDICTED = [(2, 0.4, 2, True), (2, 1.3, 2, False), (2, 1.3, 4, True), (4, 0.4, 2, True), (4, 0.65, 2, False)]


@pytest.mark.parametrize("count, share, cores, predicted", PREDICTED)
def test_no_prediction_if_ranks_share_cores(count, share, cores, predicted, monkeypatch, capsys):
    monkeypatch.setattr(ranks.os, "sched_getaffinity", lambda _: set(range(cores)))
    result = ranks.measure_exchanges(_Trainer(share), count, rounds=2)
    assert set(result["exchanges"]) == set(ranks.EXCHANGES)
    for row in result["exchanges"].values():
        assert row["step_ms"] == 10 and row["exposed_ms"] == 2 and row["speedup"] == 1
        assert row.get("predicted_step_ms") == (9 if predicted else None)
    lines = [line for line in capsys.readouterr().out.splitlines() if "not predicted" in line]
    assert len(lines) == (0 if predicted else 1)
    assert predicted or "1.300 of a core, more than 0.9" in lines[0]
