"""Regression test: when other processes disturbed its timings, `--backward=auto` chose a scan that
does many times the work of the sequential pass.

The fake clock advances by one tick per reading and by 50 ticks at random readings that depend
on a seed. With half of these seeds, the program chose the scan.
"""

import json
import os
import subprocess

import harness
import models
import pytest

CLOCK = r"""
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *time) {
  static unsigned state;
  static long ticks;
  if (ticks == 0)
    state = atoi(getenv("CLOCK_SEED"));
  state = state * 1103515245u + 12345u;
  ticks += (state >> 16) % 8 == 0 ? 50 : 1;
  time->tv_sec = ticks / 1000000;
  time->tv_nsec = ticks % 1000000 * 1000;
  return 0;
}
"""


@pytest.fixture(scope="module")
def clock(tmp_path_factory):
    library = tmp_path_factory.mktemp("clock") / "clock.so"
    command = ["g++", "-x", "c", "-shared", "-fPIC", "-o", library, "-"]
    subprocess.run(command, input=CLOCK, text=True, check=True)
    return library


def test_noisy_clock_does_not_select_slow_scan(clock):
    model = models.build(models.Spec("RNN", hidden=8, head="steps"))
    program = harness.compile_model(model, "--loss=cross-entropy")
    options = ["--seq-len=128", "--batch=32", "--threads=2", "--repeat=1"]
    for seed in range(10):
        environment = {**os.environ, "LD_PRELOAD": str(clock), "CLOCK_SEED": str(seed)}
        found = harness.check_succeeded(program.run("bench", *options, env=environment))
        assert json.loads(found.stdout)["variant"] == "sequential", f"seed {seed}"
