#!/usr/bin/env python3
# Part of the bppsa project, under the MIT License.
"""Scores a classifier with ONNX Runtime: score.py MODEL.onnx DATA.npz"""

import json
import sys

import numpy as np
import onnxruntime


def main(model, data):
    with np.load(data) as arrays:
        target = arrays["target"]
        inputs = {name: arrays[name] for name in arrays.files if name != "target"}
    scores = onnxruntime.InferenceSession(model).run(None, inputs)[0].astype(np.float64)
    scores -= scores.max(axis=-1, keepdims=True)
    log_probability = scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True))
    picked = np.take_along_axis(log_probability, target[..., None], axis=-1)
    accuracy = float((scores.argmax(axis=-1) == target).mean())
    print(json.dumps({"loss": -float(picked.mean()), "accuracy": accuracy, "by": "ONNX Runtime"}))


if __name__ == "__main__":
    main(*sys.argv[1:])
