#!/usr/bin/env python3
# Part of the bppsa project, under the MIT License.
"""Compares compiled programs on a GPU with PyTorch's recurrent layers (cuDNN) and JAX's loops.

  benchmarks/gpu/run.py --compile FOLDER            on a machine with the compiler
  python3 FOLDER/run.py --measure FOLDER --out R.json --budget 1500     on a machine with a GPU
  benchmarks/gpu/run.py --render R.json [--plots FOLDER]    Markdown tables, targets, and plots
  benchmarks/gpu/run.py --rehearse                  everything on a CPU, emulated, at tiny sizes

FOLDER has a few MiB and contains everything that --measure needs, except Python, numpy and
PyTorch. The script first compares the gradients of every program with PyTorch in float64. It then
calibrates each program that selects a variant (`bench --calibrate`). Finally it measures each
point, a model at one length and batch, in interleaved rounds of every variant and every installed
peer of frameworks.py (float32, TF32 off). Results are written after the checks of each model and
after each point; --resume continues an interrupted run.
"""

import argparse
import concurrent.futures
import datetime
import functools
import itertools
import json
import pathlib
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

import baselines
import bundle
import calibration
import frameworks
import gradients
import numpy as np
import plots
import tables

SMALL, MIDDLE = (7, 3), (200, 16)
TINY = ((9, 3),)
HIDDEN, BATCH, STEPS = (8, 20, 32, 64, 128), (1, 16, 64, 256), (100, 1000, 10000, 30000)
# A length of the published GRU experiments that is not on the grid.
IRMAS = {"cell": "gru", "hidden": 20, "batch": 16, "steps": 1034}
MOST_REPEATS = 200
CALIBRATION_SECONDS = 300


class Failed(RuntimeError):
    """A program gave no answer; the message says why."""


def call(command, timeout):
    """Returns the standard output of a program."""
    try:
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"no answer in {timeout:.0f} s") from None
    if done.returncode != 0:
        text = done.stderr.strip() or "no message"
        raise Failed(f"status {done.returncode}: {text}"[:300])
    return done.stdout


# ----------------------------------------------------------------------------------------------
# Gradients
# ----------------------------------------------------------------------------------------------


class Checks:
    """Compares gradients with the reference; caches the latest references."""

    def __init__(self, folder, timeout):
        self.folder, self.timeout = folder, timeout
        self.name, self.gradients = gradients.reference()
        self.wanted = functools.lru_cache(maxsize=2)(self._wanted)

    def _data(self, cell, hidden, size):
        steps, batch = size
        shape = (steps, batch, frameworks.features_of(cell, hidden))
        x = np.random.default_rng(2).random(shape).astype(np.float32)
        return x, np.arange(batch) % frameworks.CLASSES

    def _wanted(self, cell, hidden, size):
        """Returns the data and the gradients in float64 and in plain float32."""
        with np.load(self.folder / f"{cell}-h{hidden}.npz") as stored:
            weights = dict(stored)
        x, target = self._data(cell, hidden, size)
        make = functools.partial(self.gradients, cell, weights, x, target)
        return x, target, make(np.float64), make(np.float32)

    def check(self, variant, size):
        x, target, wanted, single = self.wanted(variant.cell, variant.hidden, size)
        with tempfile.TemporaryDirectory() as work:
            data, out = pathlib.Path(work) / "data.npz", pathlib.Path(work) / "grad.npz"
            np.savez(data, x=x, target=target)
            command = [variant.program, "grad", "--data", data, "--out", out, *variant.arguments]
            call(command, self.timeout)
            with np.load(out) as stored:
                found = dict(stored)
        return gradients.compare(found, wanted, single)


def run_checks(results, variants, checks, sizes, jobs, save):
    """Runs the missing checks of each model and size, a few programs at a time."""
    groups = {}
    for variant in variants:
        for size in sizes:
            key = f"{variant.key}, T={size[0]} B={size[1]}"
            if key not in results["checks"]:
                groups.setdefault((variant.cell, variant.hidden, size), []).append((key, variant))
    for (cell, hidden, size), members in groups.items():
        checks.wanted(cell, hidden, size)
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            running = [(k, v, pool.submit(checks.check, v, size)) for k, v in members]
        for key, variant, future in running:
            try:
                answer = future.result()
            except Failed as reason:
                answer = {"ok": False, "failed": str(reason)}
            results["checks"][key] = {"variant": variant.key, **answer}
            verdict = "fine" if answer["ok"] else f"WRONG: {answer}"
            print(f"gradients of {key}: {verdict}", flush=True)
        save()


