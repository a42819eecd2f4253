# Part of the bppsa project, under the MIT License.
"""Plots of runs and models, and the examples of the package."""

import subprocess
import sys

import bitstreams
import harness
import pytest

pytest.importorskip("bppsa._native", reason="the package is not built: utils/python.sh")
import bppsa.plot  # noqa: E402

LINES = '{"epoch":1,"loss":2.0,"val_loss":null}\n{"epoch":2,"loss":1.0,"val_loss":1.5}\n'


def test_logs(tmp_path):
    (tmp_path / "run.jsonl").write_text(LINES)
    assert [record["loss"] for record in bppsa.plot.read_log(tmp_path / "run.jsonl")] == [2.0, 1.0]
    epoch = bppsa.Epoch(1, 2.0, None, None, 0.1, 0.0, 1e-3, "sequential")
    assert bppsa.plot.read_log([epoch])[0]["loss"] == 2.0
    for text in ("{", "[1]\n"):
        (tmp_path / "bad").write_text(text)
        with pytest.raises(bppsa.Error, match="bad"):
            bppsa.plot.read_log(tmp_path / "bad")


def test_loss_curves(tmp_path):
    matplotlib = pytest.importorskip("matplotlib", reason="Matplotlib is not installed")
    matplotlib.use("agg")
    (tmp_path / "run.jsonl").write_text(LINES)
    axes = bppsa.plot.losses(tmp_path / "run.jsonl")
    curves = {line.get_label(): line.get_xydata().tolist() for line in axes.get_lines()}
    assert curves == {"run loss": [[1, 2], [2, 1]], "run val_loss": [[2, 1.5]]}
    assert bppsa.plot.losses(tmp_path / "run.jsonl", axes=axes) is axes


def test_report(tmp_path):
    page = bppsa.plot.report(bitstreams.MODEL, report_length=100)
    assert page.page.startswith("<!") and '"plan":"blelloch"' in page.page
    assert "<iframe" in page._repr_html_()
    page.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text() == page.page


def run_example(name, *arguments, folder):
    script = harness.ROOT / "examples" / "python" / name
    environment = {"PYTHONPATH": str(harness.BUILD / "python"), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, str(script), *arguments]
    run = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_fine_tuning_example(tmp_path):
    text = run_example("fine_tune_stream.py", "--epochs", "2", folder=tmp_path)
    before, after = (float(word) for word in text.split()[3::2])
    assert after < 0.9 * before
    assert (tmp_path / "tuned.onnx").exists()


def test_scan_plans_example(tmp_path):
    lines = run_example("scan_plans.py", "--steps", "200", folder=tmp_path).splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["linear", "blelloch", "chunked:64"]
    assert all(float(line.split()[2]) < 1e-4 for line in lines[2:])


def test_swapped_layers_example(tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed: utils/check.sh --torch")
    lines = run_example("swap_gru.py", "--steps", "5", "--length", "50", folder=tmp_path).splitlines()
    losses = [[float(word) for word in line.split()[2:5:2]] for line in lines]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


NOTEBOOK = """
import importlib.util, json, pathlib, sys

has_matplotlib = importlib.util.find_spec("matplotlib") is not None
if has_matplotlib:
    __import__("matplotlib").use("agg")
names = {}
for cell in json.loads(pathlib.Path(sys.argv[1]).read_text())["cells"]:
    is_drawn = "matplotlib" in cell["metadata"].get("tags", [])
    if cell["cell_type"] == "code" and (has_matplotlib or not is_drawn):
        exec("".join(cell["source"]), names)
assert names["after"] < 0.9 * names["before"] and len(names["history"]) == 4
assert (names["folder"] / "tuned.onnx").exists()
"""


def test_notebook(tmp_path):
    """The notebook cells run in order; plotting cells require Matplotlib."""
    notebook = harness.ROOT / "examples" / "python" / "fine_tune_stream.ipynb"
    environment = {"PYTHONPATH": str(harness.BUILD / "python"), "PATH": "", "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", NOTEBOOK, notebook]
    harness.check_succeeded(harness.run(*command, cwd=notebook.parent, env=environment))
