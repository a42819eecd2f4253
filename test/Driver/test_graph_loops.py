"""Programs of models whose loop bodies are graphs: their variants and refused plans."""

import harness
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper


def make_step():
    """h' = softmax(x W + h R), one step of a stream; its body cannot be expressed on vectors."""
    rng = np.random.default_rng(1)
    weights = [
        numpy_helper.from_array(rng.normal(size=shape).astype(np.float32) / 2, name)
        for name, shape in (("W", (3, 4)), ("R", (4, 4)))
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "W"], ["a"]),
        helper.make_node("MatMul", ["h", "R"], ["b"]),
        helper.make_node("Add", ["a", "b"], ["c"]),
        helper.make_node("Softmax", ["c"], ["y"], axis=1),
    ]
    arrays = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size])
        for name, size in (("x", 3), ("h", 4), ("y", 4))
    ]
    graph = helper.make_graph(nodes, "step", arrays[:2], arrays[2:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


@pytest.mark.parametrize("options", [(), ("--backward=sequential",)])
def test_only_sequential_backward_pass(options):
    program = harness.compile_model(make_step(), "--carry=h:y", "--loss=mse", *options)
    assert {variant["backward"] for variant in program.info()["variants"]} == {"sequential"}


def test_scan_plan_is_refused():
    with pytest.raises(harness.CompileError) as refused:
        harness.compile_model(make_step(), "--carry=h:y", "--loss=mse", "--scan=blelloch")
    assert refused.value.status == 1
    assert "1 state of 4 values and a graph as its body" in refused.value.message
    assert "use --backward=sequential" in refused.value.message
