"""In-process programs compute bitwise the same results as executables for less common features."""

import capi
import harness
import models
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

SIZES = {"T": 6, "B": 5}
STEPS = models.build(models.Spec("GRU", head="steps", lengths=True))


def both(model, *words):
    """Returns an in-process program and an executable of the same model."""
    options = {}
    for word in words:
        name, _, value = word.removeprefix("--").partition("=")
        options[name] = value
    program = capi.Program.compile(model.SerializeToString(), backward="sequential", **options)
    return program, harness.compile_model(model, "--backward=sequential", *words)


def check_same_gradients(program, executable, arrays):
    expected = executable.grad(arrays)
    loss, gradients = program.grad(arrays)
    assert np.float32(loss) == expected.pop("loss")
    assert set(gradients) == set(expected)
    for name, gradient in gradients.items():
        np.testing.assert_array_equal(gradient, expected[name], err_msg=name)


def weigh(arrays):
    rng = np.random.default_rng(7)
    arrays["weight"] = rng.uniform(0.5, 2, arrays["target"].shape).astype("f4")


def ignore(arrays):
    arrays["target"][1::2] = -1


@pytest.mark.parametrize("changes", [[], [weigh], [ignore], [weigh, ignore]], ids=len)
def test_position_weights(changes):
    """Ignored positions and positions beyond the length of a sample do not affect the loss."""
    program, executable = both(STEPS, "--loss=cross-entropy", "--ignore-index=-1")
    arrays = models.data(STEPS, SIZES, "cross-entropy")
    for change in changes:
        change(arrays)
    given = {name: array.copy() for name, array in arrays.items()}
    check_same_gradients(program, executable, arrays)
    loss, accuracy = program.eval(arrays)
    evaluated = executable.eval(arrays)
    assert loss == pytest.approx(evaluated["loss"], rel=1e-6)
    assert accuracy == pytest.approx(evaluated["accuracy"])
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, given[name])


def test_several_losses():
    model = models.build(models.Spec("RNN", head="steps"))
    output = model.graph.output[0].name
    node = model.graph.node.add(op_type="Tanh", input=[output], output=["bounded"])
    node.name = "bounded"
    model.graph.output.add().CopyFrom(model.graph.output[0])
    model.graph.output[1].name = "bounded"
    words = [f"--loss-on={output},bounded", "--loss=cross-entropy,mse", "--loss-weights=1,0.25"]
    program, executable = both(model, *words)
    arrays = models.data(model, SIZES, "cross-entropy")
    arrays[f"target.{output}"] = arrays.pop("target")
    arrays["target.bounded"] = models.data(model, SIZES, "mse")["target"]
    check_same_gradients(program, executable, arrays)
    loss = program.eval(arrays)[0]
    parts = (capi.c.c_double * 2)()
    program.call("bppsaProgramGetLosses", parts, capi.c.c_ssize_t(2))
    assert loss == pytest.approx(parts[0] + 0.25 * parts[1], rel=1e-6)


def test_missing_stream_states_are_zero():
    path = harness.ROOT / "examples" / "denoiser_step.onnx"
    options = {"carry": "cache:cache_next,h:h_next", "loss": "mse", "loss_on": "y", "O": 1}
    program = capi.Program.compile(path, **options)
    infos = {info.name.decode(): info for info in program.arrays(capi.INPUT)}
    assert infos["h"].is_optional and infos["h"].carried == b"h_next" and not infos["x"].is_optional
    rng = np.random.default_rng(5)
    arrays = {name: rng.standard_normal((20, 3, 1, 64)).astype("f4") for name in ("x", "target")}
    outputs = program.infer({"x": arrays["x"]})
    given = {name: np.zeros_like(outputs[f"{name}_next"]) for name in ("cache", "h")}
    again = program.infer({"x": arrays["x"], **given})
    for name, array in outputs.items():
        np.testing.assert_array_equal(array, again[name])
    assert any((outputs[f"{name}_next"] != 0).any() for name in given)
    first = program.step(arrays, lr=0.01)
    for _ in range(10):
        loss = program.step(arrays, lr=0.01)
    assert loss < first


def test_frozen_rows_do_not_change():
    model = models.build(models.Spec("RNN"))
    options = {"freeze_rows": "head.weight:1", "optimizer": "adamw", "O": 1}
    program = capi.Program.compile(model.SerializeToString(), **options)
    before = program.parameters()["head.weight"].copy()
    arrays = models.data(model, SIZES, "cross-entropy")
    program.set_hyper("weight_decay", 0.5)
    program.step(arrays, lr=0.1)
    changed = (program.parameters()["head.weight"] != before).any(axis=1)
    assert list(changed) == [True, False, True, True]


def test_variant_selection_by_timing():
    model = models.build(models.Spec("GRU", head="steps"))
    program = capi.Program.compile(model.SerializeToString(), loss="mse")
    arrays = models.data(model, {"T": 300, "B": 8}, "mse")
    expected = program.eval(arrays)[0]
    program.call("bppsaProgramTuneVariant", *capi.named(arrays), capi.c.c_int64(10**4))
    assert program.step(arrays, lr=0.0) == pytest.approx(expected, rel=1e-5)
    with pytest.raises(capi.Failure, match="there is no array 'x'"):
        program.call("bppsaProgramTuneVariant", *capi.named({}), capi.c.c_int64(10))


def test_dropout_depends_on_the_seed():
    """Dropout masks depend on the seed and the step number, which a reset sets back."""
    graph = helper.make_graph(
        [
            helper.make_node("Dropout", ["x", "ratio", "training"], ["dropped"]),
            helper.make_node("MatMul", ["dropped", "W"], ["y"]),
        ],
        "dropout",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 1])],
        [
            numpy_helper.from_array(np.ones((64, 1), np.float32), "W"),
            numpy_helper.from_array(np.float32(0.25), "ratio"),
            numpy_helper.from_array(np.array(True), "training"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    program = capi.Program.compile(model.SerializeToString(), loss="mse", optimizer="sgd", O=1)
    arrays = {"x": np.ones((1, 64), "f4"), "target": np.zeros((1, 1), "f4")}
    losses = []
    for seed in (1, 1, 2):
        program.reset()
        program.call("bppsaProgramSetSeed", capi.c.c_uint64(seed))
        losses.append([program.step(arrays, lr=0.0) for _ in range(4)])
    assert losses[0] == losses[1] != losses[2]
    assert len(set(losses[0])) > 1
    assert program.eval(arrays)[0] == 64.0**2
