"""Models outside the support table are refused with one line and exit status 1.

The cases are derived from the table that the tool prints: attributes with a wrong type, a value
that is not accepted or an opset that lacks them; refused attributes and inputs; and inputs of
an element type that is not accepted.
"""

import functools
import re
import subprocess

import harness
import loop_models
import numpy as np
import onnx
import onnx_cases
import pytest
from onnx import TensorProto, helper, numpy_helper
from operator_refusals import ARRAYS, IMAGE, OPERATORS

ROOT = harness.ROOT
NEWEST = 28


@functools.cache
def page():
    tool = harness.BIN / "bppsa-translate"
    if not tool.exists():
        return ""
    return subprocess.run([tool, "--list-onnx-support"], capture_output=True, text=True).stdout


def rows():
    """Returns op -> (inputs, attributes) of the table, each a list of (name, description)."""
    table = {}
    for line in page().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 6 or cells[0] in ("op", "---"):
            continue
        items = [re.findall(r"`(\w+)`:?([^<]*)", cell) for cell in (cells[2], cells[4])]
        table[cells[0]] = items
    return table


def lists():
    """Returns a model with all operators on lists of tensors."""
    nodes = [("SequenceEmpty", "", "b"), ("SplitToSequence", "x", "a"), ("SequenceConstruct", "x x", "c"),
             ("SequenceErase", "c zero", "d"), ("SequenceAt", "a zero", "t"), ("SequenceInsert", "d x zero", "e"),
             ("SequenceLength", "e", "n"), ("ConcatFromSequence", "e", "y")]  # fmt: skip
    nodes = [helper.make_node(op, inputs.split(), [output], name=f"node {output}") for op, inputs, output in nodes]
    nodes[-1].attribute.append(helper.make_attribute("axis", 0))
    return onnx_cases.model(nodes, [("x", [2, 3])], [("y", [4, 3])], [("zero", np.array(0))])


@functools.cache
def examples():
    """Returns a valid one-node model for each operator, with the newest opset of the cases."""
    found = {}
    for case in onnx_cases.all_cases():
        opset = case.model.opset_import[0].version
        for node in case.model.graph.node:
            best = found.get(node.op_type)
            if len(case.model.graph.node) == 1 and (not best or opset > best[0]):
                found[node.op_type] = (opset, case.model)
    node = helper.make_node("Constant", [], ["y"], value_float=1.0)
    found["Constant"] = (17, onnx_cases.model([node], [("x", [1])], [("y", [])]))
    data = [("d", onnx_cases.ints(1, 2)), ("i", np.array([[0]])), ("u", onnx_cases.ints(3))]
    node = helper.make_node("ScatterND", ["d", "i", "u"], ["y"])
    found["ScatterND"] = (17, onnx_cases.model([node], [], [("y", (np.int64, [2]))], data))
    branches = {
        f"{name}_branch": helper.make_graph(
            [helper.make_node("Neg", ["x"], [name])],
            name,
            [],
            [helper.make_empty_tensor_value_info(name)],
        )
        for name in ("then", "else")
    }
    node = helper.make_node("If", ["c"], ["y"], **branches)
    found["If"] = (17, onnx_cases.model([node], [("x", [1])], [("y", None)], [("c", np.array(True))]))
    for op in ("SplitToSequence", "SequenceEmpty", "SequenceConstruct", "SequenceInsert", "SequenceErase",
               "SequenceAt", "SequenceLength", "ConcatFromSequence"):  # fmt: skip
        found[op] = (17, lists())
    found["Scan"] = (17, loop_models.ALL["scan-fixed"].model)
    found["Loop"] = (17, loop_models.ALL["loop-number"].model)
    return found


def example(op, opset=None):
    version, original = examples()[op]
    model = onnx.ModelProto()
    model.CopyFrom(original)
    model.opset_import[0].version = opset or version
    node = next(node for node in model.graph.node if node.op_type == op)
    return model, node


def refuse(tmp_path, model, *words, options=()):
    translate = harness.require_tool("bppsa-translate")
    path = tmp_path / "model.onnx"
    path.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
    result = harness.run(
        translate, "--import-onnx", path, "-o", tmp_path / "out.mlir", *options
    )
    assert result.returncode == 1, f"status {result.returncode}: {result.stderr}"
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert str(path) in result.stderr
    for word in words:
        assert word in result.stderr, f"'{word}' is not in: {result.stderr}"
    assert not (tmp_path / "out.mlir").exists()


