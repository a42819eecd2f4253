"""`cmake --install` and the CMake package: an installation is relocatable and self-contained."""

import json
import shutil

import harness
import numpy as np
import onnxruntime
import pytest

MODELS = [harness.ROOT / "examples" / name for name in ("bitstream_rnn.onnx", "irmas_gru.onnx")]


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Returns an installation that was moved after `cmake --install`."""
    directory = tmp_path_factory.mktemp("install")
    first, moved = directory / "first", directory / "moved"
    install = harness.run("cmake", "--install", harness.BUILD, "--prefix", first)
    harness.check_succeeded(install)
    first.rename(moved)
    return moved


def describe(program):
    return json.loads(harness.check_succeeded(harness.run(program, "info")).stdout)


def test_installation_has_no_build_or_source_paths(prefix):
    if "CMAKE_BUILD_TYPE:STRING=Debug" in (harness.BUILD / "CMakeCache.txt").read_text():
        pytest.skip("debug information and assertions name the sources")
    files = [path for path in prefix.rglob("*") if path.is_file()]
    assert {"bppsa-compile", "libBPPSACompiler.a", "libbppsa_emulator.a", "libbppsa_runtime.a", "libbppsa.so", "Compiler.h", "Program.h", "dlpack.h"} <= {
        path.name for path in files
    }
    needles = [str(path).encode() for path in {harness.BUILD, harness.ROOT}]
    found = [str(path) for path in files if any(n in path.read_bytes() for n in needles)]
    assert not found


def test_included_headers_are_installed(prefix):
    """All included headers of the compiler are installed, including generated ones."""
    include = prefix / "include"
    missing = {
        name
        for path in include.rglob("*.h")
        for line in path.read_text().splitlines()
        if line.startswith('#include "bppsa/')
        for name in [line.split('"')[1]]
        if not (include / name).exists()
    }
    assert not missing


def test_installed_compiler(prefix, tmp_path):
    program = tmp_path / "trainer"
    command = [prefix / "bin" / "bppsa-compile", MODELS[0], "-o", program]
    harness.check_succeeded(harness.run(*command, cwd=tmp_path))
    assert describe(program)["source"] == MODELS[0].name


def train_in_c(program, output):
    """Training fits its 16 sequences and writes a model that ONNX Runtime runs."""
    result = harness.check_succeeded(harness.run(program, MODELS[1], output))
    _, loss, _, accuracy = result.stdout.split()
    assert float(loss) < 1 and float(accuracy) > 0.8
    session = onnxruntime.InferenceSession(output)
    (logits,) = session.run(None, {"x": np.zeros((7, 3, 12), np.float32)})
    assert logits.shape == (3, 11) and output.read_bytes() != MODELS[1].read_bytes()


def test_project_that_embeds_the_compiler(prefix, tmp_path):
    source = shutil.copytree(harness.ROOT / "examples" / "embed", tmp_path / "source")
    build = tmp_path / "build"
    configure = ["cmake", "-G", "Ninja", "-S", source, "-B", build]
    configure += [f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_CXX_COMPILER=clang++-22"]
    configure += ["-DCMAKE_C_COMPILER=clang-22", "-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld"]
    harness.check_succeeded(harness.run(*configure))
    harness.check_succeeded(harness.run("cmake", "--build", build))
    harness.check_succeeded(harness.run(build / "compile_models", *MODELS, cwd=tmp_path))
    train_in_c(build / "train_in_c", tmp_path / "trained.onnx")
    for model in MODELS:
        info = describe(tmp_path / model.stem)
        assert (info["source"], info["optimizer"]) == (model.name, "sgd")
        expected = tmp_path / f"{model.stem}.expected"
        command = [prefix / "bin" / "bppsa-compile", model, "--optimizer=sgd", "-o", expected]
        harness.check_succeeded(harness.run(*command))
        assert expected.read_bytes() == (tmp_path / model.stem).read_bytes()
