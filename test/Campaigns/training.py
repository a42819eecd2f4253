"""Training runs that campaigns disturb, and the results of undisturbed runs."""

import dataclasses
import io
import json
import os

import changed_arrays
import numpy as np
from campaign import TEMPORARY, check_end, execute

EPOCHS = 6
OLD = b"the file that was there before\n"
FILES = {"--save": "s.onnx", "--save-best": "b.onnx", "--checkpoint": "c", "--log": "l"}


def read_log(text):
    """Returns the entries of a log without times."""
    entries = [json.loads(line) for line in text.splitlines()]
    return [{k: v for k, v in entry.items() if "seconds" not in k} for entry in entries]


def read_checkpoint(content):
    """Returns the state in a checkpoint after reading all of its arrays."""
    with np.load(io.BytesIO(content)) as archive:
        arrays = {name: archive[name] for name in archive.files}
    return json.loads(arrays["checkpoint"].tobytes())["state"]


@dataclasses.dataclass
class Training:
    """A training run of a program: its command, and the files of undisturbed runs."""

    program: object
    limit: float
    bests: set = dataclasses.field(default_factory=set)
    seconds: float = 0.0
    saved: bytes = b""
    best: bytes = b""
    checkpoint: bytes = b""
    log: list = dataclasses.field(default_factory=list)

    def words(self, epochs=EPOCHS, resumes=False, quiet=True):
        """The variant is fixed, so that all runs have the same bits."""
        variant = self.program.info["variants"][0]
        words = [
            self.program.path,
            "train",
            "--data",
            "d.npz",
            "--val",
            "d.npz",
            "--epochs",
            epochs,
        ]
        words += ["--batch", 8, "--seed", 5, "--lr", 0.01, "--checkpoint-every", 1]
        words += [f"--backward={variant['backward']}", f"--mapping={variant['mapping']}"]
        words += [word for pair in FILES.items() for word in pair]
        return words + ["--resume", "c"] * resumes + ["--quiet"] * quiet

    def write_data(self, folder):
        (folder / "d.npz").write_bytes(changed_arrays.save(self.program.arrays))

    def learn(self, folder):
        """Runs undisturbed for each number of epochs and keeps the results."""
        folder.mkdir(parents=True)
        self.write_data(folder)
        for epochs in range(1, EPOCHS + 1):
            begin = os.times().elapsed
            check_end(execute(folder, self.words(epochs), self.limit), accepted=(0,))
            self.seconds = os.times().elapsed - begin
            self.best = (folder / "b.onnx").read_bytes()
            self.bests.add(self.best)
        self.saved = (folder / "s.onnx").read_bytes()
        self.checkpoint = (folder / "c").read_bytes()
        self.log = read_log((folder / "l").read_text())

    def write_old(self, folder):
        for name in FILES.values():
            (folder / name).write_bytes(OLD)

    def check_files(self, run, folder):
        """Checks that every file is absent, unchanged, or complete."""
        found = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        if found.get("s.onnx", OLD) not in (OLD, self.saved):
            run.fail("the file of --save is neither the old one nor the trained model")
        if found.get("b.onnx", OLD) not in {OLD, *self.bests}:
            run.fail("the file of --save-best is neither the old one nor a model of an epoch")
        if (checkpoint := found.get("c", OLD)) != OLD:
            try:
                read_checkpoint(checkpoint)
            except Exception as error:
                run.fail(f"the checkpoint is not whole: {error}")
        if (log := found.get("l", OLD)) != OLD:
            try:
                whole = not log or log.endswith(b"\n")
                whole = whole and read_log(log.decode()) == self.log[: log.count(b"\n")]
            except ValueError:
                whole = False
            if not whole:
                run.fail("the log has lines that are not whole, or others than the undisturbed run")
        left = set(found) - {"d.npz", "m.onnx", *FILES.values()}
        if strange := [name for name in left if not TEMPORARY.fullmatch(name)]:
            run.fail(f"leaves {strange} behind")
        return len(left)

    def check_complete(self, run, folder):
        """Checks that a finished run has the same bits as the undisturbed run."""
        if (folder / "s.onnx").read_bytes() != self.saved:
            run.fail("ends in other bits than the undisturbed run")
        if read_log((folder / "l").read_text()) != self.log:
            run.fail("has another log than the undisturbed run")
        if read_checkpoint((folder / "c").read_bytes())["epoch"] != EPOCHS:
            run.fail("has not kept the checkpoint of the last epoch")
        self.check_files(run, folder)

    def go_on(self, folder):
        """Runs to the end, resuming from the checkpoint if there is one."""
        resumes = (folder / "c").exists() and (folder / "c").read_bytes() != OLD
        run = execute(folder, self.words(resumes=resumes), self.limit)
        check_end(run, accepted=(0,))
        self.check_complete(run, folder)


def learn_all(programs, folder, limit):
    """Returns the training runs of all programs by name."""
    trainings = {}
    for name in programs.names:
        trainings[name] = Training(programs.get(name), limit)
        trainings[name].learn(folder / name)
    return trainings
