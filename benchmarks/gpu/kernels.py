#!/usr/bin/env python3
# Part of the bppsa project, under the MIT License.
"""Counts the instructions of a time step in the kernels of recurrences and chains, without a GPU.

  benchmarks/gpu/kernels.py --cells rnn,gru,lstm --hidden 20,64,128 --plan chunked

Compiles a benchmark model (or --model FILE) to PTX. A run is a loop in which the threads of a
block or of a warp wait for each other. The script counts the PTX instructions of its body.
Instructions of inner loops are counted separately: loops over the columns of a matrix in memory,
and over groups of four samples of a block. Instructions executed while waiting for other blocks
are not counted. Registers, shared memory and spills come from ptxas, if installed. They and the
thread count determine the blocks per multiprocessor (compute capability 9.0), but not the speed of
a kernel.
"""

import argparse
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import baselines
import bundle
import frameworks

ROOT = pathlib.Path(__file__).resolve().parents[2]
KINDS = {
    "fma": r"fma\.",
    "mma": r"mma\.",
    "div": r"(div|rcp|sqrt|ex2)\.",
    "float": r"(add|sub|mul|neg|abs|min|max|cvt)[.\w]*\.f32",
    "ld.shared": r"ld\.shared",
    "ld.global": r"ld\.global",
    "cp.async": r"cp\.async\.c[ag]\.",
    "store": r"st\.",
    "shuffle": r"shfl",
    "barrier": r"(bar(rier)?|fence|atom)\.",
}
BARRIER = re.compile(r"bar\.(warp\.)?sync")
WAIT = re.compile(r"ld\.acquire")
# Limits of a multiprocessor of compute capability 9.0.
REGISTERS, WARPS, BLOCKS, SHARED = 65536, 64, 32, 227 << 10


class Kernel:
    """One kernel of a PTX text: its threads, and the instructions of its run."""

    def __init__(self, name, text):
        self.name = name
        self.threads = int(re.search(r"\.maxntid (\d+)", text).group(1))
        self.blocks, self.successors = parse_blocks(text)
        self.step, self.inner = self._find_walk()

    def _find_walk(self):
        """Returns (instructions of the run without inner loops, instructions of one round of these
        loops)."""
        time_loops = [
            loop
            for loop in loops(self.successors, set(self.successors))
            if any(BARRIER.search(line) for block in loop for line in self.blocks[block])
        ]
        return self._count_round(time_loops) if time_loops else (None, None)

    def count_largest_loop(self):
        """Does the same for the largest loop, with or without barriers; counts the kernel if there
        is none."""
        found = loops(self.successors, set(self.successors))
        return self._count_round(found) if found else (self._count(self.blocks), collections.Counter())

    def _count_round(self, candidates):
        """Returns instructions of an iteration of the largest loop, and of the loops inside it."""
        outer = max(candidates, key=lambda loop: sum(len(self.blocks[b]) for b in loop))
        heads = {to for block in set(self.blocks) - outer for to in self.successors[block]} & outer
        without_head = {b: [to for to in self.successors[b] if to not in heads] for b in outer}
        inside, waits = set(), set()
        for loop in loops(without_head, outer):
            waiting = any(WAIT.search(line) for block in loop for line in self.blocks[block])
            (waits if waiting else inside).update(loop)
        return self._count(outer - inside - waits), self._count(inside)

    def _count(self, blocks):
        return count_kinds(line for block in blocks for line in self.blocks[block])


def parse_blocks(text):
    """Returns (instructions of each basic block, its successors)."""
    blocks, successors, number, labels = {0: []}, {}, 0, {}
    for line in text[text.index("{") + 1 :].splitlines():
        line = line.strip()
        label = re.fullmatch(r"(\$\w+):.*", line)
        if label:
            number += 1
            blocks[number] = []
            labels[label.group(1)] = number
        elif re.match(r"(@!?%\w+\s+)?[a-z][\w.:]*([\s;]|$)", line):
            blocks[number].append(line)
            if re.search(r"\bbra\b|\bret;", line):
                number += 1
                blocks[number] = []
    for block, lines in blocks.items():
        last = lines[-1] if lines else ""
        target = re.search(r"bra(?:\.uni)?\s+(\$\w+)", last)
        falls = not (last.startswith(("bra", "ret"))) and block + 1 in blocks
        successors[block] = [block + 1] * falls + ([labels[target.group(1)]] if target else [])
    # A jump followed by a label leaves an empty, unreachable block.
    reached = reach(successors, set(blocks), 0) | {0}
    return {b: blocks[b] for b in reached}, {b: successors[b] for b in reached}


def reach(successors, blocks, start):
    """Returns the subset of `blocks` that is reachable from `start`."""
    seen, todo = set(), [start]
    while todo:
        for to in successors[todo.pop()]:
            if to in blocks and to not in seen:
                seen.add(to)
                todo.append(to)
    return seen


