"""SIGKILL at random times: files are old or complete, and resumed training has the same bits."""

import os
import signal
import time

import programs
import training
from campaign import TEMPORARY, Campaign, check_end, end, execute, start


def kill_after(folder, command, seconds, limit, environment=None):
    """Kills a command and its children after some time; returns its end and whether it was
    killed."""
    process = start(folder, command, environment)
    time.sleep(seconds)
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    run = end(process, command, limit, environment)
    if run.status not in (0, -signal.SIGKILL):
        check_end(run, accepted=(0,))
    return run, run.status != 0


class Kills(Campaign):
    """Kills training, infer, grad and bppsa-compile, and checks their files."""

    name = "kills"
    count, short = 500, 4

    def prepare(self, folder):
        self.trainings = training.learn_all(self.programs, folder / "trained", self.limit)
        self.results = {}
        for name in self.programs.names:
            for word in ("infer", "grad"):
                self.results[name, word] = self.measure(folder / f"{name}-{word}", name, word)
        self.compiled = self.measure(folder / "compiled", self.programs.names[0], "compile")

    def write_inputs(self, folder, name):
        self.trainings[name].write_data(folder)
        (folder / "m.onnx").write_bytes(self.programs.get(name).model)
        (folder / "tmp").mkdir()

    def command(self, name, word):
        if word == "compile":
            options = programs.SOURCES[name][1]
            command = [
                programs.harness.COMPILER,
                "m.onnx",
                "-o",
                "y",
                "-O0",
                "--mcpu=x86-64-v3",
                *options,
            ]
            return command, {"TMPDIR": "tmp"}
        return [self.programs.get(name).path, word, "--data", "d.npz", "--out", "y"], {}

    def measure(self, folder, name, word):
        """Returns the output bytes and the seconds of an undisturbed run."""
        folder.mkdir()
        self.write_inputs(folder, name)
        command, environment = self.command(name, word)
        begin = time.monotonic()
        check_end(execute(folder, command, self.limit, environment), accepted=(0,))
        return (folder / "y").read_bytes(), time.monotonic() - begin

    def run(self, source, folder):
        name = source.choice(self.programs.names)
        word = source.choice(["train"] * 6 + ["infer", "grad", "compile"])
        if word == "train":
            return self.run_training(source, folder, self.trainings[name])
        return self.run_other(source, folder, name, word)

    def run_training(self, source, folder, trained):
        trained.write_data(folder)
        if source.random() < 0.5:
            trained.write_old(folder)
        wasKilled = False
        for _ in range(source.choice([1, 1, 2])):
            resumes = (folder / "c").exists() and (folder / "c").read_bytes() != training.OLD
            seconds = source.uniform(0, trained.seconds)
            run, killed = kill_after(folder, trained.words(resumes=resumes), seconds, self.limit)
            wasKilled |= killed
            self.note_most("temporary_files", trained.check_files(run, folder))
        trained.go_on(folder)
        return "train killed" if wasKilled else "train ended before"

    def run_other(self, source, folder, name, word):
        if word == "compile":
            name = self.programs.names[0]
        expected, seconds = self.compiled if word == "compile" else self.results[name, word]
        self.write_inputs(folder, name)
        isOld = source.random() < 0.5
        if isOld:
            (folder / "y").write_bytes(training.OLD)
        command, environment = self.command(name, word)
        run, killed = kill_after(
            folder, command, source.uniform(0, seconds), self.limit, environment
        )
        found = (folder / "y").read_bytes() if (folder / "y").exists() else None
        if found not in ((training.OLD if isOld else None), expected):
            run.fail("the output is neither as before nor whole")
        left = {path.name for path in folder.iterdir()} - {"d.npz", "m.onnx", "tmp", "y"}
        if strange := [other for other in left if not TEMPORARY.fullmatch(other)]:
            run.fail(f"leaves {strange} behind")
        # Leftover files do not affect the next run.
        check_end(execute(folder, command, self.limit, environment), accepted=(0,))
        if (folder / "y").read_bytes() != expected:
            run.fail("the run after the kill has another output")
        return f"{word} killed" if killed else f"{word} ended before"