def attribute_changes():
    for op, (_, attributes) in rows().items():
        for name, words in attributes:
            opsets = re.search(r"opset (\d+)(?:-(\d+)|\+)", words)
            first, last = (int(opsets[1]), int(opsets[2] or NEWEST)) if opsets else (7, NEWEST)
            wrong_type = ["a"] if "int" in words or "float" in words else 77
            if "**refused**" in words:
                yield op, name, first, 1.5, "which is not supported"
            elif "graph" in words:
                yield op, name, first, 77, "accepted: any graph"
            elif "tensor" in words:
                yield op, name, first, 77, "accepted: any tensor"
            else:
                yield op, name, first, wrong_type, "accepted: "
                if " or " in words or re.search(r": \d", f":{words}"):
                    is_text = any(word in words for word in ("reverse", "none", "NOTSET", "constant"))
                    wrong = "Bogus" if is_text else 77
                    yield op, name, first, ["Bogus"] if "Tanh" in words else wrong, "accepted: "
            if first > 7:
                yield op, name, first - 1, 1, "no such attribute"
            if last < NEWEST:
                yield op, name, last + 1, [1], "no such attribute"


CHANGES = list(attribute_changes())


@pytest.mark.parametrize(
    "op, name, opset, value, words",
    CHANGES,
    ids=[f"{op}-{name}-{opset}-{value}" for op, name, opset, value, _ in CHANGES],
)
def test_invalid_attribute(op, name, opset, value, words, tmp_path):
    model, node = example(op, opset)
    for attribute in [a for a in node.attribute if a.name == name or op == "Constant"]:
        node.attribute.remove(attribute)
    node.attribute.insert(0, helper.make_attribute(name, value))
    since = next(line.split("|")[2] for line in page().splitlines() if line.startswith(f"| {op} "))
    if opset < int(since):
        words = f"the model has opset {opset}, accepted: {int(since)}"
        # Nodes that create the list input do not support this opset either.
        refuse(tmp_path, model, f"({op})" if len(model.graph.node) == 1 else "(Sequence", words)
    else:
        refuse(tmp_path, model, f"({op})", f"'{name}'", words)


@pytest.mark.parametrize("op", sorted(rows()))
def test_unknown_attribute(op, tmp_path):
    model, node = example(op)
    node.attribute.append(helper.make_attribute("bogus", 3))
    refuse(tmp_path, model, f"({op})", "'bogus' is 3", "no such attribute")


@pytest.mark.parametrize("op", sorted(op for op in rows() if op != "Concat"))
def test_too_many_inputs(op, tmp_path):
    model, node = example(op)
    extra = numpy_helper.from_array(onnx_cases.ints(1), "extra")
    model.graph.initializer.append(extra)
    node.input.extend(["extra"] * 9)
    refuse(tmp_path, model, f"({op})")


FLOAT_ONLY = [op for op, (ins, _) in rows().items() if ins and ins[0][1].strip() == "(float)"]


@pytest.mark.parametrize("op", FLOAT_ONLY)
def test_invalid_element_type(op, tmp_path):
    model, node = example(op)
    for info in model.graph.input:
        info.type.tensor_type.elem_type = TensorProto.INT64
    refuse(tmp_path, model, f"({op})", "element type int, accepted: float")


# --- graphs ---


def relu():
    node = helper.make_node("Relu", ["x"], ["y"], name="node")
    return onnx_cases.model([node], [("x", ["N", 3])], [("y", ["N", 3])])


def test_valid_model_is_accepted(tmp_path):
    with pytest.raises(AssertionError, match="status 0"):
        refuse(tmp_path, relu())


@pytest.mark.parametrize("content", [b"", b"\x00" * 64, b"hello", b"\x08", b"\xff" * 1000])
def test_file_that_is_not_a_model(content, tmp_path):
    refuse(tmp_path, content)


