"""Random command lines of compiled programs and of bppsa-compile."""

import changed_arrays
import numpy as np
import programs
from campaign import Campaign, check_end, check_files, execute

# Feasible counts, and counts that options reject or that exceed any memory.
COUNTS = ["1", "2", "3", "7", "24", "25", "1000"]
WORDS = ["", " ", "x", "nan", "inf", "-inf", "1e999", "-1", "0", "0.5", "1", "1.0", "1e3", "0x10"]
WORDS += [
    "007",
    "+1",
    "1,2",
    "1:2",
    ":",
    ",",
    "=",
    "--",
    "-",
    "none",
    "auto",
    "true",
    "'",
    '"',
    "\\",
]
WORDS += ["2147483648", "4294967296", "9223372036854775807", "9223372036854775808", "é", "\x1b[1m"]
WORDS += [
    "9" * 400,
    "x" * 3000,
    "\n",
    "a\nb",
    "%s%n",
    "(",
    "[",
    "*",
    "(a+)+$",
    "/",
    "..",
    "/dev/null",
]
RATES = ["0", "1e-3", "0.1", "1", "10", "1e30", "-1", "nan", "0.999999", "5e-324"]
FILES = [
    "d.npz",
    "o1",
    "o2",
    "missing",
    "missing/x",
    ".",
    "/",
    "",
    "d.npz/x",
    "/proc/x",
    "/dev/full",
]
FILES += ["./d.npz", "o1", "o3", "x" * 256, "link"]
PLANS = ["auto", "linear", "blelloch", "hybrid:1", "hybrid:99", "chunked:3", "chunked", "chunked:0"]
SCHEDULES = [
    "constant",
    "cosine",
    "cosine:0.1",
    "step:1:0.5",
    "step:0:1",
    "plateau",
    "plateau:0.5:1",
]
SCHEDULES += [
    "warmup:3,cosine",
    "warmup:3",
    "warmup:99999999999,constant",
    "plateau:2",
    "step:1:nan",
]
SIZES = ["1", "100", "2K", "64M", "1G", "0", "-1K", "1T", "9999999999G", "K"]
AXES = ["x:0", "x:1", "x:2", "x:-1", "x:9", "target:0", "y:0", "x", ":1", "x:", "x:1x", "logits:0"]

TRAIN = {
    "--val": FILES, "--epochs": ["1", "2", "3"], "--batch": [*COUNTS, "2147483647"],
    "--seed": [*COUNTS, "9223372036854775807"], "--shuffle-memory": SIZES, "--no-shuffle": None,
    "--lr-schedule": SCHEDULES, "--accumulate": [*COUNTS, "2147483647"],
    "--microbatches": [*COUNTS, "2147483647"], "--clip-norm": RATES, "--lr": RATES,
    "--weight-decay": RATES, "--beta1": RATES, "--beta2": RATES, "--eps": RATES, "--momentum": RATES,
    "--lr-for": ["a=1", ".*=0.1", "(=1", "=", "a=", "a=x", "a=b=1", "a=-1"], "--ema": RATES,
    "--tbptt": [*COUNTS, "2147483647"], "--save": FILES, "--val-split": RATES, "--save-best": FILES,
    "--best": ["loss", "accuracy"], "--patience": [*COUNTS, "2147483647"], "--checkpoint": FILES,
    "--checkpoint-every": [*COUNTS, "2147483647"], "--resume": FILES, "--log": FILES,
    "--lr-find": None, "--quiet": None, "--exchange": ["barrier", "allreduce", "p3", "dear"],
    "--slice": [*COUNTS, "2147483647"], "--throttle": ["1,0", "1e9,1e-9", "0,0", "1", "-1,1"],
    "--shard-time": None, "--shard-backward": ["auto", "carry", "exscan"], "--trace": FILES,
}  # fmt: skip
VARIANT = {
    "--backward": ["auto", "sequential", "scan"], "--scan": PLANS, "--calibration": FILES,
    "--mapping": ["auto", "lanes", "units", "chunks", "blocks"],
}  # fmt: skip
COMMON = {
    "--threads": [*COUNTS[:5], "4096", "4097"], "--affinity": ["0", "0,1", "0-1", "1-0", "99999", "0-"],
    "--batch-axis": AXES, "--emulate-seed": COUNTS, "--help": None,
}  # fmt: skip
SIZES_OF_STEPS = {"--seq-len": [*COUNTS[:6], "2147483647"], "--batch": [*COUNTS[:6], "2147483647"]}
OPTIONS = {
    "train": TRAIN | VARIANT | COMMON,
    "eval": {"--batch": [*COUNTS, "2147483647"], "--metrics": ["f1", "auc,confusion", "f1,f1", "x"]}
    | COMMON,
    "infer": {"--out": FILES, "--batch": COUNTS} | COMMON,
    "grad": {"--out": FILES} | VARIANT | COMMON,
    "bench": SIZES_OF_STEPS | {"--repeat": COUNTS[:3], "--calibrate": None} | VARIANT | COMMON,
    "info": SIZES_OF_STEPS | {"--compact": None} | COMMON,
}
# Options that name an output file; it must not exist after a failure.
OUTPUTS = ["--save", "--save-best", "--out", "--trace"]


