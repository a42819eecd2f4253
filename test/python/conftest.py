# Part of the bppsa project, under the MIT License.
"""Makes the package and the benchmark modules importable.

Uses the built package if there is one; otherwise the sources, which lack the compiled part.
"""

import pathlib
import sys

import harness
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
for folder in (harness.PACKAGE, ROOT / "benchmarks", ROOT / "test" / "python"):
    sys.path.insert(0, str(folder))


@pytest.fixture(scope="module")
def compiled(request):
    """The example RNN, compiled with the OPTIONS of the module."""
    import bitstreams
    import bppsa

    return bppsa.compile(bitstreams.MODEL, **request.module.OPTIONS)


@pytest.fixture
def program(compiled):
    """The compiled example RNN, reset to its initial state."""
    compiled.reset()
    compiled.set_variant()
    compiled.set_seed(0)
    compiled.set_hyperparameters(**compiled.info["hyper"], clip_norm=0)
    return compiled
