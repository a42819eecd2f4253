"""Runs the compiler and compiled programs by their command lines, as users do.

Compiled programs are cached in build/test-programs under a hash of the model, the options and
the compiler. Tests that need the same program share it, and a second run of the suite compiles
nothing.
"""

import contextlib
import dataclasses
import fcntl
import functools
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("BPPSA_BUILD_DIR", ROOT / "build"))
# The Python package: the built one, or the sources, which lack the compiled part. All tests must
# use the same one because a process imports it only once.
PACKAGE = next(path for path in (BUILD / "python", ROOT / "python") if (path / "bppsa").exists())
BIN = BUILD / "bin"
COMPILER = BIN / "bppsa-compile"
RUNTIME = BUILD / "lib" / "libbppsa_runtime.a"
# Whether the build uses sanitizers, whose runtime needs much memory.
SANITIZED = bool(
    (BUILD / "CMakeCache.txt").exists()
    and re.search(r"^BPPSA_SANITIZE:\w+=.", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE)
)
needs_true_memory = pytest.mark.skipif(SANITIZED, reason="sanitizers need memory of their own")
# The verifier runs after every pass, with the exceptions in `choose_verifier`.
os.environ.setdefault("BPPSA_VERIFY_EACH", "1")
TIME_LIMIT = 300  # seconds for one command, on a machine under load


def run(*command, **kwargs):
    """Runs a command and captures its output as text; does not check the exit status."""
    command = [str(word) for word in command]
    if command[0] == str(COMPILER) and "env" not in kwargs:
        options = " ".join(word for word in command[1:] if "/" not in word)
        kwargs["env"] = choose_verifier(hashlib.sha256(options.encode()).hexdigest())
    return subprocess.run(
        command, capture_output=True, text=True, timeout=TIME_LIMIT, check=False, **kwargs
    )


# Runs in a separate process because a child inherits the peak memory of the process that forks it.
MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak_memory(*command):
    """Returns the peak resident memory in bytes of a command, which must succeed."""
    lines = check_succeeded(run(sys.executable, "-c", MEASURE, *command)).stdout.splitlines()
    return int(lines[-1])


def require_tool(name):
    if not (BIN / name).exists():
        pytest.skip(f"{name} is not built")
    return BIN / name


@functools.cache
def programs_directory():
    """Returns build/test-programs/<hash of the compiler and the runtime> and deletes older ones."""
    digest = hashlib.sha256()
    for path in (COMPILER, RUNTIME):
        if path.exists():
            digest.update(path.read_bytes())
    directory = BUILD / "test-programs" / digest.hexdigest()[:16]
    directory.mkdir(parents=True, exist_ok=True)
    for other in directory.parent.iterdir():
        if other != directory:
            shutil.rmtree(other, ignore_errors=True)
    return directory


