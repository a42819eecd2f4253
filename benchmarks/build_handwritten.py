# Part of the bppsa project, under the MIT License.
"""Builds the hand-written C++ loops: one program for each shape, with T left open."""

import pathlib
import shutil
import subprocess

from shapes import CLASSES

SOURCES = pathlib.Path(__file__).resolve().parent / "handwritten"
FLAGS = ["-std=c++17", "-O3", "-march=native", "-ffp-contract=fast", "-pthread"]


def compiler():
    """Returns a C++ compiler, or None."""
    return next(
        (path for path in map(shutil.which, ("clang++-22", "clang++", "g++")) if path), None
    )


def available():
    if not compiler():
        return False
    command = [compiler(), "-march=native", "-dM", "-E", "-x", "c++", "/dev/null"]
    macros = subprocess.run(command, capture_output=True, text=True).stdout
    return "__AVX512F__" in macros or ("__AVX2__" in macros and "__FMA__" in macros)


def build(shape, folder):
    """Compiles the program of `shape` into `folder` unless it is newer than its sources."""
    program = folder / f"hand-{shape.cell}-h{shape.hidden}-i{shape.features}-b{shape.batch}"
    newest = max(source.stat().st_mtime for source in SOURCES.iterdir())
    if program.exists() and program.stat().st_mtime > newest:
        return program
    sizes = {"H": shape.hidden, "I": shape.features, "B": shape.batch, "C": CLASSES}
    defines = [f"-DSIZE_{name}={value}" for name, value in sizes.items()]
    source = SOURCES / f"{shape.cell}.cpp"
    subprocess.run([compiler(), *FLAGS, *defines, str(source), "-o", str(program)], check=True)
    return program
