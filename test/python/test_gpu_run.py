# Part of the bppsa project, under the MIT License.
"""benchmarks/gpu/run.py and kernels.py on the CPU, with emulated programs of tiny sizes."""

import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "benchmarks/gpu"
COMPILER = pathlib.Path(os.environ.get("BPPSA_BUILD_DIR", ROOT / "build")) / "bin/bppsa-compile"
TINY = ("--hidden", "4", "--batch", "2", "--steps", "5", "--rounds", "1", "--seconds", "0.001")
TINY += ("--peers", "pytorch,jax-scan")
needs_reference = pytest.mark.skipif(
    not any(importlib.util.find_spec(name) for name in ("torch", "jax")),
    reason="neither PyTorch nor JAX is installed",
)


@pytest.fixture(autouse=True)
def modules(monkeypatch):
    """Makes the modules of the folder importable by name during a test."""
    before = set(sys.modules)
    # Tests of another folder may have imported modules with these names.
    for script in FOLDER.glob("*.py"):
        monkeypatch.delitem(sys.modules, script.stem, raising=False)
        before.discard(script.stem)
    monkeypatch.syspath_prepend(str(FOLDER))
    yield
    for name in set(sys.modules) - before:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def _run(*arguments, status=0, script=FOLDER / "run.py"):
    command = [sys.executable, script, *arguments]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    pytest.importorskip("onnx")
    if not COMPILER.exists():
        pytest.skip(f"{COMPILER} is not built")
    folder = tmp_path_factory.mktemp("programs")
    code = "import bundle, pathlib, sys; bundle.make(pathlib.Path(sys.argv[1]), sys.argv[2], "
    code += "[('rnn', 4)], ('chunked:2',), ['--emulate', '-O0'])"
    environment = dict(os.environ, PYTHONPATH=str(FOLDER))
    subprocess.run([sys.executable, "-c", code, folder, COMPILER], env=environment, check=True)
    return folder


@needs_reference
def test_measure_folder_and_render(programs, tmp_path):
    out = tmp_path / "r.json"
    measure = ("--measure", programs, "--out", out, *TINY)
    _run(*measure, "--budget", "0", script=programs / "run.py")
    results = json.loads(out.read_text())
    assert len(results["checks"]) == 3 and all(c["ok"] for c in results["checks"].values())
    assert results["points"] == {}

    assert "is there: --resume goes on" in _run(*measure, status=1)
    _run(*measure, "--resume")
    results = json.loads(out.read_text())
    answers = results["points"]["rnn-h4-b2-t5"]["answers"]
    assert set(answers) - {"pytorch"} == {"sequential", "chunked:2", "auto", "jax-scan"}
    assert all(answer["step_us"] > 0 for answer in answers.values())
    assert answers["auto"]["predicted_backward_us"] > 0
    assert "is emulated" in results["calibrations"]["rnn-h4 auto"]["skipped"]
    assert str(tmp_path) not in results["description"]["command"]

    text = _run("--render", out, "--plots", tmp_path / "plots")
    assert "| RNN H=20 B=16 T=30000: backward | 400 us | | | not measured |" in text
    assert "3 of 3 variants and sizes are within the bound" in text
    assert "| 4 | 2 | 5 |" in text
    assert "| rnn-h4 auto | | skipped: status 1: error: bench --calibrate:" in text
    assert "sequential" in (tmp_path / "plots/rnn-h4-b2.svg").read_text()


@needs_reference
def test_results_of_other_programs_are_refused(programs, tmp_path):
    out = tmp_path / "r.json"
    description = {"device": "cuda"}
    out.write_text(json.dumps({"description": description, "checks": {}, "points": {}}))
    text = _run("--measure", programs, "--out", out, "--resume", *TINY, status=1)
    assert "has device 'cuda', here it is 'cpu, emulated'" in text


