"""The commands of a trainer with valid input, against NumPy in float64 and ONNX Runtime."""

import io
import json
import resource
import zipfile

import fake_model
import fake_trainer
import harness
import numpy as np
import onnx
import onnxruntime
import pytest
from fake_trainer import run, samples, save


def train(data, *options, epochs=3, batch=16, seed=1, lr=0.01, **kwargs):
    values = ["--epochs", epochs, "--batch", batch, "--seed", seed, "--lr", lr]
    result = run("train", "--data", data, *values, *options, **kwargs)
    return harness.check_succeeded(result)


def initializers(path):
    model = onnx.load(path)
    return {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}


def test_grad(tmp_path):
    arrays = samples(37)
    data, out = save(tmp_path / "data.npz", arrays), tmp_path / "out.npz"
    expected = fake_trainer.exact(arrays)
    del expected["logits"]
    for backward in ("auto", "sequential", "scan"):
        harness.check_succeeded(run("grad", "--data", data, "--out", out, "--backward", backward))
        with np.load(out) as found:
            assert set(found) == set(expected)
            for name, value in expected.items():
                assert found[name].dtype == np.float32 and found[name].shape == np.shape(value)
                np.testing.assert_allclose(found[name], value, rtol=2e-5, atol=1e-7)


@pytest.mark.parametrize("batch", [1, 7, 100, 1000])
def test_eval_and_infer_do_not_depend_on_the_batch(tmp_path, batch):
    arrays = samples(100)
    data, out = save(tmp_path / "data.npz", arrays), tmp_path / "out.npz"
    expected = fake_trainer.exact(arrays)
    found = json.loads(
        harness.check_succeeded(run("eval", "--data", data, "--batch", batch)).stdout
    )
    assert found["samples"] == 100
    assert found["loss"] == pytest.approx(expected["loss"], rel=1e-5)
    assert found["accuracy"] == np.mean(expected["logits"].argmax(1) == arrays["target"])
    harness.check_succeeded(run("infer", "--data", data, "--out", out, "--batch", batch))
    np.testing.assert_allclose(np.load(out)["logits"], expected["logits"], rtol=1e-5, atol=1e-6)


def test_saved_model(tmp_path):
    arrays = samples(50)
    data, saved = save(tmp_path / "data.npz", arrays), tmp_path / "saved.onnx"
    train(data, "--save", saved)
    onnx.checker.check_model(onnx.load(saved))
    before, after = initializers_of(fake_model.build()), initializers(saved)
    assert np.array_equal(after["scale"], before["scale"])
    assert not np.any(after["head.weight"] == before["head.weight"])
    session = onnxruntime.InferenceSession(saved)
    (logits,) = session.run(None, {"x": arrays["x"]})
    expected = fake_trainer.exact(arrays, after["head.weight"], after["head.bias"])["logits"]
    np.testing.assert_allclose(logits, expected, rtol=1e-5, atol=1e-6)
    # Restoring the old values gives the original file, byte for byte.
    content = saved.read_bytes()
    for name in ("head.weight", "head.bias"):
        content = content.replace(after[name].tobytes(), before[name].tobytes())
    assert content == fake_model.build().SerializeToString(deterministic=True)


def initializers_of(model):
    return {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}


def adam(p, g, m, v, step, lr):
    m[:] = 0.9 * m + 0.1 * g
    v[:] = 0.999 * v + 0.001 * g * g
    p -= lr * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)


def trained(arrays, batch, lrs, clip=None):
    """Returns the float64 parameters after one epoch without shuffling, with one rate per batch."""
    weight, bias = fake_model.WEIGHT.astype(np.float64), fake_model.BIAS.astype(np.float64)
    moments = [np.zeros_like(p) for p in (weight, weight, bias, bias)]
    for step, lr in enumerate(lrs):
        part = slice(step * batch, (step + 1) * batch)
        g = fake_trainer.exact(
            {"x": arrays["x"][:, part], "target": arrays["target"][part]}, weight, bias
        )
        norm = np.sqrt(sum(np.sum(g[name] ** 2) for name in ("head.weight", "head.bias")))
        scale = 1 if clip is None else min(1, clip / (norm + 1e-6))
        adam(weight, scale * g["head.weight"], *moments[:2], step + 1, lr)
        adam(bias, scale * g["head.bias"], *moments[2:], step + 1, lr)
    return {"head.weight": weight, "head.bias": bias}


@pytest.mark.parametrize(
    "options, rates",
    [
        ([], [0.1] * 4),
        (["--lr-schedule", "warmup:2"], [0.05, 0.1, 0.1, 0.1]),
        (["--lr-schedule", "cosine:0.02"], [0.1, 0.08, 0.04, 0.02]),
        (["--lr-schedule", "warmup:2,cosine"], [0.05, 0.075, 0.025, 0.0]),
        (["--clip-norm", "0.05"], [0.1] * 4),
    ],
    ids=str,
)
def test_training_steps(tmp_path, options, rates):
    arrays = samples(50)  # three batches of 16 and one of 2
    data, saved = save(tmp_path / "data.npz", arrays), tmp_path / "saved.onnx"
    train(data, "--no-shuffle", "--save", saved, *options, epochs=1, lr=0.1)
    clip = 0.05 if "--clip-norm" in options else None
    expected = trained(arrays, 16, rates, clip)
    found = initializers(saved)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-5)


def test_step_schedule(tmp_path):
    data = save(tmp_path / "data.npz", samples())
    frozen, once = tmp_path / "frozen.onnx", tmp_path / "once.onnx"
    train(data, "--save", once, epochs=1)
    train(data, "--save", frozen, "--lr-schedule", "step:1:0", epochs=3)
    assert once.read_bytes() == frozen.read_bytes()


