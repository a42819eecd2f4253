#!/usr/bin/env python3
# Part of the bppsa project, under the MIT License.
"""Kills ranks at random during training and compares the result with an undisturbed run.

  test/Distributed/kills.py PROGRAM DATA [--ranks 8] [--seconds 600] [--kills N] [--seed 0] [-- OPTIONS]

PROGRAM is compiled with --distributed=mpi; OPTIONS are options of `train`. Each round starts
training from scratch. A rank is killed at a random time after the first checkpoint, and all others
must end within ten seconds (--patience). Training then resumes from the checkpoint, with a
different gradient exchange, until a run completes. Its model must equal that of the undisturbed run
bit for bit. Rounds repeat until the time is up or the given number of ranks has been killed.

mpirun itself may hang after a rank is killed. Open MPI 4.1.4 does so at its end, when no rank is
left (`hung_launchers` in the figures), and at its start (`hung_starts`). It is then killed with all
its processes, and training resumes from the checkpoint as after any kill. Ranks that train without
making progress are an error.
"""

import argparse
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

EXCHANGES = ("allreduce", "p3", "dear", "barrier")
# Seconds that the other ranks may take to end after a kill, on an idle machine.
PATIENCE = 10
# A run without a new checkpoint for STALL times the undisturbed run time, and at least LEAST_STALL
# seconds, counts as hung.
STALL, LEAST_STALL = 10, 60


