"""Lists of tensors: loops that append to lists and read them, compared with PyTorch, and refused
uses.

export_sequences.py writes the models and their gradients.
"""

import pathlib

import harness
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path(__file__).parent / "Inputs" / "sequences"
REFERENCES = np.load(FOLDER / "references.npz")
NAMES = sorted(path.stem for path in FOLDER.glob("*.onnx"))


def reference(name):
    prefix = name + "/"
    return {key[len(prefix) :]: REFERENCES[key] for key in REFERENCES.files if key.startswith(prefix)}


def assert_close(found, wanted):
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max() <= 1e-5 * max(np.abs(wanted).max(), 1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_match_pytorch(name):
    wanted = reference(name)
    program = harness.compile_model(onnx.load(FOLDER / f"{name}.onnx"), "--loss=mse", "--loss-on=y")
    found = program.grad({key: wanted[key] for key in ("x", "h", "target")})
    assert_close(found["loss"], wanted["loss"])
    for key, gradient in wanted.items():
        if key.startswith("grad:"):
            assert_close(found[key[5:]], gradient)


# --- lists of known length ---


def ints(name, *values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def number(name, value):
    return numpy_helper.from_array(np.array(value, np.int64), name)


def make_model(nodes, tensors, shape=("N", 6)):
    nodes = [helper.make_node(n[0], n[1].split(), n[2].split(), name=n[2], **(n[3] if len(n) > 3 else {})) for n in nodes]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], tensors,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


SPLIT = ("SplitToSequence", "x s", "l", {"axis": 1})
JOIN = ("ConcatFromSequence", "m", "y", {"axis": 1})
TWO = number("s", 2)
LISTS = {
    "insert": [SPLIT, ("SequenceInsert", "l x p", "m"), JOIN],
    "erase": [SPLIT, ("SequenceErase", "l p", "m"), JOIN],
    "erase-last": [SPLIT, ("SequenceErase", "l", "m"), JOIN],
    "construct": [("SequenceConstruct", "x x", "l"), ("SequenceInsert", "l x", "m"), JOIN],
    "new-axis": [("SequenceConstruct", "x x", "m"), ("ConcatFromSequence", "m", "y", {"axis": -1, "new_axis": 1})],
    "at": [SPLIT, ("SequenceAt", "l p", "y")],
    "length": [SPLIT, ("SequenceLength", "l", "n"), ("Cast", "n", "f", {"to": 1}), ("Mul", "x f", "y")],
    "uneven": [("SplitToSequence", "x four", "l", {"axis": 1}), ("SequenceAt", "l p", "y")],
    "sizes": [("SplitToSequence", "x sizes", "l", {"axis": 1}), ("SequenceErase", "l p", "m"), JOIN],
    "no-split": [("SplitToSequence", "x", "l", {"axis": 1, "keepdims": 0}), ("SequenceAt", "l p", "y")],
}


@pytest.mark.parametrize("position", [1, -1])
@pytest.mark.parametrize("name", LISTS)
def test_list_of_known_length(name, position, tmp_path):
    from onnx_case import Case
    from test_forward import expected, interpret

    tensors = [TWO, number("p", position), number("four", 4), ints("sizes", 1, 3, 2)]
    used = {word for node in LISTS[name] for word in node[1].split()}
    model = make_model(LISTS[name], [tensor for tensor in tensors if tensor.name in used])
    x = np.random.default_rng(1).normal(size=(4, 6)).astype(np.float32)
    case = Case(name, model, {"x": x})
    (found,), (wanted,) = interpret(case, tmp_path), expected(case)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


# --- refused models ---


REFUSED = {
    "output": ([("SplitToSequence", "x s", "y")], (4, 6), "graph output 'y' is a list of tensors, accepted: tensors"),
    "operand": ([SPLIT, ("Relu", "l", "y")], ("N", 6), "node 'y' (Relu): input 'X' is a list of tensors"),
    "position": ([SPLIT, ("SequenceAt", "l far", "y")], ("N", 6), "reads position 7 of a list of 3 elements"),
    "chunks": ([("SplitToSequence", "x s", "l"), ("SequenceAt", "l p", "y")], ("N", 6), "into parts of 2, accepted"),
    "sizes": ([("SplitToSequence", "x wrong", "l"), ("SequenceAt", "l p", "y")], (3, 6), "the parts have sizes [1, 1]"),
    "empty": ([("SequenceEmpty", "", "m"), JOIN], ("N", 6), "the list is empty"),
    "shapes": ([SPLIT, ("SequenceInsert", "l x", "m"), ("ConcatFromSequence", "m", "y", {"axis": 0})], (3, 6),
               "have different types or shapes"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, tmp_path):
    nodes, shape, words = REFUSED[name]
    tensors = [TWO, number("p", 0), number("far", 7), ints("wrong", 1, 1)]
    (tmp_path / "model.onnx").write_bytes(make_model(nodes, tensors, shape).SerializeToString())
    translate = harness.require_tool("bppsa-translate")
    result = harness.run(translate, "--import-onnx", tmp_path / "model.onnx")
    assert result.returncode == 1 and words in result.stderr and result.stderr.count("\n") == 1


def make_loop(nodes, outputs):
    """Returns a Loop of T steps that carries the list `l`."""
    nodes = [helper.make_node(n[0], n[1].split(), n[2].split(), name=n[2], **(n[3] if len(n) > 3 else {})) for n in nodes]
    listed = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, None))
    body = helper.make_graph(
        nodes, "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("c", TensorProto.BOOL, []),
         helper.make_value_info("l", listed)],
        [helper.make_tensor_value_info("c", TensorProto.BOOL, []), helper.make_value_info(outputs, listed)],
    )  # fmt: skip
    graph = [("Shape", "x", "shape"), ("Gather", "shape zero", "count"), ("SequenceConstruct", "first", "before")]
    loop = helper.make_node("Loop", ["count", "", "before"], ["after"], name="loop", body=body)
    model = make_model([*graph, ("ConcatFromSequence", "after", "y", {"axis": 0, "new_axis": 1})],
                       [number("zero", 0), ints("far", 9), numpy_helper.from_array(np.ones(6, np.float32), "first")],
                       ("T", 6))  # fmt: skip
    model.graph.node.insert(3, loop)
    return model


LOOPS = {
    "shrinks": ([("SequenceErase", "l", "m")], "m", "the list 'l' is changed by the body, accepted"),
    "middle": ([("Gather", "x i", "r"), ("SequenceInsert", "l r i", "m")], "m", "input 'i' depends on data"),
    "length": ([("SequenceLength", "l", "n"), ("Cast", "n", "f", {"to": 1}), ("Gather", "x i", "g"), ("Mul", "g f", "r"),
                ("SequenceInsert", "l r", "m")], "m", "asks for the length of a list that grows in a loop"),
    "computed": ([("Gather", "x i", "g"), ("ReduceSum", "g", "a", {"keepdims": 0}), ("Cast", "a", "p", {"to": 7}),
                  ("SequenceAt", "l p", "r"), ("SequenceInsert", "l r", "m")], "m", "the position 'p' depends on data"),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOPS)
def test_refused_loops(name, tmp_path):
    nodes, output, words = LOOPS[name]
    (tmp_path / "model.onnx").write_bytes(make_loop(nodes, output).SerializeToString())
    translate = harness.require_tool("bppsa-translate")
    result = harness.run(translate, "--import-onnx", tmp_path / "model.onnx")
    assert result.returncode == 1 and words in result.stderr and result.stderr.count("\n") == 1, result.stderr
