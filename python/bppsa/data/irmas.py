# Part of the bppsa project, under the MIT License.
"""A substitute for the IRMAS instrument recordings: synthesized tones with real MFCC features.

The eleven classes are in the order of IRMAS (cello, clarinet, flute, acoustic guitar, electric
guitar, organ, piano, saxophone, trumpet, violin, voice). A clip is a short melody of harmonic tones
whose spectrum, envelope, vibrato and noise depend on the class, in stereo at 44.1 kHz, with a
default length of 3 s. Features are the MFCCs of both channels without coefficient 0, standardized
over time and concatenated.
"""

from dataclasses import dataclass
from typing import Tuple

import numpy as np

from bppsa.data import mfcc

RATE = 44100
SECONDS = 3.0


@dataclass(frozen=True)
class FeatureSize:
    """One of the three settings of the paper, with 2 (n_mfcc - 1) features."""

    n_fft: int
    hop: int
    n_mfcc: int


# Time steps x features of a 3 s clip: s 259 x 38, m 517 x 24, l 1034 x 12.
SIZES = {
    "s": FeatureSize(4096, 512, 20),
    "m": FeatureSize(2048, 256, 13),
    "l": FeatureSize(1024, 128, 7),
}


@dataclass(frozen=True)
class Instrument:
    """Sound parameters of a class.

    - notes: range of MIDI pitches
    - rolloff: harmonic k has amplitude k^-rolloff
    - even: factor of even harmonics
    - formant: (centre in Hz, width in octaves, gain)
    - attack, decay: seconds; a decay of 0 holds the tone
    - damping: additional decay of high harmonics
    - vibrato: (Hz, depth in semitones)
    - tremolo: depth of amplitude modulation at the vibrato rate
    - noise: breath or bow noise relative to the tone
    - length: range of note lengths in seconds
    """

    name: str
    notes: Tuple[int, int]
    rolloff: float
    even: float
    formant: Tuple[float, float, float]
    attack: float
    decay: float
    damping: float
    vibrato: Tuple[float, float]
    tremolo: float
    noise: float
    length: Tuple[float, float]


# fmt: off
INSTRUMENTS = tuple(Instrument(*row) for row in (
    ("cel", (36, 62), 1.1, 1.0, (350, 1.0, 3.0), 0.09, 0.0, 0.0, (5.0, 0.30), 0.10, 0.020, (0.5, 1.2)),
    ("cla", (50, 82), 1.4, 0.08, (1500, 0.8, 1.5), 0.04, 0.0, 0.0, (0.0, 0.00), 0.00, 0.010, (0.2, 0.6)),
    ("flu", (60, 90), 2.4, 0.7, (900, 1.0, 2.0), 0.07, 0.0, 0.0, (5.5, 0.10), 0.35, 0.120, (0.3, 0.9)),
    ("gac", (40, 72), 1.2, 0.9, (220, 0.7, 2.5), 0.003, 0.35, 1.2, (0.0, 0.00), 0.00, 0.004, (0.2, 0.5)),
    ("gel", (40, 76), 0.6, 0.9, (2600, 1.2, 4.0), 0.004, 1.80, 0.2, (6.5, 0.20), 0.00, 0.008, (0.3, 0.8)),
    ("org", (36, 84), 0.8, 1.3, (700, 2.0, 1.0), 0.012, 0.0, 0.0, (6.8, 0.05), 0.25, 0.002, (0.8, 1.8)),
    ("pia", (36, 90), 1.6, 1.0, (500, 1.5, 1.2), 0.002, 0.80, 0.7, (0.0, 0.00), 0.00, 0.002, (0.15, 0.7)),
    ("sax", (46, 78), 0.9, 1.0, (1100, 0.9, 4.0), 0.03, 0.0, 0.0, (4.8, 0.35), 0.20, 0.060, (0.3, 0.9)),
    ("tru", (54, 82), 0.5, 1.0, (1800, 1.0, 5.0), 0.02, 0.0, 0.0, (5.2, 0.08), 0.05, 0.012, (0.15, 0.5)),
    ("vio", (55, 94), 0.9, 1.0, (2800, 0.9, 3.5), 0.06, 0.0, 0.0, (6.2, 0.45), 0.15, 0.030, (0.3, 0.8)),
    ("voi", (45, 76), 1.3, 1.0, (750, 0.5, 8.0), 0.08, 0.0, 0.0, (5.6, 0.70), 0.10, 0.040, (0.3, 1.0)),
))
# fmt: on
CLASSES = len(INSTRUMENTS)

