# Part of the bppsa project, under the MIT License.
"""Bernoulli bitstreams: sequences of coin flips, classified by the bias of the coin.

A sample of class c in 0..9 consists of T independent draws that are 1 with probability 0.05 + 0.1
c. The label therefore depends on the whole sequence, and the length is arbitrary.
"""

import numpy as np

CLASSES = 10


def probability(label):
    """Returns the probability of a one in a stream of class `label` (array or integer)."""
    return 0.05 + 0.1 * np.asarray(label)


def generate(samples, length, seed):
    """Returns (x, target): float32 bits [length, samples, 1] and int64 labels [samples]."""
    rng = np.random.default_rng(seed)
    target = rng.integers(0, CLASSES, size=samples, dtype=np.int64)
    threshold = probability(target).astype(np.float32)
    x = np.empty((length, samples, 1), np.float32)
    # Generate one time step after the other: temporaries of full size for the paper's largest set
    # would exceed the memory.
    for step in range(length):
        x[step, :, 0] = rng.random(samples, dtype=np.float32) < threshold
    return x, target
