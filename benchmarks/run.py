#!/usr/bin/env python3
# Part of the bppsa project, under the MIT License.
"""Compares training steps of compiled programs with PyTorch, JAX and hand-written loops.

  benchmarks/run.py --quick          a few shapes
  benchmarks/run.py --bars           the shapes of the performance targets; prints pass or fail
  benchmarks/run.py                  the whole grid (hours; --cells, --hidden, --batch and --steps
                                     narrow it)
  benchmarks/run.py --render R.json  only writes the Markdown of an earlier run

A step is forward, loss, backward and Adam on a recurrent layer with a classifier on its last
state. For each shape the peers run in interleaved rounds; results are medians. The JSON is written
after every shape, and --resume continues an interrupted run.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import shlex
import statistics
import subprocess
import sys
import time

import report
import shapes
from peers import TIMES, WORKERS, Compiled, Failed, Handwritten, Unavailable, Worker
from shapes import Shape

ROOT = pathlib.Path(__file__).resolve().parents[1]
VARIANTS = (
    "auto",
    "sequential",
    "linear",
    "blelloch",
    "hybrid:3",
    "chunked:16",
    "chunked:64",
    "chunked:256",
)
BAR_VARIANTS = ("auto", "sequential")
MOST_REPEATS = 200


def _numbers(text):
    return tuple(int(part) for part in text.split(","))


def _words(text):
    return tuple(text.split(","))


def _parser():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--quick", action="store_true", help="a few shapes")
    what.add_argument(
        "--bars",
        action="store_true",
        help="the shapes of the bars; exit status 1 if a slice bar fails",
    )
    what.add_argument(
        "--smoke", action="store_true", help="tiny shapes, one round: does everything run?"
    )
    what.add_argument(
        "--render", metavar="JSON", help="measure nothing, write the Markdown of these results"
    )
    parser.add_argument("--cells", type=_words, default=shapes.CELLS, metavar="rnn,gru,lstm")
    parser.add_argument("--hidden", type=_numbers, default=(20, 64, 128, 256), metavar="H,...")
    parser.add_argument("--batch", type=_numbers, default=(1, 16, 64), metavar="B,...")
    parser.add_argument("--steps", type=_numbers, default=(100, 1000, 10000), metavar="T,...")
    parser.add_argument("--threads", type=_words, default=("1",), metavar="1,all", help="default 1")
    parser.add_argument(
        "--peers",
        type=_words,
        default=("bppsa", "handwritten", *WORKERS),
        metavar="bppsa,handwritten,...",
    )
    parser.add_argument("--variants", type=_words, metavar="auto,sequential,chunked:64,...")
    parser.add_argument("--rounds", type=int, help="turns of every peer (default 5)")
    parser.add_argument("--seconds", type=float, default=0.4, help="time of one turn (default 0.4)")
    parser.add_argument(
        "--timeout", type=float, default=240, help="seconds after which a turn is given up (240)"
    )
    parser.add_argument(
        "--plan-seconds",
        type=float,
        default=20,
        help="scan plans that are expected to take longer than this are not tried (20)",
    )
    parser.add_argument("--compiler", default=str(ROOT / "build/bin/bppsa-compile"))
    for name, module in WORKERS.items():
        parser.add_argument(
            f"--{name}-python", default=sys.executable, help=f"interpreter that has {module}"
        )
    parser.add_argument(
        "--work", type=pathlib.Path, default=ROOT / "build/benchmarks", help="folder for programs"
    )
    parser.add_argument(
        "--out", type=pathlib.Path, help="results (default: results.json in the work folder)"
    )
    parser.add_argument(
        "--markdown", type=pathlib.Path, help="also write the report into this document"
    )
    parser.add_argument(
        "--without-bars", action="store_true", help="leave the verdicts out of what is rendered"
    )
    parser.add_argument("--resume", action="store_true", help="keep what --out already holds")
    return parser


PATH_OPTIONS = ("--compiler", "--work", "--out", "--markdown")
PATH_OPTIONS += tuple(f"--{name}-python" for name in WORKERS)


def _command(arguments):
    """Returns the command line without options for paths on this machine."""
    kept, words = [], iter(arguments)
    for word in words:
        if word in PATH_OPTIONS:
            next(words, None)
        elif word.split("=")[0] not in PATH_OPTIONS:
            kept.append(word)
    return shlex.join(["benchmarks/run.py", *kept])


def _machine():
    info = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    model = next(
        (line.split(":", 1)[1].strip() for line in info if line.startswith("model name")),
        "unknown CPU",
    )
    flags = next((line for line in info if line.startswith("flags")), "").split()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": model,
        "isa": [flag for flag in ("avx2", "fma", "avx512f", "avx512_bf16") if flag in flags],
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(memory / 2**30),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def _selected(options):
    if options.smoke:
        return shapes.SMOKE
    if options.quick:
        return shapes.QUICK
    if options.bars:
        return list(dict.fromkeys(bar.shape for bar in shapes.BARS))
    return shapes.grid(options.cells, options.hidden, options.batch, options.steps)


def _open_peers(options, threads, skipped):
    """Returns the available peers; records the others in `skipped`."""
    variants = options.variants or (BAR_VARIANTS if options.bars else VARIANTS)
    makers = []
    for peer in options.peers:
        if peer == "bppsa":
            makers += [
                (f"bppsa {v}", lambda v=v: Compiled(v, options.compiler, options.work))
                for v in variants
            ]
        elif peer == "handwritten":
            makers.append((peer, lambda: Handwritten(options.work)))
        elif peer in WORKERS:
            python = getattr(options, f"{peer}_python")
            makers.append((peer, lambda peer=peer, python=python: Worker(peer, python, threads)))
        else:
            accepted = ", ".join(("bppsa", "handwritten", *WORKERS))
            raise SystemExit(f"run.py: unknown peer '{peer}', accepted: {accepted}")
    peers = []
    for name, make in makers:
        try:
            peers.append(make())
        except (Unavailable, Failed) as reason:
            if skipped.setdefault(name, str(reason)) is not None:
                print(f"skipping {name}: {reason}", flush=True)
    return peers


def _measure_shape(shape, peers, threads, options):
    """Returns medians of every peer on one shape, measured in interleaved turns."""
    results, turns = {}, {}
    for peer in peers:
        reason = peer.skip(shape, threads, options.plan_seconds)
        if reason:
            results[peer.name] = {"skipped": reason}
            continue
        try:
            # The first turn warms up and determines the number of repeats that fill a turn.
            first = peer.measure(shape, threads, 1, options.timeout)
        except (Failed, subprocess.CalledProcessError) as error:
            results[peer.name] = {"error": str(error)}
            continue
        repeat = int(options.seconds * 1e6 / max(first["step_us"], 1e-3))
        # A step that takes many times the length of a turn is measured once.
        slow = first["step_us"] > 20e6 * options.seconds
        turns[peer] = (max(1, min(repeat, MOST_REPEATS)), [first] if slow else [])
    for _ in range(options.rounds):
        for peer, (repeat, answers) in turns.items():
            if peer.name in results or (answers and answers[0]["step_us"] > 20e6 * options.seconds):
                continue
            try:
                answers.append(peer.measure(shape, threads, repeat, options.timeout))
            except Failed as error:
                results[peer.name] = {"error": str(error)}
    for peer, (repeat, answers) in turns.items():
        if peer.name in results:
            continue
        result = {key: statistics.median(answer[key] for answer in answers) for key in TIMES}
        result["rounds_step_us"] = [answer["step_us"] for answer in answers]
        result["repeat"] = repeat
        for key, value in answers[-1].items():
            result.setdefault(key, value)
        results[peer.name] = result
    return results


def _compiler_bars(options):
    """Checks the times to compile and to start, and that time and size do not depend on a fixed
    T."""
    options.work.mkdir(parents=True, exist_ok=True)
    compiled = Compiled("auto", options.compiler, options.work)
    found = []

    def judge(what, value, limit):
        found.append(
            {
                "what": what,
                "found": value,
                "limit": limit,
                "verdict": "pass" if value <= limit else "FAIL",
            }
        )

    sizes = {}
    for name in ("bitstream_rnn", "irmas_gru", "lstm_tagger", "rnn_fixed_t", "rnn_fixed_t_30000"):
        try:
            program, seconds = compiled.compile(ROOT / f"examples/{name}.onnx")
        except Failed as error:
            found.append(
                {
                    "what": f"compile {name}: {error}",
                    "found": None,
                    "limit": None,
                    "verdict": "FAIL",
                }
            )
            continue
        sizes[name] = program.stat().st_size
        judge(f"compile {name}, seconds", seconds, shapes.COMPILE_SECONDS)
        if name == "bitstream_rnn":
            times = []
            for _ in range(11):
                start = time.perf_counter()
                subprocess.run([program, "info"], stdout=subprocess.DEVNULL, check=False)
                times.append(time.perf_counter() - start)
            judge(
                "start of a trainer (`info`), seconds",
                statistics.median(times),
                shapes.START_SECONDS,
            )
    if "rnn_fixed_t" in sizes and "rnn_fixed_t_30000" in sizes:
        growth = abs(sizes["rnn_fixed_t_30000"] - sizes["rnn_fixed_t"])
        judge("size difference of programs for T = 30000 and T = 1000, bytes", growth, 4096)
    return found


def _print_shape(entry):
    print(f"{report.shape_of(entry)}, {entry['threads']} thread(s)", flush=True)
    for name, result in entry["peers"].items():
        if "step_us" in result:
            times = "  ".join(
                f"{key[:-3]} {result[key] / entry['shape']['steps']:10.4f}" for key in TIMES
            )
            print(f"  {name:20} us/step: {times}  {result.get('variant', '')}", flush=True)
        else:
            print(f"  {name:20} {result.get('skipped') or 'error: ' + result['error']}", flush=True)


def _print_bars(results):
    """Prints every bar; returns whether all required bars pass."""
    fine = True
    for bar, found in report.bars(results["runs"]):
        verdict = report.verdict(found, bar.ratio)
        fine = fine and not (bar.source == "slice" and verdict != "pass")
        value = "-" if found is None else f"{found:.2f}x"
        print(f"{verdict:12} {bar.source:7} {str(bar):50} {value}")
    for bar in results["compiler_bars"]:
        fine = fine and bar["verdict"] == "pass"
        value = "" if bar["found"] is None else f"{bar['found']:.4g} (limit {bar['limit']:g})"
        print(f"{bar['verdict']:12} {'slice':7} {bar['what']:50} {value}")
    return fine


def _save(results, path):
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(results, indent=1) + "\n")
    partial.replace(path)


def _thread_counts(options):
    cores = len(os.sched_getaffinity(0))
    return list(dict.fromkeys(cores if word == "all" else int(word) for word in options.threads))


def main():
    options = _parser().parse_args()
    if options.render:
        results = json.loads(pathlib.Path(options.render).read_text())
        text = report.markdown(results, not options.without_bars)
        report.write_into(options.markdown, text) if options.markdown else print(text, end="")
        return 0
    options.rounds = options.rounds or (1 if options.smoke else 5)
    if options.smoke:
        options.seconds = min(options.seconds, 0.01)
    options.work.mkdir(parents=True, exist_ok=True)
    out = options.out or options.work / "results.json"

    results = {
        "machine": _machine(),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "command": _command(sys.argv[1:]),
        "rounds": options.rounds,
        "versions": {},
        "skipped": {},
        "runs": [],
        "compiler_bars": [],
    }
    if options.resume and out.exists():
        earlier = json.loads(out.read_text())
        for key in ("runs", "compiler_bars", "versions", "skipped"):
            results[key] = earlier[key]
        if results["command"] not in earlier["command"]:
            results["command"] = f"{earlier['command']}; {results['command']}"
    done = {(Shape(**entry["shape"]), entry["threads"]) for entry in results["runs"]}

    for threads in _thread_counts(options):
        peers = _open_peers(options, threads, results["skipped"])
        try:
            for peer in peers:
                results["versions"].update(peer.versions)
            for shape in _selected(options):
                if (shape, threads) in done:
                    continue
                measured = _measure_shape(shape, peers, threads, options)
                entry = {"shape": vars(shape), "threads": threads, "peers": measured}
                results["runs"].append(entry)
                _print_shape(entry)
                _save(results, out)
        finally:
            for peer in peers:
                peer.close()

    fine = True
    if options.bars:
        if os.access(options.compiler, os.X_OK):
            results["compiler_bars"] = _compiler_bars(options)
        fine = _print_bars(results)
    _save(results, out)
    if options.markdown:
        report.write_into(options.markdown, report.markdown(results))
    print(f"results: {out}")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
