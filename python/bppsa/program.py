# Part of the bppsa project, under the MIT License.
"""Programs in this process, as returned by ``bppsa.compile`` and ``bppsa.load``."""

import collections.abc
import dataclasses
import json
import os
import typing

import numpy as np

from bppsa import _native
from bppsa.errors import Error

if typing.TYPE_CHECKING:
    from bppsa.fit import Epoch

#: The path of a file.
Path = str | os.PathLike[str]
#: Any object with DLPack or the buffer protocol: CPU arrays of NumPy, PyTorch and JAX.
Array = typing.Any
#: Arrays by the names of graph inputs.
Arrays = collections.abc.Mapping[str, Array]

_INPUT, _OUTPUT, _TARGET, _PARAMETER, _GRADIENT = range(5)


@dataclasses.dataclass(frozen=True)
class ArrayInfo:
    """The description of an array of a program."""

    name: str
    #: The NumPy name of the type, such as "float32".
    dtype: str
    #: None for dynamic sizes.
    shape: tuple[int | None, ...]
    #: The axes of samples and time steps; None if there is none.
    batch_axis: int | None = None
    time_axis: int | None = None
    #: True if training steps change this parameter.
    trained: bool = False
    #: True if calls may omit the array. Omitted states of a stream are zero; omitted weights are
    #: one.
    optional: bool = False
    #: The graph output that holds the final value of this input of a stream.
    carried: str | None = None

    def __str__(self) -> str:
        sizes = ", ".join("?" if size is None else str(size) for size in self.shape)
        return f"{self.name}: {self.dtype}[{sizes}]"


class Parameters(collections.abc.Mapping[str, np.ndarray]):
    """The parameters of a program by the names of their initializers.

    The values are float32 NumPy arrays that view the memory of the program; they may be modified in
    place between calls.
    """

    def __init__(self, program: _native.Program, infos: dict[str, ArrayInfo]):
        self._program = program
        self._infos = infos
        self._indices = {name: index for index, name in enumerate(infos)}

    def __getitem__(self, name: str) -> np.ndarray:
        return np.asarray(self._program.parameter(self._indices[name]))

    def __setitem__(self, name: str, value: Array) -> None:
        """Copies ``value``, which must have the shape of the parameter."""
        target = self[name]
        source = to_numpy(value)
        if source.shape != target.shape:
            raise Error(
                f"parameter '{name}' has the shape {target.shape}, found an array of the shape "
                f"{source.shape}"
            )
        target[...] = source

    def __iter__(self) -> collections.abc.Iterator[str]:
        return iter(self._indices)

    def __len__(self) -> int:
        return len(self._indices)

    def info(self, name: str) -> ArrayInfo:
        return self._infos[name]

    def __repr__(self) -> str:
        return "{" + ", ".join(map(str, self._infos.values())) + "}"


def _check_keys(
    found: collections.abc.Iterable[str], wanted: collections.abc.Iterable[str]
) -> None:
    for what, names in (
        ("misses", set(wanted) - set(found)),
        ("has the unknown", set(found) - set(wanted)),
    ):
        if names:
            raise Error(f"the state {what} parameter '{min(names)}'; strict=False loads only matching parameters")


def to_numpy(array: Array) -> np.ndarray:
    """Returns ``array`` as a NumPy array, sharing its memory if possible."""
    if hasattr(array, "detach"):
        array = array.detach()
    return np.asarray(array)


def _by_name(inputs: Arrays) -> dict[str, Array]:
    if isinstance(inputs, collections.abc.Mapping):
        return inputs if isinstance(inputs, dict) else dict(inputs)
    raise Error(f"inputs must be a dict of arrays by name, found {type(inputs).__name__}; see Program.inputs")


Convert = collections.abc.Callable[[np.ndarray], Array]


def _like(inputs: Arrays) -> Convert:
    """Returns a function that converts results to the array type of the first input, uncopied."""
    for array in inputs.values():
        library = type(array).__module__.partition(".")[0]
        if library == "torch":
            import torch

            return typing.cast(Convert, torch.from_numpy)
        if library in ("jax", "jaxlib"):
            import jax.numpy

            return jax.numpy.asarray
        break
    return lambda result: result


