"""BatchNormalization in training mode on several ranks; --sync-bn gives one process's results."""

import harness
import mpi
import numpy as np
import pytest
from fake_trainer import save
from onnx import TensorProto, helper, numpy_helper
from test_programs import compile_model

EPSILON, MOMENTUM, RATE = 1e-3, 0.8, 0.05
OPTIONS = ["--lr", RATE, "--no-shuffle"]


def normalization(x, y, number):
    names = [f"{name}{number}" for name in ("scale", "bias", "mean", "var")]
    outputs = [y, f"m{number}", f"v{number}"]
    return helper.make_node(
        "BatchNormalization", [x, *names], outputs, epsilon=EPSILON, momentum=MOMENTUM, training_mode=1
    )


def start_values(number, channels):
    shift = 0.1 * np.arange(channels, dtype=np.float32)
    values = {"scale": 1.2 + shift, "bias": 0.3 - shift, "mean": 0.5 + shift, "var": 2 + shift}
    return {f"{name}{number}": array for name, array in values.items()}


def make_model(nodes, arrays, shapes):
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()]
    tensors = [numpy_helper.from_array(a.astype(np.float32), n) for n, a in arrays.items()]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def stack():
    """Two normalizations: the statistics' cotangents of the first pass through the second."""
    rng = np.random.default_rng(1)
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["a"]),
        normalization("a", "b", 1),
        helper.make_node("Tanh", ["b"], ["c"]),
        helper.make_node("Conv", ["c", "w2"], ["d"]),
        normalization("d", "e", 2),
        helper.make_node("Relu", ["e"], ["f"]),
        helper.make_node("ReduceMean", ["f"], ["g"], axes=[2], keepdims=0),
        helper.make_node("MatMul", ["g", "w3"], ["y"]),
    ]
    arrays = {"w1": rng.normal(0, 0.5, (3, 2, 3)), "w2": rng.normal(0, 0.5, (5, 3, 3))}
    arrays |= {"w3": rng.normal(0, 0.5, (5, 4))} | start_values(1, 3) | start_values(2, 5)
    return make_model(nodes, arrays, {"x": ["B", 2, 9], "y": ["B", 4]})


def samples(count, ignored=()):
    rng = np.random.default_rng(3)
    target = rng.integers(0, 3, count)
    target[list(ignored)] = 3
    return {"x": rng.normal(0.4, 1.7, (count, 2, 9)).astype(np.float32), "target": target}


def train(tmp_path, ranks, program, data, name, *options, mapping="lanes"):
    saved = tmp_path / name
    words = ["train", "--data", data, *OPTIONS, f"--mapping={mapping}", *options, "--save", saved]
    harness.check_succeeded(mpi.run(ranks, program, *words))
    return saved


SETTINGS = {
    # Ranks have 3, 3 and 2 samples; in the last batch 2, 2 and 1.
    "uneven": ["--batch", 8, "--epochs", 2],
    # One of three ranks has no sample.
    "alone": ["--batch", 2, "--epochs", 1],
    "accumulated": ["--batch", 2, "--accumulate", 3, "--epochs", 2],
    "validated": ["--batch", 8, "--epochs", 2, "--val-split", 0.2, "--ema", 0.9, "--clip-norm", 0.05],
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_sync_bn_matches_one_process(tmp_path, setting):
    options = ["--ignore-index=3", "--optimizer=sgd", "--sync-bn"]
    program = compile_model(stack(), *options, "--backward=sequential")
    options = SETTINGS[setting]
    # Some ranks have only ignored samples; with --accumulate, so do all ranks in one batch.
    ignored = [0, 1, 2, 4, 5, 9] if "--accumulate" in options else [1, 4, 9]
    data = save(tmp_path / "d.npz", samples(21, ignored))
    alone = train(tmp_path, 0, program, data, "alone.onnx", *options)
    together = train(tmp_path, 3, program, data, "together.onnx", *options)
    mpi.check_close(together, alone)
    others = [
        train(tmp_path, 3, program, data, "again.onnx", *options),
        train(tmp_path, 3, program, data, "p3.onnx", *options, "--exchange=p3", "--slice", 7),
        train(tmp_path, 3, program, data, "barrier.onnx", *options, "--exchange=barrier"),
    ]
    assert {path.read_bytes() for path in others} == {together.read_bytes()}


def wide():
    """More channels than fit into the first message of an exchange."""
    rng = np.random.default_rng(2)
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["a"]),
        normalization("a", "b", 1),
        helper.make_node("Tanh", ["b"], ["c"]),
        helper.make_node("MatMul", ["c", "w2"], ["y"]),
    ]
    arrays = {"w1": rng.normal(0, 0.3, (18, 300)), "w2": rng.normal(0, 0.1, (300, 4))}
    return make_model(nodes, arrays | start_values(1, 300), {"x": ["B", 18], "y": ["B", 4]})


