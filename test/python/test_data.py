# Part of the bppsa project, under the MIT License.
"""The data generators: shapes, seeds, statistics, and their command line."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from bppsa.data import bitstream, gratings, irmas, voices

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _run(*arguments, cwd):
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "python"))
    command = [sys.executable, "-m", "bppsa.data", *map(str, arguments)]
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


def test_bitstream_frequencies_follow_the_class():
    x, target = bitstream.generate(samples=500, length=400, seed=3)
    assert x.shape == (400, 500, 1) and x.dtype == np.float32 and target.dtype == np.int64
    assert set(np.unique(x)) == {0.0, 1.0} and set(target) == set(range(10))
    for label in range(10):
        bits = x[:, target == label]
        p = 0.05 + 0.1 * label
        assert abs(bits.mean() - p) < 5 * np.sqrt(p * (1 - p) / bits.size)


def test_bitstream_steps_are_independent():
    x, target = bitstream.generate(samples=200, length=500, seed=4)
    centred = x[..., 0] - bitstream.probability(target)
    assert abs((centred[1:] * centred[:-1]).mean()) < 5 * 0.25 / np.sqrt(centred.size)


def test_grating_angle_matches_class():
    x, target = gratings.generate(samples=200, seed=5, noise=0)
    assert x.shape == (200, 3, 32, 32) and x.dtype == np.float32 and target.dtype == np.int64
    spectrum = np.abs(np.fft.fft2(x[:, 0]))[:, :, :16]  # rows, columns >= 0
    rows, columns = np.unravel_index(spectrum.reshape(200, -1).argmax(1), spectrum.shape[1:])
    angle = np.rad2deg(np.arctan2(np.where(rows >= 16, rows - 32, rows), columns))
    error = (angle - 18 * target + 90) % 180 - 90
    assert np.median(np.abs(error)) < 6 and np.mean(np.abs(error) < 20) > 0.95


def test_voices_are_tones_with_additive_noise():
    noisy, clean = voices.generate(samples=4, frames=50, seed=3)
    assert noisy.shape == clean.shape == (50, 4, voices.FRAME)
    noise = noisy.astype(np.float64) - clean
    for sample in range(4):
        assert np.mean(clean[:, sample] ** 2) == pytest.approx(1, abs=1e-3)
        assert np.mean(noise[:, sample] ** 2) == pytest.approx(1, abs=0.1)
    # Noise samples are independent; consecutive samples of a tone are strongly correlated.
    sound = clean[:, 0].ravel().astype(np.float64)
    assert np.corrcoef(sound[1:], sound[:-1])[0, 1] > 0.8
    assert abs(np.corrcoef(noise[:, 0].ravel()[1:], noise[:, 0].ravel()[:-1])[0, 1]) < 0.1


def test_gratings_options_size_and_channels(tmp_path):
    options = ["--samples", 4, "--size", 28, "--channels", 1, "--name", "image"]
    assert _run("gratings", *options, "--out", "a.npz", cwd=tmp_path).returncode == 0
    with np.load(tmp_path / "a.npz") as arrays:
        assert arrays["image"].shape == (4, 1, 28, 28) and arrays["target"].shape == (4,)


@pytest.mark.parametrize("size, steps, features", [("s", 259, 38), ("m", 517, 24), ("l", 1034, 12)])
def test_irmas_shapes_match_paper(size, steps, features):
    x, target = irmas.generate(samples=1, size=size, seed=1)
    assert x.shape == (steps, 1, features) and x.dtype == np.float32
    assert target.shape == (1,) and target.dtype == np.int64


def test_irmas_features_are_standardized_over_time():
    x, _ = irmas.generate(samples=3, size="l", seed=2, seconds=0.5)
    np.testing.assert_allclose(x.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(x.std(axis=0), 1, atol=1e-5)


def test_clips_are_stereo_and_fit_sixteen_bits():
    for label in range(irmas.CLASSES):
        clip = irmas.synthesise(label, 0.3, np.random.default_rng(label))
        assert clip.shape == (13230, 2) and np.all(clip == np.round(clip))
        assert 10000 < np.abs(clip).max() <= 32767
        assert not np.array_equal(clip[:, 0], clip[:, 1])


@pytest.mark.parametrize(
    "generate",
    [
        lambda seed: bitstream.generate(10, 20, seed),
        lambda seed: irmas.generate(2, "l", seed, seconds=0.2),
    ],
)
def test_seed_determines_data(generate):
    first, same, other = generate(7), generate(7), generate(8)
    assert all(np.array_equal(a, b) for a, b in zip(first, same))
    assert not np.array_equal(first[0], other[0])


def test_instrument_classes_are_separable():
    """A nearest-centroid classifier on feature variation far exceeds chance on unseen clips."""

    def summary(seed, samples):
        x, target = irmas.generate(samples, "l", seed, seconds=0.8)
        covariance = np.einsum("tnf,tng->nfg", x, x).reshape(samples, -1) / len(x)
        roughness = np.abs(np.diff(x, axis=0)).mean(axis=0)
        return np.concatenate([covariance, 3 * roughness], axis=1), target

    (train, labels), (test, truth) = summary(1, 154), summary(2, 77)
    centroids = np.stack([train[labels == label].mean(axis=0) for label in range(irmas.CLASSES)])
    guess = np.argmin(((test[:, None] - centroids) ** 2).sum(axis=2), axis=1)
    assert (guess == truth).mean() > 3 / irmas.CLASSES


def test_command_line_writes_named_arrays(tmp_path):
    run = _run(
        "bitstream", "--samples", 6, "--length", 9, "--seed", 5, "--out", "a.npz", cwd=tmp_path
    )
    assert run.returncode == 0, run.stderr
    with np.load(tmp_path / "a.npz") as data:
        assert set(data) == {"x", "target"} and data["x"].shape == (9, 6, 1)
        expected, target = bitstream.generate(6, 9, 5)
        np.testing.assert_array_equal(data["x"], expected)
        np.testing.assert_array_equal(data["target"], target)


def test_command_line_batch_major_and_input_name(tmp_path):
    run = _run(
        "irmas",
        "--size",
        "l",
        "--samples",
        2,
        "--seconds",
        0.2,
        "--out",
        "b.npz",
        "--name",
        "audio",
        "--batch-major",
        "--compress",
        cwd=tmp_path,
    )
    assert run.returncode == 0, run.stderr
    with np.load(tmp_path / "b.npz") as data:
        assert data["audio"].shape == (2, 1 + 8820 // 128, 12)


@pytest.mark.parametrize(
    "arguments, status, message",
    [
        (
            ["bitstream", "--samples", 0, "--length", 5, "--out", "x.npz"],
            2,
            "0 is not greater than 0",
        ),
        (["bitstream", "--samples", 1, "--length", 5, "--out", "no/such/x.npz"], 1, "no/such"),
        (
            ["irmas", "--size", "l", "--samples", 1, "--seconds", 0.001, "--out", "x.npz"],
            1,
            "n_fft",
        ),
        (["irmas", "--size", "q", "--samples", 1, "--out", "x.npz"], 2, "invalid choice"),
    ],
)
def test_command_line_refuses_bad_input(tmp_path, arguments, status, message):
    run = _run(*arguments, cwd=tmp_path)
    assert run.returncode == status and message in run.stderr and "Traceback" not in run.stderr
    assert not list(tmp_path.iterdir())


def test_package_imports_with_standard_library_only():
    code = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(('numpy', 'onnx', 'onnxruntime', 'torch')))\n"
        "import bppsa, bppsa.data, bppsa.models, bppsa.data.__main__, bppsa.models.__main__"
    )
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "python"))
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
