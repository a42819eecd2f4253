#!/usr/bin/env python3
# Part of the bppsa project, under the MIT License.
"""Compares the plan evaluator's predictions with measured backward passes of recurrent layers.

  benchmarks/predictions.py results/cpu.json [--cells rnn,gru] [--hidden 20] [--batch 16]

For every plan of a measured shape, prints its FLOPs relative to the sequential chain, its time
relative to the sequential backward pass, and the number of workers from which the evaluator
expects the plan to be faster than the chain.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import onnx_models
import report
from run import ROOT, _numbers, _words
from shapes import Shape

WORKERS = [2**k for k in range(15)]


def evaluate(shape, plans, tools, folder):
    """Returns the evaluator's results for each plan on the chain of the training step."""
    model, step, result = (folder / name for name in ("m.onnx", "step.mlir", "plans.json"))
    onnx_models.write(shape, model)
    command = [tools / "bppsa-compile", model, "--backward=sequential", "--emit=mlir"]
    subprocess.run([*command, "--compile-to=differentiate", "-o", step], check=True)
    options = f"length={shape.steps} batch={shape.batch} algorithms={','.join(plans)} "
    options += f"workers={','.join(map(str, WORKERS))} output={result}"
    command = [tools / "bppsa-opt", step, f"--bppsa-evaluate-plan={options}", "-o", "/dev/null"]
    subprocess.run(command, check=True)
    chain = next(
        chain
        for chain in json.loads(result.read_text())["chains"]
        if chain["name"].startswith("step_")
    )
    return {plan["plan"]: plan for plan in chain["plans"]}


def fewest_workers(plan, linear):
    """Returns the minimum number of workers with which a plan beats the chain, or None."""
    own, chain = ({m["workers"]: m["flops"] for m in p["makespans"]} for p in (plan, linear))
    return next((w for w in WORKERS if own[w] < chain[w]), None)


def rows(results, options):
    with tempfile.TemporaryDirectory() as name:
        for entry in results["runs"]:
            shape = Shape(**entry["shape"])
            wanted = (shape.cell in options.cells, shape.hidden in options.hidden)
            if not all(wanted) or shape.batch not in options.batch or entry["threads"] != 1:
                continue
            measured = {
                peer[len(report.FAMILY) :]: found["backward_us"]
                for peer, found in entry["peers"].items()
                if peer.startswith(report.FAMILY) and "backward_us" in found
            }
            plans = [plan for plan in measured if plan not in ("auto", "sequential", "linear")]
            found = evaluate(shape, ["linear", *plans], options.tools, pathlib.Path(name))
            for plan in plans:
                workers = fewest_workers(found[plan], found["linear"])
                yield (
                    str(shape),
                    plan,
                    f"{found[plan]['flops'] / found['linear']['flops']:.1f}",
                    f"{measured[plan] / measured['sequential']:.1f}",
                    str(workers or f"more than {WORKERS[-1]}"),
                )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--cells", type=_words, default=("rnn", "gru"))
    parser.add_argument("--hidden", type=_numbers, default=(20,))
    parser.add_argument("--batch", type=_numbers, default=(16,))
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / "build/bin")
    options = parser.parse_args()
    print("| shape | plan | FLOPs relative to the chain | backward time relative to sequential | workers |")
    print("|---|---|---|---|---|")
    for row in rows(json.loads(options.results.read_text()), options):
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
