# Part of the bppsa project, under the MIT License.
"""Programs in this process: what ``bppsa.compile`` and ``bppsa.load`` return."""

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

#: A file.
Path = str | os.PathLike[str]
#: Anything with DLPack or the buffer protocol: arrays of NumPy, PyTorch and JAX on the CPU.
Array = typing.Any
#: Arrays by the names of the graph inputs that they feed.
Arrays = collections.abc.Mapping[str, Array]

_INPUT, _OUTPUT, _TARGET, _PARAMETER, _GRADIENT = range(5)


@dataclasses.dataclass(frozen=True)
class ArrayInfo:
    """An array of a program."""

    name: str
    #: As NumPy writes it: "float32".
    dtype: str
    #: None for sizes that are known at run time only.
    shape: tuple[int | None, ...]
    #: The axes that carry samples and time steps, if there are.
    batch_axis: int | None = None
    time_axis: int | None = None
    #: Of a parameter: whether steps change it.
    trained: bool = False
    #: Whether calls may leave it out: zero for states of a stream, one for weights.
    optional: bool = False
    #: In a stream, the graph output that holds this input after the last step.
    carried: str | None = None

    def __str__(self) -> str:
        sizes = ", ".join("?" if size is None else str(size) for size in self.shape)
        return f"{self.name}: {self.dtype}[{sizes}]"


class Parameters(collections.abc.Mapping[str, np.ndarray]):
    """The parameters of a program by the names of their initializers: NumPy arrays over the
    program's own memory, float32, to be read and written in place between calls."""

    def __init__(self, program: _native.Program, infos: dict[str, ArrayInfo]):
        self._program = program
        self._infos = infos
        self._indices = {name: index for index, name in enumerate(infos)}

    def __getitem__(self, name: str) -> np.ndarray:
        return np.asarray(self._program.parameter(self._indices[name]))

    def __setitem__(self, name: str, value: Array) -> None:
        """Writes ``value``, which must have the shape of the parameter."""
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
            raise Error(f"the state {what} parameter '{min(names)}'; strict=False takes what fits")


def to_numpy(array: Array) -> np.ndarray:
    """A NumPy array over the memory of ``array`` where there is one, else a new one."""
    if hasattr(array, "detach"):
        array = array.detach()
    return np.asarray(array)


def _by_name(inputs: Arrays) -> dict[str, Array]:
    if isinstance(inputs, collections.abc.Mapping):
        return inputs if isinstance(inputs, dict) else dict(inputs)
    raise Error(f"inputs must be a dict of arrays by name, found {type(inputs).__name__}; see Program.inputs")


Convert = collections.abc.Callable[[np.ndarray], Array]


