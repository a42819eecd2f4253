"""Standard streams that are closed, full, or pipes whose reader exits."""

import json

import programs
import training
from campaign import Campaign, check_end, execute

# Bash is needed to get the status of the first command of a pipe.
STREAMS = {
    "stdout closed": 'exec "$@" >&-',
    "stderr closed": 'exec "$@" 2>&-',
    "both closed": 'exec "$@" >&- 2>&-',
    "all closed": 'exec "$@" <&- >&- 2>&-',
    "stdin closed": 'exec "$@" <&-',
    "stdout full": 'exec "$@" >/dev/full',
    "both full": 'exec "$@" >/dev/full 2>/dev/full',
    "no reader": '"$@" | true; exit ${PIPESTATUS[0]}',
    "no readers": '"$@" 2>&1 | true; exit ${PIPESTATUS[0]}',
    "a line": '"$@" | head -1; exit ${PIPESTATUS[0]}',
    "some bytes": '"$@" | head -c 100; exit ${PIPESTATUS[0]}',
    "a slow reader": '"$@" | (sleep 0.03; head -c 10); exit ${PIPESTATUS[0]}',
    "no reader of errors": '"$@" 2> >(true)',
}
# Standard output cannot be written at all, so results sent to it are lost.
LOST = ["stdout closed", "both closed", "all closed", "stdout full", "both full"]


class ClosedPipes(Campaign):
    """Commands without a reader of their output: training continues; lost results are an error."""

    name = "closed-pipes"
    count, short = 600, 10

    def prepare(self, folder):
        self.trainings = training.learn_all(self.programs, folder / "trained", self.limit)
        self.compiled = {}
        for name, trained in self.trainings.items():
            (folder / "m.onnx").write_bytes(trained.program.model)
            run = execute(folder, self.compile(name, "y", "mlir"), self.limit)
            check_end(run, accepted=(0,))
            self.compiled[name] = (folder / "y").read_bytes()

    def run(self, source, folder):
        name = source.choice(self.programs.names)
        trained = self.trainings[name]
        trained.write_data(folder)
        (folder / "m.onnx").write_bytes(trained.program.model)
        stream = source.choice(sorted(STREAMS))
        word = source.choice(
            ["train", "train", "train", "eval", "info", "help", "compile", "compile-file", "wrong"]
        )
        command = self.command(source, trained, word)
        run = execute(folder, ["bash", "-c", STREAMS[stream], "bash", *command], self.limit)
        hidden = "err" in stream or "both" in stream or "all" in stream or stream == "no readers"
        accepted = {"train": (0,), "compile-file": (0,), "wrong": (2,)}.get(
            word, (1,) if stream in LOST else (0, 1)
        )
        check_end(run, accepted, mayBeSilent=hidden)
        if word == "train":
            if trained.check_files(run, folder):
                run.fail("leaves temporary files behind")
            trained.check_complete(run, folder)
        elif word == "compile-file" and (folder / "y").read_bytes() != self.compiled[name]:
            run.fail("has written another file")
        elif word in ("eval", "info") and stream in ("stdin closed", "stderr closed"):
            json.loads(run.output)
        return f"{word} {run.status}"

    @staticmethod
    def compile(name, output, emit):
        options = [f"--emit={emit}", "-O0", "--mcpu=x86-64-v3", *programs.SOURCES[name][1]]
        return [programs.harness.COMPILER, "m.onnx", "-o", output, *options]

    def command(self, source, trained, word):
        program = trained.program
        if word == "train":
            return trained.words(quiet=False)
        if word == "compile":
            return self.compile(program.name, "-", source.choice(["mlir", "llvm", "exe", "report"]))
        if word == "compile-file":
            return self.compile(program.name, "y", "mlir")
        if word == "help":
            return source.choice(
                [[program.path, "--help"], [programs.harness.COMPILER, "--list-support"]]
            )
        if word == "wrong":
            return source.choice([[program.path, "x"], [programs.harness.COMPILER, "m.onnx"]])
        return [program.path, word, *(["--data", "d.npz"] if word == "eval" else [])]
