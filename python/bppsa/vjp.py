# Part of the bppsa project, under the MIT License.
"""Models as pure functions of parameters and inputs with vector-Jacobian products, for the automatic
differentiation of PyTorch and JAX."""

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
    """A size of the program's description, of the values of symbols."""
    if isinstance(extent, list):
        operation, *operands = extent
        return _OPERATIONS[operation](*(_evaluate(operand, sizes) for operand in operands))
    return sizes[extent] if isinstance(extent, str) else extent


class Function:
    """A model compiled for its vector-Jacobian products.

    Arguments are the trained parameters, then the graph inputs, each in the model's order; results
    are the outputs of type float32.  All calls are pure: they read the parameters that are given,
    where they are.  They may come from several threads, one after the other.
    """

    def __init__(self, model: Model, **options: typing.Any):
        if "loss" in options or "optimizer" in options:
            raise Error("loss and optimizer are those of the framework; leave them out")
        self.program = compile(model, loss="vjp", optimizer="sgd", **options)
        self.parameters = [n for n in self.program.gradients if n in self.program.parameters]
        self.inputs = list(self.program.inputs)
        self._info = self.program.info
        self.outputs = [n for n, info in self.program.outputs.items() if info.dtype == "float32"]
        #: By which operators of the frameworks find it: a text, which they take for a constant.
        self.key = f"{next(_numbers)}"
        _functions[self.key] = self

    @staticmethod
    def find(key: str) -> "Function":
        """The function of a key; it must be alive."""
        return _functions[key]

    def _name(self, parameters: Arrays, inputs: Arrays) -> dict[str, np.ndarray]:
        arrays = dict(zip(self.parameters, map(np.ascontiguousarray, parameters), strict=True))
        return arrays | dict(zip(self.inputs, inputs, strict=True))

    def call(self, parameters: Arrays, inputs: Arrays) -> list[np.ndarray]:
        """The results alone."""
        results = self.program.infer(self._name(parameters, inputs))
        return [results[name] for name in self.outputs]

    def residual_bytes(self, inputs: Arrays) -> int:
        """The bytes of the residuals of a forward pass on inputs of these shapes; an upper bound
        where lengths of samples decide."""
        shapes = {
            # All in the memory of one element, at which nobody looks.
            name: np.broadcast_to(np.zeros((), self.program.inputs[name].dtype), tuple(array.shape))
            for name, array in zip(self.inputs, inputs, strict=True)
        }
        return self.program._program.residual_bytes(shapes)

    def allocate(self, shape: collections.abc.Sequence[int], *, of_bytes: bool = False) -> np.ndarray:
        """An array for a call, float32 or of bytes, of memory that is used again when it is freed:
        that of the system costs a fault for each of its pages."""
        array: np.ndarray = self.program._program.allocate(list(shape), of_bytes)
        return array

    def forward(
        self, parameters: Arrays, inputs: Arrays, results: Arrays, residuals: np.ndarray
    ) -> int:
        """Writes the results, and to ``residuals`` what ``backward`` reads of this pass; returns how
        many of its bytes that are."""
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
        """Writes gradients of the sum over all results of result times cotangent, by the names of
        parameters and inputs.  A cotangent that is None is zero.  ``parameters`` and ``inputs`` are
        those of the forward pass."""
        given = zip(self.outputs, cotangents, strict=True)
        named = {name: cotangent for name, cotangent in given if cotangent is not None}
        arrays = self._name(parameters, inputs)
        self.program._program.backward(arrays, residuals, named, dict(gradients))

    def result_shapes(self, inputs: Arrays) -> list[list[typing.Any]]:
        """The shape of each result for arrays of these shapes."""
        sizes: dict[str, typing.Any] = {}
        for info, array in zip(self._info["inputs"], inputs, strict=True):
            for extent, size in zip(info["shape"], array.shape, strict=True):
                if isinstance(extent, str):
                    sizes.setdefault(extent, size)
        shapes = {info["name"]: info["shape"] for info in self._info["outputs"]}
        return [[_evaluate(extent, sizes) for extent in shapes[name]] for name in self.outputs]
