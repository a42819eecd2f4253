"""Compiles random loops, and checks the outputs and gradients of some of them.

BPPSA_LOOP_SEED=N reruns one loop; BPPSA_LOOP_COUNT=N and BPPSA_LOOP_CHECKS=N run more of them.
Outputs are compared with ONNX Runtime. Gradients are compared with finite differences of the
loss, which bppsa-interpret evaluates in float64 from the IR before differentiation.
"""

import os
import re

import harness
import numpy as np
import onnx
import onnxruntime
import pytest
import random_loops

SEED = os.environ.get("BPPSA_LOOP_SEED")
COUNT = int(os.environ.get("BPPSA_LOOP_COUNT", "500"))
CHECKS = int(os.environ.get("BPPSA_LOOP_CHECKS", "8"))
# Several loops in one model share the fixed cost of a compilation.
GROUP = 20
ROLES = re.compile(r'bppsa\.(?:input|parameter|target) = "([^"]*)"|bppsa\.(target|weight)\b')


def compile_group(seeds, directory, *options):
    """Compiles a model with one loop per seed."""
    source = directory / "model.onnx"
    onnx.save(random_loops.make(seeds).model, source)
    compiler = harness.require_tool("bppsa-compile")
    command = [compiler, source, "--loss=mse", "--mcpu=native", "-O0", "--compile-to=lower"]
    verifier = harness.choose_verifier(f"{seeds[0]:x}")
    return harness.run(*command, "-o", directory / "out", *options, env=verifier)


def check_group(seeds, directory):
    done = compile_group(seeds, directory)
    if done.returncode == 0:
        return
    for seed in seeds:
        single = compile_group([seed], directory)
        assert single.returncode == 0, f"BPPSA_LOOP_SEED={seed}: status {single.returncode}: {single.stderr[-2000:]}"
    raise AssertionError(f"seeds {seeds} fail in one model only: {done.stderr[-2000:]}")


def groups():
    seeds = [int(SEED)] if SEED else range(COUNT)
    alike = [[s for s in seeds if random_loops.has_symbols(s) == symbols] for symbols in (True, False)]
    return [some[i : i + GROUP] for some in alike for i in range(0, len(some), GROUP)]


@pytest.mark.parametrize("seeds", groups(), ids=lambda seeds: f"from-{seeds[0]}")
def test_random_loops_compile(seeds, tmp_path):
    check_group(seeds, tmp_path)


class Loss:
    """Evaluates the loss of a model in float64 with the interpreter."""

    def __init__(self, made, directory):
        self.directory, self.ir = directory, directory / "loss.mlir"
        source = directory / "model.onnx"
        onnx.save(made.model, source)
        compiler = harness.require_tool("bppsa-compile")
        options = ["--loss=mse", "--emit=mlir", "--compile-to=loss", "-o", self.ir]
        harness.check_succeeded(harness.run(compiler, source, *options))
        (line,) = re.findall(r"func\.func (?:private )?@loss\((.*)\{$", self.ir.read_text(), re.M)
        arguments = re.split(r"(?:^|(?<=\}))\) -> ", line, maxsplit=1)[0]
        self.names = [next(filter(None, ROLES.search(a).groups())) for a in re.split(r", (?=%arg)", arguments)]

    def __call__(self, arrays):
        given = {f"arg{i}": arrays[name] for i, name in enumerate(self.names)}
        np.savez(self.directory / "in.npz", **given)
        files = ["--inputs", self.directory / "in.npz", "--outputs", self.directory / "out.npz"]
        interpreter = harness.require_tool("bppsa-interpret")
        harness.check_succeeded(harness.run(interpreter, self.ir, "--function=loss", *files))
        with np.load(self.directory / "out.npz") as loaded:
            return float(loaded["res0"].item())


def run_by_onnxruntime(made):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(made.model.SerializeToString(), options)
    return session.run(None, made.arrays)[0]


@pytest.mark.parametrize("seed", [int(SEED)] if SEED else range(CHECKS))
def test_outputs_and_gradients(seed, tmp_path):
    made = random_loops.make([seed])
    exact = run_by_onnxruntime(made)
    program = harness.compile_model(made.model, "--loss=mse", "-O0")
    np.testing.assert_allclose(program.infer(made.arrays)["y"], exact, rtol=1e-4, atol=1e-5)
    target = np.zeros_like(exact)
    found = program.grad(made.arrays | {"target": target})
    weights = {t.name: onnx.numpy_helper.to_array(t) for t in made.model.graph.initializer}
    arrays = weights | made.arrays | {"target": target, "weight": np.ones_like(exact)}
    arrays = {n: a.astype(np.float64) if a.dtype == np.float32 else a for n, a in arrays.items()}
    loss, step = Loss(made, tmp_path), 1e-6
    assert found.pop("loss") == pytest.approx(loss(arrays), rel=1e-4, abs=1e-6)
    rng = np.random.default_rng(seed)
    directions = {name: rng.normal(size=value.shape) for name, value in found.items()}
    ends = [loss(arrays | {n: arrays[n] + s * step * d for n, d in directions.items()}) for s in (1, -1)]
    slope = sum(float((found[n] * d).sum()) for n, d in directions.items())
    size = max(np.sqrt(sum(float((g.astype(np.float64) ** 2).sum()) for g in found.values())), 1e-4)
    assert abs((ends[0] - ends[1]) / (2 * step) - slope) < 2e-3 * size
