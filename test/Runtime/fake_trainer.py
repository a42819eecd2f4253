"""Runs the trainers of unittests/Runtime: their data sets, and the exact results of their model."""

import contextlib
import signal
import subprocess

import fake_model
import harness
import numpy as np
import pytest

DIRECTORY = harness.BUILD / "unittests" / "Runtime"
CLASSES = 4


def program(name="bppsa-fake-trainer"):
    path = DIRECTORY / name
    if not path.exists():
        pytest.skip(f"{name} is not built")
    return path


def run(command, *arguments, trainer="bppsa-fake-trainer", **kwargs):
    return harness.run(program(trainer), command, *arguments, **kwargs)


def heed_signals():
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@contextlib.contextmanager
def start(*arguments):
    """Starts a trainer, discards its output and kills it at the end of the block.

    Default signal handlers are restored, because a shell may ignore signals of background jobs.
    """
    command = [str(word) for word in (program(), *arguments)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_signals,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def samples(count=100, steps=6, seed=0):
    """Returns the arrays of a data set that the model can learn."""
    rng = np.random.default_rng(seed)
    target = rng.integers(0, CLASSES, count)
    centers = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, -1, -1]], np.float32)
    noise = rng.standard_normal((steps, count, 3)).astype(np.float32)
    return {"x": centers[target] + noise, "target": target}


def save(path, arrays):
    np.savez(path, **arrays)
    return path


def refused(result, *words):
    """Checks for exit status 1 and a single error line that contains the words."""
    assert result.returncode == 1, f"status {result.returncode}: {result.stderr}"
    assert result.stderr.count("\n") == 1 and result.stderr.startswith("error: "), result.stderr
    for word in words:
        assert word in result.stderr
    return result.stderr


def exact(arrays, weight=fake_model.WEIGHT, bias=fake_model.BIAS):
    """Returns loss, logits and gradients of the cross-entropy model in float64."""
    x = arrays["x"].astype(np.float64)
    scale, weight = fake_model.SCALE.astype(np.float64), weight.astype(np.float64)
    scaled = x.mean(0) * scale
    logits = scaled @ weight.T + bias
    shifted = np.exp(logits - logits.max(1, keepdims=True))
    probabilities = shifted / shifted.sum(1, keepdims=True)
    rows = np.arange(len(logits))
    loss = -np.log(probabilities[rows, arrays["target"]]).mean()
    delta = probabilities.copy()
    delta[rows, arrays["target"]] -= 1
    delta /= len(logits)
    return {
        "loss": loss,
        "logits": logits,
        "head.weight": delta.T @ scaled,
        "head.bias": delta.sum(0),
        "x": np.broadcast_to(delta @ weight * scale / len(x), x.shape),
    }
