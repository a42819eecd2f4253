# Part of the bppsa project, under the MIT License.
"""The training loop of the package: what the command `train` of a compiled program does."""

import json
import subprocess
import sys
import types

import bitstreams
import harness
import numpy as np
import onnx
import pytest

bppsa = pytest.importorskip("bppsa")
pytest.importorskip("bppsa._native", reason="the package is not built: utils/python.sh")
from bppsa.datasets import shuffled_order  # noqa: E402
from bppsa.schedules import Schedule  # noqa: E402

SETTINGS = {"epochs": 3, "batch": 8, "lr": 0.02, "progress": False}


@pytest.fixture(scope="module")
def compiled():
    # One variant, so that no choice between variants changes bits.
    return bppsa.compile(bitstreams.MODEL, optimizer="adam", backward="sequential")


@pytest.fixture
def program(compiled):
    compiled.reset()
    return compiled


def training_set(samples=30):
    inputs, target = bitstreams.arrays(samples=samples)
    return {**inputs, "target": target}


def test_order_of_a_shuffle():
    """The numbers of SplitMix64 and Fisher-Yates in plain integers."""
    mask = (1 << 64) - 1

    def numbers(state):
        while True:
            state = (state + 0x9E3779B97F4A7C15) & mask
            z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
            yield z ^ (z >> 31)

    random = numbers(next(numbers((next(numbers(7)) + 3) & mask)))
    order = list(range(100))
    for last in range(99, 0, -1):
        other = next(random) % (last + 1)
        order[last], order[other] = order[other], order[last]
    assert shuffled_order(seed=7, epoch=3, count=100).tolist() == order
    assert shuffled_order(seed=7, epoch=3, count=1).tolist() == [0]


@pytest.mark.parametrize("schedule", ["constant", "warmup:5,cosine:1e-3", "step:1:0.5", "plateau:0.5:1"])
def test_fit_is_the_command_train(program, tmp_path, schedule):
    train, val = training_set(), training_set(11)
    records = program.fit(train, val, lr_schedule=schedule, clip_norm=1.0, seed=5, **SETTINGS)
    built = harness.compile_model(onnx.load(bitstreams.MODEL), "--backward=sequential")
    for name, arrays in (("train", train), ("val", val)):
        np.savez(tmp_path / f"{name}.npz", **arrays)
    files = {name: tmp_path / name for name in ("trained.onnx", "log")}
    command = ["--data", tmp_path / "train.npz", "--val", tmp_path / "val.npz", "--save", files["trained.onnx"]]
    command += ["--log", files["log"], "--lr-schedule", schedule, "--mapping=lanes"]
    command += "--epochs 3 --batch 8 --lr 0.02 --seed 5 --clip-norm 1 --quiet".split()
    harness.check_succeeded(built.run("train", *command))
    lines = [json.loads(line) for line in files["log"].read_text().splitlines()]
    for record, line in zip(records, lines, strict=True):
        for key in ("loss", "val_loss", "val_accuracy", "lr"):
            assert getattr(record, key) == pytest.approx(line[key], rel=1e-5), key
    for tensor in onnx.load(files["trained.onnx"]).graph.initializer:
        expected = onnx.numpy_helper.to_array(tensor)
        np.testing.assert_allclose(program.parameters[tensor.name], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("form", ["pair", "file", "loader of pairs", "loader of dicts"])
def test_forms_of_a_set(program, tmp_path, form):
    arrays = training_set()
    expected = program.fit(arrays, shuffle=False, **SETTINGS)
    batches = [
        {"x": arrays["x"][:, i : i + 8], "target": arrays["target"][i : i + 8]} for i in range(0, 30, 8)
    ]
    np.savez(tmp_path / "set.npz", **arrays)
    data = {
        "pair": ({"x": arrays["x"]}, arrays["target"]),
        "file": tmp_path / "set.npz",
        "loader of pairs": [({"x": batch["x"]}, batch["target"]) for batch in batches],
        "loader of dicts": batches,
    }[form]
    program.reset()
    found = program.fit(data, shuffle=False, **SETTINGS)
    assert [record.loss for record in found] == pytest.approx([record.loss for record in expected])


def test_an_interrupted_run_goes_on(program, tmp_path):
    train, checkpoint = training_set(), tmp_path / "checkpoint"
    whole = program.fit(train, seed=3, **SETTINGS)
    expected = program.state_dict()
    program.reset()


    step, stepped = program.step, []

    def interrupted(*arguments, **settings):
        if len(stepped) == 6:
            raise KeyboardInterrupt
        stepped.append(step(*arguments, **settings))
        return stepped[-1]

    program.step = interrupted
    try:
        with pytest.raises(KeyboardInterrupt):
            program.fit(train, seed=3, checkpoint=checkpoint, **SETTINGS)
    finally:
        del program.step
    program.reset()
    rest = program.fit(train, seed=3, resume=checkpoint, **SETTINGS)
    for name, value in program.parameters.items():
        np.testing.assert_array_equal(value, expected[name])
    assert [record.epoch for record in rest] == [2, 3]
    assert rest[-1].loss == whole[-1].loss


def test_callbacks_and_log(program, tmp_path):
    seen = []

    def callback(model, record):
        assert model is program
        seen.append(record)
        return len(seen) == 2

    log = tmp_path / "log"
    records = program.fit(training_set(), callbacks=[callback], log=log, **SETTINGS)
    assert records == seen and len(records) == 2
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["loss"] for line in lines] == [record.loss for record in records]


