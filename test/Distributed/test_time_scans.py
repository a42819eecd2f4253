"""Sharded time steps with a backward scan over ranks: train --shard-backward=exscan."""

import json

import harness
import models
import mpi
import numpy as np
import pytest
import stream_models
import test_time_layers as layers
from fake_trainer import save
from models import Spec
from onnx import helper
from test_programs import compile_model
from test_time_shards import make_data

SCAN = "--shard-backward=exscan"


def program(spec, loss="cross-entropy"):
    return layers.program(spec, loss, "--scan-shards")


def check(spec, ranks, sizes, directory, *words, loss="cross-entropy"):
    compiled = program(spec, loss)
    arrays = models.data(compiled[1], sizes, loss)
    found = layers.gradients(compiled, ranks, directory, arrays, sizes["B"], SCAN, *words)
    layers.check_exact(found, compiled[1], arrays, loss)


# The functions for large batches, for small batches, and with scans within each rank.
WAYS = [["--backward=sequential", "--mapping=lanes"], ["--backward=sequential", "--mapping=units"], ["--backward=scan"]]


@pytest.mark.parametrize("words", WAYS, ids=" ".join)
@pytest.mark.parametrize("spec", layers.SPECS, ids=Spec.label)
def test_gradients_match_whole_sequences(spec, words, tmp_path):
    check(spec, 3, {"T": 8, "B": 3}, tmp_path, *words)


# Shards of 3, 3, 3 and 2 steps; of 2, 2, 2, 2 and 1; of 2, 2 and 1; of 1 and 1 with two empty
# ranks; one shard.
@pytest.mark.parametrize("steps, ranks", [(11, 4), (9, 5), (5, 3), (2, 4), (1, 2)])
@pytest.mark.parametrize("spec", [layers.SPECS[2], layers.SPECS[5], layers.SPECS[6]], ids=Spec.label)
def test_uneven_shards(spec, steps, ranks, tmp_path):
    check(spec, ranks, {"T": steps, "B": 2}, tmp_path)


def test_threads_share_columns_of_large_states(tmp_path):
    spec = Spec("LSTM", head="steps", hidden=20, features=4)
    for words in WAYS[:2]:
        check(spec, 2, {"T": 6, "B": 19}, tmp_path, *words, "--threads", 3)


def branches_model():
    """A forward layer with the mean of its output, a reversed layer, and another forward layer."""
    rng = np.random.default_rng(8)
    shapes = {"w": (1, 12, 3), "r": (1, 12, 4), "b": (1, 24)}
    tensors, nodes, means = {}, [helper.make_node("Transpose", ["x"], ["xt"], perm=[1, 0, 2])], []
    for i, direction in enumerate(["forward", "reverse", "forward"]):
        tensors |= {f"{key}{i}": rng.normal(0, 0.4, shape).astype(np.float32) for key, shape in shapes.items()}
        given = ["xt", f"w{i}", f"r{i}", f"b{i}"]
        nodes.append(helper.make_node("GRU", given, [f"s{i}"], hidden_size=4, direction=direction))
        nodes.append(helper.make_node("ReduceMean", [f"s{i}"], [f"m{i}"], axes=[0, 1], keepdims=0))
        means.append(f"m{i}")
    nodes.append(helper.make_node("Concat", means, ["y"], axis=1))
    return layers.graph(nodes, tensors, {"x": ["B", "T", 3]}, {"y": ["B", 12]}, name="branches")


# The Scan body of scan_model is converted to vector form.
MODELS = [layers.mean_model, layers.sum_model, layers.last_model, layers.scan_model, branches_model]


@pytest.mark.parametrize("model", MODELS)
def test_nodes_after_layers(model, tmp_path):
    check(model, 4, {"T": 7, "B": 3}, tmp_path, loss="mse")


@pytest.mark.parametrize("setting", ["plain", "p3", "microbatches", "accumulated"])
def test_training_matches_one_process(setting, tmp_path):
    path, model = program(layers.SPECS[5])
    data = save(tmp_path / "d.npz", models.data(model, {"T": 11, "B": 9}, "cross-entropy"))
    words = ["--lr", 0.05, "--seed", 3, "--mapping=lanes", "--backward=sequential", *layers.SETTINGS[setting]]
    alone = [word for word in words if not str(word).startswith("--exchange")]
    one = layers.train(path, 0, tmp_path, data, *alone)
    found = layers.train(path, 5, tmp_path, data, *words, SCAN)
    for key, array in one.items():
        assert harness.relative_error(found[key], array) < 1e-6, key
    again = layers.train(path, 5, tmp_path, data, *words, SCAN)
    assert all(np.array_equal(again[key], found[key]) for key in found)