@needs_reference
def test_rehearsal(tmp_path):
    pytest.importorskip("onnx")
    if not COMPILER.exists():
        pytest.skip(f"{COMPILER} is not built")
    out = ("--out", tmp_path / "r.json")
    text = _run("--rehearse", "--cells", "rnn", "--compiler", COMPILER, *out)
    assert "RNN, microseconds of forward / backward / whole step" in text


def test_folder_without_programs_is_refused(tmp_path):
    assert "make it with --compile" in _run("--measure", tmp_path, status=1)


def _weights(cell, hidden, features):
    import frameworks

    rng, rows = np.random.default_rng(0), frameworks.GATES[cell] * hidden
    shapes = {"W0": (1, rows, features), "R0": (1, rows, hidden), "B0": (1, 2 * rows)}
    shapes.update({"head.weight": (10, hidden), "head.bias": (10,)})
    return {name: rng.uniform(-0.5, 0.5, shape) for name, shape in shapes.items()}


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_references_agree(cell):
    pytest.importorskip("torch")
    pytest.importorskip("jax")
    import gradients

    x, target = np.random.default_rng(1).random((7, 4, 3)), np.arange(4)
    arguments = (cell, _weights(cell, 5, 3), x, target, np.float64)
    ours, theirs = gradients.by_jax(*arguments), gradients.by_pytorch(*arguments)
    for name, array in theirs.items():
        np.testing.assert_allclose(ours[name], array, rtol=1e-12, atol=1e-15)


def test_wrong_gradients_are_detected():
    import gradients

    wanted = {"W": np.ones(4), "R": np.ones(4)}
    single = {"W": np.ones(4), "R": np.ones(4) + 1e-6}
    fine = gradients.compare({"W": np.ones(4), "R": np.ones(4) + 1e-5}, wanted, single)
    assert fine["ok"] and fine["array"] == "R" and fine["limit"] == pytest.approx(2e-5)
    wrong = gradients.compare({"W": np.ones(4) + 2e-6, "R": np.ones(4)}, wanted, single)
    assert not wrong["ok"] and wrong["array"] == "W" and wrong["limit"] == 1e-6
    for found in ({"W": np.ones(4)}, {"W": np.ones(4), "R": np.full(4, np.nan)}):
        assert not gradients.compare(found, wanted, single)["ok"]


def _results(**points):
    entry = {"backward_us": 300.0, "forward_us": 120.0, "step_us": 500.0, "bytes": 40e6}
    point = {"cell": "rnn", "hidden": 20, "batch": 16, "steps": 30000}
    answers = {"pytorch": {**entry, "step_us": 2000.0}, "chunked": entry}
    answers["sequential"] = {**entry, "backward_us": 900.0}
    points = {"rnn-h20-b16-t30000": {"point": point, "answers": answers}}
    return {"description": {"reference": "pytorch"}, "checks": {}, "points": points}


def test_bars_use_best_variant():
    import tables

    text = tables.markdown(_results())
    assert "| RNN H=20 B=16 T=30000: backward | 400 us | 300 us | chunked | pass |" in text
    # 40 MB in total minus 38.4 MB of states.
    assert "memory in addition to saved states | 25 MB | 1.6 MB | chunked | pass |" in text
    assert "| chunked | 1.00x | 4.00x |" in text
    results = _results()
    results["checks"]["k"] = {"ok": False, "failed": "status 1", "variant": "rnn-h20 chunked"}
    text = tables.markdown(results)
    assert "120 / 300 / 500 (wrong)" in text and "* wrong: k: status 1" in text


def test_variant_choice_uses_worst_point():
    import tables

    results = _results()
    assert "the worst point | 1.05 x | | | not measured |" in tables.choice_row(results)
    answers = results["points"]["rnn-h20-b16-t30000"]["answers"]
    results["points"]["rnn-h20-b16-t30000"]["answers"] = {
        "sequential": {"step_us": 600.0}, "chunked": answers["chunked"],
        "auto": {"step_us": 510.0}, "blelloch": {"step_us": 100.0},
    }  # fmt: skip
    assert "| 1.020 x | rnn-h20-b16-t30000 | pass |" in tables.choice_row(results)
    results["points"]["rnn-h20-b16-t30000"]["answers"]["auto"]["step_us"] = 600.0
    assert "| 1.200 x | rnn-h20-b16-t30000 | FAIL |" in tables.choice_row(results)


