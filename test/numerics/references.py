"""Reference gradients in float64 and of a sequential float32 implementation, cached on disk.

Many programs (one per scan plan) are compared with the same reference, often in several test
processes; each reference is computed once. The key covers all inputs of the computation, including
the source code of the reference, but nothing of the compiler.

Small references are recorded in Inputs/references.npz by `record_references.py`. The records are
valid for one version of the reference's source code; after a change, all references are computed
until they are recorded again. `test_reference.py` recomputes some of them in every run.
"""

import collections.abc
import collections.abc
import functools
import hashlib
import json
import os
import pathlib

import cells_in_jax
import harness
import jax
import losses_in_jax
import numpy as np
import onnx_in_jax
import operators_in_jax
import windows_in_jax


def _digest(*parts):
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part if isinstance(part, bytes) else str(part).encode())
    return digest.hexdigest()[:32]


MODULES = (onnx_in_jax, operators_in_jax, losses_in_jax, cells_in_jax, windows_in_jax)
SOURCES = _digest(*(pathlib.Path(module.__file__).read_bytes() for module in MODULES), jax.__version__)
DIRECTORY = harness.BUILD / "test-references" / SOURCES
RECORDED = pathlib.Path(__file__).parent / "Inputs" / "references.npz"
PREFIXES = {"64:": np.float64, "32:": np.float32}


# Number of low-order bytes to round away, in float64 values and in float32 differences from them.
DROPPED = {np.float64: 1, np.float32: 2}


def _split_bytes(values, dtype):
    """Groups the bytes by significance, which compresses better."""
    unsigned, bits = {8: np.uint64, 4: np.uint32}[values.itemsize], 8 * DROPPED[dtype]
    rounded = (values.view(unsigned) + unsigned(1 << (bits - 1))) >> unsigned(bits) << unsigned(bits)
    return rounded.view(np.uint8).reshape(-1, values.itemsize).T[DROPPED[dtype] :]


def _join_bytes(rows, dtype):
    values = np.zeros((rows.shape[1], np.dtype(dtype).itemsize), np.uint8)
    values[:, DROPPED[dtype] :] = rows.T
    return values.view(dtype).reshape(-1)


@functools.cache
def recorded():
    """Returns the recorded arrays for this version of the reference, by key and prefixed name."""
    if not RECORDED.exists():
        return {}
    with np.load(RECORDED) as archive:
        if str(archive["sources"]) != SOURCES:
            return {}
        layouts = json.loads(str(archive["layouts"]))
        exact = _join_bytes(archive["exact"], np.float64)
        difference = _join_bytes(archive["difference"], np.float32)
    entries, begin = {}, 0
    for key, layout in layouts.items():
        entries[key] = {}
        for name, shape in layout.items():
            end = begin + int(np.prod(shape))
            entries[key]["64:" + name] = exact[begin:end].reshape(shape)
            entries[key]["32:" + name] = (exact[begin:end] + difference[begin:end]).reshape(shape)
            begin = end
    return entries


def record(entries):
    """Writes `entries`, which have the form of `recorded`, for this version of the reference."""
    layouts, exact, difference = {}, [], []
    for key, arrays in sorted(entries.items()):
        names = [name[3:] for name in arrays if name.startswith("64:")]
        layouts[key] = {name: arrays["64:" + name].shape for name in names}
        for name in names:
            exact.append(arrays["64:" + name].reshape(-1))
            # Low precision suffices for small errors, including errors far below the bound.
            error = arrays["32:" + name].reshape(-1) - exact[-1]
            difference.append(error.astype(np.float32))
    np.savez_compressed(
        RECORDED,
        sources=SOURCES,
        layouts=json.dumps(layouts),
        exact=_split_bytes(np.concatenate(exact), np.float64),
        difference=_split_bytes(np.concatenate(difference), np.float32),
    )


def make_key(model, arrays, loss, loss_on=None):
    content = [model.SerializeToString(deterministic=True), loss, loss_on]
    for name, array in sorted(arrays.items()):
        content += [name, array.dtype, array.shape, array.tobytes()]
    return _digest(*content)


def _load_or_compute(key, prefix, model, arrays, loss, loss_on):
    """Returns the arrays of one reference by name."""
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    path = DIRECTORY / f"{key}-{prefix[:-1]}.npz"
    with harness.locked(path.with_suffix(".lock")):
        if not path.exists():
            temporary = path.with_suffix(".tmp.npz")
            np.savez(temporary, **onnx_in_jax.gradients(model, arrays, loss, PREFIXES[prefix], loss_on))
            temporary.rename(path)
    with np.load(path) as stored:
        return dict(stored)


class Deferred(collections.abc.MutableMapping):
    """Arrays by name, computed on first access."""

    def __init__(self, compute):
        self.get_arrays = functools.cache(compute)

    def __getitem__(self, name):
        return self.get_arrays()[name]

    def __setitem__(self, name, array):
        self.get_arrays()[name] = array

    def __delitem__(self, name):
        del self.get_arrays()[name]

    def __iter__(self):
        return iter(self.get_arrays())

    def __len__(self):
        return len(self.get_arrays())


def gradients(model, arrays, loss, loss_on=None):
    """Returns (float64 gradients, float32 gradients), each with `loss` and one array per name.

    The float32 gradients are computed lazily: `harness.check_gradients` needs them only for
    gradients outside its tightest bound. With BPPSA_ALL_REFERENCES=1, all are computed.
    """
    key = make_key(model, arrays, loss, loss_on)
    if stored := recorded().get(key):
        return tuple({n[3:]: a for n, a in stored.items() if n.startswith(p)} for p in PREFIXES)
    arguments = (model, arrays, loss, loss_on)
    exact = _load_or_compute(key, "64:", *arguments)
    single = Deferred(functools.partial(_load_or_compute, key, "32:", *arguments))
    if os.environ.get("BPPSA_ALL_REFERENCES"):
        single.get_arrays()
    return exact, single
