"""Regression test: arrays with invalid headers were decompressed, gigabytes of them, before they
were refused.

All files have a damaged array, which only reading its data reveals. A file that is refused for
its headers has therefore not been read.
"""

import json

import fake_trainer
import harness
import numpy as np
import pytest
from fake_trainer import refused, run, samples, save

GOOD = samples(40)
CASES = {
    "other counts": ({"target": GOOD["target"][1:]}, "39 samples", "expected 40"),
    "rank": ({"x": GOOD["x"][0]}, "rank 2"),
    "size": ({"x": GOOD["x"][:, :, :2]}, "size 3"),
    "type": ({"x": GOOD["x"].astype(np.float64)}, "float64"),
    "name": ({"y": GOOD["x"]}, "unknown array 'y'"),
}


def damage(path, name):
    """Changes the last byte of an array so that its checksum is wrong."""
    content = bytearray(path.read_bytes())
    with np.load(path) as archive:
        info = archive.zip.getinfo(f"{name}.npy")
    header = content[info.header_offset :]
    names, extra = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
    content[info.header_offset + 30 + names + extra + info.compress_size - 1] ^= 1
    path.write_bytes(content)
    return path


def test_damage_is_detected_by_checksum(tmp_path):
    data = damage(save(tmp_path / "data.npz", GOOD), "x")
    refused(run("eval", "--data", data), "data.npz", "'x'", "checksum")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("command", ["train", "eval", "grad"])
def test_invalid_headers_of_data(tmp_path, case, command):
    changes, *words = CASES[case]
    data = damage(save(tmp_path / "data.npz", {**GOOD, **changes}), "x")
    output = ["--out", tmp_path / "out"] if command == "grad" else []
    message = refused(run(command, "--data", data, *output), "data.npz", *words)
    assert "checksum" not in message


def test_infer_does_not_read_the_target(tmp_path):
    data, out = damage(save(tmp_path / "data.npz", GOOD), "target"), tmp_path / "out.npz"
    harness.check_succeeded(run("infer", "--data", data, "--out", out))
    expected = fake_trainer.exact(GOOD)["logits"]
    np.testing.assert_allclose(np.load(out)["logits"], expected, rtol=1e-5, atol=1e-6)


def test_invalid_headers_of_checkpoints(tmp_path):
    data, checkpoint = save(tmp_path / "data.npz", GOOD), tmp_path / "c.npz"
    harness.check_succeeded(run("train", "--data", data, "--checkpoint", checkpoint))
    with np.load(checkpoint) as archive:
        arrays = dict(archive)
    assert "state" in json.loads(arrays["checkpoint"].tobytes())
    arrays["state1/head.bias"] = np.zeros(5, np.float32)
    bad = damage(save(tmp_path / "bad.npz", arrays), "parameter/head.weight")
    message = refused(run("train", "--data", data, "--resume", bad), "'state1/head.bias'")
    assert "checksum" not in message
