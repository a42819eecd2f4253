# Part of the bppsa project, under the MIT License.
"""The operators ``bppsa::infer``, ``bppsa::forward`` and ``bppsa::backward``."""

import collections.abc
import typing

import numpy as np
import torch
from torch import Tensor

from bppsa.errors import Error
from bppsa.vjp import Function


def call(
    key: str, parameters: collections.abc.Sequence[Tensor], inputs: collections.abc.Sequence[Tensor]
) -> list[Tensor]:
    """Returns the results of a function. Stores residuals only if a backward pass may follow."""
    if torch.is_grad_enabled() and any(t.requires_grad for t in (*parameters, *inputs)):
        return _list(forward(key, parameters, inputs))[:-1]
    return _list(infer(key, parameters, inputs))


def _list(tensors: typing.Any) -> list[Tensor]:
    """Casts the result of an operator, whose type is unknown to type checkers."""
    return typing.cast(list[Tensor], tensors)


def _to_numpy(tensors: collections.abc.Iterable[Tensor]) -> list[np.ndarray]:
    for tensor in tensors:
        if tensor.device.type != "cpu":
            raise Error(f"bppsa.torch computes on the CPU, found a tensor on {tensor.device}")
        if tensor.dtype in (torch.float16, torch.bfloat16):
            raise Error(
                f"bppsa.torch computes in float32, found a tensor of {tensor.dtype}; torch.autocast or "
                "float() makes it one"
            )
    return [tensor.detach().numpy() for tensor in tensors]


def _empty_results(function: Function, inputs: list[Tensor]) -> list[Tensor]:
    return [torch.empty(shape, dtype=torch.float32) for shape in function.result_shapes(inputs)]


@torch.library.custom_op("bppsa::infer", mutates_args=())
def infer(key: str, parameters: list[Tensor], inputs: list[Tensor]) -> list[Tensor]:
    results = Function.find(key).call(_to_numpy(parameters), _to_numpy(inputs))
    return [torch.from_numpy(result) for result in results]


@infer.register_fake
def _(key: str, parameters: list[Tensor], inputs: list[Tensor]) -> list[Tensor]:
    return _empty_results(Function.find(key), inputs)


def _has_open_residuals(inputs: list[Tensor]) -> bool:
    """Returns whether the size of residuals may depend on input values, such as sample lengths."""
    return not all(tensor.is_floating_point() for tensor in inputs)


@torch.library.custom_op("bppsa::forward", mutates_args=())
def forward(key: str, parameters: list[Tensor], inputs: list[Tensor]) -> list[Tensor]:
    """Returns the results, followed by the residuals."""
    function, arrays = Function.find(key), _to_numpy(inputs)
    results = [function.allocate(shape) for shape in function.result_shapes(inputs)]
    residuals = function.allocate([function.residual_bytes(inputs)], of_bytes=True)
    used = function.forward(_to_numpy(parameters), arrays, results, residuals)
    if _has_open_residuals(inputs):
        residuals = residuals[:used]
    else:
        residuals[used:] = 0
    return [torch.from_numpy(array) for array in (*results, residuals)]


@forward.register_fake
def _(key: str, parameters: list[Tensor], inputs: list[Tensor]) -> list[Tensor]:
    function = Function.find(key)
    size: typing.Any
    is_static = all(type(size) is int for tensor in inputs for size in tensor.shape)
    if is_static and not _has_open_residuals(inputs):
        size = function.residual_bytes(inputs)
    else:
        size = torch.library.get_ctx().new_dynamic_size()
    return [*_empty_results(function, inputs), torch.empty(size, dtype=torch.uint8)]


@torch.library.custom_op("bppsa::backward", mutates_args=())
def backward(
    key: str,
    parameters: list[Tensor],
    inputs: list[Tensor],
    residuals: Tensor,
    cotangents: collections.abc.Sequence[Tensor | None],
    of_inputs: bool,
) -> list[Tensor]:
    """Returns the gradients of parameters and inputs.

    Gradients of integers are empty; gradients of inputs are empty unless ``of_inputs`` is set. A
    cotangent of None is zero.
    """
    function = Function.find(key)
    names = (*function.parameters, *function.inputs)
    arguments = (*parameters, *inputs) if of_inputs else parameters
    gradients = {
        name: function.allocate(a.shape)
        for name, a in zip(names, arguments, strict=False)
        if a.is_floating_point()
    }
    products = [None if c is None else _to_numpy([c])[0] for c in cotangents]
    arrays = (_to_numpy(parameters), _to_numpy(inputs), residuals.numpy(), products)
    function.backward(*arrays, gradients)
    return [torch.from_numpy(gradients[n]) if n in gradients else torch.empty(0) for n in names]


@backward.register_fake
def _(
    key: str,
    parameters: list[Tensor],
    inputs: list[Tensor],
    residuals: Tensor,
    cotangents: collections.abc.Sequence[Tensor | None],
    of_inputs: bool,
) -> list[Tensor]:
    wanted = [True] * len(parameters)
    wanted += [of_inputs and a.is_floating_point() for a in inputs]
    return [
        torch.empty(a.shape if is_wanted else (0,), dtype=torch.float32)
        for a, is_wanted in zip((*parameters, *inputs), wanted, strict=True)
    ]


def _set_up(ctx: typing.Any, inputs: tuple[typing.Any, ...], output: list[Tensor]) -> None:
    ctx.key, parameters, arrays = inputs
    ctx.count = len(parameters)
    # Otherwise PyTorch would allocate zeros of the size of the residuals.
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*parameters, *arrays, output[-1])


def _backward(
    ctx: typing.Any, cotangents: list[Tensor | None]
) -> tuple[None, list[Tensor], list[Tensor | None]]:
    *saved, residuals = ctx.saved_tensors
    parameters, inputs = saved[: ctx.count], saved[ctx.count :]
    contiguous = [None if c is None else c.contiguous() for c in cotangents[:-1]]
    of_inputs = any(ctx.needs_input_grad[2])
    gradients = _list(backward(ctx.key, parameters, inputs, residuals, contiguous, of_inputs))
    by_inputs = [
        g if of_inputs and a.is_floating_point() else None
        for g, a in zip(gradients[ctx.count :], inputs, strict=True)
    ]
    return None, gradients[: ctx.count], by_inputs


forward.register_autograd(_backward, setup_context=_set_up)
for _operator in (infer, forward, backward):
    _operator.register_autocast("cpu", torch.float32)
