"""Ranks as stages of a pipeline give the results of one process with the same microbatches."""

import json

import harness
import mpi
import numpy as np
import pytest
from fake_trainer import refused, save
from onnx import TensorProto, helper, numpy_helper
from test_programs import compile_model, tagged, tagger

SETTINGS = ["--lr", 0.01, "--seed", 3, "--backward=sequential", "--mapping=lanes"]
# 37 samples: updates of 16 and 16, and one of a full microbatch and a single sample.
UPDATES = ["--batch", 16, "--microbatches", 4]


def make_model(nodes, arrays, inputs, outputs):
    values = [
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in side.items()]
        for side in (inputs, outputs)
    ]
    tensors = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "layers", *values, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def dense(sizes=(6, 12, 10, 8, 4), dropout=0.0):
    rng = np.random.default_rng(5)
    nodes, arrays, last = [], {}, "x"
    for i, (rows, columns) in enumerate(zip(sizes, sizes[1:])):
        arrays[f"w{i}"] = rng.normal(0, 0.4, (rows, columns)).astype(np.float32)
        arrays[f"b{i}"] = rng.normal(0, 0.4, columns).astype(np.float32)
        nodes.append(helper.make_node("Gemm", [last, f"w{i}", f"b{i}"], [f"z{i}"], name=f"dense{i}"))
        last = f"a{i}"
        nodes.append(helper.make_node("Tanh" if i % 2 else "Relu", [f"z{i}"], [last]))
        if dropout:
            arrays[f"ratio{i}"] = np.array(dropout, np.float32)
            arrays[f"mode{i}"] = np.array(True)
            inputs = [last, f"ratio{i}", f"mode{i}"]
            nodes.append(helper.make_node("Dropout", inputs, [f"d{i}"], name=f"dropout{i}"))
            last = f"d{i}"
    nodes.append(helper.make_node("Identity", [last], ["y"]))
    return make_model(nodes, arrays, {"x": ["B", sizes[0]]}, {"y": ["B", sizes[-1]]})


def recurrent(layers=3, size=9, features=5, classes=4):
    """GRU layers; the first is bidirectional, and a skip connection bypasses the second."""
    rng = np.random.default_rng(6)
    nodes, arrays, last, width = [], {"both": np.array([0, 0, -1], np.int64)}, "x", features
    for i in range(layers):
        directions = 2 if i == 0 else 1
        for name, shape in (("w", (3 * size, width)), ("r", (3 * size, size)), ("b", (6 * size,))):
            arrays[f"{name}{i}"] = rng.normal(0, 0.3, (directions, *shape)).astype(np.float32)
        direction = "bidirectional" if directions == 2 else "forward"
        words = [last, f"w{i}", f"r{i}", f"b{i}"]
        nodes += [
            helper.make_node("GRU", words, [f"s{i}"], name=f"gru{i}", hidden_size=size, direction=direction),
            helper.make_node("Transpose", [f"s{i}"], [f"t{i}"], perm=[0, 2, 1, 3]),
            helper.make_node("Reshape", [f"t{i}", "both"], [f"h{i}"]),
        ]
        last, width = f"h{i}", directions * size
    nodes.append(helper.make_node("Concat", ["h0", last], ["joined"], axis=-1))
    arrays["v"] = rng.normal(0, 0.3, (3 * size, classes)).astype(np.float32)
    nodes.append(helper.make_node("MatMul", ["joined", "v"], ["y"], name="head"))
    return make_model(nodes, arrays, {"x": ["T", "B", features]}, {"y": ["T", "B", classes]})


def samples(shape, target, count=37):
    rng = np.random.default_rng(7)
    return {"x": rng.normal(0, 1, shape).astype(np.float32), "target": rng.integers(0, 4, target)}


CASES = {
    "dense": (dense, samples((37, 6), 37)),
    "dropout": (lambda: dense(dropout=0.3), samples((37, 6), 37)),
    "recurrent": (recurrent, samples((11, 37, 5), (11, 37))),
    # Some microbatches have zero weight.
    "tagger": (tagger, tagged()),
}


