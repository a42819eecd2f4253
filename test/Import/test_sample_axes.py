"""Batch axes found by data flow analysis are batch axes in ONNX Runtime.

A permutation of samples permutes the results, and a change of one sample does not change the
results of the others.
"""

import re

import harness
import numpy as np
import onnx_cases
import pytest
import test_forward
from loop_models import body, node, scan
from onnx import TensorProto, helper, numpy_helper

ALL = {case.name: case for case in onnx_cases.all_cases() if case.model.graph.input}
ARRAY = re.compile(r'\{([^{}]*bppsa\.(?:input|output) = "([^"]*)"[^{}]*)\}')


def layouts(case, directory):
    """Yields each layout, which maps arrays to batch axes, and whether it mixes samples."""
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


# The layouts of some cases, so that the previous test cannot pass without finding any.
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


# --- axes that data flow does not determine
# ---------------------------------------------------------


def states_first():
    """A simplified sLSTM loop whose states [2, B, H] come first and are initially zero."""
    cell = [node("Gather", "s zero", "h", axis=0), node("Gather", "s one", "m", axis=0),
            node("MatMul", "h R", "a"), node("Add", "a xt", "g"), node("Max", "g m", "mo"),
            node("Sub", "g mo", "d"), node("Exp", "d", "ho"), node("Unsqueeze", "ho axis", "hu"),
            node("Unsqueeze", "mo axis", "mu"), node("Concat", "hu mu", "so", axis=0),
            node("Identity", "so", "yt")]  # fmt: skip
    nodes = [node("Shape", "x", "size", start=1, end=2), node("Concat", "two size width", "dims", axis=0),
             helper.make_node("ConstantOfShape", ["dims"], ["s0"]),
             scan(body(cell, "s xt", "so yt"), "s0 x", "last states", 1),
             node("Gather", "states zero", "y", axis=1)]  # fmt: skip
    arrays = dict(zero=np.int64(0), one=np.int64(1), axis=np.array([0]), two=np.array([2]), width=np.array([3]))
    arrays["R"] = np.random.default_rng(1).normal(size=(3, 3)).astype(np.float32)
    infos = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["T", "B", 3])]
    outputs = [
        helper.make_tensor_value_info("y", TensorProto.FLOAT, ["T", "B", 3]),
        helper.make_tensor_value_info("states", TensorProto.FLOAT, ["T", 2, "B", 3]),
    ]
    tensors = [numpy_helper.from_array(np.asarray(a), n) for n, a in arrays.items()]
    graph = helper.make_graph(nodes, "graph", infos, outputs, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_undetermined_axes_are_named(tmp_path):
    source, program = tmp_path / "model.onnx", tmp_path / "program"
    source.write_bytes(states_first().SerializeToString())
    done = harness.run(
        harness.require_tool("bppsa-compile"), source, "-o", program, "--loss=mse", "--mcpu=native", "-O0"
    )
    harness.check_succeeded(done)
    assert "note" in done.stderr and "`train` and `eval` need --batch-axis=x:1" in done.stderr
    rng = np.random.default_rng(2)
    data = tmp_path / "data.npz"
    np.savez(data, **{n: rng.normal(size=(4, 6, 3)).astype(np.float32) for n in ("x", "target")})
    train = [program, "train", "--data", data, "--batch", "2", "--quiet"]
    refused = harness.run(*train)
    assert refused.returncode == 1
    assert "--batch-axis=x:1 (axis 1 of input 'x', [T, B, 3])" in refused.stderr
    harness.check_succeeded(harness.run(*train, "--batch-axis=x:1"))
