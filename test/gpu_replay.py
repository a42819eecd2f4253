#!/usr/bin/env python3
# Part of the bppsa project, under the MIT License.
"""Runs on a GPU the programs that tests have run emulated, and compares the results.

On the machine with the compiler:
  BPPSA_RECORD_FOR_GPU=FOLDER pytest test/numerics/test_gpu.py ...
On the machine with the GPU:
  python3 FOLDER/gpu_replay.py FOLDER [--jobs N] [--out JSON]

The recording tests check that emulated results are within the error bound of float64 gradients.
GPU results may differ from emulated ones as much as float32 gradients with different orders of
summation. Needs Python and NumPy.
"""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

# Maximum relative error in the Frobenius norm, and minimum norm for arrays whose terms cancel.
MOST_ERROR, LEAST_NORM = 2e-4, 1e-3


def relative_error(found, wanted):
    norm = max(np.linalg.norm(wanted.astype(np.float64)), LEAST_NORM)
    return float(np.linalg.norm(found.astype(np.float64) - wanted) / norm)


def find_difference(found, wanted):
    """Returns the largest error and a description of the difference, or an empty string."""
    if set(found) != set(wanted):
        return float("inf"), f"arrays {sorted(found)} != {sorted(wanted)}"
    worst, name = 0.0, ""
    for key, array in wanted.items():
        if found[key].shape != array.shape:
            return float("inf"), f"{key}: shape {found[key].shape} != {array.shape}"
        error = relative_error(found[key], array)
        # The comparison is false for NaN.
        if not error <= worst:
            worst, name = error, key
    return worst, f"{name}: relative error {worst:.3g}" if not worst <= MOST_ERROR else ""


def replay(case, folder, timeout):
    words = json.loads((case / "case.json").read_text())
    with tempfile.TemporaryDirectory() as work:
        out = pathlib.Path(work) / "out.npz"
        command = [folder / words["program"], words["command"], "--data", case / "data.npz"]
        command += ["--out", out, *words["arguments"]]
        answer = {"case": case.name, "test": words["test"], "error": None, "wrong": ""}
        try:
            done = subprocess.run(
                list(map(str, command)), capture_output=True, text=True, timeout=timeout, check=False
            )
        except subprocess.TimeoutExpired:
            return {**answer, "wrong": f"no answer in {timeout} s"}
        if done.returncode != 0:
            return {**answer, "wrong": f"status {done.returncode}: {done.stderr.strip()[:300]}"}
        with np.load(out) as found, np.load(case / "wanted.npz") as wanted:
            error, wrong = find_difference(dict(found), dict(wanted))
    return {**answer, "error": error, "wrong": wrong}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=8, help="programs at a time (default 8)")
    parser.add_argument("--timeout", type=float, default=60, help="seconds of one program (60)")
    parser.add_argument("--out", type=pathlib.Path, help="JSON of all answers")
    options = parser.parse_args()
    cases = sorted(path.parent for path in options.folder.glob("*/case.json"))
    if not cases:
        raise SystemExit(f"gpu_replay.py: {options.folder} has no cases: record some")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        answers = list(pool.map(lambda c: replay(c, options.folder, options.timeout), cases))
    if options.out:
        options.out.write_text(json.dumps(answers, indent=1) + "\n")
    wrong = [answer for answer in answers if answer["wrong"]]
    for text, count in collections.Counter(a["wrong"] for a in wrong).most_common(20):
        tests = [a["test"] for a in wrong if a["wrong"] == text]
        print(f"{count} x {text}\n    {tests[0]}")
    print(f"{len(answers) - len(wrong)} passed, {len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
