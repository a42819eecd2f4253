# Part of the bppsa project, under the MIT License.
"""The training loop: that of compiled programs, over arrays in memory or a loader."""

import collections.abc
import contextlib
import dataclasses
import json
import os
import sys
import time
import typing

import numpy as np

from bppsa.datasets import Dataset, find_arrays, merge, shuffled_order
from bppsa.errors import Error
from bppsa.program import Program
from bppsa.schedules import Schedule


@dataclasses.dataclass(frozen=True)
class Epoch:
    """What an epoch came to."""

    #: From 1.
    epoch: int
    #: The mean over the samples, each with the parameters before its step.
    loss: float
    val_loss: float | None
    #: The share of right positions, where the loss has classes.
    val_accuracy: float | None
    seconds: float
    #: Of the last step.
    lr: float

    def __str__(self) -> str:
        parts = [f"loss {self.loss:.4f}"]
        if self.val_loss is not None:
            parts.append(f"val_loss {self.val_loss:.4f}")
        if self.val_accuracy is not None:
            parts.append(f"val_accuracy {self.val_accuracy:.4f}")
        return "  ".join(parts)


#: Called after each epoch; training ends where one returns True.
Callback = collections.abc.Callable[[Program, Epoch], typing.Any]


def fit(
    program: Program,
    train: typing.Any,
    val: typing.Any = None,
    *,
    epochs: int = 1,
    batch: int = 32,
    lr: float | None = None,
    lr_schedule: str = "constant",
    clip_norm: float = 0.0,
    seed: int = 0,
    shuffle: bool = True,
    callbacks: collections.abc.Iterable[Callback] = (),
    checkpoint: str | os.PathLike | None = None,
    resume: str | os.PathLike | None = None,
    log: str | os.PathLike | None = None,
    progress: bool = True,
) -> list[Epoch]:
    """Trains ``program`` for ``epochs`` passes over ``train`` and returns what each came to.

    ``train`` and ``val`` are a dict of arrays, those of inputs and of ``target`` by name; a pair of
    such inputs and a target; the path of an ``.npz`` file of these; or, to loop over in each epoch,
    a loader that yields pairs or dicts, one for each batch.

    ``batch`` is the number of samples of a step; with a loader it is the loader's.  ``lr`` is the
    learning rate (default: the hyperparameter), ``lr_schedule`` is ``constant``, ``step:N:GAMMA``,
    ``cosine[:MIN]`` or ``plateau[:FACTOR[:N]]``, with or without ``warmup:N,`` before it, and
    ``clip_norm`` the largest norm of the gradients (0: no limit).  Samples are in the order that
    the command ``train --seed`` takes them in; ``shuffle=False`` keeps that of the arrays.

    ``checkpoint`` is a file that keeps the state of training after each epoch and when Ctrl-C ends
    it; ``resume`` is one to go on from, with the same data, batch and seed.  ``log`` is a file for
    one JSON object an epoch.  ``progress`` shows a bar where tqdm is installed, else lines.
    """
    if epochs < 1 or batch < 1:
        raise Error(f"epochs and batch must be at least 1, found {epochs} and {batch}")
    source = _Batches(program, train, batch, seed, shuffle)
    loop = _Loop(program, source, epochs, lr, Schedule.parse(lr_schedule))
    if resume is not None:
        program.resume(resume)
        loop.step = _read_step(resume)
    program.set_hyperparameters(clip_norm=clip_norm)
    program.set_seed(seed)
    keep = (lambda: None) if checkpoint is None else (lambda: program.checkpoint(checkpoint))
    with contextlib.ExitStack() as stack:
        lines = stack.enter_context(open(log, "a" if resume else "w")) if log else None
        try:
            while loop.epoch < epochs:
                record = loop.run_epoch(val, batch, progress)
                keep()
                if lines:
                    print(json.dumps(dataclasses.asdict(record)), file=lines, flush=True)
                if any([callback(program, record) is True for callback in callbacks]):
                    break
        except KeyboardInterrupt:
            keep()
            raise
    return loop.history


def evaluate(program: Program, data: typing.Any, batch: int) -> dict[str, float]:
    """The means of what ``eval`` says of each batch of a set or of a loader."""
    sums: dict[str, float] = {}
    total = 0.0
    for arrays in _Batches(program, data, batch, seed=0, shuffle=False).of_epoch(0):
        weight = _count_positions(program, arrays)
        for name, value in program.eval(arrays).items():
            sums[name] = sums.get(name, 0.0) + weight * value
        total += weight
    return {name: value / total for name, value in sums.items()}


