# Part of the bppsa project, under the MIT License.
"""Markdown of the results of run.py: targets, checks, and a table for each cell."""

import dataclasses
import textwrap

import calibration
from frameworks import PEERS

TIMES = ("forward_us", "backward_us", "step_us")


@dataclasses.dataclass(frozen=True)
class Bar:
    """`what` of the best variant, or of the named variant, is at most `limit`."""

    point: tuple  # cell, hidden, batch, steps
    what: str  # a key of LABELS
    limit: float
    variant: str = ""

    def __str__(self):
        cell, hidden, batch, steps = self.point
        way = f", {self.variant}" if self.variant else ""
        return f"{cell.upper()} H={hidden} B={batch} T={steps}{way}: {LABELS[self.what][0]}"


# Measured quantities of bars: name, unit, and value of one answer at one entry.
LABELS = {
    "backward": ("backward", "us", lambda answer, entry: answer["backward_us"]),
    "step": ("whole step", "us", lambda answer, entry: answer["step_us"]),
    "forward_per_step": (
        "forward, per time step",
        "us",
        lambda answer, entry: answer["forward_us"] / entry["point"]["steps"],
    ),
    "backward_per_step": (
        "backward, per time step",
        "us",
        lambda answer, entry: answer["backward_us"] / entry["point"]["steps"],
    ),
    "memory": (
        "memory in addition to saved states",
        "MB",
        lambda answer, entry: (answer["bytes"] - saved_bytes(entry["point"])) / 1e6,
    ),
    "share": (
        "whole step relative to PyTorch",
        "x",
        lambda answer, entry: answer["step_us"] / entry["answers"]["pytorch"]["step_us"],
    ),
}

BARS = (
    Bar(("rnn", 20, 16, 1000), "backward", 15),
    Bar(("rnn", 20, 16, 30000), "backward", 400),
    Bar(("rnn", 20, 16, 30000), "step", 5000),
    Bar(("gru", 20, 16, 1034), "step", 250),
    *(Bar(("rnn", h, 16, 1000), "forward_per_step", 0.12, "sequential") for h in (8, 20, 32)),
    *(Bar(("rnn", h, 16, 1000), "backward_per_step", 0.15, "sequential") for h in (8, 20, 32)),
    Bar(("rnn", 20, 16, 30000), "memory", 25),
    Bar(("lstm", 512, 64, 1000), "share", 1.2),
)
# The step of the selected variant takes at most this many times the best step, at every point.
MOST_OF_CHOICE = 1.05


def saved_bytes(point):
    """Returns the bytes of the states of all steps in float32."""
    states = 2 if point["cell"] == "lstm" else 1
    return 4 * states * point["steps"] * point["batch"] * point["hidden"]


def shape_key(point):
    return f"{point['cell']}-h{point['hidden']}-b{point['batch']}-t{point['steps']}"


def measured(entry):
    """Returns the variants of our programs that have times at a point."""
    return {
        name: answer
        for name, answer in entry["answers"].items()
        if name not in PEERS and "step_us" in answer
    }


def judge(results, bar):
    """Returns (value, variant) of the best variant allowed by a bar, or (None, None)."""
    point = dict(zip(("cell", "hidden", "batch", "steps"), bar.point))
    entry = results["points"].get(shape_key(point))
    if entry is None:
        return None, None
    if bar.what == "share" and "step_us" not in entry["answers"].get("pytorch", {}):
        return None, None
    _, _, value = LABELS[bar.what]
    found = [
        (value(answer, entry), name)
        for name, answer in measured(entry).items()
        if bar.variant in ("", name) and answer.get("bytes") is not None
    ]
    return min(found, default=(None, None))


