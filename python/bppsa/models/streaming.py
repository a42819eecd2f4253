# Part of the bppsa project, under the MIT License.
"""A step graph that denoises one frame of sound, built node by node.

As in DTLN and GTCRN, one run of the graph processes one frame; the carried state is an input and an
output. A learned basis maps the 64 values of a frame to features. A causal convolution over three
frames and a GRU compute a mask for the features. A second basis maps them back to a frame.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
FRAME, FEATURES, HIDDEN = 64, 96, 48
# Graph inputs of a frame, and the outputs of the previous frame that they carry.
CARRIED = {"cache": "cache_next", "h": "h_next"}


def _node(op, inputs, outputs, **attributes):
    inputs = ["" if name == "_" else name for name in inputs.split()]
    return helper.make_node(op, inputs, outputs.split(), name=f"{op}_{outputs}", **attributes)


def _weights(rng):
    def normal(*shape, fan):
        return (rng.standard_normal(shape) / np.sqrt(fan)).astype(np.float32)

    def uniform(*shape):
        return rng.uniform(-1, 1, shape).astype(np.float32) / np.float32(np.sqrt(HIDDEN))

    encoder = normal(FRAME, FEATURES, fan=FRAME)
    return {
        "encoder": encoder,
        "conv.weight": normal(HIDDEN, FEATURES, 3, fan=3 * FEATURES),
        "conv.bias": np.zeros(HIDDEN, np.float32),
        "conv.slope": np.full((HIDDEN, 1), 0.25, np.float32),
        "gru.w": uniform(1, 3 * HIDDEN, HIDDEN),
        "gru.r": uniform(1, 3 * HIDDEN, HIDDEN),
        "gru.b": np.zeros((1, 6 * HIDDEN), np.float32),
        "mask.weight": normal(HIDDEN, FEATURES, fan=HIDDEN),
        "mask.bias": np.ones(FEATURES, np.float32),
        "decoder": np.linalg.pinv(encoder).astype(np.float32),
    }


def make(name, seed=7):
    """Creates the model `denoiser_step`, from a noisy frame `x` [1, 64] to a clean frame `y`."""
    nodes = [
        _node("MatMul", "x encoder", "features"),
        _node("Unsqueeze", "features last", "newest"),
        _node("Concat", "cache newest", "window", axis=2),
        _node("Slice", "window one end last", "cache_next"),
        _node("Conv", "window conv.weight conv.bias", "mixed", kernel_shape=[3]),
        _node("PRelu", "mixed conv.slope", "active"),
        _node("Reshape", "active step", "frame"),
        _node(
            "GRU", "frame gru.w gru.r gru.b _ h", "_ h_next", hidden_size=HIDDEN, linear_before_reset=1
        ),
        _node("Reshape", "h_next row", "memory"),
        _node("Gemm", "memory mask.weight mask.bias", "gate"),
        _node("Sigmoid", "gate", "mask"),
        _node("Mul", "features mask", "passed"),
        _node("MatMul", "passed decoder", "y"),
    ]
    for node in nodes:
        node.output[:] = ["" if output == "_" else output for output in node.output]
    constants = {"last": [2], "one": [1], "end": [3], "step": [1, 1, HIDDEN], "row": [1, HIDDEN]}
    tensors = _weights(np.random.default_rng(seed)) | {
        key: np.array(value, np.int64) for key, value in constants.items()
    }
    shapes = {"x": [1, FRAME], "cache": [1, FEATURES, 2], "h": [1, 1, HIDDEN]}
    outputs = {"y": shapes["x"], "cache_next": shapes["cache"], "h_next": shapes["h"]}

    def infos(sizes):
        return [helper.make_tensor_value_info(k, TensorProto.FLOAT, v) for k, v in sizes.items()]

    graph = helper.make_graph(
        nodes,
        name,
        infos(shapes),
        infos(outputs),
        [numpy_helper.from_array(value, key) for key, value in tensors.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model
