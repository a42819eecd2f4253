#!/usr/bin/env python3
# Part of the bppsa project, under the MIT License.
"""Compares training steps of feed-forward networks with sparse Jacobians and with dense layers.

  benchmarks/layers/run.py --out layers.json [--networks lenet5,vgg11] [--pruned 0,90,95,97]
                           [--batch 1,16,64] [--plans linear,hybrid:1,hybrid:2]

A step is forward, cross-entropy, backward and Adam. `sequential` applies dense layers, `linear`
has the same order over explicit sparse Jacobians, and the other plans are scans over them. With
--prune-zeros, Jacobians and weight gradients omit pruned weights. The results contain the FLOPs
that the plan evaluator counts for the products of each plan. Needs PyTorch with its ONNX exporter.
Results are medians over interleaved rounds.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import networks
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from run import _command, _machine, _numbers, _words
from worker_pytorch import time_steps

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIMES = ("forward_us", "backward_us", "update_us", "step_us")


def export(name, pruned, folder):
    path = folder / f"{name}-{pruned}.onnx"
    if not path.exists():
        torch.onnx.export(
            networks.make(name, pruned),
            torch.zeros(2, 3, 32, 32),
            path,
            input_names=["x"],
            output_names=["logits"],
            dynamic_axes={"x": {0: "B"}, "logits": {0: "B"}},
            dynamo=False,
        )
    return path


def compile_plan(model, plan, pruned, options):
    """Returns (program, record) of one backward pass; the program is None if compilation failed."""
    program = options.work / f"{model.stem}-{plan.replace(':', '')}"
    command = [options.tools / "bppsa-compile", model, "-o", program, f"--mcpu={options.mcpu}"]
    if plan == "sequential":
        command.append("--backward=sequential")
    else:
        command += ["--backward=scan", f"--scan={plan}", f"--memory-limit={options.memory_limit}"]
        command += ["--prune-zeros"] if pruned else []
    start = time.perf_counter()
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    record = {"compile_seconds": time.perf_counter() - start}
    if done.returncode != 0:
        return None, {**record, "refused": done.stderr.strip().splitlines()[0]}
    return program, {**record, "program_bytes": program.stat().st_size}


def evaluate(model, pruned, plans, options):
    """Returns FLOPs and critical path of each plan for one sample, from the plan evaluator."""
    graph, result = options.work / "graph.mlir", options.work / "plans.json"
    command = [options.tools / "bppsa-compile", model, "--emit=mlir", "--compile-to=loss", "-o", graph]
    subprocess.run([*command, *(["--prune-zeros"] if pruned else [])], check=True)
    names = ",".join(plans)
    evaluation = f"algorithms={names} workers=1,2,16,256 output={result}"
    passes = f"builtin.module(func.func(bppsa-infer-structure),bppsa-evaluate-plan{{{evaluation}}})"
    command = [options.tools / "bppsa-opt", graph, f"--pass-pipeline={passes}", "-o", os.devnull]
    subprocess.run(command, check=True)
    chains = json.loads(result.read_text())["chains"]
    chain = max(chains, key=lambda chain: chain["links"])
    keys = ("depth", "flops", "critical_path_flops", "peak_bytes", "link_bytes", "makespans")
    return {plan["plan"]: {key: plan[key] for key in keys} for plan in chain["plans"]}


def time_program(program, batch, repeat, threads):
    command = [program, "bench", "--batch", batch, "--repeat", repeat, "--threads", threads]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"run.py: {done.stderr.strip()}")
    return json.loads(done.stdout)


def time_pytorch(network, batch, repeat):
    """Returns medians of one turn, in microseconds."""
    optimizer = torch.optim.Adam(network.parameters(), lr=0.0, fused=True)
    x, target = torch.rand(batch, 3, 32, 32), torch.arange(batch) % networks.CLASSES
    return time_steps(network, optimizer, x, target, repeat)


def measure(peers, options):
    """Returns medians over rounds; `peers` are functions of a number of repeats."""
    repeats, turns = {}, {name: [] for name in peers}
    for name, peer in peers.items():
        first = peer(1)
        repeats[name] = max(1, min(200, int(options.seconds * 1e6 / first["step_us"])))
    for _ in range(options.rounds):
        for name, peer in peers.items():
            turns[name].append(peer(repeats[name]))
    return {
        name: {key: statistics.median(turn[key] for turn in found) for key in TIMES}
        for name, found in turns.items()
    }


def run_network(name, pruned, options):
    """Returns one entry per batch size."""
    model = export(name, pruned, options.work)
    programs, records = {}, {}
    for plan in ("sequential", *options.plans):
        program, records[plan] = compile_plan(model, plan, pruned, options)
        if program:
            programs[plan] = program
        print(f"{model.stem} {plan}: {records[plan]}", flush=True)
    predicted = evaluate(model, pruned, options.plans, options)
    network = networks.make(name, pruned)
    for batch in options.batch:
        peers = {
            plan: lambda repeat, program=program: time_program(
                program, batch, repeat, options.threads
            )
            for plan, program in programs.items()
        }
        peers["pytorch"] = lambda repeat: time_pytorch(network, batch, repeat)
        times = measure(peers, options)
        for plan, found in times.items():
            print(f"  B={batch} {plan:12} " + "  ".join(f"{k} {found[k]:.0f}" for k in TIMES), flush=True)
        yield {
            "network": name,
            "pruned_percent": pruned,
            "batch": batch,
            "threads": options.threads,
            "times": times,
            "compiled": records,
            "predicted": predicted,
        }


def _cell(number):
    return "–" if number is None else f"{number:.3g}" if number < 1000 else f"{number:.0f}"


def markdown(results):
    """Returns tables of backward times in milliseconds and of the plan evaluator's counts."""
    plans = list(dict.fromkeys(p for run in results["runs"] for p in run["compiled"]))
    header = ["network", "pruned", "B", *plans, "PyTorch", "sequential / linear"]
    times = [header]
    counts = [["network", "pruned", "plan", "MFLOP", "two workers", "critical path"]]
    for run in results["runs"]:
        found = {name: turn["backward_us"] / 1000 for name, turn in run["times"].items()}
        dense, sparse = found.get("sequential"), found.get("linear")
        ratio = dense / sparse if dense and sparse else None
        name = [run["network"], f"{run['pruned_percent']} %"]
        cells = [_cell(found.get(plan)) for plan in (*plans, "pytorch")]
        times.append([*name, str(run["batch"]), *cells, _cell(ratio)])
        if run["batch"] != min(r["batch"] for r in results["runs"]):
            continue
        for plan, figures in run["predicted"].items():
            makespans = {entry["workers"]: entry["flops"] for entry in figures["makespans"]}
            flops = [figures["flops"], makespans[2], figures["critical_path_flops"]]
            counts.append([*name, plan, *(_cell(count / 1e6) for count in flops)])
    tables = []
    for head, *rows in (times, counts):
        lines = [head, ["---"] * len(head), *rows]
        tables.append("\n".join("| " + " | ".join(line) + " |" for line in lines))
    return "\n\n".join(tables) + "\n"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--networks", type=_words, default=("lenet5", "vgg11"))
    parser.add_argument("--pruned", type=_numbers, default=(0, 90, 95, 97), metavar="PERCENT,...")
    parser.add_argument("--batch", type=_numbers, default=(1, 16, 64), metavar="B,...")
    parser.add_argument("--plans", type=_words, default=("linear", "hybrid:1", "hybrid:2"))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="time of one turn")
    parser.add_argument("--memory-limit", default="1G", help="for Jacobians (default 1G)")
    parser.add_argument("--mcpu", default="native")
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / "build/bin")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/benchmarks/layers")
    parser.add_argument("--out", type=pathlib.Path, help="JSON to write")
    parser.add_argument("--render", type=pathlib.Path, help="only print the tables of this JSON")
    options = parser.parse_args()
    if options.render:
        print(markdown(json.loads(options.render.read_text())), end="")
        return 0
    if not options.out:
        parser.error("--out names the JSON to write")
    torch.set_num_threads(options.threads)
    torch.set_flush_denormal(True)
    options.work.mkdir(parents=True, exist_ok=True)
    results = {
        "machine": _machine(),
        "command": _command(sys.argv[1:]).replace("run.py", "layers/run.py"),
        "versions": {"pytorch": torch.__version__},
        "runs": [],
    }
    for name in options.networks:
        for pruned in options.pruned if name == "vgg11" else (0,):
            for entry in run_network(name, pruned, options):
                results["runs"].append(entry)
                options.out.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
