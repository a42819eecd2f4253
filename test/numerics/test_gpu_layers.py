"""Layer chains with explicit sparse Jacobians on an emulated GPU: gradients and training."""

import json

import harness
import images
import models
import numpy as np
import onnx
import pytest
import references

LOSS = "cross-entropy"
PLANS = ("linear", "blelloch", "hybrid:1", "chunked:2")
# One sample uses all lanes of a warp; lanes share samples and entries; more samples than lanes.
SAMPLES = (1, 3, 33)


def compile_emulated(model, plan, *options):
    options = [f"--loss={LOSS}", "--backward=scan", f"--scan={plan}", *options]
    return harness.compile_model(model, "--target=cuda", "--emulate", *options)


def check_pruned(model, kept, program, samples):
    """Checks that gradients of kept weights match the reference and others are zero."""
    arrays = models.data(model, {"N": samples}, LOSS)
    exact, single = references.gradients(model, arrays, LOSS)
    for gradients in (exact, single):
        for key, mask in kept.items():
            gradients[key] = np.where(mask, gradients[key], 0)
    found = program.grad(arrays)
    harness.check_gradients(found, exact, single, f"{samples} samples")
    return arrays, found


@pytest.mark.parametrize("plan", PLANS)
def test_pruned_gradients(plan):
    model, kept = images.prune(images.small(), 60)
    program = compile_emulated(model, plan, "--prune-zeros")
    for samples in SAMPLES:
        check_pruned(model, kept, program, samples)


@pytest.mark.parametrize("plan", PLANS)
def test_gradients(plan):
    """Without pruning, convolutions, pools and activations still have sparse Jacobians."""
    model = images.small()
    program = compile_emulated(model, plan)
    for samples in SAMPLES:
        check_pruned(model, {}, program, samples)


@pytest.mark.parametrize("plan", ["linear", "blelloch"])
def test_pruned_vgg11(plan):
    model, kept = images.prune(images.vgg11(2), 97)
    check_pruned(model, kept, compile_emulated(model, plan, "--prune-zeros"), 2)


def test_results_do_not_depend_on_schedule():
    model, kept = images.prune(images.small(), 60)
    program = compile_emulated(model, "blelloch", "--prune-zeros")
    arrays, expected = check_pruned(model, kept, program, 3)
    for seed in range(1, 11):
        found = program.grad(arrays, f"--emulate-seed={seed}")
        for name, array in expected.items():
            assert found[name].tobytes() == array.tobytes(), f"seed {seed}: {name}"


def test_pruned_weights_stay_zero(tmp_path):
    model, kept = images.prune(images.small(), 60)
    program = compile_emulated(model, "blelloch", "--prune-zeros", "--optimizer=adamw")
    data, saved, log = (tmp_path / name for name in ("data.npz", "saved.onnx", "log.jsonl"))
    np.savez(data, **models.data(model, {"N": 24}, LOSS))
    words = ["--data", data, "--epochs", 6, "--batch", 8, "--lr", 1e-2, "--seed", 1]
    harness.check_succeeded(program.run("train", *words, "--save", saved, "--log", log))
    losses = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
    assert losses[-1] < losses[0]
    for initializer in onnx.load(saved).graph.initializer:
        if initializer.name in kept:
            values = onnx.numpy_helper.to_array(initializer)
            assert not values[~kept[initializer.name]].any()
            assert values[kept[initializer.name]].all()
