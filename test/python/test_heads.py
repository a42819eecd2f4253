# Part of the bppsa project, under the MIT License.
"""bppsa.models.heads adds auxiliary heads to models and removes them.

Expected outputs of heads are computed in NumPy from tensors that ONNX Runtime returns.
"""

import pathlib

import harness
import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

import bppsa
from bppsa.models import heads
from onnx import TensorProto, helper, numpy_helper

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
SIZES = {"T": 6, "B": 3}


def run(model, x):
    """Returns all outputs by name, without optimizations, which depend on the rest of the graph."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, {"x": x})))


def draw(model):
    shape = [dim.dim_value or SIZES[dim.dim_param] for dim in model.graph.input[0].type.tensor_type.shape.dim]
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def show(model, tensor):
    """Returns the model with `tensor` as an additional output."""
    shown = onnx.ModelProto.FromString(model.SerializeToString())
    if tensor not in [output.name for output in shown.graph.output]:
        shown.graph.output.append(helper.make_tensor_value_info(tensor, TensorProto.FLOAT, None))
    return shown


def linear(model, name, features):
    tensors = {t.name: numpy_helper.to_array(t).astype(np.float64) for t in model.graph.initializer}
    return features @ tensors[f"{name}.weight"] + tensors[f"{name}.bias"]


def joined(y):
    """Reshapes [T, D, B, H] or [D, B, H] to [..., B, D * H]."""
    y = np.moveaxis(y, -3, -2)
    return y.reshape(*y.shape[:-2], -1)


# Model, tensor, pooling, and expected input of the head.
CASES = [
    ("irmas_gru", "/rnn/Squeeze_output_0", None, lambda y: y),
    ("irmas_gru", "/rnn/GRU_output_0", None, joined),
    ("irmas_gru", "/rnn/GRU_output_0", "last", lambda y: joined(y)[-1]),
    ("irmas_gru", "/rnn/GRU_output_1", None, joined),
    ("lstm_tagger", "/rnn/LSTM_output_0", None, joined),
    ("lstm_tagger", "/rnn/LSTM_output_2", None, joined),
    ("lstm_tagger", "/rnn/Reshape_output_0", "last", lambda y: y[-1]),
    ("lenet5", "/2/MaxPool_output_0", None, lambda y: y.mean((2, 3))),
    ("lenet5", "/3/Conv_output_0", "every", lambda y: y),
    ("lenet5", "/8/Relu_output_0", None, lambda y: y),
]


@pytest.mark.parametrize("name, tensor, pool, seen", CASES)
def test_head_is_linear_layer_and_keeps_other_outputs(name, tensor, pool, seen):
    model = onnx.load(EXAMPLES / f"{name}.onnx")
    more = heads.add(EXAMPLES / f"{name}.onnx", {"early": tensor}, 7, pool, seed=3)
    x = draw(model)
    found, before = run(more, x), run(show(model, tensor), x)
    for output in model.graph.output:
        np.testing.assert_array_equal(found[output.name], before[output.name])
    expected = linear(more, "early", seen(before[tensor].astype(np.float64)))
    assert found["early"].shape == expected.shape
    np.testing.assert_allclose(found["early"], expected, rtol=1e-5, atol=1e-5)


def test_batch_first_layout_and_initializers_listed_as_inputs():
    rng = np.random.default_rng(0)
    tensors = {
        "w": rng.standard_normal((2, 12, 4)).astype(np.float32) / 2,
        "r": rng.standard_normal((2, 12, 4)).astype(np.float32) / 2,
    }
    attributes = {"hidden_size": 4, "direction": "bidirectional"}
    x = rng.standard_normal((5, 6, 4)).astype(np.float32)

    def make(opset, ir_version, shape, **more):
        graph = helper.make_graph(
            [helper.make_node("GRU", ["x", "w", "r"], ["y", "h"], **attributes, **more)],
            "gru",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * 4)],
            [numpy_helper.from_array(array, key) for key, array in tensors.items()],
        )
        if ir_version < 4:
            graph.input.extend(
                helper.make_tensor_value_info(key, TensorProto.FLOAT, array.shape)
                for key, array in tensors.items()
            )
        imports = [helper.make_opsetid("", opset)]
        return helper.make_model(graph, opset_imports=imports, ir_version=ir_version)

    old = make(7, 3, ["T", "B", 4])
    with_heads = heads.add(old, {"a": "y", "b": "h"}, 3)
    found = run(with_heads, x)
    y = found["y"].astype(np.float64)
    np.testing.assert_allclose(found["a"], linear(with_heads, "a", joined(y)), rtol=1e-5, atol=1e-5)
    h = np.concatenate([y[-1, 0], y[0, 1]], axis=-1)
    np.testing.assert_allclose(found["b"], linear(with_heads, "b", h), rtol=1e-5, atol=1e-5)
    assert heads.remove(with_heads).SerializeToString(deterministic=True) == old.SerializeToString(
        deterministic=True
    )
    # ONNX Runtime does not support this layout; the ONNX reference implementation supports it for
    # one direction.
    attributes["direction"] = "forward"
    tensors = {key: array[:1] for key, array in tensors.items()}
    first = heads.add(make(17, 8, ["B", "T", 4], layout=1), {"a": "y"}, 3, "last")
    from onnx.reference import ReferenceEvaluator

    y, a = ReferenceEvaluator(first).run(None, {"x": x})
    np.testing.assert_allclose(a, linear(first, "a", y[:, -1, 0]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["lenet5", "lstm_tagger", "keras_gru"])
def test_removing_heads_restores_model(name):
    model = onnx.load(EXAMPLES / f"{name}.onnx")
    tensors = list(heads.candidates(model))
    names = {f"head{i}": tensor for i, tensor in enumerate(tensors)}
    one = heads.add(heads.add(model, names, 4, "every"), {"further": tensors[0]}, 2)
    assert len(one.graph.output) == len(model.graph.output) + len(tensors) + 1
    without_some = heads.remove(one, ["further", "head0"])
    assert [o.name for o in without_some.graph.output][-len(tensors) + 1 :] == list(names)[1:]
    same = heads.remove(without_some)
    assert same.SerializeToString(deterministic=True) == model.SerializeToString(deterministic=True)


@pytest.mark.parametrize(
    "name, tensor, options, words",
    [
        ("irmas_gru", "/rnn/GRU", {}, "candidates: /rnn/GRU_output_1, /rnn/GRU_output_0, "),
        ("irmas_gru", "head.bias", {}, "no tensor 'head.bias' of floats that depends on its inputs"),
        ("irmas_gru", "/rnn/Squeeze_output_0", {"pool": "mean"}, "a mean is that of images"),
        ("irmas_gru", "/rnn/GRU_output_0", {"pool": "mean"}, "found [T, B, 20]"),
        ("irmas_gru", "/Gather_output_0", {"pool": "last"}, "that of [T, N, features], found [B, 20]"),
        ("irmas_gru", "/Gather_output_0", {"pool": "best"}, "every, last, mean, found 4 and 'best'"),
        ("irmas_gru", "/Gather_output_0", {"width": 0}, "a width of at least 1"),
        ("irmas_gru", "/Gather_output_0", {"name": "logits"}, "has this name already"),
    ],
)
def test_invalid_heads_are_refused(name, tensor, options, words):
    with pytest.raises(bppsa.Error) as refusal:
        heads.add(
            EXAMPLES / f"{name}.onnx",
            {options.get("name", "early"): tensor},
            options.get("width", 4),
            options.get("pool"),
        )
    assert words in str(refusal.value)


def elementwise(shape, opset=17):
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Relu", ["y"], ["z"])],
        "relus",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@pytest.mark.parametrize(
    "model, options, words",
    [
        (elementwise(None), {}, "the rank or the width of 'y' is not known; candidates: none"),
        (elementwise(["N", "F"]), {}, "the rank or the width of 'y' is not known"),
        (elementwise(["N", 3, "R", "C"]), {"pool": "every"}, "the width is not known of [N, 3, R, C]"),
        (elementwise(["N", 3], opset=6), {}, "heads need opset 7 or newer, found 6"),
    ],
)
def test_unknown_widths_are_refused(model, options, words):
    with pytest.raises(bppsa.Error) as refusal:
        heads.add(model, {"early": "y"}, 4, **options)
    assert words in str(refusal.value)


def test_removing_missing_heads_is_refused():
    model = elementwise(["N", 3])
    for names, words in (
        (None, "has no heads added by bppsa.models.heads"),
        (["early"], "no output 'early', found z"),
        (["z"], "no output is left without z"),
    ):
        with pytest.raises(bppsa.Error, match=words):
            heads.remove(model, names)


def stacked():
    """Two GRUs with a classifier on the last state of the second."""
    rng = np.random.default_rng(5)
    nodes, tensors = [], {"one": np.array([1])}
    for i, last in enumerate(("x", "y0")):
        for key, columns in (("w", 6), ("r", 6)):
            tensors[f"{key}{i}"] = (rng.standard_normal((1, 18, columns)) / 3).astype(np.float32)
        outputs = [f"a{i}", f"h{i}"]
        nodes.append(helper.make_node("GRU", [last, f"w{i}", f"r{i}"], outputs, hidden_size=6))
        nodes.append(helper.make_node("Squeeze", [f"a{i}", "one"], [f"y{i}"]))
    tensors["last"], tensors["u"] = np.array(-1), rng.standard_normal((6, 3)).astype(np.float32)
    nodes.append(helper.make_node("Gather", ["y1", "last"], ["end"], axis=0))
    nodes.append(helper.make_node("MatMul", ["end", "u"], ["logits"]))
    graph = helper.make_graph(
        nodes,
        "stacked",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["T", "B", 6])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["B", 3])],
        [numpy_helper.from_array(np.asarray(array), key) for key, array in tensors.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def score(model, name, arrays):
    logits = run(model, arrays["x"])[name].astype(np.float64)
    logits -= np.log(np.exp(logits).sum(-1, keepdims=True))
    return -logits[np.arange(len(logits)), arrays[f"target.{name}"]].mean()


def test_interlocked_modules_train_with_added_heads(tmp_path):
    model = heads.add(stacked(), {"early": "a0"}, width=3, pool="last")
    program = harness.compile_model(
        model, "--loss-on=early,logits", "--interlock=1", "--optimizer=adam", "--loss=cross-entropy"
    )
    rng = np.random.default_rng(2)
    target = rng.integers(0, 3, 60)
    x = (rng.standard_normal((9, 60, 6)) + 0.4 * target[:, None]).astype(np.float32)
    arrays = {"x": x, "target.early": target, "target.logits": target}
    gradients = program.grad(arrays)
    # The first layer only gets gradients from its head, not from the loss of the second layer.
    alone = harness.compile_model(model, "--loss-on=early", "--loss=cross-entropy", "--optimizer=adam")
    expected = alone.grad({"x": x, "target": target})
    for name in ("w0", "r0", "early.weight", "early.bias"):
        assert harness.relative_error(gradients[name], expected[name]) < 1e-6, name
    data, saved = tmp_path / "data.npz", tmp_path / "trained.onnx"
    np.savez(data, **arrays)
    words = ["--data", data, "--epochs", 20, "--batch", 20, "--lr", 1e-2, "--seed", 1, "--save", saved]
    harness.check_succeeded(program.run("train", *words))
    for name in ("early", "logits"):
        assert score(onnx.load(saved), name, arrays) < 0.7 * score(model, name, arrays), name
    small = tmp_path / "small.onnx"
    assert heads.main([str(saved), "--remove", "--out", str(small)]) == 0
    without = onnx.load(small)
    assert [output.name for output in without.graph.output] == ["logits"]
    assert not any("early" in text.name for text in (*without.graph.initializer, *without.graph.node))
    np.testing.assert_array_equal(run(without, x)["logits"], run(onnx.load(saved), x)["logits"])


def test_convolutional_model_trains_with_added_heads():
    path = EXAMPLES / "lenet5.onnx"
    tensors = {"one": "/2/MaxPool_output_0", "two": "/5/MaxPool_output_0"}
    model = heads.add(path, tensors, width=10)
    rng = np.random.default_rng(2)
    arrays = {"x": rng.standard_normal((8, 3, 32, 32)).astype(np.float32)}
    arrays |= {f"target.{name}": rng.integers(0, 10, 8) for name in ("one", "two", "logits")}
    program = harness.compile_model(model, "--loss-on=one,two,logits", "--interlock=1")
    gradients = program.grad(arrays)
    own = {"x": arrays["x"], "target": arrays["target.one"]}
    alone = harness.compile_model(model, "--loss-on=one").grad(own)
    for name in ("0.weight", "0.bias", "one.weight"):
        assert harness.relative_error(gradients[name], alone[name]) < 1e-5, name


def test_command_line(tmp_path, capsys):
    source, out = str(EXAMPLES / "irmas_gru.onnx"), str(tmp_path / "with.onnx")
    assert heads.main([source, "--list"]) == 0
    assert "/rnn/Squeeze_output_0  [T, B, 20]" in capsys.readouterr().out.splitlines()
    words = ["--add", "a=/rnn/GRU_output_0", "--add", "b=/Gather_output_0", "--width", "4", "--out", out]
    assert heads.main([source, *words]) == 0
    assert [output.name for output in onnx.load(out).graph.output] == ["logits", "a", "b"]
    assert heads.main([source, "--add", "a=nothing", "--width", "4", "--out", out]) == 1
    assert "no tensor 'nothing'" in capsys.readouterr().err
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no model")
    assert heads.main([str(broken), "--list"]) == 1
    assert "is not a readable ONNX model" in capsys.readouterr().err
    for words, refusal in (
        (["--remove"], "--remove needs --out"),
        (["--add", "a", "--width", "4", "--out", out], "--add needs NAME=TENSOR"),
    ):
        with pytest.raises(SystemExit):
            heads.main([source, *words])
        assert refusal in capsys.readouterr().err


def test_types():
    harness.check_types(harness.ROOT / "python/bppsa/models/heads.py")
