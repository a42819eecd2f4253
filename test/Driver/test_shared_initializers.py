"""Initializers that represent several parameters, or none.

export_shared_weights.py records PyTorch's losses for shared_*.onnx.
"""

import json
import pathlib

import harness
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

INPUTS = pathlib.Path(__file__).parent / "Inputs"
RECORDED = json.loads((INPUTS / "shared_losses.json").read_text())
SHARED = {
    "clones": {"'first.weight' (also for 'second.weight')", "'first.bias' (also for 'second.bias')"},
    "norms": {"'before.weight' (also for 'after.weight')", "'before.bias' (also for 'after.bias')"},
    "siamese": set(),
}
CASES = [(kind, exporter) for kind in SHARED for exporter in ("torchscript", "dynamo")]


def shared(kind, exporter):
    return onnx.load(INPUTS / f"shared_{kind}_{exporter}.onnx")


def data(model):
    """Returns the samples of export_shared_weights.py."""
    rng = np.random.default_rng(0)
    shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    names = [value.name for value in model.graph.input] + ["target"]
    return {name: rng.standard_normal(shape).astype(np.float32) for name in names}


def train(program, tmp_path, arrays, *options):
    """Trains for the recorded steps and returns the losses and the saved model."""
    source, log, saved = (tmp_path / name for name in ("data.npz", "log.jsonl", "saved.onnx"))
    np.savez(source, **arrays)
    size = str(arrays["target"].shape[0])
    words = ["--epochs", RECORDED["steps"], "--batch", size, "--lr", RECORDED["rate"]]
    words += ["--no-shuffle", "--log", log, "--save", saved, *options]
    harness.check_succeeded(program.run("train", "--data", source, *words))
    return [json.loads(line)["loss"] for line in log.read_text().splitlines()], onnx.load(saved)


def compile_text(model, tmp_path, *options):
    """Returns the compiler's messages (except about fixed sizes) and the trained initializers."""
    source, ir = tmp_path / "model.onnx", tmp_path / "import.mlir"
    onnx.save(model, source)
    command = [harness.require_tool("bppsa-compile"), source, "-o", ir, "--compile-to=import"]
    result = harness.check_succeeded(harness.run(*command, "--loss=mse", *options))
    signature = ir.read_text().split("func.func", 1)[1].split("\n", 1)[0]
    arguments = [part for part in signature.split("%arg") if "bppsa.parameter" in part]
    names = [part.split('bppsa.parameter = "', 1)[1].split('"')[0] for part in arguments]
    frozen = {name for name, part in zip(names, arguments) if "bppsa.frozen" in part}
    lines = [line for line in result.stderr.splitlines(True) if "--dynamic=" not in line]
    return "".join(lines), set(names) - frozen


@pytest.mark.parametrize("kind, exporter", CASES)
def test_merged_initializers_are_named_in_one_warning(kind, exporter, tmp_path):
    text, _ = compile_text(shared(kind, exporter), tmp_path)
    warnings = [line for line in text.splitlines() if "warning: " in line]
    assert len(warnings) == bool(SHARED[kind]), text
    for words in SHARED[kind]:
        assert words in warnings[0]
    assert all("--untie gives each its own" in warning for warning in warnings)
    assert "warning: " not in compile_text(shared(kind, exporter), tmp_path, "--untie")[0]


@pytest.mark.parametrize("kind, exporter", CASES)
def test_untied_models_train_as_in_pytorch(kind, exporter, tmp_path):
    model = shared(kind, exporter)
    options = ["--loss=mse", "--optimizer=sgd"]
    program = harness.compile_model(model, *options, "--untie")
    found, saved = train(program, tmp_path, data(model))
    np.testing.assert_allclose(found, RECORDED[kind], rtol=1e-4)
    onnx.checker.check_model(saved)
    names = {tensor.name for tensor in saved.graph.initializer}
    added = {words.split("'")[3] for words in SHARED[kind]}
    assert names == {tensor.name for tensor in model.graph.initializer} | added
    # The saved model has the same outputs in ONNX Runtime.
    arrays = {name: array for name, array in data(model).items() if name != "target"}
    expected = onnxruntime.InferenceSession(saved.SerializeToString()).run(None, arrays)[0]
    result = harness.compile_model(saved, *options).infer(arrays)["out"]
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
    if added:
        tied, _ = train(harness.compile_model(model, *options), tmp_path, data(model))
        assert np.max(np.abs(np.subtract(tied, RECORDED[kind]))) > 1e-3


def graph(nodes, initializers, version=17, ir_version=8, value_info=(), shape=(4, 3)):
    tensors = [numpy_helper.from_array(np.asarray(a, np.float32), n) for n, a in initializers.items()]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    if ir_version < 4:
        inputs += [helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in tensors]
    outputs = [helper.make_tensor_value_info("out", TensorProto.FLOAT, shape)]
    made = helper.make_graph(nodes, "g", inputs, outputs, tensors, value_info=value_info)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", version)])
    model.ir_version = ir_version
    onnx.checker.check_model(model)
    return model


MATRIX = np.random.default_rng(1).standard_normal((3, 3))


