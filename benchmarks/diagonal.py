#!/usr/bin/env python3
# Part of the bppsa project, under the MIT License.
"""Compares times of scans over chains with diagonal links with counts of the plan evaluator.

  benchmarks/diagonal.py [--out diagonal.json] [--steps 1000,10000] [--plans linear,chunked:16,...]

No ONNX operator has such a recurrence, because all have a recurrent matrix. The script therefore
times only the cotangent chain, given as IR, compiled by the CPU pipeline and called on one core:
`average` is h' = a h, whose link is one product, and `unit` a minimal gated unit,
h' = (1 - z) h + z n, which also emits the cotangents of z and n. Results are medians over
interleaved rounds. The script prints a table; --render prints the table of an earlier result.
"""

import argparse
import ctypes
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "test"), str(ROOT / "test" / "Conversion")]

import kernels
from run import _command, _machine, _numbers, _words

PLANS = ("linear", "chunked:16", "chunked:64", "hybrid:3", "blelloch")

# Saved activations, emitted values, and the link from %g.
CELLS = {
    "average": (("a",), (), "%h = arith.mulf %a, %g : vector<{N}xf32>"),
    "unit": (
        ("z", "d"),
        ("n", "e"),
        """%one = arith.constant dense<1.0> : vector<{N}xf32>
    %k = arith.subf %one, %z : vector<{N}xf32>
    %h = arith.mulf %k, %g : vector<{N}xf32>
    %n = arith.mulf %z, %g : vector<{N}xf32>
    %e = arith.mulf %d, %g : vector<{N}xf32>""",
    ),
}


def write_ir(cell, size, plan):
    """Returns a function with the chain of a cell, with a plan or `sequential`."""
    saved, emitted, link = CELLS[cell]
    sequence, state, vector = (f"{kind}{size}xf32>" for kind in ("tensor<?x?x", "tensor<?x", "vector<"))
    loop = "bppsa.chain"
    if plan != "sequential":
        loop = f"bppsa.chain plan <{plan.replace(':', ', ')}>"

    def commas(words):
        return ", ".join(words)

    count = 1 + len(emitted)
    outputs = f"emitted({commas([sequence] * len(emitted))})" if emitted else ""
    results = commas([state, *[sequence] * len(emitted)])
    return f"""
func.func @backward({commas(f"%{x}s: {sequence}" for x in saved)}, %seed: {state}) -> ({results}) {{
  %r:{count} = {loop}
      saved({commas(f"%{x}s" for x in saved)} : {commas([sequence] * len(saved))})
      seeds(%seed : {state}) -> ({state}) {outputs} {{
  ^bb0({commas(f"%{x}: {vector}" for x in saved)}, %g: {vector}):
    {link.format(N=size)}
    bppsa.yield {commas(f"%{x}" for x in ("h", *emitted))} : {commas([vector] * count)}
  }}
  return {commas(f"%r#{i}" for i in range(count))} : {results}
}}
"""


def evaluate(cell, steps, options, folder):
    """Returns the FLOPs of each plan relative to the sequential chain."""
    source, result = folder / "chain.mlir", folder / "plans.json"
    source.write_text(write_ir(cell, options.hidden, "sequential"))
    names = ",".join(dict.fromkeys(["linear", *options.plans]))
    passes = f"--bppsa-evaluate-plan=length={steps} batch={options.batch} algorithms={names} "
    opt = kernels.harness.require_tool("bppsa-opt")
    command = [opt, source, passes + f"output={result}", "-o", os.devnull]
    subprocess.run(command, check=True)
    (chain,) = json.loads(result.read_text())["chains"]
    flops = {plan["plan"]: plan["flops"] for plan in chain["plans"]}
    return {plan: flops[plan] / flops["linear"] for plan in flops}


def draw(cell, steps, options):
    """Returns inputs and result shapes. Gates are close to one to avoid underflow."""
    random = np.random.default_rng(steps)
    sequence, state = (steps, options.batch, options.hidden), (options.batch, options.hidden)
    saved, emitted, _ = CELLS[cell]
    gate = random.uniform(0, 1e-3, sequence)
    inputs = [1 - gate] if cell == "average" else [gate, random.uniform(-1, 1, sequence)]
    assert len(inputs) == len(saved)
    return [*inputs, random.uniform(-1, 1, state)], [state, *[sequence] * len(emitted)]


def time_once(run):
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1e6


def time_plans(runs, options):
    """Returns medians in microseconds over interleaved rounds of all plans."""
    turns = {plan: [] for plan in runs}
    for _ in range(options.rounds):
        for plan, run in runs.items():
            repeat = max(3, min(200, int(options.seconds * 1e6 / time_once(run))))
            turns[plan].append(statistics.median(time_once(run) for _ in range(repeat)))
    return {plan: statistics.median(found) for plan, found in turns.items()}


def measure(cell, options, folder):
    """Returns one entry per length."""
    level = max(count for count in kernels.LEVELS if kernels.can_run(count))
    compiled = {}
    for plan in ("sequential", *options.plans):
        directory = folder / f"{cell}-{plan.replace(':', '')}"
        directory.mkdir()
        compiled[plan] = kernels.Kernels(
            directory, write_ir(cell, options.hidden, plan), registers=level
        )
    for steps in options.steps:
        inputs, shapes = draw(cell, steps, options)
        runs, expected = {}, None
        for plan, program in compiled.items():
            runs[plan], results = program.bind("backward", inputs, shapes)
            runs[plan]()
            expected = expected or results
            for value, exact in zip(results, expected, strict=True):
                np.testing.assert_allclose(value, exact, rtol=1e-2, atol=1e-5)
        yield {
            "cell": cell,
            "steps": steps,
            "batch": options.batch,
            "hidden": options.hidden,
            "backward_us": time_plans(runs, options),
            "flops_ratio": evaluate(cell, steps, options, folder),
        }


def markdown(results):
    head = ["chain", "plan", "FLOPs relative to the chain", "ms", "time relative to sequential"]
    lines = [head, ["---"] * len(head)]
    for entry in results["runs"]:
        name = f"{entry['cell']} H={entry['hidden']} B={entry['batch']} T={entry['steps']}"
        times = entry["backward_us"]
        for plan, found in times.items():
            ratio = entry["flops_ratio"].get(plan, 1)
            factor = found / times["sequential"]
            lines.append([name, plan, f"{ratio:.1f}", f"{found / 1000:.2f}", f"{factor:.1f}"])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cells", type=_words, default=tuple(CELLS), metavar="average,unit")
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=_numbers, default=(1000, 10000), metavar="T,...")
    parser.add_argument("--plans", type=_words, default=PLANS, metavar="linear,chunked:16,...")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3, help="time of one turn")
    parser.add_argument("--out", type=pathlib.Path, help="JSON to write")
    parser.add_argument("--render", type=pathlib.Path, help="only print the table of this JSON")
    options = parser.parse_args()
    if options.render:
        print(markdown(json.loads(options.render.read_text())), end="")
        return
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    # Keep freed memory in the process, like the allocator of compiled programs.
    for option, value in ((-4, 0), (-1, 2**31 - 1)):
        ctypes.CDLL(None).mallopt(option, value)
    results = {"machine": _machine(), "command": _command(sys.argv[1:]), "runs": []}
    results["command"] = results["command"].replace("run.py", "diagonal.py")
    with tempfile.TemporaryDirectory() as name:
        for cell in options.cells:
            results["runs"] += measure(cell, options, pathlib.Path(name))
    if options.out:
        options.out.write_text(json.dumps(results, indent=1) + "\n")
    print(markdown(results), end="")


if __name__ == "__main__":
    main()
