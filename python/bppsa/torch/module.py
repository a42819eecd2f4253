# Part of the bppsa project, under the MIT License.
"""ONNX models as modules."""

import io
import typing

import torch
from torch import Tensor, nn

from bppsa.compiler import Model
from bppsa.errors import Error
from bppsa.torch.operators import call
from bppsa.vjp import Function


class _Shared:
    """A compiled function, which copies of a module share."""

    def __init__(self, function: Function):
        self.function = function

    def __deepcopy__(self, memo):
        return self


class Module(nn.Module):
    """A compiled ONNX model.

    Its trained initializers are ``nn.Parameter``s under their names: ``rnn.weight_ih_l0`` is
    ``weight_ih_l0`` of the submodule ``rnn``.  Called with tensors in the order of the graph inputs,
    or by their names; returns the output of type float32, or a tuple where there are several.
    ``options`` are those of ``bppsa.compile`` without ``loss`` and ``optimizer``.
    """

    def __init__(self, model: Model, **options):
        super().__init__()
        self._shared = _Shared(Function(model, **options))
        program = self._shared.function.program
        for name in self._shared.function.parameters:
            *path, last = name.split(".")
            owner: nn.Module = self
            for part in path:
                if not hasattr(owner, part):
                    owner.add_module(part, nn.Module())
                owner = getattr(owner, part)
            # Not the program's own memory: copies of the module use the program, too.
            value = torch.from_numpy(program.parameters[name].copy())
            owner.register_parameter(last, nn.Parameter(value))

    def forward(self, *inputs: Tensor, **named: Tensor) -> typing.Any:
        function = self._shared.function
        names = function.inputs
        given = dict(zip(names, inputs, strict=False)) | named
        if set(given) != set(names) or len(inputs) + len(named) != len(names):
            raise Error(f"the model takes {', '.join(names)}, found {', '.join(given) or 'nothing'}")
        parameters = [self.get_parameter(name) for name in function.parameters]
        results = call(function.key, parameters, [given[name] for name in names])
        return results[0] if len(results) == 1 else tuple(results)


def from_module(module: nn.Module, example: typing.Any, **options) -> Module:
    """A compiled ``module``, as it is in evaluation: exported with ``example``, a tensor or a tuple of them, whose sizes stay
    open where ``dynamic_shapes``, an option of ``torch.onnx.export``, says so."""
    arguments = example if isinstance(example, tuple) else (example,)
    dynamic_shapes = options.pop("dynamic_shapes", None)
    file = io.BytesIO()
    trains = module.training
    try:
        exported = torch.onnx.export(
            module.eval(), arguments, dynamic_shapes=dynamic_shapes, dynamo=True, verbose=False
        )
    finally:
        module.train(trains)
    exported.save(file)
    return Module(file.getvalue(), **options)
