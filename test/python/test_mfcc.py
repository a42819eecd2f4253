# Part of the bppsa project, under the MIT License.
"""MFCCs against direct formulas: DFT and DCT matrices, loops, and signals with known spectra."""

import numpy as np
import pytest

from bppsa.data import mfcc

RATE = 8000


def _direct_power(signal, n_fft, hop):
    """Computes centred frames in a loop and the Fourier transform as a matrix product."""
    k = np.arange(n_fft // 2 + 1)[:, None]
    fourier = np.exp(-2j * np.pi * k * np.arange(n_fft) / n_fft)
    window = np.sin(np.pi * np.arange(n_fft) / n_fft) ** 2
    rows = []
    for centre in range(0, len(signal) + 1, hop):
        # Reflect about the first and the last sample without repeating them.
        index = np.abs(np.arange(centre - n_fft // 2, centre + n_fft // 2))
        index = np.where(index < len(signal), index, 2 * (len(signal) - 1) - index)
        rows.append(np.abs(fourier @ (signal[index] * window)) ** 2)
    return np.array(rows)


def _direct_filter(frequency, left, centre, right):
    if left < frequency <= centre:
        height = (frequency - left) / (centre - left)
    elif centre < frequency < right:
        height = (right - frequency) / (right - centre)
    else:
        height = 0.0
    return height * 2.0 / (right - left)


def _direct_dct(n):
    """Returns a matrix whose rows are the orthonormal DCT-II basis."""
    k = np.arange(n)[:, None]
    basis = np.cos(np.pi * k * (2 * np.arange(n) + 1) / (2 * n)) * np.sqrt(2 / n)
    basis[0] /= np.sqrt(2)
    return basis


@pytest.mark.parametrize("length, hop", [(200, 16), (199, 25)])
def test_power_spectrum_matches_dft_of_windowed_frames(length, hop):
    signal = np.random.default_rng(1).standard_normal(length)
    expected = _direct_power(signal, 64, hop)
    found = mfcc.power_spectrum(signal, 64, hop)
    assert found.shape == (1 + length // hop, 33)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("n", [1, 2, 7, 128])
def test_dct_matches_cosine_matrix(n):
    values = np.random.default_rng(n).standard_normal((3, n))
    np.testing.assert_allclose(mfcc.dct2(values), values @ _direct_dct(n).T, atol=1e-12)


def test_mel_scale_known_points():
    np.testing.assert_allclose(
        mfcc.hertz_to_mel([0, 500, 1000, 6400]), [0, 7.5, 15, 42], atol=1e-12
    )
    hertz = np.linspace(0, 20000, 101)
    np.testing.assert_allclose(mfcc.mel_to_hertz(mfcc.hertz_to_mel(hertz)), hertz, atol=1e-9)


def test_filters_are_triangles_at_equal_mel_distances():
    bank = mfcc.mel_filterbank(RATE, 128, 10)
    corners = [
        float(mfcc.mel_to_hertz(mel)) for mel in np.arange(12) * mfcc.hertz_to_mel(RATE / 2) / 11
    ]
    expected = [
        [_direct_filter(b * RATE / 128, *corners[i : i + 3]) for b in range(65)] for i in range(10)
    ]
    np.testing.assert_allclose(bank, expected, atol=1e-14)


def test_sine_peaks_in_nearest_filter():
    frequency = 1000.0
    signal = np.sin(2 * np.pi * frequency * np.arange(4000) / RATE)
    energy = mfcc.power_spectrum(signal, 512, 128) @ mfcc.mel_filterbank(RATE, 512, 20).T
    centres = mfcc.mel_to_hertz(np.linspace(0, mfcc.hertz_to_mel(RATE / 2), 22))[1:-1]
    assert np.all(np.argmax(energy[3:-3], axis=1) == np.argmin(np.abs(centres - frequency)))


def test_flat_spectrum_has_only_coefficient_zero():
    np.testing.assert_allclose(mfcc.dct2(np.full((1, 20), 3.0))[0, 1:], 0, atol=1e-12)


def test_louder_signal_changes_only_coefficient_zero():
    signal = np.random.default_rng(2).standard_normal(3000)
    quiet, loud = (mfcc.mfcc(gain * signal, RATE, 256, 64, 8, n_mels=20) for gain in (1.0, 10.0))
    np.testing.assert_allclose(loud[:, 1:], quiet[:, 1:], atol=1e-9)
    np.testing.assert_allclose(loud[:, 0] - quiet[:, 0], 20 * np.sqrt(20), atol=1e-9)


def test_mfcc_matches_direct_formulas():
    signal = np.random.default_rng(3).standard_normal(400) * 1000
    power = _direct_power(signal, 64, 32)
    corners = [
        float(mfcc.mel_to_hertz(mel)) for mel in np.arange(10) * mfcc.hertz_to_mel(RATE / 2) / 9
    ]
    filters = np.array(
        [[_direct_filter(b * RATE / 64, *corners[i : i + 3]) for b in range(33)] for i in range(8)]
    )
    level = 10 * np.log10(np.maximum(power @ filters.T, 1e-10))
    level = np.maximum(level, level.max() - 80)
    expected = (level @ _direct_dct(8).T)[:, :5]
    np.testing.assert_allclose(
        mfcc.mfcc(signal, RATE, 64, 32, 5, n_mels=8), expected, rtol=1e-9, atol=1e-9
    )


def test_decibels_are_clamped_to_80_below_peak():
    np.testing.assert_allclose(mfcc.decibel(np.array([1e6, 1.0, 0.0])), [60, 0, -20])


def test_standardizing_constant_coefficient_gives_zero():
    features = np.stack([np.ones(5), np.arange(5.0)], axis=1)
    result = mfcc.standardise(features)
    assert np.all(result[:, 0] == 0) and abs(result[:, 1].std() - 1) < 1e-12


def test_signal_shorter_than_half_a_window_is_refused():
    with pytest.raises(ValueError, match="n_fft 64 needs more than 32"):
        mfcc.mfcc(np.zeros(32), RATE, 64, 16, 4)
