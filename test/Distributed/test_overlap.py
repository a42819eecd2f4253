"""Gradient exchange overlaps with computation: identical results, no staleness, expected waits."""

import json

import harness
import models
import mpi
import numpy as np
import pytest
from fake_trainer import save
from onnx import TensorProto, helper, numpy_helper
from test_programs import compile_model

OPTIONS = ["--lr", 0.01, "--seed", 3, "--mapping=lanes"]
# 21 samples on three ranks: 3, 3 and 2 samples, then 2, 2 and 1.
SAMPLES = 21


@pytest.fixture(scope="module")
def stack(tmp_path_factory):
    """Two recurrent layers and their data."""
    model = models.build(models.Spec("GRU", hidden=6, layers=2, direction="bidirectional", head="steps"))
    program = compile_model(model, "--loss=cross-entropy", "--backward=sequential")
    arrays = models.data(model, {"T": 5, "B": SAMPLES}, "cross-entropy")
    return program, save(tmp_path_factory.mktemp("stack") / "d.npz", arrays)


def train(ranks, stack, saved, *options, batch=8, epochs=2):
    program, data = stack
    words = ["train", "--data", data, "--batch", batch, "--epochs", epochs, *OPTIONS]
    words += [*options, "--save", saved]
    return harness.check_succeeded(mpi.run(ranks, program, *words))


SETTINGS = {
    "plain": {},
    "clipped": {"options": ["--clip-norm", 0.05, "--weight-decay", 0.01]},
    "averaged": {"options": ["--ema", 0.9, "--lr-for", "W=0.1", "--val-split", 0.2]},
    "accumulated": {"options": ["--accumulate", 2]},
    # Two of three ranks have no sample.
    "alone": {"batch": 1, "epochs": 1},
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_exchange_does_not_change_results(tmp_path, stack, setting):
    sizes = dict(SETTINGS[setting])
    options = sizes.pop("options", [])
    saved = [tmp_path / f"{i}.onnx" for i in range(5)]
    train(3, stack, saved[0], *options, "--exchange=barrier", **sizes)
    train(3, stack, saved[4], *options, **sizes)
    train(3, stack, saved[1], *options, "--exchange=p3", "--slice", 7, **sizes)
    train(3, stack, saved[2], *options, "--exchange=dear", "--slice", 50, **sizes)
    train(3, stack, saved[3], *options, "--exchange=p3", "--throttle=0.01,0.0005", **sizes)
    assert len({path.read_bytes() for path in saved}) == 1
    train(0, stack, tmp_path / "one.onnx", *options, **sizes)
    mpi.check_close(saved[0], tmp_path / "one.onnx", 1e-5)


def test_checkpoint_contains_complete_update(tmp_path, stack):
    whole, resumed, checkpoint = tmp_path / "w.onnx", tmp_path / "r.onnx", tmp_path / "c"
    train(2, stack, whole, "--exchange=p3")
    options = ["--exchange=p3", "--checkpoint", checkpoint, "--checkpoint-every", 1]
    train(2, stack, resumed, *options, epochs=1)
    train(2, stack, resumed, "--exchange=dear", "--resume", checkpoint)
    assert whole.read_bytes() == resumed.read_bytes()


def root():
    """y = sqrt(x w) + b at w = 0, where the derivative is infinite."""
    tensors = [numpy_helper.from_array(np.zeros(3, np.float32), name) for name in "wb"]
    nodes = [
        helper.make_node("Mul", ["x", "w"], ["a"]),
        helper.make_node("Sqrt", ["a"], ["r"]),
        helper.make_node("Add", ["r", "b"], ["y"]),
    ]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["B", 3]) for name in "xy"]
    graph = helper.make_graph(nodes, "root", values[:1], values[1:], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_message_names_step_of_nonfinite_gradient(tmp_path):
    program = compile_model(root(), "--loss=mse")
    x = np.ones((32, 3), np.float32)
    words = [program, "train", "--data", save(tmp_path / "d.npz", {"x": x, "target": x}), "--batch", 8]
    found = [mpi.run(3, *words, f"--exchange={kind}") for kind in ("allreduce", "p3", "dear")]
    assert all(one.returncode == 1 for one in found)
    for one in found:
        [line] = [line for line in one.stderr.splitlines() if line.startswith("error: ")]
        assert "epoch 1, batch 1 (step 1): the gradient of 'w' is" in line
        assert "nothing was saved" in line


def events_of(tmp_path, stack, kind):
    trace = tmp_path / f"{kind}.json"
    # On this network, an exchange takes longer than a step.
    options = [f"--exchange={kind}", "--slice", 20, "--throttle=0.002,0", "--trace", trace]
    train(2, stack, tmp_path / "m.onnx", *options)
    events = json.loads(trace.read_text())["traceEvents"]
    return [event for event in events if event["ph"] == "X" and event["pid"] == 0]


def inside(event, steps):
    return any(step["ts"] < event["ts"] < step["ts"] + step["dur"] for step in steps)


@pytest.mark.parametrize(
    "kind, gives, waits",
    [("barrier", False, False), ("allreduce", True, False), ("p3", True, True), ("dear", True, True)],
)
def test_overlap_of_exchange_and_steps(tmp_path, stack, kind, gives, waits):
    events = events_of(tmp_path, stack, kind)
    steps = [event for event in events if event["name"] == "step"]
    pushes = [event for event in events if event["name"].startswith("push")]
    # Gradients of upper layers are sent before those of lower layers are computed.
    assert any(inside({"ts": event["args"]["ready"]}, steps) for event in pushes) == gives
    sums = [event for event in events if event["name"] == "sums"]
    assert sums and any(inside(event, steps) for event in sums) == waits