def _like(inputs: Arrays) -> Convert:
    """What turns a result into an array of the kind of the first input, without a copy."""
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
    """A compiled model with its parameters and the states of its optimizer.

    Arrays are given by the names of graph inputs, with the layouts of ``inputs`` and ``targets``:
    any DLPack arrays on the CPU.  Those that are compact and have the described type are read where
    they are, others are copied; where the model takes integers, every integer type will do.
    Results are NumPy arrays, or of the kind of the first input (PyTorch, JAX).

    Other threads of Python run while a program computes.  Calls on one program wait for each other.
    """

    def __init__(self, program: _native.Program):
        self._program = program
        arrays = [
            {info["name"]: ArrayInfo(**info) for info in program.describe(kind)}
            for kind in range(_GRADIENT + 1)
        ]
        #: What a call takes: an ``ArrayInfo`` by the name of each graph input.
        self.inputs: dict[str, ArrayInfo] = arrays[_INPUT]
        #: What ``infer`` returns.
        self.outputs: dict[str, ArrayInfo] = arrays[_OUTPUT]
        #: What losses compare with: ``target`` and, optional, ``weight``; with several losses
        #: ``target.OUTPUT`` and ``weight.OUTPUT`` for each.
        self.targets: dict[str, ArrayInfo] = arrays[_TARGET]
        #: What ``grad`` returns: trained parameters, then float graph inputs.
        self.gradients: dict[str, ArrayInfo] = arrays[_GRADIENT]
        #: Live views of all float parameters by the names of their initializers.
        self.parameters = Parameters(program, arrays[_PARAMETER])

    @property
    def info(self) -> dict[str, typing.Any]:
        """What the command ``info`` of a compiled program prints."""
        return dict(json.loads(self._program.description))

    def __reduce__(self) -> typing.NoReturn:
        raise Error(
            "a program can be neither copied nor pickled; save() writes its model, checkpoint() its state"
        )

    def __repr__(self) -> str:
        lines = [f"<bppsa.Program {self.info['source']}"]
        for name in ("inputs", "outputs", "targets"):
            lines.append(f"  {name}: " + ", ".join(map(str, getattr(self, name).values())))
        count = sum(self.parameters[name].size for name in self.parameters)
        return "\n".join(lines) + f"\n  parameters: {count} in {len(self.parameters)} arrays>"

    # Computing.

    def infer(
        self, inputs: Arrays, *, out: collections.abc.Mapping[str, np.ndarray] | None = None
    ) -> dict[str, Array]:
        """Every graph output by its name.  With ``out``, those named there are written to memory of
        the caller, of the shapes that they have, and ``out`` is returned."""
        if out is not None:
            self._program.infer_into(_by_name(inputs), dict(out))
            return dict(out)
        outputs = self._program.infer(_by_name(inputs))
        like = _like(inputs)
        return {name: like(array) for name, array in outputs.items()}

    def eval(
        self, inputs: Arrays, target: Array = None, *, weight: Array = None
    ) -> dict[str, float]:
        """The ``loss``, as of ``step``, and the ``accuracy``, the share of right positions, where
        the loss has classes.  Changes nothing."""
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
        """The loss and its gradients by the names of trained parameters and float graph inputs.

        ``target`` has the layout of ``targets``: the shape of the output for mse, l1, huber and
        bce-with-logits; without its last axis, as integers, for cross-entropy and nll; None where
        the model's own output is the loss.  With several losses it is a dict by their outputs.
        ``weight`` multiplies the loss at each position of the target.
        ``out`` is memory of the caller for the gradients that are wanted.
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
        """A training step: forward, backward, and the update of all trained parameters with the
        learning rate ``lr`` (default: the hyperparameter).  Returns the loss before the update.

        Arrays are those of ``grad``.  Raises ``bppsa.DivergedError`` where the loss or a gradient
        is not finite; then nothing has changed.
        """
        return self._program.step(_by_name(inputs), target, weight, lr)

    def update(self, gradients: Arrays, *, lr: float | None = None) -> None:
        """The update of a step alone, by gradients of all trained parameters."""
        self._program.update(dict(gradients), lr)

    @property
    def losses(self) -> dict[str, float]:
        """The losses of the last ``step``, ``grad`` or ``eval`` by their outputs."""
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
        """Trains for a number of epochs: see ``bppsa.fit.fit``, which has the settings."""
        from bppsa.fit import fit

        return fit(self, train, val, **settings)

    # Settings.

    def set_threads(self, count: int) -> None:
        """The most threads that calls use; 0 for all cores.  Results do not depend on it."""
        self._program.set_threads(count)

    def set_affinity(self, cpus: collections.abc.Iterable[int]) -> None:
        """Binds the threads that help with calls of this and of other programs, one after the other,
        to these CPUs; the first of them is left for the calling thread, which stays where it is.
        An empty list lets them run anywhere."""
        self._program.set_affinity(list(cpus))

    def set_variant(
        self, backward: str | None = None, scan: str | None = None, mapping: str | None = None
    ) -> None:
        """Which backward pass computes gradients: ``backward`` is "auto", "sequential" or "scan",
        ``scan`` a plan, ``mapping`` "auto", "lanes", "units" or "blocks"."""
        self._program.set_variant(backward, scan, mapping)

    def set_hyperparameters(self, **values: float) -> None:
        """Sets ``lr``, ``weight_decay``, those of the optimizer (``beta1``, ``beta2``, ``eps``), or
        ``clip_norm``, the largest norm of all gradients together (0: no limit)."""
        for name, value in values.items():
            self._program.set_hyperparameter(name, value)

    def set_seed(self, seed: int) -> None:
        """What the random numbers of dropout follow from, with the number of the step."""
        self._program.set_seed(seed)

    # Parameters and files.

    def state_dict(self) -> dict[str, np.ndarray]:
        """Copies of all parameters by name."""
        return {name: self.parameters[name].copy() for name in self.parameters}

    def load_state_dict(self, state: Arrays, *, strict: bool = True) -> None:
        """Writes parameters by name, all or none.  Unless ``strict`` is False, the names must be
        those of ``parameters``."""
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
        """Gives parameters the values of the model and forgets the optimizer's states."""
        self._program.reset()

    def save(self, path: Path) -> None:
        """Writes the ONNX model with the parameters of now; the file appears whole or not at all."""
        self._program.save(os.fspath(path))

    def checkpoint(self, path: Path) -> None:
        """Writes parameters, optimizer states, hyperparameters and the number of the step; the file
        appears whole or not at all."""
        self._program.save_checkpoint(os.fspath(path))

    def resume(self, path: Path) -> None:
        """Reads what ``checkpoint`` or the command ``train`` of a compiled program wrote."""
        self._program.load_checkpoint(os.fspath(path))


def load(path: Path) -> Program:
    """A program of a shared library, which ``build(..., emit="shared")`` wrote.  Every call makes
    one with parameters of its own."""
    return Program(_native.load(os.fspath(path)))
