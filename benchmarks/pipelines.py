#!/usr/bin/env python3
# Part of the bppsa project, under the MIT License.
"""Compares times of pipeline stages on two ranks of one machine with predictions of bppsa-schedule.

  benchmarks/pipelines.py [--build build] [--rounds 3] [--steps 30] [--models dense,gru]
                          [--out pipelines.json]

`dense`: eight layers of 512 units and microbatches of 128 samples; parameter gradients are
separate products. `gru`: two layers with H = 64, T = 100 and 32 samples. Two ranks with one thread
each run eight microbatches. Figures come from --trace. The work of a rank is its computation
without waiting. The span is the longer span of both ranks, from the first start to the last end of
a step. The bubble is the share of the span during which the rank with more work is idle. The
simulator gets the medians of F, B and W of each stage, and of the time from the end of an
operation to the end of the wait for its result. `free` is the step of the slower rank without its
waits between steps. Schedules run in interleaved rounds, and results are medians of all steps.
Ranks run with real-time priority if that is allowed (chrt). Two cores are needed.
"""

import argparse
import collections
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "test"), str(ROOT / "test" / "numerics"), str(ROOT / "benchmarks")]

import models
from run import _machine

RANKS, MICROBATCHES = 2, 8
BATCH = {"dense": 128, "gru": 32}
# The first steps of a run touch memory for the first time.
WARM_UP = 4
SPLIT = ("--split-backward",)
V = ("--pipeline-placement=v", "--split-backward")
# Compiler options by schedule. Fused schedules need a program without split backward passes.
SCHEDULES = {
    "gpipe": (),
    "1f1b": (),
    "zb-h1": SPLIT,
    "zb-h2": SPLIT,
    "zb-2p": SPLIT,
    "ooo": SPLIT,
    "zb-v": V,
    "v-half": V,
}
FUSED = [schedule for schedule, options in SCHEDULES.items() if not options]


def dense(layers=8, units=512):
    random = np.random.default_rng(0)
    nodes, arrays, last = [], [], "x"
    for i in range(layers):
        weights = random.normal(0, units**-0.5, (units, units)).astype(np.float32)
        arrays.append(numpy_helper.from_array(weights, f"w{i}"))
        nodes.append(helper.make_node("Gemm", [last, f"w{i}"], [f"z{i}"], name=f"dense{i}"))
        nodes.append(helper.make_node("Tanh", [f"z{i}"], [f"a{i}"]))
        last = f"a{i}"
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["B", units]) for name in ("x", last)]
    graph = helper.make_graph(nodes, "dense", values[:1], values[1:], arrays)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def make(name, samples):
    """Returns a model and its training data."""
    random = np.random.default_rng(1)
    if name == "gru":
        spec = models.Spec("GRU", hidden=64, features=64, layers=2, head="last")
        model = models.build(spec)
        return model, models.data(model, {"T": 100, "B": samples}, "cross-entropy")
    x = random.normal(0, 1, (samples, 512)).astype(np.float32)
    return dense(), {"x": x, "target": random.integers(0, 512, samples)}


class Pipeline:
    """The programs of a model in a folder, keyed by compiler options."""

    def __init__(self, build, folder, name, steps):
        model, arrays = make(name, BATCH[name] * MICROBATCHES * steps)
        self.build, self.folder, self.name = build, folder, name
        self.onnx, self.data = folder / f"{name}.onnx", folder / f"{name}.npz"
        onnx.save(model, self.onnx)
        np.savez(self.data, **arrays)
        self.programs = {}

    def program(self, options):
        if options not in self.programs:
            path = self.folder / f"{self.name}{len(self.programs)}"
            words = ["--backward=sequential", "--distributed=mpi", f"--pipeline={RANKS}", "--mcpu=native"]
            compiler = self.build / "bin" / "bppsa-compile"
            subprocess.run([compiler, self.onnx, *words, *options, "-o", path], check=True)
            self.programs[options] = path
        return self.programs[options]

    def run(self, schedule, *options):
        """Returns the trace events of all ranks."""
        trace = self.folder / "trace.json"
        realtime = ["chrt", "-r", "10"] if shutil.which("chrt") else []
        if realtime and subprocess.run([*realtime, "true"], capture_output=True, check=False).returncode:
            realtime = []
        words = ["mpirun", "-quiet", "--allow-run-as-root", "--bind-to", "core", "-n", str(RANKS), *realtime]
        words += [self.program(SCHEDULES[schedule]), "train", "--data", self.data, "--no-shuffle"]
        words += ["--batch", str(BATCH[self.name] * MICROBATCHES), "--microbatches", str(MICROBATCHES), "--threads", "1"]
        words += ["--mapping", "lanes", "--pipeline-schedule", schedule, "--trace", trace, *options]
        subprocess.run(words, check=True, capture_output=True)
        events = json.loads(trace.read_text())["traceEvents"]
        return [event for event in events if event["ph"] == "X"]


class Operation:
    """Computation of a rank on one microbatch, from a trace event and the waits in it."""

    def __init__(self, event, waits):
        part, microbatch, *rest = event["name"].split()
        self.part, self.microbatch = part, int(microbatch)
        self.stage = int(rest[-1]) if rest else event["pid"]
        self.ready, self.end = event["ts"], event["ts"] + event["dur"]
        self.waits = [wait for wait in waits if event["ts"] <= wait["ts"] < self.end]
        self.work = event["dur"] - sum(wait["dur"] for wait in self.waits)
        # The operation begins when its input has arrived.
        self.begin = self.end - self.work

    @property
    def key(self):
        return self.part, self.microbatch, self.stage

    @property
    def needed(self):
        """The key of the operation that produces the input."""
        return self.part, self.microbatch, self.stage + (1 if self.part == "B" else -1)


