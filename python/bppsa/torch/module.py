# Part of the bppsa project, under the MIT License.
"""ONNX models as modules."""

import typing
import warnings

import torch
from torch import Tensor, nn

from bppsa.compiler import Model
from bppsa.errors import CompileWarning, Error
from bppsa.torch.operators import call
from bppsa.vjp import Function


class _Shared:
    """A compiled function, which copies of a module share."""

    def __init__(self, function: Function):
        self.function = function

    def __deepcopy__(self, memo: typing.Any) -> "_Shared":
        return self

    def __reduce__(self) -> typing.NoReturn:
        raise Error(
            "a compiled model cannot be pickled; save state_dict(), and load it into a module that is "
            "made of the same model"
        )


class Module(nn.Module):
    """A compiled ONNX model.

    Its trained initializers are ``nn.Parameter``s under their names: ``rnn.weight_ih_l0`` is
    ``weight_ih_l0`` of the submodule ``rnn``.  Called with tensors in the order of the graph inputs,
    or by their names; returns the output of type float32, or a tuple where there are several.
    ``options`` are those of ``bppsa.compile`` without ``loss`` and ``optimizer``.
    """

    def __init__(self, model: Model, **options: typing.Any):
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


def from_module(module: nn.Module, example: typing.Any, **options: typing.Any) -> Module:
    """A compiled ``module``, as it is in evaluation: exported with ``example``, a tensor or a tuple of
    them.

    The number of samples and that of steps stay open where ``torch.export`` allows it: axes 0 and 1 of
    examples ``[T, B, H]`` or ``[B, T, H]`` and of integers, axis 0 of others.  A
    ``bppsa.CompileWarning`` says which of them are fixed nevertheless.  ``dynamic_shapes``, as in
    ``torch.onnx.export``, chooses others; with ``{}`` all sizes are those of the example.  ``options``
    are those of ``Module``.
    """
    arguments = example if isinstance(example, tuple) else (example,)
    if "dynamic_shapes" in options:
        return Module(_export(module, arguments, options.pop("dynamic_shapes") or None), **options)
    wanted = [_open_axes(argument) for argument in arguments]
    try:
        shapes = tuple({axis: torch.export.Dim.AUTO for axis in axes} for axes in wanted)
        compiled = Module(_export(module, arguments, shapes), **options)
    except (Error, torch.onnx.OnnxExporterError) as error:
        compiled = Module(_export(module, arguments, None), **options)
        _warn("all sizes are those of the example, since others cannot be open: " + str(error).splitlines()[0])
        return compiled
    infos = compiled._shared.function.program.inputs.items()
    fixed = [
        f"axis {axis} of '{name}' has the fixed size {info.shape[axis]}"
        for (name, info), axes in zip(infos, wanted, strict=True)
        for axis in axes
        if info.shape[axis] is not None
    ]
    if fixed:
        _warn(", ".join(fixed))
    return compiled


def _open_axes(example: typing.Any) -> range:
    """The axes of samples and of steps, by what models take most of the time."""
    if not isinstance(example, Tensor):
        raise Error(f"an example must be a tensor or a tuple of tensors, found {type(example).__name__}")
    has_steps = example.dim() == 3 or not example.is_floating_point()
    return range(min(example.dim(), 2 if has_steps else 1))


def _warn(what: str) -> None:
    help = "; give an example of two or more there, or say which are open by dynamic_shapes"
    warnings.warn(f"from_module: {what}{help}", CompileWarning, stacklevel=3)


def _export(
    module: nn.Module, arguments: tuple[typing.Any, ...], dynamic_shapes: typing.Any
) -> typing.Any:
    trains = module.training
    try:
        return torch.onnx.export(
            module.eval(), arguments, dynamic_shapes=dynamic_shapes, dynamo=True, verbose=False
        )
    finally:
        module.train(trains)
