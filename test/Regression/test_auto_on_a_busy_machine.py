"""`--backward=auto` took a scan of many times the work where other work disturbed its timings.

Both passes are timed in turns. A clock that is ahead by 50 ticks at every fourth reading, and by one
at the others, makes every call of one of them look slow, and all calls of the other equally long at
every length.
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
  static long reading, ticks;
  ticks += reading++ % 4 == atoi(getenv("LATE_READING")) ? 50 : 1;
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


@pytest.mark.parametrize("late", range(4))
def test_no_clock_makes_a_hopeless_scan_win(clock, late):
    model = models.build(models.Spec("RNN", hidden=8, head="steps"))
    program = harness.compile_model(model, "--loss=cross-entropy")
    environment = {**os.environ, "LD_PRELOAD": str(clock), "LATE_READING": str(late)}
    options = ["--seq-len=128", "--batch=32", "--threads=2", "--repeat=1"]
    found = harness.check_succeeded(program.run("bench", *options, env=environment))
    assert json.loads(found.stdout)["variant"] == "sequential"
