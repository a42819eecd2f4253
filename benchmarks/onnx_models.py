# Part of the bppsa project, under the MIT License.
"""Writes the ONNX model of a benchmark shape: a recurrent layer, a classifier on its last state."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from shapes import CLASSES, GATES


def write(shape, path):
    """x is [T, B, features], logits are [B, CLASSES]; weights are seeded, with PyTorch's range."""
    rng = np.random.default_rng(1)
    rows, bound = GATES[shape.cell] * shape.hidden, shape.hidden**-0.5
    weights = {
        "W": (1, rows, shape.features),
        "R": (1, rows, shape.hidden),
        "B": (1, 2 * rows),
        "head.weight": (CLASSES, shape.hidden),
        "head.bias": (CLASSES,),
    }
    attributes = {"hidden_size": shape.hidden}
    if shape.cell == "gru":
        attributes["linear_before_reset"] = 1
    nodes = [
        helper.make_node(
            shape.cell.upper(), ["x", "W", "R", "B"], ["", "Y_h"], "layer", **attributes
        ),
        helper.make_node("Squeeze", ["Y_h", "axis"], ["h"], "last"),
        helper.make_node("Gemm", ["h", "head.weight", "head.bias"], ["logits"], "head", transB=1),
    ]
    initializers = [
        numpy_helper.from_array(rng.uniform(-bound, bound, size).astype(np.float32), name)
        for name, size in weights.items()
    ]
    initializers.append(numpy_helper.from_array(np.zeros(1, np.int64), "axis"))
    graph = helper.make_graph(
        nodes,
        "benchmark",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["T", "B", shape.features])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["B", CLASSES])],
        initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
