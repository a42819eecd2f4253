# Part of the bppsa project, under the MIT License.
"""`Program.fit` trains like the command `train` of a compiled program."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
import types

import bitstreams
import harness
import numpy as np
import onnx
import pytest

bppsa = pytest.importorskip("bppsa")
pytest.importorskip("bppsa._native", reason="the package is not built: utils/python.sh")

# A single variant, because the choice of a variant changes results in the last bits.
OPTIONS = {"optimizer": "adamw", "backward": "sequential"}
SETTINGS = {"epochs": 3, "batch": 8, "lr": 0.02, "mapping": "lanes", "progress": False}


def training_set(samples=30, steps=7):
    inputs, target = bitstreams.arrays(samples=samples, steps=steps)
    return {**inputs, "target": target}


@pytest.fixture(scope="module")
def trainer(tmp_path_factory):
    """The same model as an executable."""
    return bppsa.build(bitstreams.MODEL, tmp_path_factory.mktemp("built") / "trainer", mcpu="native", **OPTIONS)


def words(settings):
    """Converts settings to command-line options."""
    flags = {"shuffle": "--no-shuffle"}
    line = []
    for name, value in settings.items():
        if name == "progress":
            continue
        if name == "lr_for":
            line += [f"--lr-for={pattern}={rate}" for pattern, rate in value.items()]
        else:
            line.append(flags.get(name) or f"--{name.replace('_', '-')}={value}")
    return line


def train(trainer, folder, settings, val=True):
    """Runs `train` on the set; returns the lines of its log."""
    np.savez(folder / "train.npz", **training_set())
    np.savez(folder / "val.npz", **training_set(11))
    files = ["--data", folder / "train.npz", "--log", folder / "log"]
    files += ["--val", folder / "val.npz"] if val else []
    harness.check_succeeded(harness.run(trainer, "train", *files, "--quiet", *words(settings)))
    return [json.loads(line) for line in (folder / "log").read_text().splitlines()]


def check_parameters(program, path):
    """Checks that the parameters equal those of an ONNX file bit for bit."""
    tensors = {tensor.name: tensor for tensor in onnx.load(path).graph.initializer}
    for name, found in program.parameters.items():
        expected = onnx.numpy_helper.to_array(tensors[name])
        np.testing.assert_array_equal(found, expected, err_msg=name)


def check_records(records, lines):
    timed = ("seconds", "load_seconds")
    for record, line in zip(records, lines, strict=True):
        found = {name: getattr(record, name) for name in line if name not in timed}
        assert found == {name: value for name, value in line.items() if name not in timed}


SAME = {
    "warmup and cosine": {"lr_schedule": "warmup:5,cosine:1e-3", "clip_norm": 0.1},
    "plateau": {"lr_schedule": "plateau:0.5:1", "weight_decay": 0.1, "beta1": 0.8, "seed": 3},
    "split and patience": {"val_split": 0.2, "patience": 1, "best": "accuracy", "epochs": 9},
    "averages": {"ema": 0.9, "lr_schedule": "step:1:0.5", "shuffle": False},
    "accumulation": {"accumulate": 2, "lr_for": {"^head": 1e-3, "bias$": 0.0}},
    "blocks of samples": {"shuffle_memory": 400},
}


@pytest.mark.parametrize("case", SAME)
def test_fit_matches_train_command(program, trainer, tmp_path, case):
    """With the same seed and settings, parameters and losses are identical bit for bit."""
    settings = {**SETTINGS, "seed": 5, **SAME[case]}
    val = None if "val_split" in settings else training_set(11)
    records = program.fit(training_set(), val, log=tmp_path / "own", **settings)
    lines = train(trainer, tmp_path, {**settings, "save": tmp_path / "trained.onnx"}, val is not None)
    check_parameters(program, tmp_path / "trained.onnx")
    check_records(records, lines)
    check_records(records, [json.loads(line) for line in (tmp_path / "own").read_text().splitlines()])


def test_tbptt_of_streams(tmp_path):
    """Truncated backpropagation through time matches `train` for the step graph of an example."""
    model = harness.ROOT / "examples" / "denoiser_step.onnx"
    options = {"loss": "mse", "carry": {"cache": "cache_next", "h": "h_next"}}
    options |= {"batch_axis": {"x": 0, "y": 0}, "backward": "sequential", "mcpu": "native"}
    rng = np.random.default_rng(0)
    x, target = rng.normal(size=(2, 9, 6, 64)).astype(np.float32)
    trainer = bppsa.build(model, tmp_path / "trainer", **options)
    del options["mcpu"]
    program = bppsa.compile(model, **options)
    settings = {"epochs": 2, "batch": 4, "tbptt": 4, "lr": 1e-3, "mapping": "lanes"}
    program.fit(({"x": x}, target), progress=False, **settings)
    np.savez(tmp_path / "train.npz", x=x, target=target)
    files = ["--data", tmp_path / "train.npz", "--save", tmp_path / "trained.onnx", "--quiet"]
    harness.check_succeeded(harness.run(trainer, "train", *files, *words(settings)))
    check_parameters(program, tmp_path / "trained.onnx")


@pytest.mark.parametrize("first", ["fit", "train"])
def test_checkpoints_are_exchangeable_with_train_command(program, trainer, tmp_path, first):
    """`fit` resumes a checkpoint of `train` and vice versa, with the bits of one whole run."""
    settings = {**SETTINGS, "ema": 0.9, "seed": 2}
    checkpoint, trained = tmp_path / "checkpoint", tmp_path / "trained.onnx"
    train(trainer, tmp_path, {**settings, "epochs": 5, "save": trained}, val=False)
    if first == "fit":
        program.fit(training_set(), checkpoint=checkpoint, **settings)
        resumed = tmp_path / "resumed.onnx"
        more = {"epochs": 5, "resume": checkpoint, "save": resumed}
        train(trainer, tmp_path, more, val=False)
        assert resumed.read_bytes() == trained.read_bytes()
    else:
        train(trainer, tmp_path, {**settings, "checkpoint": checkpoint}, val=False)
        records = program.fit(training_set(), epochs=5, resume=checkpoint, progress=False)
        assert [record.epoch for record in records] == [4, 5]
        check_parameters(program, trained)


def test_save_best(program, tmp_path):
    records = program.fit(
        training_set(), training_set(11), save_best=tmp_path / "best.onnx", **{**SETTINGS, "lr": 0.1}
    )
    best = min(records, key=lambda record: record.val_loss)
    assert best is not records[-1]
    found = bppsa.compile(tmp_path / "best.onnx", **OPTIONS).eval(training_set(11))
    assert found["loss"] == pytest.approx(best.val_loss, rel=1e-5)


def test_optimizer_state_persists_between_calls(program):
    """Two calls of `fit` equal one longer call if samples are not shuffled."""
    program.fit(training_set(), shuffle=False, **{**SETTINGS, "epochs": 4})
    expected = program.state_dict()
    program.reset()
    for _ in range(2):
        program.fit(training_set(), shuffle=False, **{**SETTINGS, "epochs": 2})
    for name, value in program.parameters.items():
        np.testing.assert_array_equal(value, expected[name])


def test_hyperparameters_of_program_are_defaults(program):
    program.fit(training_set(), **{**SETTINGS, "beta1": 0.5, "clip_norm": 0.1, "seed": 4})
    expected = program.state_dict()
    program.reset()
    program.set_hyperparameters(beta1=0.5, clip_norm=0.1, lr=0.02)
    program.set_variant(mapping="lanes")
    program.set_seed(4)
    program.fit(training_set(), epochs=3, batch=8, progress=False)
    for name, value in program.parameters.items():
        np.testing.assert_array_equal(value, expected[name])


class Loader:
    """Yields batches of 8 in order, as pairs or dicts; calls `before` with each batch number."""

    def __init__(self, arrays, as_pairs=True, before=lambda number: None):
        self.arrays, self.as_pairs, self.before = arrays, as_pairs, before

    def __len__(self):
        return -(-len(self.arrays["target"]) // 8)

    def __iter__(self):
        for number, i in enumerate(range(0, len(self.arrays["target"]), 8)):
            self.before(number)
            x, target = self.arrays["x"][:, i : i + 8], self.arrays["target"][i : i + 8]
            yield ({"x": x}, target) if self.as_pairs else {"x": x, "target": target}


@pytest.mark.parametrize("count", [2, 3, 9])
def test_accumulation_over_loader_batches(program, count):
    """Loaders and arrays give the same bits; an epoch's last update has the remaining batches."""
    settings = {**SETTINGS, "accumulate": count, "seed": 5, "val": None}
    settings |= {"lr_schedule": "warmup:3,cosine", "clip_norm": 0.1, "batch": 8, "shuffle": False}
    results = []
    for data in (training_set(), Loader(training_set())):
        program.reset()
        records = program.fit(data, **settings)
        results.append((program.state_dict(), [dataclasses.replace(r, seconds=0, load_seconds=0) for r in records]))
    (expected, lines), (found, own) = results
    assert own == lines
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def test_accumulation_with_different_loss_counts_is_refused():
    """Of two losses, only one ignores a sample of the second batch, so no mean over both exists."""
    program = bppsa.compile(
        harness.ROOT / "examples" / "keras_gru.onnx", loss=["cross-entropy", "cross-entropy"],
        loss_on=["logits", "probabilities"], ignore_index=-1, backward="sequential",
    )  # fmt: skip
    rng = np.random.default_rng(0)
    classes = np.array([1, 2, 3])
    batches = [
        {"x": rng.normal(size=(3, 4, 12)).astype("f4"), "target.logits": classes, "target.probabilities": other}
        for other in (classes, np.array([1, -1, 3]))
    ]
    before = program.state_dict()
    message = (
        r"accumulate: the batches of update 1 of epoch 1 have losses \(.*logits.*\) with different weights"
        ".*remove accumulate"
    )
    with pytest.raises(bppsa.Error, match=message):
        program.fit(batches, accumulate=2, progress=False)
    for name, value in program.parameters.items():
        np.testing.assert_array_equal(value, before[name])
    program.fit([batches[0], batches[0]], accumulate=2, progress=False)
    program.fit(batches, progress=False)


