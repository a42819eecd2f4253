"""Usage errors of bppsa-compile, listings, and output of IR, assembly and objects."""

import harness
import models
import onnx
import pytest
from onnx import TensorProto, helper


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(models.build(models.Spec("GRU")).SerializeToString())
    return path


@pytest.fixture
def compiler():
    return harness.require_tool("bppsa-compile")


@pytest.mark.parametrize(
    "options",
    [
        ["--frobnicate"],
        ["--loss=frobnicate"],
        ["--optimizer=frobnicate"],
        ["--backward=frobnicate"],
        ["--scan=frobnicate"],
        ["--scan=chunked:0"],
        ["--scan=hybrid:-1"],
        ["--emit=frobnicate"],
        ["--compile-to=frobnicate"],
        ["--target=frobnicate"],
        ["-O7"],
        ["-Oz"],
        ["--emulate"],
        ["--gpu-arch=sm_90"],
        ["--report-length=0"],
        ["--batch-axis=x"],
        ["--batch-axis=x:-1"],
        ["--jacobians=sparse"],
        ["--jacobians=dense"],
        ["--jacobians=dense", "--scan=blelloch", "--target=cuda"],
        ["--memory-limit=lots"],
        ["--memory-limit=-1"],
        ["--memory-limit=1.5G"],
    ],
    ids=lambda options: options[0],
)
def test_wrong_usage(compiler, source, tmp_path, options):
    result = harness.run(compiler, source, "-o", tmp_path / "out", *options)
    assert result.returncode == 2, result.stderr
    assert result.stderr.strip() and result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("word", ["--frobnicate", "second.onnx"])
def test_unexpected_arguments(compiler, source, tmp_path, word):
    result = harness.run(compiler, source, word, "-o", tmp_path / "out")
    assert result.returncode == 2 and result.stderr.count("\n") == 1
    assert ("'--frobnicate'" in result.stderr) == (word == "--frobnicate")


def test_no_arguments(compiler):
    assert harness.run(compiler).returncode == 2


def test_missing_output_option(compiler, source):
    assert harness.run(compiler, source).returncode == 2


def test_version(compiler):
    result = harness.check_succeeded(harness.run(compiler, "--version"))
    assert "bppsa 0.1.0" in result.stdout
    assert "22.1" in result.stdout


def test_help(compiler):
    result = harness.check_succeeded(harness.run(compiler, "--help"))
    for option in ("--loss", "--optimizer", "--scan", "--backward", "--emit", "--freeze"):
        assert option in result.stdout


def test_help_lists_only_own_options(compiler):
    """The options of MLIR and LLVM are in --help-hidden."""
    text = harness.check_succeeded(harness.run(compiler, "--help")).stdout
    assert "mlir" not in text.split("--dump-phases-to")[0] and len(text.splitlines()) < 120
    groups = ["Model and parameters", "Loss and optimizer", "Backward pass", "Target", "Output"]
    places = [text.index(f". {group}:") for group in groups]
    assert places == sorted(places)
    for option, default in [
        ("--loss=", "cross-entropy"), ("--optimizer=", "adam"), ("--scan=", "auto"),
        ("--target=", "cpu"), ("--emit=", "exe"), ("--memory-limit=", "1G"), ("-O", "3"),
    ]:  # fmt: skip
        (line,) = [line for line in text.splitlines() if line.strip().startswith(option)]
        assert "default" in line and default in line
    assert "--help-hidden" in text
    hidden = harness.check_succeeded(harness.run(compiler, "--help-hidden")).stdout
    assert "--mlir-print-ir-after-all" in hidden and "--loss=" in hidden


@pytest.mark.parametrize(
    "word, guess",
    [("--optimiser=sgd", "optimizer"), ("--los=mse", "loss"), ("--untied", "untie"), ("--xyz", None)],
)
def test_misspelled_options(compiler, source, tmp_path, word, guess):
    result = harness.run(compiler, source, word, "-o", tmp_path / "out")
    assert result.returncode == 2 and result.stderr.count("\n") == 1
    if guess:
        assert f"unknown option '{word}', did you mean '--{guess}'; see --help" in result.stderr
    else:
        assert "did you mean" not in result.stderr.lower()


