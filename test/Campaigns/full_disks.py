"""Full disks and file size limits: old files are kept, and every failed write is reported."""

import os
import shutil

import killed
import training
from campaign import CRASHES, check_end, execute

# Runs a command on a tmpfs of $1 KiB and copies the remaining files out.
ON_A_DISK = """mkdir disk && mount -t tmpfs -o size=$1k tmpfs disk || exit 99; shift
for name in d.npz m.onnx c l s.onnx b.onnx y; do [ ! -e $name ] || mv $name disk || exit 98; done
mkdir -p disk/tmp; cd disk; "$@"; status=$?; cd ..; cp -a disk/. . || exit 97; exit $status"""
IN_NAMESPACE = ["unshare", "--map-root-user", "--mount"]


def can_mount(folder):
    return execute(folder, [*IN_NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).status == 0


class FullDisks(killed.Kills):
    """Training, infer, grad and bppsa-compile with limited file or disk size."""

    name = "full-disks"
    count, short = 600, 3

    def prepare(self, folder):
        super().prepare(folder)
        self.mounts = can_mount(folder)

    def limited(self, source, command, size):
        """Returns the command under a limit near `size` bytes, which some files exceed."""
        if self.mounts and source.random() < 0.5:
            # The disk also holds the data and old files, and new files are written next to old
            # ones.
            kib = max(4, int(source.uniform(0.1, 5) * size / 1024)) + 8
            return [*IN_NAMESPACE, "sh", "-c", ON_A_DISK, "sh", kib, *command]
        return ["prlimit", f"--fsize={int(source.uniform(0, 1.2) * size)}", *command]

    @staticmethod
    def clean(folder):
        """Removes the mount point and the copied folder of temporary files."""
        if (folder / "disk").exists():
            (folder / "disk").rmdir()
        if (folder / "tmp").exists():
            shutil.rmtree(folder / "tmp")

    def run_training(self, source, folder, trained):
        trained.write_data(folder)
        if source.random() < 0.5:
            trained.write_old(folder)
        words = trained.words()
        if source.random() < 0.2:
            words[words.index("l")] = "/dev/full"
        size = sum(len(data) for data in (trained.saved, trained.checkpoint))
        run = execute(folder, self.limited(source, words, size), self.limit)
        self.clean(folder)
        if run.status in (97, 98, 99):
            return "no disk"
        if run.status not in (0, 1) or CRASHES.search(run.errors):
            check_end(run, accepted=(0, 1))
        lines = run.lines()
        if len(lines) > len(training.FILES) or not all(
            line.startswith("error: ") for line in lines
        ):
            run.fail(f"{len(lines)} lines, or others than errors")
        if run.status == 1 and not lines:
            run.fail("fails without a word")
        if trained.check_files(run, folder):
            run.fail("leaves temporary files behind")
        self.check_named(run, folder, trained)
        return f"train {run.status}"

    @staticmethod
    def check_named(run, folder, trained):
        """Checks that every file that differs from a complete run is named and that the status is
        not 0."""
        found = {path.name: path.read_bytes() for path in folder.iterdir()}
        wanted = {"s.onnx": trained.saved, "b.onnx": trained.best}
        lost = {name for name, content in wanted.items() if found.get(name) != content}
        checkpoint = found.get("c", training.OLD)
        if (
            checkpoint == training.OLD
            or training.read_checkpoint(checkpoint)["epoch"] != training.EPOCHS
        ):
            lost.add("c")
        log = found.get("l", training.OLD)
        if log == training.OLD or training.read_log(log.decode()) != trained.log:
            lost.add("/dev/full" if "/dev/full" in run.command else "l")
        if run.status == 0 and lost:
            run.fail(f"status 0 without {sorted(lost)}")
        if silent := [name for name in lost if f"'{name}'" not in run.errors]:
            # Nothing is written after an error that ends training.
            if "training goes on" in run.errors.splitlines()[-1]:
                run.fail(f"does not say that {silent} could not be written")

    def run_other(self, source, folder, name, word):
        if word == "compile":
            name = self.programs.names[0]
        expected, _ = self.compiled if word == "compile" else self.results[name, word]
        self.write_inputs(folder, name)
        isOld = source.random() < 0.5
        if isOld:
            (folder / "y").write_bytes(training.OLD)
        command, environment = self.command(name, word)
        (folder / "tmp").rmdir()
        (folder / "tmp").mkdir()
        run = execute(folder, self.limited(source, command, len(expected)), self.limit, environment)
        if left := os.listdir(folder / "tmp"):
            run.fail(f"leaves {left} in the folder for temporary files")
        self.clean(folder)
        if run.status in (97, 98, 99):
            return "no disk"
        check_end(run, accepted=(0, 1))
        found = (folder / "y").read_bytes() if (folder / "y").exists() else None
        if found != (expected if run.status == 0 else training.OLD if isOld else None):
            run.fail(
                f"status {run.status}, and the output is not {'whole' if run.status == 0 else 'as before'}"
            )
        if left := {path.name for path in folder.iterdir()} - {"d.npz", "m.onnx", "y"}:
            run.fail(f"leaves {sorted(left)} behind")
        return f"{word} {run.status}"