def test_interrupted_accumulation(program, tmp_path):
    """An interrupt within an update changes nothing; the resumed run gives the same bits."""
    settings = {**SETTINGS, "accumulate": 3, "seed": 5, "val": None, "checkpoint": tmp_path / "state"}
    settings |= {"batch": 8, "checkpoint_every": 1}
    program.reset()
    program.fit(Loader(training_set()), **settings)
    expected = program.state_dict()

    given = []

    def stop(number):
        given.append(number)
        if given == [0, 1, 2, 3, 0, 1]:
            raise KeyboardInterrupt

    program.reset()
    with pytest.raises(KeyboardInterrupt):
        program.fit(Loader(training_set(), before=stop), **settings)
    stopped = program.state_dict()
    program.reset()
    program.resume(tmp_path / "state")
    for name, value in program.state_dict().items():
        np.testing.assert_array_equal(stopped[name], value, err_msg=name)
    program.fit(Loader(training_set()), **settings, resume=tmp_path / "state")
    for name, value in expected.items():
        np.testing.assert_array_equal(program.parameters[name], value, err_msg=name)



@pytest.mark.parametrize("form", ["pair", "file", "loader of pairs", "loader of dicts"])
def test_data_set_formats(program, tmp_path, form):
    arrays, unseen = training_set(), training_set(11)
    settings = {**SETTINGS, "lr_schedule": "cosine"}
    expected = program.fit(arrays, unseen, shuffle=False, **settings)
    np.savez(tmp_path / "set.npz", **arrays)
    np.savez(tmp_path / "val.npz", **unseen)
    data, val = {
        "pair": (({"x": arrays["x"]}, arrays["target"]), ({"x": unseen["x"]}, unseen["target"])),
        "file": (tmp_path / "set.npz", tmp_path / "val.npz"),
        "loader of pairs": (Loader(arrays), Loader(unseen)),
        "loader of dicts": (Loader(arrays, as_pairs=False), Loader(unseen)),
    }[form]
    program.reset()
    if "loader" in form:
        program.set_variant(mapping="lanes")
        del settings["mapping"]
    found = program.fit(data, val, shuffle=False, **settings)
    for record, other in zip(found, expected, strict=True):
        assert (record.loss, record.lr) == (other.loss, other.lr)
        assert record.val_loss == pytest.approx(other.val_loss, rel=1e-6)
        assert record.val_accuracy == other.val_accuracy


