"""Regression test: outputs overwrote inputs, outputs of other options and protected files."""

import ctypes
import os
import shutil

import fake_trainer
import harness
import pytest
from fake_trainer import refused, run, samples, save


@pytest.fixture
def data(tmp_path):
    return save(tmp_path / "data.npz", samples(40))


def without_privileges():
    """Drops the capabilities with which root overrides file permissions."""
    drop, override, search = 24, 1, 2  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    libc = ctypes.CDLL(None)
    for capability in (override, search):
        libc.prctl(drop, capability, 0, 0, 0)


def run_as_user(*arguments):
    return run(*arguments, preexec_fn=without_privileges)


@pytest.mark.parametrize("first, second", [("--save", "--log"), ("--checkpoint", "--save")])
@pytest.mark.parametrize("spelling", ["./same", "folder/../same", "link/same"])
def test_same_file_for_two_options(tmp_path, data, first, second, spelling):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    before = sorted(os.listdir(tmp_path))
    same = [first, tmp_path / "same", second, f"{tmp_path}/{spelling}"]
    refused(run("train", "--data", data, *same), second, "another option")
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("option", ["--save", "--checkpoint", "--log"])
def test_inputs_are_not_overwritten(tmp_path, data, option):
    val, checkpoint = shutil.copy(data, tmp_path / "val.npz"), tmp_path / "c"
    harness.check_succeeded(run("train", "--data", data, "--checkpoint", checkpoint))
    inputs = ["--data", data, "--val", val, "--resume", checkpoint]
    for path in (data, val, checkpoint):
        if (option, path) == ("--checkpoint", checkpoint):
            continue
        before = path.read_bytes()
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to(path)
        refused(run("train", *inputs, option, tmp_path / "link"), option, "input of this command")
        assert path.read_bytes() == before


@pytest.mark.parametrize("option", ["--save", "--checkpoint", "--log"])
def test_too_long_file_names(tmp_path, data, option):
    """Invalid file names are refused before training."""
    longest = os.pathconf(tmp_path, "PC_NAME_MAX")
    result = run("train", "--data", data, option, tmp_path / ("n" * (longest + 1)))
    refused(result, f"{option}: '", "cannot be written (File name too long)")
    assert result.stdout == "" and os.listdir(tmp_path) == ["data.npz"]
    harness.check_succeeded(run("train", "--data", data, option, tmp_path / ("n" * longest)))


def test_symlink_loop(tmp_path, data):
    (tmp_path / "link").symlink_to("link")
    result = run("train", "--data", data, "--save", tmp_path / "link")
    refused(result, "--save: '", "cannot be written (Too many levels of symbolic links)")


def test_symlinks_are_followed(tmp_path, data):
    target, link, expected = tmp_path / "target", tmp_path / "link", tmp_path / "expected"
    target.write_bytes(b"previous")
    link.symlink_to(target)
    for path in (link, expected):
        harness.check_succeeded(run("train", "--data", data, "--save", path))
    assert link.is_symlink() and target.read_bytes() == expected.read_bytes()


@pytest.mark.parametrize("command, option", [("train", "--save"), ("infer", "--out")])
def test_program_does_not_overwrite_itself(tmp_path, data, command, option):
    program = shutil.copy(fake_trainer.program(), tmp_path / "program")
    before = program.read_bytes()
    result = harness.run(program, command, "--data", data, option, program)
    refused(result, option, "this very program")
    assert program.read_bytes() == before


OUTPUTS = [("train", "--save"), ("train", "--checkpoint"), ("train", "--log"), ("grad", "--out")]


@pytest.mark.parametrize("command, option", OUTPUTS)
def test_protected_files_and_folders(tmp_path, data, command, option):
    folder, file = tmp_path / "folder", tmp_path / "file"
    folder.mkdir(mode=0o555)
    file.write_bytes(b"previous")
    file.chmod(0o444)
    for path in (folder / "new", file):
        result = run_as_user(command, "--data", data, option, path)
        assert result.stdout == ""
        refused(result, f"{option}: '{path}': cannot be written (Permission denied)")
    assert file.read_bytes() == b"previous" and os.listdir(folder) == []


@pytest.mark.parametrize("option", ["--data", "--val", "--resume"])
def test_unreadable_files(tmp_path, data, option):
    secret = tmp_path / "secret"
    secret.write_bytes(data.read_bytes())
    secret.chmod(0)
    inputs = {"--data": data, option: secret}
    words = [word for pair in inputs.items() for word in pair]
    refused(run_as_user("train", *words), f"'{secret}': cannot be read (Permission denied)")
