#!/usr/bin/env python3
# Part of the bppsa project, under the MIT License.
"""Compares the analytic generation of sparse Jacobians with PyTorch's autograd, one row per pass.

    ninja -C build bppsa-pattern-times
    benchmarks/patterns/run.py --program build/benchmarks/bppsa-pattern-times --out patterns.json
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import time

import torch

ROWS = ("conv", "relu", "max_pool")


def jacobian(layer, x):
    """Returns the Jacobian of one sample, computed row by row, and the time in seconds."""
    begin = time.perf_counter()
    y = layer(x).reshape(-1)
    rows = [
        torch.autograd.grad(y[i], x, retain_graph=True)[0].reshape(-1) for i in range(len(y))
    ]
    matrix = torch.stack(rows)
    return matrix, time.perf_counter() - begin


def measure(name, layer, x, entries, repeat):
    runs = [jacobian(layer, x) for _ in range(repeat)]
    nonzeros = int((runs[0][0] != 0).sum())
    # Autograd finds only nonzeros: all entries of a convolution, and some entries of other layers.
    assert nonzeros == entries if name == "conv" else nonzeros <= entries, (name, nonzeros, entries)
    return 1e6 * statistics.median(seconds for _, seconds in runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--shape", type=int, nargs=2, default=(3, 8), metavar=("CHANNELS", "SIZE"))
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    channels, size = args.shape
    command = [args.program, str(channels), str(size), str(args.features)]
    ours = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    layers = {
        "conv": torch.nn.Conv2d(channels, args.features, 3, padding=1, bias=False),
        "relu": torch.nn.ReLU(),
        "max_pool": torch.nn.MaxPool2d(2),
    }
    x = torch.randn(1, channels, size, size, requires_grad=True)
    results = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, one thread used",
        "torch": torch.__version__,
        "image": [channels, size, size],
        "features": args.features,
        "layers": {},
    }
    for name in ROWS:
        autograd = measure(name, layers[name], x, ours[name]["entries"], args.repeat)
        results["layers"][name] = {
            "analytic_us": ours[name]["us"],
            "autograd_us": round(autograd, 1),
            "speedup": round(autograd / ours[name]["us"], 1),
            "entries": ours[name]["entries"],
        }
    with open(args.out, "w") as file:
        json.dump(results, file, indent=2)
        file.write("\n")
    print(json.dumps(results["layers"], indent=2))


if __name__ == "__main__":
    main()
