#!/usr/bin/env python3
# Part of the bppsa project, under the MIT License.
"""Draws the picture of README.md, docs/_static/readme.svg, from the results in benchmarks/results.

    benchmarks/plot_readme.py [OUT.svg]
"""

import json
import math
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs" / "_extensions"))

import svg  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results"
MODEL = {"cell": "gru", "hidden": 20, "batch": 16}
SCAN = "bppsa, scan"
COLORS = {"bppsa": svg.BLUE, SCAN: svg.BLUE, "PyTorch": svg.ORANGE, "JAX": svg.GREEN}


def is_model(shape):
    return all(shape[key] == value for key, value in MODEL.items())


def read_cpu():
    """Returns milliseconds per training step by peer and sequence length, and a caption."""
    result = json.loads((RESULTS / "cpu_grid_in_order.json").read_text())
    peers = {"PyTorch": "pytorch", "JAX": "jax", "bppsa": "bppsa auto"}
    runs = [run for run in result["runs"] if is_model(run["shape"]) and run["threads"] == 1]
    times = {
        name: {run["shape"]["steps"]: run["peers"][key]["step_us"] / 1000 for run in runs}
        for name, key in peers.items()
    }
    return times, f"{result['machine']['cpu'].replace('(R)', '')}, one core, {result['date']}"


def read_gpu():
    result = json.loads((RESULTS / "gpu.json").read_text())
    peers = {"PyTorch": "pytorch", "bppsa": "sequential", SCAN: "chunked"}
    points = [point for point in result["points"].values() if is_model(point["point"])]
    points.sort(key=lambda point: point["point"]["steps"])
    times = {
        name: {
            point["point"]["steps"]: point["answers"][key]["step_us"] / 1000
            for point in points
            if point["point"]["steps"] % 1000 == 0
        }
        for name, key in peers.items()
    }
    return times, f"{result['description']['gpu']}, {result['description']['date']}"


def draw_panel(drawing, left, title, times, caption, limits):
    """Draws curves over logarithmic axes: the sequence length and milliseconds per step."""
    top, width, height = 62, 168, 196
    (low_t, high_t), (low, high) = limits

    def x_of(steps):
        return left + width * math.log(steps / low_t) / math.log(high_t / low_t)

    def y_of(milliseconds):
        return top + height * (1 - math.log(milliseconds / low) / math.log(high / low))

    drawing.text(left - 38, 26, title, 15, weight="bold")
    drawing.text(left - 38, 45, "ms per training step", 12, svg.GRAY)
    for exponent in range(round(math.log10(low)), round(math.log10(high)) + 1):
        value = 10.0**exponent
        drawing.line(left, y_of(value), left + width, y_of(value), svg.PALE, 1)
        drawing.text(left - 6, y_of(value) + 4, f"{value:g}", 11, svg.GRAY, "end")
    for steps in sorted({steps for curve in times.values() for steps in curve}):
        drawing.line(x_of(steps), top, x_of(steps), top + height, svg.PALE, 1)
        drawing.text(x_of(steps), top + height + 16, f"{steps:,}", 11, svg.GRAY, "middle")
    drawing.text(left + width, top + height + 34, "time steps T", 12, svg.GRAY, "end")
    for name, curve in times.items():
        places = [(x_of(steps), y_of(value)) for steps, value in sorted(curve.items())]
        # The sequential order is dashed if a scan is drawn too.
        dash = "6 4" if name == "bppsa" and SCAN in times else None
        drawing.curve(places, COLORS[name], dash=dash)
        for x, y in places:
            drawing.circle(x, y, 3, COLORS[name], COLORS[name])
        x, y = places[-1]
        drawing.text(x + 9, y + 4, label(name, times), 12, COLORS[name], weight="bold")
    drawing.text(left - 38, top + height + 54, caption, 11, svg.GRAY)


def label(name, times):
    return "bppsa, in order" if name == "bppsa" and SCAN in times else name


def draw_orders(drawing, left):
    """Draws a chain and a tree of eight transposed Jacobians."""
    right = left + 210
    drawing.text(left - 12, 26, "Backward: chain or tree", 15, weight="bold")
    drawing.text(left - 12, 58, "chain: T dependent products", 12, svg.ORANGE, weight="bold")
    svg.draw_chain(drawing, left, right, 84)
    drawing.text(left - 12, 130, "tree: 2 log T dependent products", 12, svg.BLUE, weight="bold")
    svg.draw_tree(drawing, left, right, 268, 39)
    drawing.text(left - 12, 312, "Each circle applies transposed Jacobians.", 11, svg.GRAY)


def main():
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs/_static/readme.svg"
    drawing = svg.Drawing(
        960, 326, "Time of a training step against sequence length, on a CPU and on a GPU"
    )
    draw_panel(drawing, 62, "CPU: GRU of 20 units, batch 16", *read_cpu(), ((80, 11000), (0.1, 1e4)))
    draw_panel(drawing, 372, "GPU: the same GRU", *read_gpu(), ((800, 11000), (0.1, 100)))
    draw_orders(drawing, 716)
    drawing.write(out)


if __name__ == "__main__":
    main()
