"""Changed modules of the IR tests for bppsa-opt, with random passes."""

import importlib.util
import re

import programs
from campaign import Campaign, Fault, Run, execute

TOKEN = re.compile(r'"[^"\n]*"|[%@#!^]?[\w.$-]+|->|[^\s\w]')
WORDS = [
    "-1",
    "0",
    "1",
    "2",
    "64",
    "9223372036854775807",
    "?",
    "*",
    "f32",
    "f64",
    "i1",
    "i64",
    "index",
]
WORDS += [
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ",",
    ":",
    "=",
    "->",
    '""',
    "dense",
    "true",
    "none",
]


def load_fuzzer():
    path = programs.harness.ROOT / "utils" / "fuzz-passes.py"
    spec = importlib.util.spec_from_file_location("fuzz_passes", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


fuzzer = load_fuzzer()


def replace_token(source, text, other):
    tokens = list(TOKEN.finditer(text))
    if not tokens:
        return text
    at = source.choice(tokens)
    word = source.choice([source.choice(WORDS), source.choice(tokens).group(0)])
    return text[: at.start()] + word + text[at.end() :]


def replace_number(source, text, other):
    numbers = list(re.finditer(r"(?<![%@#!\w.])\d+", text))
    if not numbers:
        return text
    at = source.choice(numbers)
    return text[: at.start()] + source.choice(WORDS[:7]) + text[at.end() :]


def replace_alike(source, text, other):
    """Replaces a token with one of the same type: a value, type, attribute or word."""
    tokens = list(TOKEN.finditer(text))
    if not tokens:
        return text
    at = source.choice(tokens)
    alike = [token.group(0) for token in tokens if token.group(0)[0] == at.group(0)[0]]
    return text[: at.start()] + source.choice(alike) + text[at.end() :]


def change_lines(source, text, other):
    lines = text.splitlines(keepends=True)
    at = source.randrange(len(lines))
    change = source.choice(["remove", "repeat", "swap", "take"])
    if change == "remove":
        del lines[at]
    elif change == "repeat":
        lines.insert(source.randrange(len(lines) + 1), lines[at])
    elif change == "swap":
        to = source.randrange(len(lines))
        lines[at], lines[to] = lines[to], lines[at]
    else:
        lines.insert(at, source.choice(other.splitlines(keepends=True)))
    return "".join(lines)


def replace_value(source, text, other):
    """Replaces one operand with another."""
    values = list(re.finditer(r"%[\w#]+", text))
    if len(values) < 2:
        return text
    at = source.choice(values)
    return text[: at.start()] + source.choice(values).group(0) + text[at.end() :]


def join_modules(source, text, other):
    return text + other


CHANGES = [replace_token, replace_number, replace_number, replace_alike, replace_alike]
CHANGES += [change_lines, change_lines, replace_value, replace_value, join_modules]


class ChangedIR(Campaign):
    """Changed modules and random passes: bppsa-opt exits with a result or a diagnostic."""

    name = "ir"
    count, short = 2000, 10

    def prepare(self, folder):
        self.opt = programs.harness.BIN / "bppsa-opt"
        self.passes = fuzzer.find_passes(self.opt)
        self.modules = fuzzer.find_modules()
        self.names = sorted(self.modules)

    def choose_passes(self, source):
        passes = []
        for chosen in source.choices(self.passes, k=source.choice([0, 1, 1, 2, 4])):
            option = source.choice(["", *fuzzer.OPTIONS.get(chosen, [])])
            passes.append(f"--{chosen}={option}" if option else f"--{chosen}")
        return passes

    def run(self, source, folder):
        text, other = (self.modules[source.choice(self.names)] for _ in range(2))
        for _ in range(source.choice([1, 1, 2, 3, 6])):
            text = source.choice(CHANGES)(source, text, other)
        (folder / "m.mlir").write_text(text)
        command = ["prlimit", "--as=8000000000", self.opt, "--mlir-disable-threading"]
        command += [*self.choose_passes(source), "m.mlir", "-o", "/dev/null"]
        run = execute(folder, command, self.limit)
        self.check(run)
        return f"status {run.status}"

    @staticmethod
    def check(run: Run):
        if fault := fuzzer.find_fault_of(run.status, run.errors):
            raise Fault(fault, run)
