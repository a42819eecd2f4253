# Part of the bppsa project, under the MIT License.
"""The folder of programs for a machine with a GPU: created with the compiler, read without it.

It contains `manifest.json` (the descriptions of programs), `programs.tar.xz` (the programs, and
the weights of their models as .npz), and the Python files of this folder. Programs of one compiler
differ little, so dozens of them compress to a few MiB. A program serves every length and batch
size.
"""

import argparse
import contextlib
import dataclasses
import json
import lzma
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

import frameworks

HERE = pathlib.Path(__file__).resolve().parent
PLANS = ("chunked", "chunked:128", "blelloch")
# A tree keeps a matrix for each step, which does not fit for larger states.
MOST_TREE_STATE = 64
# Scans are not worthwhile for larger states.
WIDEST_SCAN = 256
# Adjacent programs in the archive share most of their bytes; the window holds several.
WINDOW = 32 << 20


@dataclasses.dataclass(frozen=True)
class Variant:
    """One variant of the backward pass of one model."""

    cell: str
    hidden: int
    name: str  # "sequential", a scan plan, or "auto": the program selects one of the two.
    program: pathlib.Path

    @property
    def arguments(self):
        return [f"--backward={self.name if self.name in ('sequential', 'auto') else 'scan'}"]

    @property
    def key(self):
        return f"{self.cell}-h{self.hidden} {self.name}"


def write_model(cell, hidden, path):
    """Writes the ONNX file of a model; returns its weights."""
    sys.path.insert(0, str(HERE.parent))
    import onnx
    import onnx_models
    from shapes import Shape

    features = frameworks.features_of(cell, hidden)
    onnx_models.write(Shape(cell, hidden, features, batch=1, steps=1), path)
    trained = onnx_models.parameters(onnx.load(path))
    return {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in trained}


def _programs(models, plans):
    """Yields (cell, hidden, plan, variants).

    The program of the first plan also contains the sequential order. A wide model has an empty
    plan.
    """
    for cell, size in models:
        if size > WIDEST_SCAN:
            yield cell, size, "", ["sequential"]
            continue
        for plan in plans:
            if plan == "blelloch" and frameworks.state_size(cell, size) > MOST_TREE_STATE:
                continue
            yield cell, size, plan, ["sequential", plan, "auto"] if plan == plans[0] else [plan]


def _compile(compiler, model, plan, variants, options, out):
    command = [compiler, model, "--target=cuda", "--loss=cross-entropy", *options, "-o", out]
    if plan:
        backward = "auto" if "sequential" in variants else "scan"
        command += [f"--backward={backward}", f"--scan={plan}"]
    else:
        command += ["--backward=sequential"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"run.py: cannot compile {model.name}: {done.stderr.strip()}")


def make(folder, compiler, models, plans, options):
    """Compiles the programs of `models`, pairs of cell and hidden size, into `folder`.

    `options` are additional compiler options.
    """
    import numpy as np

    folder.mkdir(parents=True, exist_ok=True)
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True)
    manifest = {
        "compiler": version.stdout.splitlines()[0],
        "options": list(options),
        "emulated": "--emulate" in options,
        "programs": [],
    }
    compression = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": WINDOW}]
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        with (
            lzma.open(folder / "programs.tar.xz", "wb", filters=compression) as packed,
            tarfile.open(fileobj=packed, mode="w|") as archive,
        ):
            for cell, size, plan, variants in _programs(models, plans):
                model = work / f"{cell}-h{size}.onnx"
                if not model.exists():
                    np.savez(model.with_suffix(".npz"), **write_model(cell, size, model))
                    archive.add(model.with_suffix(".npz"), model.with_suffix(".npz").name)
                program = work / f"{model.stem}-{plan.replace(':', '') or 'sequential'}"
                _compile(compiler, model, plan, variants, options, program)
                archive.add(program, program.name)
                entry = {"cell": cell, "hidden": size, "variants": variants}
                manifest["programs"].append({**entry, "program": program.name})
                print(f"compiled {program.name}: {', '.join(variants)}", flush=True)
                program.unlink()
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    for script in HERE.glob("*.py"):
        if script.resolve().parent != folder.resolve():
            shutil.copy(script, folder)


@contextlib.contextmanager
def opened(folder):
    """Opens a folder written by `make`; yields (manifest, variants, folder of the weights)."""
    for name in ("manifest.json", "programs.tar.xz"):
        if not (folder / name).exists():
            raise SystemExit(f"run.py: {folder} has no {name}: make it with --compile")
    manifest = json.loads((folder / "manifest.json").read_text())
    with tempfile.TemporaryDirectory() as work:
        with tarfile.open(folder / "programs.tar.xz") as archive:
            archive.extractall(work)
        variants = [
            Variant(entry["cell"], entry["hidden"], name, pathlib.Path(work) / entry["program"])
            for entry in manifest["programs"]
            for name in entry["variants"]
        ]
        yield manifest, variants, pathlib.Path(work)


def add_options(parser: argparse.ArgumentParser):
    add = parser.add_argument
    add("--compiler", default=str(HERE.parents[1] / "build/bin/bppsa-compile"))
    add("--gpu-arch", default="sm_90", help="--compile: as for bppsa-compile (default sm_90)")
    add("--plans", type=lambda text: tuple(text.split(",")), default=PLANS, help="scan plans")
