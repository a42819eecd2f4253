"""Programs with device kernels: the same model as CPU program, on the fake CUDA driver and emulated.

The kernels do the arithmetic of the CPU program in the same order, so results agree to the bit.
"""

import json
import os

import fake_trainer
import harness
import numpy as np
import pytest
from fake_trainer import refused, run, samples, save

CPU, CUDA, EMULATED = "bppsa-fake-trainer", "bppsa-fake-trainer-cuda", "bppsa-fake-trainer-emulated"
DEVICES = (CUDA, EMULATED)
STUB = "/usr/local/cuda/lib64/stubs/libcuda.so"


@pytest.fixture(autouse=True)
def fake_driver(monkeypatch):
    driver = fake_trainer.DIRECTORY / "libbppsa-fake-cuda.so"
    monkeypatch.setenv("BPPSA_CUDA_DRIVER", str(driver))
    return monkeypatch


@pytest.fixture
def data(tmp_path):
    return save(tmp_path / "data.npz", samples(100))


def succeeded(command, *arguments, trainer):
    return harness.check_succeeded(run(command, *arguments, trainer=trainer)).stdout


def arrays(command, data, path, *arguments, trainer):
    succeeded(command, "--data", data, "--out", path, *arguments, trainer=trainer)
    with np.load(path) as archive:
        return dict(archive)


def equal(found, expected):
    assert set(found) == set(expected)
    for name, value in expected.items():
        assert found[name].dtype == value.dtype
        assert found[name].tobytes() == value.tobytes(), name


def train(data, *arguments, trainer, epochs=3):
    options = ["--batch", 16, "--seed", 1, "--lr", 0.01, "--clip-norm", 0.5, "--epochs", epochs]
    return succeeded("train", "--data", data, *options, *arguments, trainer=trainer)


def no_gpu(result, *words):
    """Exit status 77 and one line with the reason and the remedy."""
    assert result.returncode == 77, f"status {result.returncode}: {result.stderr}"
    assert result.stderr.count("\n") == 1 and result.stderr.startswith("error: "), result.stderr
    for word in (*words, "compile with --emulate, or --target=cpu"):
        assert word in result.stderr


# The same results


@pytest.mark.parametrize("trainer", DEVICES)
@pytest.mark.parametrize("backward", ["auto", "sequential", "scan"])
def test_grad(tmp_path, data, trainer, backward):
    option = ("--backward", backward)
    expected = arrays("grad", data, tmp_path / "cpu.npz", *option, trainer=CPU)
    equal(arrays("grad", data, tmp_path / "device.npz", *option, trainer=trainer), expected)


def test_large_arrays(tmp_path):
    """Several times what fits into page-locked memory at once."""
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
            del line["seconds"]
        files.append((saved.read_bytes(), lines))
    assert files[0] == files[1]


@pytest.mark.parametrize("trainer", DEVICES)
def test_no_kernel_reads_what_nothing_has_written(tmp_path, data, trainer, fake_driver):
    expected = arrays("grad", data, tmp_path / "cpu.npz", trainer=CPU)
    fake_driver.setenv("BPPSA_POISON", "1")
    equal(arrays("grad", data, tmp_path / "device.npz", trainer=trainer), expected)


# Checkpoints


@pytest.mark.parametrize("first", (CPU, *DEVICES))
@pytest.mark.parametrize("second", (CPU, *DEVICES))
def test_checkpoints_fit_every_target(tmp_path, data, first, second):
    checkpoint, whole, resumed = tmp_path / "c", tmp_path / "w.onnx", tmp_path / "r.onnx"
    train(data, "--save", whole, trainer=CPU, epochs=4)
    train(data, "--checkpoint", checkpoint, trainer=first, epochs=2)
    options = ["--epochs", 4, "--resume", checkpoint, "--save", resumed]
    succeeded("train", "--data", data, *options, trainer=second)
    assert resumed.read_bytes() == whole.read_bytes()


# Copies


def test_states_stay_on_the_device(tmp_path, data, fake_driver):
    """Only the batch, the hyperparameters and the scalars move in a step."""
    log = tmp_path / "log"
    fake_driver.setenv("FAKE_CUDA_LOG", str(log))
    train(data, "--backward=sequential", trainer=CUDA, epochs=2)
    lines = log.read_text().splitlines()
    launches = [line for line in lines if line.startswith("launch ")]
    names = [line.split()[1] for line in launches]
    assert len(names) == 2 * 7 * 6
    assert len({line for line in lines if line.startswith("find ")}) == len(set(names))
    uploads = [int(line.split()[1]) for line in lines if line.startswith("upload ")]
    downloads = [int(line.split()[1]) for line in lines if line.startswith("download ")]
    # 7 batches: x, target and hyperparameters; then weights with padding, once each.
    assert uploads.count(32) >= 14 and len(uploads) == 14 * 3 + 5
    assert sorted(set(downloads)) == [4, 8] and len(downloads) == 28


