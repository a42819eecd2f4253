"""Runs programs on the ranks of Open MPI's mpirun."""

import os
import shutil
import subprocess
import sys

import fake_trainer
import harness
import numpy as np
import onnx
import pytest
from onnx import numpy_helper

ENVIRONMENT = os.environ | {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    # Several tests run on the same cores at the same time.
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}


def fake():
    """Returns the trainer for the model of unittests/Runtime, linked for several ranks."""
    return fake_trainer.program("bppsa-fake-trainer-mpi")


def command(ranks, *words):
    if not shutil.which("mpirun"):
        pytest.skip("mpirun is not installed")
    return [str(word) for word in ("mpirun", "-quiet", "-n", ranks, *words)]


def run(ranks, *words, **environment):
    """Runs a command on `ranks` ranks; without mpirun if `ranks` is 0."""
    words = command(ranks, *words) if ranks else words
    return harness.run(*words, env=ENVIRONMENT | environment)


def start(ranks, *words):
    return subprocess.Popen(
        command(ranks, *words),
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=fake_trainer.heed_signals,
    )


def wait(process):
    """Returns the error output of a started program, without libevent's warnings about mpirun."""
    _, text = process.communicate(timeout=60)
    return "".join(line for line in text.splitlines(True) if not line.startswith("[warn] Epoll"))


def run_differing(*words_of_ranks):
    """Runs a different command on each rank."""
    script = "import os, sys\nwords = %r[int(os.environ['OMPI_COMM_WORLD_RANK'])]\n" % (
        [[str(word) for word in words] for words in words_of_ranks],
    )
    return run(
        len(words_of_ranks), sys.executable, "-c", script + "os.execv(words[0], words)"
    )


def weights(path):
    return {array.name: numpy_helper.to_array(array) for array in onnx.load(path).graph.initializer}


def check_close(found, expected, bound=1e-6):
    """Checks that all arrays of two saved models agree."""
    found, expected = weights(found), weights(expected)
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        error = np.abs(found[name] - array).max() / np.abs(array).max()
        assert error <= bound, f"{name}: {error}"
