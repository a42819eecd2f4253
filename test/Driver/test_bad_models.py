"""Invalid models are refused with exit status 1, a one-line message and no output file."""

import random

import harness
import models
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper


def refuse(tmp_path, content, *options, words=()):
    """Compiles bytes or a model, checks that it is refused, and returns the message."""
    compiler = harness.require_tool("bppsa-compile")
    source, output = tmp_path / "bad.onnx", tmp_path / "out"
    source.write_bytes(content if isinstance(content, bytes) else content.SerializeToString())
    result = harness.run(compiler, source, "-o", output, *options)
    check_refusal(result, words)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.onnx"], "a file was left behind"
    return result.stderr


def check_refusal(result, words=()):
    assert result.returncode == 1, f"status {result.returncode}: {result.stderr}"
    lines = result.stderr.splitlines()
    assert len(lines) == 1 and lines[0].strip(), f"not one line: {result.stderr}"
    for word in words:
        assert word in result.stderr, f"'{word}' is not in: {result.stderr}"


def good(**changes):
    return models.build(models.Spec(**changes))


def recurrent_node(model):
    return next(n for n in model.graph.node if n.op_type in models.GATES)


def initializer(model, name):
    return next(t for t in model.graph.initializer if t.name == name)


def replace_initializer(model, name, array):
    initializer(model, name).CopyFrom(numpy_helper.from_array(array, name))


def set_attribute(model, name, value):
    node = recurrent_node(model)
    for index, attribute in enumerate(node.attribute):
        if attribute.name == name:
            del node.attribute[index]
            break
    node.attribute.append(helper.make_attribute(name, value))


# --- files that are not ONNX models ---


def test_empty_file(tmp_path):
    refuse(tmp_path, b"")


@pytest.mark.parametrize("part", [0.01, 0.3, 0.6, 0.9, 0.999])
def test_truncated_file(tmp_path, part):
    content = good(cell="GRU").SerializeToString()
    refuse(tmp_path, content[: int(len(content) * part)])


@pytest.mark.parametrize("seed", range(20))
def test_random_bytes(tmp_path, seed):
    refuse(tmp_path, random.Random(seed).randbytes(1 + 97 * seed))


@pytest.mark.parametrize("seed", range(30))
def test_flipped_bytes_never_crash(tmp_path, seed):
    """A damaged model is refused, or compiles if only weights were damaged."""
    compiler = harness.require_tool("bppsa-compile")
    rng = random.Random(seed)
    content = bytearray(good(cell="LSTM", hidden=2).SerializeToString())
    for _ in range(3):
        content[rng.randrange(len(content))] = rng.randrange(256)
    source = tmp_path / "bad.onnx"
    source.write_bytes(content)
    result = harness.run(
        compiler, source, "-o", tmp_path / "out.mlir", "--emit=mlir", "--compile-to=import"
    )
    if result.returncode != 0:
        check_refusal(result)


def test_missing_file(tmp_path):
    compiler = harness.require_tool("bppsa-compile")
    result = harness.run(compiler, tmp_path / "absent.onnx", "-o", tmp_path / "out")
    check_refusal(result, ["absent.onnx"])


def test_directory(tmp_path):
    compiler = harness.require_tool("bppsa-compile")
    check_refusal(harness.run(compiler, tmp_path, "-o", tmp_path / "out"))


@pytest.mark.parametrize("output", ["no/such/folder/out", "."])
def test_unwritable_output(tmp_path, output):
    compiler = harness.require_tool("bppsa-compile")
    source = tmp_path / "model.onnx"
    source.write_bytes(good().SerializeToString())
    check_refusal(harness.run(compiler, source, "-o", tmp_path / output), ["cannot"])


# --- graphs ---


def test_graph_without_nodes_and_outputs(tmp_path):
    refuse(tmp_path, helper.make_model(helper.make_graph([], "empty", [], [])))


def test_unknown_operator(tmp_path):
    model = good()
    model.graph.node[-1].op_type = "Frobnicate"
    refuse(tmp_path, model, words=["Frobnicate"])


def test_unknown_domain(tmp_path):
    model = good()
    model.graph.node[-1].domain = "com.example"
    model.opset_import.append(helper.make_opsetid("com.example", 1))
    refuse(tmp_path, model, words=["com.example"])


@pytest.mark.parametrize("opset", [1, 6, 999])
def test_opset(tmp_path, opset):
    model = good()
    model.opset_import[0].version = opset
    refuse(tmp_path, model, words=[str(opset)])


def test_missing_opset(tmp_path):
    model = good()
    del model.opset_import[:]
    refuse(tmp_path, model)


def test_dangling_input(tmp_path):
    model = good()
    recurrent_node(model).input[0] = "nowhere"
    refuse(tmp_path, model, words=["nowhere"])


def test_undefined_output(tmp_path):
    model = good()
    model.graph.output[0].name = "nowhere"
    refuse(tmp_path, model, words=["nowhere"])


def test_node_order(tmp_path):
    model = good()
    nodes = list(model.graph.node)[::-1]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    refuse(tmp_path, model)


def test_value_defined_twice(tmp_path):
    model = good()
    model.graph.node.append(model.graph.node[0])
    refuse(tmp_path, model)


def test_missing_required_input(tmp_path):
    model = good()
    del recurrent_node(model).input[2:]
    refuse(tmp_path, model, words=["RNN"])


def test_input_of_unknown_rank(tmp_path):
    model = good()
    model.graph.input[0].type.tensor_type.ClearField("shape")
    refuse(tmp_path, model, words=["x"])


@pytest.mark.parametrize("dtype", [TensorProto.DOUBLE, TensorProto.UINT8])
def test_input_dtype(tmp_path, dtype):
    model = good()
    model.graph.input[0].type.tensor_type.elem_type = dtype
    refuse(tmp_path, model, words=["x"])


