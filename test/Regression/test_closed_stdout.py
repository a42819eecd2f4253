"""Regression test: when the reader of the progress output exited, training ended silently."""

import os
import subprocess

import fake_trainer
import harness
import pytest
from fake_trainer import run, samples, save

LIMIT = harness.TIME_LIMIT


@pytest.fixture
def data(tmp_path):
    return save(tmp_path / "data.npz", samples(40))


def closed_pipe():
    reader, writer = os.pipe()
    os.close(reader)
    return os.fdopen(writer, "wb")


STREAMS = {
    "closed pipe": (closed_pipe, "Broken pipe"),
    "full disk": (lambda: open("/dev/full", "wb"), "No space left on device"),
    "closed": (lambda: None, "Bad file descriptor"),
}


def run_into(stream, *arguments):
    """Runs the trainer with `stream` as standard output; None closes standard output."""
    return subprocess.run(
        [str(word) for word in (fake_trainer.program(), *arguments)],
        stdout=stream,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=LIMIT,
        preexec_fn=None if stream else lambda: os.close(1),
    )


@pytest.mark.parametrize("case", STREAMS)
def test_training_continues(tmp_path, data, case):
    make, reason = STREAMS[case]
    saved, log, expected = (tmp_path / name for name in ("s.onnx", "log", "e.onnx"))
    options = ["--data", data, "--epochs", 5]
    harness.check_succeeded(run("train", *options, "--save", expected))
    result = run_into(make(), "train", *options, "--save", saved, "--log", log)
    assert result.returncode == 0
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith(f"warning: stdout: writing failed ({reason})")
    assert saved.read_bytes() == expected.read_bytes()
    # The log must not get the file descriptor of the closed standard output.
    lines = log.read_text().splitlines()
    assert len(lines) == 5 and all(line.startswith('{"epoch":') for line in lines)


@pytest.mark.parametrize("case", STREAMS)
def test_quiet_training_ignores_stdout(data, case):
    result = run_into(STREAMS[case][0](), "train", "--data", data, "--quiet")
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("case", STREAMS)
@pytest.mark.parametrize("arguments", [["info"], ["eval", "--data"], ["train", "--help"], ["--help"]])
def test_unprintable_results_are_errors(data, case, arguments):
    make, reason = STREAMS[case]
    words = [*arguments, data] if arguments[-1] == "--data" else arguments
    fake_trainer.refused(run_into(make(), *words), f"stdout: writing failed ({reason})")
