"""Weights in Constant nodes are reported, and trained with --train.

export_untrained.py records the reference values from PyTorch.
"""

import harness
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

ARRAYS = dict(np.load(harness.ROOT / "test" / "Import" / "Inputs" / "untrained" / "constants.npz"))
WEIGHTS = ("W", "R", "B", "V", "b")


def constant(name, array=None):
    return helper.make_node(
        "Constant", [], [name], value=numpy_helper.from_array(ARRAYS[name] if array is None else array, name)
    )


def floats(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def shape_of(name, *sizes):
    return constant(name, np.array(sizes, dtype=np.int64))


def make_model(nodes, functions=(), initializers=()):
    inputs, outputs = [floats("x", "T", "N", 3)], [floats("y", "N", 2)]
    initializers = [numpy_helper.from_array(ARRAYS[name], name) for name in initializers]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, initializers)
    domains = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    return helper.make_model(graph, functions=functions, opset_imports=domains, ir_version=8)


def make_recurrence():
    """Returns an RNN node whose weights are transposed and reshaped constants."""
    return [
        *(constant(name) for name in WEIGHTS),
        helper.make_node("Transpose", ["W"], ["Wt"]),
        shape_of("Wshape", 1, 4, 3),
        helper.make_node("Reshape", ["Wt", "Wshape"], ["W3"]),
        helper.make_node("Transpose", ["R"], ["Rt"]),
        helper.make_node("Identity", ["Rt"], ["Ri"]),
        shape_of("front", 0),
        helper.make_node("Unsqueeze", ["Ri", "front"], ["R3"]),
        helper.make_node("Sub", ["B", "B"], ["zeros"]),
        helper.make_node("Concat", ["B", "zeros"], ["B2"], axis=0),
        helper.make_node("Unsqueeze", ["B2", "front"], ["B3"]),
        helper.make_node("RNN", ["x", "W3", "R3", "B3"], ["", "last"], hidden_size=4),
        helper.make_node("Squeeze", ["last", "front"], ["h"]),
    ]


def make_head():
    return [helper.make_node("MatMul", ["h", "V"], ["p"]), helper.make_node("Add", ["p", "b"], ["y"])]


def make_scan():
    """Returns a loop with constants in its body."""
    body = helper.make_graph(
        [
            *(constant(name) for name in ("W", "R", "B")),
            helper.make_node("MatMul", ["step", "W"], ["xw"]),
            helper.make_node("MatMul", ["state", "R"], ["hr"]),
            helper.make_node("Sum", ["xw", "hr", "B"], ["sum"]),
            helper.make_node("Tanh", ["sum"], ["next"]),
        ],
        "body",
        [floats("state", "N", 4), floats("step", "N", 3)],
        [floats("next", "N", 4)],
    )
    return [
        helper.make_node("Shape", ["x"], ["samples"], start=1, end=2),
        shape_of("four", 4),
        helper.make_node("Concat", ["samples", "four"], ["sizes"], axis=0),
        helper.make_node("ConstantOfShape", ["sizes"], ["start"]),
        helper.make_node("Scan", ["start", "x"], ["h"], body=body, num_scan_inputs=1),
        constant("V"),
        constant("b"),
        *make_head(),
    ]


def make_functions():
    """Returns a function with constants, nested in another function."""
    domain = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    inner = helper.make_function(
        "local", "Inner", ["h"], ["y"], [constant("V"), constant("b"), *make_head()], domain
    )
    call = helper.make_node("Inner", ["h"], ["y"], domain="local")
    return inner, helper.make_function("local", "Outer", ["h"], ["y"], [call], domain)


