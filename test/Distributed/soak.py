#!/usr/bin/env python3
# Part of the bppsa project, under the MIT License.
"""Trains on several ranks many times, on a busy machine with sleeps at random places.

  test/Distributed/soak.py [--runs 1000] [--seed 0] [--jobs 2] [--kills 0.1] [--only WORD]

Each run draws a scenario (gradient exchange, pipeline schedule, interlocked modules, time shards,
synchronized batch statistics), a number of ranks, and a seed for BPPSA_CHAOS. One busy process per
core runs in parallel. A run must end and save the model of a quiet run of the same scenario, bit
for bit. In a share of the runs (--kills), a random rank is killed at a random time; all others must
end within ten seconds.

The figures are printed as JSON. The first failure ends the soak with the command that reproduces
it.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), *(str(TESTS / folder) for folder in ("Distributed", "Import", "numerics", "Runtime"))]

import kills  # noqa: E402
import models  # noqa: E402
import mpi  # noqa: E402
import test_batch_statistics_of_ranks as statistics  # noqa: E402
import test_modules as modules  # noqa: E402
import test_pipeline as pipeline  # noqa: E402
import test_time_layers as layers  # noqa: E402
from fake_trainer import save  # noqa: E402
from models import Spec  # noqa: E402
from test_programs import compile_model  # noqa: E402

# Seconds until a waiting rank exits with an error, and until a run is aborted.
STALL, LIMIT = 30, 150
# Seconds that the other ranks may take to end after a kill.
PATIENCE = 10
RANKS = (2, 3, 4, 8)
FIXED = ("--backward=sequential", "--mapping=lanes", "--seed=2", "--lr=0.005")


@dataclasses.dataclass(frozen=True)
class Scenario:
    """Runs that give the same bits for every variation on the same number of ranks."""

    name: str
    # Maps the number of ranks to the program.
    compile: object
    arrays: object
    options: tuple
    variations: tuple
    ranks: tuple = RANKS

    def on(self, ranks):
        return dataclasses.replace(self, ranks=tuple(count for count in self.ranks if count in ranks))


EXCHANGES = (
    ("--exchange=allreduce",),
    ("--exchange=barrier",),
    ("--exchange=p3", "--slice=400"),
    ("--exchange=dear", "--slice=300"),
    ("--exchange=p3", "--slice=50", "--throttle=1,0.0001"),
)


def compile_gru(ranks):
    # Messages of this size are only sent once the receiver is ready.
    spec = Spec("GRU", head="steps", hidden=24, layers=2)
    return compile_model(models.build(spec), "--loss=cross-entropy", "--optimizer=adam")


def gru_arrays():
    spec = Spec("GRU", head="steps", hidden=24, layers=2)
    return models.data(models.build(spec), {"T": 12, "B": 101}, "cross-entropy")


def stages(*options):
    def compile_stages(ranks):
        sizes = (6, 12, 10, 8, 9, 7, 8, 6, 5, 7, 9, 8, 6, 5, 6, 7, 4)
        return compile_model(pipeline.dense(sizes), f"--pipeline={ranks}", "--split-backward", *options)

    return compile_stages


def shards(*options):
    def compile_shards(ranks):
        spec = Spec("LSTM", head="steps", direction="bidirectional", layers=2)
        return compile_model(models.build(spec), "--loss=cross-entropy", "--optimizer=adam", "--shard-time", *options)

    return compile_shards


def shard_arrays():
    spec = Spec("LSTM", head="steps", direction="bidirectional", layers=2)
    return models.data(models.build(spec), {"T": 22, "B": 6}, "cross-entropy")


def compile_statistics(ranks):
    return compile_model(statistics.stack(), "--ignore-index=3", "--optimizer=adam", "--sync-bn")


def compile_modules(ranks):
    return modules.compile_chain("gru", f"--pipeline={ranks}", "--interlock=2")


def schedules(*words):
    return tuple((f"--pipeline-schedule={word}",) for word in words)


def make_scenarios():
    microbatches = ("--epochs=2", "--batch=16", "--microbatches=8")
    dense = lambda: pipeline.samples((37, 6), 37)  # noqa: E731
    kept = ("--epochs=2", "--batch=2", "--shard-time")
    neighbours = schedules("gpipe", "1f1b", "zb-h1", "zb-h2", "zb-1p", "zb-2p", "ooo", "auto")
    return [
        Scenario("exchange", compile_gru, gru_arrays, ("--epochs=3", "--batch=16"), EXCHANGES),
        Scenario("segments", compile_gru, gru_arrays, ("--epochs=2", "--batch=3", "--clip-norm=0.1"), EXCHANGES),
        Scenario("stages", stages(), dense, microbatches, neighbours),
        Scenario("clipped", stages(), dense, (*microbatches, "--clip-norm=0.1"), neighbours),
        Scenario(
            "v", stages("--pipeline-placement=v"), dense, microbatches, schedules("gpipe", "zb-v", "v-half", "v-min")
        ),
        Scenario(
            "groups",
            stages("--pipeline-placement=modulo:1"),
            dense,
            microbatches,
            schedules("gpipe", "modulo:1"),
            (2, 4, 8),
        ),
        Scenario(
            "modules", compile_modules, lambda: modules.samples("gru"), ("--epochs=3", "--batch=8"), ((),), (modules.COUNT,)
        ),
        Scenario("shares", shards(), shard_arrays, kept, EXCHANGES[:4]),
        Scenario(
            "scans", shards("--scan-shards"), shard_arrays, (*kept, "--shard-backward=exscan"), EXCHANGES[:4]
        ),
        Scenario(
            "statistics", compile_statistics, lambda: statistics.samples(61), ("--epochs=3", "--batch=16"), EXCHANGES[:4]
        ),
    ]


class Soak:
    def __init__(self, folder, scenarios, seed, killed_share):
        self.folder, self.scenarios, self.seed, self.killed_share = folder, scenarios, seed, killed_share
        self.programs, self.data, self.expected = {}, {}, {}

    def words(self, scenario, ranks, options, saved):
        words = [self.programs[scenario.name, ranks], "train", "--data", self.data[scenario.name], *FIXED]
        words += [*scenario.options, *options, "--threads=1", "--quiet", f"--stall-timeout={STALL}", "--save", saved]
        return mpi.command(ranks, *words)

    def prepare(self):
        """Compiles the programs and runs each scenario once without sleeps."""
        for scenario in self.scenarios:
            self.data[scenario.name] = save(self.folder / f"{scenario.name}.npz", scenario.arrays())
            for ranks in scenario.ranks:
                # A copy, because the next build deletes compiled programs.
                program = self.folder / f"{scenario.name}.{ranks}"
                self.programs[scenario.name, ranks] = shutil.copy(scenario.compile(ranks), program)
                saved = self.folder / f"{scenario.name}.{ranks}.onnx"
                words = self.words(scenario, ranks, scenario.variations[0], saved)
                subprocess.run(words, env=mpi.ENVIRONMENT, check=True, timeout=LIMIT)
                self.expected[scenario.name, ranks] = saved.read_bytes()

    def run(self, number):
        """Returns the outcome of a run; raises RuntimeError for a failure."""
        draw = random.Random(f"{self.seed}.{number}")
        scenario = draw.choice(self.scenarios)
        ranks, options = draw.choice(scenario.ranks), draw.choice(scenario.variations)
        saved = self.folder / f"run{number}.onnx"
        words = self.words(scenario, ranks, options, saved)
        chaos = str(draw.randrange(1 << 30))
        killed = draw.random() < self.killed_share
        what = f"BPPSA_CHAOS={chaos} {' '.join(words)} (run {number} of --seed {self.seed})"
        begin = time.monotonic()
        process = subprocess.Popen(
            words,
            env=mpi.ENVIRONMENT | {"BPPSA_CHAOS": chaos},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            if killed:
                return scenario, options, ranks, self.kill(process, draw.uniform(0, 2), what)
            try:
                _, errors = process.communicate(timeout=LIMIT)
            except subprocess.TimeoutExpired:
                alive = [rank for rank in kills.ranks_of(process) if kills.is_alive(rank)]
                if alive:
                    raise RuntimeError(f"hangs: {what}") from None
                return scenario, options, ranks, "hung launcher"
            if process.returncode != 0:
                raise RuntimeError(f"ends with status {process.returncode}: {what}\n{errors}")
            if saved.read_bytes() != self.expected[scenario.name, ranks]:
                raise RuntimeError(f"ends in other bits: {what}")
        finally:
            end(process)
            saved.unlink(missing_ok=True)
        return scenario, options, ranks, time.monotonic() - begin

    def kill(self, process, seconds, what):
        try:
            process.wait(seconds)
            return "ended before the kill"
        except subprocess.TimeoutExpired:
            pass
        ranks = kills.ranks_of(process)
        if not ranks:
            return "ended before the kill"
        os.kill(random.Random(what).choice(ranks), signal.SIGKILL)
        begin = time.monotonic()
        while any(map(kills.is_alive, ranks)):
            if time.monotonic() - begin > PATIENCE:
                raise RuntimeError(f"ranks live on {PATIENCE} s after a kill: {what}")
            time.sleep(0.01)
        return "killed"


def end(process):
    for target in [process.pid, *kills.ranks_of(process)]:
        try:
            os.killpg(target, signal.SIGKILL) if target == process.pid else os.kill(target, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.communicate()


class Load:
    """Busy processes, one per core."""

    def __enter__(self):
        # They end with this process, even if it is killed.
        words = [sys.executable, "-c", "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"]
        self.processes = [subprocess.Popen(words) for _ in range(os.cpu_count())]

    def __exit__(self, *error):
        for process in self.processes:
            process.kill()
            process.wait()


def soak(runs, seed=0, jobs=1, killed_share=0.0, only="", ranks=RANKS):
    """Returns the figures; raises RuntimeError at the first failed run."""
    scenarios = [scenario.on(ranks) for scenario in make_scenarios() if only in scenario.name]
    scenarios = [scenario for scenario in scenarios if scenario.ranks]
    figures = {"runs": 0, "seed": seed, "hung launcher": 0, "killed": 0, "ended before the kill": 0, "slowest_s": 0.0}
    figures["by_scenario"] = collections.Counter()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        soaked = Soak(pathlib.Path(folder), scenarios, seed, killed_share)
        soaked.prepare()
        with Load(), concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for scenario, options, ranks, outcome in pool.map(soaked.run, range(runs)):
                figures["runs"] += 1
                if isinstance(outcome, str):
                    figures[outcome] += 1
                    continue
                figures["slowest_s"] = round(max(figures["slowest_s"], outcome), 2)
                figures["by_scenario"][f"{scenario.name} on {ranks}"] += 1
                print(f"{figures['runs']}: {scenario.name} {' '.join(options)} on {ranks}", file=sys.stderr)
    return figures | {"seconds": round(time.monotonic() - begin, 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="runs at the same time")
    parser.add_argument("--kills", type=float, default=0.1, help="the share of runs in which a rank is killed")
    parser.add_argument("--only", default="", help="scenarios whose name contains this")
    given = parser.parse_args()
    try:
        figures = soak(given.runs, given.seed, given.jobs, given.kills, given.only)
    except RuntimeError as error:
        sys.exit(f"error: {error}")
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
