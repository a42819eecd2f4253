"""Programs with device kernels match the CPU program, on the fake CUDA driver and emulated.

The kernels perform the CPU program's arithmetic in the same order, so results are bit-identical.
"""

import json

import fake_trainer
import pytest
from device_programs import CPU, CUDA, DEVICES, EMULATED, arrays, data, equal, fake_driver, succeeded, train
from fake_trainer import samples, save

# Identical results


@pytest.mark.parametrize("trainer", DEVICES)
@pytest.mark.parametrize("backward", ["auto", "sequential", "scan"])
def test_grad(tmp_path, data, trainer, backward):
    option = ("--backward", backward)
    expected = arrays("grad", data, tmp_path / "cpu.npz", *option, trainer=CPU)
    equal(arrays("grad", data, tmp_path / "device.npz", *option, trainer=trainer), expected)


def test_large_arrays(tmp_path):
    """The arrays exceed the page-locked memory several times."""
    data = save(tmp_path / "data.npz", samples(4000, steps=300))
    expected = arrays("grad", data, tmp_path / "cpu.npz", trainer=CPU)
    equal(arrays("grad", data, tmp_path / "device.npz", trainer=CUDA), expected)


@pytest.mark.parametrize("trainer", DEVICES)
@pytest.mark.parametrize("batch", [1, 7, 100, 1000])
def test_eval_and_infer(tmp_path, data, trainer, batch):
    option = ("--batch", batch)
    found, expected = (
        (
            json.loads(succeeded("eval", "--data", data, *option, trainer=program)),
            arrays("infer", data, tmp_path / "out.npz", *option, trainer=program),
        )
        for program in (trainer, CPU)
    )
    assert found[0] == expected[0]
    equal(found[1], expected[1])


@pytest.mark.parametrize("trainer", DEVICES)
def test_train(tmp_path, data, trainer):
    files = []
    for program in (CPU, trainer):
        saved, log = tmp_path / f"{program}.onnx", tmp_path / f"{program}.log"
        train(data, "--save", saved, "--log", log, "--val", data, trainer=program)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        for line in lines:
            del line["seconds"], line["load_seconds"]
        files.append((saved.read_bytes(), lines))
    assert files[0] == files[1]


@pytest.mark.parametrize("trainer", DEVICES)
def test_kernels_do_not_read_uninitialized_memory(tmp_path, data, trainer, fake_driver):
    expected = arrays("grad", data, tmp_path / "cpu.npz", trainer=CPU)
    fake_driver.setenv("BPPSA_POISON", "1")
    equal(arrays("grad", data, tmp_path / "device.npz", trainer=trainer), expected)


# Checkpoints


@pytest.mark.parametrize("first", (CPU, *DEVICES))
@pytest.mark.parametrize("second", (CPU, *DEVICES))
def test_checkpoints_are_portable_between_targets(tmp_path, data, first, second):
    checkpoint, whole, resumed = tmp_path / "c", tmp_path / "w.onnx", tmp_path / "r.onnx"
    train(data, "--save", whole, trainer=CPU, epochs=4)
    train(data, "--checkpoint", checkpoint, trainer=first, epochs=2)
    options = ["--epochs", 4, "--resume", checkpoint, "--save", resumed]
    succeeded("train", "--data", data, *options, trainer=second)
    assert resumed.read_bytes() == whole.read_bytes()


# Copies


def test_states_stay_on_the_device(tmp_path, data, fake_driver):
    """A step copies only the batch, the hyperparameters and scalars."""
    log = tmp_path / "log"
    fake_driver.setenv("FAKE_CUDA_LOG", str(log))
    train(data, "--backward=sequential", trainer=CUDA, epochs=2)
    lines = log.read_text().splitlines()
    launches = [line for line in lines if line.startswith(("launch ", "replay "))]
    names = [name for line in launches for name in line.split()[1:]]
    assert len(names) == 2 * 7 * 6
    assert len({line for line in lines if line.startswith("find ")}) == len(set(names))
    uploads = [int(line.split()[1]) for line in lines if line.startswith("upload ")]
    downloads = [int(line.split()[1]) for line in lines if line.startswith("download ")]
    ahead = [int(line.split()[1]) for line in lines if line.startswith("ahead ")]
    # 7 batches: x, target and hyperparameters. Weights and padding are copied once. All batches
    # except the first of an epoch are prefetched.
    assert uploads.count(32) >= 14 and len(uploads) == 2 * 2 + 14 + 5
    assert len(ahead) == 2 * 6 * 2
    assert sorted(set(downloads)) == [4, 8] and len(downloads) == 28


# Prefetching of batches


@pytest.mark.parametrize("streams", ["early", "late"])
@pytest.mark.parametrize("memory", [28, 256])
def test_batches_are_prefetched(tmp_path, fake_driver, streams, memory):
    """A batch is copied before its step and after the last use of its memory, in any order."""
    data = save(tmp_path / "data.npz", samples(700, steps=700))
    fake_driver.setenv("FAKE_CUDA_STREAMS", streams)
    fake_driver.setenv("FAKE_CUDA_MEMORY", str(memory << 20))
    saved = []
    for program in (CPU, CUDA):
        path = tmp_path / f"{program}.onnx"
        options = ["--batch", 300, "--save", path, "--val", data, "--backward=sequential"]
        succeeded("train", "--data", data, "--epochs", 3, *options, trainer=program)
        saved.append(path.read_bytes())
    assert saved[0] == saved[1]


# Graphs


