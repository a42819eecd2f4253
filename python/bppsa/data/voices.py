# Part of the bppsa project, under the MIT License.
"""Speech-like tones with noise: frames of harmonics of a gliding pitch that fade in and out."""

import numpy as np

RATE = 8000
FRAME = 64


def _clean(rng, samples, length):
    """Returns sums of eight harmonics [samples, length] with an envelope like syllables."""
    time = np.arange(length) / RATE
    pitch = rng.uniform(90, 220, (samples, 1)) * (
        1 + 0.1 * np.sin(2 * np.pi * rng.uniform(0.5, 2, (samples, 1)) * time)
    )
    phase = 2 * np.pi * np.cumsum(pitch, axis=1) / RATE
    sound = np.zeros((samples, length))
    for harmonic in range(1, 9):
        strength = rng.uniform(0.2, 1, (samples, 1)) / harmonic
        sound += strength * np.sin(harmonic * phase + rng.uniform(0, 2 * np.pi, (samples, 1)))
    rhythm = np.sin(
        2 * np.pi * rng.uniform(1, 4, (samples, 1)) * time + rng.uniform(0, 6, (samples, 1))
    )
    return sound * np.clip(0.5 + rhythm, 0, 1)


def generate(samples, frames, seed):
    """Returns (noisy, clean): float32 frames [frames, samples, 64], with noise at 0 dB."""
    rng = np.random.default_rng(seed)
    clean = _clean(rng, samples, frames * FRAME)
    clean /= np.sqrt(np.mean(clean**2, axis=1, keepdims=True)) + 1e-9
    noisy = clean + rng.standard_normal(clean.shape)

    def cut(sound):
        parts = sound.reshape(samples, frames, FRAME).swapaxes(0, 1)
        return np.ascontiguousarray(parts, np.float32)

    return cut(noisy), cut(clean)
