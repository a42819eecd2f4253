# Part of the bppsa project, under the MIT License.
"""The training loop of compiled programs, on arrays, files or loaders."""

import collections.abc
import contextlib
import dataclasses
import json
import logging
import os
import re
import sys
import typing
import warnings

from bppsa import _native
from bppsa.errors import Error
from bppsa.program import Path, Program

_log = logging.getLogger("bppsa")


@dataclasses.dataclass(frozen=True)
class Epoch:
    """The log record of an epoch."""

    #: The number of the epoch, counted from 1.
    epoch: int
    #: The mean loss of the samples, each evaluated before the update of its batch.
    loss: float
    val_loss: float | None
    #: The fraction of correct positions; None unless the loss has classes.
    val_accuracy: float | None
    #: Seconds of the epoch, and of loading its batches.
    seconds: float
    load_seconds: float
    #: The learning rate of the last step.
    lr: float
    #: The variant that computed the gradients.
    variant: str
    #: If there are several losses: ``loss_on``, ``loss``, ``val_loss`` and ``val_accuracy`` of
    #: each.
    losses: list[dict[str, typing.Any]] | None = None

    def __str__(self) -> str:
        parts = [f"loss {self.loss:.4f}"]
        if self.val_loss is not None:
            parts.append(f"val_loss {self.val_loss:.4f}")
        if self.val_accuracy is not None:
            parts.append(f"val_accuracy {self.val_accuracy:.4f}")
        return "  ".join(parts)


#: Called after each epoch; returns True to stop training.
Callback = collections.abc.Callable[[Program, Epoch], typing.Any]

def fit(
    program: Program,
    train: typing.Any,
    val: typing.Any = None,
    *,
    epochs: int = 1,
    batch: int | None = None,
    lr: float | None = None,
    lr_schedule: str | None = None,
    lr_for: collections.abc.Mapping[str, float] | None = None,
    weight_decay: float | None = None,
    clip_norm: float | None = None,
    ema: float | None = None,
    accumulate: int | None = None,
    tbptt: int | None = None,
    seed: int | None = None,
    shuffle: bool = True,
    shuffle_memory: int | str | None = None,
    val_split: float | None = None,
    patience: int | None = None,
    best: str | None = None,
    save: Path | None = None,
    save_best: Path | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int | None = None,
    resume: Path | None = None,
    log: Path | None = None,
    callbacks: collections.abc.Iterable[Callback] = (),
    progress: bool = True,
    **others: typing.Any,
) -> list[Epoch]:
    """Trains ``program`` like the command ``train`` of a compiled program.

    Returns the record of each epoch.

    ``train`` and ``val`` may be

    - a dict of arrays by name: the inputs and ``target``
    - a pair of such a dict of inputs and a target
    - the path of an ``.npz`` file, or of a directory of ``.npz`` files
    - a loader, iterated once per epoch, that yields such dicts or pairs, one per batch

    The settings are the options of the command. ``batch`` is the number of samples per batch
    (default 32), ``accumulate`` the number of batches per update, and ``tbptt`` the number of steps
    per segment of a stream. ``lr`` is the learning rate, and ``lr_for={"^head": 1e-4}`` sets the
    learning rates of parameters by name. ``lr_schedule`` is ``constant``, ``step:N:GAMMA``,
    ``cosine[:MIN]`` or ``plateau[:FACTOR[:N]]``, optionally prefixed by ``warmup:N,``.
    ``clip_norm`` is the maximum norm of the gradients. ``ema`` is the decay of the moving average
    of the weights; the averages are used for validation, saved, and assigned to the parameters at
    the end. ``val_split`` is the fraction of samples used for validation. Training stops after
    ``patience`` epochs without a new ``best`` ("loss" or "accuracy"). ``others`` are settings of
    the optimizer (``beta1``, ``eps``, ...) and of the variant (``backward``, ``scan``,
    ``mapping``). Omitted settings default to ``set_hyperparameters``, ``set_variant`` and
    ``set_seed``.

    ``save`` and ``save_best`` are files for the final model and the model of the best epoch.
    ``checkpoint`` is a file for the training state, written after each epoch and when Ctrl-C
    interrupts training; ``resume`` is such a file to continue from, written by ``fit`` or by the
    command. ``log`` is a file for one JSON object per epoch. ``progress`` shows a progress bar if
    tqdm is installed, otherwise lines.

    If the call raises an exception, the parameters are those after the last complete step.
    """
    settings = {
        "epochs": epochs,
        "batch": batch,
        "lr": lr,
        "lr_schedule": lr_schedule,
        "lr_for": [f"{name}={float(rate)!r}" for name, rate in (lr_for or {}).items()],
        "weight_decay": weight_decay,
        "clip_norm": clip_norm,
        "ema": ema,
        "accumulate": accumulate,
        "tbptt": tbptt,
        "seed": seed,
        "no_shuffle": not shuffle,
        "shuffle_memory": shuffle_memory,
        "val_split": val_split,
        "patience": patience,
        "best": best,
        "save": save,
        "save_best": save_best,
        "checkpoint": checkpoint,
        "checkpoint_every": checkpoint_every,
        "resume": resume,
        "log": log,
        **others,
    }
    samples, unseen = _source(train), _source(val)
    for name, data in (("data", samples), ("val", unseen)):
        if isinstance(data, (str, os.PathLike)):
            settings[name] = data
    listener = _Listener(program, epochs, tuple(callbacks), progress)
    try:
        _native.fit(
            program._program,
            [pair for name, value in settings.items() for pair in _words(name, value)],
            _without_path(samples),
            samples.length if isinstance(samples, _Loader) else None,
            _without_path(unseen),
            listener,
        )
    except Error as error:
        raise type(error)(_in_python(str(error))) from None
    finally:
        listener.close()
    return listener.history