def ranks_of(launcher):
    """Returns all processes that mpirun has started."""
    children = f"/proc/{launcher.pid}/task/{launcher.pid}/children"
    try:
        with open(children) as file:
            return [int(word) for word in file.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def is_alive(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            # The state follows the name, which may contain anything but ends with the last
            # parenthesis.
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Disturber:
    def __init__(self, ranks, program, data, folder, options, seed, patience):
        self.random = random.Random(seed)
        self.command = ["mpirun", "-quiet", "-n", str(ranks), program, "train", "--data", data]
        self.command += ["--quiet", *options]
        self.patience = patience
        self.whole, self.saved = folder / "whole.onnx", folder / "saved.onnx"
        self.checkpoint = folder / "checkpoint"
        self.figures = {"ranks": ranks, "rounds": 0, "kills": 0, "from_checkpoints": 0}
        self.figures |= {"slowest_end_s": 0.0, "starts": 0, "hung_launchers": 0, "hung_starts": 0}

    def start(self, *options):
        words = [str(word) for word in (*self.command, *options)]
        environment = os.environ | {
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_MCA_hwloc_base_binding_policy": "none",
        }
        pipe = subprocess.PIPE
        self.figures["starts"] += 1
        # A separate process group, which can be killed as a whole.
        return subprocess.Popen(
            words, env=environment, stdout=pipe, stderr=pipe, text=True, start_new_session=True
        )

    def give_up(self, process, figure):
        """Kills a hanging mpirun and its processes."""
        ranks = ranks_of(process)
        for end, target in ((os.killpg, process.pid), *((os.kill, rank) for rank in ranks)):
            try:
                end(target, signal.SIGKILL)
            except ProcessLookupError:
                pass
        process.communicate()
        self.figures[figure] += 1

    def run_undisturbed(self):
        """Returns the run time in seconds."""
        begin = time.monotonic()
        process = self.start("--checkpoint", self.checkpoint, "--save", self.whole)
        _, errors = process.communicate()
        if process.returncode != 0:
            sys.exit(f"error: the undisturbed run ends with status {process.returncode}: {errors}")
        self.figures["undisturbed_s"] = round(time.monotonic() - begin, 2)
        self.stall = max(LEAST_STALL, STALL * self.figures["undisturbed_s"])
        return self.figures["undisturbed_s"]

    def written(self):
        return self.checkpoint.stat().st_mtime_ns if self.checkpoint.exists() else None

    def wait_for_training(self, process, before):
        """Waits for a run's first checkpoint or its end; returns false if mpirun hangs."""
        begin = time.monotonic()
        while process.poll() is None and self.written() == before:
            if time.monotonic() - begin > self.stall:
                self.give_up(process, "hung_starts")
                return False
            time.sleep(0.01)
        return True

    def wait_for_end(self, process):
        """Waits for the end of a run; returns false if no rank is left and mpirun hangs."""
        last = self.written()
        while True:
            try:
                process.wait(self.stall)
                return True
            except subprocess.TimeoutExpired:
                pass
            if not any(map(is_alive, ranks_of(process))):
                self.give_up(process, "hung_launchers")
                return False
            if self.written() == last:
                self.give_up(process, "hung_launchers")
                sys.exit(f"error: ranks make no progress in {self.stall:.0f} s: {self.figures}")
            last = self.written()

    def kill_one(self, process, seconds):
        """Kills a rank after `seconds`; returns whether the run was still in progress."""
        try:
            process.wait(seconds)
            return False
        except subprocess.TimeoutExpired:
            pass
        ranks = ranks_of(process)
        if not ranks:
            return False
        begin = time.monotonic()
        os.kill(self.random.choice(ranks), signal.SIGKILL)
        while any(map(is_alive, ranks)) and time.monotonic() - begin <= self.patience:
            time.sleep(0.01)
        took = time.monotonic() - begin
        self.figures["slowest_end_s"] = round(max(self.figures["slowest_end_s"], took), 2)
        if left := [rank for rank in ranks if is_alive(rank)]:
            sys.exit(f"error: ranks {left} go on {took:.1f} s after another one")
        try:
            process.communicate(timeout=self.patience)
        except subprocess.TimeoutExpired:
            self.give_up(process, "hung_launchers")
        # The rank may have been about to exit.
        if process.returncode == 0:
            return False
        self.figures["kills"] += 1
        return True

    def run_round(self, longest, mostKills):
        for path in (self.checkpoint, self.saved):
            path.unlink(missing_ok=True)
        while True:
            options = ["--checkpoint", self.checkpoint, "--save", self.saved]
            options += ["--exchange", self.random.choice(EXCHANGES)]
            if self.checkpoint.exists():
                options += ["--resume", self.checkpoint]
                self.figures["from_checkpoints"] += 1
            before = self.written()
            process = self.start(*options)
            if not self.wait_for_training(process, before):
                continue
            isLast = mostKills is not None and self.figures["kills"] >= mostKills
            if not isLast and self.kill_one(process, self.random.uniform(0, longest / 2)):
                continue
            if not self.wait_for_end(process):
                continue
            _, errors = process.communicate()
            if process.returncode != 0:
                sys.exit(f"error: a restart ends with status {process.returncode}: {errors}")
            break
        self.figures["rounds"] += 1
        if self.saved.read_bytes() != self.whole.read_bytes():
            sys.exit(f"error: round {self.figures['rounds']} ends in other bits: {self.figures}")


def disturb(program, data, ranks, options, seed, seconds=None, kills=None, patience=PATIENCE):
    """Returns the figures; exits with a message if a round fails."""
    with tempfile.TemporaryDirectory() as folder:
        disturber = Disturber(ranks, program, data, pathlib.Path(folder), options, seed, patience)
        longest = disturber.run_undisturbed()
        begin = time.monotonic()

        def is_over():
            isLate = seconds is not None and time.monotonic() - begin >= seconds
            return isLate or (kills is not None and disturber.figures["kills"] >= kills)

        while not is_over():
            disturber.run_round(longest, kills)
        return disturber.figures | {"seconds": round(time.monotonic() - begin, 1), "seed": seed}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--kills", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--patience", type=float, default=PATIENCE, help="seconds to an end")
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    given = parser.parse_args(words[:end])
    limits = (given.seed, given.seconds, given.kills, given.patience)
    program = given.program.resolve()
    figures = disturb(program, given.data, given.ranks, words[end + 1 :], *limits)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
