"""If, bound inputs and model-local functions, compared with ONNX Runtime on the unbound model."""

import re

import harness
import numpy as np
import onnx_cases
import pytest
from onnx import AttributeProto, helper, numpy_helper
from test_forward import expected, interpret
from test_refusals import refuse

X = onnx_cases.floats(4, 3)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, name=f"{op}_{outputs[0]}", **attributes)


def branch(nodes, outputs, initializers=()):
    infos = [helper.make_empty_tensor_value_info(name) for name in outputs]
    tensors = [numpy_helper.from_array(array, name) for name, array in initializers]
    return helper.make_graph(nodes, "branch_" + outputs[0], [], infos, tensors)


def constant(name, value, dtype=np.int64):
    tensor = numpy_helper.from_array(np.array(value, dtype), name + "_value")
    return node("Constant", [], [name], value=tensor)


def nested_if():
    """An If that selects tanh or a nested If on a size, whose branches differ in rank."""
    inner = node(
        "If",
        ["is_three"],
        ["v"],
        then_branch=branch([node("ReduceSum", ["x"], ["s"], keepdims=0)], ["s"]),
        else_branch=branch([node("Mul", ["x", "w"], ["p"])], ["p"]),
    )
    outer = node(
        "If",
        ["is_fast"],
        ["y"],
        then_branch=branch([node("Mul", ["x", "u"], ["m"]), node("Tanh", ["m"], ["t"])], ["t"]),
        else_branch=branch(
            [
                node("Shape", ["x"], ["shape"]),
                constant("axis", [1]),
                node("Gather", ["shape", "axis"], ["width"]),
                constant("three", [3]),
                node("Equal", ["width", "three"], ["is_three"]),
                inner,
            ],
            ["v"],
        ),
    )
    nodes = [constant("fast", 16000), node("Equal", ["sr", "fast"], ["is_fast"]), outer]
    inputs = [("x", [4, "W"]), ("sr", (np.int64, []))]
    weights = [("w", onnx_cases.floats(3, key=1)), ("u", onnx_cases.floats(1, key=2))]
    return onnx_cases.model(nodes, inputs, [("y", None)], weights)


def warned(model, tmp_path, *options):
    """Imports a model that must be accepted and returns the messages."""
    path = tmp_path / "warned.onnx"
    path.write_bytes(model.SerializeToString())
    translate = harness.require_tool("bppsa-translate")
    result = harness.run(translate, "--import-onnx", path, "-o", "/dev/null", *options)
    return harness.check_succeeded(result).stderr


@pytest.mark.parametrize("rate", [8000, 16000])
@pytest.mark.parametrize("width", [3, 1])
def test_nested_if(rate, width, tmp_path):
    x = np.ascontiguousarray(X[:, :width])
    case = onnx_cases.Case("if", nested_if(), {"x": x, "sr": np.array(rate, np.int64)})
    found = interpret(case, tmp_path, f"--bind=sr={rate}", f"--bind=W={width}")
    (wanted,) = expected(case)
    assert found[0].shape == wanted.shape
    np.testing.assert_allclose(found[0], wanted, rtol=2e-5, atol=2e-6)


def test_unread_initializers_are_reported(tmp_path):
    text = warned(nested_if(), tmp_path, "--bind=sr=16000", "--bind=W=3")
    assert len(text.splitlines()) == 1, text
    assert "warning: the graph does not read the initializers 'w'; they are not trained" in text
    ir = (tmp_path / "warned.onnx").read_bytes()
    assert ir == nested_if().SerializeToString()


def scaled_if(other_name):
    """Selects x k or -x k2, with the factors as initializers of the branches."""
    weights = [("k", onnx_cases.floats(3))]
    then = branch([node("Mul", ["x", "k"], ["a"])], ["a"], weights)
    others = [(other_name, onnx_cases.floats(3, key=1))]
    negate = [node("Neg", ["x"], ["n"]), node("Mul", ["n", other_name], ["b"])]
    chosen = node("If", ["c"], ["y"], then_branch=then, else_branch=branch(negate, ["b"], others))
    return onnx_cases.model([chosen], [("x", [4, 3]), ("c", (np.bool_, []))], [("y", None)])


