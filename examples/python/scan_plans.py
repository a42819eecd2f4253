# Part of the bppsa project, under the MIT License.
"""Compares backward passes of a model: the sequential one, and scans by several plans.

    python examples/python/scan_plans.py [--steps T] [--samples B]
"""

import argparse
import pathlib
import statistics
import time

import bppsa
import numpy as np

MODEL = pathlib.Path(__file__).resolve().parents[1] / "bitstream_rnn.onnx"
PLANS = ("linear", "blelloch", "chunked:64")


def measure(model, inputs, target):
    """The median time of a gradient in milliseconds, and the gradient."""
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        gradients = model.grad(inputs, target)[1]
        times.append(time.perf_counter() - begin)
    return 1e3 * statistics.median(times), gradients


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--samples", type=int, default=4)
    options = parser.parse_args()

    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (options.steps, options.samples, 1)).astype(np.float32)
    inputs, target = {"x": x}, rng.integers(0, 10, options.samples)
    model = bppsa.compile(MODEL, backward="sequential")
    exact, expected = measure(model, inputs, target)
    print(f"{'plan':>12} {'ms':>9}  largest difference from sequential")
    print(f"{'sequential':>12} {exact:9.3f}")
    for plan in PLANS:
        scan = bppsa.compile(MODEL, backward="scan", scan=plan)
        taken, found = measure(scan, inputs, target)
        difference = max(np.abs(found[name] - expected[name]).max() for name in expected)
        print(f"{plan:>12} {taken:9.3f}  {difference:.1e}")


if __name__ == "__main__":
    main()