# ----------------------------------------------------------------------------------------------
# Times
# ----------------------------------------------------------------------------------------------


def bar_points():
    return [dict(zip(("cell", "hidden", "batch", "steps"), bar.point)) for bar in tables.BARS]


def models_of(options):
    """Returns pairs of cell and hidden size: the grid and, unless sizes are given, the bars."""
    models = list(itertools.product(options.cells, options.hidden or HIDDEN))
    if not options.hidden:
        models += [(p["cell"], p["hidden"]) for p in bar_points() if p["cell"] in options.cells]
    return list(dict.fromkeys(models))


def ordered_points(options, models):
    """Returns the points of the bars, the published experiments, then all others by cost."""
    grid = argparse.Namespace(**{**vars(options), "hidden": options.hidden or HIDDEN})
    points = [*bar_points(), IRMAS, *baselines.ordered_points(grid)]
    chosen = [p for p in points if (p["cell"], p["hidden"]) in models]
    return list({tables.shape_key(p): p for p in chosen}.values())


def too_large(variant, point, options):
    """Returns the reason to skip a variant at a point, or None."""
    size = frameworks.state_size(point["cell"], point["hidden"])
    maps = point["steps"] * point["batch"] * (size + 1) * size
    if variant.name == "auto":
        return None  # Selecting a variant that does not fit is an error, so it is measured.
    if variant.name == "blelloch" and 4 * maps > options.gigabytes * 1e9:
        return f"about {4 * maps / 1e9:.0f} GB of matrices"
    if variant.name != "sequential" and 2 * maps * size > options.tera * 1e12:
        return f"about {2 * maps * size / 1e12:.0f} TFLOP of products"
    return None


def bench(variant, point, repeat, timeout, constants=None):
    command = [variant.program, "bench", "--seq-len", point["steps"], "--batch", point["batch"]]
    command += ["--repeat", repeat, *variant.arguments]
    if constants and variant.name == "auto":
        command += ["--calibration", constants]
    return json.loads(call(command, timeout))


class Turns:
    """The turns of one peer at one point."""

    def __init__(self, measure, seconds):
        self.measure, self.seconds = measure, seconds
        self.repeat, self.answers, self.error = 3, [], None

    def take(self):
        """Runs one turn unless the last turn failed or took far too long."""
        if self.error or (self.answers and self.answers[-1]["step_us"] > 20e6 * self.seconds):
            return
        try:
            answer = self.measure(self.repeat)
        except Failed as reason:
            self.error = str(reason)
            return
        if "error" in answer:
            self.error = answer["error"]
            return
        self.answers.append(answer)
        fill = int(self.seconds * 1e6 / max(answer["step_us"], 1e-3))
        self.repeat = max(3, min(fill, MOST_REPEATS))

    def summary(self):
        """Returns medians of the turns after the warm-up turn, and every turn's step."""
        if self.error or not self.answers:
            return {"error": self.error or "no turn"}
        counted = self.answers[1:] or self.answers
        result = dict(self.answers[-1], repeat=self.repeat)
        for key in ("forward_us", "backward_us", "update_us", "step_us"):
            result[key] = statistics.median(answer[key] for answer in counted)
        return {**result, "rounds_step_us": [answer["step_us"] for answer in self.answers]}


def peer_turns(peer, point, options):
    def measure(repeat):
        return baselines.measure(peer, point, tf32=False, seconds=options.seconds)

    return Turns(measure, options.seconds)


