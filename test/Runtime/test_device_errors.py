"""Programs with device kernels without GPU, image or memory, and with failing driver calls."""

import json
import os

import harness
import pytest
from device_programs import CPU, CUDA, DEVICES, data, fake_driver, succeeded
from fake_trainer import refused, run, samples, save

STUB = "/usr/local/cuda/lib64/stubs/libcuda.so"


def no_gpu(result, *words):
    """Checks for exit status 77 and one line with the reason and the remedy."""
    assert result.returncode == 77, f"status {result.returncode}: {result.stderr}"
    assert result.stderr.count("\n") == 1 and result.stderr.startswith("error: "), result.stderr
    for word in (*words, "compile with --emulate, or --target=cpu"):
        assert word in result.stderr


# No GPU


def test_missing_driver(data, fake_driver):
    fake_driver.setenv("BPPSA_CUDA_DRIVER", "/nowhere/libcuda.so.1")
    no_gpu(run("eval", "--data", data, trainer=CUDA), "no CUDA driver found", "/nowhere/")
    fake_driver.setenv("BPPSA_CUDA_DRIVER", "libc.so.6")
    no_gpu(run("eval", "--data", data, trainer=CUDA), "'libc.so.6' is too old, it has no cuInit")


@pytest.mark.skipif(not os.path.exists(STUB), reason="there is no CUDA toolkit")
def test_driver_stub(data, fake_driver):
    fake_driver.setenv("BPPSA_CUDA_DRIVER", STUB)
    no_gpu(run("eval", "--data", data, trainer=CUDA), "cannot initialize the CUDA driver")


def test_missing_device(data, fake_driver):
    fake_driver.setenv("FAKE_CUDA_DEVICES", "0")
    no_gpu(run("eval", "--data", data, trainer=CUDA), "the CUDA driver finds none")
    fake_driver.setenv("FAKE_CUDA_FAIL", "cuInit:100")
    no_gpu(run("eval", "--data", data, trainer=CUDA), "cannot initialize the CUDA driver: CUDA error 100")


def test_invalid_input_is_reported_before_missing_gpu(tmp_path, fake_driver):
    fake_driver.setenv("BPPSA_CUDA_DRIVER", "/nowhere/libcuda.so.1")
    refused(run("eval", "--data", tmp_path / "none.npz", trainer=CUDA), "none.npz")


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"], ["--version"], ["info"]])
def test_commands_without_gpu(fake_driver, arguments):
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
def test_image_selection(tmp_path, data, fake_driver, gpu, image):
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


# Driver errors


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


@pytest.mark.parametrize(
    "entry, words",
    [
        ("cuStreamWaitEvent", "ordering a copy to the GPU"),
        ("cuMemcpyDtoDAsync", "on the GPU failed"),
    ],
)
def test_driver_errors_of_prefetching(data, fake_driver, entry, words):
    fake_driver.setenv("FAKE_CUDA_FAIL", f"{entry}:1")
    refused(run("train", "--data", data, "--batch", 16, trainer=CUDA), words, "INVALID_VALUE")


def test_failing_kernel(tmp_path, data, fake_driver):
    fake_driver.setenv("FAKE_CUDA_FAULT", "optimizer")
    checkpoint, saved = tmp_path / "c", tmp_path / "s.onnx"
    options = ["--data", data, "--checkpoint", checkpoint, "--save", saved]
    found = run("train", *options, trainer=CUDA)
    refused(found, "CUDA_ERROR_ILLEGAL_ADDRESS", "'optimizer'", "CUDA_LAUNCH_BLOCKING=1")
    assert not checkpoint.exists() and not saved.exists()


@pytest.mark.parametrize("memory", [8 << 20, 24 << 20, 25 << 20])
def test_out_of_memory(tmp_path, fake_driver, memory):
    """The batch size named in the message fits, and one more sample does not."""
    data = save(tmp_path / "data.npz", samples(5000, steps=500))
    fake_driver.setenv("FAKE_CUDA_MEMORY", str(memory))
    out = tmp_path / "out.npz"
    # Two arrays of 16 bytes per sample, rounded up.
    words = ["on 5000 samples needs 156.50 KiB for temporaries", f"{memory >> 20}.00 MiB are free"]
    refused(run("grad", "--data", data, "--out", out, "--backward=sequential", trainer=CUDA), *words)
    assert not out.exists()

    def attempt(batch):
        return run("eval", "--data", data, "--batch", batch, trainer=CUDA)

    size = int(refused(attempt(5000), *words).split("use --batch=")[1].split()[0])
    assert 100 < size < 4999
    harness.check_succeeded(attempt(size))
    refused(attempt(size + 1), f"use --batch={size} ")


def test_auto_chooses_variant_that_fits_memory(fake_driver):
    """A scan of 4000 steps is predicted to be faster, but takes one more array of all steps."""
    options = ["bench", "--seq-len", 4000, "--batch", 100, "--repeat", 1]
    fake_driver.setenv("FAKE_CUDA_MEMORY", str(64 << 20))
    assert json.loads(succeeded(*options, trainer=CUDA))["variant"] == "scan"
    fake_driver.setenv("FAKE_CUDA_MEMORY", str(40 << 20))
    assert json.loads(succeeded(*options, trainer=CUDA))["variant"] == "sequential"
    refused(run(*options, "--backward=scan", trainer=CUDA), "'step.scan' on 100 samples needs")
    fake_driver.setenv("FAKE_CUDA_MEMORY", str(20 << 20))
    refused(run(*options, trainer=CUDA), "'step.sequential' on 100 samples needs")


def test_not_even_one_sample(tmp_path, fake_driver):
    data = save(tmp_path / "data.npz", samples(2, steps=1000000))
    fake_driver.setenv("FAKE_CUDA_MEMORY", str(8 << 20))
    refused(run("eval", "--data", data, trainer=CUDA), "not even one sample fits", "shorter")


@pytest.mark.parametrize("trainer", DEVICES)
def test_nonfinite_gradient(tmp_path, trainer):
    values = samples(10)
    values["x"][0, 0, 0] = 3e38
    data = save(tmp_path / "data.npz", values)
    checkpoint = tmp_path / "c"
    options = ["--data", data, "--batch", 10, "--lr", 1e38, "--epochs", 9]
    expected = run("train", *options, trainer=CPU)
    assert "step" in refused(expected)
    found = run("train", *options, "--checkpoint", checkpoint, trainer=trainer)
    assert found.stderr.startswith(expected.stderr.removesuffix("nothing was saved\n"))