def test_parameters_of_branches(tmp_path):
    """Initializers of branches become arguments; initializers of the untaken branch are frozen."""
    model = scaled_if("k2")
    for bound, unread in (("true", "k2"), ("false", "k")):
        text = warned(model, tmp_path, f"--bind=c={bound}")
        assert f"the graph does not read the initializers '{unread}'; they are not trained" in text
        assert len(text.splitlines()) == 1, text
    translate = harness.require_tool("bppsa-translate")
    command = [translate, "--import-onnx", tmp_path / "warned.onnx", "--bind=c=true", "-o", "-"]
    ir = harness.check_succeeded(harness.run(*command)).stdout
    assert re.search(r'bppsa.parameter = "k"[,}]', ir)
    assert re.search(r'bppsa.frozen, bppsa.parameter = "k2"', ir)


def test_branch_initializers_with_equal_names_are_constants(tmp_path):
    """The branches use different values, and a warning names the initializers."""
    model = scaled_if("k")
    for value in (True, False):
        text = warned(model, tmp_path, f"--bind=c={value}".lower())
        assert "float initializers 'k' of graphs inside of nodes are constants" in text
        assert "rename them" in text and len(text.splitlines()) == 1, text
        case = onnx_cases.Case("if", model, {"x": X, "c": np.array(value)})
        found = interpret(case, tmp_path, f"--bind=c={value}".lower())[0]
        np.testing.assert_allclose(found, expected(case)[0])


@pytest.mark.parametrize(
    "options, words",
    [
        ([], ["(If)", "condition 'is_fast' depends on data", "--bind=NAME=VALUE"]),
        (["--bind=sr=8000"], ["(If)", "condition 'is_three' depends on data or"]),
        (["--bind=rate=1"], ["no input or symbolic dimension 'rate'", "'sr', 'x'", "'W'"]),
        (["--bind=sr=1.5"], ["'1.5' is not a value of an input of type int64"]),
        (["--bind=sr=1,2"], ["2 values for an input of shape []", "accepted: 1 or 1"]),
        (["--bind=sr=1", "--bind=sr=1"], ["the input 'sr' is bound twice"]),
        (["--bind=W=3", "--bind=W=3"], ["the dimension 'W' is bound twice"]),
        (["--bind=W=0"], ["accepted: 1 to 2^31"]),
        (["--bind=W=3,4"], ["accepted: 1 to 2^31"]),
        (["--bind=x=1"], ["condition 'is_fast' depends on data"]),
    ],
)
def test_invalid_bindings_are_refused(options, words, tmp_path):
    refuse(tmp_path, nested_if(), *words, options=options)


def test_bound_list_sets_dimension(tmp_path):
    """A list of three values sets N to three."""
    nodes = [node("Add", ["x", "b"], ["y"])]
    model = onnx_cases.model(nodes, [("x", ["M", "N"]), ("b", ["N"])], [("y", None)])
    bound = np.array([1.5, -2, 0.25], np.float32)
    case = onnx_cases.Case("bind", model, {"x": X, "b": bound})
    found = interpret(case, tmp_path, "--bind=b=1.5,-2,0.25")
    np.testing.assert_allclose(found[0], expected(case)[0], rtol=1e-6)
    refuse(tmp_path, model, "2 values for an input of shape [3]", options=["--bind=N=3", "--bind=b=1,2"])


# --- functions ---


def function(name, inputs, outputs, nodes, attributes=(), **keywords):
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    return helper.make_function("local", name, inputs, outputs, nodes, opsets, attributes, **keywords)


def reference(name, refers):
    """A float attribute that refers to an attribute of the function."""
    return AttributeProto(name=name, type=AttributeProto.FLOAT, ref_attr_name=refers)


def with_functions(nodes, functions, outputs=("y",)):
    model = onnx_cases.model(nodes, [("x", [4, 3])], [(name, None) for name in outputs])
    model.functions.extend(functions)
    model.opset_import.append(helper.make_opsetid("local", 1))
    return model


def call(name, inputs, outputs, label="", **attributes):
    return helper.make_node(
        name, inputs, outputs, name=label or f"call_{outputs[0]}", domain="local", **attributes
    )


def leaky(default=None):
    """Leaky ReLU and ELU whose attributes refer to `slope`."""
    inner = helper.make_node("LeakyRelu", ["a"], ["t"], name="relu")
    inner.attribute.append(reference("alpha", "slope"))
    outer = helper.make_node("Elu", ["t"], ["b"], name="elu")
    outer.attribute.append(reference("alpha", "slope"))
    if default is None:
        return function("Leaky", ["a"], ["b"], [inner, outer], ["slope"])
    protos = [helper.make_attribute("slope", default)]
    return function("Leaky", ["a"], ["b"], [inner, outer], attribute_protos=protos)