@pytest.fixture(scope="module")
def compiled():
    """Returns a function that compiles a case for a number of stages, once."""
    programs = {}

    def get(case, stages, *options):
        key = case, stages, *options
        if key not in programs:
            programs[key] = compile_model(CASES[case][0](), f"--pipeline={stages}", *options)
        return programs[key]

    return get


KEYS = ("loss", "val_loss", "val_accuracy", "lr")


def train(folder, ranks, program, data, name, *options, keys=KEYS):
    saved, log = folder / f"{name}.onnx", folder / f"{name}.log"
    words = ["train", "--data", data, "--save", saved, "--log", log, "--epochs", 2, *SETTINGS, *options]
    harness.check_succeeded(mpi.run(ranks, program, *words))
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return mpi.weights(saved), [[line[key] for key in keys] for line in lines]


def check_same(found, expected):
    assert found[1] == expected[1]
    assert found[0].keys() == expected[0].keys()
    for name, array in expected[0].items():
        np.testing.assert_array_equal(found[0][name], array, name)


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b"])
@pytest.mark.parametrize(
    "case, stages", [("dense", 2), ("dense", 4), ("dropout", 2), ("recurrent", 2), ("recurrent", 3), ("tagger", 2)]
)
def test_stages_match_one_process(tmp_path, compiled, case, stages, schedule):
    data = save(tmp_path / "data.npz", CASES[case][1])
    program = compiled(case, stages)
    alone = train(tmp_path, 0, program, data, "alone", "--batch", 4, "--accumulate", 4)
    check_same(train(tmp_path, 0, program, data, "cut", *UPDATES), alone)
    options = [*UPDATES, f"--pipeline-schedule={schedule}"]
    check_same(train(tmp_path, stages, program, data, "stages", *options), alone)


@pytest.mark.parametrize("case, stages", [("dense", 4), ("dropout", 2), ("recurrent", 3), ("tagger", 2)])
def test_split_backward_matches_one_process(tmp_path, compiled, case, stages):
    """Results do not depend on when the parameter gradients are computed."""
    data = save(tmp_path / "data.npz", CASES[case][1])
    alone = train(tmp_path, 0, compiled(case, stages), data, "alone", *UPDATES)
    program = compiled(case, stages, "--split-backward")
    for schedule in ("gpipe", "1f1b", "zb-h1", "zb-h2"):
        options = [*UPDATES, f"--pipeline-schedule={schedule}"]
        check_same(train(tmp_path, stages, program, data, schedule, *options), alone)


def test_training_options_match_one_process(tmp_path, compiled):
    data = save(tmp_path / "data.npz", CASES["recurrent"][1])
    program = compiled("recurrent", 2)
    options = [*UPDATES, "--val-split", 0.2, "--ema", 0.9, "--lr-for", "^w=0.02", "--lr-schedule"]
    options += ["warmup:2,cosine", "--weight-decay", 0.01]
    alone = train(tmp_path, 0, program, data, "alone", *options)
    check_same(train(tmp_path, 2, program, data, "stages", *options, "--threads", 2), alone)
    throttled = [*options, "--throttle", "0.05,0.0001"]
    check_same(train(tmp_path, 2, program, data, "throttled", *throttled), alone)


def test_clip_norm(tmp_path, compiled):
    """Clipping uses the norm over all stages."""
    data = save(tmp_path / "data.npz", CASES["dense"][1])
    program = compiled("dense", 2)
    options = [*UPDATES, "--clip-norm", 0.05]
    free, _ = train(tmp_path, 0, program, data, "free", *UPDATES)
    alone, _ = train(tmp_path, 0, program, data, "alone", *options)
    stages, _ = train(tmp_path, 2, program, data, "stages", *options)
    assert np.abs(free["w0"] - alone["w0"]).max() > 1e-6
    mpi.check_close(tmp_path / "stages.onnx", tmp_path / "alone.onnx")


