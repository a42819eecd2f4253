"""Random models with lists of tensors are imported correctly or refused with the name of a node.

BPPSA_LIST_SEED=N reruns one model; BPPSA_LIST_COUNT=N and BPPSA_LIST_COMPILED=N import and
compile more of them. Outputs are interpreted in float64 and compared with ONNX Runtime.
"""

import os
import re

import harness
import numpy as np
import onnx
import onnxruntime
import pytest
import random_lists
from onnx_case import Case
from test_forward import interpret

SEED = os.environ.get("BPPSA_LIST_SEED")
COUNT = int(os.environ.get("BPPSA_LIST_COUNT", "40"))
COMPILED = int(os.environ.get("BPPSA_LIST_COMPILED", "10"))


def seeds(count):
    return [int(SEED)] if SEED else range(count)


def run_by_onnxruntime(made):
    """Returns the outputs, or None if ONNX Runtime fails or an index is out of range."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    # The exceptions of ONNX Runtime have no common base class.
    try:
        session = onnxruntime.InferenceSession(made.model.SerializeToString(), options)
        return session.run(None, made.arrays)
    except Exception:
        return None


def has_enough_steps(made, ir):
    """Programs refuse inputs shorter than the imported model requires."""
    least = re.search(r'"T" at least (\d+)', ir)
    return least is None or len(made.arrays["x"]) >= int(least[1])


def check_refusal(done):
    """Checks for status 1 and one line that names a node."""
    message = done.stderr.strip()
    assert done.returncode == 1 and "\n" not in message and "node '" in message, (
        f"status {done.returncode}: {message[-2000:]}"
    )


@pytest.mark.parametrize("seed", seeds(COUNT))
def test_imported(seed, tmp_path):
    made = random_lists.make(seed)
    source = tmp_path / "model.onnx"
    onnx.save(made.model, source)
    done = harness.run(harness.require_tool("bppsa-translate"), "--import-onnx", source)
    if done.returncode != 0:
        check_refusal(done)
        return
    wanted = run_by_onnxruntime(made)
    if wanted is None or not has_enough_steps(made, done.stdout):
        return
    found = interpret(Case(str(seed), made.model, made.arrays), tmp_path)
    for value, exact in zip(found, wanted, strict=True):
        assert value.shape == exact.shape
        np.testing.assert_allclose(value, exact, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("seed", seeds(COMPILED))
def test_compiled(seed, tmp_path):
    source = tmp_path / "model.onnx"
    onnx.save(random_lists.make(seed).model, source)
    options = ["--loss=mse", "--mcpu=native", "-O0", "--compile-to=lower", "-o", tmp_path / "out"]
    compiler = harness.require_tool("bppsa-compile")
    done = harness.run(compiler, source, *options, env=harness.choose_verifier(f"{seed:x}"))
    if done.returncode != 0:
        check_refusal(done)