class _Batches:
    """The batches of each epoch."""

    def __init__(self, program: Program, data: typing.Any, batch: int, seed: int, shuffle: bool):
        arrays = find_arrays(data)
        self.loader: typing.Any = data
        self.set = None if arrays is None else Dataset(program, arrays)
        self.batch, self.seed, self.shuffle = batch, seed, shuffle
        if arrays is None and not hasattr(data, "__iter__"):
            raise Error(
                "a training set must be a dict of arrays, a pair of inputs and target, an .npz "
                f"file or a loader of batches, found {type(data).__name__}"
            )

    @property
    def per_epoch(self) -> int | None:
        """None where only the loader knows."""
        if self.set:
            return -(-self.set.count // self.batch)
        return len(self.loader) if hasattr(self.loader, "__len__") else None

    def of_epoch(self, epoch: int, first: int = 0):
        """Arrays by name for each batch from number ``first`` on."""
        if self.set is None:
            for item in self.loader:
                yield item if isinstance(item, collections.abc.Mapping) else merge(*item)
            return
        count = self.set.count
        order = shuffled_order(self.seed, epoch, count) if self.shuffle else np.arange(count)
        for begin in range(first * self.batch, count, self.batch):
            yield self.set.take(order[begin : begin + self.batch])


class _Loop:
    def __init__(self, program, source, epochs, lr, schedule):
        self.program, self.source, self.epochs, self.schedule = program, source, epochs, schedule
        self.base = program.info["hyper"]["lr"] if lr is None else lr
        self.step = 0
        self.history: list[Epoch] = []
        if schedule.kind in ("step", "cosine") and not source.per_epoch:
            raise Error(f"lr_schedule '{schedule.kind}' needs a loader with a length")

    @property
    def epoch(self) -> int:
        """The number of the next epoch, from 0."""
        if self.source.set:
            return self.step // self.source.per_epoch
        return len(self.history)

    def _rate(self) -> float:
        per_epoch = self.source.per_epoch or 1
        losses = [e.loss if e.val_loss is None else e.val_loss for e in self.history]
        rate = self.schedule.rate(self.base, self.step, per_epoch, self.epochs * per_epoch)
        return rate * self.schedule.plateau_scale(losses)

    def run_epoch(self, val: typing.Any, batch: int, progress: bool) -> Epoch:
        begin, number, per_epoch = time.perf_counter(), self.epoch, self.source.per_epoch
        first = self.step % per_epoch if self.source.set else 0
        total = weights = 0.0
        rate = self.base
        bar = _make_bar(progress, f"epoch {number + 1}/{self.epochs}", per_epoch, first)
        with bar:
            for arrays in self.source.of_epoch(number, first):
                rate = self._rate()
                loss = self.program.step(arrays, lr=rate)
                self.step += 1
                weight = _count_positions(self.program, arrays)
                total, weights = total + weight * loss, weights + weight
                bar.update()
            if weights == 0:
                raise Error("the loader has no batches")
            seen = {} if val is None else evaluate(self.program, val, batch)
            record = Epoch(
                epoch=number + 1,
                loss=total / weights,
                val_loss=seen.get("loss"),
                val_accuracy=seen.get("accuracy"),
                seconds=time.perf_counter() - begin,
                lr=rate,
            )
            bar.set_postfix_str(str(record))
        self.history.append(record)
        return record


def _count_positions(program: Program, arrays: collections.abc.Mapping) -> float:
    """What a batch counts in a mean over samples."""
    if "weight" in arrays:
        return float(np.asarray(arrays["weight"]).sum())
    for name, info in {**program.targets, **program.inputs}.items():
        if name in arrays and info.batch_axis is not None:
            return float(arrays[name].shape[info.batch_axis])
    return 1.0


def _read_step(path: str | os.PathLike) -> int:
    """The number of steps before a checkpoint, which is an .npz file."""
    with np.load(path) as arrays:
        return json.loads(bytes(arrays["checkpoint"]))["state"]["step"]


class _Lines:
    """A line for each epoch, where there is no bar."""

    def __init__(self, title: str, shown: bool):
        self.title, self.shown = title, shown

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def update(self) -> None:
        pass

    def set_postfix_str(self, text: str) -> None:
        if self.shown:
            print(f"{self.title}  {text}", file=sys.stderr)


def _make_bar(progress: bool, title: str, total: int | None, first: int):
    if progress:
        with contextlib.suppress(ImportError):
            from tqdm.auto import tqdm

            return tqdm(total=total, initial=first, desc=title, unit="batch")
    return _Lines(title, progress)
