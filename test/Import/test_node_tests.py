"""ONNX's own tests of operators that are not covered one by one elsewhere, by the reference interpreter."""

import re
import warnings

import harness
import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx_case import Case, floats, op_case
from test_forward import expected, interpret

# Families of tests, and why some of each are refused.
FAMILIES = {
    "test_resize": r"antialias|tf_crop_and_resize|tf_half_pixel_for_nn|not_larger|not_smaller",
    "test_nllloss": "^$",
    "test_sce": "^$",
    "test_rotary_embedding": "^$",
}

# Where sizes are rounded, their expected values take the corners of sizes that are not; ONNX Runtime
# takes those of the result, as the text of the operator has it.
UNROUNDED = ("test_resize_downsample_scales_cubic_align_corners", "test_resize_downsample_scales_linear_align_corners")


def node_tests():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from tests of other operators, on purpose
        from onnx.backend.test.case.node import collect_testcases

        cases = collect_testcases(None)
    # The expanded ones show how other operators make the same.
    return {c.name: c for c in cases if c.name.startswith(tuple(FAMILIES)) and "_expanded" not in c.name}


TESTS = node_tests()


def fix_settings(test):
    """The model with its inputs after the first as initializers, which exporters write; and its arrays."""
    model = onnx.ModelProto()
    model.CopyFrom(test.model)
    inputs, outputs = test.data_sets[0]
    values = dict(zip([i.name for i in model.graph.input], map(np.asarray, inputs), strict=True))
    for info in list(model.graph.input)[1:]:
        model.graph.initializer.append(numpy_helper.from_array(values.pop(info.name), info.name))
        model.graph.input.remove(info)
    return Case(test.name, model, values), outputs


def is_refused(name):
    return any(name.startswith(family) and re.search(reason, name) for family, reason in FAMILIES.items())


@pytest.mark.parametrize("name", sorted(name for name in TESTS if not is_refused(name)))
def test_node_test(name, tmp_path):
    case, outputs = fix_settings(TESTS[name])
    if name in UNROUNDED:
        outputs = expected(case)
    for found, wanted in zip(interpret(case, tmp_path), outputs, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=max(TESTS[name].rtol, 2e-5), atol=2e-5)


@pytest.mark.parametrize("name", sorted(filter(is_refused, TESTS)))
def test_refusal(name, tmp_path):
    case, _ = fix_settings(TESTS[name])
    (tmp_path / "model.onnx").write_bytes(case.model.SerializeToString())
    translate = harness.require_tool("bppsa-translate")
    refused = harness.run(translate, "--import-onnx", tmp_path / "model.onnx")
    assert refused.returncode == 1
    assert len(refused.stderr.splitlines()) == 1 and ", accepted: " in refused.stderr


def test_accepted_share():
    """Most of what ONNX tests is accepted."""
    for family in FAMILIES:
        names = [name for name in TESTS if name.startswith(family)]
        assert names and sum(map(is_refused, names)) <= 0.45 * len(names)


@pytest.mark.parametrize("op", ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
def test_class_out_of_range(op, tmp_path):
    """No other class is taken for one that is out of range; an ignored one counts nothing."""
    for label in (-1, 3, 7):
        arrays = {"x": floats(2, 3), "t": np.array([1, label])}
        (loss,) = interpret(op_case(op, arrays, reduction="none"), tmp_path)
        assert np.isfinite(loss[0]) and np.isnan(loss[1])
        (loss,) = interpret(op_case(op, arrays, reduction="none", ignore_index=label), tmp_path)
        assert np.isfinite(loss[0]) and loss[1] == 0
