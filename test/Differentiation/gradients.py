"""Compares the gradients of bppsa-differentiate with central finite differences of the same loss.

Both functions are evaluated in float64 by bppsa-interpret, which has no differentiation rules.
"""

import re

import numpy as np

from harness import require_tool, run


def check(completed):
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


class Module:
    """The IR of a model with @loss and @grad; evaluates both in float64."""

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
        return self.evaluate(self.file, function, arrays)

    def call_all(self, calls):
        """Returns the results of each (function, arrays) in `calls`, evaluated in one process."""
        arrays = list({id(array): array for _, given in calls for array in given}.values())
        file = self.directory / "calls.mlir"
        file.write_text(append_calls(self.text, calls, arrays))
        results = iter(self.evaluate(file, "calls", arrays))
        counts = [len(read_signature(self.text, function)[1]) for function, _ in calls]
        return [[next(results) for _ in range(count)] for count in counts]

    def evaluate(self, file, function, arrays):
        inputs, outputs = self.directory / "in.npz", self.directory / "out.npz"
        np.savez(inputs, **{f"arg{i}": array for i, array in enumerate(arrays)})
        interpreter = require_tool("bppsa-interpret")
        options = [f"--function={function}", f"--inputs={inputs}", f"--outputs={outputs}"]
        check(run(interpreter, file, *options))
        with np.load(outputs) as results:
            return [results[f"res{i}"] for i in range(len(results.files))]

    def differentiated(self):
        """Returns the argument number of each gradient that @grad returns, in order."""
        (line,) = re.findall(r"^ *func\.func @grad\((.*)\{$", self.text, re.M)
        signature, _, results = line.partition(") -> (tensor<f32>")
        names = re.findall(r'bppsa\.(?:input|parameter) = "([^"]*)"', signature)
        return [names.index(name) for name in re.findall(r'bppsa\.gradient = "([^"]*)"', results)]


def read_signature(text, function):
    """Returns the argument and result types of a function."""
    (line,) = re.findall(rf"^ *func\.func (?:private )?@{function}\((.*)\{{$", text, re.M)
    # Attributes are in braces; they may contain maps with arrows.
    arguments, results = re.sub(r"\{[^{}]*\}", "", line).split(") -> ")
    return [re.findall(r"tensor<[^>]*>", part) for part in (arguments, results)]


def append_calls(text, calls, arrays):
    """Returns the module with a function @calls of `arrays` that returns the results of all
    `calls`."""
    numbers = {id(array): i for i, array in enumerate(arrays)}
    types, lines, returned = {}, [], []
    for k, (function, given) in enumerate(calls):
        arguments, results = read_signature(text, function)
        operands = [numbers[id(array)] for array in given]
        types.update(zip(operands, arguments, strict=True))
        names = ", ".join(f"%a{i}" for i in operands)
        kind = f"({', '.join(arguments)}) -> ({', '.join(results)})"
        lines.append(f"%r{k}:{len(results)} = func.call @{function}({names}) : {kind}")
        returned += [(f"%r{k}#{i}", result) for i, result in enumerate(results)]
    values, kinds = map(", ".join, zip(*returned))
    parameters = ", ".join(f"%a{i}: {types[i]}" for i in range(len(arrays)))
    lines = [f"func.func @calls({parameters}) -> ({kinds}) {{", *lines, f"return {values} : {kinds}", "}"]
    return text.rstrip().removesuffix("}") + "\n".join([*lines, "}\n"])


def check_gradients(module, arrays, directions=2, step=1e-5, tolerance=1e-7):
    """Compares g . d with the difference quotient along random directions d of each argument."""
    rng = np.random.default_rng(7)
    arrays = [np.asarray(array) for array in arrays]
    moves = []
    for number in module.differentiated():
        shape = arrays[number].shape
        moves += [(number, rng.standard_normal(shape)) for _ in range(directions)]
    moved = [
        (module.loss, [*arrays[:number], arrays[number] + change, *arrays[number + 1 :]])
        for number, direction in moves
        for change in (step * direction, -step * direction)
    ]
    (loss, *gradients), (same, *_), *losses = module.call_all(
        [("grad", arrays), (module.loss, arrays), *moved]
    )
    assert np.allclose(loss, same, rtol=1e-12)
    assert moves and directions * len(gradients) == len(moves)
    for i, (number, direction) in enumerate(moves):
        gradient = gradients[i // directions]
        assert gradient.shape == arrays[number].shape
        (above, *_), (below, *_) = losses[2 * i : 2 * i + 2]
        expected = (float(above) - float(below)) / (2 * step)
        found = float(np.sum(gradient * direction))
        assert abs(found - expected) <= tolerance * max(1.0, abs(expected)), (
            f"argument {number}: gradient {found}, difference quotient {expected}"
        )
