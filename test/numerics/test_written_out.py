"""Layers and loops that exporters unroll: each becomes one loop, gradients match PyTorch, and
compile time does not depend on the number of steps (see export_written_out.py)."""

import re
import resource

import harness
import numpy as np
import onnx
import pytest
from written_out import WrittenOut

INPUTS = harness.ROOT / "test" / "numerics" / "Inputs" / "written_out"
# Number of loops with states per model.
LOOPS = {
    "fixed_batch": 2,
    "gated": 1,
    "learned_state": 2,
    "positions": 1,
    "relu": 2,
    "scaled": 1,
    "tanh": 1,
    "three_layers": 3,
    "translator": 2,
    "two_directions": 4,
    "unoptimized": 2,
}
# The exporter folds the first step's update of a zero state into a separate initializer.
FOLDED = {"fixed_batch": {"linear_1": "rnn.bias_hh_l0", "linear_14": "rnn.bias_hh_l0_reverse"}}


def import_model(path):
    compiler = harness.require_tool("bppsa-compile")
    return harness.check_succeeded(harness.run(compiler, path, "--compile-to=import", "-o", "-")).stdout


def count_loops(ir):
    return len(re.findall(r"bppsa\.recurrence.* initial\(", ir))


def write(steps, directory, **options):
    path = directory / f"steps_{steps}.onnx"
    onnx.save(WrittenOut(steps, **options).model(), path)
    return path


def check_gradients(name, *options):
    arrays = dict(np.load(INPUTS / f"{name}.npz"))
    exact = {key.removeprefix("grad/"): arrays.pop(key) for key in list(arrays) if key.startswith("grad/")}
    found = dict(harness.compile_model(INPUTS / f"{name}.onnx", "--loss=mse", *options).grad(arrays))
    for initializer, bias in FOLDED.get(name, {}).items():
        found[bias] = found[bias] + found.pop(initializer).sum((0, 1))
    assert found.keys() == exact.keys()
    for key, gradient in exact.items():
        assert found[key].shape == gradient.shape
        assert harness.relative_error(found[key], gradient) < 1e-5, key


@pytest.mark.parametrize("name", LOOPS)
def test_gradients(name):
    ir = import_model(INPUTS / f"{name}.onnx")
    assert count_loops(ir) == LOOPS[name]
    # All loop bodies are in vector form, as scans and GPUs require.
    assert "linalg.generic" not in "".join(re.findall(r"bppsa\.recurrence.*?bppsa\.yield", ir, re.DOTALL))
    check_gradients(name)


def test_emulated_gpu():
    check_gradients("relu", "--target=cuda", "--emulate")


def test_scan():
    check_gradients("unoptimized", "--backward=scan", "--scan=blelloch")


@pytest.mark.parametrize("layers, directions", [(1, 1), (2, 2)])
def test_loops_do_not_depend_on_steps(layers, directions, tmp_path):
    """The imported IR differs only in numbers, for any number of steps."""
    imported = [import_model(write(steps, tmp_path, layers=layers, directions=directions)) for steps in (12, 200)]
    assert [count_loops(ir) for ir in imported] == [layers * directions] * 2
    few, many = (re.sub(r"\d+", "", ir) for ir in imported)
    assert few == many


def test_few_steps_are_not_rolled_up(tmp_path):
    assert count_loops(import_model(write(3, tmp_path))) == 0
    assert count_loops(import_model(write(4, tmp_path))) == 1


def compile_in(path):
    """Returns the CPU time of a compilation in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [harness.require_tool("bppsa-compile"), path, "--loss=mse", "-o", path.with_suffix("")]
    harness.check_succeeded(harness.run(*command))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_compile_time(tmp_path):
    few, many = (compile_in(write(steps, tmp_path)) for steps in (40, 400))
    assert many < 1.5 * few + 1