@pytest.mark.parametrize("first, second", [(0, 2), (2, 0), (2, 2)])
def test_resumed(tmp_path, compiled, first, second):
    data = save(tmp_path / "data.npz", CASES["dense"][1])
    program, kept = compiled("dense", 2), tmp_path / "kept.npz"
    whole = train(tmp_path, 0, program, data, "whole", *UPDATES)
    words = ["train", "--data", data, "--checkpoint", kept, "--checkpoint-every", 1]
    begin = [*words, *SETTINGS, *UPDATES, "--epochs", 1]
    harness.check_succeeded(mpi.run(first, program, *begin))
    saved = tmp_path / "resumed.onnx"
    end = [*words, "--resume", kept, "--epochs", 2, "--save", saved]
    harness.check_succeeded(mpi.run(second, program, *end))
    for name, array in mpi.weights(saved).items():
        np.testing.assert_array_equal(array, whole[0][name], name)


def computed(folder, program, data, *options):
    """Returns the parts of microbatches in the order in which each of two ranks computes them."""
    trace = folder / "t.json"
    words = ["train", "--data", data, *SETTINGS, *UPDATES, "--epochs", 1, "--trace", trace]
    harness.check_succeeded(mpi.run(2, program, *words, *options))
    events = json.loads(trace.read_text())["traceEvents"]
    own = [event for event in events if event.get("tid") == 0 and event["ph"] == "X"]
    return [[event["name"] for event in own if event["pid"] == rank] for rank in (0, 1)]


def test_order_of_1f1b(tmp_path, compiled):
    """1F1B on two stages: only the first stage is one microbatch ahead."""
    data = save(tmp_path / "data.npz", CASES["dense"][1])
    first, last = computed(tmp_path, compiled("dense", 2), data)
    assert first[:8] == ["F 0", "F 1", "B 0", "F 2", "B 1", "F 3", "B 2", "B 3"]
    assert last[:8] == ["F 0", "B 0", "F 1", "B 1", "F 2", "B 2", "F 3", "B 3"]


def test_order_of_zero_bubble(tmp_path, compiled):
    """ZB-H1: the last stage delays parameter gradients by one microbatch, and more at the end."""
    data = save(tmp_path / "data.npz", CASES["dense"][1])
    program = compiled("dense", 2, "--split-backward")
    first, last = computed(tmp_path, program, data, "--pipeline-schedule=zb-h1")
    assert first[:6] == ["F 0", "F 1", "B 0", "W 0", "F 2", "B 1"]
    assert last[:7] == ["F 0", "B 0", "F 1", "B 1", "W 0", "F 2", "B 2"]
    assert last[10:12] == ["W 2", "W 3"]


def count_waits(folder, program, data, *options):
    """Returns the number of exchanges of scalars between two ranks, in an epoch of 10 updates.

    The exchanges at the start and the end are included.
    """
    trace = folder / "t.json"
    words = ["train", "--data", data, *SETTINGS, "--batch", 4, "--microbatches", 2, "--trace", trace]
    harness.check_succeeded(mpi.run(2, program, *words, *options))
    events = json.loads(trace.read_text())["traceEvents"]
    return sum(event["name"] == "numbers" and event["tid"] == 2 for event in events if event["ph"] == "X")


def test_steps_do_not_wait_for_all_stages(tmp_path, compiled):
    """The next step starts before all stages report a finite update, except with --clip-norm."""
    data = save(tmp_path / "data.npz", CASES["dense"][1])
    program = compiled("dense", 2)
    assert count_waits(tmp_path, program, data) <= 12
    assert count_waits(tmp_path, program, data, "--clip-norm", 0.05) >= 16


