"""Changed checkpoints: bytes, settings, state and arrays; checkpoints of other programs."""

import io
import json

import changed_arrays
import changed_bytes
import numpy as np
from campaign import Campaign, check_end, check_files, execute

VALUES = [0, -1, 1, 2, 7, 2**31, 2**53, 2**63 - 1, -(2**63), 2**64, 1e308, 5e-324, -0.5, 0.999]
VALUES += [float("nan"), float("inf"), None, True, "", "x", "auto", "scan", "blelloch", "step:0:1"]
VALUES += [[], [[]], [1, 2, 3], {}, {"": {}}]
TRAINING = ["--batch", 8, "--quiet", "--seed", 3, "--ema", 0.9, "--val", "d.npz", "--patience", 9]


def find_places(value, depth=0):
    """Returns the container and key of every value in a JSON value, up to a depth of 20."""
    if depth > 20:
        return []
    if isinstance(value, dict):
        pairs = list(value.items())
    elif isinstance(value, list):
        pairs = list(enumerate(value))
    else:
        return []
    inner = [place for _, child in pairs for place in find_places(child, depth + 1)]
    return [(value, key) for key, _ in pairs] + inner


def change_description(source, meta):
    for _ in range(source.choice([1, 1, 1, 2, 5])):
        container, key = source.choice(find_places(meta))
        change = source.choice(["replace", "replace", "replace", "near", "remove", "nest"])
        if change == "replace":
            container[key] = source.choice(VALUES)
        elif change == "near" and isinstance(container[key], (int, float)):
            container[key] += source.choice([-1, 1, 1000])
        elif change == "remove":
            del container[key]
        else:
            nested = container[key]
            for _ in range(source.choice([1, 1000])):
                nested = [nested]
            container[key] = nested


def describe(meta):
    try:
        return json.dumps(meta).encode()
    except RecursionError:
        return b"[" * 100000


def change(source, content):
    """Returns the bytes of a changed checkpoint."""
    level = source.choice(["bytes", "description", "description", "arrays", "arrays", "entries"])
    if level == "bytes":
        return changed_bytes.change(source, content)
    with np.load(io.BytesIO(content)) as archive:
        arrays = dict(archive)
    if level == "description":
        text = arrays["checkpoint"].tobytes()
        if source.random() < 0.8:
            meta = json.loads(text)
            change_description(source, meta)
            text = describe(meta)
        else:
            text = changed_bytes.change(source, text)
        arrays["checkpoint"] = np.frombuffer(text, np.uint8)
    elif level == "arrays":
        names = [name for name in arrays if name != "checkpoint"]
        part = {name: arrays.pop(name) for name in source.sample(names, min(3, len(names)))}
        source.choice(changed_arrays.VALUE_CHANGES)(source, part)
        arrays |= part
    else:
        return changed_arrays.change_entries(source, arrays)
    return changed_arrays.save(arrays)


class ChangedCheckpoints(Campaign):
    """Training resumed from a changed checkpoint or from that of another program."""

    name = "checkpoints"
    count, short = 3500, 30

    def prepare(self, folder):
        self.checkpoints = {}
        for name in self.programs.names:
            program = self.programs.get(name)
            (folder / "d.npz").write_bytes(changed_arrays.save(program.arrays))
            words = ["train", "--data", "d.npz", "--epochs", 2, *TRAINING, "--checkpoint", "c"]
            run = execute(folder, [program.path, *words], self.limit)
            check_end(run, accepted=(0,))
            self.checkpoints[name] = (folder / "c").read_bytes()

    def run(self, source, folder):
        program = self.programs.choose(source)
        (folder / "d.npz").write_bytes(changed_arrays.save(program.arrays))
        content = self.checkpoints[program.name]
        if source.random() < 0.05:
            content = self.checkpoints[source.choice(self.programs.names)]
        if source.random() < 0.97:
            content = change(source, content)
        (folder / "bad").write_bytes(content)
        words = ["train", "--data", "d.npz", "--resume", "bad", "--epochs", 4, "--quiet"]
        words += ["--val", "d.npz", "--save", "s.onnx"]
        words += source.choice([[], ["--checkpoint", "bad"], ["--checkpoint", "c"], ["--log", "l"]])
        run = execute(folder, [program.path, *words], self.limit)
        check_end(run, accepted=(0, 1))
        inputs = ["bad", "d.npz"]
        if run.status == 0:
            check_files(run, folder, [*inputs, "s.onnx"], optional=["c", "l"])
            if changed_arrays.is_damaged(folder / "bad"):
                run.fail("goes on from a checkpoint with a wrong checksum")
        else:
            check_files(run, folder, inputs, optional=["c", "l"] if run.diverged() else [])
            if (folder / "bad").read_bytes() != content and not run.diverged():
                run.fail("fails, and has changed the checkpoint")
        return f"status {run.status}"
