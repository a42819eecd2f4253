"""Dropout is active in training and the identity everywhere else."""

import harness
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

WIDTH = 4096
RATIO = 0.25


@pytest.fixture(scope="module")
def program():
    """y = Dropout(x) W with W = 0."""
    graph = helper.make_graph(
        [
            helper.make_node("Dropout", ["x", "ratio", "training"], ["dropped"]),
            helper.make_node("MatMul", ["dropped", "W"], ["y"]),
        ],
        "dropout",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", WIDTH])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 1])],
        [
            numpy_helper.from_array(np.zeros((WIDTH, 1), np.float32), "W"),
            numpy_helper.from_array(np.float32(RATIO), "ratio"),
            numpy_helper.from_array(np.array(True), "training"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return harness.compile_model(model, "--loss=mse", "--optimizer=sgd").path


def mask_of_step(program, tmp_path, seed):
    """Returns the mask of one step: for x = 1, target = 1 and lr = 1/2, W becomes the mask."""
    data, saved = tmp_path / "one.npz", tmp_path / "saved.onnx"
    np.savez(data, x=np.ones((1, WIDTH), np.float32), target=np.ones((1, 1), np.float32))
    options = ["--epochs", "1", "--batch", "1", "--lr", "0.5", "--seed", str(seed)]
    completed = harness.run(program, "train", "--data", data, "--save", saved, *options)
    assert completed.returncode == 0, completed.stderr
    initializers = onnx.load(saved).graph.initializer
    return next(numpy_helper.to_array(t) for t in initializers if t.name == "W")[:, 0]


def test_elements_are_dropped_or_scaled(program, tmp_path):
    mask = mask_of_step(program, tmp_path, seed=1)
    kept = mask != 0
    np.testing.assert_allclose(mask[kept], 1 / (1 - RATIO), rtol=1e-6)
    deviation = np.sqrt(RATIO * (1 - RATIO) / WIDTH)
    assert abs(1 - kept.mean() - RATIO) < 5 * deviation


def test_masks_depend_on_the_seed(program, tmp_path):
    first, again, other = (mask_of_step(program, tmp_path, seed) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    # Two independent masks differ in a fraction 2 r (1 - r) of their elements.
    assert abs(np.mean((first != 0) != (other != 0)) - 2 * RATIO * (1 - RATIO)) < 0.05


def test_grad_command_does_not_drop(program, tmp_path):
    data, out = tmp_path / "one.npz", tmp_path / "g.npz"
    np.savez(data, x=np.ones((1, WIDTH), np.float32), target=np.ones((1, 1), np.float32))
    assert harness.run(program, "grad", "--data", data, "--out", out).returncode == 0
    np.testing.assert_allclose(np.load(out)["W"], np.full((WIDTH, 1), -2.0), rtol=1e-6)
