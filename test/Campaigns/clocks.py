"""Clocks that jump, stop or run backward while programs run."""

import json
import pathlib

import programs
import training
from campaign import Campaign, Fault, check_end, execute

SOURCE = pathlib.Path(__file__).with_name("jumping_clock.c")
MODES = ["jump", "back", "frozen", "fast"]


def refuse_constant(word):
    raise ValueError(f"'{word}' is not JSON")


def read_json(run, text):
    """Parses JSON; rejects NaN and infinity, as other parsers do."""
    try:
        return json.loads(text, parse_constant=refuse_constant)
    except ValueError as error:
        run.fail(f"prints or writes what is no JSON: {error}")


class Clocks(Campaign):
    """Training, benchmarks and bppsa-compile under wrong clocks."""

    name = "clocks"
    count, short = 300, 4
    # Training measures variants until some time has passed, which never happens on a frozen clock.
    limit = 60

    def prepare(self, folder):
        self.trainings = training.learn_all(self.programs, folder / "trained", self.limit)
        self.library = folder / "libclock.so"
        command = ["cc", "-shared", "-fPIC", "-O1", "-o", self.library, SOURCE]
        check_end(execute(folder, command, self.limit), accepted=(0,))
        self.require_effect(folder / "frozen")

    def environment(self, mode, seed):
        return {"LD_PRELOAD": str(self.library), "BPPSA_CLOCK": f"{mode}:{seed}"}

    def require_effect(self, folder):
        """Checks that epochs take no time under a frozen clock."""
        folder.mkdir()
        trained = self.trainings[self.programs.names[0]]
        trained.write_data(folder)
        execute(folder, trained.words(), self.limit, self.environment("frozen", 0))
        entries = [json.loads(line) for line in (folder / "l").read_text().splitlines()]
        if len(entries) != training.EPOCHS or any(entry["seconds"] for entry in entries):
            raise Fault("the library has no effect on the clock")

    def run(self, source, folder):
        trained = self.trainings[source.choice(self.programs.names)]
        trained.write_data(folder)
        environment = self.environment(source.choice(MODES), source.randrange(1 << 32))
        word = source.choice(["train", "train", "auto", "auto", "bench", "grad", "compile"])
        command = self.command(source, trained, word, folder)
        run = execute(folder, command, self.limit, environment)
        check_end(run, accepted=(0,))
        if word == "train":
            trained.check_complete(run, folder)
        elif word == "auto":
            lines = (folder / "l").read_text().splitlines()
            if len([read_json(run, line) for line in lines]) != training.EPOCHS:
                run.fail(f"{len(lines)} lines in the log")
        elif word == "bench":
            read_json(run, run.output)
        return word

    def command(self, source, trained, word, folder):
        program = trained.program
        if word == "train":
            return trained.words(quiet=source.random() < 0.5)
        if word == "auto":
            # The choice of the variant depends on measured times.
            words = [program.path, "train", "--data", "d.npz", "--epochs", training.EPOCHS]
            return words + ["--batch", source.choice([2, 6, 24]), "--log", "l"]
        if word == "bench":
            return [program.path, "bench", *program.sizes(), "--repeat", 2]
        if word == "grad":
            return [program.path, "grad", "--data", "d.npz", "--out", "y"]
        (folder / "m.onnx").write_bytes(program.model)
        command = [
            programs.harness.COMPILER,
            "m.onnx",
            "-o",
            "y",
            "--compile-to=scan",
            "--emit=mlir",
        ]
        return command + programs.SOURCES[program.name][1]
