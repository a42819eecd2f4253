# Part of the bppsa project, under the MIT License.
"""Makes the package and the benchmark modules importable: the built package, or the sources where
there is none, which lack its compiled part."""

import pathlib
import sys

import harness

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = harness.BUILD / "python"
SOURCES = PACKAGE if (PACKAGE / "bppsa").exists() else ROOT / "python"
for folder in (SOURCES, ROOT / "benchmarks", ROOT / "test" / "python"):
    sys.path.insert(0, str(folder))