def random_option(source, options):
    """Returns an option with a valid value, a random word, or no value."""
    name = source.choice(sorted(options))
    values = options[name]
    if source.random() < 0.04:
        name = source.choice([name[:-1], name.upper(), name.replace("-", "_"), "-" + name])
    value = (
        source.choice(WORDS) if values is None or source.random() < 0.15 else source.choice(values)
    )
    if values is None and source.random() < 0.95:
        return [name]
    return [f"{name}={value}"] if source.random() < 0.5 else [name, value]


def random_command(source):
    """Returns the words after the program name."""
    command = source.choice([*sorted(OPTIONS), "train", "train", "train"])
    words = (
        [command]
        if source.random() < 0.98
        else [source.choice(["", "trian", "--help", "--version"])]
    )
    if command in ("train", "eval", "infer", "grad") and source.random() < 0.97:
        words += ["--data", source.choice(["d.npz"] * 20 + FILES)]
    if command in ("infer", "grad") and source.random() < 0.9:
        words += ["--out", "o0"]
    for _ in range(source.choice([0, 1, 1, 2, 2, 3, 4, 8])):
        words += random_option(source, OPTIONS[command])
    if command == "bench":
        # The default sizes take minutes in an emulated program.
        given = " ".join(words)
        words += [f"{size}=3" for size in SIZES_OF_STEPS if size not in given]
    if source.random() < 0.05:
        words.insert(source.randrange(len(words) + 1), source.choice(WORDS))
    return words


class ProgramOptions(Campaign):
    """Random words on the command lines of compiled programs."""

    name = "options"
    count, short = 4000, 25

    def run(self, source, folder):
        program = self.programs.choose(source)
        (folder / "d.npz").write_bytes(changed_arrays.save(program.arrays))
        (folder / "link").symlink_to("o4")
        # Sizes beyond any memory must not exhaust the memory of this machine.
        command = ["prlimit", "--as=4000000000", program.path, *random_command(source)]
        run = execute(folder, command, self.limit)
        check_end(run, accepted=(0, 1, 2))
        check_files(
            run, folder, ["d.npz", "link"], optional=["o0", "o1", "o2", "o3", "o4", *FILES, *WORDS]
        )
        if run.status != 0:
            self.check_nothing_written(run, folder)
        if (folder / "d.npz").read_bytes() != changed_arrays.save(program.arrays):
            run.fail("has changed its input")
        return f"status {run.status}"

    @staticmethod
    def check_nothing_written(run, folder):
        """Failed training may leave a checkpoint, a log and the best model once it has started."""
        if run.diverged() or "training goes on" in run.errors:
            return
        if left := sorted(
            path.name for path in folder.iterdir() if path.name not in ("d.npz", "link")
        ):
            run.fail(f"status {run.status} leaves {left} behind")


