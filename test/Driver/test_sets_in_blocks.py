"""Position weights and length checks of data sets that are read in blocks."""

import harness
import models
import numpy as np
import pytest

SAMPLES = 30


@pytest.mark.parametrize("layout", [0, 1])
def test_position_weights(tmp_path, layout):
    """Lengths, ignored classes and weights have the same effect as in a data set held in memory."""
    model = models.build(models.Spec("GRU", lengths=True, head="steps", layout=layout))
    program = harness.compile_model(
        model, "--loss=cross-entropy", "--ignore-index=-5", "--backward=sequential"
    )
    arrays = models.data(model, {"T": 6, "B": SAMPLES}, "cross-entropy")
    rng = np.random.default_rng(1)
    arrays["target"][rng.random(arrays["target"].shape) < 0.2] = -5
    arrays["weight"] = rng.random(arrays["target"].shape).astype(np.float32)
    found, plain = {}, {name: a for name, a in arrays.items() if name != "weight"}
    for name, part in (("all", arrays), ("plain", plain)):
        np.savez(tmp_path / f"{name}.npz", **part)
        for memory in ("1M", "500"):
            saved = tmp_path / "saved.onnx"
            words = ["--data", tmp_path / f"{name}.npz", "--save", saved, "--batch=7", "--epochs=2"]
            words += ["--no-shuffle", "--mapping=lanes", "--shuffle-memory", memory]
            harness.check_succeeded(program.run("train", *words))
            found[name, memory] = saved.read_bytes()
    assert found["all", "500"] == found["all", "1M"]
    assert found["plain", "500"] == found["plain", "1M"] != found["all", "1M"]


@pytest.mark.parametrize("value, layout", [(0, 0), (7, 0), (7, 1)])
def test_lengths_out_of_range(tmp_path, value, layout):
    model = models.build(models.Spec("GRU", lengths=True, head="steps", layout=layout))
    program = harness.compile_model(
        model, "--loss=cross-entropy", "--ignore-index=-5", "--backward=sequential"
    )
    arrays = models.data(model, {"T": 6, "B": SAMPLES}, "cross-entropy")
    arrays["lengths"][23] = value
    data = tmp_path / "data.npz"
    np.savez(data, **arrays)
    result = program.run("train", "--data", data, "--shuffle-memory=500", "--quiet")
    assert result.returncode == 1 and result.stderr.count("\n") == 1
    line = f"array 'lengths': element [23] is {value}, but the model takes it as the length"
    assert line in result.stderr and "expected 1 to 6" in result.stderr
