# Part of the bppsa project, under the MIT License.
"""The hand-written benchmark loops give the gradients of float64 JAX."""

import pathlib
import subprocess

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import cells_jax
import build_handwritten
from shapes import CLASSES, Shape

pytestmark = pytest.mark.skipif(
    not build_handwritten.available(), reason="no C++ compiler or no AVX2"
)


def _file_order(cell, hidden, p):
    """Returns the weights in the order of the check file: R, W, b per group, in C++ group order."""
    gates = lambda name: np.split(np.asarray(p[name]), p[name].shape[-1] // hidden, axis=-1)
    r, w, b = gates("r"), gates("w"), gates("b")
    if cell == "gru":
        # C++ has four groups: r, z, the reset product (no W) and the candidate's input part (no R).
        groups = [r[0].T, w[0].T, b[0], r[1].T, w[1].T, b[1], r[2].T, p["q"], w[2].T, b[2]]
    else:
        groups = [part for gate in zip(r, w, b) for part in (gate[0].T, gate[1].T, gate[2])]
    return np.concatenate(
        [np.ravel(part) for part in (*groups, np.asarray(p["head"]).T, p["head_b"])]
    )


# Lanes over samples and over units, both types of weight sums, remainders, two threads.
@pytest.mark.parametrize(
    "cell, hidden, features, batch",
    [
        ("rnn", 20, 1, 16),
        ("gru", 20, 12, 32),
        ("gru", 64, 64, 16),
        ("lstm", 64, 12, 16),
        ("rnn", 33, 5, 3),
        ("gru", 33, 5, 3),
        ("lstm", 20, 12, 1),
    ],
)
def test_gradients_match_jax_float64(tmp_path, cell, hidden, features, batch):
    shape = Shape(cell, hidden, features, batch, steps=70)
    rng = np.random.default_rng(hidden + batch)
    x = rng.standard_normal((shape.steps, batch, features)).astype(np.float32)
    target = rng.integers(0, CLASSES, batch)
    with jax.enable_x64(True):
        p = cells_jax.parameters(cell, features, hidden, rng, np.float64)
        p = jax.tree_util.tree_map(lambda a: a.astype(np.float32).astype(np.float64), p)
        loss, gradient = jax.value_and_grad(
            lambda p: cells_jax.loss(cell, p, x.astype(np.float64), target)
        )(p)
    expected = np.concatenate([[loss], _file_order(cell, hidden, gradient)])

    given, found = tmp_path / "in", tmp_path / "out"
    np.concatenate([_file_order(cell, hidden, p), x.ravel(), target]).astype(np.float32).tofile(
        given
    )
    program = build_handwritten.build(shape, pathlib.Path(tmp_path))
    subprocess.run([program, "70", "1", "2", given, found], check=True)
    result = np.fromfile(found, np.float32)
    assert result.shape == expected.shape
    error = np.linalg.norm(result - expected) / np.linalg.norm(expected)
    assert error < 3e-6
