"""Compiled models with Scan and Loop: outputs against ONNX Runtime, gradients against JAX."""

import warnings

import harness
import loop_models
import numpy as np
import onnx
import onnxruntime
import pytest
import references
from onnx import TensorProto, helper, numpy_helper
from test_forward import expected

NAMES = """
    scan-fixed scan-symbolic scan-one-step scan-reverse scan-directions-10 scan-negative-axes
    scan-several-symbolic scan-captured scan-mixing scan-reshape scan-stateless scan-nested-symbolic
    loop-number-symbolic loop-gather-0 loop-gather-1-size loop-unrolled loop-zero
""".split()


def check(model, arrays, *options, wanted=None):
    output = model.graph.output[-1].name
    flags = ["--loss=mse", f"--loss-on={output}", *options]
    program = harness.compile_model(model, *flags)
    bound = [o.split("=")[1] for o in options if o.startswith("--bind")]
    given = {name: array for name, array in arrays.items() if name not in bound}
    found = program.infer(given)
    for info, array in zip(model.graph.output, wanted, strict=True):
        np.testing.assert_allclose(found[info.name], array, rtol=2e-5, atol=2e-6)
    noise = np.random.default_rng(8).normal(0, 1, wanted[-1].shape).astype(np.float32)
    arrays = arrays | {"target": wanted[-1] + noise}
    exact, single = references.gradients(model, arrays, "mse", output)
    harness.check_gradients(program.grad(given | {"target": arrays["target"]}), exact, single)


@pytest.mark.parametrize("name", NAMES)
def test_case(name):
    case = loop_models.ALL[name]
    check(case.model, case.arrays, wanted=expected(case))


def move_inside(model, pack):
    """Moves the initializers of a model into the body of its first node."""
    moved = onnx.ModelProto()
    moved.CopyFrom(model)
    (body,) = [attribute.g for attribute in moved.graph.node[0].attribute if attribute.HasField("g")]
    for tensor in moved.graph.initializer:
        body.initializer.append(pack(numpy_helper.to_array(tensor), tensor.name))
    del moved.graph.initializer[:]
    return moved, body


def as_floats(array, name):
    return helper.make_tensor(name, TensorProto.FLOAT, array.shape, array.ravel())


@pytest.mark.parametrize("pack", [numpy_helper.from_array, as_floats])
def test_parameters_of_bodies_are_trained(pack, tmp_path):
    """Parameters in loop bodies have the right gradients; the saved body has their new values."""
    case = loop_models.ALL["scan-symbolic"]
    moved, body = move_inside(case.model, pack)
    before = {t.name: numpy_helper.to_array(t) for t in body.initializer}
    program = harness.compile_model(moved, "--loss=mse", "--loss-on=y")
    assert {i["name"] for i in program.info()["initializers"] if i["trained"]} == set(before)
    wanted = expected(case)[-1]
    noise = np.random.default_rng(8).normal(0, 1, wanted.shape).astype(np.float32)
    arrays = case.arrays | {"target": wanted + noise}
    exact, single = references.gradients(case.model, arrays, "mse", "y")
    harness.check_gradients(program.grad(arrays), exact, single)

    data, saved = tmp_path / "data.npz", tmp_path / "saved.onnx"
    np.savez(data, **arrays)
    words = ["--data", data, "--epochs", 3, "--lr", 0.1, "--save", saved]
    harness.check_succeeded(program.run("train", *words))
    model = onnx.load(saved)
    (body,) = [a.g for a in model.graph.node[0].attribute if a.HasField("g")]
    for tensor in body.initializer:
        assert np.abs(numpy_helper.to_array(tensor) - before[tensor.name]).min() > 1e-4, tensor.name
    found = harness.compile_model(model, "--loss=mse", "--loss-on=y").infer(case.arrays)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for name, array in zip(("hn", "y"), session.run(None, case.arrays), strict=True):
        np.testing.assert_allclose(found[name], array, rtol=2e-5, atol=2e-6)


def node_tests():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # collecting tests of other operators causes warnings
        from onnx.backend.test.case.node import collect_testcases

        cases = collect_testcases(None)
    names = ("test_scan9_sum", "test_scan9_multi_state", "test_scan9_scalar", "test_loop11")
    return {c.name: c for c in cases if c.name in names}


@pytest.mark.parametrize("name", sorted(node_tests()))
def test_node_test(name):
    """Covers all ONNX node tests of Scan (opset 9 and later) and of Loop with a trip count."""
    test = node_tests()[name]
    inputs, outputs = test.data_sets[0]
    arrays = dict(zip([i.name for i in test.model.graph.input], map(np.asarray, inputs)))
    bound = [n for n in ("trip_count", "cond") if n in arrays]
    options = [f"--bind={n}={arrays[n].item()}".lower() for n in bound]
    check(test.model, arrays, *options, wanted=outputs)


@pytest.mark.parametrize("name", NAMES)
def test_emulated_gpu(name):
    case = loop_models.ALL[name]
    check(case.model, case.arrays, "--target=cuda", "--emulate", wanted=expected(case))
