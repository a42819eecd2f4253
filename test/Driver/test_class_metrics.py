"""`eval --metrics`: confusion matrix, F1 and area under the ROC curve, compared with NumPy."""

import json

import harness
import models
import numpy as np
import pytest

HEADS = {
    "last": models.Spec("GRU", hidden=5),
    "steps": models.Spec("GRU", hidden=5, head="steps"),
}


def confusion_of(truth, predicted, weight, classes):
    matrix = np.zeros((classes, classes))
    np.add.at(matrix, (truth, predicted), weight)
    return matrix


def f1_of(matrix):
    both = matrix.sum(0) + matrix.sum(1)
    return [2 * matrix[c, c] / both[c] if both[c] else None for c in range(len(matrix))]


def auc_of(truth, score, weight):
    """Area under the ROC curve by definition: the share of ordered pairs; ties count half."""
    positive, negative = truth, ~truth
    pairs = weight[positive][:, None] * weight[negative][None]
    if pairs.size == 0:
        return None
    above = np.sign(score[positive][:, None] - score[negative][None])
    return float((pairs * (1 + above) / 2).sum() / pairs.sum())


def mean(values):
    found = [value for value in values if value is not None]
    return np.mean(found) if found else None


def check(found, truth, scores, weight):
    """Compares all metrics; `scores` is positions by classes."""
    kept = weight != 0
    truth, scores, weight = truth[kept], scores[kept], weight[kept]
    classes = scores.shape[1]
    matrix = confusion_of(truth, scores.argmax(1), weight, classes)
    np.testing.assert_allclose(found["confusion"], matrix, rtol=1e-6)
    exact = {
        "f1": f1_of(matrix),
        "auc": [auc_of(truth == c, scores[:, c], weight) for c in range(classes)],
    }
    for name, values in exact.items():
        assert found[name]["per_class"] == [v if v is None else pytest.approx(v, rel=1e-6) for v in values]
        expected = mean(values)
        assert found[name]["macro"] == (None if expected is None else pytest.approx(expected, rel=1e-6))


def log_softmax(logits):
    shifted = logits.astype(np.float64) - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def evaluate(program, arrays, *options):
    return program.eval(arrays, "--metrics=f1,auc,confusion", "--batch=16", *options)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("positions", ["plain", "weighted", "ignored"])
def test_classes(head, positions):
    options = ["--loss=cross-entropy", "--backward=sequential"]
    if positions == "ignored":
        options.append("--ignore-index=-1")
    program = harness.compile_model(models.build(HEADS[head]), *options)
    rng = np.random.default_rng(3)
    arrays = {"x": 3 * rng.standard_normal((7, 40, 3)).astype(np.float32)}
    logits = program.infer(arrays)[program.info()["loss_on"]]
    truth = rng.integers(0, 4, logits.shape[:-1])  # no target of the last class
    weight = np.ones(truth.shape)
    if positions == "ignored":
        weight = (rng.random(truth.shape) < 0.7).astype(float)
        truth = np.where(weight == 0, -1, truth)
    arrays["target"] = truth
    if positions == "weighted":
        weight = np.round(rng.random(truth.shape) * 4) / 2
        weight[:2] = 0.5
        arrays["weight"] = weight.astype(np.float32)
    found = evaluate(program, arrays)
    scores = log_softmax(logits).reshape(-1, 5)
    check(found, truth.ravel(), scores, weight.ravel())
    assert found["auc"]["per_class"][4] is None and found["auc"]["macro"] is not None
    matrix = np.array(found["confusion"])
    assert found["accuracy"] == pytest.approx(np.trace(matrix) / matrix.sum())


def test_binary(tmp_path):
    program = harness.compile_model(
        models.build(models.Spec("GRU", hidden=5, classes=1)), "--loss=bce-with-logits",
        "--backward=sequential",
    )
    rng = np.random.default_rng(3)
    arrays = {"x": 3 * rng.standard_normal((7, 40, 3)).astype(np.float32)}
    logits = program.infer(arrays)[program.info()["loss_on"]].astype(np.float64)
    logits[5] = logits[6]
    arrays["x"][:, 5] = arrays["x"][:, 6]
    arrays["target"] = (rng.random(logits.shape) < 0.4).astype(np.float32)
    flat = logits.ravel()
    scores = np.stack([-flat, flat], 1)
    found = evaluate(program, arrays)
    check(found, arrays["target"].ravel().astype(int), scores, np.ones(flat.size))
    assert found["auc"]["per_class"][0] == pytest.approx(found["auc"]["per_class"][1])
    only = program.eval(arrays, "--metrics=auc")
    assert only["auc"] == found["auc"] and "f1" not in only

    arrays["target"][0] = 0.5
    np.savez(tmp_path / "data.npz", **arrays)
    result = program.run("eval", "--data", tmp_path / "data.npz", "--metrics=f1")
    assert result.returncode == 1 and result.stderr.count("\n") == 1
    assert "holds 0.5; expected 0 and 1" in result.stderr


def test_metrics_need_classes(tmp_path):
    spec = models.Spec("GRU", hidden=5, classes=2)
    program = harness.compile_model(models.build(spec), "--loss=mse", "--backward=sequential")
    arrays = {"x": np.zeros((7, 4, 3), np.float32), "target": np.zeros((4, 2), np.float32)}
    np.savez(tmp_path / "data.npz", **arrays)
    for metrics, status, words in (
        ("f1", 1, "the loss 'mse' has no classes; expected programs with"),
        ("f2", 2, "--metrics"),
    ):
        result = program.run("eval", "--data", tmp_path / "data.npz", f"--metrics={metrics}")
        assert result.returncode == status and words in result.stderr, result.stderr
        assert result.stderr.count("\n") == 1
    assert "f1" not in json.loads(program.run("eval", "--data", tmp_path / "data.npz").stdout)