@pytest.mark.parametrize("options", [[], ["--backward=scan"]], ids=["rules", "jacobians"])
def test_many_channels(tmp_path, options):
    program = compile_model(wide(), "--optimizer=sgd", "--sync-bn", *options)
    arrays = samples(21)
    arrays["x"] = arrays["x"].reshape(21, 18)
    data = save(tmp_path / "d.npz", arrays)
    words = ["--batch", 8, "--epochs", 2, *(options or ["--backward=sequential"])]
    alone = train(tmp_path, 0, program, data, "alone.onnx", *words)
    mpi.check_close(train(tmp_path, 3, program, data, "together.onnx", *words), alone)


def test_sync_bn_has_no_effect_on_one_process(tmp_path):
    """Without ranks, the option does not change results."""
    data, saved = save(tmp_path / "d.npz", samples(12)), []
    for options in ([], ["--sync-bn"]):
        program = compile_model(stack(), "--optimizer=sgd", "--backward=sequential", *options)
        saved.append(train(tmp_path, 0, program, data, f"{len(saved)}.onnx", "--batch", 4))
    assert saved[0].read_bytes() == saved[1].read_bytes()


@pytest.mark.parametrize("order", ["reverse-first:2", "defer:2:1"])
def test_sync_bn_with_backward_order(tmp_path, order):
    data, saved = save(tmp_path / "d.npz", samples(12)), []
    for options in ([], [f"--backward-order={order}"]):
        words = ["--optimizer=sgd", "--backward=sequential", "--sync-bn", *options]
        program = compile_model(stack(), *words)
        saved.append(train(tmp_path, 2, program, data, f"{len(saved)}.onnx", "--batch", 4))
    assert saved[0].read_bytes() == saved[1].read_bytes()


def reference(x, target, shares):
    """Epochs of SGD on one normalized batch in float64; each share has its own statistics."""
    p = {name[:-1]: array.astype(np.float64) for name, array in start_values(1, 3).items()}
    for _ in range(3):
        sums = {"scale": 0, "bias": 0}
        for share in reversed(shares):
            mean, var = x[share].mean((0, 2)), x[share].var((0, 2))
            normal = (x[share] - mean[:, None]) / np.sqrt(var[:, None] + EPSILON)
            error = normal * p["scale"][:, None] + p["bias"][:, None] - target[share]
            sums["scale"] += 2 * (error * normal).sum((0, 2)) / target.size
            sums["bias"] += 2 * error.sum((0, 2)) / target.size
        # Running statistics are updated with the first share only.
        p["mean"] = MOMENTUM * p["mean"] + (1 - MOMENTUM) * mean
        p["var"] = MOMENTUM * p["var"] + (1 - MOMENTUM) * var
        p |= {name: p[name] - RATE * sums[name] for name in sums}
    return p