def test_log_and_learning(tmp_path):
    data, log = save(tmp_path / "data.npz", samples(200)), tmp_path / "log.jsonl"
    val = save(tmp_path / "val.npz", samples(60, seed=1))
    log.write_text("old\n")
    train(data, "--val", val, "--log", log, epochs=20)
    epochs = [json.loads(line) for line in log.read_text().splitlines()]
    keys = ["epoch", "loss", "val_loss", "val_accuracy", "seconds", "load_seconds"]
    keys += ["lr", "variant"]
    assert all(list(entry) == keys for entry in epochs)
    assert [entry["epoch"] for entry in epochs] == list(range(1, 21))
    assert epochs[-1]["loss"] < 0.5 * epochs[0]["loss"]
    assert epochs[-1]["val_accuracy"] > 0.9


def test_seed_determines_sample_order(tmp_path):
    data = save(tmp_path / "data.npz", samples())
    outputs = []
    for seed, threads in ((1, 1), (1, 2), (2, 1)):
        saved = tmp_path / f"{seed}-{threads}.onnx"
        train(data, "--save", saved, "--threads", threads, seed=seed)
        outputs.append(saved.read_bytes())
    assert outputs[0] == outputs[1] != outputs[2]


def few_processes():
    resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))


def test_training_if_threads_cannot_start(tmp_path):
    data = save(tmp_path / "data.npz", samples(20))
    train(data, "--threads", 4, preexec_fn=few_processes)


def test_mean_squared_error_and_plain_sgd(tmp_path):
    arrays = samples(20)
    arrays["target"] = np.eye(4, dtype=np.float32)[arrays["target"]]
    data, saved = save(tmp_path / "data.npz", arrays), tmp_path / "saved.onnx"
    trainer = "bppsa-fake-trainer-mse"
    logits = fake_trainer.exact(samples(20))["logits"]
    found = json.loads(run("eval", "--data", data, trainer=trainer).stdout)
    assert found == {
        "loss": pytest.approx(np.mean((logits - arrays["target"]) ** 2), rel=1e-5),
        "samples": 20,
    }
    train(data, "--save", saved, epochs=1, batch=20, lr=0.5, trainer=trainer)
    delta = 2 * (logits - arrays["target"]) / logits.size
    expected = fake_model.BIAS - 0.5 * delta.sum(0)
    np.testing.assert_allclose(initializers(saved)["head.bias"], expected, rtol=1e-5)


# --- array files ----------------------------------------------------------------------------------


def eval_loss(path):
    return json.loads(harness.check_succeeded(run("eval", "--data", path)).stdout)["loss"]


def npy_bytes(array, version):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, version=version)
    return stream.getvalue()


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_npz_formats(tmp_path, version, compression):
    arrays = samples(33)
    plain = eval_loss(save(tmp_path / "plain.npz", arrays))
    arrays["x"] = np.asfortranarray(arrays["x"])
    with zipfile.ZipFile(tmp_path / "other.npz", "w", compression) as archive:
        for name, array in arrays.items():
            archive.writestr(f"{name}.npy", npy_bytes(array, version))
    assert eval_loss(tmp_path / "other.npz") == plain


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint64])
def test_class_indices_of_any_integer_type(tmp_path, dtype):
    arrays = samples(33)
    expected = eval_loss(save(tmp_path / "int64.npz", arrays))
    arrays["target"] = arrays["target"].astype(dtype)
    assert eval_loss(save(tmp_path / "other.npz", arrays)) == expected


def test_infer_ignores_the_target(tmp_path):
    arrays = samples(5)
    arrays["target"] = np.zeros((9, 9))
    data = save(tmp_path / "data.npz", arrays)
    harness.check_succeeded(run("infer", "--data", data, "--out", tmp_path / "out.npz"))


# --- descriptions ---------------------------------------------------------------------------------


def test_info():
    info = json.loads(harness.check_succeeded(run("info")).stdout)
    assert info["inputs"][0]["shape"] == ["T", "B", 3]
    assert (info["inputs"][0]["batch_axis"], info["inputs"][0]["time_axis"]) == (1, 0)
    assert {p["name"]: p["trained"] for p in info["initializers"]} == {
        "scale": False,
        "head.weight": True,
        "head.bias": True,
    }
    assert [v["plan"] for v in info["variants"]] == [None, "chunked:32"]


@pytest.mark.parametrize("backward", ["auto", "sequential", "scan"])
def test_bench(backward):
    options = ["--seq-len", 50, "--batch", 3, "--repeat", 5, "--backward", backward]
    found = json.loads(harness.check_succeeded(run("bench", *options)).stdout)
    assert found["step_us"] >= found["backward_us"] > 0
    assert found["flops"] == 6 * 50 * 3
    assert found["bytes"] > 0
    assert backward in ("auto", found["variant"])


def test_batch_axis_can_be_set(tmp_path):
    arrays = samples(6, steps=6)
    data, out = save(tmp_path / "data.npz", arrays), tmp_path / "out.npz"
    fake_trainer.refused(run("info", "--batch-axis=y:0"), "'y'")
    for axis in (0, 2, 3):
        wanted = f"axis {axis} of 'x' cannot carry the samples; accepted: 1"
        fake_trainer.refused(run("info", f"--batch-axis=x:{axis}"), wanted)
    assert run("info", "--batch-axis=x").returncode == 2
    harness.check_succeeded(run("infer", "--data", data, "--out", out, "--batch-axis=x:1"))
