"""Random convolutions and pools: values against ONNX Runtime, gradients against float64 JAX."""

import pathlib
import sys
import tempfile

import harness
import numpy as np
import onnx_in_jax
import onnxruntime
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import helper, numpy_helper

sys.path.insert(0, str(harness.ROOT / "test" / "Differentiation"))

import gradients

OPSET = 19


@st.composite
def windows(draw, op):
    """Draws the shape of x, the attributes and, for Conv, the number of features."""
    rank = draw(st.integers(1, 2))
    integers = lambda low, high, count=rank: draw(
        st.lists(st.integers(low, high), min_size=count, max_size=count)
    )
    kernel, strides, dilations = integers(1, 4), integers(1, 3), integers(1, 3)
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    attrs = {"strides": strides, "dilations": dilations, "kernel_shape": kernel}
    attrs["auto_pad"] = draw(st.sampled_from(["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]))
    if attrs["auto_pad"] == "NOTSET":
        # ONNX Runtime requires pads of pools to be smaller than the kernel.
        attrs["pads"] = [draw(st.integers(0, kernel[i % rank] - 1)) for i in range(2 * rank)]
    if attrs["auto_pad"].startswith("SAME"):
        # ONNX Runtime rejects dilations, and strides that skip elements.
        attrs["dilations"] = [1] * rank
        attrs["strides"] = [min(s, k) for s, k in zip(strides, kernel)]
    sizes = [span + extra for span, extra in zip(spans, integers(0, 5))]
    group, channels = (draw(st.integers(1, 3)), draw(st.integers(1, 2))) if op == "Conv" else (1, 3)
    features = None
    if op == "Conv":
        attrs["group"] = group
        features = group * draw(st.integers(1, 3))
    elif attrs["auto_pad"] == "NOTSET":
        attrs["ceil_mode"] = draw(st.integers(0, 1))
    if op == "AveragePool":
        attrs["count_include_pad"] = draw(st.integers(0, 1))
    return (draw(st.integers(1, 3)), group * channels, *sizes), attrs, features


def build(op, shape, attrs, features, rng):
    weights = []
    if features:
        channels = shape[1] // attrs["group"]
        weights = [("w", (features, channels, *attrs["kernel_shape"])), ("b", (features,))]
    arrays = {name: rng.standard_normal(size).astype(np.float32) for name, size in weights}
    node = helper.make_node(op, ["x", *arrays], ["y"], **attrs)
    graph = helper.make_graph(
        [node],
        "window",
        [helper.make_tensor_value_info("x", 1, ["N", *shape[1:]])],
        [helper.make_tensor_value_info("y", 1, None)],
        [numpy_helper.from_array(a, n) for n, a in arrays.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    return model, arrays


def check(op, case, seed):
    shape, attrs, features = case
    rng = np.random.default_rng(seed)
    model, weights = build(op, shape, attrs, features, rng)
    x = rng.standard_normal(shape).astype(np.float32)
    (expected,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    arrays = {"x": x, "target": rng.standard_normal(expected.shape).astype(np.float32)}
    (y,) = onnx_in_jax.outputs(model, {"x": x}, np.float64).values()
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)  # the references agree
    exact = onnx_in_jax.gradients(model, arrays, "mse", np.float64)

    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        (directory / "model.onnx").write_bytes(model.SerializeToString())
        translate = harness.require_tool("bppsa-translate")
        source = gradients.check(harness.run(translate, "--import-onnx", directory / "model.onnx"))
        module = gradients.Module(directory, source, ["--bppsa-add-loss=loss=mse", "--canonicalize"])
        inputs = [x, *weights.values()]
        (found,) = module.call("forward", inputs)
        np.testing.assert_allclose(found, y, rtol=1e-9, atol=1e-9)
        loss, *grads = module.call("grad", [*inputs, arrays["target"]])
    np.testing.assert_allclose(loss, exact["loss"], rtol=1e-9)
    for key, grad in zip(["x", *weights], grads, strict=True):
        np.testing.assert_allclose(grad, exact[key], rtol=1e-8, atol=1e-10, err_msg=key)


def property_test(op, examples):
    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(windows(op), st.integers(0, 2**31))
    def test(case, seed):
        check(op, case, seed)

    return test


test_conv = property_test("Conv", 25)
test_max_pool = property_test("MaxPool", 20)
test_average_pool = property_test("AveragePool", 20)