def number(value):
    """Formats three significant digits without an exponent."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def bar_rows(results):
    for bar in BARS:
        value, variant = judge(results, bar)
        _, unit, _ = LABELS[bar.what]
        if value is None:
            yield f"| {bar} | {number(bar.limit)} {unit} | | | not measured |"
            continue
        verdict = "pass" if value <= bar.limit else "FAIL"
        limit, found = f"{number(bar.limit)} {unit}", f"{number(value)} {unit}"
        yield f"| {bar} | {limit} | {found} | {variant} | {verdict} |"


def choice_row(results):
    """Returns the row of the worst slowdown of the selected variant relative to the better one."""
    label, limit = "step of `auto` relative to the best variant, at the worst point", f"{MOST_OF_CHOICE} x"
    worst = (0, "")
    for key, entry in results["points"].items():
        ours = measured(entry)
        if "auto" in ours and "sequential" in ours:
            # A program selects between the sequential order and its first plan.
            better = min(ours[name]["step_us"] for name in list(ours)[:2])
            worst = max(worst, (ours["auto"]["step_us"] / better, key))
    ratio, key = worst
    if not key:
        return f"| {label} | {limit} | | | not measured |"
    verdict = "pass" if ratio <= MOST_OF_CHOICE else "FAIL"
    return f"| {label} | {limit} | {ratio:.3f} x | {key} | {verdict} |"


def check_lines(results):
    """Yields the lines on gradient checks."""
    checks = results["checks"]
    wrong = [key for key, check in checks.items() if not check.get("ok")]
    yield (
        f"Gradients of {len(checks) - len(wrong)} of {len(checks)} variants and sizes are within "
        f"the bound of the float64 gradients of {results['description']['reference']}."
    )
    for key in wrong:
        check = checks[key]
        reason = check.get("failed") or f"{check['array']}: {check['error']} > {check['limit']:.2g}"
        yield f"* wrong: {key}: {reason}"


def wrong_variants(results):
    """Returns keys `cell-hH variant` of programs whose gradients are outside the bound."""
    return {check["variant"] for check in results["checks"].values() if not check.get("ok")}


def cell_rows(results, cell, names):
    wrong = wrong_variants(results)
    points = [entry for entry in results["points"].values() if entry["point"]["cell"] == cell]
    order = ("hidden", "batch", "steps")
    for entry in sorted(points, key=lambda e: [e["point"][key] for key in order]):
        point, cells = entry["point"], []
        for name in names:
            answer = entry["answers"].get(name)
            if answer is None:
                cells.append("")
            elif "step_us" not in answer:
                cells.append("-")
            else:
                mark = " (wrong)" if f"{cell}-h{point['hidden']} {name}" in wrong else ""
                cells.append(" / ".join(number(answer[key]) for key in TIMES) + mark)
        cells += ratios(entry)
        shape = " | ".join(str(point[key]) for key in order)
        yield f"| {shape} | " + " | ".join(cells) + " |"


def ratios(entry):
    """Returns the best variant and its speedups of backward pass and step over the best peer."""
    ours = measured(entry)
    peers = [entry["answers"].get(name, {}) for name in PEERS]
    peers = [answer for answer in peers if "step_us" in answer]
    if not ours:
        return ["", "", ""]
    best = min(ours, key=lambda name: ours[name]["step_us"])
    if not peers:
        return [best, "", ""]

    def ratio(key):
        fastest = min(answer[key] for answer in ours.values())
        return f"{min(answer[key] for answer in peers) / fastest:.2f}x"

    return [best, ratio("backward_us"), ratio("step_us")]


def _wrapped(line):
    """Wraps the line at the line width of the documentation unless it is part of a table."""
    if line.startswith("|"):
        return line
    return textwrap.fill(line, 100, break_long_words=False, break_on_hyphens=False)


def markdown(results):
    """Returns the report as one text."""
    description = results["description"]
    lines = ["| | |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in description.items()]
    lines += ["", "| target | limit | measured | variant | verdict |", "|---|---|---|---|---|"]
    lines += [*bar_rows(results), choice_row(results)]
    lines += ["", *check_lines(results), *calibration.lines(results)]
    lines = [_wrapped(line) for line in lines]
    seen = [name for entry in results["points"].values() for name in entry["answers"]]
    names = list(dict.fromkeys([*(name for name in PEERS if name in seen), *seen]))
    for cell in ("rnn", "gru", "lstm"):
        rows = list(cell_rows(results, cell, names))
        if not rows:
            continue
        head = ["H", "B", "T", *names, "best", "backward", "step"]
        lines += ["", f"{cell.upper()}, microseconds of forward / backward / whole step:", ""]
        lines += ["| " + " | ".join(head) + " |", "|---" * len(head) + "|", *rows]
    failures = [
        f"* {key}, {name}: {answer.get('error') or answer['skipped']}"
        for key, entry in results["points"].items()
        for name, answer in entry["answers"].items()
        if "step_us" not in answer
    ]
    if failures:
        lines += ["", "Without times:", "", *failures]
    return "\n".join(lines) + "\n"
