#!/usr/bin/env python3
# Part of the bppsa project, under the MIT License.
"""Streams frames through a step graph with ONNX Runtime: denoise.py MODEL.onnx DATA.npz INFERRED.npz

Prints the gain in SI-SNR, and fails where a frame differs from what `infer` wrote.
"""

import json
import sys

import numpy as np
import onnxruntime

CARRIED = {"cache": "cache_next", "h": "h_next"}


def si_snr(sound, clean):
    """Scale-invariant signal-to-noise ratio in dB, of sounds along the last axis."""
    scale = np.sum(sound * clean, -1, keepdims=True) / np.sum(clean**2, -1, keepdims=True)
    signal, noise = scale * clean, sound - scale * clean
    return float(np.mean(10 * np.log10(np.sum(signal**2, -1) / np.sum(noise**2, -1))))


def stream(session, noisy):
    """Frame by frame, sample by sample: frames [T, N, 64] as they come out."""
    shapes = {i.name: i.shape for i in session.get_inputs()}
    names = [o.name for o in session.get_outputs()]
    result = np.empty_like(noisy)
    for sample in range(noisy.shape[1]):
        state = {name: np.zeros(shapes[name], np.float32) for name in CARRIED}
        for step, frame in enumerate(noisy[:, sample]):
            found = dict(zip(names, session.run(None, {"x": frame[None]} | state)))
            result[step, sample] = found["y"][0]
            state = {name: found[output] for name, output in CARRIED.items()}
    return result


def main(model, data, inferred):
    with np.load(data) as arrays, np.load(inferred) as found:
        noisy, clean, frames = arrays["x"], arrays["target"], found["y"]
    streamed = stream(onnxruntime.InferenceSession(model), noisy)

    def whole(parts):
        return parts.swapaxes(0, 1).reshape(parts.shape[1], -1).astype(np.float64)

    before, after = (si_snr(whole(sound), whole(clean)) for sound in (noisy, streamed))
    difference = float(np.abs(streamed - frames).max())
    numbers = {"si_snr_noisy": before, "si_snr": after, "gain": after - before}
    print(json.dumps(numbers | {"largest_difference": difference, "by": "ONNX Runtime"}))
    return 0 if difference < 1e-4 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
