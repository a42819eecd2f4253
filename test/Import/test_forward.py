"""Imported models, run by the reference interpreter and compared with ONNX Runtime."""

import re

import harness
import numpy as np
import onnx
import onnx.reference
import onnx_cases
import onnxruntime
import pytest

ALL = {case.name: case for case in onnx_cases.all_cases()}
ROLES = re.compile(r'bppsa\.(?:input|parameter|output) = "([^"]*)"')


def test_case_names_are_distinct():
    assert len(ALL) == len(list(onnx_cases.all_cases()))


def time_major(model, arrays):
    """Converts layout 1, for which ONNX Runtime has no kernels, to layout 0."""
    node = next((n for n in model.graph.node if n.op_type in onnx_cases.GATES), None)
    layout = [a for a in node.attribute if a.name == "layout" and a.i] if node else []
    if not layout:
        return model, arrays, lambda outputs: outputs
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    (node,) = changed.graph.node
    node.attribute.remove(layout[0])
    turned = ("x", "h0", "c0")
    for info in [*changed.graph.input, *changed.graph.output]:
        if info.name in turned or info in changed.graph.output:
            info.type.tensor_type.ClearField("shape")
    arrays = {n: a.swapaxes(0, 1) if n in turned else a for n, a in arrays.items()}

    def restore(outputs):
        every, *last = outputs
        return [every.transpose(2, 0, 1, 3), *(a.transpose(1, 0, 2) for a in last)]

    return changed, arrays, restore


def expected(case):
    # ONNX Runtime does not support the newest operators.
    if case.model.opset_import[0].version > 25:
        return onnx.reference.ReferenceEvaluator(case.model).run(None, case.arrays)
    model, arrays, restore = time_major(case.model, case.arrays)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return restore(session.run(None, arrays))


def interpret(case, directory, *options):
    """Imports the graph with `options` and returns its interpreted outputs."""
    translate = harness.require_tool("bppsa-translate")
    interpreter = harness.require_tool("bppsa-interpret")
    source, ir = directory / "model.onnx", directory / "model.mlir"
    source.write_bytes(case.model.SerializeToString())
    harness.check_succeeded(harness.run(translate, "--import-onnx", source, "-o", ir, *options))
    (line,) = re.findall(r"^ *func\.func @forward\((.*)\{$", ir.read_text(), re.M)
    arguments, results = re.split(r"(?:^|(?<=\}))\) -> \(", line, maxsplit=1)
    values = {t.name: onnx.numpy_helper.to_array(t) for t in case.model.graph.initializer}
    values |= case.arrays
    given = {f"arg{i}": values[name] for i, name in enumerate(ROLES.findall(arguments))}
    command = [interpreter, ir, "--function=forward", "--outputs", directory / "out.npz"]
    if given:
        np.savez(directory / "in.npz", **given)
        command += ["--inputs", directory / "in.npz"]
    harness.check_succeeded(harness.run(*command))
    with np.load(directory / "out.npz") as loaded:
        return [loaded[f"res{i}"] for i, _ in enumerate(ROLES.findall(results))]


@pytest.mark.parametrize("name", ALL)
def test_case(name, tmp_path):
    case = ALL[name]
    found, wanted = interpret(case, tmp_path), expected(case)
    assert len(found) == len(wanted)
    for left, right in zip(found, wanted):
        assert left.shape == right.shape
        np.testing.assert_allclose(left, right, rtol=2e-5, atol=5e-6)