def loops(successors, blocks):
    """Returns the strongly connected components of `blocks` that have an edge."""
    reached = {block: reach(successors, blocks, block) for block in blocks}
    parts = {
        frozenset(b for b in reached[block] if block in reached[b])
        for block in blocks
        if block in reached[block]
    }
    return [set(part) for part in parts]


def count_kinds(lines):
    counts = collections.Counter()
    for line in lines:
        operation = re.sub(r"^@!?%\w+\s+", "", line)
        kinds = (kind for kind, pattern in KINDS.items() if re.match(pattern, operation))
        counts[next(kinds, "other")] += 1
    return counts


def kernels_of(ptx, names):
    """Yields the kernels that match `names` and keep a state in shared memory."""
    for match in re.finditer(r"\.entry (\w+)\(.*?^}", ptx, re.S | re.M):
        kernel = Kernel(match.group(1), match.group(0))
        if kernel.step and re.fullmatch(names, kernel.name):
            if kernel.step["ld.shared"] + kernel.inner["ld.shared"] > 0:
                yield kernel


def find_assembler():
    """Returns ptxas, searched for like the compiler does, or None."""
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    for root in filter(None, roots):
        if os.access(f"{root}/bin/ptxas", os.X_OK):
            return f"{root}/bin/ptxas"
    return shutil.which("ptxas")


def assemble(path, arch):
    """Returns {kernel: (registers, shared bytes, bytes of spills)}, empty without ptxas."""
    assembler = find_assembler()
    if not assembler:
        return {}
    command = [assembler, f"-arch={arch}", "-v", "-O3", str(path), "-o", os.devnull]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    facts = {}
    for part in text.split("Compiling entry function '")[1:]:
        sizes = [
            re.search(pattern, part)
            for pattern in (r"Used (\d+) registers", r"(\d+) bytes smem", r"(\d+) bytes spill st")
        ]
        facts[part.split("'")[0]] = tuple(int(m.group(1)) if m else 0 for m in sizes)
    return facts


def resident_blocks(threads, registers, shared):
    """Returns the number of blocks resident on a multiprocessor."""
    warps = -(-threads // 32)
    of_warp = -(-registers * 32 // 256) * 256
    by_shared = SHARED // (shared + 1024)
    return min(BLOCKS, WARPS // warps, REGISTERS // (warps * of_warp), by_shared)


def cells(title, kernel, facts):
    registers, shared, spills = facts.get(kernel.name, (None, None, None))
    found = [title, kernel.name, kernel.threads]
    if registers is None:
        found += ["", "", "", ""]
    else:
        resident = resident_blocks(kernel.threads, registers, shared)
        share = 100 * resident * -(-kernel.threads // 32) // WARPS
        found += [registers, shared, spills, f"{resident} ({share} %)"]
    for kind in (*KINDS, "other"):
        inner = f" + {kernel.inner[kind]}n" if kernel.inner[kind] else ""
        found.append(f"{kernel.step[kind]}{inner}")
    return list(map(str, found))


def line(texts):
    return "| " + " | ".join(texts) + " |"


HEAD = ("model", "kernel", "threads", "registers", "shared", "spills", "blocks (warps)")


def print_table(rows):
    """Prints the table without the instruction types that no kernel has."""
    head = [*HEAD, *KINDS, "other"]
    kept = [
        i for i in range(len(head)) if i < len(HEAD) or any(found[i] != "0" for found in rows)
    ]
    print(line(head[i] for i in kept))
    print("|---" * len(kept) + "|")
    for found in rows:
        print(line(found[i] for i in kept))


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--cells", type=baselines.words(frameworks.CELLS), default=frameworks.CELLS)
    add("--hidden", type=baselines.numbers, default=(20, 64, 128), metavar="H,...")
    add("--model", type=pathlib.Path, help="an ONNX file in place of the benchmark's models")
    add("--plan", default="chunked", help="the scan plan (default chunked)")
    add("--kernels", default="(recurrence|chain|forall)_.*", help="names of kernels, as a pattern")
    add("--arch", default="sm_90")
    add("--compiler", default=str(ROOT / "build/bin/bppsa-compile"))
    return parser.parse_args()


def main():
    options = parse()
    rows = []
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        models = {options.model.name: options.model} if options.model else {}
        if not models:
            for cell in options.cells:
                for hidden in options.hidden:
                    path = work / f"{cell}-h{hidden}.onnx"
                    bundle.write_model(cell, hidden, path)
                    models[f"{cell.upper()} {hidden}"] = path
        for title, model in models.items():
            out = work / f"{model.stem}.ptx"
            command = [options.compiler, model, "--target=cuda", "--backward=auto", "--emit=ptx"]
            command += [f"--scan={options.plan}", f"--gpu-arch={options.arch}", "-o", out]
            subprocess.run(list(map(str, command)), check=True)
            facts = assemble(out, options.arch)
            found = kernels_of(out.read_text(), options.kernels)
            rows += [cells(title, kernel, facts) for kernel in found]
    print_table(rows)


if __name__ == "__main__":
    sys.exit(main())
