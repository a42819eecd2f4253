"""If an output cannot be written, the compiler prints one line with the file and the reason, and
leaves no files behind.

Regression test: `--emit=mlir`, `--emit=llvm` and `--dump-phases-to` left a truncated file and
printed `LLVM ERROR`.
"""

import os
import resource
import subprocess

import harness
import models
import pytest

TEXTS = ["mlir", "llvm", "asm", "report"]
BINARIES = ["obj", "exe", "shared"]


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(models.build(models.Spec("GRU")).SerializeToString())
    return path


@pytest.fixture
def compile_to(source, tmp_path):
    """Compiles with a separate directory for temporary files, which must be empty afterwards."""
    compiler = harness.require_tool("bppsa-compile")
    temporaries = tmp_path / "temporaries"
    temporaries.mkdir()

    def run(output, *options, limit=None, environment=None):
        def prepare():
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        command = [compiler, source, "--mcpu=x86-64-v2", "-O1", "-o", output, *options]
        variables = {**os.environ, "TMPDIR": str(temporaries), **(environment or {})}
        result = harness.run(*command, preexec_fn=prepare, env=variables)
        assert list(temporaries.iterdir()) == []
        return result

    return run


def check_refused(result, *words, status=1):
    assert result.returncode == status, result.stderr
    assert result.stderr.startswith("bppsa-compile: ") and result.stderr.count("\n") == 1
    assert "LLVM ERROR" not in result.stderr
    for word in words:
        assert str(word) in result.stderr


@pytest.mark.parametrize("kind", TEXTS + BINARIES)
def test_full_disk(compile_to, tmp_path, kind):
    """A limit on the file size has the effect of a full disk."""
    output = tmp_path / "folder" / "out"
    output.parent.mkdir()
    output.write_text("as before")
    result = compile_to(output, f"--emit={kind}", limit=500)
    words = ["cannot write", "File too large"]
    check_refused(result, *words, *([output] if kind in TEXTS else ["temporaries"]))
    assert [path.name for path in output.parent.iterdir()] == ["out"]
    assert output.read_text() == "as before"


@pytest.mark.parametrize("limit", [20000, 60000, 120000, 250000, 500000])
def test_full_disk_while_linking(compile_to, tmp_path, limit):
    """Some or all objects fit on the disk, but the linked program does not."""
    result = compile_to(tmp_path / "out", limit=limit)
    check_refused(result)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("limit", [500, 60000])
def test_full_disk_while_assembling(compile_to, tmp_path, limit):
    """PTX and the output of ptxas, if available, are temporary files."""
    check_refused(compile_to(tmp_path / "out", "--target=cuda", limit=limit))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("size", [100, 300, 1000, 2500])
def test_full_disk_of_temporary_files(source, tmp_path, size):
    """On a disk of some kilobytes, lld crashed and left files behind."""
    in_namespace = ["unshare", "--map-root-user", "--mount"]
    if harness.run(*in_namespace, "true").returncode != 0:
        pytest.skip("file systems cannot be mounted here")
    folder = tmp_path / "temporaries"
    folder.mkdir()
    script = f'mount -t tmpfs -o size={size}k tmpfs "$TMPDIR" && "$@"; s=$?; ls "$TMPDIR"; exit $s'
    command = [harness.require_tool("bppsa-compile"), source, "-o", tmp_path / "out"]
    result = harness.run(
        *[*in_namespace, "sh", "-c", script, "sh", *command, "--mcpu=x86-64-v2"],
        env={**os.environ, "TMPDIR": str(folder)},
    )
    check_refused(result, folder, "No space left on device")
    assert result.stdout == "" and not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["mlir", "exe"])
def test_full_device(compile_to, kind):
    check_refused(
        compile_to("/dev/full", f"--emit={kind}"),
        "cannot write /dev/full: No space left on device",
    )
    assert os.path.exists("/dev/full") and not os.path.isfile("/dev/full")


def test_full_standard_output(source):
    command = [harness.require_tool("bppsa-compile"), source, "--emit=mlir", "-o", "-"]
    with open("/dev/full", "w") as full:
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    check_refused(result, "standard output", "No space left on device")


@pytest.mark.parametrize("options", [["-o", "-", "--emit=mlir"], ["--list-support"]])
def test_broken_pipe_on_standard_output(source, options):
    """The exit status used to indicate death by a signal."""
    command = [harness.require_tool("bppsa-compile"), source, *options]
    script = '"$@" | true; exit ${PIPESTATUS[0]}'
    result = harness.run("bash", "-c", script, "bash", *command)
    # A small output may be written before the reader exits.
    if result.returncode != 0:
        check_refused(result, "standard output", "Broken pipe")


def test_full_standard_error(source, tmp_path):
    """A full standard error does not fail a compilation or change the status of a wrong command."""
    output = tmp_path / "out"
    command = [harness.require_tool("bppsa-compile"), source, "--compile-to=import", "--emit=mlir"]
    with open("/dev/full", "w") as full:
        run = subprocess.run([*command, "-o", output, "--mlir-timing"], stderr=full, check=False)
        assert run.returncode == 0 and output.exists()
        assert subprocess.run(command, stderr=full, check=False).returncode == 2


# Runs as root without the capabilities that override file permissions.
WITHOUT_PRIVILEGE = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


@pytest.mark.parametrize("kind", ["mlir", "exe"])
def test_read_only_output(source, tmp_path, kind):
    """The file used to be replaced because its directory is writable."""
    output = tmp_path / "out"
    output.write_text("as before")
    output.chmod(0o444)
    prefix = WITHOUT_PRIVILEGE if os.access(output, os.W_OK) else []
    command = [harness.require_tool("bppsa-compile"), source, "-o", output, f"--emit={kind}"]
    result = harness.run(*prefix, *command)
    check_refused(result, f"cannot write {output}: Permission denied")
    assert output.read_text() == "as before"


def test_phase_dump_on_a_full_disk(compile_to, tmp_path):
    folder = tmp_path / "phases"
    result = compile_to(tmp_path / "out", f"--dump-phases-to={folder}", limit=500)
    check_refused(result, f"cannot write {folder / 'import.mlir'}: File too large")
    assert list(folder.iterdir()) == [] and not (tmp_path / "out").exists()


def test_phase_dump_into_a_file(compile_to, tmp_path):
    (tmp_path / "phases").write_text("")
    result = compile_to(tmp_path / "out", f"--dump-phases-to={tmp_path / 'phases'}")
    check_refused(result, tmp_path / "phases")


def test_empty_output_name(compile_to):
    check_refused(compile_to(""), "an output file", status=2)


@pytest.mark.parametrize("kind", ["mlir", "exe"])
def test_invalid_output_paths(compile_to, tmp_path, kind):
    emit = f"--emit={kind}"
    check_refused(compile_to(tmp_path, emit), f"cannot write {tmp_path}: Is a directory")
    missing = tmp_path / "missing" / "out"
    check_refused(compile_to(missing, emit), f"cannot write {missing}: No such file or directory")
    # Not even root can write to /proc.
    check_refused(compile_to("/proc/out", emit), "cannot write /proc/out: ")


def test_missing_directory_for_temporary_files(compile_to, tmp_path):
    """Linking is the last step that needs the directory."""
    missing = tmp_path / "temporaries" / "missing"
    result = compile_to(tmp_path / "out", environment={"TMPDIR": str(missing)})
    check_refused(result, f"cannot create a directory in {missing}: No such file or directory")