def test_variants_are_measured_on_a_gpu(data, fake_driver, tmp_path):
    """Without a choice of the user a run begins with some steps of each variant."""
    counts = []
    for choice in ("sequential", "auto"):
        log = tmp_path / choice
        fake_driver.setenv("FAKE_CUDA_LOG", str(log))
        train(data, f"--backward={choice}", trainer=CUDA, epochs=2)
        counts.append(log.read_text().count("launch "))
    assert counts[1] > counts[0]


# No GPU


def test_no_driver(data, fake_driver):
    fake_driver.setenv("BPPSA_CUDA_DRIVER", "/nowhere/libcuda.so.1")
    no_gpu(run("eval", "--data", data, trainer=CUDA), "there is no CUDA driver", "/nowhere/")
    fake_driver.setenv("BPPSA_CUDA_DRIVER", "libc.so.6")
    no_gpu(run("eval", "--data", data, trainer=CUDA), "'libc.so.6' is too old, it has no cuInit")


@pytest.mark.skipif(not os.path.exists(STUB), reason="there is no CUDA toolkit")
def test_stub_of_the_driver(data, fake_driver):
    fake_driver.setenv("BPPSA_CUDA_DRIVER", STUB)
    no_gpu(run("eval", "--data", data, trainer=CUDA), "the CUDA driver does not start")


def test_no_device(data, fake_driver):
    fake_driver.setenv("FAKE_CUDA_DEVICES", "0")
    no_gpu(run("eval", "--data", data, trainer=CUDA), "the CUDA driver finds none")
    fake_driver.setenv("FAKE_CUDA_FAIL", "cuInit:100")
    no_gpu(run("eval", "--data", data, trainer=CUDA), "does not start: CUDA error 100")


def test_wrong_input_comes_before_a_missing_gpu(tmp_path, fake_driver):
    fake_driver.setenv("BPPSA_CUDA_DRIVER", "/nowhere/libcuda.so.1")
    refused(run("eval", "--data", tmp_path / "none.npz", trainer=CUDA), "none.npz")


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"], ["--version"], ["info"]])
def test_what_needs_no_gpu(fake_driver, arguments):
    fake_driver.setenv("BPPSA_CUDA_DRIVER", "/nowhere/libcuda.so.1")
    succeeded(*arguments, trainer=CUDA)


# Images


@pytest.mark.parametrize(
    "gpu, image",
    [
        (75, "ptx"),
        (80, "sm_80"),
        (86, "sm_86"),
        (89, "sm_86"),
        (90, "sm_90"),
        (100, "ptx"),
        (120, "ptx"),
    ],
)
def test_image(tmp_path, data, fake_driver, gpu, image):
    fake_driver.setenv("FAKE_CUDA_SM", str(gpu))
    fake_driver.setenv("FAKE_CUDA_LOG", str(tmp_path / "log"))
    succeeded("eval", "--data", data, trainer=CUDA)
    loads = [x for x in (tmp_path / "log").read_text().splitlines() if x.startswith("load ")]
    assert loads == [f"load {image}"]


def test_image_that_does_not_load(tmp_path, data, fake_driver):
    fake_driver.setenv("FAKE_CUDA_REFUSE", "sm_90")
    succeeded("eval", "--data", data, trainer=CUDA)
    fake_driver.setenv("FAKE_CUDA_REFUSE", "ptx")
    fake_driver.setenv("FAKE_CUDA_SM", "75")
    words = ["[sm_80, sm_86, sm_90, ptx]", "sm_75", "CUDA_ERROR_INVALID_IMAGE", "ptxas fatal: no;"]
    refused(run("eval", "--data", data, trainer=CUDA), *words, "compile with --gpu-arch=sm_75")


# Errors of the driver