def check_resumed(program, data, checkpoint, settings):
    """Checks that the resumed run ends with the bits of an uninterrupted one."""
    program.reset()
    rest = program.fit(data, resume=checkpoint, epochs=settings["epochs"], progress=False)
    found = program.state_dict()
    program.reset()
    whole = program.fit(data, **settings)
    for name, value in program.parameters.items():
        np.testing.assert_array_equal(found[name], value)
    assert rest[-1].loss == whole[-1].loss and 0 < len(rest) < len(whole)


def test_ctrl_c_in_a_loader(program, tmp_path):
    """Interrupts an epoch while Python code runs."""
    counted = []

    def interrupt(number):
        counted.append(number)
        if len(counted) == 7:
            signal.raise_signal(signal.SIGINT)

    settings = {"epochs": 3, "progress": False}
    with pytest.raises(KeyboardInterrupt):
        program.fit(Loader(training_set(), before=interrupt), checkpoint=tmp_path / "state", **settings)
    assert len(counted) == 7
    check_resumed(program, Loader(training_set()), tmp_path / "state", settings)


def test_ctrl_c_between_steps(program, tmp_path):
    """Interrupts an epoch while the program computes."""
    arrays = training_set(samples=4000, steps=100)
    settings = {**SETTINGS, "batch": 2, "epochs": 3}
    epochs = []
    ctrl_c = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))

    def start(*_):
        epochs.append(1)
        ctrl_c.start()

    with pytest.raises(KeyboardInterrupt):
        program.fit(arrays, checkpoint=tmp_path / "state", callbacks=[start], **settings)
    assert len(epochs) == 1
    check_resumed(program, arrays, tmp_path / "state", settings)


