"""Weighted losses: `weight`, ignored targets, class weights, label smoothing, lengths and frozen
rows.

record_losses.py records the reference values from PyTorch.
"""

import json
import pathlib

import harness
import losses_in_jax
import models
import numpy as np
import onnx
import onnx_in_jax
import pytest
from onnx import TensorProto, helper, numpy_helper

RECORDED = json.loads((pathlib.Path(__file__).parent / "Inputs" / "torch_losses.json").read_text())
LOGITS = np.array(RECORDED["logits"], np.float32)
CLASSES = LOGITS.shape[-1]


def biased():
    """y = x + b for any number of samples."""
    values = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N", *LOGITS.shape[1:]]) for n in "xy"
    ]
    bias = numpy_helper.from_array(np.zeros(CLASSES, np.float32), "b")
    node = helper.make_node("Add", ["x", "b"], ["y"])
    graph = helper.make_graph([node], "biased", values[:1], values[1:], [bias])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def class_weights(values, name=None):
    """Writes the weights to an .npy file and returns the option that names it."""
    values = np.asarray(values)
    name = name or "weights-" + "-".join(map(str, values.tolist()))
    path = harness.programs_directory() / f"{name}.npy"
    np.save(path, values)
    return f"--class-weights={path}"


def compile_biased(loss="cross-entropy", **options):
    words = [f"--loss={loss}"]
    if "class_weights" in options:
        words.append(class_weights(np.float32(options["class_weights"])))
    if "label_smoothing" in options:
        words.append(f"--label-smoothing={options['label_smoothing']}")
    if "ignore_index" in options:
        words.append(f"--ignore-index={options['ignore_index']}")
    return harness.compile_model(biased(), *words)


def arrays_of(case):
    kind = np.int64 if case["loss"] in ("cross-entropy", "nll") else np.float32
    arrays = {"x": LOGITS, "target": np.array(case["target"], kind)}
    if case["weight"] is not None:
        arrays["weight"] = np.array(case["weight"], np.float32)
    return arrays


def label(case):
    words = [case["loss"], *case["options"], *(["weight"] if case["weight"] is not None else [])]
    return "-".join(words)


