#!/usr/bin/env python3
# Part of the bppsa project, under the MIT License.
"""Compares times of interlocked modules on separate ranks with predictions of bppsa-schedule.

  benchmarks/modules.py [--build build] [--modules 2] [--rounds 3] [--steps 60] [--out modules.json]

Each module is a GRU layer with H = 128 and a head on every step. For each window N, from local (1)
to end-to-end (the number of modules), the period is the median time between forward passes of the
first module, read from --trace. The simulator gets times of the last module of the end-to-end
program: F forward, B until the cotangent is sent, W until the end of the step, and the mean time
of an activation and a cotangent to the other rank. Programs run in interleaved rounds. Each module
needs a free core, and messages need part of another.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnx

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / path) for path in ("test", "test/numerics", "benchmarks", "python")]

import models
from run import _machine

from bppsa.models import heads

# The first steps of a run touch memory for the first time.
WARM_UP = 10
HIDDEN, LENGTH, BATCH = 128, 50, 32


def make_model(count):
    """Returns the model and the outputs of its modules."""
    spec = models.Spec("GRU", hidden=HIDDEN, features=HIDDEN, layers=count, head="steps")
    model = models.build(spec)
    last = model.graph.output[0].name
    layers = [node.output[0] for node in model.graph.node if node.op_type == "GRU"]
    early = {f"early{i}": name for i, name in enumerate(layers[:-1])}
    return heads.add(model, early, width=spec.classes), [*early, last]


def make_samples(outputs, steps):
    random = np.random.default_rng(0)
    count = BATCH * steps
    arrays = {"x": random.normal(0, 1, (LENGTH, count, HIDDEN)).astype(np.float32)}
    return arrays | {f"target.{name}": random.integers(0, 5, (LENGTH, count)) for name in outputs}


class Programs:
    """A program for each window, with samples for an epoch, in a folder."""

    def __init__(self, build, folder, count, steps):
        self.count, self.folder, self.data = count, folder, folder / "data.npz"
        model, outputs = make_model(count)
        np.savez(self.data, **make_samples(outputs, steps))
        onnx.save(model, folder / "model.onnx")
        for window in range(1, count + 1):
            options = [f"--loss-on={','.join(outputs)}", f"--interlock={window}"]
            options += ["--distributed=mpi", f"--pipeline={count}", "-o", folder / str(window)]
            compiler = build / "bin" / "bppsa-compile"
            subprocess.run([compiler, folder / "model.onnx", *options], check=True)

    def train(self, window):
        """Returns the trace events of all ranks."""
        trace = self.folder / "trace.json"
        words = ["train", "--data", self.data, "--batch", str(BATCH), "--no-shuffle", "--quiet"]
        words += ["--threads", "1", "--mapping", "lanes", "--trace", trace]
        program = [self.folder / str(window), *words]
        subprocess.run(["mpirun", "-quiet", "-n", str(self.count), *program], check=True)
        events = json.loads(trace.read_text())["traceEvents"]
        return [event for event in events if event["ph"] == "X"]


def spans(events, rank, kind):
    """Returns start and end of part `kind` of each step of a rank."""
    parts = {
        int(event["name"].split()[1]): (event["ts"], event["ts"] + event["dur"])
        for event in events
        if event["pid"] == rank and event["name"].startswith(kind + " ")
    }
    return [parts[number] for number in sorted(parts)][WARM_UP:]


def periods(events):
    begins = [begin for begin, _ in spans(events, 0, "F")]
    return [after - before for before, after in zip(begins, begins[1:], strict=False)]


def within(moments, span):
    return [moment for moment in moments if span[0] <= moment <= span[1]]


def sent(events, rank, other):
    """Returns the times at which messages from one rank to another were ready."""
    return [
        event["args"]["ready"]
        for event in events
        if event["pid"] == rank
        and event.get("args", {}).get("to") == other
        and event["name"].startswith("channel")
    ]


def waits(events, rank):
    """Returns start and end of each wait of a rank for other ranks."""
    return [
        (event["ts"], event["ts"] + event["dur"])
        for event in events
        if event["pid"] == rank and event["name"] == "stage"
    ]


def costs(events, count):
    """Returns F, B, W and the mean latency of both messages, for each step of the last module."""
    last, before = count - 1, count - 2
    up, down = sent(events, before, last), sent(events, last, before)
    heard = {rank: waits(events, rank) for rank in (before, last)}
    found = []
    sides = (spans(events, rank, kind) for rank, kind in ((last, "F"), (last, "B"), (before, "F"), (before, "B")))
    for forward, backward, below, back in zip(*sides, strict=True):
        waited = [wait for wait in heard[last] if forward[0] <= wait[0] <= forward[1]]
        came = [wait[1] for wait in heard[before] if back[0] <= wait[1] <= back[1]]
        # The loss for the total follows the activation.
        activation, *_ = within(up, below)
        [cotangent] = within(down, backward)
        way = (waited[0][1] - activation + came[-1] - cotangent) / 2
        forwards = forward[1] - forward[0] - sum(end - begin for begin, end in waited)
        found.append((forwards, cotangent - backward[0], backward[1] - cotangent, way))
    return found


def predict(build, count, window, times):
    words = ["--stages", str(count), "--interlock", str(window), "--json"]
    words += ["--times", ",".join(f"{max(time, 0):.1f}" for time in times)]
    tool = build / "bin" / "bppsa-schedule"
    result = subprocess.run([tool, *words], check=True, capture_output=True, text=True)
    return json.loads(result.stdout)["period"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--modules", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=60, help="training steps of a run")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    windows = range(1, options.modules + 1)
    found, measured = {window: [] for window in windows}, []
    with tempfile.TemporaryDirectory() as folder:
        programs = Programs(options.build.resolve(), pathlib.Path(folder), options.modules, options.steps)
        for _ in range(options.rounds):
            for window in windows:
                events = programs.train(window)
                found[window] += periods(events)
            # The last window is end-to-end.
            measured += costs(events, options.modules)
    times = [statistics.median(column) for column in zip(*measured, strict=True)]
    print("a module takes", ", ".join(f"{name} {time / 1e3:.2f} ms" for name, time in zip(("F", "B", "W", "way"), times, strict=True)))  # fmt: skip
    print("window  period ms  predicted ms  of end-to-end")
    rows = {}
    whole = statistics.median(found[options.modules])
    for window, values in found.items():
        period = statistics.median(values)
        predicted = predict(options.build.resolve(), options.modules, window, times)
        print(f"{window:6}{period / 1e3:11.2f}{predicted / 1e3:14.2f}{whole / period:15.2f}")
        rows[window] = {"period_ms": period / 1e3, "predicted_ms": predicted / 1e3}
    if options.out:
        result = {"machine": _machine(), "times_us": times, "windows": rows}
        options.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