def test_callbacks(program, tmp_path):
    seen = []

    def callback(model, record):
        assert model is program
        seen.append((record, model.eval(training_set(11))["loss"]))
        with pytest.raises(bppsa.Error, match="training already"):
            model.fit(training_set(), progress=False)
        return len(seen) == 2

    files = {"save": tmp_path / "trained.onnx"}
    records = program.fit(training_set(), training_set(11), callbacks=[callback], **files, **SETTINGS)
    assert [record for record, _ in seen] == records and len(records) == 2
    for record, loss in seen:
        assert loss == pytest.approx(record.val_loss, rel=1e-6)
    check_parameters(program, tmp_path / "trained.onnx")


def test_exception_in_callback_stops_training(program, tmp_path):
    def callback(model, record):
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        program.fit(training_set(), callbacks=[callback], checkpoint=tmp_path / "state", **SETTINGS)
    assert [r.epoch for r in program.fit(training_set(), resume=tmp_path / "state", epochs=3, progress=False)] == [2, 3]


def test_progress_without_tqdm(program, capfd, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    settings = {**SETTINGS, "progress": True}
    records = program.fit(training_set(), training_set(4), **settings)
    lines = capfd.readouterr().err.splitlines()
    assert lines[0] == (
        f"epoch 1/3  loss {records[0].loss:.4f}  val_loss {records[0].val_loss:.4f}"
        f"  val_accuracy {records[0].val_accuracy:.4f}"
    )
    assert len(lines) == 3


def test_progress_with_tqdm(program, monkeypatch):
    """tqdm gets the steps and the metrics of an epoch."""
    bars = []

    class Bar:
        def __init__(self, **settings):
            self.settings, self.steps, self.text, self.is_open = settings, 0, "", True
            bars.append(self)

        def update(self, steps):
            self.steps += steps

        def set_postfix_str(self, text):
            self.text = text

        def close(self):
            self.is_open = False

    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Bar))
    records = program.fit(training_set(), **{**SETTINGS, "progress": True})
    assert [bar.settings["desc"] for bar in bars] == ["epoch 1/3", "epoch 2/3", "epoch 3/3"]
    assert [bar.steps for bar in bars] == [4, 4, 4] == [bar.settings["total"] for bar in bars]
    assert bars[0].text == f"loss {records[0].loss:.4f}" and not any(bar.is_open for bar in bars)


FORKS = """
import multiprocessing, sys
import bppsa, numpy as np

def make(seed):
    rng = np.random.default_rng(seed)
    inputs = {"x": rng.normal(size=(50, 64, 1)).astype(np.float32)}
    if sys.argv[2] == "calls" and seed < 6:
        inputs["x"] += 0 * model.infer(inputs)["logits"][:, :1]
    return inputs, rng.integers(0, 10, 64)

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


@pytest.mark.parametrize("child", ["calls", "does not call"])
def test_loaders_may_fork(child):
    """Loader workers fork while the program waits for batches; they may call the program."""
    run_script(FORKS, child)


def run_script(script, *arguments):
    """Runs a Python script on the example in a separate process, with a timeout."""
    environment = {**os.environ, "PYTHONPATH": str(harness.BUILD / "python"), "PATH": ""}
    command = [sys.executable, "-c", script, str(bitstreams.MODEL), *arguments]
    run = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert run.returncode == 0, run.stderr


THREADS = """
import os, sys, threading
import bppsa, numpy as np

