"""Regression test: for a class token before a sequence, hoisting slices does not reach a fixed
point if the head reads only the token.

Inputs/class_token.onnx is `learned_positions` of test/zoo/ordinary_modules.py with random
weights. The references come from PyTorch in float64 with the loss mean(y * y).
"""

import harness
import numpy as np

INPUTS = harness.ROOT / "test" / "Regression" / "Inputs"


def test_gradients():
    with np.load(INPUTS / "class_token.npz") as file:
        wanted = dict(file)
    program = harness.compile_model(INPUTS / "class_token.onnx", "--loss=mse")
    np.testing.assert_allclose(program.infer({"x": wanted["x"]})["out"], wanted["y"], rtol=1e-4, atol=1e-5)
    found = program.grad({"x": wanted["x"], "target": np.zeros_like(wanted["y"], np.float32)})
    references = {name.removeprefix("grad."): array for name, array in wanted.items() if name.startswith("grad.")}
    assert "token" in references
    for name, reference in references.items():
        np.testing.assert_allclose(found[name], reference, atol=1e-6 * max(1, np.abs(reference).max()))
