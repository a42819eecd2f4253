"""Compares the gradients of bppsa-differentiate with central finite differences of the same loss.

Both functions are evaluated in float64 by bppsa-interpret, which knows nothing of derivatives.
"""

import re

import numpy as np

from harness import require_tool, run


def check(completed):
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


class Module:
    """The IR of a model with @loss and @grad, and the float64 evaluation of both."""

    def __init__(self, directory, source, passes=(), loss="loss"):
        self.directory, self.loss = directory, loss
        (directory / "model.mlir").write_text(source)
        self.file = directory / "grad.mlir"
        optimizer = require_tool("bppsa-opt")
        check(
            run(
                optimizer,
                directory / "model.mlir",
                *passes,
                f"--bppsa-differentiate=of={loss} name=grad wrt=all",
                "-o",
                self.file,
            )
        )
        self.text = self.file.read_text()

    def call(self, function, arrays):
        inputs, outputs = self.directory / "in.npz", self.directory / "out.npz"
        np.savez(inputs, **{f"arg{i}": array for i, array in enumerate(arrays)})
        interpreter = require_tool("bppsa-interpret")
        check(
            run(
                interpreter,
                self.file,
                f"--function={function}",
                f"--inputs={inputs}",
                f"--outputs={outputs}",
            )
        )
        with np.load(outputs) as results:
            return [results[f"res{i}"] for i in range(len(results.files))]

    def differentiated(self):
        """The number of each argument that @grad returns a gradient of, in order."""
        (line,) = re.findall(r"^ *func\.func @grad\((.*)\{$", self.text, re.M)
        signature, _, results = line.partition(") -> (tensor<f32>")
        names = re.findall(r'bppsa\.(?:input|parameter) = "([^"]*)"', signature)
        return [names.index(name) for name in re.findall(r'bppsa\.gradient = "([^"]*)"', results)]


def check_gradients(module, arrays, directions=2, step=1e-5, tolerance=1e-7):
    """Compares g . d with the difference quotient along random directions d of each argument."""
    rng = np.random.default_rng(7)
    arrays = [np.asarray(array) for array in arrays]
    loss, *gradients = module.call("grad", arrays)
    assert np.allclose(loss, module.call(module.loss, arrays)[0], rtol=1e-12)
    numbers = module.differentiated()
    assert len(numbers) == len(gradients) and numbers
    for number, gradient in zip(numbers, gradients):
        assert gradient.shape == arrays[number].shape
        for _ in range(directions):
            direction = rng.standard_normal(arrays[number].shape)
            values = []
            for sign in (1, -1):
                moved = list(arrays)
                moved[number] = arrays[number] + sign * step * direction
                values.append(float(module.call(module.loss, moved)[0]))
            expected = (values[0] - values[1]) / (2 * step)
            found = float(np.sum(gradient * direction))
            assert abs(found - expected) <= tolerance * max(1.0, abs(expected)), (
                f"argument {number}: gradient {found}, difference quotient {expected}"
            )
