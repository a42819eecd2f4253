"""Training on several ranks matches training on one; gradients cover the whole batch."""

import json

import harness
import mpi
import numpy as np
import pytest
from fake_trainer import refused, samples, save

# 101 samples in batches of 16 leave a batch of 5.
OPTIONS = ["--batch", 16, "--seed", 3, "--lr", 0.01]


@pytest.fixture
def data(tmp_path):
    return save(tmp_path / "data.npz", samples(101))


def train(ranks, data, saved, *options, epochs=2):
    words = ["train", "--data", data, "--epochs", epochs, "--save", saved, *options]
    words += [] if "--batch" in options else OPTIONS
    return harness.check_succeeded(mpi.run(ranks, mpi.fake(), *words))


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--clip-norm", 0.1, "--weight-decay", 0.01, "--ema", 0.9],
        ["--accumulate", 3],
        # One of three ranks has no sample.
        ["--batch", 2],
    ],
)
@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_match_one_process(tmp_path, data, ranks, options):
    alone, together = tmp_path / "alone.onnx", tmp_path / "together.onnx"
    train(0, data, alone, *options)
    train(ranks, data, together, *options)
    mpi.check_close(together, alone)


def test_results_do_not_depend_on_timing_or_exchange(tmp_path, data):
    saved = [tmp_path / f"{i}.onnx" for i in range(5)]
    train(3, data, saved[0])
    train(3, data, saved[1], "--threads", 2)
    train(3, data, saved[2], "--exchange=p3", "--slice", 5)
    train(3, data, saved[3], "--exchange=dear", "--slice", 4)
    train(3, data, saved[4], "--exchange=p3", "--slice", 1, "--throttle", "0.01,0.0001")
    assert len({path.read_bytes() for path in saved}) == 1


def test_metrics_cover_all_ranks(tmp_path, data):
    logs = []
    for ranks in (0, 3):
        log = tmp_path / f"{ranks}.log"
        train(ranks, data, tmp_path / "m.onnx", "--val", data, "--log", log)
        logs.append([json.loads(line) for line in log.read_text().splitlines()])
    for alone, together in zip(*logs, strict=True):
        for key in ("epoch", "loss", "val_loss", "val_accuracy", "lr"):
            assert together[key] == pytest.approx(alone[key], rel=1e-6)


def test_eval(data):
    words = [mpi.fake(), "eval", "--data", data, "--batch", 16]
    alone, together = (json.loads(harness.check_succeeded(mpi.run(n, *words)).stdout) for n in (0, 3))
    assert together == pytest.approx(alone, rel=1e-9)


def test_other_commands_run_on_one_rank(tmp_path, data):
    out = tmp_path / "g.npz"
    harness.check_succeeded(mpi.run(2, mpi.fake(), "grad", "--data", data, "--out", out))
    with np.load(out) as alone:
        assert alone["loss"].shape == ()
    info = json.loads(harness.check_succeeded(mpi.run(2, mpi.fake(), "info")).stdout)
    assert info["distributed"] == "mpi"


def test_resuming_with_different_number_of_ranks(tmp_path, data):
    whole, resumed, checkpoint = tmp_path / "w.onnx", tmp_path / "r.onnx", tmp_path / "c"
    train(0, data, whole, epochs=4)
    train(3, data, resumed, "--checkpoint", checkpoint)
    train(2, data, resumed, "--resume", checkpoint, epochs=4)
    mpi.check_close(resumed, whole)


def test_only_first_rank_prints(tmp_path, data):
    result = train(3, data, tmp_path / "m.onnx")
    assert result.stdout.count("saved") == 1 and result.stderr == ""
    assert mpi.run(2, mpi.fake(), "train", "--help").stdout.count("--exchange") == 1


def test_one_process_without_mpi_library(tmp_path, data):
    words = [mpi.fake(), "train", "--data", data, *OPTIONS]
    harness.check_succeeded(mpi.run(0, *words, BPPSA_MPI_LIBRARY=str(tmp_path / "none.so")))


def test_ranks_without_mpi_library(tmp_path, data):
    words = [mpi.fake(), "train", "--data", data, *OPTIONS]
    result = mpi.run(2, *words, BPPSA_MPI_LIBRARY=str(tmp_path / "none.so"))
    assert result.returncode == 1
    lines = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1 and "none.so" in lines[0] and "openmpi-bin" in lines[0]


def test_launcher_of_other_mpi_is_refused(data):
    result = mpi.run(0, mpi.fake(), "train", "--data", data, PMI_SIZE="2")
    refused(result, "OMPI_COMM_WORLD_SIZE")


@pytest.mark.parametrize("value", ["1", "0,0", "x,1", "1,0.1s", "1,-1"])
def test_wrong_throttle(data, value):
    result = mpi.run(0, mpi.fake(), "train", "--data", data, "--throttle", value)
    assert result.returncode == 2 and value in result.stderr and result.stderr.count("\n") == 1