@contextlib.contextmanager
def locked(path):
    with open(path, "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


class CompileError(AssertionError):
    """bppsa-compile refused a model; has its exit status and standard error."""

    def __init__(self, status, message):
        super().__init__(f"bppsa-compile ended with status {status}: {message}")
        self.status = status
        self.message = message


def check_succeeded(completed):
    assert completed.returncode == 0, (
        f"{' '.join(map(str, completed.args))}\nended with status {completed.returncode}:\n"
        f"{completed.stderr}"
    )
    return completed


def check_types(*files):
    """Checks files of the Python package with mypy in strict mode."""
    # NumPy and the package have type annotations; other packages may be missing.
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent"]
    command += ["--ignore-missing-imports", "--no-incremental", *files]
    check_succeeded(run(*command, cwd=ROOT / "python"))


def check_refused(model, directory, options, status, words):
    """Checks that bppsa-compile exits with `status`, one line with `words`, and no output file."""
    source, output = directory / "model.onnx", directory / "out"
    onnx.save(model, source)
    result = run(require_tool("bppsa-compile"), source, "-o", output, *options)
    assert result.returncode == status and words in result.stderr, result.stderr
    assert result.stderr.count("\n") == 1 and not output.exists()


@dataclasses.dataclass(frozen=True)
class Program:
    """A compiled trainer."""

    path: pathlib.Path
    model: onnx.ModelProto
    options: tuple = ()

    def run(self, command, *arguments, **kwargs):
        return run(self.path, command, *arguments, **kwargs)

    def info(self):
        return json.loads(check_succeeded(self.run("info")).stdout)

    def arrays(self, command, data, *arguments):
        """Runs `grad` or `infer` on arrays and returns the arrays that it writes."""
        with tempfile.TemporaryDirectory() as directory:
            source = os.path.join(directory, "data.npz")
            result = os.path.join(directory, "result.npz")
            np.savez(source, **data)
            check_succeeded(self.run(command, "--data", source, "--out", result, *arguments))
            record_for_gpu(self, command, arguments, source, result)
            with np.load(result) as loaded:
                return dict(loaded)

    def grad(self, data, *arguments):
        return self.arrays("grad", data, *arguments)

    def infer(self, data, *arguments):
        data = {name: array for name, array in data.items() if name != "target"}
        return self.arrays("infer", data, *arguments)

    def eval(self, data, *arguments):
        with tempfile.TemporaryDirectory() as directory:
            source = os.path.join(directory, "data.npz")
            np.savez(source, **data)
            return json.loads(
                check_succeeded(self.run("eval", "--data", source, *arguments)).stdout
            )


def record_for_gpu(program, command, arguments, data, result):
    """Records inputs and results of an emulated program if BPPSA_RECORD_FOR_GPU=FOLDER is set.

    Also compiles the program for GPUs, so that gpu_replay.py can run it.
    """
    folder = os.environ.get("BPPSA_RECORD_FOR_GPU")
    if not folder or "--emulate" not in program.options or "--emulate-seed" in str(arguments):
        return
    left_out = ("--emulate", "--mcpu=native", "-O0")
    options = [o for o in program.options if o not in left_out] + ["--gpu-arch=sm_90"]
    real = compile_model(program.model, "--mcpu=x86-64-v3", *options)
    case = pathlib.Path(tempfile.mkdtemp(prefix=f"{real.path.name}-", dir=folder))
    shutil.copy(data, case / "data.npz")
    shutil.copy(result, case / "wanted.npz")
    test = os.environ.get("PYTEST_CURRENT_TEST", "")
    words = {"test": test, "command": command, "arguments": arguments, "program": real.path.name}
    (case / "case.json").write_text(json.dumps(words))
    if not (kept := pathlib.Path(folder) / real.path.name).exists():
        shutil.copy(real.path, kept)


def choose_verifier(key):
    """Returns the environment of a compilation; the verifier runs after every pass in one of
    eight.

    Verification takes half of the compile time; the result of the pipelines is always verified.
    BPPSA_VERIFY_PROGRAMS=all enables it for all programs.
    """
    if os.environ.get("BPPSA_VERIFY_PROGRAMS") == "all" or int(key, 16) % 8 == 0:
        return os.environ
    return os.environ | {"BPPSA_VERIFY_EACH": "0"}


def choose_level(content):
    """Returns the optimization level of the programs of a model: -O0 for seven of eight models.

    LLVM optimizations take half of the compile time. All programs of a model have the same
    level because tests compare their results bitwise. BPPSA_OPTIMIZE_PROGRAMS=all optimizes all
    programs.
    """
    all_optimised = os.environ.get("BPPSA_OPTIMIZE_PROGRAMS") == "all"
    return [] if all_optimised or hashlib.sha256(content).digest()[0] % 8 == 0 else ["-O0"]


def compile_model(model, *options):
    """Compiles a model (a ModelProto or a path); raises CompileError if it is refused.

    By default, generates code only for the CPU of this machine: code for every x86-64 level
    takes several times as long.
    """
    require_tool("bppsa-compile")
    if not any(option.startswith("--mcpu") for option in options):
        options = ("--mcpu=native", *options)
    if not isinstance(model, onnx.ModelProto):
        model = onnx.load(model)
    content = model.SerializeToString(deterministic=True)
    if not any(option.startswith("-O") for option in options):
        options = (*choose_level(content), *options)
    key = hashlib.sha256(content + "\0".join(options).encode()).hexdigest()[:32]
    directory = programs_directory()
    program, failure = directory / key, directory / f"{key}.failed.json"
    with locked(directory / f"{key}.lock"):
        if not program.exists() and not failure.exists():
            source = directory / f"{key}.onnx"
            source.write_bytes(content)
            environment = choose_verifier(key)
            completed = run(COMPILER, source, "-o", program, *options, env=environment)
            if completed.returncode != 0:
                reason = [completed.returncode, completed.stderr]
                failure.write_text(json.dumps(reason))
    if failure.exists():
        raise CompileError(*json.loads(failure.read_text()))
    return Program(program, model, options)


# --- error bounds
# -------------------------------------------------------------------------------------


# The terms of a loss are of order 1. If the terms of an `nll` cancel, their rounding errors remain,
# so the error is not relative to a smaller loss.
LEAST_LOSS = 0.01
LEAST_BOUND = 1e-6


def relative_error(value, exact, least=0.0):
    """Returns the relative error in the Frobenius norm; the norm is at least `least`."""
    exact = np.asarray(exact, np.float64)
    norm = max(np.linalg.norm(exact), least)
    return np.linalg.norm(np.asarray(value, np.float64) - exact) / norm


def check_gradients(found, exact, single, context=""):
    """Checks that every array of `found` is within the error bound of design section 8.

    exact: sequential float64; single: an independent sequential float32 implementation, whose
    error scales the bound.
    """
    assert set(found) == set(exact), f"{context}: arrays {sorted(found)} != {sorted(exact)}"
    problems = []
    for name, reference in exact.items():
        value = found[name]
        if value.shape != reference.shape:
            problems.append(f"{name}: shape {value.shape} instead of {reference.shape}")
        elif not np.all(np.isfinite(value)):
            problems.append(f"{name}: not finite")
        elif np.linalg.norm(reference) < 1e-30:
            if np.linalg.norm(value) > 1e-30:
                problems.append(f"{name}: norm {np.linalg.norm(value):.3g} instead of 0")
        else:
            least = LEAST_LOSS if name == "loss" else 0.0
            error, bound = relative_error(value, reference, least), LEAST_BOUND
            if error > bound:  # reading `single` may compute it
                bound = max(20 * relative_error(single[name], reference, least), bound)
            if error > bound:
                problems.append(f"{name}: relative error {error:.3g}, at most {bound:.3g} allowed")
    assert not problems, f"{context}: " + "; ".join(problems)