@pytest.mark.parametrize("case", RECORDED["cases"], ids=label)
def test_losses_and_gradients_match_pytorch(case):
    found = compile_biased(case["loss"], **case["options"]).grad(arrays_of(case))
    gradient = np.array(case["gradient"])
    np.testing.assert_allclose(found["loss"], case["value"], rtol=1e-6)
    np.testing.assert_allclose(found["x"], gradient, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(found["b"], gradient.sum((0, 1)), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    "case", [c for c in RECORDED["cases"] if c["loss"] == "cross-entropy"], ids=label
)
def test_batches_are_weighted_in_eval_and_train(case, tmp_path):
    """The mean of batch means would differ because the batches have different total weights."""
    program, arrays = compile_biased(case["loss"], **case["options"]), arrays_of(case)
    if case["weight"] is not None:
        # Every batch needs a position with a nonzero weight.
        arrays["weight"][1, 0] = 0.5
        expected = float(program.grad(arrays)["loss"])
    else:
        expected = case["value"]
    found = program.eval(arrays, "--batch", "1")
    assert found["loss"] == pytest.approx(expected, rel=1e-6)
    # The accuracy weights positions, but not classes.
    counts = arrays.get("weight", 1.0) * (arrays["target"] != case["options"].get("ignore_index"))
    right = LOGITS.argmax(-1) == arrays["target"]
    assert found["accuracy"] == pytest.approx(np.average(right, weights=counts))
    data, log = tmp_path / "data.npz", tmp_path / "log"
    np.savez(data, **arrays)
    command = ["train", "--data", data, "--batch", "1", "--lr", "0", "--log", log]
    harness.check_succeeded(program.run(*command))
    assert json.loads(log.read_text())["loss"] == pytest.approx(expected, rel=1e-6)


def test_unit_weights_do_not_change_bits():
    program = compile_biased()
    arrays = {"x": LOGITS, "target": np.zeros(LOGITS.shape[:2], np.int64)}
    weighted = arrays | {"weight": np.ones(LOGITS.shape[:2], np.float32)}
    for name, array in program.grad(arrays).items():
        np.testing.assert_array_equal(array, program.grad(weighted)[name], err_msg=name)
    # `infer` ignores arrays of the loss.
    program.infer(weighted)


def refused(program, command, arrays, tmp_path, *options):
    data = tmp_path / "data.npz"
    np.savez(data, **arrays)
    out = ["--out", tmp_path / "out.npz"] if command == "grad" else []
    result = program.run(command, "--data", data, *out, *options)
    assert result.returncode == 1 and result.stderr.count("\n") == 1, result.stderr
    return result.stderr


def weights(change):
    found = np.ones(LOGITS.shape[:2], np.float32)
    change(found)
    return found


BAD = {
    "negative": (weights(lambda w: w.__setitem__((1, 2), -1)), "element [1, 2] is -1"),
    "nan": (weights(lambda w: w.__setitem__((1, 2), np.nan)), "element [1, 2] is nan"),
    "shape": (np.ones((4, 3, 5), np.float32), "rank 3"),
    "samples": (np.ones((3, 3), np.float32), "3 samples"),
    "type": (np.ones((4, 3)), "float64"),
    "zeros": (np.zeros((4, 3), np.float32), "has the weight 0"),
}


@pytest.mark.parametrize("name", BAD)
def test_invalid_weights(name, tmp_path):
    array, words = BAD[name]
    arrays = {"x": LOGITS, "target": np.zeros((4, 3), np.int64), "weight": array}
    for command in ("train", "eval", "grad"):
        assert words in refused(compile_biased(), command, arrays, tmp_path)


def test_batch_of_zero_weight_is_named(tmp_path):
    weight = np.ones((4, 3), np.float32)
    weight[2] = 0
    arrays = {"x": LOGITS, "target": np.zeros((4, 3), np.int64), "weight": weight}
    options = ["--batch", "1", "--no-shuffle"]
    assert "every position of batch 3 of epoch 1 of " in refused(
        compile_biased(), "train", arrays, tmp_path, *options
    )
    assert "samples 2 to 2 of " in refused(compile_biased(), "eval", arrays, tmp_path, "--batch=1")


def test_class_range_with_ignored_index(tmp_path):
    arrays = {"x": LOGITS, "target": np.full((4, 3), -1)}
    text = refused(compile_biased(ignore_index=-100), "eval", arrays, tmp_path)
    assert "class indices are 0 to 4, or -100 but is not given" in text


USAGE = [
    ("--loss=mse", "--ignore-index=0", 2, "--ignore-index needs --loss=cross-entropy or nll"),
    ("--loss=nll", "--label-smoothing=0.1", 2, "--label-smoothing needs --loss=cross-entropy"),
    ("--loss=cross-entropy", "--label-smoothing=1", 2, "at least 0 and below 1"),
    ("--loss=cross-entropy", "--freeze-rows=b", 2, "must be NAME:ROW, found 'b'"),
    ("--loss=cross-entropy", "--freeze-rows=b:5", 1, "'b' has 5 rows, accepted: 0 to 4"),
    ("--loss=cross-entropy", "--freeze-rows=c:0", 1, "'c' is not a trained initializer"),
    ("--loss=cross-entropy", "--class-weights=/none.npy", 1, "/none.npy: cannot be read"),
]


@pytest.mark.parametrize("loss, option, status, words", USAGE, ids=lambda value: str(value))
def test_invalid_options(loss, option, status, words, tmp_path):
    harness.check_refused(biased(), tmp_path, [loss, option], status, words)


@pytest.mark.parametrize(
    "values, status, words",
    [
        (np.ones(4), 1, "found 4 weights, but output 'y' has 5 classes"),
        (np.ones((5, 1)), 1, "one axis is required"),
        (np.ones(5, int), 1, "expected float32 and float64"),
        (np.zeros(5), 2, "must not all be 0"),
        (-np.ones(5), 2, "must be finite and at least 0"),
        (np.ones(0), 1, "is empty"),
    ],
    ids=["length", "rank", "type", "zeros", "negative", "empty"],
)
def test_invalid_class_weights(values, status, words, tmp_path, request):
    option = class_weights(values, name=f"bad-{request.node.callspec.id}")
    harness.check_refused(biased(), tmp_path, ["--loss=cross-entropy", option], status, words)


# --- lengths --------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", [0, 1])
def test_padding_does_not_contribute_to_the_loss(layout):
    model = models.build(models.Spec("GRU", lengths=True, head="steps", layout=layout))
    arrays = models.data(model, {"T": 6, "B": 5}, "cross-entropy")
    program = harness.compile_model(model, "--loss=cross-entropy")
    weight = losses_in_jax.position_weights(model, arrays)
    (logits,) = onnx_in_jax.outputs(model, arrays, np.float64).values()
    expected = losses_in_jax.loss_value("cross-entropy", logits, arrays["target"], weight)
    found = program.eval(arrays, "--batch", "2")
    assert found["loss"] == pytest.approx(float(expected), rel=1e-6)
    right = (logits.argmax(-1) == arrays["target"])[weight != 0]
    assert found["accuracy"] == pytest.approx(right.mean())


def test_weights_only_on_padding_are_refused(tmp_path):
    """Every position with a nonzero weight is beyond the length of its sample."""
    model = models.build(models.Spec("GRU", lengths=True, head="steps"))
    arrays = models.data(model, {"T": 6, "B": 3}, "cross-entropy")
    arrays["lengths"][:] = (4, 2, 5)
    arrays["weight"] = (np.arange(6)[:, None] >= arrays["lengths"]).astype(np.float32)
    program = harness.compile_model(model, "--loss=cross-entropy")
    for command in ("train", "eval", "grad"):
        line = refused(program, command, arrays, tmp_path)
        assert "has the weight 0, so it has no loss; give positions a weight" in line
        assert len(line.splitlines()) == 1


# --- segments -------------------------------------------------------------------------------------


def adder():
    """h' = h + w x and y = h', for one step."""

    def value(name):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["B", 3])

    nodes = [helper.make_node("Mul", ["x", "w"], ["p"]), helper.make_node("Add", ["h", "p"], ["g"])]
    nodes.append(helper.make_node("Identity", ["g"], ["y"]))
    w = numpy_helper.from_array(np.array([0.5, -1, 2], np.float32), "w")
    graph = helper.make_graph(nodes, "adder", [value("x"), value("h")], [value("y"), value("g")], [w])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_tbptt_segments_use_weights_of_their_steps(tmp_path):
    program = harness.compile_model(adder(), "--loss=mse", "--optimizer=sgd", "--carry=h:g")
    rng = np.random.default_rng(0)
    x, target = (rng.standard_normal((6, 4, 3)).astype(np.float32) for _ in range(2))
    weight = rng.random((6, 4, 3)).astype(np.float32)
    weight[3:] = 0

    def trained(*options, **arrays):
        data, saved = tmp_path / "data.npz", tmp_path / "saved.onnx"
        np.savez(data, **arrays)
        command = ["train", "--data", data, "--batch", "4", "--lr", "0.1", "--save", saved]
        harness.check_succeeded(program.run(*command, "--log", tmp_path / "log", *options))
        (w,) = onnx.load(saved).graph.initializer
        return numpy_helper.to_array(w), json.loads((tmp_path / "log").read_text())["loss"]

    # The second segment has weight zero and does not change the result.
    found, loss = trained("--tbptt", "3", x=x, target=target, weight=weight)
    first, expected = trained(x=x[:3], target=target[:3], weight=weight[:3])
    np.testing.assert_array_equal(found, first)
    assert loss == expected
    # Derived by hand: h after t steps is w times the sum of the inputs.
    sums, w = np.cumsum(x[:3], 0, dtype=np.float64), np.array([0.5, -1, 2])
    error, counted = w * sums - target[:3], weight[:3]
    gradient = (2 * error * sums * counted).sum((0, 1)) / counted.sum(dtype=np.float64)
    np.testing.assert_allclose(found, w - 0.1 * gradient, rtol=1e-5)
    assert "steps; expected 1 to 6" in refused(
        program, "train", {"x": x, "target": target}, tmp_path, "--tbptt", "7"
    )


