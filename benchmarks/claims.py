#!/usr/bin/env python3
# Part of the bppsa project, under the MIT License.
"""Checks the performance claims for CPUs, with a verdict for each; takes about ten minutes.

  benchmarks/claims.py --out claims.json [--markdown docs/Benchmarks/Benchmarks.md] [--only WORD]
                       [--pytorch-python PYTHON] [--rounds 5] [--seconds 0.3]
  benchmarks/claims.py --render claims.json [--markdown docs/Benchmarks/Benchmarks.md]

A claim is a ratio of two times measured in interleaved rounds: a peer and bppsa, one thread and
two, a long and a short sequence, or a step and its operations at peak speed. Times are medians
over rounds. Run the script on an idle machine. The exit status is 1 if a claim fails.
layers/run.py measures networks, with the interpreter that has PyTorch.
"""

import argparse
import dataclasses
import datetime
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys

import build_handwritten
import report
from peers import Compiled, Failed, Unavailable, Worker
from run import ROOT, _command, _machine, _save
from shapes import Shape, features_of

HERE = pathlib.Path(__file__).resolve().parent
BEGIN, END = "<!-- claims: written by benchmarks/claims.py -->", "<!-- end of claims -->"
MOST_REPEATS = 200


@dataclasses.dataclass(frozen=True)
class Point:
    """A time of a peer: `step_us`, `forward_us` or `backward_us`."""

    peer: str
    shape: Shape
    threads: int = 1
    time: str = "step_us"


@dataclasses.dataclass(frozen=True)
class Claim:
    """`over` takes at least (at most) `ratio` times as long as `under`, both scaled."""

    case: str
    over: Point
    under: Point
    ratio: float
    at_most: bool = False
    scale: float = 1.0


def _against_peers():
    lstm = Shape("lstm", 128, 64, 4, 300, layers=2)
    return [Claim(f"{lstm}: PyTorch / bppsa", Point("pytorch", lstm), Point("auto", lstm), 2.5)]


def _long_sequences():
    claims = []
    for cell in ("rnn", "gru"):
        # With a loss only on the last step, most steps have zero cotangents.
        for batch, every_step in itertools.product((16, 64), (True, False)):
            short, long = (
                Shape(cell, 20, features_of(cell, 20), batch, steps, every_step=every_step)
                for steps in (100, 10000)
            )
            losses = "every step" if every_step else "the last step"
            case = f"{cell.upper()} H=20 B={batch}, loss on {losses}: time step at T=10000 / T=100"
            claims.append(
                Claim(case, Point("auto", long), Point("auto", short), 1.15, True, 100 / 10000)
            )
    return claims


def _two_threads():
    models = {
        ("gru", 64, 2, 2): (1.6, 1.6, 1.6),
        ("lstm", 128, 2, 1): (1.6, 1.6, 1.6),
        ("gru", 128, 1, 1): (1.3, 1.6, 1.8),
    }
    claims = []
    for (cell, hidden, layers, directions), ratios in models.items():
        for batch, ratio in zip((4, 16, 64), ratios, strict=True):
            shape = Shape(cell, hidden, 64, batch, 300, layers, directions)
            case = f"{shape}: one thread / two"
            claims.append(Claim(case, Point("auto", shape), Point("auto", shape, 2), ratio))
    return claims


def _scans():
    return [
        Claim(
            f"{shape}: backward pass, sequential / chunked",
            Point("sequential", shape, time="backward_us"),
            Point("chunked", shape, time="backward_us"),
            1.3,
        )
        for shape in (Shape(cell, 4, 1, 1, 4096, every_step=True) for cell in ("rnn", "gru"))
    ]


CLAIMS = [*_against_peers(), *_long_sequences(), *_two_threads(), *_scans()]
# A whole step takes at most 1 / 0.85 of the time of its operations at peak speed. The loss is on
# every step because the chain of a last-step loss ends early at zero cotangents.
NEAR_PEAK = (
    Shape("gru", 128, 64, 16, 1000, every_step=True),
    Shape("gru", 256, 256, 64, 100, every_step=True),
    Shape("gru", 256, 256, 64, 1000, every_step=True),
)
PEAK_SHARE = 0.85
# A whole step takes at most 1.25 times its multiply-adds and functions at peak speed.
COUNTED = (Shape("lstm", 20, 12, 16, 1000, every_step=True),)
OVER_COUNTED = 1.25


