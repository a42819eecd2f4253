"""Regression tests: bppsa-compile divided by zero, and printed line breaks and control characters
of its input unescaped."""

import harness
import models
import onnx
import pytest


def compile_example(*options):
    model = harness.ROOT / "examples" / "bitstream_rnn.onnx"
    return harness.run(harness.require_tool("bppsa-compile"), model, *options)


def test_invalid_number_of_stages(tmp_path):
    output = tmp_path / "out"
    for option in ("--pipeline=0", "--pipeline=-1"):
        run = compile_example("-o", output, "--distributed=mpi", option)
        assert run.returncode == 2
        assert run.stderr.startswith("bppsa-compile: --pipeline must be 2 to 1024, found ")
        assert run.stderr.count("\n") == 1 and not output.exists()


@pytest.mark.parametrize("option", ["--loss=a\nb", "--report-length=a\nb", "--a\nb", "-a\nb"])
def test_line_breaks_in_options(option):
    run = compile_example(option)
    assert run.returncode == 2 and run.stderr.count("\n") == 1, run.stderr
    assert run.stderr.startswith("bppsa-compile: ")


def test_control_characters_in_options():
    run = compile_example("-o", "out", "--loss=\x1b[1m")
    assert run.returncode == 2
    assert run.stderr.endswith("found '\\x1b[1m'\n")


def test_control_characters_in_models(tmp_path):
    model = models.build(models.Spec("RNN"))
    model.graph.input[0].name = "a\nb\x1b[1mé"
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    compiler = harness.require_tool("bppsa-compile")
    run = harness.run(compiler, path, "-o", tmp_path / "out", "--compile-to=import", "--emit=mlir")
    assert run.returncode == 1
    assert run.stderr.count("\n") == 1 and "\x1b" not in run.stderr, run.stderr


def test_scan_of_stream_is_refused(tmp_path):
    model = harness.ROOT / "examples" / "denoiser_step.onnx"
    options = ["--loss=mse", "--carry=cache:cache_next,h:h_next", "--scan=blelloch"]
    compiler = harness.require_tool("bppsa-compile")
    run = harness.run(compiler, model, "-o", tmp_path / "out", *options)
    assert run.returncode == 1 and run.stderr.count("\n") == 1
    assert "'bppsa.chain' op" not in run.stderr and "use --backward=sequential" in run.stderr
