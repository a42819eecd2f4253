"""Parameters shared by pipeline stages, and running statistics, match one process bit for bit."""

import harness
import mpi
import numpy as np
import pytest
from fake_trainer import save
from onnx import helper
from test_batch_statistics_of_ranks import normalization, start_values
from test_pipeline import (
    AHEAD,
    SETTINGS,
    UPDATES,
    check_same,
    count_rollbacks,
    dense,
    make_model,
    samples,
    train,
    uneven,
)
from test_programs import compile_model

V = ["--pipeline-placement=v", "--split-backward"]


def tied():
    """Layers 1 and 3 of 4 share the weights of layer 0, transposed in layer 3."""
    model = dense(sizes=(5, 5, 5, 5, 5))
    model.graph.node[2].input[1] = "w0"
    model.graph.node[6].input[1] = "w0"
    model.graph.node[6].attribute.append(helper.make_attribute("transB", 1))
    unused = {"w1", "w3"}
    kept = [array for array in model.graph.initializer if array.name not in unused]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    return model


def embedded():
    """An embedding table; its product with the last layer's result gives the scores of its rows."""
    rng = np.random.default_rng(3)
    arrays = {"table": rng.normal(0, 0.5, (7, 5))} | {name: rng.normal(0, 0.4, (5, 5)) for name in "uvw"}
    nodes = [
        helper.make_node("MatMul", ["x", "table"], ["e"], name="embed"),
        helper.make_node("MatMul", ["e", "v"], ["h"], name="first"),
        helper.make_node("Tanh", ["h"], ["t"]),
        helper.make_node("MatMul", ["t", "u"], ["r"], name="second"),
        helper.make_node("MatMul", ["r", "w"], ["s"], name="third"),
        helper.make_node("Transpose", ["table"], ["tt"], perm=[1, 0]),
        helper.make_node("MatMul", ["s", "tt"], ["y"], name="scores"),
    ]
    arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
    return make_model(nodes, arrays, {"x": ["B", 7]}, {"y": ["B", 7]})


def normalized():
    rng = np.random.default_rng(4)
    arrays = {f"w{i}": rng.normal(0, 0.5, (6, 6)) for i in range(4)} | start_values(1, 6) | start_values(2, 6)
    nodes = [
        helper.make_node("MatMul", ["x", "w0"], ["a"], name="first"),
        normalization("a", "b", 1),
        helper.make_node("Tanh", ["b"], ["c"]),
        helper.make_node("MatMul", ["c", "w1"], ["d"], name="second"),
        helper.make_node("MatMul", ["d", "w2"], ["e"], name="third"),
        normalization("e", "f", 2),
        helper.make_node("MatMul", ["f", "w3"], ["y"], name="fourth"),
    ]
    arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
    return make_model(nodes, arrays, {"x": ["B", 6]}, {"y": ["B", 6]})


CASES = {
    "tied": (tied, samples((37, 5), 37)),
    "embedded": (embedded, samples((37, 7), 37)),
    "normalized": (normalized, samples((37, 6), 37)),
}


@pytest.mark.parametrize(
    "ranks, options, schedules",
    [
        (2, [], ["gpipe", "1f1b"]),
        (3, ["--split-backward"], ["1f1b", "zb-h2", "auto"]),
        (2, V, ["zb-v", "v-half"]),
        (2, ["--pipeline-placement=modulo:1", "--split-backward"], ["modulo:1"]),
    ],
)
@pytest.mark.parametrize("case", CASES)
def test_stages_match_one_process(tmp_path, case, ranks, options, schedules):
    make, arrays = CASES[case]
    data = save(tmp_path / "data.npz", arrays)
    program = compile_model(make(), f"--pipeline={ranks}", *options)
    settings = ["--val-split", 0.2, "--ema", 0.9]
    alone = train(tmp_path, 0, program, data, "alone", *UPDATES, *settings)
    for schedule in schedules:
        words = [*UPDATES, *settings, f"--pipeline-schedule={schedule}"]
        check_same(train(tmp_path, ranks, program, data, "ranks", *words), alone)


@pytest.mark.parametrize("case", CASES)
def test_resumed(tmp_path, case):
    """Checkpoints contain the state of all stages."""
    make, arrays = CASES[case]
    data, kept = save(tmp_path / "data.npz", arrays), tmp_path / "kept.npz"
    program = compile_model(make(), "--pipeline=2")
    whole = train(tmp_path, 0, program, data, "whole", *UPDATES)
    begin = ["train", "--data", data, *SETTINGS, *UPDATES, "--epochs", 1, "--checkpoint", kept]
    harness.check_succeeded(mpi.run(2, program, *begin))
    words = ["train", "--data", data, "--resume", kept, "--epochs", 2, "--save", tmp_path / "end.onnx"]
    harness.check_succeeded(mpi.run(2, program, *words))
    for name, array in mpi.weights(tmp_path / "end.onnx").items():
        np.testing.assert_array_equal(array, whole[0][name], name)


@pytest.mark.parametrize("case, clip", [("tied", 0.55), ("embedded", 0.9), ("normalized", 0.55)])
@pytest.mark.parametrize("options, schedule", [([], "1f1b"), (V, "zb-v")])
def test_rollback_of_updates(tmp_path, case, clip, options, schedule):
    """A rollback restores other stages' copies of tied parameters and the running statistics."""
    make, arrays = CASES[case]
    data = save(tmp_path / "data.npz", uneven(arrays["x"].shape, 37))
    program, trace = compile_model(make(), "--pipeline=2", *options), tmp_path / "t.json"
    words = [*AHEAD, "--clip-norm", clip]
    alone = train(tmp_path, 0, program, data, "alone", *words)
    words += [f"--pipeline-schedule={schedule}", "--trace", trace]
    check_same(train(tmp_path, 2, program, data, "ranks", *words), alone)
    assert min(count_rollbacks(trace, 2)) >= 3