def test_steps_replay_graphs(tmp_path, data, fake_driver):
    """The first step of each size launches four kernels individually; the others replay a graph."""
    results, counts = [], []
    for graphs in ("1", "0"):
        log, saved = tmp_path / f"log{graphs}", tmp_path / f"{graphs}.onnx"
        fake_driver.setenv("FAKE_CUDA_LOG", str(log))
        fake_driver.setenv("BPPSA_CUDA_GRAPHS", graphs)
        train(data, "--backward=sequential", "--save", saved, trainer=CUDA, epochs=3)
        words = [line.split()[0] for line in log.read_text().splitlines()]
        counts.append([words.count(word) for word in ("graph", "replay", "update", "launch")])
        results.append(saved.read_bytes())
    steps, single = 3 * 7, 2 * 3 * 7
    assert counts == [[2, steps - 2, 0, 2 * 4 + single], [0, 0, 0, steps * 4 + single]]
    assert results[0] == results[1]


def train_without(entry, tmp_path, data, fake_driver):
    """Trains on a driver with `entry` missing or failing; returns the log of a correct run."""
    train(data, "--save", tmp_path / "cpu.onnx", trainer=CPU)
    log = tmp_path / "log"
    fake_driver.setenv("FAKE_CUDA_LOG", str(log))
    if entry:
        fake_driver.setenv("FAKE_CUDA_FAIL", f"{entry}:801")
    else:
        driver = fake_trainer.DIRECTORY / "libbppsa-fake-cuda-old.so"
        fake_driver.setenv("BPPSA_CUDA_DRIVER", str(driver))
    train(data, "--backward=sequential", "--save", tmp_path / "gpu.onnx", trainer=CUDA)
    assert (tmp_path / "gpu.onnx").read_bytes() == (tmp_path / "cpu.onnx").read_bytes()
    return log.read_text()


@pytest.mark.parametrize(
    "entry",
    [
        "cuGraphCreate",
        "cuGraphAddKernelNode",
        "cuGraphInstantiateWithFlags",
        "cuGraphLaunch",
        None,
    ],
)
def test_drivers_without_graphs(tmp_path, data, fake_driver, entry):
    """Without working graphs, kernels are launched individually."""
    assert train_without(entry, tmp_path, data, fake_driver).count("launch ") == 3 * 7 * 6


def test_auto_times_variants_on_gpu(data, fake_driver, tmp_path):
    """Unless the user selects a variant, a long run starts by timing some steps of each variant."""
    counts = []
    fake_driver.setenv("BPPSA_CUDA_GRAPHS", "0")
    for choice in ("sequential", "auto"):
        log = tmp_path / choice
        fake_driver.setenv("FAKE_CUDA_LOG", str(log))
        train(data, f"--backward={choice}", trainer=CUDA, epochs=20)
        counts.append(log.read_text().count("launch "))
    assert counts[1] > counts[0]


# Two streams


@pytest.mark.parametrize("graphs", ["1", "0"])
@pytest.mark.parametrize("order", ["early", "late"])
def test_two_streams(tmp_path, data, fake_driver, order, graphs):
    """Parameter gradients on a second stream run as early, or as late, as events allow."""
    train(data, "--save", tmp_path / "cpu.onnx", trainer=CPU)
    expected = arrays("grad", data, tmp_path / "cpu.npz", trainer=CPU)
    fake_driver.setenv("FAKE_MODEL_STREAMS", "2")
    fake_driver.setenv("FAKE_CUDA_STREAMS", order)
    fake_driver.setenv("BPPSA_CUDA_GRAPHS", graphs)
    log = tmp_path / "log"
    fake_driver.setenv("FAKE_CUDA_LOG", str(log))
    train(data, "--backward=sequential", "--save", tmp_path / "gpu.onnx", trainer=CUDA)
    assert (tmp_path / "gpu.onnx").read_bytes() == (tmp_path / "cpu.onnx").read_bytes()
    lines = log.read_text().splitlines()
    steps, replays = 3 * 7, lines.count("replay scaled_means:-5 head:-5 loss:-5 parameter_gradients")
    # The first step of each of the two batch sizes does not use a graph.
    assert replays == (steps - 2 if graphs == "1" else 0)
    assert lines.count("beside parameter_gradients") == steps - replays
    equal(arrays("grad", data, tmp_path / "gpu.npz", trainer=CUDA), expected)


@pytest.mark.parametrize("entry", ["cuGraphKernelNodeSetAttribute", "cuGraphLaunch", None])
def test_two_streams_without_graphs(tmp_path, data, fake_driver, entry):
    """Without launch priorities in graphs there are no graphs; old drivers have no priorities."""
    fake_driver.setenv("FAKE_MODEL_STREAMS", "2")
    assert train_without(entry, tmp_path, data, fake_driver).count("beside parameter_gradients") == 3 * 7


@pytest.mark.parametrize("seed", range(5))
def test_emulated_streams(tmp_path, data, fake_driver, seed):
    train(data, "--save", tmp_path / "cpu.onnx", trainer=CPU)
    fake_driver.setenv("FAKE_MODEL_STREAMS", "2")
    train(data, "--save", tmp_path / "e.onnx", "--emulate-seed", seed, trainer=EMULATED)
    assert (tmp_path / "e.onnx").read_bytes() == (tmp_path / "cpu.onnx").read_bytes()


@pytest.mark.parametrize("entry", ["cuCtxGetStreamPriorityRange", "cuStreamCreateWithPriority"])
def test_error_without_streams(data, fake_driver, entry):
    fake_driver.setenv("FAKE_CUDA_FAIL", f"{entry}:801")
    result = fake_trainer.run("eval", "--data", data, trainer=CUDA)
    assert result.returncode == 1
    what = "asking for the priorities of streams" if "Range" in entry else "creating a stream"
    assert f"error: {what}: CUDA error 801" in result.stderr
