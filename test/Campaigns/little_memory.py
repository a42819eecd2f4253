"""Commands that run out of memory exit with status 1 and one line, and leave no partial files."""

import programs
import training
from campaign import Campaign, check_end, check_files, execute

MIB = 1 << 20


def find_need(folder, command, limit, low=1 << 20):
    """Returns the minimum address space with which a command succeeds, to 1 MiB."""
    high = 64 << 30
    while high - low > MIB:
        middle = (low + high) // 2
        run = execute(folder, ["prlimit", f"--as={middle}", *command], limit)
        low, high = (low, middle) if run.status == 0 else (middle, high)
    return high


class LittleMemory(Campaign):
    """Commands with less address space than they need, down to the minimum to start."""

    name = "little-memory"
    count, short = 600, 3

    def prepare(self, folder):
        self.trainings = training.learn_all(self.programs, folder / "trained", self.limit)
        (folder / "m.onnx").write_bytes(self.programs.get(self.programs.names[0]).model)
        self.needs = {}

    def need(self, key, command, folder):
        with self.lock:
            if key not in self.needs:
                self.needs[key] = find_need(folder, command, self.limit)
            return self.needs[key]

    def run(self, source, folder):
        name = source.choice(self.programs.names)
        trained = self.trainings[name]
        trained.write_data(folder)
        (folder / "m.onnx").write_bytes(trained.program.model)
        word = source.choice(
            ["train", "train", "eval", "infer", "grad", "bench", "info", "compile", "compile"]
        )
        tool = programs.harness.COMPILER if word == "compile" else trained.program.path
        command, outputs = self.command(source, trained, word)
        # Below this limit the system's loader ends the process before its first instruction.
        start = self.need((tool, "start"), [tool, "--version"], folder)
        whole = self.need((name, word), command, folder)
        for path in folder.iterdir():
            if path.name not in ("d.npz", "m.onnx"):
                path.unlink()
        size = int(source.uniform(start, max(whole, start) + 2 * MIB))
        run = execute(folder, ["prlimit", f"--as={size}", *command], self.limit)
        check_end(run, accepted=(0, 1), mayGoOn=word == "train")
        inputs = ["d.npz", "m.onnx"]
        if run.status == 0:
            check_files(run, folder, [*inputs, *outputs])
        else:
            # A checkpoint and a log written before the failure are kept.
            kept = ["c", "l", "b.onnx"] if word == "train" else []
            check_files(run, folder, inputs, optional=kept)
            if word == "train":
                trained.check_files(run, folder)
        return f"{word} {run.status}"

    def command(self, source, trained, word):
        """Returns a command and the files it writes."""
        path = trained.program.path
        if word == "train":
            return trained.words(), list(training.FILES.values())
        if word == "compile":
            phase = ["--compile-to=scan", "--emit=mlir"]
            options = [
                "-O0",
                "--mcpu=x86-64-v3",
                *programs.SOURCES[trained.program.name][1],
                *phase,
            ]
            return [programs.harness.COMPILER, "m.onnx", "-o", "y", *options], ["y"]
        if word == "bench":
            return [path, "bench", *trained.program.sizes(), "--repeat", 1], []
        if word == "info":
            return [path, "info"], []
        out = ["--out", "y"] if word != "eval" else []
        return [path, word, "--data", "d.npz", *out], ["y"] if out else []