model = bppsa.compile(sys.argv[1], backward="sequential")
inputs, target = {"x": np.ones((20, 8, 1), np.float32)}, np.zeros(8, int)
model.step(inputs, target)
"""

OTHER_THREADS = (
    THREADS
    + """
calls = {
    "set_threads": lambda: model.set_threads(2),
    "set_affinity": lambda: model.set_affinity([]),
    "set_variant": lambda: model.set_variant(backward="sequential"),
    "set_hyperparameters": lambda: model.set_hyperparameters(lr=0.1),
    "set_seed": lambda: model.set_seed(3),
    "reset": lambda: model.reset(),
    "losses": lambda: model.losses,
    "parameters": lambda: model.state_dict(),
    "allocate": lambda: model._program.allocate([3], False),
}
threads = [threading.Thread(target=calls[sys.argv[2]], daemon=True)]

class Loader:
    def __iter__(self):
        while threads:
            started.append(threads.pop())
            started[-1].start()
        for _ in range(5):
            yield inputs, target

started = []
assert len(model.fit(Loader(), epochs=2, progress=False)) == 2
for thread in started:
    thread.join()
"""
)


@pytest.mark.parametrize(
    "call",
    [
        "set_threads",
        "set_affinity",
        "set_variant",
        "set_hyperparameters",
        "set_seed",
        "reset",
        "losses",
        "parameters",
        "allocate",
    ],
)
def test_other_threads_wait_for_training(call):
    """Waiting threads release the interpreter lock, because the loader needs it."""
    run_script(OTHER_THREADS, call)


FORK_WHILE_TRAINING = (
    THREADS
    + """
begun, end = threading.Event(), threading.Event()

class Loader:
    def __iter__(self):
        begun.set()
        end.wait()
        yield inputs, target

training = threading.Thread(target=model.fit, args=(Loader(),), kwargs={"progress": False})
training.start()
begun.wait()
child = os.fork()
if child == 0:
    try:
        model.infer(inputs)
    except bppsa.Error as error:
        os._exit(0 if "another thread was using the program" in str(error) else 2)
    os._exit(1)
status = os.waitpid(child, 0)[1]
end.set()
training.join()
assert status == 0, status
"""
)


def test_fork_while_another_thread_trains():
    """The child lacks the training thread, so it must not wait for that thread's call."""
    run_script(FORK_WHILE_TRAINING)


class Endless:
    def __iter__(self):
        return iter([])


@pytest.mark.parametrize(
    ("data", "settings", "message"),
    [
        ({"y": np.zeros(3)}, {}, "there is no array 'x'"),
        ({**training_set(), "z": np.zeros(3)}, {}, "unknown array 'z'; the model takes"),
        ({**training_set(), "target": np.zeros(4, int)}, {}, "'target': found 4 samples .* expected 30"),
        ({**training_set(), "x": np.full((7, 30, 1), np.nan, np.float32)}, {}, "'x': .*nan"),
        ([], {}, "no batches"),
        ([{"x": np.zeros((2, 3, 1), np.float32)}], {}, "there is no array 'target'"),
        ([3], {}, "a loader must yield dicts or pairs .* found 3"),
        (7, {}, "found int"),
        (None, {}, "nothing to train on"),
        ("nowhere.npz", {}, "nowhere.npz"),
        (training_set(), {"epochs": 0}, "epochs: found '0'"),
        (training_set(), {"epoch": 3}, "unknown option 'epoch=3', did you mean 'epochs'"),
        (training_set(), {"lr_schedule": "linear"}, "lr_schedule: found 'linear', expected constant"),
        (training_set(), {"patience": 3}, "patience, save_best and best need val or val_split"),
        (training_set(), {"tbptt": 3}, "tbptt: the model carries no state"),
        (Endless(), {"lr_schedule": "cosine"}, "needs a loader with a length"),
        (Loader(training_set()), {"val_split": 0.2}, "val_split: needs a training set of arrays.*samples of their own as val"),
    ],
)
def test_invalid_arguments(program, data, settings, message):
    state = program.state_dict()
    with pytest.raises(bppsa.Error, match=message) as caught:
        program.fit(data, progress=False, **settings)
    assert "\n" not in str(caught.value)
    for name, value in program.parameters.items():
        np.testing.assert_array_equal(value, state[name])