def test_share_of_pytorch():
    import tables

    point = {"cell": "lstm", "hidden": 512, "batch": 64, "steps": 1000}
    ours = {"step_us": 2200.0, "bytes": 1}
    answers = {"pytorch": {"step_us": 2000.0}, "sequential": ours}
    results = _results()
    results["points"] = {"lstm-h512-b64-t1000": {"point": point, "answers": answers}}
    (row,) = [row for row in tables.bar_rows(results) if "LSTM" in row]
    assert row.endswith("| 1.2 x | 1.1 x | sequential | pass |")
    del answers["pytorch"]
    (row,) = [row for row in tables.bar_rows(results) if "LSTM" in row]
    assert row.endswith("not measured |")


def test_plot_axes_are_logarithmic():
    import plots

    axis = plots.Axis([20, 30000], 100, 500)
    assert axis.ticks() == [10, 100, 1000, 10000, 100000]
    assert [axis.place(tick) for tick in axis.ticks()] == [100, 200, 300, 400, 500]
    assert "a &lt; b" in plots.chart("t", {"a < b": [(5, 7.0)]})


def test_bar_points_come_first():
    import run

    options = argparse.Namespace(cells=("rnn", "gru"), hidden=(8, 20))
    options.batch, options.steps = (1, 16), (100, 1000)
    points = run.ordered_points(options, run.models_of(options))
    assert [p["steps"] for p in points[:3]] == [1000, 30000, 1034]
    assert len(points) == len({str(sorted(p.items())) for p in points})


def test_error_message_of_failed_program():
    import run

    turns = run.Turns(lambda repeat: run.call([sys.executable, "-c", "exit('no GPU')"], 60), 0.1)
    turns.take()
    assert "no GPU" in turns.summary()["error"]


PTX = """
.visible .entry chain_kernel_1(
)
.maxntid 64, 1, 1
{
	ld.global.b32 	%r1, [%rd1];
$L__BB0_1:
	bar.sync 	0;
	@%p1 bra 	$L__BB0_3;
$L__BB0_2:
	ld.shared.b32 	%r2, [%rd2];
	fma.rn.ftz.f32 	%r3, %r1, %r2, %r3;
	@%p2 bra 	$L__BB0_2;
$L__BB0_3:
	st.shared.b32 	[%rd3], %r3;
	add.ftz.f32 	%r4, %r3, %r3;
	@%p3 bra 	$L__BB0_1;
	ret;
}
"""


def test_instructions_of_a_step_are_counted():
    import kernels

    (kernel,) = kernels.kernels_of(PTX, "chain_.*")
    assert kernel.threads == 64
    assert kernel.step == {"barrier": 1, "store": 1, "float": 1, "other": 2}
    assert kernel.inner == {"ld.shared": 1, "fma": 1, "other": 1}
    assert list(kernels.kernels_of(PTX, "scan_.*")) == []
    found = kernels.cells("m", kernel, {"chain_kernel_1": (255, 0, 8)})
    assert found[2:8] == ["64", "255", "0", "8", "4 (12 %)", "0 + 1n"]


def test_single_warp_block_uses_warp_barriers():
    import kernels

    (kernel,) = kernels.kernels_of(PTX.replace("bar.sync 	0", "bar.warp.sync 	-1"), "chain_.*")
    assert kernel.step == {"barrier": 1, "store": 1, "float": 1, "other": 2}


def test_kernel_table():
    pytest.importorskip("onnx")
    if not COMPILER.exists():
        pytest.skip(f"{COMPILER} is not built")
    script = FOLDER / "kernels.py"
    text = _run("--cells", "rnn", "--hidden", "8", "--compiler", COMPILER, script=script)
    assert "| RNN 8 | recurrence_kernel" in text and "| RNN 8 | chain_kernel" in text
