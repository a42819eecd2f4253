"""--backward-order: when gradients of parameters are formed changes no bit of them."""

import functools
import re

import harness
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

STEPS = 80
ORDERS = ["in-order", "reverse-first:1", "reverse-first:3", "reverse-first:auto", "defer:3:1,2:1"]


def weights(**shapes):
    rng = np.random.default_rng(0)
    return [
        numpy_helper.from_array((rng.standard_normal(s) / np.sqrt(s[-1])).astype(np.float32), name)
        for name, s in shapes.items()
    ]


def make_model(nodes, initializers, shape, outputs):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, outputs)
    graph = helper.make_graph(nodes, "layers", [x], [y], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def dense():
    """A tied matrix, a residual connection, and two results of one operation."""
    nodes = [
        helper.make_node("Gemm", ["x", "a", "p"], ["x1"]),
        helper.make_node("Tanh", ["x1"], ["x2"]),
        helper.make_node("MatMul", ["x2", "b"], ["x3"]),
        helper.make_node("Sigmoid", ["x3"], ["x4"]),
        helper.make_node("MatMul", ["x4", "b"], ["x5"]),
        helper.make_node("Add", ["x5", "x2"], ["x6"]),
        helper.make_node("Split", ["x6"], ["left", "right"], axis=1),
        helper.make_node("Mul", ["left", "right"], ["x7"]),
        helper.make_node("Gemm", ["x7", "c", "q"], ["y"]),
    ]
    tensors = weights(a=(8, 8), p=(8,), b=(8, 8), c=(4, 3), q=(3,))
    return make_model(nodes, tensors, ["N", 8], ["N", 3]), (16, 8), (16,)


def recurrent():
    """Two layers, the second in both directions."""
    nodes = [
        helper.make_node("GRU", ["x", "w", "r", "b"], ["s"], hidden_size=8),
        helper.make_node("Squeeze", ["s", "one"], ["h"]),
        helper.make_node("LSTM", ["h", "v", "u"], ["t"], hidden_size=4, direction="bidirectional"),
        helper.make_node("Transpose", ["t"], ["last"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["last", "rows"], ["z"]),
        helper.make_node("MatMul", ["z", "c"], ["y"]),
    ]
    tensors = weights(w=(1, 24, 3), r=(1, 24, 8), b=(1, 48), v=(2, 16, 8), u=(2, 16, 4), c=(8, 3))
    tensors += [numpy_helper.from_array(np.array(v), n) for n, v in (("one", [1]), ("rows", [0, 0, 8]))]
    return make_model(nodes, tensors, [6, "N", 3], [6, "N", 3]), (6, 16, 3), (6, 16)


def convolutional():
    """BatchNormalization has running statistics, which a step updates."""
    nodes = [
        helper.make_node("Conv", ["x", "k"], ["x1"], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["x1", "g", "h", "m", "v"], ["x2", "m2", "v2"], training_mode=1),
        helper.make_node("Relu", ["x2"], ["x3"]),
        helper.make_node("Conv", ["x3", "l"], ["x4"]),
        helper.make_node("Flatten", ["x4"], ["x5"]),
        helper.make_node("MatMul", ["x5", "c"], ["y"]),
    ]
    tensors = weights(k=(4, 2, 3, 3), l=(3, 4, 3, 3), c=(27, 3))
    tensors += [
        numpy_helper.from_array(np.full(4, value, np.float32), name)
        for name, value in (("g", 1), ("h", 0), ("m", 0), ("v", 1))
    ]
    return make_model(nodes, tensors, ["N", 2, 5, 5], ["N", 3]), (16, 2, 5, 5), (16,)


MODELS = {"dense": dense, "recurrent": recurrent, "convolutional": convolutional}


@functools.cache
def train(kind, order, directory, backward):
    """The bytes of the model after some steps."""
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
def test_every_order_trains_to_the_same_bits(kind, order, directory):
    for backward in ("sequential", "scan"):
        assert train(kind, order, directory, backward) == train(kind, "", directory, backward)


def test_info_tells_the_order_and_its_memory():
    program = harness.compile_model(MODELS["dense"]()[0], "--backward-order=reverse-first:3")
    for variant in program.info()["variants"]:
        order = variant["backward_order"]
        assert order["order"] == "reverse-first:3"
        assert order["peak_bytes"] > 0 and order["in_order_peak_bytes"] > 0


@pytest.mark.parametrize(
    "order, sizes",
    [("in-order", [6, 7, 8]), ("reverse-first:2", [6, 8, 7]), ("reverse-first:3", [8, 7, 6])],
)
def test_ranks_exchange_gradients_in_that_order(order, sizes, tmp_path):
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
    found = re.findall(r"bppsa\.signal_gradient %\w+ : memref<(\d+)x", step)
    assert [int(size) for size in found] == sizes


def test_a_limit_keeps_gradients_from_waiting():
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
def test_refusals_name_the_remedy(order, status, words, tmp_path):
    harness.check_refused(MODELS["dense"]()[0], tmp_path, [f"--backward-order={order}"], status, words)
