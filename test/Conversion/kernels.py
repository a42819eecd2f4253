"""Compiles functions on tensors with the CPU pipeline and calls them from Python.

The pass option selects the register file: 32, 8 or 4 vectors of 16 lanes. Machine code targets the
matching x86-64 level, or the highest lower level that this machine supports.
"""

import ctypes
import hashlib
import os
import pathlib
import shutil

import harness
import numpy as np
import pytest

STUBS = pathlib.Path(__file__).parent / "Inputs" / "runtime.c"
LEVELS = {32: "x86-64-v4", 8: "x86-64-v3", 4: "x86-64-v2"}
FLAGS = {"x86-64-v4": "avx512vl", "x86-64-v3": "avx2", "x86-64-v2": "sse4_2"}


def require_program(name):
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


def can_run(registers):
    """Returns whether this machine supports the x86-64 level with `registers` registers."""
    return FLAGS[LEVELS[registers]] in pathlib.Path("/proc/cpuinfo").read_text().split()


def runnable_level(registers):
    for count, level in LEVELS.items():
        if count <= registers and can_run(count):
            return level
    pytest.skip("this machine runs no x86-64-v2 code")


def descriptor(array):
    """Returns the memref descriptor of an array."""
    fields = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p)]
    fields += [("offset", ctypes.c_int64)]
    if array.ndim:
        fields += [(name, ctypes.c_int64 * array.ndim) for name in ("sizes", "strides")]
    made = type("Descriptor", (ctypes.Structure,), {"_fields_": fields})()
    made.allocated = made.aligned = array.ctypes.data
    for i in range(array.ndim):
        made.sizes[i], made.strides[i] = array.shape[i], array.strides[i] // array.itemsize
    return made


def allocate(shape, skipped):
    """Returns an array of NaNs that starts `skipped` bytes after a multiple of 64."""
    size = 4 * int(np.prod(shape))
    memory = np.empty(size + 128, np.uint8)
    first = -memory.ctypes.data % 64 + skipped
    array = memory[first : first + size].view(np.float32).reshape(shape)
    array.fill(np.nan)
    return array


def compile_stubs(level):
    """Returns the object file of STUBS for one x86-64 level, shared by all kernel libraries."""
    text = STUBS.read_bytes()
    name = f"stubs-{level}-{hashlib.sha256(text).hexdigest()[:16]}.o"
    path = harness.programs_directory() / name
    options = ["-O2", f"-march={level}", "-fPIC", "-w"]
    with harness.locked(path.with_suffix(".lock")):
        if not path.exists():
            command = [require_program("clang-22"), *options, "-c", STUBS, "-o", path]
            harness.check_succeeded(harness.run(*command))
    return path


def choose_level():
    """Returns -O0 for seven of eight tests, and -O2 for the other tests and benchmarks.

    All kernels of a test use the same level because tests compare their results bit by bit.
    """
    test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" (")[0]
    return [*(harness.choose_level(test.encode()) if test else []), "-O2"][0]


class Kernels:
    """A compiled module whose functions can be called."""

    def __init__(self, directory, ir, registers=32, options=""):
        clang, translate = map(require_program, ("clang-22", "mlir-translate-22"))
        path = pathlib.Path(directory)
        (path / "source.mlir").write_text(ir)
        lowered, translated, library = path / "low.mlir", path / "low.ll", path / "low.so"
        pipeline = f"--bppsa-cpu-pipeline=registers={registers} {options}"
        opt, level = harness.require_tool("bppsa-opt"), runnable_level(registers)
        for command in (
            (opt, path / "source.mlir", pipeline, "-o", lowered),
            (translate, "--mlir-to-llvmir", lowered, "-o", translated),
            (clang, choose_level(), f"-march={level}", "-shared", "-fPIC", "-w",
             "-Wl,-Bsymbolic", translated, compile_stubs(level), "-lm", "-o", library),
        ):  # fmt: skip
            harness.check_succeeded(harness.run(*command))
        self.lowered = lowered.read_text()
        self.library = ctypes.CDLL(str(library))

    def bind(self, function, inputs, result_shapes, skipped=0):
        """Returns (function without arguments, results), so that repeated calls share the
        arrays."""
        arrays = [np.ascontiguousarray(array, np.float32) for array in inputs]
        results = [allocate(shape, skipped) for shape in result_shapes]
        entry = getattr(self.library, f"_mlir_ciface_{function}")
        descriptors = [descriptor(array) for array in (*arrays, *results)]

        def run():
            entry(*(ctypes.byref(one) for one in descriptors))

        run.arrays = arrays, results  # Keeps the arrays alive that the descriptors point to.
        return run, results

    def call(self, function, inputs, result_shapes, threads=1, segment_steps=1, skipped=0):
        """Returns the results as float32 arrays; elements that the function does not write are
        NaN."""
        ctypes.c_int.in_dll(self.library, "test_segment_steps").value = segment_steps
        ctypes.c_int.in_dll(self.library, "test_threads").value = threads
        run, results = self.bind(function, inputs, result_shapes, skipped)
        run()
        return results