def read_operations(events, rank):
    own = [event for event in events if event["pid"] == rank]
    waits = [event for event in own if event["name"] == "stage"]
    return [
        Operation(event, waits)
        for event in sorted(own, key=lambda event: event["ts"])
        if re.fullmatch(r"[FBW] \d+( of \d+)?", event["name"])
    ]


def read_steps(events, is_fused):
    """Returns durations in microseconds and the bubble of each step.

    The durations are: the time between starts of steps, with and without waits between steps; the
    span of a step and the maximum work of a rank; the work of each stage and part; and the time
    from the end of an operation to the end of the wait for its result.
    """
    steps, gathered = [], []
    for rank in range(RANKS):
        own = read_operations(events, rank)
        gathered.append([e for e in events if e["pid"] == rank and e["name"] == "numbers" and e["tid"] == 2])
        size = MICROBATCHES * (2 if is_fused else 3) * len({operation.stage for operation in own})
        steps.append([own[i : i + size] for i in range(0, len(own), size)][WARM_UP:])
    figures = collections.defaultdict(list)
    for ranks in zip(*steps, strict=True):
        known = {operation.key: operation for operations in ranks for operation in operations}
        for operation in known.values():
            figures[operation.stage, operation.part].append(operation.work)
            needed = known.get(operation.needed)
            if operation.waits and needed and needed.end > operation.waits[0]["ts"]:
                last = operation.waits[-1]
                figures["hop"].append(last["ts"] + last["dur"] - needed.end)
        figures["span"].append(max(each[-1].end - each[0].begin for each in ranks))
        figures["work"].append(max(sum(operation.work for operation in each) for each in ranks))
    for ranks in zip(*(list(zip(each, each[1:], strict=False)) for each in steps), strict=True):
        busy = []
        for (now, after), waits in zip(ranks, gathered, strict=True):
            begin, end = now[-1].end, after[0].ready
            waited = sum(wait["dur"] for wait in waits if begin <= wait["ts"] < end)
            busy.append(end - waited - now[0].begin)
        figures["free"].append(max(busy))
    starts = [operations[0].begin for operations in steps[0]]
    figures["step"] = [end - begin for begin, end in zip(starts, starts[1:], strict=False)]
    figures["bubble"] = [1 - work / span for work, span in zip(figures["work"], figures["span"], strict=True)]
    return figures


def predict(build, schedule, times, hop):
    """Returns the predicted span in microseconds and the bubble for these stage times."""
    stages = 1 + max(stage for stage, _ in times)
    groups = [
        ",".join(f"{times.get((stage, part), 0):.2f}" for part in "FBW") + f",{max(hop, 0):.2f}"
        for stage in range(stages)
    ]
    words = [build / "bin" / "bppsa-schedule", "--stages", str(RANKS), "--times", ";".join(groups)]
    words += ["--microbatches", str(MICROBATCHES), "--pipeline-schedule", schedule, "--json"]
    figures = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    return figures["span"], figures["bubble"]


def measure(pipeline, rounds, schedules):
    schedules = [each for each in schedules if SCHEDULES[each] != V or pipeline.name == "dense"]
    found = {schedule: collections.defaultdict(list) for schedule in schedules}
    for _ in range(rounds):
        for schedule in schedules:
            for key, values in read_steps(pipeline.run(schedule), schedule in FUSED).items():
                found[schedule][key] += values
    rows = {}
    print(f"{pipeline.name}: milliseconds; bubbles in %")
    print("schedule   step   free   span   work  bubble  predicted span  bubble    hop  parts of stages")
    for schedule, figures in found.items():
        middles = {key: statistics.median(values) for key, values in figures.items()}
        hop = middles.pop("hop", 0)
        times = {key: middles.pop(key) for key in list(middles) if isinstance(key, tuple)}
        span, bubble = predict(pipeline.build, schedule, times, hop)
        parts = {f"{part}{stage}": time / 1e3 for (stage, part), time in sorted(times.items())}
        row = {key: middles[key] / 1e3 for key in ("step", "free", "span", "work")}
        row |= {"bubble": middles["bubble"], "predicted_span": span / 1e3, "predicted_bubble": bubble}
        rows[schedule] = row | {"hop": hop / 1e3, "parts": parts}
        print(f"{schedule:8}" + "".join(f"{row[key]:7.2f}" for key in ("step", "free", "span", "work")), end="")
        print(f"{100 * row['bubble']:8.1f}{row['predicted_span']:16.2f}{100 * bubble:8.1f}", end="")
        print(f"{hop / 1e3:7.2f}  " + " ".join(f"{key}={time:.2f}" for key, time in parts.items()), flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=30, help="training steps of a run")
    parser.add_argument("--models", default="dense,gru")
    parser.add_argument("--schedules", default=",".join(SCHEDULES))
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    result = {"machine": _machine()}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models.split(","):
            pipeline = Pipeline(options.build.resolve(), pathlib.Path(folder), name, options.steps)
            result[name] = measure(pipeline, options.rounds, options.schedules.split(","))
    if options.out:
        options.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
