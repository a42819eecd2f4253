"""Recurrent layers whose time steps are sharded over ranks: train --shard-time.

With --optimizer=sgd and a rate so large that the initial weights vanish next to the update, a saved
model is the gradient, which JAX computes in float64.
"""

import functools
import json

import harness
import loop_models
import models
import mpi
import numpy as np
import onnx
import pytest
import references
from fake_trainer import save
from models import Spec
from onnx import TensorProto, helper, numpy_helper
from test_programs import compile_model

RATE = 2.0**20


@functools.cache
def program(spec, loss, *options):
    model = spec() if callable(spec) else models.build(spec)
    return compile_model(model, f"--loss={loss}", "--shard-time", "--optimizer=sgd", *options), model


def train(path, ranks, directory, data, *words):
    """Returns the weights at the end of a run."""
    saved = directory / f"{ranks}.onnx"
    words = ["train", "--data", data, *words, "--save", saved, *(["--shard-time"] if ranks else [])]
    harness.check_succeeded(mpi.run(ranks, path, *words))
    return mpi.weights(saved)


def gradients(compiled, ranks, directory, arrays, samples, *words):
    path, model = compiled
    before = {t.name: numpy_helper.to_array(t).astype(np.float64) for t in model.graph.initializer}
    data = save(directory / "data.npz", arrays)
    after = train(path, ranks, directory, data, "--batch", samples, "--lr", RATE, *words)
    return {n: (before[n] - a) / RATE for n, a in after.items() if a.dtype == np.float32}


def check_exact(found, model, arrays, loss):
    exact, single = references.gradients(model, arrays, loss)
    assert {n for n in found if n in exact}
    for name, array in found.items():
        if name not in exact:
            continue
        # With a single step from a zero state, the gradients of recurrent weights are zero.
        if not exact[name].any():
            assert not array.any(), name
            continue
        bound = max(20 * harness.relative_error(single[name], exact[name]), 1e-6)
        assert harness.relative_error(array, exact[name]) <= bound, name


SPECS = [
    Spec("RNN"),
    Spec("RNN", head="steps", direction="reverse", initial="parameter", layers=2),
    Spec("GRU", head="steps", layout=1, initial="input", direction="bidirectional"),
    Spec("GRU", layers=3, direction="bidirectional", linear_before_reset=1),
    Spec("GRU", lengths=True, direction="bidirectional"),
    Spec("LSTM", head="steps", direction="bidirectional", layers=2),
    Spec("LSTM", head="cell", peepholes=True, layout=1, initial="parameter"),
    Spec("LSTM", head="steps", lengths=True, layout=1, direction="reverse"),
]


@pytest.mark.parametrize("backward", ["sequential", "scan"])
@pytest.mark.parametrize("spec", SPECS, ids=Spec.label)
def test_gradients_match_whole_sequences(spec, backward, tmp_path):
    loss = "cross-entropy"
    compiled = program(spec, loss)
    arrays = models.data(compiled[1], {"T": 8, "B": 3}, loss)
    found = gradients(compiled, 3, tmp_path, arrays, 3, f"--backward={backward}")
    check_exact(found, compiled[1], arrays, loss)


# Shards of 4, 4 and 2 steps; of 2, 2 and 1; of 1 and 1 with two empty ranks; one shard.
@pytest.mark.parametrize("steps, ranks", [(10, 3), (5, 3), (2, 4), (1, 2)])
@pytest.mark.parametrize("spec", [SPECS[2], SPECS[3]], ids=Spec.label)
def test_uneven_shards(spec, steps, ranks, tmp_path):
    compiled = program(spec, "cross-entropy")
    arrays = models.data(compiled[1], {"T": steps, "B": 2}, "cross-entropy")
    check_exact(gradients(compiled, ranks, tmp_path, arrays, 2), compiled[1], arrays, "cross-entropy")


@pytest.mark.parametrize("loss", ["mse", "bce-with-logits"])
def test_loss_functions(loss, tmp_path):
    compiled = program(Spec("GRU", head="steps", direction="bidirectional"), loss)
    arrays = models.data(compiled[1], {"T": 7, "B": 3}, loss)
    check_exact(gradients(compiled, 3, tmp_path, arrays, 3), compiled[1], arrays, loss)