@dataclasses.dataclass(frozen=True)
class NetworkClaim:
    """PyTorch takes at least `ratio` times as long as `plan` on a feed-forward network."""

    network: str
    pruned: int
    batch: int
    plan: str
    time: str
    ratio: float

    def __str__(self):
        pruned = f" {self.pruned} % pruned" if self.pruned else ""
        part = "step" if self.time == "step_us" else "backward"
        return f"{self.network}{pruned} B={self.batch}, {part}: PyTorch / {self.plan}"


NETWORK_CLAIMS = [
    NetworkClaim("lenet5", 0, 64, "sequential", "step_us", 1.5),
    *(NetworkClaim("vgg11", 0, b, "sequential", "backward_us", 1.0) for b in (1, 16, 64)),
    NetworkClaim("vgg11", 97, 1, "linear", "step_us", 1.2),
    NetworkClaim("vgg11", 97, 16, "linear", "step_us", 3.0),
]


def measure_rate(name, folder):
    """Returns the rate printed by handwritten/NAME.cpp on one core, the best of a few runs."""
    program = folder / name
    source = HERE / f"handwritten/{name}.cpp"
    subprocess.run(
        [build_handwritten.compiler(), *build_handwritten.FLAGS, source, "-o", program], check=True
    )
    core = max(os.sched_getaffinity(0))
    answers = [
        subprocess.run(
            [program],
            capture_output=True,
            text=True,
            check=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {core}),
        )
        for _ in range(5)
    ]
    return max(float(answer.stdout) for answer in answers)


def _open(points, options):
    """Opens the peers of `points` by name and threads; prints a line for each unavailable peer."""
    peers = {}
    for key in dict.fromkeys((point.peer, point.threads) for point in points):
        name, threads = key
        try:
            if name == "pytorch":
                peers[key] = Worker(name, options.pytorch_python, threads)
            else:
                peers[key] = Compiled(name, options.compiler, options.work)
        except (Unavailable, Failed) as reason:
            print(f"skipping {name}: {reason}", flush=True)
    return peers


def measure_points(points, options):
    """Returns medians over rounds of each point that can be measured."""
    peers = _open(points, options)
    points = [point for point in points if (point.peer, point.threads) in peers]
    # One call measures all parts of a step.
    calls = list(dict.fromkeys((p.peer, p.threads, p.shape) for p in points))
    repeats, answers = {}, {call: [] for call in calls}
    try:
        for turn in range(options.rounds + 1):
            for call in calls:
                name, threads, shape = call
                answer = peers[name, threads].measure(
                    shape, threads, repeats.get(call, 1), options.timeout
                )
                if turn == 0:
                    fitting = int(options.seconds * 1e6 / max(answer["step_us"], 1e-3))
                    repeats[call] = max(1, min(fitting, MOST_REPEATS))
                else:
                    answers[call].append(answer)
            print(f"round {turn} of {options.rounds}", flush=True)
    finally:
        for peer in peers.values():
            peer.close()
    return {
        point: statistics.median(
            a[point.time] for a in answers[point.peer, point.threads, point.shape]
        )
        for point in points
    }


def judge(case, ratio, wanted, at_most, times):
    """Returns a row of the results; `ratio` is None if not measured."""
    fine = ratio is not None and (ratio <= wanted if at_most else ratio >= wanted)
    verdict = "not measured" if ratio is None else "pass" if fine else "FAIL"
    return {
        "case": case,
        "ratio": ratio,
        "wanted": f"{'<=' if at_most else '>='} {wanted:g}",
        "verdict": verdict,
        "microseconds": times,
    }


def judge_points(claims, found):
    rows = []
    for claim in claims:
        over, under = found.get(claim.over), found.get(claim.under)
        ratio = claim.scale * over / under if over and under else None
        rows.append(judge(claim.case, ratio, claim.ratio, claim.at_most, [over, under]))
    return rows


def judge_shares(shapes, found, peak):
    rows = []
    for shape in shapes:
        time = found.get(Point("auto", shape))
        share = shape.flops() / time / 1e3 / peak if time else None
        case = f"{shape}: share of the peak of {peak:.0f} GFLOP/s"
        rows.append(judge(case, share, PEAK_SHARE, False, [time]))
    return rows


def judge_counts(shapes, found, peak, functions):
    """Takes `peak` in GFLOP/s and `functions` in billions per second."""
    rows = []
    for shape in shapes:
        time = found.get(Point("auto", shape))
        counted = shape.flops() / peak / 1e3 + shape.functions() / functions / 1e3
        case = f"{shape}: step / multiply-adds and functions at peak speed"
        ratio = time / counted if time else None
        rows.append(judge(case, ratio, OVER_COUNTED, True, [time, counted]))
    return rows


