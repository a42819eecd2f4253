"""CPU affinity of a program's worker threads."""

import sys

import capi
import harness
import models
import pytest

MODEL = models.build(models.Spec("RNN", hidden=32))
BOUND = """
import os, pathlib, capi, models

model = models.build(models.Spec("RNN", hidden=32))
arrays = models.data(model, {"T": 200, "B": 64}, "cross-entropy")
program = capi.Program.compile(model.SerializeToString(), backward="sequential", O=1)
program.set_threads(3)
cpus = sorted(os.sched_getaffinity(0))
alone = set(os.listdir("/proc/self/task"))

def helpers():
    program.step(arrays, lr=0.0)
    tasks = set(os.listdir("/proc/self/task")) - alone
    return sorted(sorted(os.sched_getaffinity(int(task))) for task in tasks)

program.set_affinity([cpus[0], cpus[-1]])
found = helpers()
assert found == [[cpus[0]], [cpus[-1]]], found
program.set_affinity([])
assert helpers() == [cpus, cpus]
assert os.sched_getaffinity(0) == set(cpus)
"""


def test_worker_threads_are_bound():
    """CPUs are assigned round-robin: of two workers, the first gets the second CPU and the second
    gets the first CPU. The calling thread stays unbound."""
    path = ":".join(sys.path)
    harness.check_succeeded(harness.run(sys.executable, "-c", BOUND, env={"PYTHONPATH": path}))


def test_missing_cpus_are_refused():
    program = capi.Program.compile(MODEL.SerializeToString(), backward="sequential", O=1)
    with pytest.raises(capi.Failure, match="found CPU 100000, this process may use") as caught:
        program.set_affinity([0, 100000])
    assert caught.value.status == capi.WRONG_INPUT


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [("0,x", 2, "found '0,x', expected CPUs"), ("3-1", 2, "3-1"), ("1023", 1, "found CPU 1023")],
)
def test_affinity_option(words, status, message):
    program = harness.compile_model(MODEL, "--backward=sequential")
    run = program.run("bench", "--seq-len=20", "--batch=8", "--repeat=1", f"--affinity={words}")
    assert run.returncode == status and message in run.stderr and run.stderr.count("\n") == 1
    harness.check_succeeded(
        program.run("bench", "--seq-len=20", "--batch=8", "--repeat=1", "--affinity=0")
    )
