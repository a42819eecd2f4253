"""`bench`, `info`, calibration and predictions of programs with device kernels."""

import json

import pytest
from device_programs import CPU, CUDA, DEVICES, EMULATED, arrays, data, equal, fake_driver, succeeded, train
from fake_trainer import refused, run


@pytest.mark.parametrize("trainer", DEVICES)
def test_bench(trainer):
    options = ["--seq-len", 50, "--batch", 8, "--repeat", 3]
    found = json.loads(succeeded("bench", *options, trainer=trainer))
    for key in ("forward_us", "backward_us", "update_us", "step_us", "bytes"):
        assert found[key] > 0
    parts = found["forward_us"] + found["backward_us"] + found["update_us"]
    assert parts <= 1.5 * found["step_us"]
    # Variants are timed on a GPU, but not in the emulator.
    assert found["variant"] in (["sequential"] if trainer == EMULATED else ["sequential", "scan"])
    assert found["device"] == ("emulated on the CPU" if trainer == EMULATED else "Fake GPU (sm_90)")


@pytest.mark.parametrize(
    "trainer, steps, variant",
    [(CUDA, 4000, "scan"), (EMULATED, 4000, "scan"), (EMULATED, 20, "sequential")],
)
def test_predictions_choose_variant(trainer, steps, variant):
    """A scan is predicted to take 1/7 of the time for 4000 steps, and 1.4x for 20 steps."""
    options = ["--seq-len", steps, "--batch", 2, "--repeat", 1]
    assert json.loads(succeeded("bench", *options, trainer=trainer))["variant"] == variant


def calibrate(path):
    options = ["--seq-len", 64, "--batch", 4, "--repeat", 2]
    return json.loads(
        succeeded("bench", "--calibrate", "--calibration", path, *options, trainer=CUDA)
    )


def test_calibrate(tmp_path, data):
    path = tmp_path / "calibration.json"
    found = calibrate(path)
    assert found == json.loads(path.read_text())
    assert found["device"] == "Fake GPU (sm_90)"
    assert found["constants"]["multiprocessors"] == 4
    sizes = [(p["seq_len"], p["batch"], p["variant"]) for p in found["points"]]
    variants = ("sequential", "scan")
    assert sizes == [(t, b, v) for t in (16, 64) for b in (1, 4) for v in variants]
    assert all(p["measured_us"] > 0 and p["predicted_us"] >= 0 for p in found["points"])

    # Scan is chosen for 4000 steps by default, but not, or even timed, if a launch takes a second.
    found["constants"]["launch_us"] = 1e6
    path.write_text(json.dumps(found))
    options = ["--calibration", path, "--seq-len", 4000, "--batch", 2, "--repeat", 1]
    bench = json.loads(succeeded("bench", *options, trainer=CUDA))
    assert bench["variant"] == "sequential"
    assert bench["constants"] == "measured on Fake GPU (sm_90)"
    assert bench["predicted_backward_us"] > 1e6
    train(data, "--calibration", path, trainer=CUDA, epochs=1)


def test_invalid_calibrations(tmp_path, data):
    path = tmp_path / "calibration.json"
    fine = calibrate(path)
    without = {k: v for k, v in fine["constants"].items() if k != "launch_us"}
    for text, word in [
        ("{", "is not a calibration"),
        (json.dumps({**fine, "constants": without}), "'launch_us' not found"),
        (json.dumps({**fine, "constants": {**without, "launch_us": float("nan")}}), '"launch_us": N'),
        (json.dumps({**fine, "constants": {**without, "launch_us": -1}}), "'launch_us' is -1"),
        (json.dumps({**fine, "program": "0"}), "another program"),
        (json.dumps({**fine, "device": "Fake GPU (sm_80)"}), "measured on 'Fake GPU (sm_80)'"),
    ]:
        path.write_text(text)
        result = run("train", "--data", data, "--calibration", path, trainer=CUDA)
        assert word in refused(result, "--calibration: ", "bench --calibrate")
    refused(run("bench", "--calibration", tmp_path / "none", trainer=CUDA), "cannot be read")


@pytest.mark.parametrize("trainer, word", [(CPU, "on the CPU"), (EMULATED, "is emulated")])
def test_calibration_requires_gpu(tmp_path, data, trainer, word):
    refused(run("bench", "--calibrate", trainer=trainer), "bench --calibrate: ", word)
    out = ["--out", tmp_path / "out.npz", "--calibration", tmp_path / "none"]
    refused(run("grad", "--data", data, *out, trainer=trainer), "--calibration: ", word)


def test_info():
    for trainer, target in ((CPU, "cpu"), (CUDA, "cuda"), (EMULATED, "cuda")):
        info = json.loads(succeeded("info", trainer=trainer))
        assert info["target"] == target
        assert info.get("emulated") == {CPU: None, CUDA: False, EMULATED: True}[trainer]
    info = json.loads(succeeded("info", trainer=CUDA))
    assert info["images"] == ["sm_80", "sm_86", "sm_90", "ptx"]


def test_emulate_seed(tmp_path, data):
    expected = arrays("grad", data, tmp_path / "cpu.npz", trainer=CPU)
    for seed in (1, 12345):
        option = ["--emulate-seed", seed, "--threads", 2]
        equal(arrays("grad", data, tmp_path / "e.npz", *option, trainer=EMULATED), expected)
    refused(run("eval", "--data", data, "--emulate-seed", -1, trainer=EMULATED), "--emulate-seed")
    for trainer in (CPU, CUDA):
        result = run("eval", "--data", data, "--emulate-seed", 1, trainer=trainer)
        assert result.returncode == 2
        assert "unknown option '--emulate-seed'" in result.stderr
