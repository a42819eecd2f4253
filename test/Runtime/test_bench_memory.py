"""`bench` refuses sizes that exceed memory, immediately and with the number of bytes."""

import re
import time

import numpy as np
import pytest
from harness import compile_model, run
from onnx import TensorProto, helper, numpy_helper


@pytest.fixture(scope="module")
def program():
    rng = np.random.default_rng(0)
    arrays = {n: rng.normal(size=s).astype(np.float32) for n, s in dict(W=(1, 256, 3), R=(1, 256, 64)).items()}
    nodes = [helper.make_node("LSTM", ["x", "W", "R"], ["y"], hidden_size=64)]
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["T", "B", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["T", 1, "B", 64])],
        [numpy_helper.from_array(a, n) for n, a in arrays.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return compile_model(model, "--loss=mse")


LINE = re.compile(
    r"error: a step on (\d+) samples of (\d+) steps needs at least (.+) of host memory \((.+) for arrays, (.+) for "
    r"temporaries\), (.+) are available; use a smaller --batch or --seq-len\n"
)


@pytest.mark.parametrize("steps, samples", [(30_000_000, 512), (2**31 - 1, 2**31 - 1)])
def test_arrays_that_do_not_fit(program, steps, samples):
    begin = time.monotonic()
    for words in (["bench"], ["info"]):
        result = program.run(*words, "--seq-len", steps, "--batch", samples)
        assert result.returncode == 1 and LINE.fullmatch(result.stderr), result.stderr
    assert time.monotonic() - begin < 5


def test_temporaries_that_do_not_fit(program):
    """The arrays fit within the limit, but the values stored by a step do not."""
    limit = "ulimit -v 4000000; exec"
    found = run("bash", "-c", f"{limit} {program.path} bench --seq-len 20000 --batch 128")
    match = LINE.fullmatch(found.stderr)
    assert found.returncode == 1 and match, found.stderr
    assert match[5].endswith("GiB")
    assert program.run("bench", "--seq-len", 16, "--batch", 16, "--repeat", 1).returncode == 0