def check(model, tmp_path):
    case = onnx_cases.Case("functions", model, {"x": X})
    for left, right in zip(interpret(case, tmp_path), expected(case), strict=True):
        np.testing.assert_allclose(left, right, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("default", [None, 0.3])
def test_attribute_references(default, tmp_path):
    nodes = [call("Leaky", ["x"], ["u"], slope=0.2), call("Leaky", ["u"], ["y"])]
    check(with_functions(nodes, [leaky(default)]), tmp_path)


def test_nested_calls(tmp_path):
    """Two calls of a function that itself calls another function twice, once in a branch."""
    then = branch([call("Leaky", ["p"], ["q"], slope=0.1)], ["q"])
    other = branch([node("Neg", ["p"], ["r"])], ["r"])
    nodes = [
        call("Leaky", ["p"], ["s"], slope=0.5),
        constant("yes", True, np.bool_),
        node("If", ["yes"], ["t"], then_branch=then, else_branch=other),
        node("Add", ["s", "t"], ["both"]),
    ]
    outer = function("Outer", ["p"], ["both"], nodes)
    calls = [call("Outer", ["x"], ["u"]), call("Outer", ["u"], ["y"])]
    check(with_functions(calls, [outer, leaky()]), tmp_path)


def test_optional_operands(tmp_path):
    """A missing input remains missing, and an output that is an input is copied."""
    nodes = [node("Clip", ["a", "low", "high"], ["b"])]
    clip = function("Clip2", ["a", "low", "high"], ["b", "a"], nodes)
    zero = constant("zero", 0.0, np.float32)
    calls = [zero, call("Clip2", ["x", "zero"], ["y", "z"])]
    model = with_functions(calls, [clip], ["y", "z"])
    y, z = interpret(onnx_cases.Case("optional", model, {"x": X}), tmp_path)
    np.testing.assert_array_equal(y, np.maximum(X, 0))
    np.testing.assert_array_equal(z, X)


def test_node_names_in_messages(tmp_path):
    bad = function("Bad", ["a"], ["b"], [helper.make_node("LRN", ["a"], ["b"], name="inner", size=3)])
    refuse(tmp_path, with_functions([call("Bad", ["x"], ["y"], "outer")], [bad]), "'outer/inner'")


def test_invalid_functions(tmp_path):
    loop = function("Loop1", ["a"], ["b"], [call("Loop1", ["a"], ["b"])])
    refuse(tmp_path, with_functions([call("Loop1", ["x"], ["y"])], [loop]), "in a circle")
    calls = [call("Leaky", ["x"], ["y"], slop=0.2)]
    refuse(tmp_path, with_functions(calls, [leaky()]), "no attribute 'slop'")
    calls = [call("Leaky", ["x", "x"], ["y"], slope=0.2)]
    refuse(tmp_path, with_functions(calls, [leaky()]), "(function Leaky)", "accepted: at most 1")
    calls = [call("Leaky", ["x"], ["y"], slope=0.2)]
    refuse(tmp_path, with_functions(calls, [leaky(), leaky()]), "'Leaky'", "defined twice")
    old = leaky()
    old.opset_import[0].version = 13
    refuse(tmp_path, with_functions(calls, [old]), "imports opset 13, accepted: 17")


def test_overloads(tmp_path):
    """Two functions have the same name."""
    first, second = leaky(), function("Leaky", ["a"], ["b"], [node("Tanh", ["a"], ["b"])])
    second.overload = "tanh"
    calls = [call("Leaky", ["x"], ["u"], slope=0.2), call("Leaky", ["u"], ["y"])]
    calls[1].overload = "tanh"
    model = with_functions(calls, [first, second])
    model.ir_version = 10
    case = onnx_cases.Case("overload", model, {"x": X})
    leaked = np.where(X < 0, 0.2 * X, X)
    wanted = np.tanh(np.where(leaked < 0, 0.2 * np.expm1(leaked), leaked))
    np.testing.assert_allclose(interpret(case, tmp_path)[0], wanted, rtol=2e-5, atol=2e-6)
