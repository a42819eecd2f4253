"""Runs @main of an IR string with bppsa-interpret."""

import harness
import numpy as np


def interpret(tmp_path, ir, *arrays, save=np.savez, **named):
    """Returns the results of @main and the completed process."""
    tool = harness.require_tool("bppsa-interpret")
    (tmp_path / "in.mlir").write_text(ir)
    given = {f"arg{i}": array for i, array in enumerate(arrays)} | named
    command = [tool, tmp_path / "in.mlir"]
    if given:
        save(tmp_path / "in.npz", **given)
        command += ["--inputs", tmp_path / "in.npz"]
    done = harness.run(*command, "--outputs", tmp_path / "out.npz")
    if done.returncode != 0:
        return [], done
    with np.load(tmp_path / "out.npz") as loaded:
        return [loaded[f"res{i}"] for i in range(len(loaded.files))], done


def run(tmp_path, ir, *arrays, **options):
    results, done = interpret(tmp_path, ir, *arrays, **options)
    harness.check_succeeded(done)
    return results


def refusal(tmp_path, ir, *arrays, **named):
    _, done = interpret(tmp_path, ir, *arrays, **named)
    assert done.returncode == 1
    return done.stderr
