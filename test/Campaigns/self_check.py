"""Deliberately broken commands; the campaigns must detect each of them."""

import argparse
import contextlib
import io
import json
import pathlib

import killed
import programs
import training
from campaign import Fault, check_end, check_files, execute
from changed_arrays import ChangedArrays
from changed_ir import ChangedIR

# Scripts whose exit a campaign must report as a fault.
SCRIPTS = {
    "a crash": "kill -SEGV $$",
    "an abort after a message": "echo 'error: x' >&2; kill -ABRT $$",
    "an unknown status": "echo 'error: x' >&2; exit 3",
    "two lines": "echo 'error: x' >&2; echo 'error: y' >&2; exit 1",
    "no line": "exit 1",
    "an error with status 0": "echo 'error: x' >&2",
    "words of LLVM": "echo 'LLVM ERROR: out of memory' >&2; exit 1",
    "words of a sanitizer": "echo '==1==ERROR: AddressSanitizer: heap-use-after-free' >&2; exit 1",
    "words of the verifier": "echo \"m.onnx: 'bppsa.chain' op operand #1 must be\" >&2; exit 1",
    "control characters": "printf 'error: \\033[1m\\n' >&2; exit 1",
    "bytes that are not UTF-8": "printf 'error: \\377\\n' >&2; exit 1",
    "a hang": "sleep 60",
}
# A program that crashes on data sets of odd size, and one that writes its files in place.
CRASHING = '#!/bin/sh\n[ $(($(wc -c < bad.npz) % 2)) -eq 0 ] || kill -SEGV $$\necho "error: x" >&2\nexit 1\n'
WRITING = "#!/bin/sh\nprintf 12 > s.onnx\nsleep 60\nprintf 34 >> s.onnx\n"


def write_program(folder, text):
    path = folder / "program"
    path.write_text(text)
    path.chmod(0o755)
    return programs.Program("broken", path, {}, {"x": programs.weight(3, 24)}, b"")


def find_script(folder, script):
    run = execute(folder, ["sh", "-c", script], limit=0.5 if "sleep" in script else 60)
    check_end(run)


def find_left_file(folder):
    run = execute(folder, ["sh", "-c", "echo half > out; echo 'error: x' >&2; exit 1"])
    check_end(run)
    check_files(run, folder, expected=[])


def find_lost_file(folder):
    run = execute(folder, ["true"])
    check_end(run)
    check_files(run, folder, expected=["out"])


def find_write_in_place(folder):
    """A kill exposes a file that is written in place."""
    trained = training.Training(write_program(folder, WRITING), 60, saved=b"1234")
    run, _ = killed.kill_after(folder, [trained.program.path], 0.3, 60)
    (folder / "program").unlink()
    trained.check_files(run, folder)


def find_torn(name, content):
    def find(folder):
        trained = training.Training(None, 60, log=[{"epoch": 1}])
        (folder / name).write_bytes(content)
        trained.check_files(execute(folder, ["true"]), folder)

    return find


def find_silent_ir(folder):
    ChangedIR.check(execute(folder, ["false"]))


CASES = {name: lambda folder, s=script: find_script(folder, s) for name, script in SCRIPTS.items()}
CASES |= {
    "a file left behind": find_left_file,
    "a file that is missing": find_lost_file,
    "a file written in place": find_write_in_place,
    "half a checkpoint": find_torn("c", b"PK\x03\x04"),
    "half a line of the log": find_torn("l", b'{"epoch": 1}\n{"ep'),
    "a wrong line of the log": find_torn("l", b'{"epoch": 2}\n'),
    "another file": find_torn("core", b""),
    "a pass that fails silently": find_silent_ir,
}


class Broken:
    """Replaces `programs.Programs`; its only program crashes on some data sets."""

    names = ["broken"]

    def __init__(self, folder):
        self.program = write_program(folder, CRASHING)

    def choose(self, source):
        return self.program


def check_campaign(folder, makeDriver):
    """Checks that a campaign finds the crashes of a program, keeps their inputs, and repeats
    them."""
    (folder / "kept").mkdir()
    arguments = argparse.Namespace(
        seed=0, first=0, seconds=None, jobs=1, keep=folder / "kept", programs=[]
    )
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        found = makeDriver(ChangedArrays(Broken(folder)), arguments).run_all(20)
    kept = [path for path in (folder / "kept").iterdir() if (path / "bad.npz").exists()]
    figures = json.loads(output.getvalue().splitlines()[-1])
    return 0 < found < 20 and found == len(kept) == figures["wrong"]


def check_all(folder: pathlib.Path, makeDriver):
    """Returns whether all cases are detected; prints the others."""
    missed = []
    for number, (name, find) in enumerate(CASES.items()):
        place = folder / str(number)
        place.mkdir()
        try:
            find(place)
            missed.append(name)
        except Fault:
            pass
    place = folder / "campaign"
    place.mkdir()
    if not check_campaign(place, makeDriver):
        missed.append("a program that crashes")
    print(f"{len(CASES) + 1} broken cases, {len(missed)} not found: {missed}")
    return not missed
