"""Regression test: integers beyond 64 bits were clamped to the largest one and then overflowed."""

import harness
import pytest
from fake_trainer import refused, run, samples, save

COUNT = "1 to 2147483647"
SEED = "0 to 9223372036854775807"
OPTIONS = [
    ("train", "--epochs", COUNT),
    ("train", "--batch", COUNT),
    ("train", "--checkpoint-every", COUNT),
    ("train", "--seed", SEED),
    ("train", "--threads", "1 to 4096"),
    ("eval", "--batch", COUNT),
    ("infer", "--batch", COUNT),
    ("grad", "--threads", "1 to 4096"),
    ("bench", "--seq-len", COUNT),
    ("bench", "--batch", COUNT),
    ("bench", "--repeat", COUNT),
]


def call(tmp_path, command, option, value, **kwargs):
    words = {"--data": save(tmp_path / "data.npz", samples(20)), "--out": tmp_path / "out"}
    used = {"bench": [], "infer": ["--data", "--out"], "grad": ["--data", "--out"]}
    needed = [word for name in used.get(command, ["--data"]) for word in (name, words[name])]
    if option == "--checkpoint-every":
        needed += ["--checkpoint", tmp_path / "c"]
    return run(command, *needed, option, value, **kwargs)


@pytest.mark.parametrize("value", ["-1", str(2**63), str(2**64 + 1), "9" * 40])
@pytest.mark.parametrize("command, option, accepted", OPTIONS)
def test_out_of_range(tmp_path, command, option, accepted, value):
    refused(
        call(tmp_path, command, option, value),
        f"{option}: found '{value}', expected a whole number from {accepted}",
    )


@pytest.mark.parametrize("value", ["3x", "0x10", "1.5", "1e3", "+3", " 3", "three"])
@pytest.mark.parametrize("command, option, accepted", OPTIONS)
def test_not_a_number(tmp_path, command, option, accepted, value):
    result = call(tmp_path, command, option, value)
    assert result.returncode == 2 and result.stderr.count("\n") == 1
    assert f"{option}: found '{value}', expected a whole number from {accepted}" in result.stderr


def test_range_limits(tmp_path):
    data = save(tmp_path / "data.npz", samples(20))
    accepted = ["--seed", 2**63 - 1, "--batch", 2**31 - 1, "--threads", "0003"]
    harness.check_succeeded(run("train", "--data", data, *accepted))
    refused(run("train", "--data", data, "--batch", 2**31), "--batch")


def test_emulation_seed(tmp_path):
    emulated = {"trainer": "bppsa-fake-trainer-emulated"}
    refused(call(tmp_path, "train", "--emulate-seed", 2**64, **emulated), "--emulate-seed", SEED)