def test_truncated_file(tmp_path):
    content = (ROOT / "examples" / "bitstream_rnn.onnx").read_bytes()
    for size in range(1, len(content), len(content) // 40):
        refuse(tmp_path, content[:size])


@pytest.mark.parametrize(
    "field, value, words",
    [
        ("op_type", "LRN", "op 'LRN' of domain 'ai.onnx' is not supported"),
        ("domain", "com.microsoft", "op 'Relu' of domain 'com.microsoft' is not supported"),
        ("overload", "other", "overload 'other'"),
    ],
)
def test_unsupported_op(field, value, words, tmp_path):
    model = relu()
    setattr(model.graph.node[0], field, value)
    refuse(tmp_path, model, "'node'", words)


def test_all_unsupported_ops_are_listed(tmp_path):
    nodes = [
        helper.make_node("LRN", ["x"], ["a"], name="first", size=3),
        helper.make_node("LRN", ["a"], ["b"], name="second", size=3),
        helper.make_node("Hardmax", ["b"], ["c"], name="hard"),
        helper.make_node("Det", ["b"], ["d"], name="det"),
        helper.make_node("FusedConv", ["c"], ["y"], name="fused", domain="com.microsoft"),
    ]
    model = onnx_cases.model(nodes, [("x", [1, 3, 4, 4])], [("y", [1, 3, 4, 4])])
    refuse(
        tmp_path,
        model,
        "node 'first' and 1 more: op 'LRN' of domain 'ai.onnx' is not supported (write AveragePool of the squares over "
        "an axis of channels); ",
        "node 'det': op 'Det' of domain 'ai.onnx' is not supported; ",
        "node 'hard': op 'Hardmax' of domain 'ai.onnx' is not supported (write ArgMax and OneHot); ",
        "node 'fused': op 'FusedConv' of domain 'com.microsoft' is not supported (save the model "
        "without the fusions of ONNX Runtime); run with --list-support for a list",
    )


@pytest.mark.parametrize("opset", [1, 6, NEWEST + 1, 1000])
def test_unsupported_opset(opset, tmp_path):
    model = relu()
    model.opset_import[0].version = opset
    refuse(tmp_path, model, f"opset {opset}, accepted: 7 to {NEWEST}")


def test_dangling_input(tmp_path):
    model = relu()
    model.graph.node[0].input[0] = "nowhere"
    refuse(tmp_path, model, "node 'node' (Relu): reads 'nowhere', which nothing defines")


def test_cycle(tmp_path):
    model = relu()
    model.graph.node.append(helper.make_node("Relu", ["y"], ["z"]))
    model.graph.node[0].input[0] = "z"
    refuse(tmp_path, model, "'z'", "cyclic")


def test_duplicate_name(tmp_path):
    model = relu()
    model.graph.node.append(helper.make_node("Relu", ["x"], ["y"]))
    refuse(tmp_path, model, "'y' is defined twice")


def test_missing_output(tmp_path):
    model = relu()
    model.graph.output[0].name = "none"
    refuse(tmp_path, model, "'none'")


@pytest.mark.parametrize("type_", [TensorProto.DOUBLE, TensorProto.FLOAT8E5M2, TensorProto.STRING, 99])
def test_invalid_input_type(type_, tmp_path):
    model = relu()
    model.graph.input[0].type.tensor_type.elem_type = type_
    refuse(tmp_path, model, "graph input 'x'", "accepted: float, int32, int64 or bool")


def test_shape_mismatch(tmp_path):
    node = helper.make_node("Add", ["x", "z"], ["y"], name="node")
    model = onnx_cases.model([node], [("x", ["N", 3]), ("z", ["N", 4])], [("y", ["N", 3])])
    refuse(tmp_path, model, "node 'node' (Add)", "[N, 3], [N, 4]")


def recurrent(op="GRU", **changes):
    return onnx_cases.recurrent_case(op, **changes).model


def test_inconsistent_hidden_size(tmp_path):
    model = recurrent()
    (node,) = model.graph.node
    next(a for a in node.attribute if a.name == "hidden_size").i = 7
    refuse(tmp_path, model, "'layer' (GRU)", "'W' has shape [1, 18, 4]", "hidden_size 7")


@pytest.mark.parametrize("name", ["x", "W", "R", "B", "h0"])
def test_wrong_rank(name, tmp_path):
    model = recurrent(weights="inputs")
    info = next(i for i in model.graph.input if i.name == name)
    info.type.tensor_type.shape.dim.add().dim_value = 2
    refuse(tmp_path, model, "'layer' (GRU)", "accepted: rank")


def test_activation_count(tmp_path):
    model = recurrent(activations=["Sigmoid"])
    refuse(tmp_path, model, "'layer' (GRU)", "'activations' has 1 elements, accepted: 2")


# --- windows ---


def windowed(op, x=(2, 4, 5, 6), w=None, shape=None, opset=17, outputs=1, **attributes):
    arrays = {"x": onnx_cases.floats(*x)}
    if w:
        arrays["w"] = onnx_cases.floats(*w)
    names = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, list(arrays), names, name="node", **attributes)
    weights = [("w", arrays["w"])] if w else []
    return onnx_cases.model(
        [node], [("x", list(shape or x))], [(n, None) for n in names], weights, opset
    )


