"""The compiler's IR, run in float64 by the reference interpreter, against float64 JAX.

Both sides are exact up to double-precision rounding, so even a small wrong term shows. The tests
run the IR after differentiation (`bppsa.chain`) and after planning (`bppsa.chain plan <...>`).
"""

import re

import harness
import losses_in_jax
import models
import numpy as np
import pytest
import references
import specs

SIZES = {"T": 6, "B": 3}
ROLES = re.compile(r"bppsa\.(input|parameter|gradient|target|weight|loss|correct)\b(?: = \"([^\"]*)\")?")


def signature(text, function):
    """Returns the roles of the arguments and results of a function, in order: [(kind, name)]."""
    (line,) = re.findall(rf"^ *func\.func @{function}\((.*)\{{$", text, re.M)
    arguments, _, results = line.partition("}) -> (tensor")
    return ROLES.findall(arguments), ROLES.findall(results)


def interpret(tmp_path, model, arrays, function, *options, rewrite=None):
    """Returns the results of a function of the emitted IR by the names that the trainer uses.

    `rewrite` may change the IR first.
    """
    interpreter = harness.require_tool("bppsa-interpret")
    compiler = harness.require_tool("bppsa-compile")
    source, ir = tmp_path / "model.onnx", tmp_path / "model.mlir"
    source.write_bytes(model.SerializeToString())
    command = [compiler, source, "--emit=mlir", f"--loss={specs.LOSS}", "-o", ir, *options]
    harness.check_succeeded(harness.run(*command))
    if rewrite:
        rewrite(ir)

    roles, results = signature(ir.read_text(), function)
    parameters = {t.name: models.numpy_helper.to_array(t) for t in model.graph.initializer}
    weight = losses_in_jax.position_weights(model, arrays)
    values = {"target": arrays["target"]}
    values["weight"] = np.ones(arrays["target"].shape) if weight is None else weight
    values.update(parameters | arrays)
    given = {
        f"arg{i}": values[kind if kind in ("target", "weight") else name]
        for i, (kind, name) in enumerate(roles)
    }
    np.savez(tmp_path / "in.npz", **given)
    found = tmp_path / "out.npz"
    run = harness.run(
        interpreter,
        ir,
        f"--function={function}",
        "--inputs",
        tmp_path / "in.npz",
        "--outputs",
        found,
    )
    harness.check_succeeded(run)
    with np.load(found) as loaded:
        return {
            "loss" if kind == "loss" else name: loaded[f"res{i}"]
            for i, (kind, name) in enumerate(results)
        }


def check(found, exact):
    assert set(found) <= set(exact)
    for name, value in found.items():
        np.testing.assert_allclose(value, exact[name], rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("spec", specs.feature_specs(), ids=specs.identifier)
def test_differentiated_graph(spec, tmp_path):
    model = models.build(spec)
    arrays = models.data(model, SIZES, specs.LOSS)
    exact, _ = references.gradients(model, arrays, specs.LOSS)
    options = ["--compile-to=differentiate", "--backward=sequential"]
    found = interpret(tmp_path, model, arrays, "grad_sequential", *options)
    assert set(found) == set(exact)
    check(found, exact)


@pytest.mark.parametrize(
    "plan", ["linear", "blelloch", "hybrid:1", "hybrid:3", "chunked:1", "chunked:4", "chunked:9"]
)
@pytest.mark.parametrize("cell", ["RNN", "GRU", "LSTM"])
def test_scan(cell, plan, tmp_path):
    model = models.build(models.Spec(cell, direction="bidirectional", head="steps"))
    arrays = models.data(model, {"T": 11, "B": 2}, specs.LOSS)
    exact, _ = references.gradients(model, arrays, specs.LOSS)
    options = ["--compile-to=scan", "--backward=scan", f"--scan={plan}"]
    check(interpret(tmp_path, model, arrays, "grad_scan", *options), exact)


# Declaration of the runtime function that returns the segment length, and a definition for it.
DECLARED = re.compile(r"func\.func private @bppsa_rt_recomputed_steps\(.*\n")
ANSWER = """func.func private @bppsa_rt_recomputed_steps(%a: index, %b: index, %c: index, %d: index,
    %e: index, %f: index) -> index {{
  %steps = arith.constant {} : index
  return %steps : index
}}
"""
RECOMPUTED = {
    "gru": models.Spec("GRU", head="steps"),
    "lstm": models.Spec("LSTM", initial="parameter"),
    "lstm-both-ways": models.Spec("LSTM", direction="bidirectional", head="steps"),
    "rnn-two-layers": models.Spec("RNN", layers=2),
}


@pytest.mark.parametrize("steps", [1, 3, 4, 11, 32])
@pytest.mark.parametrize("name", RECOMPUTED)
def test_recomputed_steps(name, steps, tmp_path):
    """Recomputed segments of any length match JAX and the loops over all steps.

    The batch does not fill a vector.
    """
    model = models.build(RECOMPUTED[name])
    arrays = models.data(model, {"T": 11, "B": 5}, specs.LOSS)
    exact, _ = references.gradients(model, arrays, specs.LOSS)
    passes = ["--bppsa-choose-cpu-mapping=lanes=4", "--bppsa-pack-batch", "--canonicalize", "--cse"]

    def pack(ir, *more):
        optimizer = harness.require_tool("bppsa-opt")
        done = harness.run(optimizer, ir, *passes, *more)
        ir.write_text(harness.check_succeeded(done).stdout)

    def recompute(ir):
        pack(ir, "--bppsa-recompute-steps=memory-limit=1000", "--canonicalize", "--cse")
        text, count = DECLARED.subn(ANSWER.format(steps), ir.read_text())
        assert count == 1 and "bppsa.add_to_sums" in text and "bppsa.finish_sums" in text
        ir.write_text(text)

    options = ["--compile-to=differentiate", "--backward=sequential"]
    whole = interpret(tmp_path, model, arrays, "grad_sequential", *options, rewrite=pack)
    found = interpret(tmp_path, model, arrays, "grad_sequential", *options, rewrite=recompute)
    assert set(found) == set(whole) == set(exact)
    check(whole, exact)
    check(found, exact)
    for gradient, value in found.items():
        np.testing.assert_allclose(value, whole[gradient], rtol=1e-12, atol=1e-14)
