#!/usr/bin/env python3
# Part of the bppsa project, under the MIT License.
"""Measures training steps of recurrent classifiers in PyTorch and JAX on a GPU.

  benchmarks/gpu/baselines.py --out h200.json --budget 1500

Needs PyTorch or JAX, and nothing of bppsa. Peers:

  pytorch    nn.RNN, nn.GRU, nn.LSTM (cuDNN on a GPU)
  jax-scan   a time loop written with lax.scan, differentiated by JAX
  jax-assoc  the same forward; backward by lax.associative_scan over the steps' Jacobians

each with TF32 off and on. A point is one peer at one shape: medians of forward (PyTorch: including
values saved for backward), backward, and the whole step with Adam, in microseconds, and peak
memory. Points are written as they are measured. A run that was interrupted or stopped by --budget
continues at the same point. --device=cpu rehearses on a machine without a GPU, on one thread.
"""

import argparse
import itertools
import json
import pathlib
import platform
import sys
import time

from frameworks import CELLS, PEERS, Missing, flops, open_peer, state_size


def too_large(peer, point, limit):
    """Returns the reason to skip a point, or None; dense Jacobians of all steps must fit."""
    if peer != "jax-assoc":
        return None
    size = state_size(point["cell"], point["hidden"])
    # The tree keeps the Jacobians, their products, and the intermediate halves of both.
    needed = 4 * 4 * point["steps"] * point["batch"] * size * size
    return f"about {needed / 1e9:.0f} GB of Jacobians" if needed > limit else None


def ordered_points(options):
    """Returns shapes of the published experiments, then all others by cost."""
    shapes = itertools.product(options.cells, options.steps, options.batch, options.hidden)
    points = [dict(zip(("cell", "steps", "batch", "hidden"), shape)) for shape in shapes]

    def order(point):
        cost = flops(point["cell"], point["hidden"], point["batch"], point["steps"])
        return (not (point["hidden"] == 20 and point["batch"] == 16), cost)

    return sorted(points, key=order)


def key_of(peer, point, tf32):
    shape = "-".join(f"{name[0]}{point[name]}" for name in ("hidden", "batch", "steps"))
    return f"{peer}/{point['cell']}-{shape}/{'tf32' if tf32 else 'fp32'}"


def numbers(text):
    return tuple(int(part) for part in text.split(","))


def words(accepted):
    def convert(text):
        chosen = tuple(text.split(","))
        for word in chosen:
            if word not in accepted:
                raise argparse.ArgumentTypeError(f"'{word}' is not one of {', '.join(accepted)}")
        return chosen

    return convert


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--out", type=pathlib.Path, required=True, help="the JSON file, continued if it is there")
    add("--device", choices=("cuda", "cpu"), default="cuda")
    add("--budget", type=float, default=float("inf"), help="seconds after which to stop")
    add("--seconds", type=float, default=0.3, help="time spent on one number (default 0.3)")
    add("--peers", type=words(PEERS), default=PEERS)
    add("--cells", type=words(CELLS), default=CELLS)
    add("--steps", type=numbers, default=(100, 1000, 10000, 30000))
    add("--batch", type=numbers, default=(1, 16, 64, 256))
    add("--hidden", type=numbers, default=(8, 20, 32, 64, 128, 256))
    add("--tf32", type=words(("off", "on")), default=("off", "on"))
    add("--jacobian-gigabytes", type=float, default=60, help="limit for jax-assoc (default 60)")
    return parser.parse_args()


def load(path, description):
    """Returns the results so far; rejects a file from another machine or library version."""
    if not path.exists():
        return {"description": description, "points": {}}
    results = json.loads(path.read_text())
    for name, value in description.items():
        found = results["description"].setdefault(name, value)
        if found != value:
            raise SystemExit(
                f"baselines.py: {path} has {name} {found}, here it is {value}; use another --out"
            )
    return results


def save(path, results):
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(results, indent=1) + "\n")
    partial.replace(path)


def measure(peer, point, tf32, seconds):
    try:
        return peer.measure(point, tf32, seconds)
    except Exception as error:  # Out of memory or an unsupported shape; the next point may work.
        return {"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
    finally:
        peer.release()


def main():
    options = parse()
    start = time.monotonic()
    peers, description = {}, {"device": options.device, "host": platform.machine()}
    for name in options.peers:
        try:
            peers[name] = open_peer(name, options.device)
            description.update(peers[name].describe())
        except Missing as reason:
            print(f"skipping {name}: {reason}", flush=True)
    if not peers:
        raise SystemExit("baselines.py: nothing to measure")
    results = load(options.out, description)
    work = [
        (name, point, tf32 == "on")
        for point in ordered_points(options)
        for name in peers
        for tf32 in options.tf32
    ]
    todo = [item for item in work if key_of(*item) not in results["points"]]
    print(f"{len(work)} points, {len(work) - len(todo)} measured before", flush=True)
    for done, (name, point, tf32) in enumerate(todo):
        if time.monotonic() - start > options.budget:
            left = len(todo) - done
            print(f"stopped by --budget with {left} points left; run again to go on")
            break
        reason = too_large(name, point, options.jacobian_gigabytes * 1e9)
        answer = {"skipped": reason}
        if not reason:
            answer = measure(peers[name], point, tf32, options.seconds)
        key = key_of(name, point, tf32)
        results["points"][key] = {**point, "peer": name, "tf32": tf32, **answer}
        save(options.out, results)
        known = f"{answer['step_us']:.1f} us a step" if "step_us" in answer else str(answer)
        print(f"{key}: {known}", flush=True)
    save(options.out, results)


if __name__ == "__main__":
    sys.exit(main())
