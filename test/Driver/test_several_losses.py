"""Several losses: the weighted sum of the losses of named outputs."""

import json

import harness
import jax
import losses_in_jax
import numpy as np
import onnx
import onnx_in_jax
import pytest
from onnx import TensorProto, helper, numpy_helper

NAMES = ["class", "value", "penalty"]
LOSSES = {"class": "cross-entropy", "value": "mse", "penalty": "none"}
FACTORS = {"class": 1.0, "value": 0.3, "penalty": 0.05}
OPTIONS = [
    "--loss=cross-entropy,mse,none",
    "--loss-on=class,value,penalty",
    "--loss-weights=1,0.3,0.05",
    "--optimizer=sgd",
]
STEPS, CLASSES = 5, 4


def heads():
    """A GRU whose states feed a class per step, a value per sample and a penalty."""
    rng = np.random.default_rng(0)
    tensors = {
        "W": rng.standard_normal((1, 18, 3)),
        "R": rng.standard_normal((1, 18, 6)),
        "U": rng.standard_normal((6, CLASSES)),
        "V": rng.standard_normal((6, 2)),
    }
    initializers = [numpy_helper.from_array((a / 3).astype(np.float32), n) for n, a in tensors.items()]
    initializers.append(numpy_helper.from_array(np.array([1]), "one"))
    nodes = [
        helper.make_node("GRU", ["x", "W", "R"], ["states", "last"], hidden_size=6),
        helper.make_node("Squeeze", ["states", "one"], ["rows"]),
        helper.make_node("MatMul", ["rows", "U"], ["class"]),
        helper.make_node("Squeeze", ["last", "zero"], ["row"]),
        helper.make_node("MatMul", ["row", "V"], ["value"]),
        helper.make_node("Mul", ["U", "U"], ["squares"]),
        helper.make_node("ReduceSum", ["squares"], ["penalty"], keepdims=0),
    ]
    initializers.append(numpy_helper.from_array(np.array([0]), "zero"))
    values = [("class", [STEPS, "N", CLASSES]), ("value", ["N", 2]), ("penalty", [])]
    outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in values]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [STEPS, "N", 3])
    graph = helper.make_graph(nodes, "heads", [x], outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def make_data(samples=9, weighted=()):
    rng = np.random.default_rng(1)
    arrays = {
        "x": rng.standard_normal((STEPS, samples, 3)).astype(np.float32),
        "target.class": rng.integers(0, CLASSES, (STEPS, samples)),
        "target.value": rng.standard_normal((samples, 2)).astype(np.float32),
    }
    for name in weighted:
        arrays[f"weight.{name}"] = rng.random(arrays[f"target.{name}"].shape).astype(np.float32)
    return arrays


def reference(model, arrays):
    """Returns the sum, each loss, and the gradients in float64."""
    floats = {
        t.name: numpy_helper.to_array(t).astype(np.float64)
        for t in model.graph.initializer
        if t.data_type == TensorProto.FLOAT
    }
    floats["x"] = arrays["x"].astype(np.float64)

    def function(f):
        values = onnx_in_jax.evaluate(model, f, {}, np.float64)
        each = {
            name: losses_in_jax.loss_value(
                LOSSES[name], values[name], arrays.get(f"target.{name}"), arrays.get(f"weight.{name}")
            )
            for name in NAMES
        }
        return sum(FACTORS[name] * each[name] for name in NAMES), each

    (total, each), gradients = jax.value_and_grad(function, has_aux=True)(floats)
    return float(total), {n: float(v) for n, v in each.items()}, gradients


@pytest.mark.parametrize("target", ["cpu", "cuda"])
@pytest.mark.parametrize("weighted", [(), ("class",), ("class", "value")], ids=len)
def test_gradients_of_the_weighted_sum(target, weighted):
    model, arrays = heads(), make_data(weighted=weighted)
    words = ["--target=cuda", "--emulate"] if target == "cuda" else []
    program = harness.compile_model(model, *OPTIONS, *words)
    total, _, gradients = reference(model, arrays)
    for backward in ("sequential", "scan"):
        found = program.grad(arrays, f"--backward={backward}")
        np.testing.assert_allclose(found["loss"], total, rtol=1e-6)
        for name, expected in gradients.items():
            assert harness.relative_error(found[name], expected) < 2e-6, name


def test_eval_shows_sum_and_each_loss():
    model, arrays = heads(), make_data(weighted=("class",))
    total, each, _ = reference(model, arrays)
    found = harness.compile_model(model, *OPTIONS).eval(arrays, "--batch", "4", "--metrics=f1")
    assert found["loss"] == pytest.approx(total, rel=1e-6)
    losses = by_output(found["losses"])
    assert list(losses) == NAMES
    for name in NAMES:
        assert losses[name]["loss"] == pytest.approx(each[name], rel=1e-6)
    # The only loss with classes has an accuracy.
    logits = onnx_in_jax.outputs(model, arrays, np.float64)["class"]
    right = logits.argmax(-1) == arrays["target.class"]
    expected = np.average(right, weights=arrays["weight.class"])
    assert found["accuracy"] == losses["class"]["accuracy"] == pytest.approx(expected)
    assert "f1" in losses["class"] and "f1" not in losses["value"]


def by_output(losses):
    return {loss["loss_on"]: loss for loss in losses}


def train(program, arrays, tmp_path, *options, rate=0.1):
    data, log, saved = (tmp_path / name for name in ("data.npz", "log", "saved.onnx"))
    np.savez(data, **arrays)
    command = ["train", "--data", data, "--log", log, "--save", saved, "--lr", rate, *options]
    result = harness.check_succeeded(program.run(*command))
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return lines, onnx.load(saved), result.stdout


def test_train_shows_sum_and_each_loss(tmp_path):
    model, arrays = heads(), make_data()
    program = harness.compile_model(model, *OPTIONS)
    data = tmp_path / "data.npz"
    np.savez(data, **arrays)
    words = ["--batch", "9", "--val", data, "--epochs", "2"]
    (line, after), saved, progress = train(program, arrays, tmp_path, *words)
    total, each, gradients = reference(model, arrays)
    assert line["loss"] == pytest.approx(total, rel=1e-6)
    losses, later = by_output(line["losses"]), by_output(after["losses"])
    for name in NAMES:
        assert losses[name]["loss"] == pytest.approx(each[name], rel=1e-6)
        assert losses[name]["val_loss"] == pytest.approx(later[name]["loss"], rel=1e-6)
    first = progress.splitlines()[0]
    for name in NAMES:
        shown = f"{name} {losses[name]['loss']:#.5g}"
        assert shown in first, first
    assert f"val_accuracy {line['val_accuracy']:.4f}" in first
    # One step of SGD on the sum.
    once = {t.name: t for t in train(program, arrays, tmp_path, "--batch", "9")[1].graph.initializer}
    for tensor in model.graph.initializer:
        if tensor.name in gradients:
            expected = numpy_helper.to_array(tensor) - 0.1 * np.asarray(gradients[tensor.name])
            np.testing.assert_allclose(numpy_helper.to_array(once[tensor.name]), expected, atol=1e-6)


def test_resumed_training_is_bitwise_equal(tmp_path):
    program, arrays = harness.compile_model(heads(), *OPTIONS), make_data(16)
    words = ["--batch", "4", "--epochs", "2", "--backward=sequential"]
    whole, expected, _ = train(program, arrays, tmp_path, *words)
    kept = tmp_path / "kept"
    command = ["train", "--data", tmp_path / "data.npz", "--lr", "0.1", "--checkpoint", kept]
    harness.check_succeeded(program.run(*command, *words[:2], "--epochs", "1", words[-1]))
    resumed, found, _ = train(program, arrays, tmp_path, "--resume", kept, "--epochs", "2")
    assert [line["losses"] for line in resumed] == [line["losses"] for line in whole]
    assert found.graph.initializer == expected.graph.initializer


def test_loss_of_zero_weight_in_a_batch(tmp_path):
    """A batch may have no labels of one task."""
    model, arrays = heads(), make_data(8, weighted=("value",))
    arrays["weight.value"][4:] = 0
    program = harness.compile_model(model, *OPTIONS)
    half = {n: a[:, 4:] if n in ("x", "target.class") else a[4:] for n, a in arrays.items()}
    found = program.grad(half)
    del half["target.value"], half["weight.value"]
    classes = harness.compile_model(
        model, "--loss=cross-entropy,none", "--loss-on=class,penalty", "--loss-weights=1,0.05"
    )
    for name, gradient in classes.grad(half).items():
        np.testing.assert_allclose(found[name], gradient, rtol=1e-6, atol=1e-9, err_msg=name)
    (line,), _, _ = train(program, arrays, tmp_path, "--batch", "4", "--no-shuffle", rate=0)
    total, each, _ = reference(model, arrays)
    assert by_output(line["losses"])["value"]["loss"] == pytest.approx(each["value"], rel=1e-6)
    assert line["loss"] == pytest.approx(total, rel=1e-6)


def test_same_loss_for_all_outputs():
    program = harness.compile_model(heads(), "--loss=mse", "--loss-on=value,class")
    info = program.info()
    assert [(loss["loss"], loss["loss_on"]) for loss in info["losses"]] == [
        ("mse", "value"),
        ("mse", "class"),
    ]
    assert [loss["target_array"]["name"] for loss in info["losses"]] == ["target.value", "target.class"]


def test_accumulation_equals_large_batch(tmp_path):
    program, arrays = harness.compile_model(heads(), *OPTIONS), make_data(8)
    _, one, _ = train(program, arrays, tmp_path, "--batch", "8", "--no-shuffle")
    _, other, _ = train(program, arrays, tmp_path, "--batch=2", "--accumulate=4", "--no-shuffle")
    for a, b in zip(one.graph.initializer, other.graph.initializer):
        np.testing.assert_allclose(numpy_helper.to_array(a), numpy_helper.to_array(b), atol=1e-6)


# --- invalid options and data
# -----------------------------------------------------------------------


USAGE = [
    (["--loss-on=class,class"], 2, "--loss-on must name each output once, found 'class' twice"),
    (["--loss=mse,l1", "--loss-on=class"], 2, "--loss must be one word or one for each of the 1 outputs"),
    (["--loss=mse,l1,l1", "--loss-on=class,value"], 2, "of the 2 outputs of --loss-on, found 3"),
    (["--loss-on=class", "--loss-weights=2"], 2, "--loss-weights needs several outputs in --loss-on"),
    (["--loss-on=class,value", "--loss-weights=2"], 2, "one number for each of the 2 outputs"),
    (["--loss-on=class,value", "--loss-weights=2,-1"], 2, "finite, at least 0 and not all 0"),
    (["--loss-on=class,value", "--loss-weights=0,0"], 2, "finite, at least 0 and not all 0"),
    (["--loss-on=class,value", "--loss-weights=1,x"], 2, "--loss-weights must be a number, found 'x'"),
    (["--loss=mse", "--loss-on=class,value", "--ignore-index=0"], 2, "found 'mse'"),
    (["--loss-on=class,other"], 1, "--loss-on='other' is not a graph output; the outputs are class, value,"),
    (["--loss=mse", "--loss-on=class,penalty", "--label-smoothing=0.1"], 2, "found 'mse'"),
    (["--loss=none", "--loss-on=class,value"], 1, "loss none needs an output with one element"),
]


@pytest.mark.parametrize("options, status, words", USAGE, ids=lambda value: str(value))
def test_invalid_options(options, status, words, tmp_path):
    harness.check_refused(heads(), tmp_path, options, status, words)


BAD = {
    "no target": (lambda a: a.pop("target.value"), [], "there is no array 'target.value'"),
    "target of one loss": (lambda a: a.update(target=a["target.value"]), [], "unknown array 'target'"),
    "shape": (lambda a: a.update({"target.value": a["x"]}), [], "array 'target.value': found rank 3"),
    "type": (lambda a: a.update({"target.class": a["x"][..., 0]}), [], "array 'target.class': found float32"),
    "class": (lambda a: a["target.class"].__setitem__((1, 2), 4), [], "class indices are 0 to 3"),
    "weight of a scalar": (lambda a: a.update({"weight.penalty": a["x"]}), [], "unknown array 'weight.penalty'"),
    "accumulated weights": (
        lambda a: a.update({"weight.value": np.ones((9, 2), np.float32)}),
        ["--batch=3", "--accumulate=2"],
        "--accumulate: the positions of several losses (class, value, penalty) have weights",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_invalid_data(name, tmp_path):
    change, options, words = BAD[name]
    arrays, data = make_data(), tmp_path / "data.npz"
    change(arrays)
    np.savez(data, **arrays)
    result = harness.compile_model(heads(), *OPTIONS).run("train", "--data", data, *options)
    assert result.returncode == 1 and words in result.stderr, result.stderr
    assert result.stderr.count("\n") == 1


def test_best_accuracy_needs_one_loss_with_classes(tmp_path):
    program = harness.compile_model(heads(), "--loss=mse", "--loss-on=value,class")
    result = program.run("train", "--data", "none.npz", "--val-split=0.5", "--best=accuracy")
    assert result.returncode == 2
    assert "--best=accuracy needs one loss with classes, found mse, mse" in result.stderr
