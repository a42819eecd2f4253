# Part of the bppsa project, under the MIT License.
"""The operators ``bppsa::call`` and ``bppsa::pull_back`` on functions of ``bppsa.vjp``."""

import torch
from torch import Tensor

from bppsa.errors import Error
from bppsa.vjp import Function


def _to_numpy(tensors: list[Tensor]):
    for tensor in tensors:
        if tensor.device.type != "cpu":
            raise Error(f"bppsa.torch computes on the CPU, found a tensor on {tensor.device}")
    return [tensor.detach().numpy() for tensor in tensors]


@torch.library.custom_op("bppsa::call", mutates_args=())
def call(key: str, parameters: list[Tensor], inputs: list[Tensor]) -> list[Tensor]:
    results = Function.find(key).call(_to_numpy(parameters), _to_numpy(inputs))
    return [torch.from_numpy(result) for result in results]


@call.register_fake
def _(key, parameters, inputs):
    context = None
    results = []
    for shape in Function.find(key).result_shapes(inputs):
        if None in shape:
            context = context or torch.library.get_ctx()
            shape = [context.new_dynamic_size() if size is None else size for size in shape]
        results.append(torch.empty(shape, dtype=torch.float32))
    return results


@torch.library.custom_op("bppsa::pull_back", mutates_args=())
def pull_back(
    key: str, parameters: list[Tensor], inputs: list[Tensor], cotangents: list[Tensor]
) -> list[Tensor]:
    """Gradients by parameters and inputs; empty ones by integers."""
    arguments = (_to_numpy(parameters), _to_numpy(inputs), _to_numpy(cotangents))
    gradients = Function.find(key).pull_back(*arguments)
    return [torch.empty(0) if g is None else torch.from_numpy(g) for g in gradients]


@pull_back.register_fake
def _(key, parameters, inputs, cotangents):
    return [
        torch.empty(a.shape if a.is_floating_point() else (0,), dtype=torch.float32)
        for a in (*parameters, *inputs)
    ]


def _set_up(ctx, inputs, output):
    ctx.key, parameters, arrays = inputs
    ctx.count = len(parameters)
    ctx.save_for_backward(*parameters, *arrays)


def _backward(ctx, cotangents):
    saved = list(ctx.saved_tensors)
    parameters, inputs = saved[: ctx.count], saved[ctx.count :]
    contiguous = [cotangent.contiguous() for cotangent in cotangents]
    gradients = pull_back(ctx.key, parameters, inputs, contiguous)
    by_inputs = [
        g if a.is_floating_point() else None for g, a in zip(gradients[ctx.count :], inputs, strict=True)
    ]
    return None, gradients[: ctx.count], by_inputs


call.register_autograd(_backward, setup_context=_set_up)
for _operator in (call, pull_back):
    _operator.register_autocast("cpu", torch.float32)
