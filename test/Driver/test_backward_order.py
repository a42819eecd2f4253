"""--backward-order: the order of parameter gradients does not change any bit of them."""

import functools
import json
import re

import harness
import numpy as np
import onnx
import pytest
from layer_models import MODELS, make_model, weights
from onnx import helper, numpy_helper

STEPS = 80
ORDERS = ["in-order", "reverse-first:1", "reverse-first:3", "reverse-first:auto", "defer:3:1,2:1"]


@functools.cache
def train(kind, order, directory, backward):
    """Trains for some steps and returns the content of the saved model."""
    model, shape, positions = MODELS[kind]()
    rng = np.random.default_rng(1)
    data, saved = directory / f"{kind}.npz", directory / "saved.onnx"
    np.savez(data, x=rng.standard_normal(shape).astype(np.float32), target=rng.integers(0, 3, positions))
    options = [f"--backward-order={order}"] if order else []
    program = harness.compile_model(model, *options)
    words = ["--epochs", STEPS, "--batch", 16, "--lr", 0.01, "--save", saved, f"--backward={backward}"]
    harness.check_succeeded(program.run("train", "--data", data, *words))
    return saved.read_bytes()


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("orders")


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", MODELS)
def test_orders_train_to_the_same_bits(kind, order, directory):
    for backward in ("sequential", "scan"):
        assert train(kind, order, directory, backward) == train(kind, "", directory, backward)


NEXT = ["defer:1:next", "defer:2:next,3:2", "defer:1:next,2:next,3:1"]


def train_on_batches(kind, order, directory, backward, *options):
    """Trains for an epoch with a smaller last batch and returns the content of the saved model."""
    model, shape, positions = MODELS[kind]()
    rng = np.random.default_rng(1)
    axis = shape.index(16)

    def widen(sizes):
        return tuple(16 * STEPS + 5 if i == axis else size for i, size in enumerate(sizes))

    data, saved = directory / f"{kind}-batches.npz", directory / "saved.onnx"
    x = rng.standard_normal(widen(shape)).astype(np.float32)
    np.savez(data, x=x, target=rng.integers(0, 3, widen(positions)))
    program = harness.compile_model(model, *([f"--backward-order={order}"] if order else []))
    words = ["train", "--data", data, "--batch", 16, "--lr", 0.01, "--save", saved, f"--backward={backward}"]
    harness.check_succeeded(program.run(*words, *options))
    return saved.read_bytes()


@pytest.mark.parametrize("kind", MODELS)
def test_deferred_gradients_have_the_same_bits(kind, directory):
    for backward in ("sequential", "scan"):
        expected = train_on_batches(kind, "", directory, backward)
        for order in NEXT:
            assert train_on_batches(kind, order, directory, backward) == expected, (order, backward)


SETTINGS = [
    ["--ema", 0.9, "--weight-decay", 0.01, "--lr-schedule", "cosine", "--lr-for", "^b=0.02", "--val-split", 0.2],
    ["--clip-norm", 0.1],
    ["--accumulate", 3],
    ["--threads", 2, "--epochs", 3],
]


@pytest.mark.parametrize("options", SETTINGS)
def test_deferred_gradients_with_training_options(options, directory):
    expected = train_on_batches("dense", "", directory, "sequential", *options)
    assert train_on_batches("dense", NEXT[2], directory, "sequential", *options) == expected


def test_checkpoints_include_deferred_gradients(tmp_path):
    whole = train_on_batches("dense", NEXT[0], tmp_path, "sequential", "--epochs", 2)
    kept = tmp_path / "kept.npz"
    options = ["--checkpoint", kept, "--checkpoint-every", 7]
    train_on_batches("dense", NEXT[0], tmp_path, "sequential", *options)
    assert train_on_batches("dense", NEXT[0], tmp_path, "sequential", "--epochs", 2, "--resume", kept) == whole