@pytest.mark.parametrize("ir_version", [3, 8])
def test_untie_by_name(tmp_path, ir_version):
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Tanh", ["a"], ["b"]),
        helper.make_node("MatMul", ["b", "w"], ["c"]),
        helper.make_node("MatMul", ["c", "w"], ["out"]),
    ]
    model = graph(nodes, {"w": MATRIX, "w.3": MATRIX}, ir_version=ir_version, version=7)
    # A matrix of many values with three uses appears to be shared on purpose.
    text, names = compile_text(model, tmp_path)
    assert "merged" not in text and names == {"w"}
    program = harness.compile_model(model, "--loss=mse", "--optimizer=sgd", "--untie=^w$")
    x = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    found = program.grad({"x": x, "target": x})
    # The gradients of the copies and their sum, computed with NumPy.
    w = MATRIX.astype(np.float32).astype(np.float64)
    b = np.tanh(x @ w)
    g = 2 * (b @ w @ w - x) / x.size
    expected = {"w.4": (b @ w).T @ g, "w.2": b.T @ (g @ w.T)}
    expected["w"] = x.T @ ((g @ w.T @ w.T) * (1 - b * b))
    assert set(found) == {"loss", "x", *expected}
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-4, atol=1e-6)


def test_untie_of_running_statistics(tmp_path):
    """Bias and running mean of an untrained batch normalization may be the same array of zeros."""
    nodes = [helper.make_node("BatchNormalization", ["x", "one", "zero", "zero", "one"], ["out"])]
    model = graph(nodes, {"one": np.ones(3), "zero": np.zeros(3)})
    text, names = compile_text(model, tmp_path)
    assert "'one'" in text and "'zero'" in text and names == set()
    text, names = compile_text(model, tmp_path, "--untie")
    assert "merged" not in text and names == {"one", "zero"}


def test_uses_in_subgraphs(tmp_path):
    branch = helper.make_graph(
        [helper.make_node("Mul", ["a", "w"], ["y"])],
        "branch", [], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )  # fmt: skip
    nodes = [
        helper.make_node("Mul", ["x", "w"], ["a"]),
        helper.make_node("Constant", [], ["yes"], value=numpy_helper.from_array(np.array(True))),
        helper.make_node("If", ["yes"], ["out"], then_branch=branch, else_branch=branch),
    ]
    text, names = compile_text(graph(nodes, {"w": np.ones(3)}), tmp_path, "--untie=w")
    # Both branches have a copy, but only one of them is read.
    assert names == {"w", "w.3"} and "does not read the initializers 'w.2'" in text


def calls(*names):
    """Returns MatMul nodes with these names, as the older exporter writes linear layers: it
    transposes the matrix for each call and merges initializers of equal values."""
    nodes, source = [], "x"
    for number, name in enumerate(names):
        weight, result = f"onnx::MatMul_{7 + number}", f"y{number}"
        if number:
            nodes.insert(0, helper.make_node("Identity", ["onnx::MatMul_7"], [weight]))
        nodes.append(helper.make_node("MatMul", [source, weight], [result], name))
        source = result
    nodes[-1].output[0] = "out"
    return graph(nodes, {"onnx::MatMul_7": MATRIX})


def test_calls_of_one_module_are_not_merged_weights(tmp_path):
    names = ["/cell/MatMul", "/cell_1/MatMul", "/cell_2/MatMul"]
    text, trained = compile_text(calls(*names), tmp_path)
    assert "warning: " not in text and "calls of one module: 'onnx::MatMul_7'" in text
    assert trained == {"onnx::MatMul_7"}
    assert compile_text(calls(*names), tmp_path, "--untie")[1] == trained
    assert len(compile_text(calls(*names), tmp_path, "--untie=MatMul")[1]) == 3


@pytest.mark.parametrize("names", [("/cell/MatMul", "/cell/MatMul_1"), ("/a/MatMul", "/b/MatMul")])
def test_weights_of_different_modules_look_merged(names, tmp_path):
    text, _ = compile_text(calls(*names), tmp_path)
    assert "warning: " in text and "'onnx::MatMul_7' (also for 'onnx::MatMul_8')" in text
    text, trained = compile_text(calls(*names), tmp_path, "--untie")
    assert text == "" and trained == {"onnx::MatMul_7", "onnx::MatMul_8"}


@pytest.mark.parametrize(
    "pattern, words", [("nothing", "matches no float initializer"), ("(", "regular expression")]
)
def test_invalid_untie_pattern(tmp_path, pattern, words):
    source = INPUTS / "shared_siamese_dynamo.onnx"
    command = [harness.require_tool("bppsa-compile"), source, "-o", tmp_path / "out"]
    result = harness.run(*command, "--loss=mse", f"--untie={pattern}")
    assert result.returncode == 1 and result.stderr.count("\n") == 1
    assert words in result.stderr and not (tmp_path / "out").exists()


def info(name, shape, **metadata):
    value = helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    for key, text in metadata.items():
        prefix = "pkg.torch.export.graph_signature.InputSpec." if key == "kind" else "pkg.onnxscript."
        value.metadata_props.add(key=prefix + key.replace("__", "."), value=text)
    return value


