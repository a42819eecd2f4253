"""Compile time and program size are limited and do not depend on the sequence length."""

import resource

import harness
import models
import pytest


def seconds_of_children():
    """Returns CPU time, which does not depend on the load of the machine."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def compile_fixed(tmp_path, length, cell):
    source, output = tmp_path / f"{length}.onnx", tmp_path / f"{length}"
    model = models.build(models.Spec(cell, fixed_time=length, hidden=20))
    source.write_bytes(model.SerializeToString())
    compiler = harness.require_tool("bppsa-compile")
    start = seconds_of_children()
    harness.check_succeeded(harness.run(compiler, source, "-o", output))
    return seconds_of_children() - start, output.stat().st_size


@pytest.mark.parametrize("cell", models.GATES)
def test_length_does_not_matter(tmp_path, cell):
    # Loops with few iterations may be simplified, so the short length is not very short.
    short_time, short_size = compile_fixed(tmp_path, 1000, cell)
    long_time, long_size = compile_fixed(tmp_path, 30000, cell)
    assert abs(long_size - short_size) <= 0.01 * short_size
    assert long_time <= 1.5 * short_time + 1.0


def test_code_of_one_layer(tmp_path):
    """Most of the compile time goes into code generation, so the test limits the size of the
    object, which is the same on every machine.

    It was 231 kB when the limit was set, including 15 kB for loss rows processed in parallel
    and 24 kB for chains and sums in blocks of steps. Full array descriptors added 100 kB.
    """
    output = tmp_path / "object"
    command = [harness.require_tool("bppsa-compile"), harness.ROOT / "examples" / "irmas_gru.onnx"]
    command += ["--loss=cross-entropy", "--mcpu=x86-64-v3", "--emit=obj", "-o", output]
    harness.check_succeeded(harness.run(*command))
    assert output.stat().st_size < 240_000