def test_float64_weights(tmp_path):
    model = good()
    weight = numpy_helper.to_array(initializer(model, "layer0.W")).astype(np.float64)
    replace_initializer(model, "layer0.W", weight)
    refuse(tmp_path, model, words=["layer0.W"])


def test_initializer_with_too_little_data(tmp_path):
    model = good()
    initializer(model, "head.bias").dims[0] += 1
    refuse(tmp_path, model)


def test_negative_dimension(tmp_path):
    model = good()
    initializer(model, "layer0.W").dims[2] = -3
    refuse(tmp_path, model, words=["layer0.W"])


@pytest.mark.parametrize("location", ["absent.bin", "../outside.bin", "/etc/hostname"])
def test_external_data(tmp_path, location):
    model = good()
    tensor = initializer(model, "layer0.W")
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    refuse(tmp_path, model, words=["layer0.W"])


def test_matmul_shape_mismatch(tmp_path):
    model = good(head="steps")
    replace_initializer(model, "head.weight", np.zeros((7, 5), np.float32))
    refuse(tmp_path, model, words=["MatMul"])


def test_add_shape_mismatch(tmp_path):
    model = good(head="steps")
    replace_initializer(model, "head.bias", np.zeros(3, np.float32))
    refuse(tmp_path, model, words=["Add"])


# --- recurrent operators ---


@pytest.mark.parametrize("cell", models.GATES)
@pytest.mark.parametrize(
    "name,value",
    [
        ("direction", "sideways"),
        ("hidden_size", 7),
        ("hidden_size", 0),
        ("hidden_size", -4),
        ("layout", 2),
        ("clip", 0.0),
        ("clip", -1.0),
        ("activation_alpha", [0.5]),
        ("activation_beta", [0.5]),
        ("frobnicate", 1),
    ],
)
def test_invalid_attribute(tmp_path, cell, name, value):
    model = good(cell=cell)
    set_attribute(model, name, value)
    node = recurrent_node(model)
    refuse(tmp_path, model, words=[node.name, cell, name])


# Affine and ScaledTanh have no defaults for their parameters.
@pytest.mark.parametrize("activation", ["Frobnicate", "relu", "Affine", "ScaledTanh"])
@pytest.mark.parametrize("cell,count", [("RNN", 1), ("GRU", 2), ("LSTM", 3)])
def test_invalid_activation(tmp_path, cell, count, activation):
    model = good(cell=cell)
    set_attribute(model, "activations", [activation] * count)
    refuse(tmp_path, model, words=[cell, activation])


def test_too_few_activations(tmp_path):
    model = good(cell="LSTM")
    set_attribute(model, "activations", ["Sigmoid", "Tanh"])
    refuse(tmp_path, model, words=["activations"])


def test_too_few_activation_parameters(tmp_path):
    model = good(cell="GRU")
    set_attribute(model, "activations", ["Affine", "Affine"])
    set_attribute(model, "activation_alpha", [0.5, 0.5])
    set_attribute(model, "activation_beta", [0.5])
    refuse(tmp_path, model, words=["GRU", "'Affine' has no default parameters"])


def add_lengths(model, dims, dtype=TensorProto.INT32):
    node = recurrent_node(model)
    model.graph.input.append(helper.make_tensor_value_info("lens", dtype, dims))
    del node.input[4:]
    node.input.append("lens")
    return model


@pytest.mark.parametrize(
    "dims,dtype",
    [(["B", 1], TensorProto.INT32), ([7, 7], TensorProto.INT32), (["B"], TensorProto.FLOAT)],
)
def test_sequence_lens(tmp_path, dims, dtype):
    refuse(tmp_path, add_lengths(good(), dims, dtype), words=["sequence_lens"])


@pytest.mark.parametrize("shape", [(1, 16), (2, 12), (12,)])
def test_peepholes(tmp_path, shape):
    model = good(cell="LSTM")
    node = recurrent_node(model)
    model.graph.initializer.append(numpy_helper.from_array(np.zeros(shape, np.float32), "peep"))
    del node.input[4:]
    node.input.extend(["", "", "", "peep"])
    refuse(tmp_path, model, words=["LSTM", "'P' has shape"])


@pytest.mark.parametrize(
    "name,shape",
    [
        ("layer0.W", (1, 12, 5)),
        ("layer0.W", (2, 12, 3)),
        ("layer0.W", (12, 3)),
        ("layer0.R", (1, 12, 5)),
        ("layer0.R", (1, 8, 4)),
        ("layer0.B", (1, 12)),
        ("layer0.B", (24,)),
    ],
)
def test_weight_shape(tmp_path, name, shape):
    model = good(cell="GRU")
    replace_initializer(model, name, np.zeros(shape, np.float32))
    refuse(tmp_path, model, words=["GRU"])


def test_initial_state_shape(tmp_path):
    model = good(initial="input")
    state = next(i for i in model.graph.input if i.name.endswith("initial_h"))
    state.type.tensor_type.shape.dim[2].dim_value = 9
    refuse(tmp_path, model, words=["initial_h"])


# --- options that do not match the model ---


@pytest.mark.parametrize(
    "options,word",
    [
        (["--loss-on=nowhere"], "nowhere"),
        (["--loss=none"], "none"),
        (["--freeze=("], "freeze"),
        (["--freeze=nothing_has_this_name"], "freeze"),
        (["--batch-axis=nowhere:0"], "nowhere"),
        (["--batch-axis=x:7"], "axis 7 of 'x'"),
        (["--mcpu=frobnicator"], "frobnicator"),
    ],
)
def test_invalid_option(tmp_path, options, word):
    refuse(tmp_path, good(), *options, words=[word])
