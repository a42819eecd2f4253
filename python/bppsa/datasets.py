# Part of the bppsa project, under the MIT License.
"""Training sets in memory: their samples, shuffled and cut into batches."""

import collections.abc
import os
import typing

import numpy as np

from bppsa.errors import Error
from bppsa.program import Program, to_numpy

_GAMMA = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


def _mix(state: np.ndarray) -> np.ndarray:
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _numbers(seed: int, count: int) -> np.ndarray:
    """The first numbers of SplitMix64."""
    states = np.uint64(seed & _MASK) + np.uint64(_GAMMA) * np.arange(1, count + 1, dtype=np.uint64)
    return _mix(states)


def shuffled_order(seed: int, epoch: int, count: int) -> np.ndarray:
    """The order of ``count`` samples in epoch ``epoch`` (from 0): that of compiled programs, a
    Fisher-Yates shuffle by SplitMix64 numbers that depends on nothing else."""
    first = int(_numbers(seed, 1)[0])
    seed = int(_numbers(first + epoch, 1)[0])
    bounds = np.arange(count, 1, -1, dtype=np.uint64)
    # Numbers that would favour small results are drawn again; hardly ever is there one.
    rejected = (~bounds + np.uint64(1)) % bounds
    spare = 8
    numbers = _numbers(seed, len(bounds) + spare)
    while (bad := np.flatnonzero(numbers[: len(bounds)] < rejected)).size:
        numbers = np.delete(numbers, bad[0])
    order = list(range(count))
    chosen = (numbers[: len(bounds)] % bounds).tolist()
    for last, other in zip(range(count - 1, 0, -1), chosen, strict=True):
        order[last], order[other] = order[other], order[last]
    return np.array(order, dtype=np.int64)


class Dataset:
    """The arrays of a training set under the names that programs give them."""

    def __init__(self, program: Program, arrays: collections.abc.Mapping[str, typing.Any]):
        known = {**program.inputs, **program.targets}
        for name in arrays:
            if name not in known:
                raise Error(f"array '{name}' is none of the program's: {', '.join(known)}")
        self.arrays = {name: to_numpy(array) for name, array in arrays.items()}
        self.axes = {name: known[name].batch_axis for name in arrays}
        self.count = self._count_samples()
        self._buffers: dict[str, np.ndarray] = {}

    def _count_samples(self) -> int:
        counts = {
            name: self.arrays[name].shape[axis]
            for name, axis in self.axes.items()
            if axis is not None and axis < self.arrays[name].ndim
        }
        if not counts:
            raise Error("no array of the set has an axis that carries samples")
        first = next(iter(counts))
        for name, count in counts.items():
            if count != counts[first]:
                raise Error(
                    f"array '{name}' has {count} samples, where '{first}' has {counts[first]}"
                )
        if counts[first] == 0:
            raise Error("the set has no samples")
        return counts[first]

    def take(self, samples: np.ndarray) -> dict[str, np.ndarray]:
        """The arrays of a batch, in memory that the next call uses again."""
        return {name: self._take(name, samples) for name in self.arrays}

    def _take(self, name: str, samples: np.ndarray) -> np.ndarray:
        array, axis = self.arrays[name], self.axes[name]
        if axis is None:
            return array
        shape = (*array.shape[:axis], len(samples), *array.shape[axis + 1 :])
        buffer = self._buffers.get(name)
        if buffer is None or buffer.shape != shape:
            buffer = self._buffers[name] = np.empty(shape, array.dtype)
        # Samples are in range; "clip" is what NumPy writes to `out` without a copy for.
        return np.take(array, samples, axis=axis, out=buffer, mode="clip")


def find_arrays(data: typing.Any) -> collections.abc.Mapping[str, typing.Any] | None:
    """The arrays of a set by name; None where ``data`` is something to loop over."""
    if isinstance(data, (str, os.PathLike)):
        with np.load(data) as loaded:
            return dict(loaded)
    if isinstance(data, collections.abc.Mapping):
        return data
    if isinstance(data, tuple) and len(data) == 2 and isinstance(data[0], collections.abc.Mapping):
        return merge(*data)
    return None


def merge(inputs: collections.abc.Mapping[str, typing.Any], target: typing.Any) -> dict:
    """Inputs and targets as one mapping, under the names that programs give them."""
    if isinstance(target, collections.abc.Mapping):
        return {**inputs, **{f"target.{name}": array for name, array in target.items()}}
    return dict(inputs) if target is None else {**inputs, "target": target}