def constants():
    """Returns a model with constants, and with trained initializers that look like constants."""
    values = {
        "val_1": np.full(3, 2.0),  # constant: uniform values, generated name
        "val_2": [1.0, 2.0, 3.0],  # many values: a transposed weight
        "val_3": np.zeros(3),  # folded from a parameter
        "onnx::Mul_4": 2.0,
        "onnx::Mul_5": np.ones(3),  # a weight from the older exporter
        "/a/Constant_1_output_0": [[0.5]],
        "pe": [1.0, 2.0, 3.0],  # recorded as a buffer
        "val_7": np.full(3, 0.5),  # recorded as a parameter
        "mask": [0.0, np.inf, 0.0],
        "bias": np.zeros(3),
    }
    infos = [
        info("val_3", [3], optimizer__folded_from="['fc.weight', 'val_9']"),
        info("pe", [3], kind="BUFFER"),
        info("val_7", [3], kind="PARAMETER"),
    ]
    nodes = [helper.make_node("Add", ["x", "val_1"], ["s0"])]
    for i, name in enumerate(list(values)[1:]):
        nodes.append(helper.make_node("Add", [f"s{i}", name], [f"s{i + 1}"]))
    nodes[-1].output[0] = "out"
    return graph(nodes, values, value_info=infos)


def test_exported_constants_are_not_trained(tmp_path):
    text, names = compile_text(constants(), tmp_path)
    assert names == {"val_2", "val_3", "onnx::Mul_5", "val_7", "bias"}
    assert text.count("\n") == 3
    assert "their roles: 'val_2', 'val_3', 'onnx::Mul_5'; --freeze=" in text
    assert "because of their names only, since the file does not record their roles: 'bias'; " in text
    start = "note: " + str(tmp_path / "model.onnx") + ": not trained, as buffers or constants: "
    assert start in text
    for name in ("val_1", "onnx::Mul_4", "/a/Constant_1_output_0", "pe", "mask"):
        assert f"'{name}' (" in text
    _, names = compile_text(constants(), tmp_path, "--train=^(val_1|pe)$")
    assert names == {"val_1", "val_2", "val_3", "onnx::Mul_5", "pe", "val_7", "bias"}


@pytest.mark.parametrize(
    "pattern, words", [("bias", "matches no initializer that looks like"), ("(", "expression")]
)
def test_invalid_train_pattern(tmp_path, pattern, words):
    source = tmp_path / "model.onnx"
    onnx.save(constants(), source)
    command = [harness.require_tool("bppsa-compile"), source, "-o", tmp_path / "out"]
    result = harness.run(*command, "--loss=mse", f"--train={pattern}")
    assert result.returncode == 1 and result.stderr.count("\n") == 1
    assert words in result.stderr and not (tmp_path / "out").exists()


def tied(decoder, **initializers):
    """An embedding table followed by a separate `decoder` matrix."""
    values = {"table": MATRIX, "decoder": decoder, **initializers}
    nodes = [
        helper.make_node("MatMul", ["x", "table"], ["hidden"]),
        helper.make_node("MatMul", ["hidden", "decoder"], ["out"]),
    ]
    return graph(nodes, values)


def test_matrix_and_its_transpose(tmp_path):
    text, names = compile_text(tied(MATRIX.T), tmp_path)
    assert names == {"table", "decoder"} and text.count("\n") == 1
    assert "a matrix and its transpose" in text and "'table' and 'decoder'" in text


@pytest.mark.parametrize("decoder", [MATRIX, 1.5 * MATRIX.T, MATRIX[::-1].T])
def test_matrices_that_are_not_transposes(tmp_path, decoder):
    assert "transpose" not in compile_text(tied(decoder), tmp_path)[0]


def test_symmetric_matrices_are_not_transposes(tmp_path):
    values = {"table": np.eye(3), "decoder": np.eye(3)}
    assert "transpose" not in compile_text(tied(**values), tmp_path)[0]


def test_frozen_transpose_needs_no_warning(tmp_path):
    assert "transpose" not in compile_text(tied(MATRIX.T), tmp_path, "--freeze=decoder")[0]


# --- removed biases -------------------------------------------------------------------------------


def without_bias(rule):
    """A linear layer with a zero bias as the newer exporter writes it: `rule` removed the bias."""
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N", 3]) for n in "xy"]
    weight = numpy_helper.from_array(np.eye(3, dtype=np.float32), "out.weight")
    node = helper.make_node("Gemm", ["x", "out.weight"], ["y"], "node_Gemm_3")
    node.metadata_props.add(key="pkg.onnxscript.rewriter.rule_name", value=rule)
    graph = helper.make_graph([node], "layer", values[:1], values[1:], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_removed_biases_are_named(tmp_path):
    text, trained = compile_text(without_bias("RemoveOptionalBiasFromGemm"), tmp_path)
    assert trained == {"out.weight"} and text.count("\n") == 1
    assert "warning: " in text and "the exporter removed zero biases" in text
    assert "node_Gemm_3; export with optimize=False to keep them" in text
    assert compile_text(without_bias("TransposeTranspose"), tmp_path)[0] == ""
