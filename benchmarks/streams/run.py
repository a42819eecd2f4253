#!/usr/bin/env python3
# Part of the bppsa project, under the MIT License.
"""Compares training steps of streams and ragged batches with PyTorch, on one thread.

    python benchmarks/streams/run.py --compiler build/bin/bppsa-compile --out results.json

Needs PyTorch and onnx; `torch.compile` needs a C++ compiler. Results are medians over interleaved
rounds, in seconds per training step: the loss (mean squared error or cross-entropy), its gradient,
and for `bppsa` the update (Adam).
"""

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import step_models
import torch

STEPS, SAMPLES = 64, 16
RAGGED_STEPS, RAGGED_SAMPLES = 100, 32


def seconds_of(function):
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def in_turns(candidates, turns):
    """Returns the median seconds of each of `candidates`, functions that measure."""
    found = {name: [] for name in candidates}
    for _ in range(turns):
        for name, measure in candidates.items():
            found[name].append(measure())
    return {name: statistics.median(values) for name, values in found.items()}


def compile_program(compiler, model, program, *options):
    subprocess.run([compiler, model, "-o", program, *options], check=True, stderr=subprocess.DEVNULL)


# --- the enhancer ---


def torch_step(step, module):
    x = torch.randn(STEPS, SAMPLES, 2, 1, 129)
    target = torch.randn(STEPS, SAMPLES, 2, 1, 66)

    def run():
        states, outputs = step_models.zero_states(SAMPLES), []
        for frame in x:
            y, *states = step(frame, *states)
            outputs.append(y)
        module.zero_grad()
        torch.nn.functional.mse_loss(torch.stack(outputs), target).backward()

    return run


def bench(program, steps, samples, threads):
    words = ["--seq-len", steps, "--batch", samples, "--repeat", 5, "--threads", threads]
    out = subprocess.run(
        [program, "bench", *map(str, words)], check=True, capture_output=True, text=True
    ).stdout
    return json.loads(out)["step_us"] / 1e6


def measure_enhancer(folder, compiler, turns, with_inductor):
    module = step_models.Enhancer()
    carry = step_models.export_enhancer(module, folder / "enhancer.onnx")
    program = folder / "enhancer"
    results = {
        "bppsa-compile": seconds_of(
            lambda: compile_program(
                compiler, folder / "enhancer.onnx", program, f"--carry={carry}", "--loss=mse", "--untie=.*"
            )
        )
    }
    eager = torch_step(module, module)
    candidates = {
        "bppsa, 1 thread": lambda: bench(program, STEPS, SAMPLES, 1),
        "bppsa, 2 threads": lambda: bench(program, STEPS, SAMPLES, 2),
        "PyTorch eager": lambda: seconds_of(eager),
    }
    if with_inductor:
        compiled = torch_step(torch.compile(module), module)
        results["torch.compile and first step"] = seconds_of(compiled)
        candidates["torch.compile of the step"] = lambda: seconds_of(compiled)
    return results | in_turns(candidates, turns)


# --- ragged batches ---


def ragged_lengths():
    """Returns equal, evenly spread and random lengths; the median of three random draws is used."""
    even = np.linspace(1, RAGGED_STEPS, RAGGED_SAMPLES).round()
    drawn = np.random.default_rng(0).integers(1, RAGGED_STEPS + 1, (3, RAGGED_SAMPLES))
    return {"all T": [np.full(RAGGED_SAMPLES, RAGGED_STEPS)], "even": [even], "uniform": list(drawn)}


def train_seconds(program, data):
    """Returns the seconds of one step: the best of several epochs of one batch."""
    log = data.with_suffix(".log")
    words = ["--data", data, "--epochs", 30, "--batch", RAGGED_SAMPLES, "--threads", 1, "--log", log]
    subprocess.run(
        [program, "train", *map(str, words), "--backward=sequential", "--quiet"], check=True
    )
    return min(json.loads(line)["seconds"] for line in log.read_text().splitlines())


def measure_ragged(folder, compiler, turns):
    module = step_models.RaggedGRU()
    step_models.export_ragged(module, folder / "ragged.onnx")
    program = folder / "ragged"
    compile_program(compiler, folder / "ragged.onnx", program, "--loss=cross-entropy")
    x = np.random.default_rng(1).standard_normal((RAGGED_STEPS, RAGGED_SAMPLES, 64), np.float32)
    target = np.random.default_rng(2).integers(0, 10, RAGGED_SAMPLES)

    def torch_seconds(lengths):
        def step():
            module.zero_grad()
            found = module(torch.from_numpy(x), torch.from_numpy(lengths.astype(np.int64)))
            torch.nn.functional.cross_entropy(found, torch.from_numpy(target)).backward()

        return min(seconds_of(step) for _ in range(10))

    candidates = {}
    for name, draws in ragged_lengths().items():
        for i, lengths in enumerate(draws):
            data = folder / f"{name}{i}.npz"
            np.savez(data, x=x, target=target, lengths=lengths.astype(np.int32))
            candidates[f"bppsa, {name}", i] = lambda data=data: train_seconds(program, data)
            candidates[f"PyTorch packed, {name}", i] = lambda lengths=lengths: torch_seconds(lengths)
    times = in_turns(candidates, turns)
    names = dict.fromkeys(name for name, _ in times)
    return {n: statistics.median(t for (m, _), t in times.items() if m == n) for n in names}


def machine():
    (name,) = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())[:1]
    return {
        "processor": name,
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "pytorch": torch.__version__,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", type=Path, default=Path("build/bin/bppsa-compile"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only", choices=["ragged", "enhancer"])
    parser.add_argument("--no-inductor", dest="inductor", action="store_false")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    version = subprocess.run([arguments.compiler, "--version"], capture_output=True, text=True)
    results = {"machine": machine() | {"bppsa": version.stdout.splitlines()[0]}}
    with tempfile.TemporaryDirectory() as name:
        folder, compiler, turns = Path(name), arguments.compiler, arguments.turns
        if arguments.only != "enhancer":
            results["ragged"] = measure_ragged(folder, compiler, turns)
        if arguments.only != "ragged":
            results["enhancer"] = measure_enhancer(folder, compiler, turns, arguments.inductor)
    text = json.dumps(results, indent=2)
    print(text)
    if arguments.out:
        arguments.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
