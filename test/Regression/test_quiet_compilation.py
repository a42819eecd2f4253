"""Warnings of passes are for their authors: compilers say nothing but what the model calls for."""

import harness


def test_nothing_on_stderr(tmp_path):
    compiler = harness.require_tool("bppsa-compile")
    model = harness.ROOT / "examples" / "bitstream_rnn.onnx"
    result = harness.run(compiler, model, "--mcpu=native", "--backward=sequential", "-o", tmp_path / "out")
    (note,) = harness.check_succeeded(result).stderr.splitlines()
    assert "by names and uses, 5 are: " in note
