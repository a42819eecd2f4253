#!/usr/bin/env python3
# Part of the bppsa project, under the MIT License.
"""Compares the code that two builds generate: LLVM IR for the CPU and PTX for GPUs.

  utils/compare-kernels.py BUILD BUILD [MODEL.onnx...]

Compiles each model (default: those of examples/ and test/zoo/Inputs) with each build and reports
models whose code differs. Run it before and after a change that must not affect generated code.
The exit status is 1 if any code differs or a model compiles with only one of the builds.
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
KINDS = {
    "llvm": ["--emit=llvm", "--mcpu=x86-64-v3"],
    "ptx": ["--target=cuda", "--emit=ptx"],
    "ranks": ["--emit=llvm", "--mcpu=x86-64-v3", "--distributed=mpi"],
}
LOSSES = ["--loss=mse", "--loss=cross-entropy", "--loss=none"]


def generate(build, model, kind, folder):
    """The code for `model` with the first loss that fits it; None if it does not compile."""
    for loss in LOSSES:
        out = pathlib.Path(folder) / f"{abs(hash((build, model, kind)))}"
        command = [f"{build}/bin/bppsa-compile", model, loss, *KINDS[kind], "-o", out]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        if done.returncode == 0:
            text = out.read_bytes()
            out.unlink()
            return text
    return None


def compare(builds, model, kind, folder):
    """One word that says how the code of both builds relates, and the bytes of one of them."""
    first, second = (generate(build, model, kind, folder) for build in builds)
    if first is None and second is None:
        return "refused", 0
    return ("equal" if first == second else "DIFFERENT"), len(second or b"")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs=2, metavar="BUILD")
    parser.add_argument("models", nargs="*", metavar="MODEL.onnx")
    arguments = parser.parse_args()
    models = arguments.models or sorted(
        [*(ROOT / "examples").glob("*.onnx"), *(ROOT / "test/zoo/Inputs").glob("*.onnx")]
    )
    counts = {}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = {(m, k): pool.submit(compare, arguments.builds, m, k, folder) for m in models for k in KINDS}
        for (model, kind), run in runs.items():
            word, size = run.result()
            counts[word] = counts.get(word, 0) + 1
            print(f"{pathlib.Path(model).name:44} {kind:6} {word:9} {size:>10} bytes")
    print(", ".join(f"{count} {word}" for word, count in sorted(counts.items())))
    return int("DIFFERENT" in counts)


if __name__ == "__main__":
    sys.exit(main())
