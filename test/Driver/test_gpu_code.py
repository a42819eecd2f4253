"""GPU programs without a GPU: images, PTX, machine code, and refused options."""

import json
import os
import pathlib
import re
import shutil

import harness
import images
import models
import numpy as np
import pytest

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")  # the first is the oldest
KERNELS_OF_TIME_LOOPS = ("recurrence", "chain")


@pytest.fixture
def compiler():
    return harness.require_tool("bppsa-compile")


@pytest.fixture
def source(tmp_path):
    return save(tmp_path / "model.onnx", models.Spec("GRU"))


@pytest.fixture(scope="module")
def program():
    options = ["--target=cuda", "--gpu-arch=sm_80,sm_90"]
    return harness.compile_model(models.build(models.Spec("GRU")), *options)


@pytest.fixture(scope="module")
def emulated():
    return harness.compile_model(models.build(models.Spec("GRU")), "--target=cuda", "--emulate")


def save(path, spec):
    path.write_bytes(models.build(spec).SerializeToString())
    return path


def refused(result, status, *words):
    """Checks the exit status and for one line on standard error that contains the words."""
    assert result.returncode == status, f"status {result.returncode}: {result.stderr}"
    assert result.stderr.strip() and result.stderr.count("\n") == 1, result.stderr
    for word in words:
        assert word in result.stderr, f"'{word}' is not in: {result.stderr}"


def find_assembler():
    """Returns the ptxas that bppsa-compile uses, or None."""
    for root in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        path = pathlib.Path(root or "/", "bin", "ptxas")
        if root and os.access(path, os.X_OK):
            return path
    return shutil.which("ptxas")


def require_assembler():
    assembler = find_assembler()
    if not assembler:
        pytest.skip("there is no ptxas: it is part of the CUDA toolkit")
    return assembler


# --- programs -------------------------------------------------------------------------------------


def test_info_without_a_driver(program, monkeypatch):
    monkeypatch.setenv("BPPSA_CUDA_DRIVER", "/nowhere/libcuda.so")
    info = program.info()
    assert info["target"] == "cuda" and info["emulated"] is False
    machine_code = ["sm_80", "sm_90"] if find_assembler() else []
    assert info["images"] == [*machine_code, "ptx"]
    assert [variant["backward"] for variant in info["variants"]] == ["sequential", "scan"]
    assert {variant["mapping"] for variant in info["variants"]} == {"blocks"}


def test_info_of_an_emulated_program(emulated):
    info = emulated.info()
    assert info["target"] == "cuda" and info["emulated"] is True and info["images"] == []


def test_locations_in_emulated_kernels(emulated):
    """Messages of the emulator end with the node of the model and the instruction."""
    [name] = [node.name for node in emulated.model.graph.node if node.op_type == "GRU"]
    places = pathlib.Path(emulated.path).read_bytes()
    for kernel in KERNELS_OF_TIME_LOOPS:
        for instruction in ("load", "store", r"bar\.warp\.sync"):
            place = rf"\0node '{name}' \(GRU\), {instruction} \d+ of {kernel}_kernel_\d+\0"
            assert re.search(place.encode(), places), place
    assert b"\0optimizer adam, load 1 of update_kernel\0" in places


@pytest.mark.parametrize("command", ["train", "eval", "infer", "grad", "bench"])
def test_commands_without_a_driver(program, tmp_path, monkeypatch, command):
    monkeypatch.setenv("BPPSA_CUDA_DRIVER", "/nowhere/libcuda.so")
    data, out = tmp_path / "data.npz", tmp_path / "out.npz"
    np.savez(data, **models.data(program.model, {"T": 3, "B": 2}, "cross-entropy"))
    arguments = [] if command == "bench" else ["--data", data]
    if command in ("infer", "grad"):
        arguments += ["--out", out]
    result = program.run(command, *arguments)
    refused(result, 77, "/nowhere/libcuda.so", "compile with --emulate, or --target=cpu")
    assert not out.exists() and not result.stdout


def test_info_names_the_kernels_of_chains(emulated):
    """A small GRU has a thread per row or column (docs/Explanation/GPUMappings.md)."""
    (chain,) = emulated.info()["mappings"]
    assert chain["links"] == "block_per_row, threads = 32, stages = 8"
    assert chain["columns"].startswith("thread_per_column, threads = 32")


def test_program_needs_only_system_libraries(program):
    for line in harness.run("ldd", program.path).stdout.splitlines():
        name = line.split()[0].rsplit("/")[-1]
        assert name.startswith(("linux-vdso", "libc.", "libm.", "libpthread.", "ld-linux")), line


def test_toolkit_is_not_needed(compiler, source, tmp_path, monkeypatch):
    """Without ptxas, a program contains only PTX."""
    if os.access("/usr/local/cuda/bin/ptxas", os.X_OK):
        pytest.skip("/usr/local/cuda has a ptxas, which cannot be hidden")
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    output = tmp_path / "out"
    harness.check_succeeded(harness.run(compiler, source, "--target=cuda", "-o", output))
    assert json.loads(harness.run(output, "info").stdout)["images"] == ["ptx"]


