"""The compilation cache in BPPSA_CACHE: models and functions are compiled only once."""

import os
import subprocess
import sys

import capi
import harness
import models
import numpy as np
import pytest

MODEL = models.build(models.Spec("RNN"))
OPTIONS = {"loss": "cross-entropy", "backward": "sequential", "O": 1}


@pytest.fixture
def cache(tmp_path, monkeypatch):
    directory = tmp_path / "cache"
    monkeypatch.setenv("BPPSA_CACHE", str(directory))
    return directory


def programs_in(cache):
    """Returns the cached models, followed by the cached code of functions."""
    return sorted(cache.glob("*.program"), key=lambda path: (len(path.name), path.name))


def compile_program(model=MODEL, diagnostics=None, **options):
    return capi.Program.compile(model.SerializeToString(), diagnostics, **{**OPTIONS, **options})


def gradients(program):
    return program.grad(models.data(MODEL, {"T": 6, "B": 5}, "cross-entropy"))


def test_cached_programs_are_reused(cache):
    loss, expected = gradients(compile_program())
    paths = programs_in(cache)
    model, function = paths
    assert function.name == f"{model.stem}-grad_sequential.program"
    written = [path.stat().st_ino for path in paths]
    found_loss, found = gradients(compile_program())
    assert programs_in(cache) == paths and [path.stat().st_ino for path in paths] == written
    assert found_loss == loss
    for name, gradient in found.items():
        np.testing.assert_array_equal(gradient, expected[name])


def test_models_and_options_are_part_of_the_key(cache):
    compile_program()
    compile_program(optimizer="sgd")
    compile_program(models.build(models.Spec("RNN", hidden=5)))
    assert len(programs_in(cache)) == 3


@pytest.mark.parametrize("damage", [lambda b: b[:-9], lambda b: b[:99] + b"!" + b[100:], lambda b: b""])
def test_damaged_files_are_rewritten(cache, damage):
    expected = gradients(compile_program())[0]
    whole = {path: path.read_bytes() for path in programs_in(cache)}
    for path, content in whole.items():
        path.write_bytes(damage(content))
    assert gradients(compile_program())[0] == expected
    assert {path: path.read_bytes() for path in programs_in(cache)} == whole


def test_warnings_are_repeated_for_cached_programs(cache):
    found = [[], []]
    for diagnostics in found:
        capi.Program.compile(harness.ROOT / "examples/rnn_fixed_t.onnx", diagnostics, O=0)
    assert found[0] and found[0] == found[1]


def test_size_limit(cache, monkeypatch):
    """The least recently used file is evicted."""
    compile_program()
    (first,) = programs_in(cache)
    compile_program(optimizer="sgd")
    second = (set(programs_in(cache)) - {first}).pop()
    os.utime(second, (1, 1))
    monkeypatch.setenv("BPPSA_CACHE_SIZE", str(first.stat().st_size * 5 // 2))
    compile_program(optimizer="momentum")
    assert first in programs_in(cache) and second not in programs_in(cache)
    assert len(programs_in(cache)) == 2


def test_unusable_directory(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BPPSA_CACHE", str(tmp_path / "file" / "cache"))
    found = []
    assert np.isfinite(gradients(compile_program(diagnostics=found))[0])
    assert any("BPPSA_CACHE" in text and "the program is not cached" in text for _, text in found)


def test_concurrent_processes(cache):
    """Processes that compile the same model at the same time leave one complete file."""
    code = "import test_cache as t; print(t.gradients(t.compile_program())[0])"
    paths = [harness.ROOT / "test", harness.ROOT / "test/numerics", harness.ROOT / "test/CAPI"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    command = [sys.executable, "-c", code]
    running = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    losses = {process.communicate()[0] for process in running}
    assert len(losses) == 1 and all(process.returncode == 0 for process in running)
    assert len(programs_in(cache)) == 2
    assert gradients(compile_program())[0] == float(losses.pop())
