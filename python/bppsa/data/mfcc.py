# Part of the bppsa project, under the MIT License.
"""Mel-frequency cepstral coefficients in NumPy.

Conventions: centred frames with reflected borders, periodic Hann window, power spectrum, triangular
filters of equal area on the Slaney mel scale, decibels limited to 80 below the peak, orthonormal
DCT-II. A signal of n samples has 1 + n // hop frames.
"""

import numpy as np

# The Slaney mel scale is linear up to 1 kHz (15 mel) and logarithmic above.
_HERTZ_PER_MEL = 200.0 / 3.0
_BREAK_HERTZ = 1000.0
_BREAK_MEL = _BREAK_HERTZ / _HERTZ_PER_MEL
_LOG_STEP = np.log(6.4) / 27.0

_TOP_DECIBEL = 80.0
_POWER_FLOOR = 1e-10


def hertz_to_mel(hertz):
    hertz = np.asarray(hertz, np.float64)
    logarithmic = _BREAK_MEL + np.log(np.maximum(hertz, _BREAK_HERTZ) / _BREAK_HERTZ) / _LOG_STEP
    return np.where(hertz < _BREAK_HERTZ, hertz / _HERTZ_PER_MEL, logarithmic)


def mel_to_hertz(mel):
    mel = np.asarray(mel, np.float64)
    logarithmic = _BREAK_HERTZ * np.exp(_LOG_STEP * (np.maximum(mel, _BREAK_MEL) - _BREAK_MEL))
    return np.where(mel < _BREAK_MEL, mel * _HERTZ_PER_MEL, logarithmic)


def mel_filterbank(rate, n_fft, n_mels):
    """Returns triangular filters [n_mels, 1 + n_fft // 2], each of unit area over frequency."""
    corners = mel_to_hertz(np.linspace(0.0, hertz_to_mel(rate / 2), n_mels + 2))
    bins = np.arange(1 + n_fft // 2) * (rate / n_fft)
    left, centre, right = corners[:-2, None], corners[1:-1, None], corners[2:, None]
    rising = (bins - left) / (centre - left)
    falling = (right - bins) / (right - centre)
    return np.maximum(0.0, np.minimum(rising, falling)) * (2.0 / (right - left))


def frames(signal, n_fft, hop):
    """Returns overlapping centred frames [frames, n_fft] of a one-dimensional signal."""
    if len(signal) <= n_fft // 2:
        raise ValueError(
            f"signal has {len(signal)} samples, n_fft {n_fft} needs more than {n_fft // 2}"
        )
    padded = np.pad(signal, n_fft // 2, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, n_fft)
    return windows[::hop]


def power_spectrum(signal, n_fft, hop):
    """Returns the power of the short-time Fourier transform, [frames, 1 + n_fft // 2]."""
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n_fft) / n_fft)
    return np.abs(np.fft.rfft(frames(signal, n_fft, hop) * window, axis=1)) ** 2


def decibel(power):
    """Returns 10 log10 of a power, limited to 80 dB below its maximum."""
    level = 10.0 * np.log10(np.maximum(power, _POWER_FLOOR))
    return np.maximum(level, level.max() - _TOP_DECIBEL)


def dct2(values):
    """Returns the orthonormal DCT-II along the last axis, via an FFT of the reordered values."""
    n = values.shape[-1]
    reordered = np.concatenate([values[..., ::2], values[..., 1::2][..., ::-1]], axis=-1)
    twiddle = np.exp(-0.5j * np.pi * np.arange(n) / n)
    result = np.real(np.fft.fft(reordered, axis=-1) * twiddle) * np.sqrt(2.0 / n)
    result[..., 0] /= np.sqrt(2.0)
    return result


def mfcc(signal, rate, n_fft, hop, n_mfcc, n_mels=128):
    """Returns the first n_mfcc coefficients of each frame, float64 [frames, n_mfcc]."""
    energy = power_spectrum(signal, n_fft, hop) @ mel_filterbank(rate, n_fft, n_mels).T
    return dct2(decibel(energy))[:, :n_mfcc]


def standardise(features):
    """Scales to mean 0 and variance 1 over time (axis 0); constant coefficients become 0."""
    centred = features - features.mean(axis=0)
    deviation = centred.std(axis=0)
    return centred / np.where(deviation > 0, deviation, 1.0)