@pytest.fixture
def fake_assembler(tmp_path, monkeypatch):
    """Returns a function that replaces ptxas by a shell script."""

    def place(script):
        assembler = tmp_path / "toolkit" / "bin" / "ptxas"
        assembler.parent.mkdir(parents=True)
        assembler.write_text("#!/bin/sh\n" + script)
        assembler.chmod(0o755)
        monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))

    return place


def test_failing_assembler(compiler, source, tmp_path, fake_assembler):
    fake_assembler("echo ptxas fatal: no\necho more\nexit 1\n")
    result = harness.run(compiler, source, "--target=cuda", "-o", tmp_path / "out")
    refused(result, 1, "cannot assemble for sm_90", "ptxas fatal: no")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("failing,named", [("sm_100", "sm_100"), ("sm_", "sm_90")])
def test_failing_architecture_is_named(compiler, source, tmp_path, fake_assembler, failing, named):
    """Architectures are assembled in parallel; the message names the first failure in the list."""
    fake_assembler(f'case "$*" in *{failing}*) echo ptxas fatal: no; exit 1;; esac\n')
    options = ["--target=cuda", "--gpu-arch=sm_90,sm_80,sm_100"]
    result = harness.run(compiler, source, *options, "-o", tmp_path / "out")
    refused(result, 1, f"cannot assemble for {named}: ptxas fatal: no")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("options", [["--gpu-arch=sm_80,sm_90"], ["--emulate"]], ids=str)
def test_programs_are_reproducible(compiler, source, tmp_path, options):
    outputs = [tmp_path / name for name in ("a", "b")]
    for output in outputs:
        command = [compiler, source, "--target=cuda", *options, "-o", output]
        harness.check_succeeded(harness.run(*command))
    assert outputs[0].read_bytes() == outputs[1].read_bytes()


# --- PTX ------------------------------------------------------------------------------------------


def emit_ptx(compiler, source, output, *options):
    command = [compiler, source, "--target=cuda", "--emit=ptx", "-o", output, *options]
    harness.check_succeeded(harness.run(*command))
    return output.read_text()


def test_ptx(compiler, source, tmp_path):
    ptx = emit_ptx(compiler, source, tmp_path / "out.ptx", "--gpu-arch=sm_90")
    assert re.findall(r"^\.target (\S+)$", ptx, re.MULTILINE) == ["sm_90"]
    assert ".extern" not in ptx and "__nv_" not in ptx
    entries = re.findall(r"^\.visible \.entry (\w+)\(", ptx, re.MULTILINE)
    assert len(entries) == ptx.count(".entry") == len(set(entries))
    assert {re.sub(r"_kernel.*", "", name) for name in entries} > {"recurrence", "chain", "update"}
    assert len(re.findall(r"^\.maxntid \d+, 1, 1$", ptx, re.MULTILINE)) == len(entries)


def test_ptx_is_reproducible(compiler, source, tmp_path):
    first, second = (emit_ptx(compiler, source, tmp_path / name) for name in ("a", "b"))
    assert first == second


@pytest.mark.parametrize(
    "architectures,common",
    [("sm_90,sm_80,sm_100", "sm_80"), ("sm_100,sm_90a", "sm_90"), ("sm_90a", "sm_90")],
)
def test_ptx_targets_the_oldest_architecture(compiler, source, tmp_path, architectures, common):
    """PTX has no architecture-specific features, so all newer GPUs run it."""
    option = f"--gpu-arch={architectures}"
    ptx = emit_ptx(compiler, source, tmp_path / "out.ptx", option)
    assert re.findall(r"^\.target (\S+)$", ptx, re.MULTILINE) == [common]
    program = tmp_path / "out"
    harness.check_succeeded(harness.run(compiler, source, "--target=cuda", option, "-o", program))
    assert ptx.encode() in program.read_bytes()
    images = json.loads(harness.run(program, "info").stdout)["images"]
    machine_code = architectures.split(",") if find_assembler() else []
    assert images == [*machine_code, "ptx"]


# --- machine code ---------------------------------------------------------------------------------


def assemble(assembler, arch, ptx, output):
    """Assembles a file and returns the resources of each kernel."""
    result = harness.run(assembler, "-v", "-O3", f"-arch={arch}", ptx, "-o", output)
    text = harness.check_succeeded(result).stderr
    kernels = {}
    for section in text.split("Compiling entry function ")[1:]:
        shared = re.search(r"(\d+) bytes smem", section)
        kernels[section.split("'")[1]] = {
            "registers": int(re.search(r"Used (\d+) registers", section)[1]),
            "shared": int(shared[1]) if shared else 0,
            "stack": int(re.search(r"(\d+) bytes stack frame", section)[1]),
            "spilled": sum(map(int, re.findall(r"(\d+) bytes spill", section))),
        }
    return kernels