def measure_point(point, variants, peers, options):
    """Returns one answer per peer and variant at one point, measured in interleaved turns."""
    turns, answers = {}, {}
    for name, peer in peers.items():
        reason = baselines.too_large(name, point, options.gigabytes * 1e9)
        if reason:
            answers[name] = {"skipped": reason}
        else:
            turns[name] = peer_turns(peer, point, options)
    for variant in variants:
        if (variant.cell, variant.hidden) != (point["cell"], point["hidden"]):
            continue
        reason = too_large(variant, point, options)
        if reason:
            answers[variant.name] = {"skipped": reason}
            continue
        constants = options.constants.get(variant.program)
        measure = functools.partial(
            bench, variant, point, timeout=options.timeout, constants=constants
        )
        turns[variant.name] = Turns(lambda repeat, m=measure: m(repeat=repeat), options.seconds)
    for _ in range(options.rounds + 1):
        for turn in turns.values():
            turn.take()
    return {**{name: turn.summary() for name, turn in turns.items()}, **answers}


def run_points(results, variants, peers, options, save):
    """Measures the missing points until --budget ends."""
    models = {(v.cell, v.hidden) for v in variants}
    points = ordered_points(options, models)
    todo = [p for p in points if tables.shape_key(p) not in results["points"]]
    for index, point in enumerate(todo):
        if time.monotonic() > options.end:
            print(f"stopped by --budget with {len(todo) - index} points left: go on with --resume")
            return
        key = tables.shape_key(point)
        answers = measure_point(point, variants, peers, options)
        results["points"][key] = {"point": point, "answers": answers}
        save()
        print(key, flush=True)
        for name, answer in answers.items():
            if "step_us" in answer:
                times = " / ".join(tables.number(answer[t]) for t in tables.TIMES)
                print(f"  {name:14} {times} us", flush=True)
            else:
                print(f"  {name:14} {answer.get('error') or answer['skipped']}", flush=True)


# ----------------------------------------------------------------------------------------------
# The run
# ----------------------------------------------------------------------------------------------


def open_peers(options, device):
    """Returns the installed peers of --peers; on a GPU, PyTorch is required."""
    peers = {}
    for name in options.peers:
        try:
            peers[name] = frameworks.open_peer(name, device)
        except frameworks.Missing as reason:
            if device == "cuda" and name == "pytorch":
                text = str(reason).split(";")[0]
                raise SystemExit(f"run.py: {text}; --rehearse needs no GPU") from None
            print(f"skipping {name}: {reason}", flush=True)
    return peers


def describe(manifest, checks, peers, options):
    """Returns the settings that must not change between resumed runs."""
    description = {
        "device": "cpu, emulated" if manifest["emulated"] else "cuda",
        "programs": f"{manifest['compiler']} {' '.join(manifest['options'])}".strip(),
        "reference": checks.name,
        "python": platform.python_version(),
        "turns": f"{options.rounds} rounds of {options.seconds:g} s",
    }
    if not manifest["emulated"]:
        query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        try:
            description["driver"] = call(query, 60).splitlines()[0]
        except (Failed, OSError, IndexError) as error:
            description["driver"] = f"unknown ({error})"
    description["peers"] = ", ".join(peers) or "none"
    for peer in peers.values():
        description.update(peer.describe())
    return description


def open_results(options, description):
    path = options.out
    if not path.exists():
        begin = {"date": datetime.date.today().isoformat(), "command": command_line()}
        return {"description": {**description, **begin}, "checks": {}, "points": {}}
    if not options.resume:
        raise SystemExit(f"run.py: {path} is there: --resume goes on, or name another --out")
    results = json.loads(path.read_text())
    for name, value in description.items():
        found = results["description"].get(name)
        if found != value:
            raise SystemExit(f"run.py: {path} has {name} '{found}', here it is '{value}'")
    return results


def command_line():
    """Returns the command without the folders of this machine."""
    words = [pathlib.Path(word).name if "/" in word else word for word in sys.argv]
    return shlex.join(words)