def test_list_targets(compiler):
    result = harness.check_succeeded(harness.run(compiler, "--list-targets"))
    assert "cpu" in result.stdout
    assert "x86-64-v4" in result.stdout


def test_list_support(compiler):
    result = harness.check_succeeded(harness.run(compiler, "--list-support"))
    for op in ("RNN", "GRU", "LSTM", "MatMul", "LayerNormalization", "ConstantOfShape"):
        assert op in result.stdout


@pytest.mark.parametrize("options, warns", [([], True), (["--freeze=^s$"], False), (["--train=^s$"], False)], ids=str)
def test_ambiguous_initializers_are_named(compiler, tmp_path, options, warns):
    """Exporters may store constants in scalars whose names do not say so."""
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N", 3]) for n in "xy")
    scalar = helper.make_tensor("s", TensorProto.FLOAT, [], [2.0])
    node = helper.make_node("Mul", ["x", "s"], ["y"])
    model = tmp_path / "model.onnx"
    opsets = [helper.make_opsetid("", 17)]
    graph = helper.make_graph([node], "g", [x], [y], [scalar])
    onnx.save(helper.make_model(graph, opset_imports=opsets), model)
    command = [compiler, model, "--compile-to=import", "--loss=mse", "-o", tmp_path / "out"]
    result = harness.check_succeeded(harness.run(*command, *options))
    assert result.stderr.count("\n") == int(warns)
    warning = "initializers that may be buffers or constants are trained"
    assert (warning in result.stderr and "'s'; --freeze='^(s)$' keeps" in result.stderr) == warns


@pytest.mark.parametrize("phase", ["import", "loss", "differentiate", "scan"])
def test_compile_to_emits_valid_ir(compiler, source, tmp_path, phase):
    ir = tmp_path / "out.mlir"
    command = [compiler, source, "--emit=mlir", f"--compile-to={phase}", "-o", ir]
    harness.check_succeeded(harness.run(*command))
    harness.check_succeeded(
        harness.run(harness.require_tool("bppsa-opt"), ir, "--verify-roundtrip", "-o", "/dev/null")
    )
    expected = {"import": "bppsa.recurrence", "loss": "@loss", "differentiate": "bppsa.chain"}
    assert expected.get(phase, "bppsa.chain plan <") in ir.read_text()


def test_dump_phases(compiler, source, tmp_path):
    folder = tmp_path / "phases"
    command = [compiler, source, "-o", tmp_path / "out", f"--dump-phases-to={folder}"]
    harness.check_succeeded(harness.run(*command, "--mcpu=native"))
    names = {path.name.split(".")[0] for path in folder.iterdir()}
    assert {"import", "loss", "differentiate", "scan", "lower"} <= names


@pytest.mark.parametrize("kind,word", [("llvm", "define"), ("asm", ".text"), ("mlir", "module")])
def test_emit_text(compiler, source, tmp_path, kind, word):
    output = tmp_path / "out"
    harness.check_succeeded(harness.run(compiler, source, "-o", output, f"--emit={kind}"))
    assert word in output.read_text()


@pytest.mark.parametrize(
    "kind,magic", [("exe", b"\x7fELF"), ("shared", b"\x7fELF"), ("obj", b"\x7fELF")]
)
def test_emit_binary(compiler, source, tmp_path, kind, magic):
    output = tmp_path / "out"
    harness.check_succeeded(harness.run(compiler, source, "-o", output, f"--emit={kind}"))
    assert output.read_bytes().startswith(magic)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.onnx", "out"]


def test_program_needs_only_system_libraries(compiler, source, tmp_path):
    """A compiled trainer runs on a machine without a compiler."""
    output = tmp_path / "out"
    harness.check_succeeded(harness.run(compiler, source, "-o", output))
    needed = harness.run("ldd", output).stdout
    for line in needed.splitlines():
        name = line.split()[0].rsplit("/")[-1]
        assert name.startswith(("linux-vdso", "libc.", "libm.", "libpthread.", "ld-linux")), line
