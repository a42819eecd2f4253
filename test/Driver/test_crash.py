"""Files that the compiler writes when it crashes, and when it refuses a model."""

import fcntl
import os
import re
import signal
import struct
import subprocess
import termios
import time

import harness
import models
import pytest


def wait_until_full(pipe):
    """Waits until the writer of `pipe` blocks."""
    waiting = 0
    while waiting < 60_000:
        time.sleep(0.01)
        (waiting,) = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))


def crash(tmp_path, **environment):
    """Kills the compiler in a pass pipeline; returns its standard error and the reproducer."""
    command = [harness.require_tool("bppsa-compile"), harness.ROOT / "examples" / "bitstream_rnn.onnx"]
    command += ["--target=cuda", "--emit=ptx", "-o", tmp_path / "out"]
    # The compiler blocks in one of the next passes until the IR is read from the pipe.
    command += ["--mlir-print-ir-before-all"]
    environment = dict(os.environ, TMPDIR=str(tmp_path), **environment)
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert any("IR Dump Before Bufferize" in line for line in process.stderr)
        wait_until_full(process.stderr)
        process.send_signal(signal.SIGSEGV)
        stderr = process.stderr.read()
    assert process.returncode == -signal.SIGSEGV
    (path,) = re.findall(r"reproducer generated at `(.*?)`", stderr)
    assert os.path.dirname(path) == str(tmp_path)
    return stderr, path


def test_crash_writes_reproducer(tmp_path):
    stderr, path = crash(tmp_path)
    assert "This is a bug in bppsa. Please report it" in stderr
    assert "llvm-project" not in stderr
    opt = harness.require_tool("bppsa-opt")
    lowered = harness.check_succeeded(harness.run(opt, "--run-reproducer", path)).stdout
    assert "gpu.module @device" in lowered


@pytest.mark.parametrize("value", ["0", "1"])
def test_reproducer_records_verify_each(tmp_path, value):
    _, path = crash(tmp_path, BPPSA_VERIFY_EACH=value)
    with open(path) as file:
        assert f"verify_each: {'true' if value == '1' else 'false'}" in file.read()


def test_refused_model_leaves_no_files(tmp_path):
    model = tmp_path / "model.onnx"
    model.write_bytes(models.build(models.Spec("RNN", hidden=3)).SerializeToString())
    (tmp_path / "empty").mkdir()
    command = [harness.require_tool("bppsa-compile"), model, "--loss=none", "-o", tmp_path / "out"]
    environment = dict(os.environ, TMPDIR=str(tmp_path / "empty"))
    run = harness.run(*command, env=environment)
    assert run.returncode == 1
    assert len(run.stderr.splitlines()) == 1, run.stderr
    assert not os.listdir(tmp_path / "empty")
