#!/usr/bin/env python3
# Part of the bppsa project, under the MIT License.
"""Compares the GPU kernels of two compilers and reports regressions.

  benchmarks/gpu/compare.py OLD/bin/bppsa-compile build/bin/bppsa-compile --cells gru --hidden 20,64

Compiles the models of kernels.py (or --model FILE, repeatable) with both, to PTX. Kernels are
equal if their texts are equal up to the names of kernels, registers and labels. For the others,
prints the counts of kernels.py as old -> new, and the columns that grew: instructions of a run (or
of the largest loop without barriers), shared loads, barriers, registers, shared memory and spills.
The exit status is 1 if a column grew or if the compilers emit different sets of kernels.
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

import baselines
import bundle
import frameworks
import kernels

# A `chunked` program also contains the sequential pass.
PLANS = ("chunked", "blelloch", "linear")
COLUMNS = ("registers", "shared", "spills", *kernels.KINDS, "other")


def normalise(text):
    """Returns the text of a kernel with names numbered in order of appearance."""
    names = {}

    def rename(match):
        kind = re.match(r"%[a-z]+|\$|\w", match.group(0)).group(0)
        return names.setdefault(match.group(0), f"{kind}#{len(names)}")

    text = re.sub(r"^\s*//.*|^\s*\.loc .*", "", text, flags=re.M)
    return re.sub(r"%[a-z]+\d+|\$\w+|\b\w+_kernel_\d+\w*|\b__\w*\d+\b", rename, text)


class Kernel:
    """A kernel of a program: its kind (its name without numbers), its text, and its counts."""

    def __init__(self, name, text, facts):
        self.name, self.kind = name, re.sub(r"_\d+", "", name)
        self.normal = normalise(text)
        parsed = kernels.Kernel(name, text)
        waits = parsed.step is not None
        step, inner = (parsed.step, parsed.inner) if waits else parsed.count_largest_loop()
        self.counts = dict(zip(COLUMNS, facts.get(name, (0, 0, 0))))
        for kind in (*kernels.KINDS, "other"):
            self.counts[kind] = step[kind] + inner[kind]


def compile_kernels(compiler, model, plan, arch, work):
    out = work / "out.ptx"
    command = [compiler, model, "--target=cuda", "--backward=auto", "--emit=ptx", f"--scan={plan}"]
    subprocess.run(list(map(str, [*command, f"--gpu-arch={arch}", "-o", out])), check=True)
    facts, text = kernels.assemble(out, arch), out.read_text()
    matches = re.finditer(r"\.entry (\w+)\(.*?^}", text, re.S | re.M)
    return [Kernel(match.group(1), match.group(0), facts) for match in matches]


def drop_equal(old, new):
    """Returns the kernels of each program without an equal kernel in the other, in order."""
    common = collections.Counter(k.normal for k in old) & collections.Counter(k.normal for k in new)

    def rest(found):
        left = common.copy()
        kept = []
        for kernel in found:
            left[kernel.normal] -= 1
            if left[kernel.normal] < 0:
                kept.append(kernel)
        return kept

    return rest(old), rest(new)


def pair_by_kind(old, new):
    """Returns pairs of kernels of the same kind, in order; None if one program has fewer."""
    pairs = []
    for kind in dict.fromkeys(k.kind for k in (*old, *new)):
        of_old, of_new = ([k for k in found if k.kind == kind] for found in (old, new))
        count = max(len(of_old), len(of_new))
        pad = [None] * count
        pairs += zip((of_old + pad)[:count], (of_new + pad)[:count])
    return pairs


def describe(title, old, new):
    """Returns a row of the table, and whether the new kernel is worse."""
    if not old or not new:
        return [title, (old or new).name, "only old" if old else "only new", "kernels"], True
    changes = [
        f"{column} {old.counts[column]} -> {new.counts[column]}"
        for column in COLUMNS
        if old.counts[column] != new.counts[column]
    ]
    worse = [column for column in COLUMNS if new.counts[column] > old.counts[column]]
    return [title, new.name, ", ".join(changes) or "order", ", ".join(worse)], bool(worse)


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("old", type=pathlib.Path, help="the compiler before")
    add("new", type=pathlib.Path, help="the compiler after")
    add("--cells", type=baselines.words(frameworks.CELLS), default=frameworks.CELLS)
    add("--hidden", type=baselines.numbers, default=(20, 64, 128), metavar="H,...")
    add("--model", type=pathlib.Path, action="append", help="an ONNX file in place of these models")
    add("--plans", type=lambda text: text.split(","), default=PLANS, metavar="PLAN,...")
    add("--arch", default="sm_90")
    return parser.parse_args()


def main():
    options = parse()
    rows, equal, any_worse = [], 0, False
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        models = {path.name: path for path in options.model or ()}
        if not models:
            for cell in options.cells:
                for hidden in options.hidden:
                    path = models[f"{cell.upper()} {hidden}"] = work / f"{cell}-h{hidden}.onnx"
                    bundle.write_model(cell, hidden, path)
        for title, model in models.items():
            for plan in options.plans:
                old, new = (
                    compile_kernels(compiler, model, plan, options.arch, work)
                    for compiler in (options.old, options.new)
                )
                old_rest, new_rest = drop_equal(old, new)
                equal += len(new) - len(new_rest)
                for pair in pair_by_kind(old_rest, new_rest):
                    row, is_worse = describe(f"{title} {plan}", *pair)
                    rows.append(row)
                    any_worse |= is_worse
    if rows:
        print(kernels.line(("model", "kernel", "old -> new", "worse in")))
        print("|---" * 4 + "|")
        for row in rows:
            print(kernels.line(row))
    print(f"{equal} kernels equal, {len(rows)} different, {'some worse' if any_worse else 'none worse'}")
    return int(any_worse)


if __name__ == "__main__":
    sys.exit(main())
