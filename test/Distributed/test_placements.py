"""Ranks with several pipeline stages give the results of one process with the same microbatches."""

import collections
import json

import harness
import mpi
import numpy as np
import pytest
from fake_trainer import refused, save
from test_pipeline import CASES, SETTINGS, UPDATES, check_same, compiled, dense, samples, train

__all__ = ["compiled"]

V = ["--pipeline-placement=v", "--split-backward"]
# Some microbatches have zero weight.
COUNTED = (np.random.default_rng(9).random(37) < 0.4).astype(np.float32)
CASES["weighted"] = (dense, samples((37, 6), 37) | {"weight": COUNTED})
CASES["deep"] = (lambda: dense(sizes=(6, 5, 7, 9, 8, 6, 5, 6, 4)), samples((37, 6), 37))


@pytest.mark.parametrize("case, ranks", [("dense", 2), ("deep", 4), ("dropout", 2), ("recurrent", 2), ("weighted", 2)])
def test_v_placement_matches_one_process(tmp_path, compiled, case, ranks):
    data = save(tmp_path / "data.npz", CASES[case][1])
    program = compiled(case, ranks, *V)
    alone = train(tmp_path, 0, program, data, "alone", "--batch", 4, "--accumulate", 4)
    for schedule in ("gpipe", "zb-v", "v-half", "v-min", "auto"):
        options = [*UPDATES, f"--pipeline-schedule={schedule}"]
        check_same(train(tmp_path, ranks, program, data, schedule, *options), alone)


@pytest.mark.parametrize(
    "case, ranks, placement, schedule",
    [
        ("dense", 2, ["--pipeline-placement=modulo:1"], "modulo:1"),
        ("deep", 2, ["--pipeline-placement=modulo:2"], "modulo:2"),
        ("recurrent", 2, ["--pipeline-placement=modulo:1"], "modulo:1"),
        ("deep", 2, ["--pipeline-chunks=4"], "ooo"),
        ("recurrent", 2, ["--pipeline-chunks=2"], "ooo"),
        ("dense", 4, [], "ooo"),
    ],
)
def test_placements_match_one_process(tmp_path, compiled, case, ranks, placement, schedule):
    data = save(tmp_path / "data.npz", CASES[case][1])
    program = compiled(case, ranks, *placement, "--split-backward")
    alone = train(tmp_path, 0, program, data, "alone", *UPDATES)
    for word in (schedule, "gpipe", "auto"):
        options = [*UPDATES, f"--pipeline-schedule={word}"]
        check_same(train(tmp_path, ranks, program, data, "ranks", *options), alone)


@pytest.mark.parametrize("schedule", ["zb-1p", "zb-2p", "auto"])
def test_searched_schedule_matches_one_process(tmp_path, compiled, schedule):
    data = save(tmp_path / "data.npz", CASES["recurrent"][1])
    program = compiled("recurrent", 2, "--split-backward")
    alone = train(tmp_path, 0, program, data, "alone", *UPDATES)
    for times in ("measured", "counts"):
        options = [*UPDATES, f"--pipeline-schedule={schedule}", f"--pipeline-times={times}"]
        check_same(train(tmp_path, 2, program, data, "ranks", *options, "--memory-limit", 3), alone)


def computed(folder, ranks, program, data, *options, microbatches=4):
    """Returns the operations of each rank in order: part, microbatch, stage."""
    trace = folder / "t.json"
    words = ["train", "--data", data, *SETTINGS, "--batch", 16, "--microbatches", microbatches, "--epochs", 3, "--trace", trace]
    result = mpi.run(ranks, program, *words, *options)
    harness.check_succeeded(result)
    own = collections.defaultdict(list)
    for event in json.loads(trace.read_text())["traceEvents"]:
        if event.get("tid") == 0 and event["ph"] == "X":
            part, microbatch, *rest = event["name"].split()
            own[event["pid"]].append((part, int(microbatch), int(rest[-1]) if rest else event["pid"]))
    return [own[rank] for rank in range(ranks)], result.stdout + result.stderr


def held(operations, stages):
    """Returns the maximum number of microbatches held at a time per stage of the rank."""
    count = most = 0
    for index, (part, *place) in enumerate(operations):
        count += part == "F"
        most = max(most, count)
        # If B also computes parameter gradients (1f1b, which `auto` may choose), no W follows.
        later = (other for other, *its in operations[index + 1 :] if its == place)
        count -= part == "W" or (part == "B" and next(later, None) != "W")
    return most / stages


def test_stages_of_v_placement(tmp_path, compiled):
    """Rank r has the stages r and 2P - 1 - r, and v-min uses a third of the memory."""
    data = save(tmp_path / "data.npz", CASES["deep"][1])
    program = compiled("deep", 4, *V)
    ranks, _ = computed(tmp_path, 4, program, data, "--pipeline-schedule=v-min", microbatches=16)
    for rank, operations in enumerate(ranks):
        assert {stage for _, _, stage in operations} == {rank, 7 - rank}
        assert held(operations, 2) <= 4 / 3 + 1
    # The first microbatch turns around on the last rank.
    assert [operation for operation in ranks[3] if operation[0] != "W" and operation[1] == 0][:4] == [
        ("F", 0, 3),
        ("F", 0, 4),
        ("B", 0, 4),
        ("B", 0, 3),
    ]


