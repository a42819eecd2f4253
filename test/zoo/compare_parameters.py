"""Compares the arrays trained by a program with the parameters of the original PyTorch module.

Exports the zoo and the modules of ordinary_modules.py with both exporters, with and without the
exporter's optimizer, with initial and with random weights. The values of all trained arrays must
equal those of module.parameters(), each with the same multiplicity; a compiler warning must name
each exception. Two epochs of AdamW must leave all other initializers unchanged bit for bit.

Run in an environment with torch and onnxscript:

    python compare_parameters.py --bin build/bin [--work DIR] [--jobs N] [NAME ...]
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings
import zlib

import export_zoo
import numpy as np
import onnx
import torch
from onnx import numpy_helper
from ordinary_modules import MODULES
from zoo_models import ZOO

EXPORTERS = ("torchscript", "dynamo")


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    exporter: str
    optimized: bool
    fresh: bool

    def __str__(self):
        return f"{self.name}_{self.exporter}_{'optimized' if self.optimized else 'plain'}_{'fresh' if self.fresh else 'random'}"


def all_cases(names):
    for name in names or [*ZOO, *MODULES]:
        exporters = ZOO[name].exporters if name in ZOO else EXPORTERS
        for exporter, optimized, fresh in itertools.product(exporters, (True, False), (True, False)):
            yield Case(name, exporter, optimized, fresh)


# --- Export -------------------------------------------------------------------------------------


def make_module(case):
    """Returns the module and its inputs by name."""
    torch.manual_seed(zlib.crc32(case.name.encode()))
    if case.name in ZOO:
        module, arrays = export_zoo.make_network(case.name).eval(), export_zoo.tensors(case.name, torch.float32)
        inputs = {key: arrays[key] for key in ZOO[case.name].inputs}
    else:
        build, make_input = MODULES[case.name]
        module, inputs = build().eval(), {"x": make_input()}
    if not case.fresh:
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.uniform_(0.05, 0.6).mul_(torch.randint(0, 2, parameter.shape) * 2 - 1)
            for key, buffer in module.named_buffers():
                if key.endswith(("running_mean", "running_var")):
                    buffer.uniform_(0.5, 1.5)
    return module, inputs


def find_batch_axis(case):
    return 1 if case.name == "lstm_both" else 0


def export(case, directory):
    """Writes the model, its parameters and data for it."""
    module, inputs = make_module(case)
    path, arguments = directory / f"{case}.onnx", tuple(inputs.values())
    names = {"input_names": list(inputs), "output_names": ["out"]}
    if case.exporter == "torchscript":
        torch.onnx.export(
            module, arguments, path, dynamo=False, do_constant_folding=case.optimized, opset_version=17, **names
        )
    else:
        batch = torch.export.Dim("N", min=2)
        torch.onnx.export(
            module, arguments, path, dynamo=True, optimize=case.optimized, external_data=False, verbose=False,
            dynamic_shapes=tuple({find_batch_axis(case): batch} for _ in arguments), **names,
        )  # fmt: skip
    with torch.no_grad():
        out = module(*arguments)
    parameters = {key: value.detach().numpy() for key, value in module.named_parameters()}
    np.savez(directory / f"{case}.parameters.npz", **parameters)
    arrays = {key: value.numpy() for key, value in inputs.items()}
    np.savez(directory / f"{case}.data.npz", **arrays, target=np.zeros(out.shape, np.float32))


def export_all(cases, directory):
    """Exports the cases missing in `directory`. Returns the reasons for failed exports."""
    failures = {}
    for case in cases:
        if (directory / f"{case}.data.npz").exists():
            continue
        try:
            export(case, directory)
        except Exception as error:
            failures[case] = str(error).strip().splitlines()[0]
    return failures


# --- Comparison ---------------------------------------------------------------------------------


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True)


def read_initializers(path):
    """Returns the initializers of a graph and of its nested graphs by name."""
    arrays = {}

    def visit(graph):
        arrays.update((tensor.name, numpy_helper.to_array(tensor)) for tensor in graph.initializer)
        for attribute in (attribute for node in graph.node for attribute in node.attribute):
            for inner in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                visit(inner)

    visit(onnx.load(path).graph)
    return arrays


def count_values(arrays):
    values = collections.Counter()
    for array in arrays.values():
        values.update(np.ascontiguousarray(array, np.float32).ravel().tolist())
    return values


def find_unnamed(arrays, values, said):
    """Returns the arrays that contain some of `values` and that no warning names."""
    named = {name: array for name, array in arrays.items() if f"'{name}'" in said}
    values = values - count_values(named)
    return [
        name
        for name, array in arrays.items()
        if name not in named and not values.keys().isdisjoint(np.ravel(array).tolist())
    ]


def find_unused_parts(parameters, trained):
    """Returns the parts of parameters that the graph does not read, if it reads a slice of them."""
    values = count_values(trained)
    parts = {}
    for name, array in parameters.items():
        unused = np.array([value for value in np.ravel(array).tolist() if value not in values], np.float32)
        if 0 < unused.size < array.size:
            parts[name] = unused
    return parts


def compare(parameters, trained, said):
    """Returns the differences without a warning, or an empty string. `said` has the warnings."""
    wanted, found = count_values(parameters), count_values(trained)
    missing, extra = wanted - found, found - wanted
    problems = []
    if "removed zero biases" in said:
        missing.pop(0, None)
    # The TorchScript exporter does not keep the names of fused parameters.
    if "(computed for " in said:
        missing.clear()
    missing -= count_values(find_unused_parts(parameters, trained))
    if names := find_unnamed(parameters, missing, said):
        problems.append("not trained: " + ", ".join(names))
    if names := find_unnamed(trained, extra, said):
        problems.append("trained, but no parameters: " + ", ".join(names))
    return "; ".join(problems)


def data_options(case, directory):
    """Uses one batch, because the TorchScript exporter makes the batch size static."""
    data = directory / f"{case}.data.npz"
    with np.load(data) as arrays:
        name = "x" if "x" in arrays else arrays.files[0]
        samples = arrays[name].shape[find_batch_axis(case)]
    return ["--data", data, "--batch", samples, "--threads", 1]


def check_training(program, case, directory, entries):
    """Returns the arrays that AdamW changes although they are not trained, or an error."""
    saved = directory / f"{case}.saved.onnx"
    words = [*data_options(case, directory), "--epochs", 2, "--lr", 0.01, "--weight-decay", 0.1]
    completed = run(program, "train", *words, "--save", saved)
    if completed.returncode != 0:
        return "train: " + completed.stderr.strip().splitlines()[-1]
    before, after = read_initializers(directory / f"{case}.onnx"), read_initializers(saved)
    kept = {name for name in before if name not in entries or entries[name]["kind"] not in ("trained", "statistic")}
    changed = [name for name in kept & after.keys() if before[name].tobytes() != after[name].tobytes()]
    return "AdamW changes " + ", ".join(changed) if changed else ""


def check(case, directory, binaries, options=()):
    """Returns a verdict and its details."""
    program = directory / f"{case}.program"
    words = ["--loss=mse", "--optimizer=adamw", "-O0", "--mcpu=native", *options]
    completed = run(binaries / "bppsa-compile", directory / f"{case}.onnx", "-o", program, *words)
    lines = completed.stderr.strip().splitlines()
    if completed.returncode != 0:
        return "refused", " / ".join(line for line in lines if "error:" in line) or f"status {completed.returncode}"
    said = "\n".join(line for line in lines if "warning:" in line)
    if "look merged" in said and not options:
        return check(case, directory, binaries, ("--untie",))
    entries = {entry["name"]: entry for entry in json.loads(run(program, "info").stdout)["initializers"]}
    arrays = read_initializers(directory / f"{case}.onnx")
    trained = {name: arrays.get(name) for name, entry in entries.items() if entry["trained"]}
    unknown = [name for name, array in trained.items() if array is None]
    if unknown and not options:
        return "different", "trained, but no initializers of the file: " + ", ".join(unknown)
    if unknown:  # --untie creates names that are not in the file.
        saved, problem = read_saved(program, case, directory)
        if problem:
            return "refused", problem
        trained = {name: array for name, array in saved.items() if name in trained}
    # The warning lists only some; `info` lists all of them, with the parameters.
    if "computed initializers from parameters" in said:
        computed = ("fused with", "computed for", "folded from")
        named = [entry for entry in entries.values() if entry["reason"].startswith(computed)]
        said += "".join(f" '{entry['name']}' ({entry['reason']})" for entry in named)
    with np.load(directory / f"{case}.parameters.npz") as parameters:
        problem = compare(dict(parameters), trained, said)
    problem = "; ".join(filter(None, [problem, check_training(program, case, directory, entries)]))
    warned = sorted(set(re.findall(r"warning: \S+ (.*)", said)))
    program.unlink()
    return ("different", problem) if problem else ("warned", " / ".join(warned)) if warned else ("equal", "")


def read_saved(program, case, directory):
    """Returns the initial initializers by the program's names, or an error."""
    saved = directory / f"{case}.start.onnx"
    words = [*data_options(case, directory), "--epochs", 1, "--lr", 0]
    completed = run(program, "train", *words, "--save", saved)
    if completed.returncode != 0:
        return {}, "train: " + completed.stderr.strip().splitlines()[-1]
    return read_initializers(saved), ""


def main():
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="the directory of bppsa-compile")
    parser.add_argument("--work", type=pathlib.Path, help="keeps the exported models")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        directory = arguments.work or pathlib.Path(scratch)
        directory.mkdir(parents=True, exist_ok=True)
        cases = list(all_cases(arguments.names))
        failures = export_all(cases, directory)
        counts = collections.Counter()
        cases = [case for case in cases if case not in failures]
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            verdicts = pool.map(lambda case: check(case, directory, arguments.bin), cases)
            for case, (verdict, details) in zip(cases, verdicts):
                counts[verdict] += 1
                print(f"{case}: {verdict}{': ' if details else ''}{details}", flush=True)
    for case, reason in failures.items():
        print(f"{case}: not exported: {reason}")
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    sys.exit(any(verdict not in ("equal", "warned") for verdict in counts))


if __name__ == "__main__":
    main()
