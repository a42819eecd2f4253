# Part of the bppsa project, under the MIT License.
"""The programs to compare.

Each measures a training step of a shape and returns the medians `forward_us`, `backward_us`,
`update_us` and `step_us`, and the `variant` that ran. Every peer runs in its own process. With one
thread, the process is bound to one core.
"""

import json
import os
import pathlib
import queue
import subprocess
import threading
import time

import build_handwritten
from shapes import GATES

HERE = pathlib.Path(__file__).resolve().parent
TIMES = ("forward_us", "backward_us", "update_us", "step_us")
# Minimum rate of trees of matrix products on one core; plans that exceed the time limit at this
# rate are skipped.
PRODUCT_FLOPS_PER_SECOND = 10e9
# Python peers and the module each needs.
WORKERS = {"pytorch": "torch", "jax": "jax", "onnxruntime": "onnxruntime.training"}


class Unavailable(Exception):
    """A peer that cannot run here; the message says what is missing."""


class Failed(Exception):
    """A measurement that did not finish; the message is one line."""


def _bind(threads):
    """Returns a function that binds a child with one thread to one core."""
    if threads != 1:
        return None
    core = max(os.sched_getaffinity(0))
    return lambda: os.sched_setaffinity(0, {core})


def _run(command, threads, timeout):
    """Returns the standard output of a command; raises Failed with the first line of its error."""
    try:
        done = subprocess.run(
            list(map(str, command)),
            capture_output=True,
            text=True,
            timeout=timeout,
            preexec_fn=_bind(threads),
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"no answer in {timeout:g} s") from None
    if done.returncode != 0:
        complaint = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise Failed(complaint[0][:300])
    return done.stdout


class Handwritten:
    """The C++ loops of handwritten/."""

    name = "handwritten"

    def __init__(self, folder):
        if not build_handwritten.available():
            raise Unavailable("no C++ compiler, or no AVX2 with FMA")
        self.folder = folder
        self.versions = {
            "handwritten": f"{pathlib.Path(build_handwritten.compiler()).name} -O3 -march=native"
        }

    def skip(self, shape, threads, seconds):
        """Returns the reason to skip this shape, or None."""
        return None if shape.is_plain() else "not one layer with a loss on the last state"

    def measure(self, shape, threads, repeat, timeout):
        program = build_handwritten.build(shape, self.folder)
        return json.loads(_run([program, shape.steps, repeat, threads], threads, timeout))

    def close(self):
        pass


class Worker:
    """A Python library measured in a process that stays alive between shapes (see worker.py)."""

    START_SECONDS = 120

    def __init__(self, name, python, threads):
        self.name, self.python, self.threads = name, python, threads
        self._start()

    def _start(self):
        environment = dict(
            os.environ,
            BENCH_THREADS=str(self.threads),
            OMP_NUM_THREADS=str(self.threads),
            JAX_PLATFORMS="cpu",
            CUDA_VISIBLE_DEVICES="",
        )
        if self.threads == 1:
            environment["XLA_FLAGS"] = (
                "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
            )
        self.process = subprocess.Popen(
            [self.python, str(HERE / f"worker_{self.name}.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
            preexec_fn=_bind(self.threads),
        )
        self.lines = queue.Queue()
        threading.Thread(target=self._read, args=(self.process, self.lines), daemon=True).start()
        ready = self._line(self.START_SECONDS)
        if ready is None:
            raise Unavailable(f"{self.name} is not installed for {self.python}")
        self.versions = json.loads(ready)["ready"]

    @staticmethod
    def _read(process, lines):
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    def _line(self, timeout):
        try:
            return self.lines.get(timeout=timeout)
        except queue.Empty:
            self.close()
            raise Failed(f"no answer in {timeout:g} s") from None

    def skip(self, shape, threads, seconds):
        is_stack = shape.layers > 1 or shape.directions > 1
        missing = {"pytorch": shape.every_step, "jax": is_stack}
        if missing.get(self.name, not shape.is_plain()):
            return "not one layer with a loss on the last state"
        return None

    def measure(self, shape, threads, repeat, timeout):
        if self.process.poll() is not None:
            self._start()
        print(json.dumps(dict(vars(shape), repeat=repeat)), file=self.process.stdin, flush=True)
        line = self._line(timeout)
        if line is None:
            self.process.wait()
            raise Failed(f"the process ended with status {self.process.returncode}")
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer

    def close(self):
        self.process.kill()
        self.process.wait()


class Compiled:
    """A program of bppsa-compile with one variant of the backward pass.

    variant is "auto" (the program chooses), "sequential", or a scan plan such as "chunked:32".
    """

    def __init__(self, variant, compiler, folder):
        if not os.access(compiler, os.X_OK):
            raise Unavailable(f"{compiler} is not there: build it, or name another with --compiler")
        self.variant, self.compiler, self.folder = variant, compiler, folder
        self.name = f"bppsa {variant}"
        self.versions = {"bppsa": _run([compiler, "--version"], 0, 60).strip().splitlines()[0]}

    def _options(self):
        if self.variant in ("auto", "sequential"):
            return [f"--backward={self.variant}"]
        return ["--backward=auto", f"--scan={self.variant}"]

    def compile(self, model, timeout=300):
        """Compiles an ONNX file unless the program is up to date; returns (program, seconds)."""
        program = self.folder / f"{model.stem}-{self.variant.replace(':', '')}"
        record = program.with_suffix(".json")
        newest = max(model.stat().st_mtime, pathlib.Path(self.compiler).stat().st_mtime)
        if program.exists() and record.exists() and record.stat().st_mtime > newest:
            return program, json.loads(record.read_text())["seconds"]
        start = time.perf_counter()
        _run(
            [self.compiler, model, "--loss=cross-entropy", *self._options(), "-o", program],
            0,
            timeout,
        )
        seconds = time.perf_counter() - start
        record.write_text(json.dumps({"seconds": seconds}))
        return program, seconds

    def model(self, shape):
        import onnx_models

        stack = f"-l{shape.layers}-d{shape.directions}" if not shape.is_plain() else ""
        stack += "-steps" if shape.every_step else ""
        path = self.folder / f"{shape.cell}-h{shape.hidden}-i{shape.features}{stack}.onnx"
        if not path.exists():
            onnx_models.write(shape, path)
        return path

    def skip(self, shape, threads, seconds):
        """Skips trees of matrix products for large states."""
        if self.variant in ("auto", "sequential", "linear"):
            return None
        size = shape.hidden * (2 if shape.cell == "lstm" else 1)
        elements = shape.steps * shape.batch
        products = GATES[shape.cell] * 2.0 * shape.hidden * size * size * elements
        if products > PRODUCT_FLOPS_PER_SECOND * threads * seconds:
            return f"about {products / 1e9:.0f} GFLOP a backward pass, too many for {seconds:g} s"
        stored = (
            0 if self.variant.startswith("chunked") else 8.0 * size * size * elements
        )
        if stored > 4e9:
            return f"about {stored / 1e9:.0f} GB of Jacobians"
        return None

    def measure(self, shape, threads, repeat, timeout):
        program, seconds = self.compile(self.model(shape))
        command = [
            program,
            "bench",
            "--seq-len",
            shape.steps,
            "--batch",
            shape.batch,
            "--repeat",
            repeat,
        ]
        command += ["--threads", threads]
        if self.variant != "auto":
            command.append(
                "--backward=" + ("sequential" if self.variant == "sequential" else "scan")
            )
        answer = json.loads(_run(command, threads, timeout))
        answer["compile_seconds"] = seconds
        answer["program_bytes"] = program.stat().st_size
        return answer

    def close(self):
        pass
