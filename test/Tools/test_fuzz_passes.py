"""Runs utils/fuzz-passes.py briefly, with bppsa-opt and with a tool that crashes."""

import re
import sys

import harness

FUZZER = harness.ROOT / "utils" / "fuzz-passes.py"
# Crashes in the pass --bppsa-wrong on modules with a plan.
CRASHING_TOOL = r"""#!/bin/sh
case "$*" in
*--help) printf '      --bppsa-good  -  fine\n      --bppsa-wrong=<long>  -  wrong\n' ;;
*--bppsa-wrong*) ! grep -q "bppsa.chain plan" || kill -SEGV $$ ;;
esac
"""


def fuzz(tmp_path, count, tool):
    command = [sys.executable, FUZZER, "--seed", "13", "--count", count, "--jobs", "1"]
    return harness.run(*command, "--keep", tmp_path / "kept", "--opt", tool)


def test_passes_succeed_or_diagnose(tmp_path):
    run = fuzz(tmp_path, 150, harness.require_tool("bppsa-opt"))
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.startswith("150 sequences of ")


def test_a_crash_is_reduced(tmp_path):
    tool = tmp_path / "tool"
    tool.write_text(CRASHING_TOOL)
    tool.chmod(0o755)
    run = fuzz(tmp_path, 300, tool)
    assert run.returncode == 1, run.stdout + run.stderr
    reports = re.findall(r"signal 11\n  (\S+) (.*) (\S+\.mlir)\n", run.stdout)
    assert reports
    for command, passes, module in reports:
        assert command == str(tool)
        assert passes == "--bppsa-wrong"
        with open(module) as file:
            assert len(re.findall("^func.func", file.read(), re.M)) <= 1