def names(path, model, ranks, directory, *words):
    """Returns the names of the computations, waits and messages of all ranks."""
    data = save(directory / "d.npz", models.data(model, {"T": 20, "B": 2}, "cross-entropy"))
    trace = directory / "t.json"
    words = ["train", "--data", data, "--batch", 2, "--shard-time", "--trace", trace, *words]
    harness.check_succeeded(mpi.run(ranks, path, *words))
    return {event["name"] for event in json.loads(trace.read_text())["traceEvents"]}


def test_auto_selects_fewer_steps(tmp_path):
    """With one state, a scan applies 3 links; carried cotangents apply one per rank."""
    path, model = program(Spec("RNN", head="steps", hidden=1))
    carried, scanned = ({"states", "cotangents"}, {"states", "maps"})
    both = carried | scanned
    assert names(path, model, 3, tmp_path) & both == carried
    assert names(path, model, 4, tmp_path) & both == scanned
    assert names(path, model, 4, tmp_path, "--shard-backward=carry") & both == carried
    assert names(path, model, 2, tmp_path, SCAN) & both == scanned
    # MPI performs the scan and --throttle does not slow it down, so `auto` does not select it.
    assert names(path, model, 4, tmp_path, "--throttle=10,0.0001") & both == carried
    info = json.loads(harness.check_succeeded(harness.run(path, "info")).stdout)
    assert info["shard_scans"] == [1]


def test_error_on_one_rank_ends_all_ranks(tmp_path):
    """The third of four ranks finds the invalid element of its steps."""
    path, model = program(Spec("RNN", head="steps", hidden=1))
    arrays = models.data(model, {"T": 8, "B": 2}, "cross-entropy")
    arrays["x"][5, 1, 0] = np.inf
    data = save(tmp_path / "d.npz", arrays)
    found = mpi.run(4, path, "train", "--data", data, "--batch", 2, "--shard-time", SCAN)
    assert found.returncode == 1
    assert "rank 2" in found.stderr and "element [5, 1, 0] is inf" in found.stderr, found.stderr


def test_unsupported_scans_are_refused(tmp_path):
    scanning, model = program(Spec("RNN", head="steps", hidden=1))
    other, _ = layers.program(Spec("RNN", head="steps", hidden=1), "cross-entropy")
    data = save(tmp_path / "d.npz", models.data(model, {"T": 4, "B": 2}, "cross-entropy"))
    refusals = [
        (other, ["--shard-time"], 1, "has no functions that scan over ranks; compile the model with --scan-shards"),
        (scanning, ["--shard-time", "--throttle=1,0"], 1, "remove --throttle"),
        (scanning, [], 2, "--shard-backward requires --shard-time"),
        (scanning, ["--shard-time", "--shard-backward=tree"], 2, "--shard-backward"),
    ]
    for path, words, status, message in refusals:
        found = harness.run(path, "train", "--data", data, "--batch", 2, SCAN, *words)
        assert found.returncode == status and message in found.stderr, found.stderr


def test_streams_are_refused(tmp_path):
    graph = stream_models.ALL["lstm_stack"]
    path = compile_model(graph.model, "--loss=mse", "--loss-on=y", *graph.flags, "--shard-time")
    data = save(tmp_path / "d.npz", make_data("lstm_stack", 4, 2))
    found = harness.run(path, "train", "--data", data, "--shard-time", SCAN)
    assert found.returncode == 1
    assert "cotangents of streams move between ranks after each step; remove it" in found.stderr


@pytest.mark.parametrize(
    "options, message",
    [
        (["--distributed=mpi"], "--scan-shards needs --shard-time"),
        (["--distributed=mpi", "--shard-time", "--carry=h:h_next"], "--scan-shards cannot be combined with --carry"),
        (["--distributed=mpi", "--shard-time", "--memory-limit=1M"], "--scan-shards cannot be combined with --memory-limit"),
    ],
)
def test_incompatible_options_are_refused(options, message, tmp_path):
    model = stream_models.ALL["cell"].model
    harness.check_refused(model, tmp_path, ["--loss=mse", "--loss-on=y", "--scan-shards", *options], 2, message)


def test_loops_of_graphs_are_refused(tmp_path):
    options = ["--loss=mse", "--distributed=mpi", "--shard-time", "--scan-shards"]
    message = "has a graph as its link, which ranks cannot scan; remove --scan-shards"
    model = layers.scan_model()
    scan = next(node for node in model.graph.node if node.op_type == "Scan")
    body = scan.attribute[[a.name for a in scan.attribute].index("body")].g
    next(node for node in body.node if node.op_type == "Tanh").op_type = "Softmax"
    harness.check_refused(model, tmp_path, options, 1, message)
