# Part of the bppsa project, under the MIT License.
"""Plots the results of run.py: backward time over length, one file per model and batch."""

import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 150, 40, 50
COLOURS = ("#b3402e", "#23839c", "#7a4fa3", "#5f8f2f", "#c28a1b", "#37474f", "#9aa5b1")
DASHES = ("", "6 3", "2 3", "8 3 2 3")


class Axis:
    """A logarithmic axis for `values` from `begin` to `end` on the page."""

    def __init__(self, values, begin, end):
        self.low = math.floor(math.log10(min(values)))
        self.high = max(math.ceil(math.log10(max(values))), self.low + 1)
        self.begin, self.end = begin, end

    def place(self, value):
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)

    def ticks(self):
        return [10.0**power for power in range(self.low, self.high + 1)]


def _grid(x, y):
    for tick in x.ticks():
        at = x.place(tick)
        yield f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{y.begin}" y2="{y.end}" stroke="#d3d9df"/>'
        yield f'<text x="{at:.1f}" y="{y.begin + 18}" text-anchor="middle">{tick:g}</text>'
    for tick in y.ticks():
        at = y.place(tick)
        yield f'<line x1="{x.begin}" x2="{x.end}" y1="{at:.1f}" y2="{at:.1f}" stroke="#d3d9df"/>'
        yield f'<text x="{x.begin - 6}" y="{at + 4:.1f}" text-anchor="end">{tick:g}</text>'


def _line(number, name, points, x, y):
    colour, dash = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
    places = [(x.place(steps), y.place(time)) for steps, time in sorted(points)]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
    style = f'stroke="{colour}" stroke-dasharray="{dash}"'
    yield f'<polyline points="{path}" fill="none" stroke-width="2" {style}/>'
    yield from (f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in places)
    at = TOP + 20 * number
    yield f'<line x1="{x.end + 12}" x2="{x.end + 40}" y1="{at}" y2="{at}" stroke-width="2" {style}/>'
    yield f'<text x="{x.end + 46}" y="{at + 4}">{escape(name)}</text>'


def chart(title, series):
    """Returns an SVG with a line for each of `series`: name -> [(time steps, microseconds)]."""
    every = [point for points in series.values() for point in points]
    x = Axis([steps for steps, _ in every], LEFT, WIDTH - RIGHT)
    y = Axis([time for _, time in every], HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
        ' font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="20" font-size="14">{escape(title)}</text>',
        *_grid(x, y),
        f'<text x="{(x.begin + x.end) / 2}" y="{HEIGHT - 12}" text-anchor="middle">steps</text>',
    ]
    for number, (name, points) in enumerate(series.items()):
        parts += _line(number, name, points, x, y)
    return "\n".join([*parts, "</svg>"]) + "\n"


def collect(results):
    """Returns {(cell, hidden, batch): {name: [(steps, microseconds of the backward pass)]}}."""
    charts = {}
    for entry in results["points"].values():
        point = entry["point"]
        series = charts.setdefault((point["cell"], point["hidden"], point["batch"]), {})
        for name, answer in entry["answers"].items():
            if answer.get("backward_us", 0) > 0:
                series.setdefault(name, []).append((point["steps"], answer["backward_us"]))
    return charts


def write(results, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for (cell, hidden, batch), series in collect(results).items():
        if series:
            title = f"{cell.upper()} H={hidden} B={batch}: backward pass, microseconds"
            (folder / f"{cell}-h{hidden}-b{batch}.svg").write_text(chart(title, series))