@pytest.mark.parametrize(
    "options",
    [["--sync-bn"], [], ["--target=cuda", "--emulate"]],
    ids=["of-all-samples", "of-each-rank", "of-each-rank-emulated"],
)
def test_statistics_with_and_without_sync_bn(tmp_path, options):
    """With --sync-bn, all samples are normalized together; otherwise each rank normalizes its own.

    The first rank saves its running statistics.
    """
    rng = np.random.default_rng(5)
    x = rng.normal(0.4, 1.7, (7, 3, 5)).astype(np.float32)
    target = rng.normal(0, 1, x.shape).astype(np.float32)
    model = make_model([normalization("x", "y", 1)], start_values(1, 3), dict.fromkeys("xy", ["B", 3, 5]))
    program = compile_model(model, "--loss=mse", "--optimizer=sgd", *options)
    data = save(tmp_path / "d.npz", {"x": x, "target": target})
    words = ["--batch", 7, "--epochs", 3, "--val", data]
    mapping = "blocks" if "--emulate" in options else "lanes"
    found = mpi.weights(train(tmp_path, 2, program, data, "s.onnx", *words, mapping=mapping))
    shares = [slice(0, 7)] if "--sync-bn" in options else [slice(0, 4), slice(4, 7)]
    for name, array in reference(x.astype(np.float64), target, shares).items():
        np.testing.assert_allclose(found[f"{name}1"], array, rtol=2e-5, err_msg=name)


def test_running_statistics_of_rank_with_ignored_samples(tmp_path):
    """The first rank, which saves its running statistics, has only ignored samples."""
    data = save(tmp_path / "d.npz", samples(4, ignored=[0, 1]))
    for options, isKept in ([], True), (["--sync-bn"], False):
        program = compile_model(stack(), "--ignore-index=3", "--optimizer=sgd", *options)
        found = mpi.weights(train(tmp_path, 2, program, data, "s.onnx", "--batch", 4))
        start = start_values(1, 3) | start_values(2, 5)
        for name in ("mean1", "var1", "mean2", "var2"):
            assert np.array_equal(found[name], start[name]) == isKept, name


def test_validation_uses_saved_statistics(tmp_path):
    data = save(tmp_path / "d.npz", samples(21))
    program = compile_model(stack(), "--optimizer=sgd", "--backward=sequential")
    log = tmp_path / "log"
    words = ["--batch", 8, "--val", data, "--log", log]
    saved = train(tmp_path, 3, program, data, "s.onnx", *words)
    loss = harness.compile_model(saved).eval(dict(np.load(data)))["loss"]
    line = log.read_text().splitlines()[-1]
    assert abs(harness.json.loads(line)["val_loss"] - loss) <= 1e-6 * abs(loss)


def relu():
    return make_model([helper.make_node("Relu", ["x"], ["y"])], {}, dict.fromkeys("xy", ["B", 3]))


@pytest.mark.parametrize(
    "options, words",
    [
        (["--sync-bn"], "--sync-bn needs --distributed=mpi"),
        (["--sync-bn", "--distributed=mpi", "--target=cuda"], "--sync-bn needs --target=cpu"),
        (["--sync-bn", "--distributed=mpi", "--interlock=1"], "--sync-bn cannot be combined with --interlock"),
    ],
)
def test_refused_options(tmp_path, options, words):
    harness.check_refused(stack(), tmp_path, options, 2, words)


def test_refused_models(tmp_path):
    options = ["--sync-bn", "--distributed=mpi", "--loss=mse"]
    harness.check_refused(relu(), tmp_path, options, 1, "has no BatchNormalization in training mode")
    arrays = {name: array for name, array in start_values(1, 3).items() if name != "mean1"}
    model = make_model([normalization("x", "y", 1)], arrays, dict.fromkeys("xy", ["B", 3]))
    value = helper.make_tensor_value_info("mean1", TensorProto.FLOAT, [3])
    model.graph.input.append(value)
    words = "--sync-bn needs initializers that hold the running statistics"
    harness.check_refused(model, tmp_path, options, 1, words)