def measure(options):
    """Implements --measure; returns the exit status."""
    options.end = time.monotonic() + options.budget
    with bundle.opened(options.measure) as (manifest, variants, folder):
        peers = open_peers(options, "cpu" if manifest["emulated"] else "cuda")
        checks = Checks(folder, options.timeout)
        results = open_results(options, describe(manifest, checks, peers, options))

        def save():
            baselines.save(options.out, results)

        hidden = options.hidden or {v.hidden for v in variants}
        chosen = [v for v in variants if v.cell in options.cells and v.hidden in hidden]
        if options.variants:
            chosen = [v for v in chosen if v.name in options.variants]
        if not chosen:
            raise SystemExit("run.py: the folder has no program for --cells, --hidden and --variants")
        rank = {(p["cell"], p["hidden"]): i for i, p in enumerate(reversed(bar_points()))}
        chosen.sort(key=lambda v: -rank.get((v.cell, v.hidden), -1))
        sizes = TINY if manifest["emulated"] else (SMALL, MIDDLE)
        run_checks(results, chosen, checks, sizes, options.jobs, save)
        ask = functools.partial(call, timeout=CALIBRATION_SECONDS)
        options.constants = calibration.run(results, chosen, folder, ask, save)
        run_points(results, chosen, peers, options, save)
        save()
    print(f"results: {options.out}")
    return 0 if all(check["ok"] for check in results["checks"].values()) else 1


def rehearse(options, folder):
    """Runs everything on the CPU at tiny sizes."""
    options.hidden, options.batch, options.steps = (4,), (2,), (5,)
    options.rounds, options.seconds, options.jobs = 1, 0.001, 1
    options.measure, options.out = folder / "programs", options.out or folder / "results.json"
    further = ["--emulate", "-O0"]
    models = models_of(options)
    bundle.make(options.measure, options.compiler, models, ("chunked:2",), further)
    status = measure(options)
    print(tables.markdown(json.loads(options.out.read_text())), end="")
    return status


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--compile", type=pathlib.Path, metavar="FOLDER")
    what.add_argument("--measure", type=pathlib.Path, metavar="FOLDER")
    what.add_argument("--render", type=pathlib.Path, metavar="JSON")
    what.add_argument("--rehearse", action="store_true")
    bundle.add_options(parser)
    add = parser.add_argument
    add("--cells", type=baselines.words(frameworks.CELLS), default=frameworks.CELLS)
    add("--hidden", type=baselines.numbers, metavar="H,...")
    add("--variants", type=lambda text: text.split(","), help="names of those to measure (all)")
    add("--peers", type=baselines.words(frameworks.PEERS), default=frameworks.PEERS)
    add("--batch", type=baselines.numbers, default=BATCH, metavar="B,...")
    add("--steps", type=baselines.numbers, default=STEPS, metavar="T,...")
    add("--out", type=pathlib.Path, metavar="JSON", help="results (default: in the folder)")
    add("--plots", type=pathlib.Path, metavar="FOLDER", help="--render: SVG plots go here")
    add("--resume", action="store_true", help="go on with what --out already holds")
    add("--budget", type=float, default=float("inf"), help="seconds after which no point begins")
    add("--rounds", type=int, default=3, help="turns of every peer, after one to warm up")
    add("--seconds", type=float, default=0.2, help="time of one turn (default 0.2)")
    add("--timeout", type=float, default=60, help="seconds after which a turn is given up (60)")
    add("--jobs", type=int, default=4, help="programs whose gradients are checked at a time")
    add("--gigabytes", type=float, default=60, help="matrices that a tree may keep (default 60)")
    add("--tera", type=float, default=20, help="TFLOP of products that a scan may take (20)")
    return parser.parse_args()


def main():
    options = parse()
    if options.render:
        if options.plots:
            plots.write(json.loads(options.render.read_text()), options.plots)
        print(tables.markdown(json.loads(options.render.read_text())), end="")
        return 0
    if options.compile:
        further = [f"--gpu-arch={options.gpu_arch}"]
        models, plans = models_of(options), options.plans
        bundle.make(options.compile, options.compiler, models, plans, further)
        size = sum(path.stat().st_size for path in options.compile.iterdir())
        print(f"{options.compile}: {size / 2**20:.1f} MiB")
        return 0
    if options.rehearse:
        with tempfile.TemporaryDirectory() as folder:
            return rehearse(options, pathlib.Path(folder))
    options.out = options.out or options.measure / "results.json"
    return measure(options)


if __name__ == "__main__":
    sys.exit(main())
