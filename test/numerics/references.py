"""The float64 gradients of a model and those of an ordinary float32 implementation, kept on disk.

Many programs (one for each scan plan) are compared with the same reference, by several test
processes; each is computed once. The key holds everything that it depends on, the text of the
reference itself included, and nothing of the compiler.
"""

import hashlib
import pathlib

import cells_in_jax
import harness
import jax
import models
import numpy as np
import onnx_in_jax
import windows_in_jax


def _digest(*parts):
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part if isinstance(part, bytes) else str(part).encode())
    return digest.hexdigest()[:32]


MODULES = (onnx_in_jax, cells_in_jax, windows_in_jax, models)
SOURCES = [pathlib.Path(module.__file__).read_bytes() for module in MODULES] + [jax.__version__]


def gradients(model, arrays, loss, loss_on=None):
    """(float64 gradients, float32 gradients), each a dict with `loss` and one array per name."""
    content = [model.SerializeToString(deterministic=True), loss, loss_on]
    for name, array in sorted(arrays.items()):
        content += [name, array.dtype, array.shape, array.tobytes()]
    directory = harness.BUILD / "test-references"
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{_digest(*SOURCES, *content)}.npz"
    with harness.locked(path.with_suffix(".lock")):
        if not path.exists():
            stored = {}
            for prefix, dtype in (("64:", np.float64), ("32:", np.float32)):
                grads = onnx_in_jax.gradients(model, arrays, loss, dtype, loss_on)
                stored.update({prefix + name: value for name, value in grads.items()})
            temporary = path.with_suffix(".tmp.npz")
            np.savez(temporary, **stored)
            temporary.rename(path)
    with np.load(path) as stored:
        return tuple(
            {name[3:]: stored[name] for name in stored.files if name.startswith(prefix)}
            for prefix in ("64:", "32:")
        )
