#!/usr/bin/env python3
# Part of the bppsa project, under the MIT License.
"""Runs the compiler and compiled programs under faults: bad input, kills, full disks and others.

  test/Campaigns/campaigns.py [CAMPAIGN...] [--count N] [--seconds S] [--seed N] [--keep DIR]

The seed and the number of a run determine the run. A command must end in time with a status listed
in docs/Reference/CommandLine.md. On failure it must print one line of explanation. It must leave
complete files or none. The files of a faulty run are kept, with the command line that repeats it.
The exit status is 1 if any run was faulty. docs/Contributing/Testing.md describes the campaigns.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import programs
import self_check
from campaign import Fault
from changed_arrays import ChangedArrays
from changed_checkpoints import ChangedCheckpoints
from changed_ir import ChangedIR
from changed_models import ChangedModels
from clocks import Clocks
from closed_pipes import ClosedPipes
from full_disks import FullDisks
from killed import Kills
from little_memory import LittleMemory
from random_options import CompilerOptions, ProgramOptions
from read_only import ReadOnly
from stops import Stops

ALL = [ChangedModels, ChangedArrays, ChangedCheckpoints, ProgramOptions, CompilerOptions, ChangedIR]
ALL += [Kills, FullDisks, ClosedPipes, Stops, Clocks, LittleMemory, ReadOnly]
CAMPAIGNS = {campaign.name: campaign for campaign in ALL}


class Driver:
    """Runs one campaign."""

    def __init__(self, campaign, arguments):
        self.campaign, self.arguments = campaign, arguments
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{campaign.name}-"))
        self.ends = collections.Counter()

    def repeat(self, number):
        """Returns the command line that repeats a run."""
        words = [sys.argv[0], self.campaign.name, "--seed", self.arguments.seed]
        words += ["--first", number, "--count", 1, "--programs", *self.arguments.programs]
        return " ".join(map(str, words))

    def report(self, number, fault, folder):
        """Prints a fault and keeps the files of the run."""
        kept = (
            pathlib.Path(self.arguments.keep)
            / f"{self.campaign.name}-{self.arguments.seed}-{number}"
        )
        shutil.rmtree(kept, ignore_errors=True)
        # Unlike shutil.copytree, cp also copies named pipes.
        subprocess.run(["cp", "-a", folder, kept], check=True)
        lines = [f"{self.campaign.name} {number}: {fault}", f"  repeat: {self.repeat(number)}"]
        if fault.run:
            lines += [f"  command: cd {kept} && {fault.run.text()}"]
            lines += [f"  stderr: {line[:300]}" for line in fault.run.errors.splitlines()[:4]]
        text = "\n".join(lines).encode(errors="backslashreplace").decode()
        (kept / "fault.txt").write_text(text + "\n")
        print(text, flush=True)

    def run(self, number):
        """Executes one run; returns its word for the statistics."""
        source = random.Random(f"{self.arguments.seed}/{self.campaign.name}/{number}")
        folder = self.folder / str(number)
        folder.mkdir()
        try:
            return self.campaign.run(source, folder)
        except Fault as fault:
            self.report(number, fault, folder)
            return None
        except Exception as error:
            raise RuntimeError(f"the campaign itself failed: {self.repeat(number)}") from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def numbers(self, count):
        """Yields the run numbers until the time limit."""
        begin = time.monotonic()
        for number in range(self.arguments.first, self.arguments.first + count):
            if self.arguments.seconds and time.monotonic() - begin > self.arguments.seconds:
                return
            yield number

    def run_all(self, count):
        """Executes all runs; returns the number of faults."""
        begin = time.monotonic()
        shared = self.folder / "shared"
        shared.mkdir()
        self.campaign.prepare(shared)
        # Threads draw run numbers on demand, so that no run is queued at the time limit.
        numbers = self.numbers(count)
        lock = self.campaign.lock

        def work():
            while True:
                with lock:
                    number = next(numbers, None)
                if number is None:
                    return
                start = time.monotonic()
                word = self.run(number)
                self.campaign.note_most("slowest_s", round(time.monotonic() - start, 1))
                with lock:
                    self.ends[word or "wrong"] += 1

        with concurrent.futures.ThreadPoolExecutor(self.arguments.jobs) as pool:
            for worker in [pool.submit(work) for _ in range(self.arguments.jobs)]:
                worker.result()
        shutil.rmtree(self.folder, ignore_errors=True)
        figures = {"campaign": self.campaign.name, "runs": self.ends.total()}
        figures |= {"wrong": self.ends["wrong"], "seconds": round(time.monotonic() - begin, 1)}
        figures |= {"ends": dict(sorted(self.ends.items())), **self.campaign.extremes}
        print(json.dumps(figures), flush=True)
        return self.ends["wrong"]


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("campaigns", nargs="*", metavar="CAMPAIGN", help=", ".join(CAMPAIGNS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first run")
    parser.add_argument("--count", type=int, help="runs of each campaign (default: its own)")
    parser.add_argument("--short", action="store_true", help="the few runs of the test suite")
    parser.add_argument("--self-check", action="store_true", help="find broken cases instead")
    parser.add_argument("--seconds", type=float, help="time for each campaign")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", help="folder for the files of wrong runs")
    parser.add_argument(
        "--programs", nargs="+", default=list(programs.SOURCES), help="names, or paths of trainers"
    )
    arguments = parser.parse_args()
    if unknown := set(arguments.campaigns) - set(CAMPAIGNS):
        parser.error(f"unknown {sorted(unknown)}; the campaigns are {', '.join(CAMPAIGNS)}")
    return arguments


def main():
    arguments = parse()
    arguments.keep = arguments.keep or tempfile.mkdtemp(prefix="campaigns-")
    os.makedirs(arguments.keep, exist_ok=True)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if arguments.self_check:
        return 0 if self_check.check_all(pathlib.Path(tempfile.mkdtemp()), Driver) else 1
    print(
        f"seed {arguments.seed}; the files of wrong runs are kept in {arguments.keep}", flush=True
    )
    compiled = programs.Programs(arguments.programs)
    wrong = 0
    for name in arguments.campaigns or CAMPAIGNS:
        campaign = CAMPAIGNS[name](compiled)
        count = arguments.count or (campaign.short if arguments.short else campaign.count)
        wrong += Driver(campaign, arguments).run_all(count)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