def test_progress(program, capfd, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    settings = {**SETTINGS, "progress": True}
    records = program.fit(training_set(), training_set(4), **settings)
    lines = capfd.readouterr().err.splitlines()
    assert lines[0] == (
        f"epoch 1/3  loss {records[0].loss:.4f}  val_loss {records[0].val_loss:.4f}"
        f"  val_accuracy {records[0].val_accuracy:.4f}"
    )
    assert len(lines) == 3


def test_bars(program, monkeypatch):
    """Where tqdm is installed, it gets each step and the sums of an epoch."""
    bars = []

    class Bar:
        def __init__(self, **settings):
            self.settings, self.steps, self.text = settings, 0, ""
            bars.append(self)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def update(self):
            self.steps += 1

        def set_postfix_str(self, text):
            self.text = text

    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Bar))
    records = program.fit(training_set(), **{**SETTINGS, "progress": True})
    assert [bar.settings["desc"] for bar in bars] == ["epoch 1/3", "epoch 2/3", "epoch 3/3"]
    assert [bar.steps for bar in bars] == [4, 4, 4] == [bar.settings["total"] for bar in bars]
    assert bars[0].text == f"loss {records[0].loss:.4f}"


FORKS = """
import multiprocessing, sys
import bppsa, numpy as np

def make(seed):
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=(50, 64, 1)).astype(np.float32)}, rng.integers(0, 10, 64)

class Loader:
    def __iter__(self):
        with multiprocessing.get_context("fork").Pool(2) as pool:
            yield from pool.imap(make, range(6))

model = bppsa.compile(sys.argv[1], backward="sequential")
model.set_threads(2)
inputs, target = make(7)
model.step(inputs, target)
assert len(model.fit(Loader(), epochs=3, progress=False)) == 3
"""


def test_loaders_may_fork():
    """Workers of a loader are forked while the program's threads wait for more."""
    environment = {"PYTHONPATH": str(harness.BUILD / "python"), "PATH": ""}
    command = [sys.executable, "-c", FORKS, str(bitstreams.MODEL)]
    run = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(
    ("data", "settings", "message"),
    [
        ({"y": np.zeros(3)}, {}, "array 'y' is none of the program's: x, target, weight"),
        ({"x": np.zeros((2, 3, 1)), "target": np.zeros(4)}, {}, "'target' has 4 samples, where 'x' has 3"),
        ({"x": np.zeros((2, 0, 1)), "target": np.zeros(0)}, {}, "no samples"),
        ([], {}, "no batches"),
        (7, {}, "found int"),
        ({"x": np.zeros((2, 3, 1))}, {"epochs": 0}, "at least 1"),
        (training_set(), {"lr_schedule": "linear"}, "lr_schedule: found 'linear', expected constant"),
        (iter([]), {"lr_schedule": "cosine"}, "needs a loader with a length"),
    ],
)
def test_mistakes(program, data, settings, message):
    with pytest.raises(bppsa.Error, match=message):
        program.fit(data, progress=False, **settings)


@pytest.mark.parametrize("text", ["step:0:1", "step:1", "cosine:a", "plateau:2", "warmup:3,warmup:3", ""])
def test_schedules_that_are_none(text):
    with pytest.raises(bppsa.Error, match="lr_schedule"):
        Schedule.parse(text)
