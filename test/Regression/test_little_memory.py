"""Regression test: out of memory, bppsa-compile printed a stack dump and asked for a bug report."""

import os

import harness

MIB = 1 << 20


def compile_within(limit, output):
    model = harness.ROOT / "examples" / "bitstream_rnn.onnx"
    compiler = harness.require_tool("bppsa-compile")
    command = ["prlimit", f"--as={limit}", "--core=0", compiler, model, "-o", output]
    return harness.run(*command, "--emit=mlir", "--mcpu=x86-64-v3")


def test_out_of_memory_is_a_one_line_error(tmp_path):
    """Under the lowest limits, the loader cannot even map the libraries (status 127)."""
    output = tmp_path / "out"
    found = set()
    for limit in range(300 * MIB, 700 * MIB, 20 * MIB):
        run = compile_within(limit, output)
        if run.returncode == 127:
            continue
        found.add(run.returncode)
        assert run.returncode in (0, 1), run.stderr
        assert run.stderr.count("\n") == (run.returncode == 1), run.stderr
        assert os.listdir(tmp_path) == (["out"] if run.returncode == 0 else [])
        if run.returncode == 0:
            break
        assert "out of memory" in run.stderr
    assert found == {0, 1}