def _words(name: str, value: typing.Any) -> list[tuple[str, str | None]]:
    """Returns the command-line words of a setting: a name and a value for each occurrence."""
    name = name.replace("_", "-")
    if value is None or value is False:
        return []
    if value is True:
        return [(name, None)]
    if isinstance(value, list):
        return [(name, word) for word in value]
    return [(name, os.fspath(value) if isinstance(value, os.PathLike) else str(value))]


def _in_python(line: str) -> str:
    """Replaces command-line names of options in a message by their Python names."""
    line = re.sub(r"; see train --help$", "; see help(bppsa.Program.fit)", line)
    line = line.removeprefix("train: ")
    return re.sub(r"--([a-z][a-z0-9-]*)", lambda found: found[1].replace("-", "_"), line)


class _Loader:
    """Returns the arrays of one batch per call, and None at the end of each epoch."""

    def __init__(self, loader: typing.Any):
        if not hasattr(loader, "__iter__"):
            raise Error(
                "a training set must be a dict of arrays, a pair of inputs and target, an .npz "
                f"file or a loader of batches, found {type(loader).__name__}"
            )
        self._loader = loader
        self._batches: collections.abc.Iterator[typing.Any] | None = None

    @property
    def length(self) -> int | None:
        return len(self._loader) if hasattr(self._loader, "__len__") else None

    def __call__(self) -> dict[str, typing.Any] | None:
        if self._batches is None:
            self._batches = iter(self._loader)
        for item in self._batches:
            arrays = _named(item)
            if not arrays:
                raise Error(
                    f"a loader must yield dicts or pairs of inputs and target, found {item!r:.60}"
                )
            return arrays
        self._batches = None
        return None


def _source(data: typing.Any) -> typing.Any:
    """Returns a path, a dict of arrays, a loader, or None."""
    if data is None or isinstance(data, (str, os.PathLike)):
        return data
    # A tuple of two dicts holds inputs and targets; a list of dicts holds batches.
    if isinstance(data, list) and all(map(_named, data)):
        return _Loader(data)
    return _named(data) or _Loader(data)


def _without_path(data: typing.Any) -> typing.Any:
    return None if isinstance(data, (str, os.PathLike)) else data


def _named(data: typing.Any) -> dict[str, typing.Any] | None:
    """Returns a dict, or a pair of inputs and target, as a dict with the names used by programs."""
    if isinstance(data, collections.abc.Mapping):
        return dict(data)
    if not (isinstance(data, (tuple, list)) and len(data) == 2):
        return None
    inputs, target = data
    if not isinstance(inputs, collections.abc.Mapping):
        return None
    if isinstance(target, collections.abc.Mapping):
        return {**inputs, **{f"target.{name}": array for name, array in target.items()}}
    return dict(inputs) if target is None else {**inputs, "target": target}


class _Listener:
    """Records the history of a run and displays its progress."""

    def __init__(
        self, program: Program, epochs: int, callbacks: tuple[Callback, ...], progress: bool
    ):
        self.history: list[Epoch] = []
        self._program, self._epochs, self._callbacks = program, epochs, callbacks
        self._progress = progress
        self._bar: typing.Any = None
        self._shown = 0

    def __call__(
        self,
        *,
        epoch: int,
        batch: int,
        batches: int,
        record: str | None,
        message: str | None,
        is_warning: bool,
    ) -> bool:
        if message is not None:
            if is_warning:
                warnings.warn(_in_python(message), RuntimeWarning, stacklevel=4)
            else:
                _log.info("%s", message)
            return False
        title = f"epoch {epoch}/{self._epochs}"
        if self._progress:
            self._show(title, batch, batches)
        if record is None:
            return False
        line = Epoch(**json.loads(record))
        self.history.append(line)
        if self._progress:
            self._finish(title, line)
        return any([callback(self._program, line) is True for callback in self._callbacks])

    def _show(self, title: str, batch: int, batches: int) -> None:
        if self._bar is None:
            self._bar, self._shown = _make_bar(title, batches if batches >= 0 else None), 0
        self._bar.update(batch - self._shown)
        self._shown = batch

    def _finish(self, title: str, record: Epoch) -> None:
        self._bar.set_postfix_str(str(record))
        self.close()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class _Line:
    """Replaces the progress bar by one line per epoch."""

    def __init__(self, title: str):
        self._title = title

    def update(self, batches: int) -> None:
        pass

    def set_postfix_str(self, text: str) -> None:
        print(f"{self._title}  {text}", file=sys.stderr)

    def close(self) -> None:
        pass


def _make_bar(title: str, batches: int | None) -> typing.Any:
    with contextlib.suppress(ImportError):
        from tqdm.auto import tqdm

        return tqdm(total=batches, desc=title, unit="batch")
    return _Line(title)
