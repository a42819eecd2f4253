"""BatchNormalization with training_mode 1.

Training normalizes by the statistics of the batch and updates the running statistics.
Evaluation, inference and the saved model use the running statistics.
"""

import json

import harness
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

CHANNELS, RATE, EPSILON, MOMENTUM = 3, 0.05, 1e-3, 0.8
START = {"scale": 1.2, "bias": 0.3, "mean": 0.5, "var": 2.0}
NAMES = list(START)


def start_values():
    shift = 0.1 * np.arange(CHANNELS)
    return {name: (value + shift).astype(np.float32) for name, value in START.items()}


def make_model(nodes, initializers, opset=17, inputs=("x",)):
    def value(name, shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    shape = ["N", CHANNELS, 5]
    tensors = [numpy_helper.from_array(np.asarray(a), name) for name, a in initializers.items()]
    given = [value("x", shape), *(value(name, [CHANNELS]) for name in inputs[1:])]
    graph = helper.make_graph(nodes, "g", given, [value("y", shape)], tensors)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.checker.check_model(made)
    return made


def normalization(x="x", y="y", number=0, training=1):
    outputs = [y, f"next_mean{number}", f"next_var{number}"] if training else [y]
    return helper.make_node(
        "BatchNormalization", [x, *NAMES], outputs, name=f"norm{number}", epsilon=EPSILON,
        momentum=MOMENTUM, training_mode=training,
    )  # fmt: skip


def single(training=1):
    return make_model([normalization(training=training)], start_values())


def make_data(samples=10):
    rng = np.random.default_rng(3)
    x = rng.normal(0.4, 1.7, (samples, CHANNELS, 5)).astype(np.float32)
    return {"x": x, "target": rng.standard_normal(x.shape).astype(np.float32)}


def spread(values):
    return values[:, None]


def reference(data, batches, updates_stored=True, accumulate=1, trained=("scale", "bias")):
    """Trains with SGD on the mean squared error in float64; `batches` are slices of the data."""
    p = {name: value.astype(np.float64) for name, value in start_values().items()}
    losses, sums = [], {"scale": 0, "bias": 0}
    for number, part in enumerate(batches):
        x, target = (data[name][part].astype(np.float64) for name in ("x", "target"))
        mean, var = (x.mean((0, 2)), x.var((0, 2))) if updates_stored else (p["mean"], p["var"])
        normal = (x - spread(mean)) / np.sqrt(spread(var) + EPSILON)
        error = normal * spread(p["scale"]) + spread(p["bias"]) - target
        losses.append(np.mean(error**2))
        sums["scale"] += 2 * (error * normal).sum((0, 2)) / error.size
        sums["bias"] += 2 * error.sum((0, 2)) / error.size
        if updates_stored:
            p["mean"] = MOMENTUM * p["mean"] + (1 - MOMENTUM) * mean
            p["var"] = MOMENTUM * p["var"] + (1 - MOMENTUM) * var
        if (number + 1) % accumulate == 0:
            for name in trained:
                p[name] = p[name] - RATE * sums[name] / accumulate
            sums = {"scale": 0, "bias": 0}
    return losses, p


def infer_in_numpy(x, p):
    normal = (x - spread(p["mean"])) / np.sqrt(spread(p["var"]) + EPSILON)
    return normal * spread(p["scale"]) + spread(p["bias"])


def compile_model(model, *options):
    return harness.compile_model(model, "--loss=mse", "--optimizer=sgd", *options)


def train(program, tmp_path, data, *options, batch=4, epochs=3):
    """Returns the losses of the epochs and the saved model."""
    source, log, saved = (tmp_path / name for name in ("data.npz", "log.jsonl", "saved.onnx"))
    np.savez(source, **data)
    words = ["--batch", batch, "--epochs", epochs, "--lr", RATE, "--no-shuffle"]
    words += ["--log", log, "--save", saved, *options]
    harness.check_succeeded(program.run("train", "--data", source, *words))
    losses = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
    return losses, onnx.load(saved)


def values_of(model):
    return {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}


def check_values(model, expected):
    found = values_of(model)
    for name in NAMES:
        np.testing.assert_allclose(found[name], expected[name], rtol=2e-5, err_msg=name)


@pytest.mark.parametrize(
    "options",
    [(), ("--backward=scan",), ("--target=cuda", "--emulate")],
    ids=["default", "jacobians", "emulated"],
)
def test_training_updates_statistics(options, tmp_path):
    """The last batch is smaller than the others."""
    data = make_data()
    program = compile_model(single(), *options)
    losses, saved = train(program, tmp_path, data)
    sizes = [4, 4, 2]
    batches = [slice(0, 4), slice(4, 8), slice(8, 10)]
    expected, p = reference(data, batches * 3)
    means = np.average(np.reshape(expected, (3, 3)), axis=1, weights=sizes)
    np.testing.assert_allclose(losses, means, rtol=1e-5)
    check_values(saved, p)
    # The saved model is for inference: ONNX Runtime uses the running statistics.
    (node,) = saved.graph.node
    assert list(node.output) == ["y"] and "training_mode" not in [a.name for a in node.attribute]
    onnx.checker.check_model(saved)
    (found,) = onnxruntime.InferenceSession(saved.SerializeToString()).run(None, {"x": data["x"]})
    np.testing.assert_allclose(found, infer_in_numpy(data["x"], p), rtol=1e-4, atol=1e-5)
    again = compile_model(saved)
    np.testing.assert_allclose(again.infer(data)["y"], found, rtol=1e-5, atol=1e-6)


def test_evaluation_uses_running_statistics():
    """Also with a batch size of 1."""
    program, data = compile_model(single()), make_data()
    expected = infer_in_numpy(data["x"].astype(np.float64), start_values())
    for options in ([], ["--batch", 1]):
        np.testing.assert_allclose(program.infer(data, *options)["y"], expected, rtol=1e-5, atol=1e-6)
    loss = np.mean((expected - data["target"]) ** 2)
    np.testing.assert_allclose(program.eval(data)["loss"], loss, rtol=1e-6)
    # `grad` differentiates the loss of `eval`.
    error = 2 * (expected - data["target"]) / expected.size
    np.testing.assert_allclose(program.grad(data)["bias"], error.sum((0, 2)), rtol=1e-4)


@pytest.mark.parametrize("options", [(), ("--ema", 0.9)], ids=["values", "averages"])
def test_resumed_training_is_bitwise_equal(options, tmp_path):
    program, data = compile_model(single()), make_data()
    _, whole = train(program, tmp_path, data, *options, epochs=5)
    checkpoint = tmp_path / "state.npz"
    train(program, tmp_path, data, "--checkpoint", checkpoint, *options, epochs=2)
    saved = tmp_path / "resumed.onnx"
    options = ["--data", tmp_path / "data.npz", "--resume", checkpoint, "--epochs", 5]
    harness.check_succeeded(program.run("train", *options, "--save", saved))
    resumed = values_of(onnx.load(saved))
    for name, value in values_of(whole).items():
        assert np.array_equal(value, resumed[name]), name


def test_accumulated_batches_update_statistics(tmp_path):
    data = make_data(8)
    _, saved = train(compile_model(single()), tmp_path, data, "--accumulate", 2, batch=2)
    parts = [slice(first, first + 2) for first in range(0, 8, 2)]
    check_values(saved, reference(data, parts * 3, accumulate=2)[1])


def test_frozen_scale_does_not_freeze_statistics(tmp_path):
    data = make_data(8)
    _, saved = train(compile_model(single(), "--freeze=scale"), tmp_path, data)
    _, p = reference(data, [slice(0, 4), slice(4, 8)] * 3, trained=["bias"])
    check_values(saved, p)


def test_frozen_statistics_normalize(tmp_path):
    """Corresponds to `eval()` of a single layer in PyTorch."""
    data = make_data(8)
    _, saved = train(compile_model(single(), "--freeze=mean|var"), tmp_path, data)
    check_values(saved, reference(data, [slice(0, 4), slice(4, 8)] * 3, updates_stored=False)[1])


def test_inference_mode_is_kept(tmp_path):
    data = make_data(8)
    _, saved = train(compile_model(single(training=0)), tmp_path, data)
    check_values(saved, reference(data, [slice(0, 4), slice(4, 8)] * 3, updates_stored=False)[1])


@pytest.mark.parametrize("pattern", ["", "=norm"])
def test_training_mode_by_option(pattern, tmp_path):
    """PyTorch's newer exporter writes a model in training mode with training_mode 0."""
    data = make_data(8)
    program = compile_model(single(training=0), f"--training-mode{pattern}")
    _, saved = train(program, tmp_path, data)
    check_values(saved, reference(data, [slice(0, 4), slice(4, 8)] * 3)[1])


def test_layer_used_twice(tmp_path):
    nodes = [
        normalization("x", "a", 0), normalization("a", "b", 1), helper.make_node("Add", ["a", "b"], ["y"])
    ]  # fmt: skip
    data = make_data(4)
    _, saved = train(compile_model(make_model(nodes, start_values())), tmp_path, data, epochs=1)
    x, p = data["x"].astype(np.float64), start_values()
    mean, var = p["mean"], p["var"]
    for _ in range(2):
        mean = MOMENTUM * mean + (1 - MOMENTUM) * x.mean((0, 2))
        var = MOMENTUM * var + (1 - MOMENTUM) * x.var((0, 2))
        normal = (x - spread(x.mean((0, 2)))) / np.sqrt(spread(x.var((0, 2))) + EPSILON)
        x = normal * spread(p["scale"]) + spread(p["bias"])
    found = values_of(saved)
    np.testing.assert_allclose(found["mean"], mean, rtol=1e-5)
    np.testing.assert_allclose(found["var"], var, rtol=1e-5)


def compile_text(model, tmp_path, *options):
    source = tmp_path / "model.onnx"
    onnx.save(model, source)
    command = [harness.require_tool("bppsa-compile"), source, "-o", tmp_path / "out"]
    return harness.run(*command, "--compile-to=import", *options)


def refuse(model, tmp_path, words, *options):
    result = compile_text(model, tmp_path, *options)
    assert result.returncode == 1 and result.stderr.count("\n") == 1
    assert words in result.stderr


def test_merged_statistics_are_refused(tmp_path):
    node = normalization()
    node.input[1] = "var"
    initializers = {name: a for name, a in start_values().items() if name != "scale"}
    model = make_model([node], initializers)
    refuse(model, tmp_path, "'var' holds running statistics of a BatchNormalization")
    assert compile_text(model, tmp_path, "--untie=^var$").returncode == 0
    node.input[1], node.input[4] = "mean", "mean"
    model = make_model([node], {"mean": initializers["mean"], "bias": initializers["bias"]})
    refuse(model, tmp_path, "input_mean and input_var are one initializer, 'mean'")


def test_statistics_that_are_graph_inputs(tmp_path):
    """Statistics that are graph inputs cannot be updated: a warning is printed."""
    initializers = {name: start_values()[name] for name in ("scale", "bias")}
    model = make_model([normalization()], initializers, inputs=("x", "mean", "var"))
    result = harness.check_succeeded(compile_text(model, tmp_path))
    assert "nodes 'norm0' have training_mode 1 and running statistics that are no" in result.stderr
    assert harness.check_succeeded(compile_text(single(), tmp_path)).stderr == ""


def test_invalid_training_mode_option(tmp_path):
    model = make_model([helper.make_node("Relu", ["x"], ["y"])], {})
    refuse(model, tmp_path, "finds no BatchNormalization or Dropout node", "--training-mode")
    words = "--training-mode='other' finds no BatchNormalization or Dropout node"
    refuse(single(), tmp_path, words, "--training-mode=other")
    refuse(single(), tmp_path, "needs a regular expression, found '('", "--training-mode=(")
    old = make_model([normalization(training=0)], start_values())
    old.opset_import[0].version = 13
    del old.graph.node[0].attribute[2]
    refuse(old, tmp_path, "needs a model of opset 14 or newer, found 13", "--training-mode")


def test_normalization_in_loops_is_refused(tmp_path):
    def value(name, shape, kind=TensorProto.FLOAT):
        return helper.make_tensor_value_info(name, kind, shape)

    body = helper.make_graph(
        [normalization("row", "out")], "body", [value("row", [4, CHANNELS])],
        [value("out", [4, CHANNELS])],
    )  # fmt: skip
    node = helper.make_node("Scan", ["x"], ["y"], name="scan", num_scan_inputs=1, body=body)
    tensors = [numpy_helper.from_array(a, name) for name, a in start_values().items()]
    shape = ["T", 4, CHANNELS]
    graph = helper.make_graph([node], "g", [value("x", shape)], [value("y", shape)], tensors)
    opset = [helper.make_opsetid("", 17)]
    refuse(helper.make_model(graph, opset_imports=opset, ir_version=8), tmp_path, "inside of a loop")


def test_saved_dropout_is_for_inference(tmp_path):
    """Dropout that is active in training is the identity in the saved model."""
    nodes = [
        helper.make_node("Dropout", ["x", "ratio", "on"], ["d"]),
        helper.make_node("Mul", ["d", "scale"], ["y"]),
    ]
    constants = {"ratio": np.float32(0.5), "on": np.array(True), "scale": np.ones((1, 5), np.float32)}
    model, data = make_model(nodes, constants), make_data(4)
    program = compile_model(model)
    _, saved = train(program, tmp_path, data)
    (found,) = onnxruntime.InferenceSession(saved.SerializeToString()).run(None, {"x": data["x"]})
    scale = values_of(saved)["scale"]
    assert not np.array_equal(scale, np.ones((1, 5)))
    np.testing.assert_allclose(found, data["x"] * scale, rtol=1e-6)
    # --training-mode restores the dropout.
    assert compile_text(saved, tmp_path, "--training-mode").returncode == 0
    assert "bppsa.dropout" in (tmp_path / "out").read_text()
