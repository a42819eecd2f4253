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
            del line["seconds"], line["load_seconds"]
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
    launches = [line for line in lines if line.startswith(("launch ", "replay "))]
    names = [name for line in launches for name in line.split()[1:]]
    assert len(names) == 2 * 7 * 6
    assert len({line for line in lines if line.startswith("find ")}) == len(set(names))
    uploads = [int(line.split()[1]) for line in lines if line.startswith("upload ")]
    downloads = [int(line.split()[1]) for line in lines if line.startswith("download ")]
    ahead = [int(line.split()[1]) for line in lines if line.startswith("ahead ")]
    # 7 batches: x, target and hyperparameters; then weights with padding, once each. All batches but
    # the first one of an epoch come ahead of their step.
    assert uploads.count(32) >= 14 and len(uploads) == 2 * 2 + 14 + 5
    assert len(ahead) == 2 * 6 * 2
    assert sorted(set(downloads)) == [4, 8] and len(downloads) == 28


# Copies ahead


@pytest.mark.parametrize("streams", ["early", "late"])
@pytest.mark.parametrize("memory", [28, 256])
def test_batches_come_ahead(tmp_path, fake_driver, streams, memory):
    """However streams run beside each other, a step sees its own batch: the copy comes before it,
    and not before the step that uses the memory until then."""
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


def test_steps_are_graphs(tmp_path, data, fake_driver):
    """The first step of each size starts its four kernels one by one, all others replay a graph."""
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
    """Where graphs are not there, or fail, kernels are started one by one."""
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
    assert log.read_text().count("launch ") == 3 * 7 * 6


def test_variants_are_measured_on_a_gpu(data, fake_driver, tmp_path):
    """Without a choice of the user a run of some length begins with some steps of each variant."""
    counts = []
    fake_driver.setenv("BPPSA_CUDA_GRAPHS", "0")
    for choice in ("sequential", "auto"):
        log = tmp_path / choice
        fake_driver.setenv("FAKE_CUDA_LOG", str(log))
        train(data, f"--backward={choice}", trainer=CUDA, epochs=20)
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


@pytest.mark.parametrize(
    "entry, words",
    [
        ("cuStreamWaitEvent", "ordering a copy to the GPU"),
        ("cuMemcpyDtoDAsync", "on the GPU failed"),
    ],
)
def test_driver_errors_ahead(data, fake_driver, entry, words):
    fake_driver.setenv("FAKE_CUDA_FAIL", f"{entry}:1")
    refused(run("train", "--data", data, "--batch", 16, trainer=CUDA), words, "INVALID_VALUE")


def test_kernel_that_fails(tmp_path, data, fake_driver):
    fake_driver.setenv("FAKE_CUDA_FAULT", "optimizer")
    checkpoint, saved = tmp_path / "c", tmp_path / "s.onnx"
    options = ["--data", data, "--checkpoint", checkpoint, "--save", saved]
    found = run("train", *options, trainer=CUDA)
    refused(found, "CUDA_ERROR_ILLEGAL_ADDRESS", "'optimizer'", "CUDA_LAUNCH_BLOCKING=1")
    assert not checkpoint.exists() and not saved.exists()


@pytest.mark.parametrize("memory", [8 << 20, 24 << 20, 25 << 20])
def test_out_of_memory(tmp_path, fake_driver, memory):
    """The batch that the message names fits, and one sample more does not."""
    data = save(tmp_path / "data.npz", samples(5000, steps=500))
    fake_driver.setenv("FAKE_CUDA_MEMORY", str(memory))
    out = tmp_path / "out.npz"
    # Two arrays of 16 bytes a sample, rounded up.
    words = ["on 5000 samples needs 156.50 KiB for temporaries", f"{memory >> 20}.00 MiB are free"]
    refused(run("grad", "--data", data, "--out", out, "--backward=sequential", trainer=CUDA), *words)
    assert not out.exists()

    def attempt(batch):
        return run("eval", "--data", data, "--batch", batch, trainer=CUDA)

    size = int(refused(attempt(5000), *words).split("use --batch=")[1].split()[0])
    assert 100 < size < 4999
    harness.check_succeeded(attempt(size))
    refused(attempt(size + 1), f"use --batch={size} ")


