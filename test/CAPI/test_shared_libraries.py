"""Libraries compiled with `--emit=shared`, opened directly and loaded by libbppsa."""

import subprocess

import capi
import harness
import models
import numpy as np
import pytest

MODEL = models.build(models.Spec("RNN"))
OPTIONS = ["--loss=cross-entropy", "--backward=sequential", "--mcpu=native"]


def compile_library(path, *options):
    source = path.with_suffix(".onnx")
    source.write_bytes(MODEL.SerializeToString())
    command = [harness.require_tool("bppsa-compile"), source, "--emit=shared", "-o", path]
    harness.check_succeeded(harness.run(*command, *options))
    return path


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return compile_library(tmp_path_factory.mktemp("shared") / "rnn.so", *OPTIONS)


@pytest.fixture(scope="module", params=["open", "load"])
def program(request, library):
    return getattr(capi.Program, request.param)(library)


@pytest.fixture
def arrays():
    return models.data(MODEL, {"T": 6, "B": 5}, "cross-entropy")


def test_gradients_equal_executable(program, arrays):
    expected = harness.compile_model(MODEL, *OPTIONS[:2]).grad(arrays)
    loss, gradients = program.grad(arrays)
    assert np.float32(loss) == expected.pop("loss")
    for name, gradient in gradients.items():
        np.testing.assert_array_equal(gradient, expected[name])
    assert program.description["loss"] == "cross-entropy"


def test_training(program, arrays):
    first = program.step(arrays, lr=0.1)
    for _ in range(20):
        loss = program.step(arrays, lr=0.1)
    assert loss < first / 2
    program.reset()
    assert program.step(arrays, lr=0.1) == first
    program.reset()


def test_errors_have_messages(program, arrays):
    with pytest.raises(capi.Failure, match="there is no array 'x'"):
        program.step({"target": arrays["target"]})
    with pytest.raises(capi.Failure, match="there is no array 9"):
        program.call("bppsaProgramGetArray", 0, capi.c.c_ssize_t(9), None)


def test_programs_of_a_library_are_independent(library, arrays):
    one, other = capi.Program.load(library), capi.Program.load(library)
    first = one.step(arrays, lr=0.1)
    assert one.step(arrays, lr=0.1) != first
    assert other.step(arrays, lr=0.1) == first


def test_exports(library):
    """A library exports the C API without the compiler and needs no C++ library."""
    listing = harness.check_succeeded(harness.run("nm", "-D", "--defined-only", library)).stdout
    names = {line.split()[-1] for line in listing.splitlines()}
    assert {"bppsaProgramOpen", "bppsaProgramStep", "bppsaGetLastError"} <= names
    assert all(name.startswith(("bppsaProgram", "bppsaGet")) for name in names)
    needed = harness.check_succeeded(harness.run("readelf", "-d", library)).stdout
    for word in ("libstdc++", "libgomp", "libomp", "libLLVM", "libMLIR", "libbppsa"):
        assert word not in needed


def test_libbppsa_exports_only_its_interface():
    listing = harness.run("nm", "-D", "--defined-only", harness.BUILD / "lib/libbppsa.so").stdout
    names = {line.split()[-1] for line in listing.splitlines()}
    prefixes = ("bppsaCompile", "bppsaBytes", "bppsaGet", "bppsaOptions", "bppsaProgram")
    assert names and all(name.startswith(prefixes) for name in names)


def test_emulated_gpu_kernels(tmp_path, arrays):
    library = compile_library(tmp_path / "gpu.so", *OPTIONS[:2], "--target=cuda", "--emulate")
    expected = harness.compile_model(MODEL, *OPTIONS[:2]).grad(arrays)
    for program in (capi.Program.open(library), capi.Program.load(library)):
        loss, gradients = program.grad(arrays)
        assert loss == pytest.approx(float(expected["loss"]), rel=1e-5)
        for name, gradient in gradients.items():
            np.testing.assert_allclose(gradient, expected[name], rtol=1e-4, atol=1e-6)
        before = {name: view.copy() for name, view in program.parameters().items()}
        program.step(arrays, lr=0.1)
        assert all((view != before[name]).any() for name, view in program.parameters().items())
        (output,) = program.infer({"x": arrays["x"]}).values()
        assert np.isfinite(output).all()


def test_files_that_are_not_programs(tmp_path):
    with pytest.raises(capi.Failure, match="cannot be loaded"):
        capi.Program.load(tmp_path / "none.so")
    source = tmp_path / "empty.c"
    source.write_text("int nothing;\n")
    subprocess.run(["clang-22", "-shared", "-o", tmp_path / "empty.so", source], check=True)
    with pytest.raises(capi.Failure, match="is not a program compiled with --emit=shared"):
        capi.Program.load(tmp_path / "empty.so")
