# Part of the bppsa project, under the MIT License.
"""Gratings: small images of stripes, classified by the direction of the stripes.

A sample of class c in 0..9 is a sine wave with a direction of 18 c degrees plus a small deviation,
with random wavelength, phase, contrast and colour, and added noise. The default shape matches
CIFAR-10 (3 x 32 x 32); one channel and size 28 match MNIST.
"""

import numpy as np

CLASSES = 10


def generate(samples, seed, size=32, channels=3, noise=0.3):
    """Returns (x, target): float32 [samples, channels, size, size] and int64 labels [samples]."""
    rng = np.random.default_rng(seed)
    target = rng.integers(0, CLASSES, size=samples, dtype=np.int64)

    def uniform(low, high, *more):
        return rng.uniform(low, high, (samples, *more)).astype(np.float32)

    degrees = target * (180 / CLASSES) + rng.normal(0, 3, samples)
    angle = np.deg2rad(degrees).astype(np.float32)[:, None, None]
    frequency = (2 * np.pi / uniform(4, 9))[:, None, None]
    phase = uniform(0, 2 * np.pi)[:, None, None]
    rows, columns = np.mgrid[:size, :size].astype(np.float32)
    wave = np.sin(frequency * (np.cos(angle) * columns + np.sin(angle) * rows) + phase)
    # Every channel has at least half of the contrast; some are inverted.
    colour = uniform(0.5, 1.0, channels) * rng.choice(np.float32([-1, 1]), (samples, channels))
    x = wave[:, None] * colour[:, :, None, None]
    x += noise * rng.standard_normal(x.shape, dtype=np.float32)
    return x, target