def test_info_describes_stages(compiled):
    """Expected FLOPs per sample: 2 per weight for forward, cotangents (not in stage 0) and W."""
    described = json.loads(harness.run(compiled("dense", 2, *V), "info").stdout)
    assert described["pipeline"] == 2
    stages = described["stages"]
    assert [stage["rank"] for stage in stages] == [0, 1, 1, 0]
    for stage, elements in zip(stages, (6 * 12, 12 * 10, 10 * 8, 8 * 4), strict=True):
        assert 2 * elements <= stage["forward"] <= 4 * elements
        assert 2 * elements <= stage["parameters"] <= 4 * elements
    assert stages[0]["cotangents"] < 2 * 6 * 12 <= stages[1]["cotangents"]


def test_stages_of_modulo_placement(tmp_path, compiled):
    data = save(tmp_path / "data.npz", CASES["deep"][1])
    program = compiled("deep", 2, "--pipeline-placement=modulo:2", "--split-backward")
    ranks, _ = computed(tmp_path, 2, program, data)
    assert [{stage for _, _, stage in operations} for operations in ranks] == [{0, 1, 4, 5}, {2, 3, 6, 7}]


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_memory_limit(tmp_path, compiled, limit):
    data = save(tmp_path / "data.npz", CASES["dense"][1])
    program = compiled("dense", 2, "--split-backward")
    options = ["--pipeline-schedule=auto", "--memory-limit", limit]
    ranks, said = computed(tmp_path, 2, program, data, *options, microbatches=8)
    assert all(held(operations, 1) <= limit for operations in ranks)
    assert " ms a step" in said


def test_refused_memory_limit(tmp_path, compiled):
    data = save(tmp_path / "data.npz", CASES["dense"][1])
    program = compiled("dense", 2, "--split-backward")
    words = ["train", "--data", data, *UPDATES, "--pipeline-schedule=zb-h2", "--memory-limit", 2]
    assert "--memory-limit: found 2, which no order of zb-h2 keeps to" in refused(mpi.run(2, program, *words))


@pytest.mark.parametrize(
    "placement, schedule, words",
    [
        (["--split-backward"], "zb-v", "zb-v needs a program of --pipeline=2 --pipeline-placement=v --split-backward"),
        (["--split-backward"], "modulo:2", "needs a program of --pipeline=2 --pipeline-placement=modulo:2 --split-backward"),
        (V, "1f1b", "1f1b needs a program of --pipeline=2; the stages of this one go with zb-v"),
        (V, "zb-h1", "zb-h1 needs a program of --pipeline=2 --split-backward; the stages of this one go with zb-v"),
        (V, "ooo", "ooo needs a program of --pipeline=2 --split-backward"),
        ([], "zb-1p", "zb-1p needs a program of --pipeline=2 --split-backward; the stages of this one go with gpipe and 1f1b"),
        ([], "auto", "--pipeline-schedule=auto needs a program of --split-backward"),
        ([], "zb-3", "--pipeline-schedule: found 'zb-3', expected gpipe, 1f1b, zb-h1"),
        ([], "modulo:0", "--pipeline-schedule: found 'modulo:0', expected"),
    ],
)
def test_refused_schedules(tmp_path, compiled, placement, schedule, words):
    data = save(tmp_path / "data.npz", CASES["dense"][1])
    program = compiled("dense", 2, *placement)
    result = mpi.run(0, program, "train", "--data", data, *UPDATES, f"--pipeline-schedule={schedule}")
    assert result.returncode == 2
    assert words in result.stderr


@pytest.mark.parametrize(
    "options, words",
    [
        (["--pipeline=2", "--pipeline-placement=v"], "--pipeline-placement and --pipeline-chunks need --split-backward"),
        (["--pipeline=2", "--pipeline-chunks=2"], "--pipeline-placement and --pipeline-chunks need --split-backward"),
        (["--pipeline=2", "--split-backward", "--pipeline-placement=w"], "must be neighbours, v or modulo:G, found 'w'"),
        (["--pipeline=2", *V, "--pipeline-chunks=3"], "--pipeline-chunks must be 2 with --pipeline-placement=v, found 3"),
        (
            ["--pipeline=2", "--split-backward", "--pipeline-placement=modulo:2", "--pipeline-chunks=3"],
            "--pipeline-chunks must be a positive multiple of 2 with --pipeline-placement=modulo:2, found 3",
        ),
        (["--pipeline=2", "--split-backward", "--pipeline-chunks=600"], "--pipeline-chunks makes 600 stages on each of 2 ranks"),
    ],
)
def test_refused_options(tmp_path, options, words):
    harness.check_refused(dense(), tmp_path, ["--distributed=mpi", *options], 2, words)


def test_too_few_layers(tmp_path):
    options = ["--distributed=mpi", "--pipeline=3", *V]
    harness.check_refused(dense(), tmp_path, options, 1, "a pipeline of 6 stages needs 6 layers with parameters, found 4")
