"""Imported Scan and Loop, run by the reference interpreter and compared with ONNX Runtime."""

import re
import warnings

import loop_models
import numpy as np
import onnx
import onnx_case
import pytest
from loop_models import body, case, loop, loop_body, node, scan
from onnx_case import Case, floats
from test_forward import expected, interpret
from test_refusals import refuse

UNROLLED = ("loop-unrolled", "loop-zero", "loop-false")


@pytest.mark.parametrize("name", loop_models.ALL)
def test_case(name, tmp_path):
    model = loop_models.ALL[name]
    for left, right in zip(interpret(model, tmp_path), expected(model), strict=True):
        assert left.shape == right.shape
        np.testing.assert_allclose(left, right, rtol=2e-5, atol=2e-6)
    ir = (tmp_path / "model.mlir").read_text()
    assert ("bppsa.recurrence" in ir) == (name not in UNROLLED)


@pytest.mark.parametrize(
    "name, types",
    [
        ("scan-symbolic", "tensor<?x?x1x3xf32>"),  # samples become rows
        ("scan-fixed", "tensor<5x2x1x3xf32>"),
        ("scan-mixing", "tensor<5x1x2x4xf32>"),  # mixed samples: one row
        ("scan-reshape", "tensor<5x1x2x4xf32>"),
        ("loop-gather-0-size", "tensor<?x?x1x3xf32>"),
    ],
)
def test_rows(name, types, tmp_path):
    interpret(loop_models.ALL[name], tmp_path)
    (line,) = re.findall(r"bppsa.recurrence.*sequences\((.*?)\)", (tmp_path / "model.mlir").read_text())
    assert types in line


def test_batch_axis_through_loops(tmp_path):
    """Only the loop body relates the batch axes of inputs and outputs."""
    interpret(loop_models.ALL["scan-axes"], tmp_path)
    (line,) = re.findall(r"func.func @forward\((.*)\{$", (tmp_path / "model.mlir").read_text(), re.M)
    names = re.findall(r'bppsa.batch_axis = (\d) : i64[^}]*bppsa.(?:input|output) = "(\w+)"', line)
    assert dict((name, int(axis)) for axis, name in names) == {"h0": 0, "x": 0, "hn": 0, "y": 0}


def node_tests():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tests of other operators warn on purpose
        from onnx.backend.test.case.node import collect_testcases

        cases = collect_testcases(None)
    names = ("test_scan9_sum", "test_scan9_multi_state", "test_scan9_scalar", "test_loop11", "test_if")
    return {c.name: c for c in cases if c.name in names}


@pytest.mark.parametrize("name", sorted(node_tests()))
def test_node_test(name, tmp_path):
    """All node tests of Scan since opset 9 and of Loop over tensors with a trip count."""
    test = node_tests()[name]
    inputs, outputs = test.data_sets[0]
    infos = [i.name for i in test.model.graph.input]
    arrays = dict(zip(infos, map(np.asarray, inputs)))
    bound = [f"--bind={n}={arrays[n].item()}".lower() for n in ("trip_count", "cond") if n in arrays]
    found = interpret(Case(name, test.model, arrays), tmp_path, *bound)
    for left, right in zip(found, outputs, strict=True):
        np.testing.assert_allclose(left, right, rtol=test.rtol, atol=test.atol)


def changed(name, change):
    model = onnx.ModelProto()
    model.CopyFrom(loop_models.ALL[name].model)
    (found,) = [n for n in model.graph.node if n.op_type in ("Scan", "Loop")]
    change(found, {a.name: a for a in found.attribute})
    return model


@pytest.mark.parametrize(
    "name, attribute, value, words",
    [
        ("scan-fixed", "num_scan_inputs", 0, ["'num_scan_inputs' is 0, accepted: 1 to 2"]),
        ("scan-fixed", "num_scan_inputs", 3, ["'num_scan_inputs' is 3"]),
        ("scan-fixed", "scan_input_axes", [3], ["axis 3 is out of range"]),
        ("scan-fixed", "scan_input_axes", [0, 0], ["has 2 elements, accepted: 1"]),
        ("scan-fixed", "scan_output_axes", [3], ["axis 3 is out of range"]),
        ("scan-fixed", "scan_input_directions", [2], ["the element 2, accepted: 0 or 1"]),
        ("scan-fixed", "scan_output_directions", [0, 0], ["has 2 elements, accepted: 1"]),
    ],
)
def test_invalid_attributes(name, attribute, value, words, tmp_path):
    def change(found, attributes):
        if attribute in attributes:
            found.attribute.remove(attributes[attribute])
        found.attribute.append(onnx.helper.make_attribute(attribute, value))

    refuse(tmp_path, changed(name, change), "'scan' (Scan)", *words)


def test_invalid_bodies(tmp_path):
    def drop_input(found, attributes):
        del attributes["body"].g.input[0]

    def drop_output(found, attributes):
        del attributes["body"].g.output[0]

    refuse(tmp_path, changed("scan-fixed", drop_input), "has 1 inputs, accepted: 2")
    refuse(tmp_path, changed("scan-fixed", drop_output), "has 1 outputs, accepted: 2")
    refuse(tmp_path, changed("loop-number", drop_input), "has 2 inputs, accepted: 3")
    refuse(tmp_path, changed("loop-number", drop_output), "has 2 outputs, accepted: 3")


def test_state_of_changing_shape(tmp_path):
    graph = body([node("Concat", "h xt", "h_next", axis=0)], "h xt", "h_next")
    arrays = {"h0": floats(2), "x": floats(3, 2)}
    model = case("grow", [scan(graph, "h0 x", "hn", 1)], arrays, "hn").model
    refuse(tmp_path, model, "'h' has shape [2] before and [4] after a step")