def measure_networks(claims, options):
    """Returns rows of claims on networks, measured by layers/run.py."""
    rows = []
    for network, pruned in dict.fromkeys((claim.network, claim.pruned) for claim in claims):
        own = [claim for claim in claims if (claim.network, claim.pruned) == (network, pruned)]
        plans = dict.fromkeys(claim.plan for claim in own if claim.plan != "sequential")
        out = options.work / f"{network}-{pruned}.json"
        command = [options.pytorch_python, HERE / "layers/run.py", "--out", out, "--threads", "1"]
        command += ["--networks", network, "--pruned", str(pruned), "--rounds", str(options.rounds)]
        command += ["--batch", ",".join(str(claim.batch) for claim in own)]
        command += ["--plans", ",".join(plans), "--seconds", str(options.seconds)]
        command += ["--tools", pathlib.Path(options.compiler).parent]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode != 0:
            complaint = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
            print(f"skipping {network}: {complaint[-1]}", flush=True)
        runs = json.loads(out.read_text())["runs"] if done.returncode == 0 else []
        times = {run["batch"]: run["times"] for run in runs}
        for claim in own:
            over, under = (
                times.get(claim.batch, {}).get(peer, {}).get(claim.time)
                for peer in ("pytorch", claim.plan)
            )
            ratio = over / under if over and under else None
            rows.append(judge(str(claim), ratio, claim.ratio, False, [over, under]))
    return rows


def markdown(results):
    machine = results["machine"]
    functions = results.get("functions_per_ns")
    rates = f"{results['peak_gflops']:.0f} GFLOP/s"
    rates += f" and {functions:.2f} sigmoids per ns" if functions else ""
    lines = [
        report.fill(
            f"{machine['cpu']}, {machine['cores']} cores, {rates} per core; {results['date']}; "
            f"{', '.join(results['versions'].values())}. Command: `{results['command']}`. "
            f"Medians of {results['rounds']} interleaved rounds."
        ),
        "",
        "| case | milliseconds | ratio | target | verdict |",
        "|---|---|---|---|---|",
    ]
    for row in results["claims"]:
        times = " / ".join("–" if t is None else f"{t / 1e3:.4g}" for t in row["microseconds"])
        ratio = "–" if row["ratio"] is None else f"{row['ratio']:.3g}"
        lines.append(f"| {row['case']} | {times} | {ratio} | {row['wanted']} | {row['verdict']} |")
    return "\n".join(lines) + "\n"


def _parser():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="claims whose case has this in it")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3, help="time of one turn (0.3)")
    parser.add_argument("--timeout", type=float, default=120, help="of one turn (120)")
    parser.add_argument("--compiler", default=str(ROOT / "build/bin/bppsa-compile"))
    parser.add_argument("--pytorch-python", default=sys.executable)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/benchmarks")
    parser.add_argument("--out", type=pathlib.Path, help="results (default: in the work folder)")
    parser.add_argument("--markdown", type=pathlib.Path, help="also write the table into this file")
    parser.add_argument("--render", type=pathlib.Path, help="measure nothing, print this table")
    return parser


def write(results, options):
    if options.markdown:
        report.write_into(options.markdown, markdown(results), BEGIN, END)
    print(markdown(results), end="")


def main():
    options = _parser().parse_args()
    if options.render:
        write(json.loads(options.render.read_text()), options)
        return 0
    options.work.mkdir(parents=True, exist_ok=True)
    claims = [claim for claim in CLAIMS if options.only in claim.case]
    near = [shape for shape in NEAR_PEAK if options.only in f"{shape}: share"]
    networks = [claim for claim in NETWORK_CLAIMS if options.only in str(claim)]
    points = [point for claim in claims for point in (claim.over, claim.under)]
    counted = [shape for shape in COUNTED if options.only in f"{shape}: step / multiply-adds"]
    points += [Point("auto", shape) for shape in (*near, *counted)]
    peak = measure_rate("peak", options.work)
    functions = measure_rate("functions", options.work) if counted else None
    found = measure_points(list(dict.fromkeys(points)), options)
    rows = judge_points(claims, found) + judge_shares(near, found, peak)
    rows += judge_counts(counted, found, peak, functions)
    rows += measure_networks(networks, options)
    results = {
        "machine": _machine(),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "command": _command(sys.argv[1:]).replace("run.py", "claims.py"),
        "versions": Compiled("auto", options.compiler, options.work).versions,
        "rounds": options.rounds,
        "peak_gflops": peak,
        "functions_per_ns": functions,
        "claims": rows,
    }
    _save(results, options.out or options.work / "claims.json")
    write(results, options)
    return 1 if any(row["verdict"] == "FAIL" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
