# Part of the bppsa project, under the MIT License.
"""Models as pure functions of parameters and inputs with vector-Jacobian products, for the automatic
differentiation of PyTorch and JAX."""

import collections.abc
import itertools
import threading
import typing
import weakref

import numpy as np

from bppsa.compiler import Model, compile
from bppsa.errors import DivergedError, Error

_numbers = itertools.count()
_functions: "weakref.WeakValueDictionary[str, Function]" = weakref.WeakValueDictionary()


class Function:
    """A model compiled for its vector-Jacobian products.

    Arguments are the trained parameters, then the graph inputs, each in the model's order; results
    are the outputs of type float32.  Both calls are pure: they take the parameters that are given.
    """

    def __init__(self, model: Model, **options):
        if "loss" in options or "optimizer" in options:
            raise Error("loss and optimizer are those of the framework; leave them out")
        self.program = compile(model, loss="vjp", optimizer="sgd", **options)
        self.parameters = [n for n in self.program.gradients if n in self.program.parameters]
        self.inputs = list(self.program.inputs)
        self.outputs = [n for n, info in self.program.outputs.items() if info.dtype == "float32"]
        self._lock = threading.Lock()
        #: By which operators of the frameworks find it: a text, which they take for a constant.
        self.key = f"{next(_numbers)}"
        _functions[self.key] = self

    @staticmethod
    def find(key: str) -> "Function":
        """The function of a key; it must be alive."""
        return _functions[key]

    def _load(self, parameters: collections.abc.Sequence[np.ndarray]) -> None:
        for name, value in zip(self.parameters, parameters, strict=True):
            self.program.parameters[name][...] = value

    def call(
        self,
        parameters: collections.abc.Sequence[np.ndarray],
        inputs: collections.abc.Sequence[np.ndarray],
    ) -> list[np.ndarray]:
        with self._lock:
            self._load(parameters)
            results = self.program.infer(dict(zip(self.inputs, inputs, strict=True)))
        return [results[name] for name in self.outputs]

    def pull_back(
        self,
        parameters: collections.abc.Sequence[np.ndarray],
        inputs: collections.abc.Sequence[np.ndarray],
        cotangents: collections.abc.Sequence[np.ndarray],
    ) -> list[np.ndarray | None]:
        """The gradients of the sum over all outputs of output times cotangent by each argument, None
        for integers.  The forward pass is computed again.  Where a gradient is infinite or not a
        number, all are not numbers."""
        target: typing.Any = dict(zip(self.outputs, cotangents, strict=True))
        if "target" in self.program.targets:
            target = target[self.outputs[0]]
        arguments = dict(zip(self.inputs, inputs, strict=True))
        with self._lock:
            self._load(parameters)
            try:
                gradients = self.program.grad(arguments, target)[1]
            except DivergedError:
                gradients = self._not_numbers(arguments)
        return [gradients.get(name) for name in (*self.parameters, *self.inputs)]

    def _not_numbers(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        shapes = {name: self.program.parameters[name].shape for name in self.parameters}
        shapes |= {name: inputs[name].shape for name in self.inputs if name in self.program.gradients}
        return {name: np.full(shape, np.nan, np.float32) for name, shape in shapes.items()}

    def result_shapes(self, inputs: collections.abc.Sequence[typing.Any]) -> list[list[typing.Any]]:
        """The shape of each result for arrays of these shapes.  None for sizes that the model says
        no more of than that they depend on its arrays."""
        infos = self.program.info
        sizes: dict[str, typing.Any] = {}
        for info, array in zip(infos["inputs"], inputs, strict=True):
            for extent, size in zip(info["shape"], array.shape, strict=True):
                if isinstance(extent, str):
                    sizes.setdefault(extent, size)
        shapes = {info["name"]: info["shape"] for info in infos["outputs"]}
        return [
            [e if isinstance(e, int) else sizes.get(e) for e in shapes[name]] for name in self.outputs
        ]