def graph(nodes, arrays, inputs, outputs, name="layers"):
    values = [
        [helper.make_tensor_value_info(key, TensorProto.FLOAT, shape) for key, shape in side.items()]
        for side in (inputs, outputs)
    ]
    tensors = [numpy_helper.from_array(array, key) for key, array in arrays.items()]
    made = helper.make_graph(nodes, name, *values, tensors)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def recurrent(first, last, outputs, arrays=()):
    """A bidirectional GRU; nodes compute its input a [B, T, 3] from x, and y from its output h."""
    rng = np.random.default_rng(8)
    shapes = {"w": (2, 12, 3), "r": (2, 12, 4), "b": (2, 24), "v": (8, 4), "scale": (3,), "shift": (3,)}
    tensors = {name: rng.normal(0, 0.4, shape).astype(np.float32) for name, shape in shapes.items()}
    tensors |= {"same": np.array([0, 0, -1], np.int64)} | dict(arrays)
    nodes = [
        *first,
        helper.make_node("Transpose", ["a"], ["at"], perm=[1, 0, 2]),
        helper.make_node("GRU", ["at", "w", "r", "b"], ["s"], name="gru", hidden_size=4, direction="bidirectional"),
        helper.make_node("Transpose", ["s"], ["st"], perm=[2, 0, 1, 3]),
        helper.make_node("Reshape", ["st", "same"], ["h"]),
        *last,
    ]
    return graph(nodes, tensors, {"x": ["B", "T", 3]}, {"y": outputs})


NORM = helper.make_node("LayerNormalization", ["x", "scale", "shift"], ["a"], name="norm")


def mean_model():
    """Normalizes the features at each step, and averages the layer's output over time."""
    last = [
        helper.make_node("ReduceMean", ["h"], ["m"], axes=[1], keepdims=0, name="mean"),
        helper.make_node("MatMul", ["m", "v"], ["y"]),
    ]
    return recurrent([NORM], last, ["B", 4])


def sum_model():
    """A sum over gated steps."""
    last = [
        helper.make_node("MatMul", ["h", "v"], ["l"]),
        helper.make_node("Sigmoid", ["l"], ["g"]),
        helper.make_node("Mul", ["l", "g"], ["p"]),
        helper.make_node("ReduceSum", ["p", "axis"], ["y"], keepdims=0, name="sum"),
    ]
    return recurrent([NORM], last, ["B", 4], {"axis": np.array([1], np.int64)})


def last_model():
    """Both directions at the last step."""
    last = [
        helper.make_node("Gather", ["h", "index"], ["z"], axis=1, name="pick"),
        helper.make_node("MatMul", ["z", "v"], ["y"]),
    ]
    return recurrent([NORM], last, ["B", 4], {"index": np.array(-1, np.int64)})


def scan_model():
    """A Scan with states in graph form over the layer's output."""
    nodes = [
        helper.make_node("MatMul", ["ht", "u"], ["m"]),
        helper.make_node("Add", ["m", "k"], ["c"]),
        helper.make_node("Tanh", ["c"], ["next"]),
        helper.make_node("Identity", ["next"], ["o"]),
    ]
    names = [
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in side]
        for side in (("k", "ht"), ("next", "o"))
    ]
    axes = {"scan_input_axes": [1], "scan_output_axes": [1]}
    body = helper.make_graph(nodes, "body", *names)
    last = [helper.make_node("Scan", ["k0", "h"], ["kn", "y"], name="scan", body=body, num_scan_inputs=1, **axes)]
    model = recurrent([NORM], last, ["B", "T", 4])
    u = np.random.default_rng(4).normal(0, 0.4, (8, 4)).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(u, "u"))
    model.graph.input.append(helper.make_tensor_value_info("k0", TensorProto.FLOAT, ["B", 4]))
    return model


@pytest.mark.parametrize("model", [mean_model, sum_model, last_model, scan_model])
def test_nodes_after_layers(model, tmp_path):
    compiled = program(model, "mse")
    arrays = models.data(compiled[1], {"T": 7, "B": 3}, "mse")
    check_exact(gradients(compiled, 3, tmp_path, arrays, 3), compiled[1], arrays, "mse")


