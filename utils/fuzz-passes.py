#!/usr/bin/env python3
"""Runs random sequences of the project's passes on the modules of the IR tests.

Every run of bppsa-opt must end with a result or with a diagnostic. One that crashes, hangs or fails
without saying why is reduced: first its passes, then the top-level operations of the module. The
command that fails is printed, and the reduced module kept. Run N of a seed stays the same as long as
the tests and the passes do. The exit status is 1 where a run was wrong.
"""

import argparse
import concurrent.futures
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("BPPSA_BUILD_DIR", ROOT / "build"))

# Passes of the project by the beginnings of their names.
OWN = re.compile(
    r"^(bppsa-|bgpu-|convert-(bppsa|bgpu|graph)-|convert-device-to-nvvm$|convert-gpu-launch-to-call$)"
)
PLANS = ["auto", "linear", "blelloch", "hybrid:1", "chunked:3", "chunked"]
# Options that a pass is also run with.
OPTIONS = {
    "bppsa-choose-cpu-mapping": ["lanes=1", "lanes=2"],
    "bppsa-differentiate": ["of=forward wrt=all", "of=f wrt=all", "links wrt=all"],
    "bppsa-expand-scan": ["factor-links", "unroll-up-to=8"],
    "bppsa-lower-graph-bodies": ["row-blocks=false", "memory-limit=4096"],
    "bppsa-scan": [f"algorithm={plan}" for plan in PLANS],
    "bppsa-scan-links": [
        f"algorithm={plan}" for plan in [*PLANS, "none", "linear dense-jacobians"]
    ],
    "bppsa-sparsify-products": ["max-share=1"],
}


def find_passes(opt):
    """The passes and pipelines of the project, from the help text of bppsa-opt."""
    text = subprocess.run([opt, "--help"], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^      --([\w-]+)(?:=<\w+>)? +-", text, re.M)
    return sorted({name for name in names if OWN.match(name)})


def find_modules():
    """The modules of the suite, by file and number in it."""
    modules = {}
    for path in sorted((ROOT / "test").rglob("*.mlir")):
        for number, piece in enumerate(re.split(r"^// -----.*$", path.read_text(), flags=re.M)):
            lines = [line for line in piece.splitlines() if not line.lstrip().startswith("//")]
            if any(line.strip() for line in lines):
                modules[f"{path.relative_to(ROOT)}#{number}"] = "\n".join(lines) + "\n"
    return modules


def find_fault_of(status, errors):
    """What is wrong with the end of a run, or None."""
    if status < 0:
        return f"signal {-status}"
    fatal = re.search(r"LLVM ERROR.*|UNREACHABLE.*|Assertion.*", errors)
    if fatal:
        return fatal.group(0)
    if status not in (0, 1):
        return f"exit status {status}"
    if status == 1 and "error:" not in errors:
        return "failure without a diagnostic"
    return None


def find_fault(opt, text, passes, limit):
    """What is wrong with a run of `passes` on the module `text`, or None."""
    command = [opt, "--mlir-disable-threading", *passes, "-", "-o", os.devnull]
    try:
        run = subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return f"still running after {limit} s"
    return find_fault_of(run.returncode, run.stderr)


def split_operations(text):
    """The top-level operations of a module; aliases, which others need, are one with the first."""
    pieces = []
    for line in text.splitlines(keepends=True):
        starts = line.strip() and not line[0].isspace() and line[0] not in "})"
        if not pieces or (starts and not pieces[-1].lstrip().startswith(("#", "!"))):
            pieces.append("")
        pieces[-1] += line
    return pieces


def drop_needless(items, fails):
    """`items` without those that are not needed for `fails(items)`."""
    i = 0
    while i < len(items) and len(items) > 1:
        fewer = items[:i] + items[i + 1 :]
        if fails(fewer):
            items = fewer
        else:
            i += 1
    return items


class Fuzzer:
    def __init__(self, arguments):
        self.arguments = arguments
        self.passes = find_passes(arguments.opt)
        self.modules = find_modules()
        self.names = sorted(self.modules)

    def choose(self, number):
        """The module and the passes of run `number`."""
        source = random.Random(f"{self.arguments.seed}/{number}")
        name = source.choice(self.names)
        passes = []
        for chosen in source.choices(self.passes, k=source.randint(1, 4)):
            option = source.choice(["", *OPTIONS.get(chosen, [])])
            passes.append(f"--{chosen}={option}" if option else f"--{chosen}")
        return name, passes

    def run(self, number):
        """The report of run `number`, or None where nothing is wrong."""
        name, passes = self.choose(number)
        text, limit = self.modules[name], self.arguments.limit
        fault = find_fault(self.arguments.opt, text, passes, limit)
        if not fault:
            return None

        def fails_so(text, passes):
            return find_fault(self.arguments.opt, text, passes, limit) == fault

        passes = drop_needless(passes, lambda fewer: fails_so(text, fewer))
        operations = drop_needless(
            split_operations(text), lambda fewer: fails_so("".join(fewer), passes)
        )
        path = pathlib.Path(self.arguments.keep) / f"run-{self.arguments.seed}-{number}.mlir"
        path.write_text("".join(operations))
        command = shlex.join([str(self.arguments.opt), *passes, str(path)])
        return f"run {number}, {name}: {fault}\n  {command}"

    def run_all(self):
        numbers = range(self.arguments.first, self.arguments.first + self.arguments.count)
        wrong = 0
        with concurrent.futures.ThreadPoolExecutor(self.arguments.jobs) as pool:
            for report in pool.map(self.run, numbers):
                if report:
                    wrong += 1
                    print(report, flush=True)
        print(
            f"{len(numbers)} sequences of {len(self.passes)} passes on {len(self.names)} modules, "
            f"{wrong} wrong"
        )
        return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first run")
    parser.add_argument("--count", type=int, default=1000, help="how many runs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, default=60, help="seconds that a run may take")
    parser.add_argument("--keep", help="directory for reduced modules")
    parser.add_argument("--opt", default=BUILD / "bin" / "bppsa-opt", help="the bppsa-opt to run")
    arguments = parser.parse_args()
    arguments.keep = arguments.keep or tempfile.mkdtemp(prefix="fuzz-passes-")
    os.makedirs(arguments.keep, exist_ok=True)
    return Fuzzer(arguments).run_all()


if __name__ == "__main__":
    sys.exit(main())