CELLS = [(cell, hidden) for cell in ("RNN", "GRU", "LSTM") for hidden in (20, 64, 128)]
CELLS += [("LSTM", 10)]  # with the other cells of 20 units: the maximum number of rows per thread
PROGRAMS = [(*cell, 3, plan) for plan in ("chunked:32", "blelloch") for cell in CELLS]
PROGRAMS += [("LSTM", 512, 3, "sequential"), ("GRU", 1024, 3, "sequential")]  # several blocks
# Input projections of all gates at once: tiles filled by gates, and tiles of two gates.
PROGRAMS += [("GRU", 64, 64, "sequential"), ("LSTM", 30, 10, "sequential")]
# The maximum number of entries and sums per thread; tiles copied element by element.
PROGRAMS += [("LSTM", 18, 3, "chunked:32"), ("LSTM", 15, 8, "chunked:32"), ("LSTM", 33, 41, "sequential")]


@pytest.mark.parametrize("cell,hidden,features,plan", PROGRAMS)
def test_registers(compiler, tmp_path, cell, hidden, features, plan):
    """Kernels of time loops, and sums over them, do not spill.

    The code does not depend on the architecture, so the PTX of the oldest one is assembled for
    all. The resources of each kernel are written to the test results.
    """
    assembler = require_assembler()
    source = save(tmp_path / "model.onnx", models.Spec(cell, hidden=hidden, features=features, head="steps"))
    path = tmp_path / "out.ptx"
    passes = "--backward=sequential" if plan == "sequential" else f"--scan={plan}"
    options = [passes, f"--gpu-arch={ARCHITECTURES[0]}"]
    entries = re.findall(r"\.entry (\w+)\(", emit_ptx(compiler, source, path, *options))
    found = {arch: assemble(assembler, arch, path, tmp_path / arch) for arch in ARCHITECTURES}
    results = harness.BUILD / "test-results" / "gpu-kernels"
    results.mkdir(parents=True, exist_ok=True)
    name = f"{cell.lower()}-h{hidden}-i{features}-{plan.replace(':', '-')}.json"
    (results / name).write_text(json.dumps(found, indent=1))
    check_nothing_is_spilled(found, entries, (*KERNELS_OF_TIME_LOOPS, "outer_sum"))


def check_nothing_is_spilled(found, entries, hot):
    for arch, kernels in found.items():
        assert set(kernels) == set(entries)
        spilled = {
            kernel: needs["spilled"]
            for kernel, needs in kernels.items()
            if kernel.startswith(hot) and needs["spilled"]
        }
        assert not spilled, f"{arch}: bytes spilled by {spilled}"


def test_registers_of_sparse_products(compiler, tmp_path):
    assembler = require_assembler()
    model, _ = images.prune(images.small(), 60)
    source, path = tmp_path / "model.onnx", tmp_path / "out.ptx"
    source.write_bytes(model.SerializeToString())
    # The composition of the plan's first two matrices is sparse and differs per sample.
    options = ["--prune-zeros", "--backward=scan", "--scan=blelloch", f"--gpu-arch={ARCHITECTURES[0]}"]
    entries = re.findall(r"\.entry (\w+)\(", emit_ptx(compiler, source, path, *options))
    for kind in ("sparse_apply", "sparse_compose", "sparse_outer_sum"):
        assert any(entry.startswith(kind) for entry in entries), kind
    found = {arch: assemble(assembler, arch, path, tmp_path / arch) for arch in ARCHITECTURES}
    check_nothing_is_spilled(found, entries, "sparse")


# --- refused options ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options,word",
    [
        (["--target=cuda", "--gpu-arch=sm_20"], "sm_20"),
        (["--target=cuda", "--gpu-arch=foo"], "foo"),
        (["--target=cuda", "--gpu-arch=sm_90,"], "sm_90,"),
        (["--target=cuda", "--gpu-arch="], "--gpu-arch"),
        (["--target=cuda", "--gpu-arch=sm_999", "--emit=ptx"], "sm_999"),
        (["--gpu-arch=sm_90"], "--target=cuda"),
        (["--emulate"], "--target=cuda"),
        (["--precision=tf32"], "--target=cuda"),
        (["--target=cuda", "--precision=fp16"], "fp16"),
        (["--emit=ptx"], "--target=cuda"),
        (["--target=cuda", "--emit=asm"], "--emit=ptx"),
    ],
    ids=str,
)
def test_wrong_usage(compiler, source, tmp_path, options, word):
    output = tmp_path / "out"
    refused(harness.run(compiler, source, "-o", output, *options), 2, word)
    assert not output.exists()


@pytest.mark.parametrize("options", [[], ["--emulate"], ["--emit=ptx"]], ids=str)
def test_too_many_hidden_units(compiler, tmp_path, options):
    source = save(tmp_path / "model.onnx", models.Spec("RNN", hidden=1025))
    output = tmp_path / "out"
    result = harness.run(compiler, source, "-o", output, "--target=cuda", *options)
    refused(result, 1, "1025 rows", "1024 threads", "--target=cpu")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.onnx"]
