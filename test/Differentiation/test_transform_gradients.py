"""Gradients through attention, spectra, scatter updates and resized images."""

import numpy as np
import pytest
from onnx import numpy_helper
from test_onnx_op_gradients import (
    B,
    C,
    F,
    H,
    N,
    T,
    W,
    check_model,
    ints,
    make_model,
    node,
    weights,
)


def array(name, values):
    return numpy_helper.from_array(np.array(values), name)


def attention(inputs, outputs="y", kv_num_heads=2, **attributes):
    return node("Attention", inputs, outputs, q_num_heads=2, kv_num_heads=kv_num_heads, **attributes)


KEYS = [weights(T, 5, F, name="k"), weights(T, 5, 6, name="v")]
PAST = [weights(T, 2, 3, 2, name="p"), weights(T, 2, 3, 2, name="q")]
# Query 1 attends to no key.
HIDDEN = array("m", [[True, False, True, True, False], [False] * 5])

# Nodes and initializers; x is [T, B, F].
CASES = {
    "Attention": ([attention("x k v")], KEYS),
    "Attention-causal": ([attention("x x x", is_causal=1)], []),
    "Attention-shared": ([attention("x k v", kv_num_heads=1, scale=0.4, softcap=1.5)],
                         [weights(T, 5, 2, name="k"), weights(T, 5, 3, name="v")]),
    "Attention-mask": ([attention("x k v m")], [*KEYS, weights(2, B, 5, name="m")]),
    "Attention-bools": ([attention("x k v m")], [*KEYS, HIDDEN]),
    "Attention-past": ([attention("x x x  p q", "y r s", is_causal=1)], PAST),
    "Attention-lengths": ([attention("x k v    n", is_causal=1)], [*KEYS, ints("n", 5, 3, 2)]),
    "Attention-weights": ([attention("x k v", "z r s y", qk_matmul_output_mode=3)], KEYS),
    "Pow-integer": ([node("Pow", "x e")], [ints("e", 2, -1, 3, 1)]),
    "ScatterElements-add": ([node("ScatterElements", "x i w", axis=2, reduction="add")],
                            [array("i", [[[0, 0], [1, -1]]]), weights(1, B, 2)]),
    "ScatterElements-min": ([node("ScatterElements", "x i w", axis=2, reduction="min")],
                            [array("i", [[[0, 0], [1, -1]]]), weights(1, B, 2, low=0.5)]),
    "ScatterND-add": ([node("ScatterND", "x i w", reduction="add")],
                      [array("i", [[2], [0], [2]]), weights(3, B, F)]),
    "ScatterND-mul": ([node("ScatterND", "x i w", reduction="mul")],
                      [array("i", [[2], [0], [2]]), weights(3, B, F)]),
    "ScatterND-max": ([node("ScatterND", "x i w", reduction="max")],
                      [array("i", [[2], [0], [-1]]), weights(3, B, F, low=0.5)]),
    "STFT": ([node("Reshape", "x r", "s"), node("STFT", "s t w")],
             [ints("r", 0, -1, 1), array("t", 2), weights(4, low=0.2)]),
    "STFT-two-sided": ([node("Reshape", "x r", "s"), node("STFT", "s t  l", onesided=0)],
                       [ints("r", 0, -1, 1), array("t", 3), array("l", 5)]),
}  # fmt: skip
SPECTRA = {
    "forward": {},
    "one-sided": {"onesided": 1},
    "inverse": {"inverse": 1},
    "real": {"inverse": 1, "onesided": 1},
}
CROP = [array("r", np.float32([0.2, -0.3, 0.7, 1.2])), ints("s", 4, 3)]

# Nodes and initializers; x is [N, C, H, W].
IMAGE_CASES = {
    "Resize-antialias": ([node("Resize", "x   s", mode="linear", axes=[2, 3], antialias=1)], [ints("s", 3, 4)]),
    "Resize-crop": ([node("Resize", "x r  s", mode="linear", axes=[2, 3], extrapolation_value=0.5,
                          coordinate_transformation_mode="tf_crop_and_resize")], CROP),
    "Upsample": ([node("Upsample", "x s", mode="linear")], [array("s", np.float32([1, 1, 2, 1.5]))]),
}  # fmt: skip


@pytest.mark.parametrize("shape", [[T, B, F], ["T", "B", F]], ids=["static", "dynamic"])
@pytest.mark.parametrize("name", CASES)
def test_gradient(tmp_path, name, shape):
    nodes, initializers = CASES[name]
    x = np.random.default_rng(2).uniform(0.4, 1.9, (T, B, F))
    check_model(tmp_path, make_model(nodes, initializers, shape), x, initializers)


@pytest.mark.parametrize("name", SPECTRA)
def test_spectrum(tmp_path, name):
    """The last dimension holds complex numbers as pairs, or real numbers."""
    parts = 1 if name == "one-sided" else 2
    x = np.random.default_rng(2).uniform(0.4, 1.9, (T, 5, parts))
    nodes = [node("DFT", "x", axis=1, **SPECTRA[name])]
    check_model(tmp_path, make_model(nodes, [], ["N", 5, parts]), x, [])


def test_remainder_with_the_sign_of_the_divisor(tmp_path):
    x = np.random.default_rng(2).uniform(0.4, 1.9, (T, 4))
    divisors = [array("w", np.float32([-0.7, 0.3, -1.1, 0.6]))]
    model = make_model([node("Mod", "x w")], divisors, ["N", 4])
    model.opset_import[0].version = 28
    check_model(tmp_path, model, x, divisors)


@pytest.mark.parametrize("samples", [N, "N"], ids=["static", "dynamic"])
@pytest.mark.parametrize("name", IMAGE_CASES)
def test_image_gradient(tmp_path, name, samples):
    nodes, initializers = IMAGE_CASES[name]
    x = np.random.default_rng(2).uniform(0.4, 1.9, (N, C, H, W))
    check_model(tmp_path, make_model(nodes, initializers, [samples, C, H, W]), x, initializers)
