"""Axes that carry samples by data flow do so by ONNX Runtime: samples can change places, and one
that changes does not change the results for others."""

import re

import harness
import numpy as np
import onnx_cases
import pytest
import test_forward

ALL = {case.name: case for case in onnx_cases.all_cases() if case.model.graph.input}
ARRAY = re.compile(r'\{([^{}]*bppsa\.(?:input|output) = "([^"]*)"[^{}]*)\}')


def layouts(case, directory):
    """The axis of each array in each layout, and whether samples mix in it."""
    translate = harness.require_tool("bppsa-translate")
    source, ir = directory / "model.onnx", directory / "model.mlir"
    source.write_bytes(case.model.SerializeToString())
    harness.check_succeeded(harness.run(translate, "--import-onnx", source, "-o", ir))
    text = ir.read_text()
    axes = {}
    for attributes, name in ARRAY.findall(text):
        several = re.search(r"bppsa\.batch_axes = array<i64: ([^>]*)>", attributes)
        one = re.search(r"bppsa\.batch_axis = (\d+)", attributes)
        words = several[1].split(",") if several else [one[1] if one else "-1"]
        axes[name] = [int(word) for word in words]
    count = {len(found) for found in axes.values()}
    assert len(count) == 1 and set(axes) >= {value.name for value in case.model.graph.input}
    mixing = re.search(r"bppsa\.mixing_layouts = array<i1: ([^>]*)>", text)
    mixes = [word.strip() == "true" for word in mixing[1].split(",")] if mixing else []
    for i in range(count.pop()):
        yield {name: found[i] for name, found in axes.items()}, bool(mixes) and mixes[i]


def outputs(case, arrays):
    changed = type(case)(case.name, case.model, arrays)
    names = [value.name for value in case.model.graph.output]
    return dict(zip(names, test_forward.expected(changed), strict=True))


def check_equal(found, wanted, name):
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-6, err_msg=name)


def change_places(case, axes, mixes, wanted):
    (size,) = {case.arrays[n].shape[axes[n]] for n in case.arrays if axes[n] >= 0}
    order = np.roll(np.arange(size), 1)
    turned = {
        name: array if axes[name] < 0 else array.take(order, axes[name])
        for name, array in case.arrays.items()
    }
    for name, found in outputs(case, turned).items():
        if axes[name] >= 0:
            check_equal(found, wanted[name].take(order, axes[name]), name)
        elif not mixes:
            check_equal(found, wanted[name], name)


def change_one(case, axes, chosen, wanted):
    changed = {}
    for name, array in case.arrays.items():
        changed[name] = array.copy()
        if axes[name] >= 0 and array.dtype == np.float32:
            changed[name].swapaxes(0, axes[name])[chosen] *= 1.5
    for name, found in outputs(case, changed).items():
        for values in (found, expected := wanted[name].copy()):
            if axes[name] >= 0:
                values.swapaxes(0, axes[name])[chosen] = 0
        check_equal(found, expected, name)


@pytest.mark.parametrize("name", ALL)
def test_layouts(name, tmp_path):
    case = ALL[name]
    wanted = outputs(case, case.arrays)
    for axes, mixes in layouts(case, tmp_path):
        sizes = {case.arrays[n].shape[axes[n]] for n in case.arrays if axes[n] >= 0}
        assert len(sizes) <= 1, "arrays have as many samples as others"
        if not sizes or sizes == {1}:
            continue
        size = sizes.pop()
        for output, array in wanted.items():
            assert axes[output] < 0 or array.shape[axes[output]] == size
        change_places(case, axes, mixes, wanted)
        if not mixes:
            change_one(case, axes, size - 1, wanted)


# So that the test above tests something: the layouts of a few cases.
LAYOUTS = {
    "MatMul-opset17-(5, 2, 3)x(3, 4)": [
        {"a": 0, "b": -1, "y0": 0},
        {"a": 1, "b": -1, "y0": 1},
        {"a": -1, "b": 1, "y0": 2},
    ],
    "Softmax-opset13-axis=1": [{"x": 0, "y0": 0}, {"x": 2, "y0": 2}],
    "Split-opset11-axis=2": [{"x": 0, "y0": 0, "y1": 0}, {"x": 1, "y0": 1, "y1": 1}],
    "ReduceMean-opset11-axes=[1]-keepdims=0": [{"x": 0, "y0": 0}, {"x": 2, "y0": 1}],
    "Gemm-opset17-transA=1-transB=1": [
        {"a": -1, "b": 0, "c": 0, "y0": 1},
        {"a": 1, "b": -1, "c": -1, "y0": 0},
    ],
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts_are_found(name, tmp_path):
    assert list(layouts(ALL[name], tmp_path)) == [(axes, False) for axes in LAYOUTS[name]]