POOL = {"op": "MaxPool", "kernel_shape": [2, 2]}


@pytest.mark.parametrize(
    "options, words",
    [
        ({"w": (3, 4, 3, 3, 1)}, "the shapes of the inputs do not fit: [2, 4, 5, 6], [3, 4, 3, 3, 1]"),
        ({"w": (3, 3, 3, 3)}, "the shapes of the inputs do not fit: [2, 4, 5, 6], [3, 3, 3, 3]"),
        ({"w": (3, 2, 3, 3), "group": 2}, "'group' is 2, accepted: a divisor of the 3 features"),
        ({"w": (4, 4, 3, 3), "group": 0}, "'group' is 0"),
        ({"w": (3, 4, 3, 3), "kernel_shape": [3, 2]}, "'kernel_shape' does not fit input 'W'"),
        ({"w": (3, 4, 3, 3), "strides": [1]}, "'strides' has 1 elements, accepted: 2"),
        ({"w": (3, 4, 3, 3), "strides": [1, 0]}, "'strides' holds 0, accepted: 1 to 2^24"),
        ({"w": (3, 4, 3, 3), "dilations": [2**40, 1]}, "'dilations' holds 1099511627776"),
        ({"w": (3, 4, 3, 3), "pads": [0, 0, -1, 0]}, "'pads' holds -1, accepted: 0 to 2^24"),
        ({"w": (3, 4, 3, 3), "pads": [1, 1]}, "'pads' has 2 elements, accepted: 4"),
        ({"w": (3, 4, 6, 3)}, "a window of extent 6 does not fit"),
        (
            {"w": (3, 4, 3, 3), "pads": [1] * 4, "auto_pad": "SAME_UPPER"},
            "has attribute 'pads' and auto_pad SAME_UPPER, accepted: one of them",
        ),
        (
            {"w": (3, 4, 3, 3), "shape": ("N", 4, "H", 6)},
            "cannot be proven to fit, into a dimension of size H",
        ),
        (
            {"w": (3, 4, 3, 3), "shape": ("N", 4, "H", 6), "auto_pad": "SAME_LOWER", "strides": [2, 1]},
            "'auto_pad' is SAME_LOWER on a dimension of size H with stride 2",
        ),
        ({**POOL, "kernel_shape": [2]}, "'kernel_shape' has 1 elements, accepted: 2"),
        ({**POOL, "kernel_shape": [0, 2]}, "has a window of 0 elements"),
        ({"op": "MaxPool"}, "attribute 'kernel_shape' is missing"),
        ({**POOL, "x": (2, 4)}, "the shapes of the inputs do not fit: [2, 4]"),
        (
            {**POOL, "kernel_shape": [1, 1], "shape": (2, 4, "H", 6), "strides": [2, 2], "ceil_mode": 1},
            "'ceil_mode' is 1 on a dimension of size H",
        ),
        (
            {"op": "AveragePool", "kernel_shape": [3, 3], "pads": [1] * 4, "shape": (2, 4, "H", 6)},
            "counts the elements of padded windows on a dimension of size H",
        ),
    ],
)  # fmt: skip
def test_invalid_window(options, words, tmp_path):
    options = {"op": "Conv", **options}
    refuse(tmp_path, windowed(**options), f"'node' ({options['op']})", words)


def test_too_large_padding(tmp_path):
    model = windowed("MaxPool", kernel_shape=[2**23, 2**23], pads=[2**23] * 4)
    refuse(tmp_path, model, "'node' (MaxPool)", "more than 2^40 elements")