def test_norm_is_validated_after_the_update(tmp_path, compiled):
    """Below the limit, ranks only wait for the norm after the first and before the last step."""
    data = save(tmp_path / "data.npz", CASES["dense"][1])
    program, trace = compiled("dense", 2), tmp_path / "t.json"
    words = ["train", "--data", data, *SETTINGS, "--batch", 4, "--microbatches", 2, "--trace", trace]
    harness.check_succeeded(mpi.run(2, program, *words, "--clip-norm", 1e3))
    events = [event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"]
    for rank in (0, 1):
        own = sorted((event for event in events if event["pid"] == rank), key=lambda event: event["ts"])
        parts = [event for event in own if event["name"][:2] in ("F ", "B ") and event["tid"] == 0]
        begins = [i for i, event in enumerate(parts) if event["name"] == "F 0"]
        assert len(begins) == 10
        gaps = [(parts[i - 1]["ts"] + parts[i - 1]["dur"], parts[i]["ts"]) for i in begins[2:-1]]
        waits = [event["ts"] for event in own if event["name"] == "numbers" and event["tid"] == 2]
        assert not any(begin <= wait <= end for begin, end in gaps for wait in waits)


def uneven(shape, target):
    """Every second update has samples with larger values and thus larger gradients."""
    arrays = samples(shape, target)
    scale = np.where(np.arange(37) // 4 % 2 == 0, 0.3, 3).astype(np.float32)
    axis = shape.index(37)
    arrays["x"] *= scale.reshape([37 if i == axis else 1 for i in range(len(shape))])
    return arrays


AHEAD = ["--batch", 4, "--microbatches", 4, "--no-shuffle"]


def count_rollbacks(trace, ranks):
    """Returns the number of rollbacks per rank."""
    events = json.loads(trace.read_text())["traceEvents"]
    return [sum(event["name"] == "rollback" and event["pid"] == rank for event in events) for rank in range(ranks)]


@pytest.mark.parametrize(
    "case, stages, options, clip, schedules",
    [
        ("dense", 2, [], 0.8, ["1f1b", "gpipe"]),
        ("dense", 4, ["--split-backward"], 0.8, ["zb-h1", "zb-h2", "ooo"]),
        ("dropout", 2, ["--split-backward"], 1.4, ["zb-h2"]),
        ("recurrent", 3, ["--split-backward"], 0.5, ["zb-2p"]),
        ("dense", 2, ["--split-backward", "--pipeline-placement=v"], 0.8, ["zb-v", "gpipe"]),
    ],
)
def test_rollback_of_unclipped_updates(tmp_path, compiled, case, stages, options, clip, schedules):
    """An update that turns out to need clipping is rolled back with all later computations."""
    shape, target = ((37, 6), 37) if case != "recurrent" else ((11, 37, 5), (11, 37))
    data = save(tmp_path / "data.npz", uneven(shape, target))
    program = compiled(case, stages, *options)
    words = [*AHEAD, "--ema", 0.9, "--weight-decay", 0.01]
    free = train(tmp_path, 0, program, data, "free", *words)
    words += ["--clip-norm", clip]
    alone = train(tmp_path, 0, program, data, "alone", *words)
    assert any((free[0][name] != array).any() for name, array in alone[0].items())
    for schedule in schedules:
        trace = tmp_path / "t.json"
        found = train(
            tmp_path, stages, program, data, schedule, *words, f"--pipeline-schedule={schedule}", "--trace", trace
        )
        check_same(found, alone)
        counts = count_rollbacks(trace, stages)
        assert len(set(counts)) == 1 and counts[0] >= 4


def test_checkpoints_contain_validated_updates(tmp_path, compiled):
    data = save(tmp_path / "data.npz", uneven((37, 6), 37))
    program, trace = compiled("dense", 2), tmp_path / "t.json"
    words = [*AHEAD, "--clip-norm", 0.8]
    alone = train(tmp_path, 0, program, data, "alone", *words)
    kept = ["--checkpoint", tmp_path / "kept.npz", "--checkpoint-every", 1]
    check_same(train(tmp_path, 2, program, data, "kept", *words, *kept, "--trace", trace), alone)
    assert min(count_rollbacks(trace, 2)) >= 4


def steep():
    """The loss is finite, but the gradient of w, which the first stage computes, is not."""
    rng = np.random.default_rng(8)
    arrays = {"w": np.full((6, 4), 1e-30, np.float32)}
    arrays["v"] = (1e10 * rng.normal(0, 1, (4, 4))).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="first"),
        helper.make_node("MatMul", ["h", "v"], ["y"], name="second"),
    ]
    return make_model(nodes, arrays, {"x": ["B", 6]}, {"y": ["B", 4]})


