#!/usr/bin/env python3
# Part of the bppsa project, under the MIT License.
"""Compares training on several ranks of one machine with predictions of bppsa-schedule.

  benchmarks/ranks.py [--build build] [--ranks 2] [--rounds 3] [--steps 40] [--out ranks.json]

`scaling`: a GRU with H = 128 on one rank and on two, one thread each. `exchanges`: an LSTM of four
layers with H = 256, and VGG-11 on images of 32 x 32, with a --throttle at which the exchange of
gradients takes as long as the computation of a step. Figures come from --trace: the step time is
the time between starts of steps, and exposed communication is the time that a rank waits in a
step. Settings run in interleaved rounds, and results are medians over all rounds. Two free cores
are needed; ranks share the cores if there are fewer cores than ranks.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnx

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "test"), str(ROOT / "test" / "numerics"), str(ROOT / "benchmarks")]

import images
import models
from run import _machine

LATENCY = 50e-6
EXCHANGES = ("barrier", "allreduce", "dear", "p3")
# The first steps of a run touch memory for the first time.
WARM_UP = 4
# Maximum share of a core for message threads; bppsa-schedule predicts nothing beyond it.
MOST_SHARE = 0.9
GRU = models.Spec("GRU", hidden=128, features=32, head="last")
LSTM = models.Spec("LSTM", hidden=256, features=64, layers=4, head="last")


class Program:
    """A compiled model with samples for an epoch of some steps, in a folder."""

    def __init__(self, build, folder, name, model, arrays, batch, length=None):
        self.build, self.batch, self.length = build, batch, length
        self.path, self.onnx = folder / name, folder / f"{name}.onnx"
        self.data, self.trace = folder / f"{name}.npz", folder / f"{name}.json"
        onnx.save(model, self.onnx)
        np.savez(self.data, **arrays)
        self.parameters = sum(int(np.prod(array.dims)) for array in model.graph.initializer)
        options = ["--loss=cross-entropy", "--backward=sequential", "--distributed=mpi"]
        compiler = build / "bin" / "bppsa-compile"
        subprocess.run([compiler, self.onnx, *options, "-o", self.path], check=True)

    @classmethod
    def recurrent(cls, build, folder, spec, length, steps, batch=32):
        model = models.build(spec)
        arrays = models.data(model, {"T": length, "B": batch * steps}, "cross-entropy")
        return cls(build, folder, spec.cell.lower(), model, arrays, batch, length)

    @classmethod
    def convolutional(cls, build, folder, steps, batch=16):
        random = np.random.default_rng(0)
        shape = (batch * steps, 3, 32, 32)
        arrays = {"x": random.normal(0, 1, shape).astype(np.float32)}
        arrays["target"] = random.integers(0, 10, batch * steps)
        return cls(build, folder, "vgg11", images.vgg11(64, hidden=False), arrays, batch)

    def train(self, ranks, *options):
        """Trains for an epoch; returns step times, waits and message share of rank 0.

        The times are microseconds per step. The share is the fraction of a core that message
        threads use while they send.
        """
        launcher = ["mpirun", "-quiet", "--oversubscribe", "-n", str(ranks)]
        words = ["train", "--data", self.data, "--batch", str(self.batch), "--no-shuffle"]
        words += ["--threads", "1", "--mapping", "lanes", "--quiet", "--trace", self.trace]
        subprocess.run([*launcher, self.path, *words, *options], check=True)
        events = json.loads(self.trace.read_text())["traceEvents"]
        events = [event for event in events if event["pid"] == 0]
        taken = [event["args"]["seconds"] for event in events if event["ph"] == "C"]
        events = [event for event in events if event["ph"] == "X"]
        starts = sorted(event["ts"] for event in events if event["name"] == "step")[WARM_UP:]
        waits = [event for event in events if event["name"] in ("sums", "buffer", "numbers")]
        spans = list(zip(starts, starts[1:], strict=False))
        waited = [
            sum(wait["dur"] for wait in waits if begin <= wait["ts"] < end) for begin, end in spans
        ]
        sent = sum(event["dur"] for event in events if "to" in event.get("args", {})) * 1e-6
        return [end - begin for begin, end in spans], waited, [sum(taken) / sent if sent else 0]

    def bench(self, ranks, compute):
        """Writes step times on the samples of one rank for bppsa-schedule.

        The times of `bench` are scaled so that they add up to `compute` milliseconds, as measured
        in runs.
        """
        words = ["bench", "--batch", str(self.batch // ranks)]
        words += ["--seq-len", str(self.length)] if self.length else []
        words += ["--threads", "1", "--mapping", "lanes", "--repeat", "5"]
        result = subprocess.run([self.path, *words], check=True, capture_output=True, text=True)
        figures = json.loads(result.stdout)
        keys = ("forward_us", "backward_us")
        factor = compute * 1e3 / sum(figures[key] for key in keys)
        figures |= {key: factor * figures[key] for key in keys}
        path = self.path.with_suffix(".bench.json")
        path.write_text(json.dumps(figures))
        return path

    def predict(self, ranks, times, exchange, gigabits, share):
        words = [self.onnx, "--ranks", str(ranks), "--times", times, "--exchange", exchange]
        words += ["--network", f"{gigabits},{LATENCY * 1e6}", "--json"]
        words += ["--by-owners", "--message-share", f"{share:.3f}"]
        tool = self.build / "bin" / "bppsa-schedule"
        result = subprocess.run([tool, *words], check=True, capture_output=True, text=True)
        figures = json.loads(result.stdout)
        return figures["step"] / 1e3, figures["exposed_communication"] / 1e3


def middle(microseconds):
    return statistics.median(microseconds) / 1e3


def share_of_messages(ranks, taken):
    """Returns the share of computation that ranks lose while they send.

    The messages of each rank take `taken` of a core.
    """
    cores = len(os.sched_getaffinity(0))
    # With enough cores, message threads have cores of their own.
    return 0 if cores >= 2 * ranks else taken * max(ranks / cores, 1)


def why_not_predicted(ranks, share):
    """Returns the reason for no prediction at this message share, or None."""
    if share <= MOST_SHARE:
        return None
    return (
        f"not predicted: beside messages that take {share:.3f} of a core, more than {MOST_SHARE}, "
        f"ranks hardly compute; run on {2 * ranks} free cores"
    )


def interleave(settings, rounds, measure):
    """Returns all steps, waits and shares of each setting, measured in interleaved runs."""
    found = {setting: ([], [], []) for setting in settings}
    for _ in range(rounds):
        for setting in settings:
            for total, part in zip(found[setting], measure(setting), strict=True):
                total += part
    return found


def measure_scaling(program, rounds):
    found = interleave((1, 2), rounds, lambda ranks: program.train(ranks))
    one, two = (middle(spans) for spans, *_ in found.values())
    print(f"{program.path.name}: {one:.2f} ms on one rank, {two:.2f} ms on two, {one / two:.2f} times")
    return {"one_ms": one, "two_ms": two, "speedup": one / two}


def measure_exchanges(program, ranks, rounds):
    # These steps send nothing while they compute.
    spans, waited, _ = program.train(ranks, "--exchange=barrier")
    compute = middle(spans) - middle(waited)
    # A rank sends gradients to the owners of all other parts, and the sums of its part to all
    # ranks.
    sent = 2 * program.parameters * (ranks - 1) / ranks
    gigabits = float(f"{sent * 32 / (compute * 1e6):.3g}")
    throttle = f"--throttle={gigabits},{LATENCY}"
    found = interleave(
        EXCHANGES, rounds, lambda kind: program.train(ranks, f"--exchange={kind}", throttle)
    )
    times = program.bench(ranks, compute)
    share = share_of_messages(ranks, statistics.median(found["allreduce"][2]))
    rows = {}
    print(f"{program.path.name}: computes {compute:.1f} ms, network of {gigabits} Gbit/s", end=", ")
    print(f"messages take {share:.3f} of a core")
    why_not = why_not_predicted(ranks, share)
    if why_not:
        print(why_not)
    print("exchange    step ms  exposed ms  of barrier  predicted step ms  predicted exposed ms")
    for kind, (spans, waited, _) in found.items():
        row = {"step_ms": middle(spans), "exposed_ms": middle(waited)}
        row["speedup"] = middle(found["barrier"][0]) / row["step_ms"]
        print(f"{kind:10}{row['step_ms']:9.1f}{row['exposed_ms']:12.1f}{row['speedup']:12.2f}", end="")
        if why_not:
            print(f"{'-':>19}{'-':>22}", flush=True)
        else:
            step, exposed = program.predict(ranks, times, kind, gigabits, share)
            row |= {"predicted_step_ms": step, "predicted_exposed_ms": exposed}
            print(f"{step:19.1f}{exposed:22.1f}", flush=True)
        rows[kind] = row
    inputs = {"ranks": ranks, "compute_ms": compute, "gigabits": gigabits, "latency_s": LATENCY}
    return inputs | {"message_share": share, "exchanges": rows}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--ranks", type=int, default=2, help="ranks that exchange gradients")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=40, help="training steps of a run")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = (options.build.resolve(), pathlib.Path(folder))
        gru = Program.recurrent(*place, GRU, 100, options.steps)
        lstm = Program.recurrent(*place, LSTM, 16, options.steps)
        vgg11 = Program.convolutional(*place, options.steps)
        result = {
            "machine": _machine(),
            "scaling": measure_scaling(gru, options.rounds),
            "exchanges": [
                measure_exchanges(each, options.ranks, options.rounds) for each in (lstm, vgg11)
            ],
        }
    if options.out:
        options.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
