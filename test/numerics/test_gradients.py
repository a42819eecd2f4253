"""Gradients of compiled programs against float64 JAX, for every feature of the models."""

import harness
import models
import numpy as np
import onnxruntime
import pytest
import references
import specs

SIZES = {"T": 6, "B": 5}


@pytest.mark.parametrize("backward", ["sequential", "scan"])
@pytest.mark.parametrize("spec", specs.feature_specs(), ids=specs.identifier)
def test_feature(spec, backward):
    model = models.build(spec)
    arrays = models.data(model, SIZES, specs.LOSS)
    program = harness.compile_model(model, f"--loss={specs.LOSS}")
    exact, single = references.gradients(model, arrays, specs.LOSS)
    harness.check_gradients(program.grad(arrays, f"--backward={backward}"), exact, single)


@pytest.mark.parametrize("spec", specs.feature_specs(), ids=specs.identifier)
def test_outputs(spec):
    model = models.build(spec)
    arrays = models.data(model, SIZES, "none")
    found = harness.compile_model(model, f"--loss={specs.LOSS}").infer(arrays)
    if (
        spec.layout == 1
    ):  # ONNX Runtime does not support layout 1; test_reference.py checks the reference
        expected = references.onnx_in_jax.outputs(model, arrays, np.float64)
    else:
        session = onnxruntime.InferenceSession(model.SerializeToString())
        expected = dict(zip([o.name for o in model.graph.output], session.run(None, arrays)))
    assert set(found) == set(expected)
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-5, atol=2e-6, err_msg=name)


@pytest.mark.parametrize("backward", ["sequential", "scan"])
@pytest.mark.parametrize("head", ["last", "steps"])
@pytest.mark.parametrize("cell", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("loss", ["cross-entropy", "nll", "mse", "l1", "huber", "bce-with-logits"])
def test_loss(loss, cell, head, backward):
    model = models.build(models.Spec(cell, head=head))
    arrays = models.data(model, SIZES, loss)
    program = harness.compile_model(model, f"--loss={loss}")
    exact, single = references.gradients(model, arrays, loss)
    harness.check_gradients(program.grad(arrays, f"--backward={backward}"), exact, single)


@pytest.mark.parametrize("cpu", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("cell", ["RNN", "GRU", "LSTM"])
def test_instruction_set(cell, cpu):
    with open("/proc/cpuinfo") as file:
        flags = file.read()
    needed = {"x86-64-v2": "sse4_2", "x86-64-v3": "avx2", "x86-64-v4": "avx512vl"}[cpu]
    if needed not in flags:
        pytest.skip(f"this machine has no {needed}")
    model = models.build(models.Spec(cell, hidden=20))
    arrays = models.data(model, {"T": 33, "B": 17}, specs.LOSS)
    program = harness.compile_model(model, f"--loss={specs.LOSS}", f"--mcpu={cpu}")
    exact, single = references.gradients(model, arrays, specs.LOSS)
    for backward in ("sequential", "scan"):
        found = program.grad(arrays, f"--backward={backward}")
        harness.check_gradients(found, exact, single, backward)


@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2"])
def test_optimization_level(level):
    model = models.build(models.Spec("GRU"))
    arrays = models.data(model, SIZES, specs.LOSS)
    program = harness.compile_model(model, f"--loss={specs.LOSS}", level)
    exact, single = references.gradients(model, arrays, specs.LOSS)
    harness.check_gradients(program.grad(arrays), exact, single)
