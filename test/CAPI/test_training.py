"""`bppsaProgramFit`: the training loop of the command `train`, with callbacks."""

import json
import shutil

import capi
import harness
import models
import numpy as np
import pytest

MODEL = models.build(models.Spec("GRU"))
OPTIONS = {"loss": "cross-entropy", "optimizer": "adam", "backward": "sequential"}
SETTINGS = {"batch": 4, "lr": 0.01, "mapping": "lanes"}


@pytest.fixture(scope="module")
def compiled():
    return capi.Program.compile(MODEL.SerializeToString(), **OPTIONS)


@pytest.fixture
def program(compiled):
    compiled.reset()
    return compiled


@pytest.fixture
def arrays():
    return models.data(MODEL, {"T": 6, "B": 18}, "cross-entropy")


def test_events(program, arrays):
    events = []

    def callback(event):
        assert event.message is None
        if event.record:
            events.append((event.epoch, event.epochs, event.batch, event.batches, event.step))
            record = json.loads(event.record)
            assert (record["epoch"], record["loss"]) == (event.epoch, event.loss)
            assert event.lr == pytest.approx(0.01)
        return False

    program.fit(arrays, callback, epochs=3, **SETTINGS)
    assert events == [(n, 3, 5, 5, 5 * n) for n in (1, 2, 3)]


def test_callback_stops_training(program, arrays, tmp_path):
    """Stopping at the end of an epoch equals training for fewer epochs. Stopping in an epoch takes
    effect at once and writes a checkpoint."""
    program.fit(arrays, lambda event: event.epoch == 2, epochs=2, save=tmp_path / "two", **SETTINGS)
    program.reset()
    program.fit(
        arrays,
        lambda event: event.record is not None and event.epoch == 2,
        epochs=9, save=tmp_path / "ended", **SETTINGS,
    )  # fmt: skip
    assert (tmp_path / "ended").read_bytes() == (tmp_path / "two").read_bytes()
    program.reset()
    warnings = []

    def stop(event):
        if event.is_warning:
            warnings.append(event.message.decode())
        return True

    files = {"checkpoint": tmp_path / "state", "save": tmp_path / "none"}
    program.fit(arrays, stop, epochs=9, **files, **SETTINGS)
    assert len(warnings) == 1 and "interrupted in epoch 1 after batch 0 of 5" in warnings[0]
    assert (tmp_path / "state").exists() and not (tmp_path / "none").exists()


def test_loaders(program, arrays):
    """A loader that yields the batches in order trains as the unshuffled set does."""
    program.set_variant(mapping="lanes")
    losses = []

    def callback(event):
        losses.extend([event.loss] if event.record else [])
        return False

    def batches():
        for _ in range(2):
            for i in range(0, 18, 4):
                yield 0, {"x": arrays["x"][:, i : i + 4], "target": arrays["target"][i : i + 4]}
            yield 1

    program.fit(callback=callback, next_batch=batches().__next__, epochs=2, lr=0.01)
    expected = {name: view.copy() for name, view in program.parameters().items()}
    program.reset()
    seen = losses.copy()
    losses.clear()
    program.fit(arrays, callback, epochs=2, lr=0.01, batch=4, no_shuffle=None)
    assert losses == seen
    for name, view in program.parameters().items():
        np.testing.assert_array_equal(view, expected[name])


def test_loader_stops_training(program):
    program.fit(next_batch=lambda: 2, epochs=5)


def test_files_and_arrays_exclude_each_other(program, arrays, tmp_path):
    np.savez(tmp_path / "set.npz", **arrays)
    program.fit(data=tmp_path / "set.npz", **SETTINGS)
    with pytest.raises(capi.Failure, match="arrays and the file") as caught:
        program.fit(arrays, data=tmp_path / "set.npz")
    assert caught.value.status == capi.WRONG_USAGE
    with pytest.raises(capi.Failure, match="nothing to train on"):
        program.fit()
    with pytest.raises(capi.Failure, match="unknown option '--lrr=1', did you mean '--lr'"):
        program.fit(arrays, lrr=1)


def test_unwritable_checkpoint(program, arrays, tmp_path):
    """Training continues with a warning, and the call fails at the end."""
    folder, warnings = tmp_path / "folder", []
    folder.mkdir()

    def callback(event):
        if event.is_warning:
            warnings.append(event.message.decode())
        elif event.record and event.epoch == 1:
            shutil.rmtree(folder)
        return False

    with pytest.raises(capi.Failure, match="not all of its files"):
        program.fit(arrays, callback, epochs=3, checkpoint=folder / "state", **SETTINGS)
    assert warnings and "training goes on" in warnings[0]


def test_shared_libraries_train(arrays, tmp_path):
    """Training runs in the shared library and calls the callbacks of the loading process."""
    source = tmp_path / "gru.onnx"
    source.write_bytes(MODEL.SerializeToString())
    options = [f"--{name}={value}" for name, value in OPTIONS.items()]
    command = [harness.require_tool("bppsa-compile"), source, "--emit=shared", "--mcpu=native"]
    harness.check_succeeded(harness.run(*command, "-o", tmp_path / "gru.so", *options))
    losses = []

    def callback(event):
        losses.extend([event.loss] if event.record else [])
        return False

    capi.Program.load(tmp_path / "gru.so").fit(arrays, callback, epochs=4, **SETTINGS)
    assert losses[-1] < losses[0]