def test_body_that_mixes_samples(tmp_path):
    graph = body([node("Add", "h xt", "s"), node("Softmax", "s", "h_next", axis=0)], "h xt", "h_next")
    arrays = {"h0": floats(2, 4), "x": floats(5, 2, 4)}
    shapes = {"h0": ["B", 4], "x": ["T", "B", 4]}
    model = case("mix", [scan(graph, "h0 x", "hn", 1)], arrays, "hn", (), shapes).model
    refuse(tmp_path, model, "the body has symbolic sizes", "--bind=NAME=NUMBER")
    with pytest.raises(AssertionError, match="status 0"):
        refuse(tmp_path, model, options=["--bind=B=2"])


def test_symbolic_capture(tmp_path):
    nodes = [node("ReduceSum", "z axes", "s", keepdims=0), node("Add", "h s", "a"), node("Add", "a xt", "h_next")]
    arrays = {"h0": floats(2, 4), "x": floats(5, 2, 4), "z": floats(6, 4)}
    shapes = {"z": ["M", 4]}
    scanned = scan(body(nodes, "h xt", "h_next"), "h0 x", "hn", 1)
    model = case("capture", [scanned], arrays, "hn", [("axes", np.array([0]))], shapes).model
    refuse(tmp_path, model, "'scan' (Scan)", "'z' of shape [M, 4]", "--bind=NAME=NUMBER")


@pytest.mark.parametrize(
    "inputs, words",
    [
        ("_ _ h0", ["has no trip count, accepted: a constant or a size"]),
        ("n _ h0", ["the trip count 'n' depends on data", "--bind=NAME=VALUE"]),
        ("count b h0", ["the condition 'b' depends on data"]),
    ],
)
def test_loops_without_fixed_trip_count(inputs, words, tmp_path):
    go_on = node("Identity", "go", "go_on")
    graph = loop_body([go_on, node("Tanh", "h", "h_next")], "h", "go_on h_next")
    arrays = {"h0": floats(3), "n": np.array(3), "b": np.array(True)}
    model = case("uncounted", [loop(graph, inputs, "hn")], arrays, "hn", [("count", np.array(3))]).model
    refuse(tmp_path, model, "'loop' (Loop)", *words)


def test_data_dependent_condition(tmp_path):
    nodes = [node("Tanh", "h", "h_next"), node("Cast", "flag", "go_on", to=9)]
    graph = loop_body(nodes, "h", "go_on h_next")
    arrays = {"h0": floats(3), "flag": np.array(3)}
    for count in (3, 100):
        weights = [("count", np.array(count))]
        model = case("condition", [loop(graph, "count _ h0", "hn")], arrays, "hn", weights).model
        refuse(tmp_path, model, "'loop' (Loop)", "'go_on' of the body depends on data")


def test_too_many_unrolled_nodes(tmp_path):
    """Loops nested in unrolled loops exceed the limit on the number of nodes."""
    go_on = node("Identity", "go", "go_on")
    pick = [node("Unsqueeze", "i zero", "first"), node("Slice", "table first last", "rest")]
    nodes = [*pick, node("ReduceSum", "rest zero", "s", keepdims=0), node("Mul", "h s", "h_next")]
    for _ in range(6):
        inner = loop_body([go_on, *nodes], "h", "go_on h_next")
        nodes = [*pick, loop(inner, "count _ h", "h_next")]
    nodes = nodes[-1:]
    weights = [("count", np.array(40)), ("zero", np.array([0])), ("last", np.array([64]))]
    weights += [("table", floats(64))]
    nodes[0].input[2], nodes[0].output[0] = "h0", "hn"
    model = case("explode", nodes, {"h0": floats(3)}, "hn", weights).model
    refuse(tmp_path, model, "more than 2^17 nodes")


def scan_of_samples(samples, **attributes):
    """Returns a Scan of opset 8, which runs once per sample, here over sums of time steps."""
    info = onnx.helper.make_tensor_value_info
    states, results = ([info(n, onnx.TensorProto.FLOAT, [2]) for n in names] for names in ("se", "to"))
    nodes = [node("Add", "s e", "t"), node("Mul", "t e", "o")]
    graph = onnx.helper.make_graph(nodes, "body", states, results)
    inputs = [("h", [samples, 2]), ("x", [samples, 4, 2])]
    outputs = [("y", [samples, 2]), ("z", [samples, 4, 2])]
    run = onnx.helper.make_node(
        "Scan", ["", "h", "x"], ["y", "z"], name="scan", num_scan_inputs=1, body=graph, **attributes
    )
    return onnx_case.model([run], inputs, outputs, opset=8)


@pytest.mark.parametrize("attributes", [{}, {"directions": [1]}], ids=["forward", "reverse"])
def test_scan_over_samples(attributes, tmp_path):
    arrays = {"h": floats(3, 2), "x": floats(3, 4, 2, key=1)}
    scanned = Case("scan", scan_of_samples(3, **attributes), arrays)
    for found, wanted in zip(interpret(scanned, tmp_path), expected(scanned), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("samples", ["N", 65])
def test_scan_over_too_many_samples(samples, tmp_path):
    words = f"runs once for each of {samples} samples, accepted in opset 8: a fixed number of at most 64"
    refuse(tmp_path, scan_of_samples(samples), "'scan' (Scan)", words)


def test_scan_over_samples_with_lengths(tmp_path):
    model = scan_of_samples(3)
    lengths = onnx.numpy_helper.from_array(np.array([4, 2, 3]), "lengths")
    model.graph.initializer.append(lengths)
    model.graph.node[0].input[0] = "lengths"
    refuse(tmp_path, model, "'scan' (Scan)", "input 'sequence_lens' is given, accepted: none")
