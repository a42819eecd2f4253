# Part of the bppsa project, under the MIT License.
"""The benchmark driver: tiny shapes run and are reported; nothing here is about speed."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import report
import shapes
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


def test_missing_compiler_is_skipped_with_a_reason(tmp_path):
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


def test_resume_keeps_what_is_measured(tmp_path):
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


def test_bars_compare_the_default_variant_on_one_thread():
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


def test_report_names_the_best_plan_and_what_was_not_measured():
    results = _results(
        **{"bppsa sequential": 500.0, "bppsa linear": 9000.0, "bppsa chunked:64": 700.0}
    )
    results["runs"][0]["peers"]["bppsa blelloch"] = {"skipped": "about 9 GB of Jacobians"}
    text = report.markdown(results)
    assert (
        "0.7 (chunked:64)" in text and "about 9 GB of Jacobians" in text and "a processor" in text
    )


def test_report_goes_between_the_markers(tmp_path):
    document = tmp_path / "doc.md"
    document.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    report.write_into(document, "new")
    report.write_into(document, "newer")
    text = document.read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n")
    assert "newer" in text and "old" not in text


def test_grid_is_the_one_asked_for():
    grid = shapes.grid()
    assert len(grid) == 3 * 4 * 3 * 3 == len(set(grid))
    assert {shape.features for shape in grid if shape.hidden == 20} == {1, 12}


def test_flops_of_a_step():
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
        # Of a chain of more than a chunk; making, multiplying and applying maps is three times it.
        assert entry["steps"] == 4 or 1 < entry["flops_ratio"]["blelloch"] < 3
    rendered = subprocess.run(
        [sys.executable, script, "--render", out], capture_output=True, text=True, check=True
    )
    assert rendered.stdout == done.stdout and rendered.stdout.count("\n") == 2 + 4 * 3
