"""Nodes that the importer refuses, and the expected messages, for test_refusals.py."""

import numpy as np
import onnx_cases

X4, X34 = onnx_cases.floats(4), onnx_cases.floats(3, 4)
IMAGE = onnx_cases.floats(2, 4, 5, 6)
HEADS = onnx_cases.floats(2, 4, 5, 8)
FOUR = {"q": HEADS, "k": HEADS, "v": HEADS}
THREE = {"q": HEADS[:, 0], "k": HEADS[:, 0], "v": HEADS[:, 0]}
ARRAYS = {
    "Pad": {"x": X34},
    "ConvTranspose": {"x": IMAGE, "w": onnx_cases.floats(4, 3, 3, 3)},
}
NEW = {"opset": 7, "mode": "reflect"}


# Operator, attributes (and `arrays`, `constants`, `opset` and `shapes` of the model), message.
OPERATORS = [
    ("Pad", {"opset": 7, "pads": [0, -3, 0, -2]}, "takes 5 elements away from dimension 1 of size 4"),
    ("Pad", {**NEW, "pads": [3, 0, 0, 0]}, "pads dimension 0 of size 3 by 3 elements in mode 'reflect'"),
    ("Pad", {"opset": 7, "pads": [0, 2**30, 0, 0]}, "pads dimension 1 by 1073741824"),
    ("ConvTranspose", {"group": 3}, "'group' is 3, accepted: a divisor of the 4 channels"),
    ("ConvTranspose", {"output_padding": [1]}, "'output_padding' has 1 elements, accepted: 2"),
    ("ConvTranspose", {"output_padding": [1, -1]}, "'output_padding' holds -1"),
    ("ConvTranspose", {"output_shape": [9]}, "'output_shape' has 1 elements, accepted: 2"),
    ("ConvTranspose", {"pads": [4, 0, 3, 0]}, "pads of 4 and 3 leave nothing of a dimension of size 5"),
    ("ConvTranspose", {"kernel_shape": [3, 2]}, "'kernel_shape' does not fit input 'W'"),
    ("Mod", {"arrays": {"a": X4, "b": X4}}, "'fmod' is 0 for float inputs, accepted: 1, or opset 28"),
    (
        "Mod",
        {"arrays": {"a": np.arange(4), "b": np.arange(4)}},
        "divides integers by a value that is zero or not constant",
    ),
    (
        "Max",
        {"arrays": {"a": X4, "b": np.arange(4)}, "opset": 13},
        "the inputs have element types 'f32' and 'i64'",
    ),
    (
        "ReduceL2",
        {"arrays": {"x": X34}, "opset": 18, "noop_with_empty_axes": 1},
        "has no axes and 'noop_with_empty_axes' 1",
    ),
    ("ArgMax", {"arrays": {"x": X34}, "axis": 2}, "axis 2 is out of range, accepted: -2 to 1"),
    (
        "GroupNormalization",
        {"arrays": {"x": IMAGE, "s": X4, "b": X4}, "num_groups": 3, "opset": 21},
        "'num_groups' is 3, accepted: a divisor of the number of channels, 4",
    ),
    ("DepthToSpace", {"arrays": {"x": IMAGE}, "blocksize": 3}, "is not known to be a multiple of 9"),
    ("DepthToSpace", {"arrays": {"x": IMAGE}, "blocksize": 0}, "'blocksize' is 0, accepted: 1 to 4096"),
    ("LpPool", {"arrays": {"x": IMAGE}, "kernel_shape": [2, 2], "p": 0}, "'p' is 0, accepted: at least 1"),
    (
        "Resize",
        {"arrays": {"x": IMAGE, "roi": X4, "s": np.array([2, 2], np.float32)}, "constants": ["s"]},
        "input 'scales' has 2 elements, accepted: 4",
    ),
    (
        "Resize",
        {"arrays": {"x": IMAGE, "roi": X4, "s": np.array([1, 1, 2, 0], np.float32)}, "constants": ["s"]},
        "input 'scales' has an element that is not positive, accepted: more than 0",
    ),
    ("Resize", {"arrays": {"x": IMAGE, "roi": X4, "s": np.ones(4, np.float32)}}, "input 'scales' is not a constant"),
    ("Resize", {"arrays": {"x": IMAGE}}, "has none of the inputs 'scales' and 'sizes', accepted: one of them"),
    (
        "NegativeLogLikelihoodLoss",
        {"arrays": {"x": X34, "t": np.zeros(3, np.int64), "w": X34[0, :3]}},
        "input 'w' has shape [3], accepted: one weight for each of 4 classes",
    ),
    ("SoftmaxCrossEntropyLoss", {"arrays": {"x": X4, "t": np.zeros(4, np.int64)}}, "has rank 1, accepted: at least 2"),
    ("SoftmaxCrossEntropyLoss", {"arrays": {"x": X34, "t": np.zeros(4, np.int64)}}, "the shapes of the inputs do not"),
    (
        "RotaryEmbedding",
        {"arrays": {"x": onnx_cases.floats(2, 3, 8), "c": X34, "s": X34}, "opset": 23},
        "'num_heads' is 0, accepted: a divisor of the last dimension of size 8",
    ),
    (
        "RotaryEmbedding",
        {
            "arrays": {"x": onnx_cases.floats(2, 3, 8), "c": X34, "s": X34},
            "opset": 23,
            "num_heads": 2,
            "rotary_embedding_dim": 3,
        },
        "turns 3 elements of a head of 4, accepted: an even number",
    ),
    ("Celu", {"arrays": {"x": X34}, "alpha": 0.0}, "'alpha' is 0, accepted: any other float"),
    (
        "Tile",
        {"arrays": {"x": X34, "r": np.array([2])}, "constants": ["r"]},
        "input 'repeats' has 1 elements, accepted: 2",
    ),
    (
        "Tile",
        {"arrays": {"x": X34, "r": np.array([2, -1])}, "constants": ["r"]},
        "would have a dimension of size -1",
    ),
    ("CumSum", {"arrays": {"x": X34, "a": np.array(0)}}, "input 'a' depends on data"),
    ("BitCast", {"opset": 26, "arrays": {"x": X34}, "to": 7}, "'to' is 7 for elements of type 'f32'"),
    (
        "TensorScatter",
        {"opset": 24, "arrays": {"c": X34, "u": X34}, "axis": 0},
        "attribute 'axis' is the axis of samples",
    ),
    ("SwiGLU", {"opset": 28, "arrays": {"a": X34, "b": X4}}, "the shapes of the inputs do not fit"),
    (
        "Einsum",
        {"arrays": {"x": X34}, "equation": "ij,jk"},
        "'equation' is 'ij,jk', which has 2 terms for 1 inputs",
    ),
    ("Einsum", {"arrays": {"x": X34}, "equation": "ijk->i"}, "gives 'ijk' for an input of shape [3, 4]"),
    ("Einsum", {"arrays": {"x": X34}, "equation": "ij->ii"}, "a label that is given twice"),
    ("Einsum", {"arrays": {"x": X34}, "equation": "i1->i"}, "holds '1', accepted: letters and '...'"),
    ("Einsum", {"arrays": {"x": X34, "y": X34}, "equation": "ij,jk"}, "the shapes of the inputs do not"),
    (
        "GatherND",
        {"arrays": {"x": X34, "i": np.zeros((2, 3), np.int64)}},
        "the shapes of the inputs do not fit",
    ),
    (
        "GatherElements",
        {"arrays": {"x": X34, "i": np.zeros(3, np.int64)}},
        "input 'indices' has shape [3], accepted: rank 2",
    ),
    (
        "ScatterND",
        {"arrays": {"x": X34, "i": np.zeros((2, 1), np.int64), "u": X34}},
        "the shapes of the inputs do not fit",
    ),
    (
        "ScatterND",
        {"arrays": {"x": X34 > 0, "i": np.zeros((3, 1), np.int64), "u": X34 > 0}, "reduction": "add"},
        "attribute 'reduction' is 'add' for bools, accepted: none",
    ),
    (
        "Resize",
        {"arrays": {"x": IMAGE, "roi": X4, "s": np.ones(4, np.float32)}, "constants": ["s"], "opset": 18, "antialias": 1},
        "attribute 'antialias' is 1 in mode 'nearest', accepted: 0",
    ),
    (
        "Resize",
        {
            "arrays": {"x": IMAGE, "roi": X4, "s": np.ones(4, np.float32)},
            "constants": ["s", "roi"],
            "coordinate_transformation_mode": "tf_crop_and_resize",
        },
        "input 'roi' has 4 elements, accepted: 8",
    ),
    (
        "Resize",
        {
            "arrays": {"x": IMAGE, "roi": X4, "s": np.ones(4, np.float32)},
            "constants": ["s"],
            "coordinate_transformation_mode": "tf_crop_and_resize",
        },
        "input 'roi' is not a constant, accepted: a constant, an initializer or a value computed from sizes",
    ),
    (
        "Upsample",
        {"arrays": {"x": IMAGE, "s": np.ones(3, np.float32)}, "constants": ["s"], "opset": 9},
        "has 3 scales, accepted: 4",
    ),
    ("Upsample", {"arrays": {"x": X34}, "opset": 7, "scales": [1.0, -1.0]}, "an element that is not positive"),
    ("Attention", {"arrays": {"q": X34, "k": X34, "v": X34}, "opset": 23}, "input 'Q' has rank 2, accepted: 3 or 4"),
    (
        "Attention",
        {"arrays": THREE, "opset": 23, "q_num_heads": 3, "kv_num_heads": 2},
        "'q_num_heads' is 3, accepted: a divisor of the last dimension of size 8",
    ),
    (
        "Attention",
        {"arrays": THREE, "opset": 23, "q_num_heads": 2, "kv_num_heads": 4},
        "the shapes of the inputs do not fit",
    ),
    (
        "Attention",
        {"arrays": {"q": HEADS, "k": HEADS[:, :2], "v": HEADS[:, :2]}, "opset": 23, "kv_num_heads": 3},
        "'kv_num_heads' is 3, accepted for inputs of rank 4: none, or the 2 heads that they have",
    ),
    (
        "Attention",
        {"arrays": {"q": HEADS, "k": HEADS[:, :3], "v": HEADS[:, :3]}, "opset": 23},
        "has 4 heads of queries and 3 of keys, accepted: a fixed number, and a divisor of it",
    ),
    ("Attention", {"arrays": FOUR, "opset": 23, "scale": -1.0}, "attribute 'scale' is -1, accepted: at least 0"),
    ("Attention", {"arrays": FOUR, "opset": 23, "softcap": -1.0}, "attribute 'softcap' is -1, accepted: at least 0"),
    (
        "Attention",
        {"arrays": FOUR, "opset": 25, "left_window_size": -2},
        "attribute 'left_window_size' is -2, accepted: -1 to 2^31",
    ),
    (
        "Attention",
        {"arrays": FOUR | {"m": onnx_cases.floats(5, 1)}, "opset": 23},
        "has a last dimension of size 1 for 5 keys, which could be repeated or filled up",
    ),
    (
        "Attention",
        {"arrays": FOUR | {"m": onnx_cases.floats(3, 5)}, "opset": 23},
        "input 'attn_mask' has shape [3, 5], accepted: a shape that broadcasts to [2, 4, 5, 5]",
    ),
    (
        "Attention",
        {"arrays": FOUR | {"m": onnx_cases.floats(5, 5), "p": HEADS}, "opset": 23},
        "has one of the inputs 'past_key' and 'past_value', accepted: both or none",
    ),
    ("DFT", {"arrays": {"x": onnx_cases.floats(2, 4, 3)}}, "accepted: a last dimension of 1, or 2 for complex numbers"),
    (
        "DFT",
        {"arrays": {"x": onnx_cases.floats(2, 4, 2)}, "onesided": 1},
        "'onesided' is 1 for a last dimension of 2, accepted: 1, or 'onesided' 0",
    ),
    (
        "DFT",
        {"arrays": {"x": onnx_cases.floats(2, 4, 1)}, "onesided": 1, "inverse": 1},
        "'onesided' is 1 for a last dimension of 1, accepted: 2, or 'onesided' 0",
    ),
    ("DFT", {"arrays": {"x": onnx_cases.floats(2, 4, 1)}, "axis": 2}, "transforms the last axis"),
    (
        "DFT",
        {"arrays": {"x": onnx_cases.floats(2, 4, 1), "n": np.array(0)}, "constants": ["n"]},
        "input 'dft_length' has 1 elements, which is below 1; accepted: one, of at least 1",
    ),
    (
        "DFT",
        {"arrays": {"x": onnx_cases.floats(2, 1, 2)}, "onesided": 1, "inverse": 1},
        "has a spectrum of one element, and no 'dft_length'",
    ),
    (
        "DFT",
        {"arrays": {"x": onnx_cases.floats(2, 4, 1), "n": np.array(2**21)}, "constants": ["n"]},
        "transforms 4 elements to 2097152, accepted: a product of at most 2^22",
    ),
    (
        "STFT",
        {"arrays": {"x": onnx_cases.floats(2, 4, 1), "s": np.array(1), "w": X34[0], "f": np.array(3)}, "constants": ["s", "f"]},
        "input 'window' has 4 elements, accepted: a fixed number, equal to 'frame_length'",
    ),
    (
        "STFT",
        {"arrays": {"x": onnx_cases.floats(2, 3, 1), "s": np.array(1), "w": X34[0]}, "constants": ["s"]},
        "takes frames of 4 elements from a signal of 3, accepted: at least as many",
    ),
    (
        "OneHot",
        {"arrays": {"i": np.array([1]), "d": np.float32([0.5]), "v": X34[0, :2]}, "constants": ["d"]},
        "input 'depth' is 0.5, accepted: 1 to 2^24",
    ),
    (
        "Range",
        {"arrays": {n: np.float32(v) for n, v in zip("sld", (0, 1, 0))}, "constants": ["s", "l", "d"]},
        "has a 'delta' of 0 from 0 to 1",
    ),
    (
        "ScatterElements",
        {"arrays": {"x": X34, "i": np.zeros((3, 4), np.int64), "u": X4}},
        "input 'updates' has shape [4], accepted: rank 2",
    ),
    (
        "OneHot",
        {"arrays": {"i": np.array([1]), "d": np.array(3), "v": X34[0, :3]}, "constants": ["d"]},
        "input 'values' has shape [3], accepted: [2]",
    ),
    (
        "Trilu",
        {"arrays": {"x": X34, "k": np.array([1, 2])}, "constants": ["k"]},
        "input 'k' has 2 elements, accepted: 1",
    ),
]