_MAX_HARMONICS = 24
_PEAK = 20000.0  # of 32767: features are computed from 16-bit samples


def _envelope(instrument, time, release):
    """Returns the amplitude at each time (s) of a note that ends at `release`."""
    rise = 1.0 - np.exp(-time / instrument.attack)
    fall = np.exp(-time / instrument.decay) if instrument.decay else 1.0
    end = np.clip((release - time) / 0.02, 0.0, 1.0)
    return rise * fall * end


def _tone(instrument, hertz, count, rng):
    """Returns one note of `count` samples with an amplitude of about 1."""
    time = np.arange(count) / RATE
    rate, depth = instrument.vibrato
    rate *= rng.uniform(0.9, 1.1)
    wobble = np.sin(2 * np.pi * (rate * time + rng.random()))
    # The vibrato grows after the onset.
    bend = depth * np.minimum(1.0, time / 0.25) * wobble
    phase = 2 * np.pi * np.cumsum(hertz * 2.0 ** (bend / 12.0)) / RATE
    centre, width, gain = instrument.formant

    tone = np.zeros(count)
    # Powers of one phasor: harmonic k is the imaginary part of its k-th power, including damping.
    pointer = np.exp(1j * phase)
    ratio = pointer * np.exp(-instrument.damping * time)
    for k in range(1, min(_MAX_HARMONICS, int(0.45 * RATE / hertz)) + 1):
        amplitude = k**-instrument.rolloff * (instrument.even if k % 2 == 0 else 1.0)
        octaves = np.log2(k * hertz / centre)
        amplitude *= 1.0 + gain * np.exp(-0.5 * (octaves / width) ** 2)
        shift = 2 * np.pi * rng.random()
        tone += (amplitude * np.cos(shift)) * pointer.imag
        tone += (amplitude * np.sin(shift)) * pointer.real
        pointer *= ratio
    tone += instrument.noise * np.abs(tone).max() * rng.standard_normal(count)
    tone *= 1.0 + instrument.tremolo * wobble
    return tone * _envelope(instrument, time, time[-1] + 1.0 / RATE)


def synthesise(label, seconds, rng):
    """Returns a stereo clip of class `label`: int16 values as float64, [samples, 2]."""
    instrument = INSTRUMENTS[label]
    count = int(round(seconds * RATE))
    mono = np.zeros(count)
    position = int(rng.uniform(0.0, 0.1) * RATE)
    while position < count - RATE // 50:
        length = min(int(rng.uniform(*instrument.length) * RATE), count - position)
        note = rng.integers(instrument.notes[0], instrument.notes[1] + 1) + rng.normal(0.0, 0.05)
        hertz = 440.0 * 2.0 ** ((note - 69.0) / 12.0)
        mono[position : position + length] += rng.uniform(0.5, 1.0) * _tone(
            instrument, hertz, length, rng
        )
        position += length + int(rng.uniform(0.0, 0.15) * RATE)

    pan = rng.uniform(0.3, 0.7)
    # The sound reaches the far microphone later.
    stereo = np.stack([pan * mono, (1.0 - pan) * np.roll(mono, rng.integers(0, 30))], axis=1)
    reverberation = 10.0 ** rng.uniform(-3.5, -2.5) * np.abs(stereo).max()
    stereo += reverberation * rng.standard_normal(stereo.shape)
    return np.round(stereo * (_PEAK / np.abs(stereo).max()))


def features(clip, size):
    """Returns the standardized MFCCs of a stereo clip, left before right.

    The shape is [1 + samples // hop, 2 (n_mfcc - 1)], float32.
    """
    channels = [
        mfcc.standardise(mfcc.mfcc(clip[:, side], RATE, size.n_fft, size.hop, size.n_mfcc)[:, 1:])
        for side in (0, 1)
    ]
    return np.concatenate(channels, axis=1).astype(np.float32)


def generate(samples, size, seed, seconds=SECONDS):
    """Returns (x, target): float32 [T, samples, F], time first, and int64 labels [samples].

    size is "s", "m" or "l"; for 3 s clips, T x F is 259 x 38, 517 x 24 or 1034 x 12.
    """
    setting = SIZES[size]
    rng = np.random.default_rng(seed)
    target = rng.integers(0, CLASSES, size=samples, dtype=np.int64)
    steps = 1 + int(round(seconds * RATE)) // setting.hop
    x = np.empty((steps, samples, 2 * (setting.n_mfcc - 1)), np.float32)
    for index, label in enumerate(target):
        x[:, index] = features(synthesise(label, seconds, rng), setting)
    return x, target
