# Part of the bppsa project, under the MIT License.
"""Models as pure functions with vector-Jacobian products, for autodiff in PyTorch and JAX."""

import collections.abc
import itertools
import operator
import typing
import weakref

import numpy as np

from bppsa.compiler import Model, compile
from bppsa.errors import Error

#: Arrays with DLPack, in the order of names.
Arrays = collections.abc.Sequence[typing.Any]

_numbers = itertools.count()
_functions: "weakref.WeakValueDictionary[str, Function]" = weakref.WeakValueDictionary()


_OPERATIONS: dict[str, collections.abc.Callable[[typing.Any, typing.Any], typing.Any]] = {
    "+": operator.add,
    "*": operator.mul,
    "floordiv": operator.floordiv,
    "ceildiv": lambda a, b: -(-a // b),
    "mod": operator.mod,
}


def _evaluate(extent: typing.Any, sizes: dict[str, typing.Any]) -> typing.Any:
    """Evaluates a size of the program description for given values of symbols."""
    if isinstance(extent, list):
        operation, *operands = extent
        return _OPERATIONS[operation](*(_evaluate(operand, sizes) for operand in operands))
    return sizes[extent] if isinstance(extent, str) else extent


class Function:
    """A model compiled for its vector-Jacobian products.

    Arguments are the trained parameters, followed by the graph inputs, in the order of the model.
    Results are the float32 outputs. All calls are pure; calls from several threads are serialized.
    """

    def __init__(self, model: Model, **options: typing.Any):
        if "loss" in options or "optimizer" in options:
            raise Error("the framework provides loss and optimizer; remove these options")
        self.program = compile(model, loss="vjp", optimizer="sgd", **options)
        self.parameters = [n for n in self.program.gradients if n in self.program.parameters]
        self.inputs = list(self.program.inputs)
        self._info = self.program.info
        self.outputs = [n for n, info in self.program.outputs.items() if info.dtype == "float32"]
        #: Identifies the function to framework operators, which treat the string as a constant.
        self.key = f"{next(_numbers)}"
        _functions[self.key] = self

    @staticmethod
    def find(key: str) -> "Function":
        """Returns the function with the given key, which must still exist."""
        return _functions[key]

    def _name(self, parameters: Arrays, inputs: Arrays) -> dict[str, np.ndarray]:
        arrays = dict(zip(self.parameters, map(np.ascontiguousarray, parameters), strict=True))
        return arrays | dict(zip(self.inputs, inputs, strict=True))

    def call(self, parameters: Arrays, inputs: Arrays) -> list[np.ndarray]:
        """Returns the results without residuals."""
        results = self.program.infer(self._name(parameters, inputs))
        return [results[name] for name in self.outputs]

    def residual_bytes(self, inputs: Arrays) -> int:
        """Returns the size in bytes of the residuals for inputs of these shapes.

        This is an upper bound if the size depends on sample lengths.
        """
        shapes = {
            # Broadcast from one element because the data is never read.
            name: np.broadcast_to(np.zeros((), self.program.inputs[name].dtype), tuple(array.shape))
            for name, array in zip(self.inputs, inputs, strict=True)
        }
        return self.program._program.residual_bytes(shapes)

    def allocate(self, shape: collections.abc.Sequence[int], *, of_bytes: bool = False) -> np.ndarray:
        """Allocates float32 elements, or bytes if ``of_bytes`` is set. Freed memory is reused."""
        array: np.ndarray = self.program._program.allocate(list(shape), of_bytes)
        return array

    def forward(
        self, parameters: Arrays, inputs: Arrays, results: Arrays, residuals: np.ndarray
    ) -> int:
        """Writes the results, and the residuals for ``backward`` to ``residuals``.

        Returns the number of bytes used in ``residuals``.
        """
        arrays = self._name(parameters, inputs)
        out = dict(zip(self.outputs, results, strict=True))
        return self.program._program.forward(arrays, out, residuals)

    def backward(
        self,
        parameters: Arrays,
        inputs: Arrays,
        residuals: np.ndarray,
        cotangents: Arrays,
        gradients: collections.abc.Mapping[str, np.ndarray],
    ) -> None:
        """Writes the gradients of the sum of results times cotangents.

        ``gradients`` are arrays by the names of parameters and inputs. A cotangent of None is zero.
        ``parameters`` and ``inputs`` must be those of the forward pass.
        """
        given = zip(self.outputs, cotangents, strict=True)
        named = {name: cotangent for name, cotangent in given if cotangent is not None}
        arrays = self._name(parameters, inputs)
        self.program._program.backward(arrays, residuals, named, dict(gradients))

    def result_shapes(self, inputs: Arrays) -> list[list[typing.Any]]:
        """Returns the shape of each result for inputs of these shapes."""
        sizes: dict[str, typing.Any] = {}
        for info, array in zip(self._info["inputs"], inputs, strict=True):
            for extent, size in zip(info["shape"], array.shape, strict=True):
                if isinstance(extent, str):
                    sizes.setdefault(extent, size)
        shapes = {info["name"]: info["shape"] for info in self._info["outputs"]}
        return [[_evaluate(extent, sizes) for extent in shapes[name]] for name in self.outputs]