def test_nonfinite_gradient_of_one_stage(tmp_path):
    x = np.full((37, 6), 1e30, np.float32)
    data = save(tmp_path / "data.npz", {"x": x, "target": np.arange(37) % 4})
    program = compile_model(steep(), "--pipeline=2")
    result = mpi.run(2, program, "train", "--data", data, *UPDATES)
    assert result.returncode == 1
    assert 'epoch 1, batch 1 (step 1): the gradient of \'w\' is' in result.stderr


def test_divergence(tmp_path, compiled):
    data = save(tmp_path / "data.npz", CASES["recurrent"][1])
    words = ["train", "--data", data, *UPDATES, "--epochs", 30, "--lr", 1e38]
    result = mpi.run(2, compiled("recurrent", 2), *words)
    assert result.returncode == 1
    assert "use a smaller --lr or --clip-norm" in result.stderr


@pytest.mark.parametrize(
    "ranks, options, words",
    [
        (3, [], "the program is for 2 ranks (--pipeline=2), found 3; start it with mpirun -n 2"),
        (2, ["--exchange=p3"], "--exchange: pipeline stages do not exchange gradients"),
        (0, ["--microbatches", 3], "--microbatches: found 3, which does not divide the 16 samples"),
    ],
)
def test_invalid_training_options_are_refused(tmp_path, compiled, ranks, options, words):
    data = save(tmp_path / "data.npz", CASES["recurrent"][1])
    result = mpi.run(ranks, compiled("recurrent", 2), "train", "--data", data, "--batch", 16, *options)
    assert words in refused(result)


@pytest.mark.parametrize(
    "options, words",
    [
        (["--microbatches", 2, "--accumulate", 2], "--microbatches excludes --accumulate and --tbptt"),
        (["--pipeline-schedule=zb-h1"], "zb-h1 needs a program of --pipeline=2 --split-backward; the stages of this one go with gpipe and 1f1b"),
    ],
)
def test_incompatible_training_options_are_refused(tmp_path, compiled, options, words):
    data = save(tmp_path / "data.npz", CASES["dense"][1])
    result = mpi.run(0, compiled("dense", 2), "train", "--data", data, *options)
    assert result.returncode == 2
    assert words in result.stderr


@pytest.mark.parametrize(
    "options, words",
    [
        (["--pipeline=2"], "--pipeline needs --distributed=mpi"),
        (["--split-backward"], "--split-backward needs --pipeline"),
        (["--pipeline=1"], "--pipeline must be 2 to 1024, found 1"),
        (["--pipeline=2", "--target=cuda"], "--pipeline needs --target=cpu"),
        (["--pipeline=2", "--backward=scan"], "--pipeline needs sequential backward passes"),
        (["--pipeline=2", "--scan=blelloch"], "--pipeline needs sequential backward passes"),
        (["--pipeline=2", "--interlock=1"], "--loss-on names 1, found --pipeline=2"),
        (["--pipeline=2", "--backward-order=in-order"], "--pipeline cannot be combined with --backward-order"),
        (["--pipeline=2", "--carry=h:hn"], "--pipeline cannot be combined with --carry"),
        (["--pipeline=2", "--sync-bn"], "--pipeline cannot be combined with --sync-bn"),
        (["--pipeline=2", "--loss-on=a,b"], "--pipeline needs one loss, which the last stage computes"),
    ],
)
def test_refused_options(tmp_path, options, words):
    mpi_options = [] if words.endswith("--distributed=mpi") else ["--distributed=mpi"]
    harness.check_refused(dense(), tmp_path, [*mpi_options, *options], 2, words)


def test_refused_model(tmp_path):
    words = "a pipeline of 5 stages needs 5 layers with parameters, found 4; use fewer stages"
    harness.check_refused(dense(), tmp_path, ["--distributed=mpi", "--pipeline=5"], 1, words)
