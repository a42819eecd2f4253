# Part of the bppsa project, under the MIT License.
"""ONNX models as PyTorch modules."""

import typing
import warnings

import torch
from torch import Tensor, nn

from bppsa.compiler import Model
from bppsa.errors import CompileWarning, Error
from bppsa.torch.operators import call
from bppsa.vjp import Function


class _Shared:
    """A compiled function shared by copies of a module."""

    def __init__(self, function: Function):
        self.function = function

    def __deepcopy__(self, memo: typing.Any) -> "_Shared":
        return self

    def __reduce__(self) -> typing.NoReturn:
        raise Error(
            "a compiled model cannot be pickled; save state_dict(), and load it into a module built from "
            "the same model"
        )


class Module(nn.Module):
    """A compiled ONNX model.

    Each trained initializer is an ``nn.Parameter`` of the same name: ``rnn.weight_ih_l0`` is
    ``weight_ih_l0`` of the submodule ``rnn``. A call takes tensors in the order of the graph inputs
    or by name. It returns the float32 output, or a tuple if there are several. See
    ``bppsa.compile`` for ``options``; ``loss`` and ``optimizer`` are not allowed.
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
            # Copied because copies of the module share the program.
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
    """Compiles ``module`` in evaluation mode, exported with the tensor or tuple ``example``.

    Batch and time axes are dynamic if ``torch.export`` allows it: axes 0 and 1 of integers and of
    examples of shape ``[T, B, H]`` or ``[B, T, H]``, axis 0 of others. A ``bppsa.CompileWarning``
    lists the axes that are static nevertheless. ``dynamic_shapes``, as in ``torch.onnx.export``,
    selects other axes; with ``{}``, all sizes are static. See ``Module`` for ``options``.
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
        _warn("all sizes are fixed to the sizes of the example, because dynamic sizes failed: " + str(error).splitlines()[0])
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
    """Returns the likely axes of samples and time steps, based on common layouts."""
    if not isinstance(example, Tensor):
        raise Error(f"an example must be a tensor or a tuple of tensors, found {type(example).__name__}")
    has_steps = example.dim() == 3 or not example.is_floating_point()
    return range(min(example.dim(), 2 if has_steps else 1))


def _warn(what: str) -> None:
    help = "; pass an example with a size of at least 2 there, or set dynamic_shapes"
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
