"""Files and folders without permissions, accessed by a user other than root."""

import os

import programs
import training
from campaign import Campaign, check_end, execute

NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


class ReadOnly(Campaign):
    """Outputs in unwritable folders or files, and unreadable inputs."""

    name = "read-only"
    count, short = 300, 5

    def prepare(self, folder):
        self.trainings = training.learn_all(self.programs, folder / "trained", self.limit)
        for parent in (folder, folder.parent):
            parent.chmod(0o755)
        program = self.trainings[self.programs.names[0]].program.path
        # Root ignores permissions, so root runs the commands as another user.
        self.prefix = AS_NOBODY if os.geteuid() == 0 else []
        run = execute(folder, [*self.prefix, program, "--version"], self.limit)
        self.works = run.status == 0

    def run(self, source, folder):
        if not self.works:
            return "not possible here"
        trained = self.trainings[source.choice(self.programs.names)]
        place = folder / "place"
        place.mkdir()
        trained.write_data(folder)
        (folder / "m.onnx").write_bytes(trained.program.model)
        word = source.choice(
            ["train", "train", "infer", "grad", "compile", "dump", "temporary", "input"]
        )
        command = self.command(source, trained, word)
        what = "input" if word == "input" else source.choice(["folder", "file", "file in folder"])
        if word == "temporary":
            what = "folder"
        if "file" in what:
            (place / "f").write_bytes(training.OLD)
            (place / "f").chmod(0o444)
        elif what == "input":
            for name in ("d.npz", "m.onnx"):
                (folder / name).chmod(0)
        if self.prefix and what == "file":
            os.chown(place, NOBODY, NOBODY)
        place.chmod(0o777 if what == "file" else 0o555)
        before = sorted(os.listdir(folder))
        environment = {"TMPDIR": str(place)} if word == "temporary" else {}
        run = execute(folder, [*self.prefix, *command], self.limit, environment)
        check_end(run, accepted=(1,))
        if sorted(os.listdir(folder)) != before:
            run.fail(f"leaves {sorted(set(os.listdir(folder)) - set(before))} behind")
        names = sorted(os.listdir(place))
        if names != (["f"] if "file" in what else []):
            run.fail(f"leaves {names} in the folder")
        if "file" in what and (place / "f").read_bytes() != training.OLD:
            run.fail("has written to a file that is read-only")
        return f"{word}, {what}"

    def command(self, source, trained, word):
        """Returns a command that writes to `place` or reads an unreadable file."""
        path = trained.program.path
        compile = [programs.harness.COMPILER, "m.onnx", "-O0", "--mcpu=x86-64-v3"]
        compile += programs.SOURCES[trained.program.name][1]
        if word == "train":
            option = source.choice(["--save", "--checkpoint", "--log", "--save-best"])
            words = [path, "train", "--data", "d.npz", "--epochs", 3, "--val", "d.npz", "--quiet"]
            return [*words, option, "place/f"]
        if word in ("infer", "grad"):
            return [path, word, "--data", "d.npz", "--out", "place/f"]
        if word == "input":
            commands = [[path, "eval", "--data", "d.npz"], [*compile, "-o", "place/y"]]
            return source.choice(commands)
        if word == "dump":
            return [*compile, "--dump-phases-to=place/f", "--emit=mlir", "-o", "/dev/null"]
        if word == "temporary":
            return [*compile, "-o", "/dev/null"]
        emit = source.choice(["exe", "mlir", "obj"])
        return [*compile, f"--emit={emit}", "-o", "place/f"]
