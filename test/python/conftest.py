# Part of the bppsa project, under the MIT License.
"""Makes the package and the benchmark modules importable from the checkout."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
for folder in (ROOT / "python", ROOT / "benchmarks"):
    sys.path.insert(0, str(folder))
