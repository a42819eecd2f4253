# Part of the bppsa project, under the MIT License.
"""benchmarks/gpu/baselines.py with tiny sizes on the CPU."""

import importlib
import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

jax = pytest.importorskip("jax")

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "benchmarks/gpu/baselines.py"


@pytest.fixture(scope="module")
def load():
    """Imports a module of benchmarks/gpu."""
    sys.path.insert(0, str(SCRIPT.parent))
    yield importlib.import_module
    sys.path.remove(str(SCRIPT.parent))


def _run(out, *arguments, status=0):
    command = [sys.executable, SCRIPT, "--device", "cpu", "--out", out, "--seconds", "0.001"]
    done = subprocess.run([*map(str, command), *arguments], capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


TINY = ("--cells", "gru", "--steps", "6", "--batch", "2", "--hidden", "8", "--tf32", "off")


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize("steps", [1, 2, 9])
def test_associative_backward_matches_loop(load, cell, steps):
    point = {"cell": cell, "steps": steps, "batch": 3, "hidden": 8}
    peers = [load("frameworks").Jax("cpu", associative) for associative in (False, True)]
    p, (x, target) = peers[0].parameters(point), peers[0].data(point)
    with jax.default_matmul_precision("highest"):
        loop, tree = (jax.grad(peer.loss(point, 1))(p, x, target) for peer in peers)
    for name in p:
        np.testing.assert_allclose(tree[name], loop[name], rtol=2e-4, atol=1e-7)


def test_points_are_measured_and_recorded(tmp_path):
    out = tmp_path / "r.json"
    _run(out, *TINY, "--peers", "jax-scan,jax-assoc")
    points = json.loads(out.read_text())["points"]
    assert set(points) == {f"jax-{kind}/gru-h8-b2-s6/fp32" for kind in ("scan", "assoc")}
    for point in points.values():
        assert point["step_us"] > 0 and point["forward_us"] > 0 and point["peak_bytes"] > 0
    assert "2 measured before" in _run(out, *TINY, "--peers", "jax-scan,jax-assoc")
    assert json.loads(out.read_text())["points"] == points


def test_pytorch_is_measured_or_reported_as_skipped(tmp_path):
    out = tmp_path / "r.json"
    text = _run(out, *TINY, "--peers", "pytorch,jax-scan")
    keys = json.loads(out.read_text())["points"]
    assert ("pytorch/gru-h8-b2-s6/fp32" in keys) != ("skipping pytorch: PyTorch is not" in text)


def test_budget_stops_between_points(tmp_path):
    text = _run(tmp_path / "r.json", *TINY, "--peers", "jax-scan", "--budget", "0")
    assert "stopped by --budget with 1 points left" in text


def test_too_large_jacobians_are_skipped(tmp_path):
    out = tmp_path / "r.json"
    _run(out, *TINY, "--peers", "jax-assoc", "--jacobian-gigabytes", "1e-9")
    (point,) = json.loads(out.read_text())["points"].values()
    assert "of Jacobians" in point["skipped"]


def test_results_of_another_version_are_refused(tmp_path):
    out = tmp_path / "r.json"
    out.write_text(json.dumps({"description": {"jax": "0.0.1"}, "points": {}}))
    text = _run(out, *TINY, "--peers", "jax-scan", status=1)
    assert "has jax 0.0.1" in text and "use another --out" in text


def test_message_without_gpu(tmp_path):
    command = [sys.executable, SCRIPT, "--out", tmp_path / "r.json", "--peers", "jax-scan"]
    command += TINY
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode == 0:
        pytest.skip("this machine has a GPU")
    assert "--device=cpu rehearses" in done.stdout and "nothing to measure" in done.stderr


def test_published_shapes_come_first(load):
    options = type("Options", (), {})()
    options.cells, options.steps = ("rnn",), (100, 1000)
    options.batch, options.hidden = (1, 16), (8, 20)
    first = load("baselines").ordered_points(options)[:2]
    assert [(p["hidden"], p["batch"], p["steps"]) for p in first] == [(20, 16, 100), (20, 16, 1000)]
