"""Compilation prints no compiler-internal warnings of passes."""

import harness


def test_nothing_on_stderr(tmp_path):
    compiler = harness.require_tool("bppsa-compile")
    model = harness.ROOT / "examples" / "bitstream_rnn.onnx"
    result = harness.run(compiler, model, "--mcpu=native", "--backward=sequential", "-o", tmp_path / "out")
    assert harness.check_succeeded(result).stderr == ""
