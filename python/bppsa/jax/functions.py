# Part of the bppsa project, under the MIT License.
"""Models as JAX functions, implemented with XLA's foreign function interface."""

import collections.abc
import functools
import typing

import jax
import jax.numpy as jnp
import numpy as np

from bppsa import _native, vjp
from bppsa.compiler import Model
from bppsa.errors import Error
from bppsa.program import ArrayInfo

Arrays = collections.abc.Mapping[str, typing.Any]


@functools.cache
def _register() -> None:
    if not hasattr(_native, "jax_handlers"):
        raise Error("the package was built without jaxlib; install jax and build it again")
    for name, handler in _native.jax_handlers().items():
        jax.ffi.register_ffi_target(name, handler, platform="cpu")


class Function:
    """A pure function ``f(parameters, inputs)`` on the CPU, for ``jit``, ``grad`` and ``vmap``.

    ``parameters`` are the trained initializers of the model and ``inputs`` its graph inputs, both
    as dicts by name. Returns the float32 outputs by name. When differentiated, the forward pass
    stores the residuals of the backward pass in one array of bytes.
    """

    def __init__(self, model: Model, **options: typing.Any):
        _register()
        self._function = own = vjp.Function(model, **options)
        program = own.program
        self._gradients = list(program.gradients)
        self._native = _native.JaxFunction(
            program._program,
            own.parameters,
            own.inputs,
            own.outputs,
            self._gradients,
        )
        #: The initial values of the parameters.
        self.parameters: dict[str, jax.Array] = {
            name: jnp.array(program.parameters[name]) for name in own.parameters
        }
        self._call = jax.custom_vjp(self._forward)
        self._call.defvjp(self._forward_rule, self._backward_rule)

    def __call__(self, parameters: Arrays, inputs: Arrays) -> dict[str, jax.Array]:
        arguments = self._pick(parameters, self._function.parameters, "parameters")
        arguments += self._pick(inputs, self._function.inputs, "inputs")
        results = self._call(*arguments)
        return dict(zip(self._function.outputs, results, strict=True))

    def _pick(self, given: Arrays, names: list[str], what: str) -> list[jax.Array]:
        if set(given) != set(names):
            raise Error(f"the model has the {what} {', '.join(names)}, found {', '.join(given)}")
        known = {**self._function.program.inputs, **self._infos()}
        arrays = [jnp.asarray(given[name]) for name in names]
        for name, array in zip(names, arrays, strict=True):
            if len(array.shape) != len(known[name].shape) or any(
                size not in (None, found) for size, found in zip(known[name].shape, array.shape)
            ):
                raise Error(f"expected {known[name]}, found an array of the shape {array.shape}")
            if jnp.issubdtype(array.dtype, jnp.floating) and array.dtype != jnp.float32:
                raise Error(f"expected {known[name]}, found {array.dtype}")
        return arrays

    def _infos(self) -> dict[str, ArrayInfo]:
        parameters = self._function.program.parameters
        return {name: parameters.info(name) for name in parameters}

    def _results(self, arguments: tuple[jax.Array, ...]) -> list[jax.ShapeDtypeStruct]:
        inputs = arguments[len(self._function.parameters) :]
        return [_float32(shape) for shape in self._function.result_shapes(inputs)]

    def _forward(self, *arguments: jax.Array) -> list[jax.Array]:
        return self._call_ffi("bppsa_infer", self._results(arguments), arguments)

    def _call_ffi(
        self, name: str, results: list[typing.Any], arguments: tuple[jax.Array, ...]
    ) -> list[jax.Array]:
        call: typing.Any = jax.ffi.ffi_call(name, results, vmap_method="sequential")
        return list(call(*arguments, number=np.int64(self._native.number)))

    def _forward_rule(
        self, *arguments: jax.Array
    ) -> tuple[list[jax.Array], tuple[tuple[jax.Array, ...], jax.Array]]:
        inputs = arguments[len(self._function.parameters) :]
        size = self._function.residual_bytes(inputs)
        kept = [*self._results(arguments), _describe((size,), jnp.uint8)]
        *results, residuals = self._call_ffi("bppsa_forward", kept, arguments)
        return results, (arguments, residuals)

    def _backward_rule(
        self, kept: tuple[tuple[jax.Array, ...], jax.Array], cotangents: list[jax.Array]
    ) -> tuple[typing.Any, ...]:
        arguments, residuals = kept
        names = [*self._function.parameters, *self._function.inputs]
        by_name = dict(zip(names, arguments, strict=True))
        results = [_float32(by_name[name].shape) for name in self._gradients]
        found = self._call_ffi("bppsa_backward", results, (*arguments, residuals, *cotangents))
        gradients = dict(zip(self._gradients, found, strict=True))
        # JAX expects float0 gradients of integer inputs.
        return tuple(
            gradients[name] if name in gradients else np.zeros(array.shape, jax.dtypes.float0)
            for name, array in by_name.items()
        )


def _describe(shape: collections.abc.Sequence[typing.Any], dtype: typing.Any) -> typing.Any:
    describe: typing.Any = jax.ShapeDtypeStruct
    return describe(shape, dtype)


def _float32(shape: collections.abc.Sequence[typing.Any]) -> typing.Any:
    return _describe(shape, jnp.float32)


def function(model: Model, **options: typing.Any) -> Function:
    """Compiles ``model`` to a JAX function.

    See ``bppsa.compile`` for ``options``; ``loss`` and ``optimizer`` are not allowed.
    """
    return Function(model, **options)