@pytest.mark.parametrize(
    "entry, words",
    [
        ("cuMemAlloc", "allocating 32.00 MiB failed"),
        ("cuMemHostAlloc", "page-locking"),
        ("cuMemcpyHtoDAsync", "to the GPU"),
        ("cuMemcpyDtoHAsync", "from the GPU"),
        ("cuModuleGetFunction", "kernel 'scaled_means'"),
        ("cuLaunchKernel", "launching 'scaled_means' with [10, 1, 1] blocks of [32, 1, 1] threads"),
        ("cuStreamSynchronize", "['scaled_means', 'head', 'loss']"),
    ],
)
def test_driver_errors(data, fake_driver, entry, words):
    fake_driver.setenv("FAKE_CUDA_FAIL", f"{entry}:1")
    found = run("eval", "--data", data, trainer=CUDA)
    refused(found, words, "CUDA_ERROR_INVALID_VALUE (in the driver's words)")


def test_kernel_that_fails(tmp_path, data, fake_driver):
    fake_driver.setenv("FAKE_CUDA_FAULT", "optimizer")
    checkpoint, saved = tmp_path / "c", tmp_path / "s.onnx"
    options = ["--data", data, "--checkpoint", checkpoint, "--save", saved]
    found = run("train", *options, trainer=CUDA)
    refused(found, "CUDA_ERROR_ILLEGAL_ADDRESS", "'optimizer'", "CUDA_LAUNCH_BLOCKING=1")
    assert not checkpoint.exists() and not saved.exists()


def test_out_of_memory(tmp_path, fake_driver):
    data = save(tmp_path / "data.npz", samples(2000, steps=500))
    fake_driver.setenv("FAKE_CUDA_MEMORY", str(24 << 20))
    out = tmp_path / "out.npz"
    found = run("grad", "--data", data, "--out", out, trainer=CUDA)
    line = refused(found, "a batch of 2000 is too large", "samples would fit", "--batch")
    assert not out.exists()
    # What it says does fit.
    size = int(line.split("about ")[1].split()[0])
    assert 100 < size < 2000
    succeeded("eval", "--data", data, "--batch", size, trainer=CUDA)


@pytest.mark.parametrize("trainer", DEVICES)
def test_gradient_that_is_not_finite(tmp_path, trainer):
    values = samples(10)
    values["x"][0, 0, 0] = 3e38
    data = save(tmp_path / "data.npz", values)
    checkpoint = tmp_path / "c"
    options = ["--data", data, "--batch", 10, "--lr", 1e38, "--epochs", 9]
    expected = run("train", *options, trainer=CPU)
    assert "step" in refused(expected)
    found = run("train", *options, "--checkpoint", checkpoint, trainer=trainer)
    assert expected.stderr.strip() in found.stderr


# Commands


@pytest.mark.parametrize("trainer", DEVICES)
def test_bench(trainer):
    options = ["--seq-len", 50, "--batch", 8, "--repeat", 3]
    found = json.loads(succeeded("bench", *options, trainer=trainer))
    for key in ("forward_us", "backward_us", "update_us", "step_us", "bytes"):
        assert found[key] > 0
    parts = found["forward_us"] + found["backward_us"] + found["update_us"]
    assert parts <= 1.5 * found["step_us"]
    # A GPU is measured, the emulator is not.
    assert found["variant"] in (["sequential"] if trainer == EMULATED else ["sequential", "scan"])
    assert found["device"] == ("emulated on the CPU" if trainer == EMULATED else "Fake GPU (sm_90)")


def test_info():
    for trainer, target in ((CPU, "cpu"), (CUDA, "cuda"), (EMULATED, "cuda")):
        info = json.loads(succeeded("info", trainer=trainer))
        assert info["target"] == target
        assert info.get("emulated") == {CPU: None, CUDA: False, EMULATED: True}[trainer]
    info = json.loads(succeeded("info", trainer=CUDA))
    assert info["images"] == ["sm_80", "sm_86", "sm_90", "ptx"]


def test_emulate_seed(tmp_path, data):
    expected = arrays("grad", data, tmp_path / "cpu.npz", trainer=CPU)
    for seed in (1, 12345):
        option = ["--emulate-seed", seed, "--threads", 2]
        equal(arrays("grad", data, tmp_path / "e.npz", *option, trainer=EMULATED), expected)
    refused(run("eval", "--data", data, "--emulate-seed", -1, trainer=EMULATED), "--emulate-seed")
    for trainer in (CPU, CUDA):
        result = run("eval", "--data", data, "--emulate-seed", 1, trainer=trainer)
        assert result.returncode == 2
        assert "unknown option '--emulate-seed'" in result.stderr