class Program:
    """A compiled model with its parameters and optimizer states.

    Arrays are passed by the names of graph inputs, in the layouts given by ``inputs`` and
    ``targets``. Any DLPack array on the CPU is accepted. Contiguous arrays of the expected dtype
    are used without copying; others are copied. Integer inputs accept every integer type. Results
    are NumPy arrays, or PyTorch or JAX arrays if the first input is one.

    Other Python threads can run during calls. Calls on the same program are serialized.
    """

    def __init__(self, program: _native.Program):
        self._program = program
        arrays = [
            {info["name"]: ArrayInfo(**info) for info in program.describe(kind)}
            for kind in range(_GRADIENT + 1)
        ]
        #: The graph inputs: an ``ArrayInfo`` by name.
        self.inputs: dict[str, ArrayInfo] = arrays[_INPUT]
        #: The results of ``infer``.
        self.outputs: dict[str, ArrayInfo] = arrays[_OUTPUT]
        #: Arrays of the loss: ``target`` and the optional ``weight``, or ``target.OUTPUT`` and
        #: ``weight.OUTPUT`` for each of several losses.
        self.targets: dict[str, ArrayInfo] = arrays[_TARGET]
        #: The results of ``grad``: trained parameters, then float graph inputs.
        self.gradients: dict[str, ArrayInfo] = arrays[_GRADIENT]
        #: Views of all float parameters by the names of their initializers.
        self.parameters = Parameters(program, arrays[_PARAMETER])

    @property
    def info(self) -> dict[str, typing.Any]:
        """The dict that the command ``info`` of a compiled program prints as JSON."""
        return dict(json.loads(self._program.description))

    def __reduce__(self) -> typing.NoReturn:
        raise Error(
            "a program cannot be copied or pickled; save() writes its model, checkpoint() its state"
        )

    def __repr__(self) -> str:
        lines = [f"<bppsa.Program {self.info['source']}"]
        for name in ("inputs", "outputs", "targets"):
            lines.append(f"  {name}: " + ", ".join(map(str, getattr(self, name).values())))
        count = sum(self.parameters[name].size for name in self.parameters)
        return "\n".join(lines) + f"\n  parameters: {count} in {len(self.parameters)} arrays>"

    # Computation.

    def infer(
        self, inputs: Arrays, *, out: collections.abc.Mapping[str, np.ndarray] | None = None
    ) -> dict[str, Array]:
        """Returns all graph outputs by name.

        If ``out`` is given, writes only the outputs named there to the given arrays, which must
        have the shapes of the outputs, and returns ``out``.
        """
        if out is not None:
            self._program.infer_into(_by_name(inputs), dict(out))
            return dict(out)
        outputs = self._program.infer(_by_name(inputs))
        like = _like(inputs)
        return {name: like(array) for name, array in outputs.items()}

    def eval(
        self, inputs: Arrays, target: Array = None, *, weight: Array = None
    ) -> dict[str, float]:
        """Returns the ``loss`` and, for losses with classes, the fraction of correct positions,
        ``accuracy``.
        """
        loss, accuracy = self._program.eval(_by_name(inputs), target, weight)
        return {"loss": loss} if accuracy != accuracy else {"loss": loss, "accuracy": accuracy}

    def grad(
        self,
        inputs: Arrays,
        target: Array = None,
        *,
        weight: Array = None,
        out: collections.abc.Mapping[str, np.ndarray] | None = None,
    ) -> tuple[float, dict[str, Array]]:
        """Returns the loss and its gradients by the names of trained parameters and float inputs.

        ``target`` has the layout given by ``targets``: the shape of the output for mse, l1, huber
        and bce-with-logits; integers without the last axis for cross-entropy and nll; None if the
        output of the model is the loss. With several losses, it is a dict by output name.
        ``weight`` multiplies the loss at each position of the target. If ``out`` is given, only the
        gradients named there are written to the given arrays.
        """
        if out is not None:
            return self._program.grad_into(_by_name(inputs), target, weight, dict(out)), dict(out)
        loss, gradients = self._program.grad(_by_name(inputs), target, weight)
        like = _like(inputs)
        return loss, {name: like(array) for name, array in gradients.items()}

    def step(
        self,
        inputs: Arrays,
        target: Array = None,
        *,
        weight: Array = None,
        lr: float | None = None,
    ) -> float:
        """Runs a training step and returns the loss before the update.

        ``lr`` is the learning rate (default: the hyperparameter). See ``grad`` for the other
        arguments. Raises ``bppsa.DivergedError`` if the loss or a gradient is not finite; in this
        case nothing has changed.
        """
        return self._program.step(_by_name(inputs), target, weight, lr)

    def update(self, gradients: Arrays, *, lr: float | None = None) -> None:
        """Updates all trained parameters with the given gradients, like the update of ``step``."""
        self._program.update(dict(gradients), lr)

    @property
    def losses(self) -> dict[str, float]:
        """The losses of the last ``step``, ``grad`` or ``eval``, by output name."""
        names = self._loss_names()
        return dict(zip(names, self._program.losses(len(names)), strict=True))

    def _loss_names(self) -> list[str]:
        info = self.info
        if "losses" in info:
            return [loss["loss_on"] for loss in info["losses"]]
        return [info["loss_on"]]

    def fit(
        self, train: typing.Any, val: typing.Any = None, **settings: typing.Any
    ) -> list["Epoch"]:
        """Trains for a number of epochs; see ``bppsa.fit.fit`` for the settings."""
        from bppsa.fit import fit

        return fit(self, train, val, **settings)

    # Settings.

    def set_threads(self, count: int) -> None:
        """Sets the maximum number of threads used by calls; 0 selects all cores.

        Results do not depend on the number of threads.
        """
        self._program.set_threads(count)

    def set_affinity(self, cpus: collections.abc.Iterable[int]) -> None:
        """Binds the worker threads of this and other programs to CPUs, in order.

        The first CPU is reserved for the calling thread, which is not moved. With an empty list,
        the workers are unbound.
        """
        self._program.set_affinity(list(cpus))

    def set_variant(
        self, backward: str | None = None, scan: str | None = None, mapping: str | None = None
    ) -> None:
        """Selects the variant that computes gradients.

        ``backward`` is "auto", "sequential" or "scan"; ``scan`` is "auto" or a plan; ``mapping`` is
        "auto", "lanes", "units", "chunks" or "blocks". None is equivalent to "auto". The program
        must contain the variant; ``info["variants"]`` lists all variants.
        """
        self._program.set_variant(backward, scan, mapping)

    def set_hyperparameters(self, **values: float) -> None:
        """Sets hyperparameters.

        Accepts ``lr``, ``weight_decay``, the hyperparameters of the optimizer (``beta1``,
        ``beta2``, ``eps``), and ``clip_norm``, the maximum norm of all gradients combined (0 for no
        limit).
        """
        for name, value in values.items():
            self._program.set_hyperparameter(name, value)

    def set_seed(self, seed: int) -> None:
        """Sets the seed of dropout, which also depends on the number of the step."""
        self._program.set_seed(seed)

    # Parameters and files.

    def state_dict(self) -> dict[str, np.ndarray]:
        """Returns copies of all parameters by name."""
        return {name: self.parameters[name].copy() for name in self.parameters}

    def load_state_dict(self, state: Arrays, *, strict: bool = True) -> None:
        """Copies parameters by name. If a shape does not match, nothing is copied.

        If ``strict`` is True, the names must equal the names in ``parameters``; otherwise missing
        and unknown names are ignored.
        """
        if strict:
            _check_keys(state, self.parameters)
        new = {name: to_numpy(state[name]) for name in self.parameters if name in state}
        for name, array in new.items():
            shape = self.parameters[name].shape
            if array.shape != shape:
                raise Error(
                    f"parameter '{name}' has the shape {shape}, found an array of the shape "
                    f"{array.shape}"
                )
        for name, array in new.items():
            self.parameters[name] = array

    def reset(self) -> None:
        """Resets the parameters to the values of the model, and the state of the optimizer."""
        self._program.reset()

    def save(self, path: Path) -> None:
        """Writes the ONNX model with the current parameters, replacing the file atomically."""
        self._program.save(os.fspath(path))

    def checkpoint(self, path: Path) -> None:
        """Writes parameters, optimizer states, hyperparameters and the number of the step.

        The file is replaced atomically.
        """
        self._program.save_checkpoint(os.fspath(path))

    def resume(self, path: Path) -> None:
        """Reads a checkpoint written by ``checkpoint`` or by the command ``train`` of a program."""
        self._program.load_checkpoint(os.fspath(path))


def load(path: Path) -> Program:
    """Loads a program from a shared library written by ``build(..., emit="shared")``.

    Every call creates a program with separate parameters.
    """
    return Program(_native.load(os.fspath(path)))