def test_variant_that_fits(fake_driver):
    """Of 4000 steps a scan is predicted to be faster; it takes an array of all steps more."""
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
def test_gradient_that_is_not_finite(tmp_path, trainer):
    values = samples(10)
    values["x"][0, 0, 0] = 3e38
    data = save(tmp_path / "data.npz", values)
    checkpoint = tmp_path / "c"
    options = ["--data", data, "--batch", 10, "--lr", 1e38, "--epochs", 9]
    expected = run("train", *options, trainer=CPU)
    assert "step" in refused(expected)
    found = run("train", *options, "--checkpoint", checkpoint, trainer=trainer)
    assert found.stderr.startswith(expected.stderr.removesuffix("nothing was saved\n"))


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


@pytest.mark.parametrize(
    "trainer, steps, variant",
    [(CUDA, 4000, "scan"), (EMULATED, 4000, "scan"), (EMULATED, 20, "sequential")],
)
def test_predictions_choose(trainer, steps, variant):
    """By its description a scan takes a seventh of 4000 steps, and 1.4 times as long as 20."""
    options = ["--seq-len", steps, "--batch", 2, "--repeat", 1]
    assert json.loads(succeeded("bench", *options, trainer=trainer))["variant"] == variant


def calibrate(path):
    options = ["--seq-len", 64, "--batch", 4, "--repeat", 2]
    return json.loads(
        succeeded("bench", "--calibrate", "--calibration", path, *options, trainer=CUDA)
    )


def test_calibrate(tmp_path, data):
    path = tmp_path / "calibration.json"
    found = calibrate(path)
    assert found == json.loads(path.read_text())
    assert found["device"] == "Fake GPU (sm_90)"
    assert found["constants"]["multiprocessors"] == 4
    sizes = [(p["seq_len"], p["batch"], p["variant"]) for p in found["points"]]
    variants = ("sequential", "scan")
    assert sizes == [(t, b, v) for t in (16, 64) for b in (1, 4) for v in variants]
    assert all(p["measured_us"] > 0 and p["predicted_us"] >= 0 for p in found["points"])

    # 4000 steps would be scanned, but not where a launch takes a second, nor measured then.
    found["constants"]["launch_us"] = 1e6
    path.write_text(json.dumps(found))
    options = ["--calibration", path, "--seq-len", 4000, "--batch", 2, "--repeat", 1]
    bench = json.loads(succeeded("bench", *options, trainer=CUDA))
    assert bench["variant"] == "sequential"
    assert bench["constants"] == "measured on Fake GPU (sm_90)"
    assert bench["predicted_backward_us"] > 1e6
    train(data, "--calibration", path, trainer=CUDA, epochs=1)


def test_calibrations_that_do_not_fit(tmp_path, data):
    path = tmp_path / "calibration.json"
    fine = calibrate(path)
    without = {k: v for k, v in fine["constants"].items() if k != "launch_us"}
    for text, word in [
        ("{", "is no calibration"),
        (json.dumps({**fine, "constants": without}), "'launch_us' not found"),
        (json.dumps({**fine, "constants": {**without, "launch_us": float("nan")}}), '"launch_us": N'),
        (json.dumps({**fine, "constants": {**without, "launch_us": -1}}), "'launch_us' is -1"),
        (json.dumps({**fine, "program": "0"}), "another program"),
        (json.dumps({**fine, "device": "Fake GPU (sm_80)"}), "measured on 'Fake GPU (sm_80)'"),
    ]:
        path.write_text(text)
        result = run("train", "--data", data, "--calibration", path, trainer=CUDA)
        assert word in refused(result, "--calibration: ", "bench --calibrate")
    refused(run("bench", "--calibration", tmp_path / "none", trainer=CUDA), "cannot be read")


@pytest.mark.parametrize("trainer, word", [(CPU, "on the CPU"), (EMULATED, "is emulated")])
def test_calibrations_are_for_gpus(tmp_path, data, trainer, word):
    refused(run("bench", "--calibrate", trainer=trainer), "bench --calibrate: ", word)
    out = ["--out", tmp_path / "out.npz", "--calibration", tmp_path / "none"]
    refused(run("grad", "--data", data, *out, trainer=trainer), "--calibration: ", word)


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
