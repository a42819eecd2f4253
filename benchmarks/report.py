# Part of the bppsa project, under the MIT License.
"""Converts the JSON of a run to Markdown."""

import textwrap

from shapes import BARS, Shape

BEGIN, END = "<!-- results: written by benchmarks/run.py -->", "<!-- end of results -->"
FAMILY = "bppsa "
# Status of a bar in reports, by its source.
LEVELS = {"slice": "required", "design": "goal"}


def shape_of(entry):
    return Shape(**entry["shape"])


def step_of(entry, peer, key="step_us"):
    """Returns microseconds per time step of a peer, or None if not measured."""
    result = entry["peers"].get(peer, {})
    return result[key] / entry["shape"]["steps"] if key in result else None


def best_scan(entry):
    """Returns (plan, result) of the fastest scan plan, or None."""
    plans = {
        name[len(FAMILY) :]: result
        for name, result in entry["peers"].items()
        if name.startswith(FAMILY)
        and name[len(FAMILY) :] not in ("auto", "sequential")
        and "step_us" in result
    }
    return min(plans.items(), key=lambda item: item[1]["step_us"]) if plans else None


def ours(entry):
    """Returns the variant that represents bppsa: the default of a program, if measured."""
    return next(
        (name for name in (FAMILY + "auto", FAMILY + "sequential") if step_of(entry, name)), None
    )


def ratio(entry, peer):
    """Returns the peer's step time divided by ours, or None."""
    mine = ours(entry)
    theirs = step_of(entry, peer)
    return theirs / step_of(entry, mine) if mine and theirs else None


def _number(value):
    if value is None:
        return "–"
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def fill(paragraph):
    """Wraps a paragraph at the line width of the documentation."""
    return textwrap.fill(paragraph, 100, break_long_words=False, break_on_hyphens=False)


def _table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def _summary(entries):
    names = {"pytorch": "PyTorch", "jax": "JAX", "onnxruntime": "ONNX Runtime"}
    names = {peer: name for peer, name in names.items() if any(peer in e["peers"] for e in entries)}
    names |= {"handwritten": "hand-written"}
    header = ["shape", "forward", "backward", "step", "best scan"]
    header += [*names.values(), *(f"x {name}" for name in names.values())]
    rows = []
    for entry in entries:
        mine, scan = ours(entry), best_scan(entry)
        own = [
            _number(step_of(entry, mine, key)) for key in ("forward_us", "backward_us", "step_us")
        ]
        plan = f"{_number(step_of(entry, FAMILY + scan[0]))} ({scan[0]})" if scan else "–"
        rows.append(
            [str(shape_of(entry)), *own, plan]
            + [_number(step_of(entry, peer)) for peer in names]
            + [_number(ratio(entry, peer)) for peer in names]
        )
    return _table(header, rows)


def _plans(entries):
    names = sorted(
        {name for entry in entries for name in entry["peers"] if name.startswith(FAMILY)}
    )
    names.sort(key=lambda name: name != FAMILY + "sequential")
    rows = [
        [str(shape_of(entry))] + [_number(step_of(entry, name, "backward_us")) for name in names]
        for entry in entries
    ]
    return _table(["shape"] + [name[len(FAMILY) :] for name in names], rows)


def bars(entries):
    """Returns (bar, measured ratio or None) for each bar, from the runs with one thread."""
    measured = {shape_of(entry): entry for entry in entries if entry["threads"] == 1}
    return [
        (bar, ratio(measured[bar.shape], bar.peer) if bar.shape in measured else None)
        for bar in BARS
    ]


def verdict(found, required):
    return "not measured" if found is None else "pass" if found >= required else "FAIL"


def markdown(results, with_bars=True):
    """Returns the whole report as text."""
    machine, parts = results["machine"], []
    versions = ", ".join(
        f"{name} {version}" for name, version in sorted(results["versions"].items())
    )
    parts.append(
        fill(
            f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB; "
            f"{results['date']}; {versions}. "
            f"Command: `{results['command']}`. Medians of {results['rounds']} interleaved rounds; "
            "microseconds per time step of the whole batch."
        )
    )
    for threads in sorted({entry["threads"] for entry in results["runs"]}):
        entries = [entry for entry in results["runs"] if entry["threads"] == threads]
        title = "One thread" if threads == 1 else f"{threads} threads"
        parts.append(f"### {title}: training step\n\n{_summary(entries)}")
        if any(best_scan(entry) for entry in entries):
            parts.append(f"### {title}: backward pass by plan\n\n{_plans(entries)}")
    judged = [item for item in bars(results["runs"]) if with_bars and item[1] is not None]
    if judged:
        rows = [
            [str(bar), LEVELS[bar.source], _number(found), verdict(found, bar.ratio)]
            for bar, found in judged
        ]
        parts.append(
            "### Targets\n\n"
            + _table(["one thread, whole training step", "status", "measured", "verdict"], rows)
        )
    if results.get("compiler_bars"):
        rows = [
            [b["what"], _number(b["found"]), _number(b["limit"]), b["verdict"]]
            for b in results["compiler_bars"]
        ]
        parts.append(_table(["compiler", "measured", "limit", "verdict"], rows))
    failures = [
        f"- {shape_of(entry)}, {entry['threads']} thread(s), {name}: "
        f"{result.get('skipped') or result.get('error')}"
        for entry in results["runs"]
        for name, result in entry["peers"].items()
        if "step_us" not in result
    ]
    if failures:
        parts.append("### Not measured\n\n" + "\n".join(failures))
    return "\n\n".join(parts) + "\n"


def write_into(path, text, begin=BEGIN, end=END):
    """Writes the report between the markers of a document, or creates the document."""
    content = path.read_text() if path.exists() else f"# Benchmarks\n\n{begin}\n{end}\n"
    if begin not in content or end not in content:
        raise ValueError(f"{path} lacks the lines '{begin}' and '{end}' between which results go")
    before, rest = content.split(begin, 1)
    path.write_text(f"{before}{begin}\n\n{text}\n{end}{rest.split(end, 1)[1]}")
