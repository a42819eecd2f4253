"""Compiled programs on several ranks: position weights, TBPTT segments, and refused models."""

import harness
import models
import mpi
import numpy as np
import pytest
import stream_models
from fake_trainer import save
from onnx import TensorProto, helper, numpy_helper

OPTIONS = ["--epochs", 2, "--batch", 8, "--lr", 0.01, "--backward=sequential", "--mapping=lanes"]


def compile_model(model, *options):
    try:
        return harness.compile_model(model, "--distributed=mpi", *options).path
    except harness.CompileError as error:
        if "built without Open MPI" in error.message:
            pytest.skip("the compiler was built without Open MPI")
        raise


def tagger():
    """A classifier per time step: y[t] = tanh(x[t] W) V, as a graph of matrix products."""
    rng = np.random.default_rng(1)
    tensors = [
        numpy_helper.from_array(rng.normal(0, 0.5, shape).astype(np.float32), name)
        for name, shape in (("w", (3, 8)), ("v", (8, 4)))
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Tanh", ["a"], ["h"]),
        helper.make_node("MatMul", ["h", "v"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "tagger",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["B", "T", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["B", "T", 4])],
        tensors,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def tagged(count=37, steps=5):
    rng = np.random.default_rng(2)
    weight = rng.integers(0, 3, (count, steps)).astype(np.float32)
    # All samples of some ranks have zero weight.
    weight[rng.permutation(count)[: count // 2]] = 0
    return {
        "x": rng.normal(0, 1, (count, steps, 3)).astype(np.float32),
        "target": rng.integers(0, 4, (count, steps)),
        "weight": weight,
    }


def check_as_alone(tmp_path, program, data, ranks, *options):
    saved = []
    for count in (0, ranks):
        saved.append(tmp_path / f"{count}.onnx")
        words = ["train", "--data", data, *OPTIONS, *options, "--save", saved[-1]]
        harness.check_succeeded(mpi.run(count, program, *words))
    mpi.check_close(*saved)


@pytest.mark.parametrize("ranks", [2, 3])
def test_position_weights(tmp_path, ranks):
    program = compile_model(tagger(), "--ignore-index=3", "--optimizer=sgd")
    check_as_alone(tmp_path, program, save(tmp_path / "d.npz", tagged()), ranks, "--no-shuffle")


def test_batch_with_zero_weight(tmp_path):
    program = compile_model(tagger(), "--ignore-index=3", "--optimizer=sgd")
    arrays = tagged()
    arrays["weight"][8:16] = 0
    data = save(tmp_path / "d.npz", arrays)
    result = mpi.run(2, program, "train", "--data", data, *OPTIONS, "--no-shuffle")
    assert result.returncode == 1 and "every position of batch 2 of epoch 1" in result.stderr


def test_recurrent_layers_with_lengths(tmp_path):
    spec = models.Spec("GRU", direction="bidirectional", lengths=True, head="steps")
    model = models.build(spec)
    program = compile_model(model, "--loss=cross-entropy", "--optimizer=sgd")
    arrays = models.data(model, {"T": 6, "B": 21}, "cross-entropy")
    data = save(tmp_path / "d.npz", arrays)
    check_as_alone(tmp_path, program, data, 3, "--exchange=p3", "--slice", 7)


@pytest.mark.parametrize("exchange", ["allreduce", "p3"])
def test_tbptt(tmp_path, exchange):
    graph = stream_models.ALL["cell"]
    options = ["--loss=mse", "--loss-on=y", "--optimizer=sgd", *graph.flags]
    program = compile_model(graph.model, *options)
    arrays = stream_models.random_arrays(graph, 7, 5)
    arrays["target"] = np.random.default_rng(9).normal(0, 1, (7, 5)).astype(np.float32)
    data = save(tmp_path / "d.npz", arrays)
    check_as_alone(tmp_path, program, data, 2, "--tbptt", 3, f"--exchange={exchange}")


def test_samples_that_depend_on_each_other_are_refused(tmp_path):
    node = helper.make_node("ReduceMean", ["x"], ["m"], axes=[0], keepdims=1)
    nodes = [node, helper.make_node("Sub", ["x", "m"], ["c"]), helper.make_node("Mul", ["c", "w"], ["y"])]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["B", 3]) for name in "xy"]
    tensors = [numpy_helper.from_array(np.ones(3, np.float32), "w")]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    program = compile_model(model, "--loss=mse")
    x = np.random.default_rng(0).normal(0, 1, (8, 3)).astype(np.float32)
    data = save(tmp_path / "d.npz", {"x": x, "target": x})
    words = [program, "train", "--data", data]
    harness.check_succeeded(mpi.run(0, *words))
    result = mpi.run(2, *words)
    assert result.returncode == 1 and "its samples depend on each other" in result.stderr


@pytest.mark.parametrize(
    "options, words",
    [
        (["--distributed=nccl"], "must be mpi, found 'nccl'"),
        (["--distributed=mpi", "--emit=shared"], "--emit=shared"),
        (["--distributed=mpi", "--loss=vjp"], "--loss=vjp"),
    ],
)
def test_refused_options(tmp_path, options, words):
    harness.check_refused(tagger(), tmp_path, options, 2, words)
