"""Executables that the compiler writes if there is no linker on PATH."""

import harness
import models
import numpy as np
import pytest

SPECS = {
    "GRU": models.Spec("GRU", hidden=20, head="steps"),
    "layers": models.Spec("LSTM", hidden=8, layers=2, direction="bidirectional"),
}


def compile_alone(model, path, *options):
    source = path.with_suffix(".onnx")
    source.write_bytes(model.SerializeToString())
    command = [harness.require_tool("bppsa-compile"), source, "-o", path, *options]
    return harness.run(*command, env={"PATH": ""})


@pytest.mark.parametrize("name", SPECS)
def test_gradients_equal_linked_program(name, tmp_path):
    model = models.build(SPECS[name])
    options = ["--loss=mse", "--mcpu=native"]
    harness.check_succeeded(compile_alone(model, tmp_path / "alone", *options))
    linked = harness.compile_model(model, *options)
    np.savez(tmp_path / "data.npz", **models.data(model, {"T": 30, "B": 5}, "mse"))
    for backward in ("sequential", "scan"):
        files = ["--data", tmp_path / "data.npz", "--threads=2", f"--backward={backward}"]
        out = ["--mapping=lanes", "--out"]
        harness.check_succeeded(harness.run(tmp_path / "alone", "grad", *files, *out, tmp_path / "alone.npz"))
        harness.check_succeeded(linked.run("grad", *files, *out, tmp_path / "linked.npz"))
        assert (tmp_path / "alone.npz").read_bytes() == (tmp_path / "linked.npz").read_bytes()


def test_outputs_that_need_a_linker(tmp_path):
    model = models.build(models.Spec("RNN"))
    for emit in ("shared", "obj"):
        run = compile_alone(model, tmp_path / "none", f"--emit={emit}", "--mcpu=x86-64-v2")
        assert run.returncode == 1 and "no linker was found" in run.stderr
        assert not (tmp_path / "none").exists()


def test_truncated_programs(tmp_path):
    model = models.build(models.Spec("RNN"))
    path = tmp_path / "program"
    harness.check_succeeded(compile_alone(model, path, "--mcpu=x86-64-v2"))
    content = path.read_bytes()
    for damaged in (content[:-1], content[:-2000], (harness.BUILD / "lib" / "bppsa-stub").read_bytes()):
        path.write_bytes(damaged)
        run = harness.run(path, "info")
        assert run.returncode == 1 and "there is no model in this program" in run.stderr
    path.write_bytes(content[:-3000] + content[-16:])
    run = harness.run(path, "info")
    assert run.returncode == 1 and "is cut short" in run.stderr