def loop_model(case, output):
    """A sharded loop without recurrent layers; the loss is on one of its outputs."""
    model = onnx.ModelProto()
    model.CopyFrom(loop_models.ALL[case].model)
    shape = ["B", 4] if output == "hn" else ["T", "B", 4]
    del model.graph.output[:]
    model.graph.output.append(helper.make_tensor_value_info(output, TensorProto.FLOAT, shape))
    return model


LOOPS = {
    "steps": ("scan-symbolic", "y"),
    "last": ("scan-symbolic", "hn"),
    "reversed": ("scan-reverse", "y"),
    "counted": ("loop-gather-0-size", "y"),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_without_layers(name, tmp_path):
    compiled = program(functools.partial(loop_model, *LOOPS[name]), "mse")
    arrays = models.data(compiled[1], {"T": 7, "B": 3}, "mse")
    check_exact(gradients(compiled, 3, tmp_path, arrays, 3), compiled[1], arrays, "mse")


SETTINGS = {
    # Batches of 4, 4 and 1 samples.
    "plain": ["--batch", 4, "--epochs", 3],
    "clipped": ["--batch", 4, "--clip-norm", 0.05, "--weight-decay", 0.01],
    "p3": ["--batch", 4, "--exchange=p3", "--slice", 7, "--ema", 0.9],
    "validated": ["--batch", 4, "--val-split", 0.3, "--lr-schedule", "cosine"],
    "blocks": ["--batch", 4, "--shuffle-memory", "4K"],
    # Updates of 2 and 2 samples, and of one sample.
    "microbatches": ["--batch", 4, "--microbatches", 2, "--epochs", 2],
    "accumulated": ["--batch", 2, "--accumulate", 3, "--clip-norm", 0.05],
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_training_matches_one_process(setting, tmp_path):
    path, model = program(SPECS[5], "cross-entropy")
    data = save(tmp_path / "d.npz", models.data(model, {"T": 11, "B": 9}, "cross-entropy"))
    words = ["--lr", 0.05, "--seed", 3, "--mapping=lanes", "--backward=sequential", *SETTINGS[setting]]
    found = train(path, 3, tmp_path, data, *words)
    alone = [word for word in words if not str(word).startswith("--exchange")]
    one = train(path, 0, tmp_path, data, *alone)
    for key, array in one.items():
        assert harness.relative_error(found[key], array) < 1e-6, key
    again = train(path, 3, tmp_path, data, *words, "--throttle=0.01,0.0005")
    assert all(np.array_equal(again[key], found[key]) for key in found)


def test_all_microbatches_run_forward_first(tmp_path):
    """Each rank runs all microbatches forward before the first goes backward, in the same order."""
    path, model = program(SPECS[5], "cross-entropy")
    data = save(tmp_path / "d.npz", models.data(model, {"T": 9, "B": 6}, "cross-entropy"))
    words = ["train", "--data", data, "--batch", 6, "--microbatches", 3, "--shard-time", "--trace", tmp_path / "t.json"]
    harness.check_succeeded(mpi.run(2, path, *words))
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    for rank in range(2):
        parts = [e for e in events if e["pid"] == rank and e["name"][:2] in ("F ", "B ")]
        names = [e["name"] for e in sorted(parts, key=lambda e: e["ts"])]
        assert names == ["F 0", "F 1", "F 2", "B 0", "B 1", "B 2"]


def test_dropout_matches_one_process(tmp_path):
    first = [
        helper.make_node("LayerNormalization", ["x", "scale", "shift"], ["n"]),
        helper.make_node("Dropout", ["n", "ratio", "mode"], ["a"]),
    ]
    extra = {"ratio": np.array(0.4, np.float32), "mode": np.array(True)}
    model = recurrent(first, [helper.make_node("MatMul", ["h", "v"], ["y"])], ["B", "T", 4], extra)
    path, _ = program(lambda: model, "mse")
    data = save(tmp_path / "d.npz", models.data(model, {"T": 7, "B": 6}, "mse"))
    words = ["--batch", 6, "--microbatches", 2, "--lr", 0.05, "--mapping=lanes", "--backward=sequential"]
    one, found = (train(path, ranks, tmp_path, data, *words) for ranks in (0, 3))
    for key, array in one.items():
        assert harness.relative_error(found[key], array) < 1e-6, key


def test_shard_with_zero_weight(tmp_path):
    compiled = program(SPECS[5], "cross-entropy")
    arrays = models.data(compiled[1], {"T": 9, "B": 3}, "cross-entropy")
    arrays["weight"] = np.zeros((9, 3), np.float32)
    arrays["weight"][7:] = np.random.default_rng(0).uniform(0.5, 2, (2, 3))
    one, found = (gradients(compiled, ranks, tmp_path, arrays, 3) for ranks in (0, 3))
    for key, array in one.items():
        assert np.abs(array).max() > 0
        assert harness.relative_error(found[key], array) < 2e-6, key


@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize("writer", [np.savez, np.savez_compressed])
def test_each_rank_validates_its_steps(writer, layout, tmp_path):
    """The second rank finds the invalid element and reports its position in the whole array."""
    path, model = program(Spec("GRU", head="steps", layout=layout), "cross-entropy")
    arrays = models.data(model, {"T": 9, "B": 4}, "cross-entropy")
    place = (2, 7, 1) if layout else (7, 2, 1)
    arrays["x"][place] = np.inf
    writer(tmp_path / "d.npz", **arrays)
    found = mpi.run(2, path, "train", "--data", tmp_path / "d.npz", "--batch", 4, "--shard-time")
    assert found.returncode == 1
    assert f"array 'x': element [{place[0]}, {place[1]}, {place[2]}] is inf" in found.stderr, found.stderr


def test_memory_of_sharded_steps(tmp_path):
    """A rank holds only its steps of the arrays and of values stored for the backward pass."""
    spec = Spec("LSTM", head="steps", layers=2, direction="bidirectional", features=8, hidden=8)
    path, model = program(spec, "cross-entropy")
    data = save(tmp_path / "d.npz", models.data(model, {"T": 200000, "B": 1}, "cross-entropy"))
    words = ["train", "--data", data, "--batch", 1, "--threads", 1, "--backward=sequential", "--mapping=units"]
    variables = [f"{key}={value}" for key, value in mpi.ENVIRONMENT.items() if key.startswith("OMPI_")]
    alone = harness.peak_memory(path, *words)
    shares = mpi.command(4, path, *words, "--shard-time")
    assert harness.peak_memory("env", *variables, *shares) < 0.4 * alone


def flip_model():
    last = [
        helper.make_node("Slice", ["h", "begin", "end", "axis", "step"], ["f"], name="flip"),
        helper.make_node("MatMul", ["f", "v"], ["y"]),
    ]
    bounds = {"begin": [-1], "end": [np.iinfo(np.int64).min], "axis": [1], "step": [-1]}
    return recurrent([NORM], last, ["B", "T", 4], {n: np.array(b, np.int64) for n, b in bounds.items()})


def softmax_model():
    last = [
        helper.make_node("Softmax", ["h"], ["p"], axis=1, name="attention"),
        helper.make_node("MatMul", ["p", "v"], ["y"]),
    ]
    return recurrent([NORM], last, ["B", "T", 4])


def context_model():
    last = [
        helper.make_node("ReduceMean", ["h"], ["m"], axes=[1], keepdims=1, name="mean"),
        helper.make_node("Sub", ["h", "m"], ["c"], name="center"),
        helper.make_node("MatMul", ["c", "v"], ["y"]),
    ]
    return recurrent([NORM], last, ["B", "T", 4])


REFUSED = [
    (flip_model, "node 'flip' computes with a value derived from the number of steps"),
    (softmax_model, "node 'attention' reduces the steps otherwise than to a sum of f32"),
    (context_model, "node 'center' combines every step with a value that is known only after the last step"),
    (lambda: models.build(Spec("RNN", fixed_time=6)), "fixes the number of steps of input 'x'"),
]


@pytest.mark.parametrize("model, message", REFUSED)
def test_operators_that_mix_steps_are_refused(model, message, tmp_path):
    options = ["--loss=mse", "--distributed=mpi", "--shard-time"]
    harness.check_refused(model(), tmp_path, options, 1, message)


def test_models_without_steps_are_refused(tmp_path):
    model = graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], {"w": np.ones((3, 2), np.float32)}, {"x": ["B", 3]}, {"y": ["B", 2]}
    )
    harness.check_refused(
        model, tmp_path, ["--loss=mse", "--distributed=mpi", "--shard-time"], 1, "no input has a time axis of a recurrent layer, a Scan or a Loop"
    )