@pytest.mark.parametrize("name", ["m", "running_mean"])
def test_training_outputs_in_inference_mode(name, tmp_path):
    """BatchNormalization has these outputs only in training mode."""
    case = next(c for c in onnx_cases.normalization_cases() if "training_mode=1" in c.name)
    (node,) = case.model.graph.node
    next(a for a in node.attribute if a.name == "training_mode").i = 0
    node.output[1] = name
    refuse(tmp_path, case.model, "'node' (BatchNormalization)", f"output '{name}' is used")


@pytest.mark.parametrize("op, index", [("Clip", 1), ("Pad", 2)])
def test_data_dependent_setting(op, index, tmp_path):
    model, node = example(op, 18)
    while len(node.input) <= index:
        node.input.append("")
    node.input[index] = "x"
    refuse(tmp_path, model, f"({op})", "input 'x' is not a constant of one value")


@pytest.mark.parametrize("op, options, words", OPERATORS)
def test_invalid_operator(op, options, words, tmp_path):
    options = dict(options)
    arrays = options.pop("arrays", None) or ARRAYS[op]
    names = list(arrays)
    kinds = [(n, (arrays[n].dtype, arrays[n].shape)) for n in names]
    constants = options.pop("constants", [])
    opset = options.pop("opset", 17)
    node = helper.make_node(op, names, ["y"], name="node", **options)
    inputs = [pair for pair in kinds if pair[0] not in constants]
    model = onnx_cases.model([node], inputs, [("y", [])], [(n, arrays[n]) for n in constants], opset)
    refuse(tmp_path, model, f"'node' ({op})", words)


# --- external data ---


def external(location, length, size=72):
    model = recurrent("RNN", sizes=(5, 3, 4, 6))
    tensor = next(t for t in model.graph.initializer if t.name == "R")
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", "0"), ("length", str(length))):
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value
    return model


@pytest.mark.parametrize(
    "location, length, words",
    [
        ("missing.bin", 144, "cannot be opened"),
        ("../weights.bin", 144, "inside the directory of the model"),
        ("/etc/passwd", 144, "inside the directory of the model"),
        ("short.bin", 144, "which has 100 bytes"),
        ("short.bin", 9, "needs 144 bytes"),
        ("link.bin", 144, "outside of the directory"),
    ],
)
def test_invalid_external_data(location, length, words, tmp_path):
    inside = tmp_path / "model"
    inside.mkdir()
    (tmp_path / "weights.bin").write_bytes(bytes(200))
    (inside / "short.bin").write_bytes(bytes(100))
    (inside / "link.bin").symlink_to(tmp_path / "weights.bin")
    refuse(inside, external(location, length), "initializer 'R'", words)


def test_initializer_without_data(tmp_path):
    model = recurrent()
    next(t for t in model.graph.initializer if t.name == "W").ClearField("raw_data")
    refuse(tmp_path, model, "initializer 'W' needs 72 elements, found 0")


def test_resize_of_symbolic_size(tmp_path):
    arrays = {"x": IMAGE, "roi": None, "s": np.array([1, 1, 0.5, 1], np.float32)}
    case = onnx_cases.op_case("Resize", arrays, constants=["s"], shapes={"x": [2, 4, "H", 6]})
    refuse(tmp_path, case.model, "resizes dimension 2 of size H, accepted: a fixed size", "--bind=NAME=NUMBER")


def test_size_fixed_by_a_node_is_reported(tmp_path):
    """PyTorch's older exporter writes such a Reshape for nn.MultiheadAttention."""
    arrays = {"x": onnx_cases.floats(4, 3, 6), "s": np.array([4, 0, 2, 3])}
    case = onnx_cases.op_case("Reshape", arrays, constants=["s"], shapes={"x": ["T", "B", 6]})
    path = tmp_path / "model.onnx"
    onnx.save(case.model, path)
    command = [harness.require_tool("bppsa-compile"), path, "--loss=mse", "--compile-to=import", "-o", tmp_path / "ir"]
    result = harness.check_succeeded(harness.run(*command))
    assert "note: " in result.stderr and "tensor<4x?x6xf32>" in (tmp_path / "ir").read_text()
    assert "dimension 'T' can only be 4, the size that the exporter has fixed in " in result.stderr
    assert "fixed in" not in harness.check_succeeded(harness.run(*command, "--bind=T=4")).stderr