COMPILE = {
    "--batch-axis": AXES, "--bind": ["B=3", "T=5", "x=1", "B=0", "B=-1", "B=x", "=", "T=99999999999999999999"],
    "--carry": ["cache:cache_next,h:h_next", "x:y", "x:logits", "h:h_next", ":", "x:x"],
    "--dynamic": AXES, "--freeze": [".*", "head", "(", "zzz", "[", "a{99999}", ""],
    "--freeze-rows": ["table:0", "table:11", "table:-1", "zzz:0", "head.weight:1"], "--prune-zeros": None,
    "--step-axis": AXES, "--train": [".*", "(", "zzz"], "--training-mode": None, "--untie": None,
    "--class-weights": ["w.npy", "bad.npy", "missing", "."], "--ignore-index": ["0", "-1", "99", "x", "9" * 30],
    "--interlock": ["1", "2", "0", "-1", "99"], "--interlock-combine": ["last", "sum", "mean"],
    "--label-smoothing": RATES, "--loss-on": ["logits", "word,pitch", "y", "word,word", "zzz", ","],
    "--loss": ["cross-entropy", "nll", "mse", "l1", "huber", "bce-with-logits", "vjp", "none", "mse,mse"],
    "--loss-weights": ["1,1", "1", "0,0", "nan", "-1,1", "1e999,1"],
    "--optimizer": ["sgd", "momentum", "adam", "adamw", "rmsprop"], "--backward": ["auto", "scan", "sequential"],
    "--backward-order": ["in-order", "reverse-first:1", "reverse-first:99", "reverse-first:auto", "defer:2:1",
                         "defer:1:2", "defer:1:next", "defer:x:y", "reverse-first:-1", "defer:2:1,2:1"],
    "--backward-streams": ["1", "2", "2:joint", "3"], "--jacobians": ["structured", "dense"],
    "--memory-limit": SIZES, "--scan": PLANS, "-O": ["0", "1", "2", "3", "4"], "--distributed": ["mpi", "x"],
    "--emulate": None, "--gpu-arch": ["sm_90", "sm_80,sm_90", "sm_10", "sm_", "x"], "--mcpu": ["native", "x86-64-v3", "zzz"],
    "--pipeline": ["1", "2", "3", "99", "0", "-1"], "--pipeline-chunks": ["1", "2", "0", "99"],
    "--pipeline-placement": ["neighbours", "v", "modulo:1", "modulo:0", "modulo:99"],
    "--precision": ["fp32", "tf32", "bf16"], "--scan-shards": None, "--shard-time": None, "--split-backward": None,
    "--sync-bn": None, "--target": ["cpu", "cuda"], "--report-batch": [*COUNTS, "0", "-1", "9" * 18],
    "--report-length": [*COUNTS, "0", "-1", "9" * 18],
    "--compile-to": ["import", "loss", "differentiate", "scan", "lower", "end"],
    "--emit": ["mlir", "llvm", "report", "asm", "obj", "shared", "exe", "ptx"], "--dump-phases-to": ["phases", "m.onnx"],
}  # fmt: skip


def compile_command(source, base):
    """Returns the words after bppsa-compile; most stop at an early phase to save time."""
    words = [
        "m.onnx",
        "-o",
        source.choice(["out"] * 12 + ["", ".", "missing/out", "m.onnx", "-", "/dev/full"]),
    ]
    if source.random() < 0.6:
        words += base
    for _ in range(source.choice([0, 1, 1, 2, 2, 3, 5])):
        words += random_option(source, COMPILE)
    if source.random() < 0.05:
        words.insert(source.randrange(len(words) + 1), source.choice(WORDS))
    given = " ".join(words)
    if "--compile-to" not in given and "--emit" not in given and source.random() < 0.8:
        words += [
            "--compile-to=" + source.choice(["differentiate", "scan", "scan", "lower"]),
            "--emit=mlir",
        ]
    # Compile for one CPU without optimization unless the options say otherwise.
    return words + [word for word in ("--mcpu=x86-64-v3", "-O0") if word[:3] not in given]


class CompilerOptions(Campaign):
    """Random options of bppsa-compile with valid models."""

    name = "compiler-options"
    count, short = 1500, 5

    def prepare(self, folder):
        self.weights = {
            "w.npy": changed_arrays.entry(np.ones(10, np.float32)),
            "bad.npy": b"\x93NUMPY\1\0",
        }

    def run(self, source, folder):
        program = self.programs.choose(source)
        (folder / "m.onnx").write_bytes(program.model)
        for name, content in self.weights.items():
            (folder / name).write_bytes(content)
        words = compile_command(source, programs.SOURCES[program.name][1])
        run = execute(folder, [programs.harness.COMPILER, *words], self.limit)
        check_end(run, accepted=(0, 1, 2))
        # Phases dumped before an error are kept, in a folder of any name.
        outputs = {"out", "phases", *WORDS} | {name for name in ("logits",) if run.status == 0}
        check_files(run, folder, ["m.onnx", *self.weights], optional=outputs)
        if run.status != 0 and (folder / "out").exists():
            run.fail(f"status {run.status} leaves the output behind")
        return f"status {run.status}"
