"""Runs every campaign briefly and checks that the campaigns detect broken programs."""

import sys

import harness
import pytest

DRIVER = harness.ROOT / "test" / "Campaigns" / "campaigns.py"
INPUTS = ["models", "arrays", "checkpoints", "options", "compiler-options", "ir"]
FAULTS = ["kills", "full-disks", "closed-pipes", "stops", "clocks", "little-memory", "read-only"]


def run_driver(*words):
    harness.require_tool("bppsa-compile")
    return harness.run(sys.executable, "-W", "ignore", DRIVER, *words)


@pytest.mark.parametrize("campaigns", [INPUTS, FAULTS], ids=["inputs", "faults"])
def test_short_campaigns(tmp_path, campaigns):
    words = ["--short", "--programs", "rnn", "--jobs", 1, "--keep", tmp_path]
    run = run_driver(*campaigns, *words)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count('"wrong": 0') == len(campaigns)


def test_broken_programs_are_found():
    run = run_driver("--self-check")
    assert run.returncode == 0 and "0 not found" in run.stdout, run.stdout + run.stderr
