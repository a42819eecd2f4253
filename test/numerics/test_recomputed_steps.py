"""`--memory-limit` for recurrent layers: identical gradients and peak memory."""

import json

import harness
import models
import numpy as np
import pytest
import references

LOSS = "cross-entropy"
CELLS = {
    "rnn": models.Spec("RNN", hidden=20, features=1, head="none"),
    "rnn-last": models.Spec("RNN", hidden=20, features=1),
    "gru": models.Spec("GRU", hidden=20, features=1, linear_before_reset=1),
    "gru-steps": models.Spec("GRU", hidden=20, features=3, head="steps"),
    "lstm": models.Spec("LSTM", hidden=20, features=1),
    "lstm-steps": models.Spec("LSTM", hidden=20, features=3, head="steps"),
}
MORE = {
    "rnn-two-layers": models.Spec("RNN", layers=2),
    "gru-two-layers": models.Spec("GRU", layers=2, linear_before_reset=1, initial="parameter"),
    "gru-clipped": models.Spec("GRU", linear_before_reset=1, clip=0.3),
    "lstm-reverse": models.Spec("LSTM", direction="reverse", head="steps"),
    "lstm-both-ways": models.Spec("LSTM", direction="bidirectional", layout=1, initial="input"),
    "lstm-ragged": models.Spec("LSTM", lengths=True, direction="reverse"),
    # Without a limit, input projections with matrices of this size are hoisted into their own loop.
    "lstm-large": models.Spec("LSTM", hidden=130, features=130),
    "gru-large": models.Spec("GRU", hidden=150, features=150, linear_before_reset=0),
    "gru-wide": models.Spec("GRU", hidden=64, linear_before_reset=1),
}


def compile_cell(spec, *options):
    return harness.compile_model(models.build(spec), f"--loss={LOSS}", *options)


def grad(program, arrays, directory, *options):
    """Returns the gradients and the reported segments."""
    data, out = directory / "data.npz", directory / "gradients.npz"
    np.savez(data, **arrays)
    result = program.run("grad", "--data", data, "--out", out, *options)
    printed = harness.check_succeeded(result).stdout
    told = json.loads(printed)["segments"] if printed else []
    with np.load(out) as gradients:
        return dict(gradients), told


def check_same_bits(found, wanted):
    assert set(found) == set(wanted)
    for name, array in wanted.items():
        assert array.tobytes() == found[name].tobytes(), name


# 560K fits some segments of 16 samples for each cell, but never all 1000 steps.
@pytest.mark.parametrize("name", CELLS)
def test_segments_do_not_change_results(tmp_path, name):
    whole = compile_cell(CELLS[name], "--backward=sequential")
    limited = compile_cell(CELLS[name], "--memory-limit=560K")
    segmented = 0
    for steps in (1, 31, 32, 33, 100, 1000):
        for samples in (1, 5, 16):
            arrays = models.data(models.build(CELLS[name]), {"T": steps, "B": samples}, LOSS)
            wanted, _ = grad(whole, arrays, tmp_path, "--mapping=lanes")
            for threads in (1, 2):
                options = ("--mapping=lanes", f"--threads={threads}")
                found, told = grad(limited, arrays, tmp_path, *options)
                check_same_bits(found, wanted)
                segmented += told[0]["segment_steps"] < steps
            check_same_bits(
                grad(limited, arrays, tmp_path, "--mapping=units")[0],
                grad(whole, arrays, tmp_path, "--mapping=units")[0],
            )
    assert segmented >= 6


@pytest.mark.parametrize("name", MORE)
def test_layers_and_directions(tmp_path, name):
    spec = MORE[name]
    whole = compile_cell(spec, "--backward=sequential")
    arrays = models.data(models.build(spec), {"T": 150, "B": 21}, LOSS)
    _, told = grad(compile_cell(spec, "--memory-limit=1G"), arrays, tmp_path, "--mapping=lanes")
    assert told and all(loop["segment_steps"] == loop["steps"] for loop in told)
    limit = sum(loop["bytes"] for loop in told) * 3 // 5
    limited = compile_cell(spec, f"--memory-limit={limit}")
    for mapping in ("lanes", "units"):
        wanted, _ = grad(whole, arrays, tmp_path, f"--mapping={mapping}")
        found, told = grad(limited, arrays, tmp_path, f"--mapping={mapping}", "--threads=2")
        check_same_bits(found, wanted)
        if mapping == "lanes":
            assert all(loop["segment_steps"] < loop["steps"] for loop in told)


@pytest.mark.parametrize("name", ["gru-steps", "lstm"])
def test_gradients(tmp_path, name):
    """Gradients match float64 when most steps are recomputed."""
    model = models.build(CELLS[name])
    arrays = models.data(model, {"T": 300, "B": 5}, LOSS)
    exact, single = references.gradients(model, arrays, LOSS)
    found, told = grad(
        compile_cell(CELLS[name], "--memory-limit=560K"), arrays, tmp_path, "--mapping=lanes"
    )
    assert told[0]["segment_steps"] <= 64
    harness.check_gradients(found, exact, single)


def test_memory(tmp_path):
    """20000 steps of 16 samples store 180 MiB, of which the limit allows 10 MiB."""
    spec, options = CELLS["gru"], ("--batch", "16", "--repeat", "1", "--threads", "1")
    programs = {limit: compile_cell(spec, f"--memory-limit={limit}") for limit in ("0", "10M")}
    peaks = {}
    for limit, program in programs.items():
        command = [program.path, "bench", "--seq-len", "20000", *options, "--mapping=lanes"]
        peaks[limit] = harness.peak_memory(*command, "--backward=sequential") / 2**20
    kept = 20000 * 16 * 4 * 20 * 5 / 2**20
    assert peaks["0"] > kept, peaks
    assert peaks["10M"] < 40, peaks


def test_training_with_memory_limit(tmp_path):
    """`train` recomputes steps too and saves the same model."""
    spec = CELLS["gru"]
    np.savez(tmp_path / "data.npz", **models.data(models.build(spec), {"T": 500, "B": 16}, LOSS))
    words = ["--data", tmp_path / "data.npz", "--epochs=3", "--batch=16", "--seed=1", "--lr=0.01"]
    saved = []
    for limit in ("0", "560K"):
        program = compile_cell(spec, "--backward=sequential", f"--memory-limit={limit}")
        out = tmp_path / f"{limit}.onnx"
        harness.check_succeeded(program.run("train", *words, "--mapping=lanes", "--save", out))
        saved.append(out.read_bytes())
    assert saved[0] == saved[1]


def test_memory_limit_excludes_scans(tmp_path):
    variants = compile_cell(CELLS["gru"], "--memory-limit=1M").info()["variants"]
    assert {variant["backward"] for variant in variants} == {"sequential"}


@pytest.mark.parametrize(
    "options, words",
    [
        (["--scan=chunked:8"], "with the plan 'chunked:8' reads all steps at once"),
        (["--loss=vjp"], "cannot be combined with recurrent layers and --loss=vjp"),
        (["--target=cuda", "--emulate"], "is not supported for time loops on GPUs"),
    ],
)
def test_incompatible_options_are_refused(tmp_path, options, words):
    options = ["--memory-limit=1M", *options]
    harness.check_refused(models.build(CELLS["gru"]), tmp_path, options, 1, words)