# --- rows -----------------------------------------------------------------------------------------


def embedding():
    rng = np.random.default_rng(3)
    tensors = {"table": rng.standard_normal((150, 4)), "head": rng.standard_normal((4, CLASSES))}
    initializers = [numpy_helper.from_array(a.astype(np.float32), n) for n, a in tensors.items()]
    nodes = [
        helper.make_node("Gather", ["table", "tokens"], ["rows"]),
        helper.make_node("MatMul", ["rows", "head"], ["y"]),
    ]
    tokens = helper.make_tensor_value_info("tokens", TensorProto.INT64, ["N", 6])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 6, CLASSES])
    graph = helper.make_graph(nodes, "embedding", [tokens], [y], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_frozen_rows_do_not_change(tmp_path):
    options = ["--loss=cross-entropy", "--optimizer=adamw"]
    frozen = harness.compile_model(
        embedding(), *options, "--freeze-rows=table:0", "--freeze-rows=table:120"
    )
    rng = np.random.default_rng(0)
    tokens = rng.choice([0, 1, 2, 120, 149], (8, 6))
    arrays = {"tokens": tokens, "target": rng.integers(0, CLASSES, (8, 6))}
    whole = harness.compile_model(embedding(), *options).grad(arrays)
    found = frozen.grad(arrays)
    expected = whole["table"].copy()
    assert np.abs(expected[[0, 120]]).min() > 0
    expected[[0, 120]] = 0
    np.testing.assert_array_equal(found["table"], expected)
    data, saved = tmp_path / "data.npz", tmp_path / "saved.onnx"
    np.savez(data, **arrays)
    # Weight decay does not change them either.
    command = ["train", "--data", data, "--save", saved, "--lr", "0.1", "--weight-decay", "0.5"]
    harness.check_succeeded(frozen.run(*command, "--batch", "4", "--epochs", "3"))
    before, after = (
        numpy_helper.to_array(model.graph.initializer[0]) for model in (embedding(), onnx.load(saved))
    )
    same = np.all(before == after, axis=1)
    assert same[0] and same[120] and same.sum() == 2