MODELS = {
    "nodes": lambda: make_model([*make_recurrence(), *make_head()]),
    "scan": lambda: make_model(make_scan()),
    "functions": lambda: make_model(
        [
            *(node for node in make_recurrence() if node.output[0] not in ("V", "b")),
            helper.make_node("Outer", ["h"], ["y"], domain="local"),
        ],
        make_functions(),
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_trained_constants(name, tmp_path):
    model = MODELS[name]()
    onnx.checker.check_model(model)
    options = ("--batch-axis=x:1",) if name == "scan" else ()
    program = harness.compile_model(model, "--loss=mse", "--optimizer=sgd", "--train=^[WRBVb]$", *options)
    entries = {entry["name"]: (entry["kind"], entry["reason"]) for entry in program.info()["initializers"]}
    assert entries == dict.fromkeys(WEIGHTS, ("trained", "--train"))
    data = {key: ARRAYS[key] for key in ("x", "target")}
    gradients = program.grad(data)
    for weight in WEIGHTS:
        np.testing.assert_allclose(gradients[weight], ARRAYS[f"grad.{weight}"], rtol=2e-5, atol=1e-6, err_msg=weight)
    np.savez(tmp_path / "d.npz", **data)
    saved = tmp_path / "saved.onnx"
    words = ("--data", tmp_path / "d.npz", "--batch", "3", "--lr", "1", "--save", saved)
    assert harness.check_succeeded(program.run("train", *words)).stderr == ""
    onnx.checker.check_model(onnx.load(saved))
    for tensor in onnx.load(saved).graph.initializer:
        wanted = ARRAYS[tensor.name] - ARRAYS[f"grad.{tensor.name}"]
        np.testing.assert_allclose(numpy_helper.to_array(tensor), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_untrained_constants(name, tmp_path):
    model = MODELS[name]()
    harness.check_refused(model, tmp_path, ["--loss=mse"], 1, "weights in Constant nodes: ")
    harness.check_refused(model, tmp_path, ["--loss=mse"], 1, "--train=REGEX")
    for words in (["--freeze=."], ["--loss=vjp"]):
        onnx.save(model, tmp_path / "model.onnx")
        command = [harness.require_tool("bppsa-compile"), tmp_path / "model.onnx", "--compile-to=loss", "-o", "-"]
        said = harness.check_succeeded(harness.run(*command, "--loss=mse", *words)).stderr
        assert ("Constant nodes" in said) == (words == ["--loss=vjp"])


def test_partly_constant_weights(tmp_path):
    """Matrices are in Constant nodes and a bias is an initializer: the compiler and the program
    list the untrained weights."""
    nodes = [node for node in [*make_recurrence(), *make_head()] if node.output[0] != "b"]
    onnx.save(make_model(nodes, initializers=["b"]), tmp_path / "model.onnx")
    words = [harness.require_tool("bppsa-compile"), tmp_path / "model.onnx", "--loss=mse", "-O0", "--mcpu=native"]
    said = harness.check_succeeded(harness.run(*words, "-o", tmp_path / "program")).stderr
    assert said.count("\n") == 1 and "warning" in said and "'W', 'R', 'V'; --train=REGEX" in said
    program = harness.Program(tmp_path / "program", None, ())
    assert program.info()["constant_weights"] == ["W", "R", "V"]
    np.savez(tmp_path / "d.npz", x=ARRAYS["x"], target=ARRAYS["target"])
    said = harness.check_succeeded(program.run("grad", "--data", tmp_path / "d.npz", "--out", tmp_path / "g.npz"))
    assert said.stderr.count("\n") == 1 and "'W', 'R', 'V'" in said.stderr
    said = harness.check_succeeded(harness.run(*words, "--train=^V$", "-o", tmp_path / "program")).stderr
    assert "'W', 'R'; they do not match --train='^V$'" in said
    said = harness.check_succeeded(harness.run(*words, "--freeze=^[WRV]$", "-o", tmp_path / "program")).stderr
    assert said == ""


def test_constant_tables_are_not_weights(tmp_path):
    """A constant table that is the input of other arithmetic before a product is not a weight."""
    table = np.arange(8, dtype=np.float32).reshape(4, 2)
    nodes = [
        constant("table", table),
        shape_of("rows", 0, 2, 1),
        constant("last", np.array(-1)),
        helper.make_node("Gather", ["table", "rows"], ["picked"]),
        helper.make_node("Mul", ["picked", "picked"], ["squares"]),
        helper.make_node("Gather", ["x", "last"], ["step"]),
        helper.make_node("MatMul", ["step", "squares"], ["q"]),
        helper.make_node("Add", ["q", "b"], ["y"]),
    ]
    onnx.save(make_model(nodes, initializers=["b"]), tmp_path / "model.onnx")
    words = [harness.require_tool("bppsa-compile"), tmp_path / "model.onnx", "--loss=mse", "--compile-to=loss"]
    assert "Constant" not in harness.check_succeeded(harness.run(*words, "-o", tmp_path / "out")).stderr