def test_deferred_gradients_run_in_the_next_step(tmp_path):
    """They run in the forward pass of the next step, before the gradients of that step."""
    trace = tmp_path / "t.json"
    train_on_batches("dense", "defer:1:next", tmp_path, "sequential", "--trace", trace)
    events = [event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"]
    steps = {event["name"]: event for event in events if event["name"].startswith("step")}
    left = sorted(event["ts"] for event in events if event["name"] == "left")
    assert len(steps) == len(left) == STEPS + 1
    for number, begin in enumerate(left[:-1], 2):
        step = steps[f"step {number}"]
        assert step["ts"] <= begin < step["ts"] + step["dur"]
    # At the end of the epoch there is no next step.
    last = steps[f"step {STEPS + 1}"]
    assert left[-1] >= last["ts"] + last["dur"]


def test_error_names_step_of_deferred_gradient(tmp_path):
    """If a deferred gradient is not finite, the message names the step that deferred it."""
    nodes = [
        helper.make_node("MatMul", ["x", "a"], ["h"]),
        helper.make_node("MatMul", ["h", "b"], ["y"]),
    ]
    tensors = weights(a=(8, 4), b=(4, 3))
    tensors[0] = numpy_helper.from_array(np.full((8, 4), 1e-30, np.float32), "a")
    tensors[1] = numpy_helper.from_array(1e10 * numpy_helper.to_array(tensors[1]), "b")
    program = harness.compile_model(make_model(nodes, tensors, ["N", 8], ["N", 3]), "--backward-order=defer:1:next")
    data = tmp_path / "d.npz"
    np.savez(data, x=np.full((48, 8), 1e30, np.float32), target=np.arange(48) % 3)
    result = program.run("train", "--data", data, "--batch", 16)
    assert result.returncode == 1
    assert "epoch 1, batch 1 (step 1): the gradient of 'a' is" in result.stderr


@pytest.mark.parametrize(
    "options, words",
    [
        (["--distributed=mpi"], "defer:L:next cannot be combined with --distributed"),
        (["--target=cuda", "--emulate"], "defer:L:next needs --target=cpu"),
        (["--loss=vjp"], "defer:L:next cannot be combined with --loss=vjp"),
    ],
)
def test_options_incompatible_with_deferral(options, words, tmp_path):
    options = ["--backward-order=defer:1:next", *options]
    harness.check_refused(MODELS["dense"]()[0], tmp_path, options, 2, words)


def test_info_shows_order_and_memory():
    program = harness.compile_model(MODELS["dense"]()[0], "--backward-order=reverse-first:3")
    for variant in program.info()["variants"]:
        order = variant["backward_order"]
        assert order["order"] == "reverse-first:3"
        assert order["peak_bytes"] > 0 and order["in_order_peak_bytes"] > 0


@pytest.mark.parametrize(
    "order, sizes",
    [("in-order", [6, 7, 8]), ("reverse-first:2", [6, 8, 7]), ("reverse-first:3", [8, 7, 6])],
)
def test_ranks_exchange_gradients_in_order(order, sizes, tmp_path):
    nodes = [
        helper.make_node("MatMul", ["x", "a"], ["x1"]),
        helper.make_node("Tanh", ["x1"], ["x2"]),
        helper.make_node("MatMul", ["x2", "b"], ["x3"]),
        helper.make_node("Tanh", ["x3"], ["x4"]),
        helper.make_node("MatMul", ["x4", "c"], ["y"]),
    ]
    model = make_model(nodes, weights(a=(8, 7), b=(7, 6), c=(6, 3)), ["N", 8], ["N", 3])
    onnx.save(model, tmp_path / "model.onnx")
    words = [f"--backward-order={order}", "--backward=sequential", "--mcpu=native", "--distributed=mpi"]
    words += [f"--dump-phases-to={tmp_path}", "-o", tmp_path / "out", tmp_path / "model.onnx"]
    result = harness.run(harness.require_tool("bppsa-compile"), *words)
    if "built without Open MPI" in result.stderr:
        pytest.skip("the compiler was built without Open MPI")
    harness.check_succeeded(result)
    step = (tmp_path / "kernels.mlir").read_text().split("func.func @step_sequential(")[1]
    step = step.split("func.func")[0]
    found = re.findall(r"dist\.signal_gradient %\w+ : memref<(\d+)x", step)
    assert [int(size) for size in found] == sizes


def test_memory_limit_prevents_deferral():
    def find_order(limit):
        options = ["--backward-order=reverse-first:auto", f"--memory-limit={limit}"]
        return harness.compile_model(MODELS["dense"]()[0], *options).info()["variants"][0]["backward_order"]

    assert find_order("1G")["order"] == "reverse-first:4"
    assert find_order("1")["order"] == "in-order"


@pytest.mark.parametrize(
    "order, status, words",
    [
        ("reverse-first", 2, "--backward-order must be in-order, reverse-first:K (K >= 0)"),
        ("defer:1:2", 2, "--backward-order must be in-order, reverse-first:K (K >= 0)"),
        ("reverse-first:9", 1, "names stage 9, but the backward pass has 4"),
    ],
)
def test_invalid_orders_are_refused(order, status, words, tmp_path):
    harness.check_refused(MODELS["dense"]()[0], tmp_path, [f"--backward-order={order}"], status, words)
