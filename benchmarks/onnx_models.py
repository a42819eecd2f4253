# Part of the bppsa project, under the MIT License.
"""Writes the ONNX model of a benchmark shape: recurrent layers and a classifier."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from shapes import CLASSES, GATES


def _layer(shape, number, data, rng):
    """Returns the nodes of layer `number` on `data`, its weights and its output.

    The last layer outputs only its last state.
    """
    rows, bound = GATES[shape.cell] * shape.hidden, shape.hidden**-0.5
    sizes = {
        "W": (shape.directions, rows, shape.features_of_layer(number)),
        "R": (shape.directions, rows, shape.hidden),
        "B": (shape.directions, 2 * rows),
    }
    weights = {
        f"{name}{number}": rng.uniform(-bound, bound, size).astype(np.float32)
        for name, size in sizes.items()
    }
    attributes = {"hidden_size": shape.hidden}
    if shape.directions > 1:
        attributes["direction"] = "bidirectional"
    if shape.cell == "gru":
        attributes["linear_before_reset"] = 1
    is_last = number == shape.layers - 1 and not shape.every_step
    outputs = ["", "Y_h"] if is_last else [f"Y{number}"]
    layer = helper.make_node(
        shape.cell.upper(), [data, *weights], outputs, f"layer{number}", **attributes
    )
    if is_last:
        return [layer], weights, "Y_h"
    # [T, directions, B, H] to [T, B, directions * H].
    side = helper.make_node("Transpose", [f"Y{number}"], [f"side{number}"], perm=[0, 2, 1, 3])
    joined = helper.make_node("Reshape", [f"side{number}", "joined"], [f"x{number + 1}"])
    return [layer, side, joined], weights, f"x{number + 1}"


def parameters(model):
    """Returns the trained initializers: all except the sizes of reshapes."""
    return [i for i in model.graph.initializer if i.data_type == TensorProto.FLOAT]


def write(shape, path):
    """Writes a model with x [T, B, features], logits [B, CLASSES] and seeded weights in PyTorch's
    range."""
    rng = np.random.default_rng(1)
    width, bound = shape.directions * shape.hidden, shape.hidden**-0.5
    nodes, weights, data = [], {}, "x"
    for number in range(shape.layers):
        own_nodes, own_weights, data = _layer(shape, number, data, rng)
        nodes += own_nodes
        weights |= own_weights
    weights["head.weight"] = rng.uniform(-bound, bound, (CLASSES, width)).astype(np.float32)
    weights["head.bias"] = rng.uniform(-bound, bound, CLASSES).astype(np.float32)
    weights["joined"] = np.array([0, 0, width], np.int64)
    if shape.every_step:
        weights["head.weight"] = np.ascontiguousarray(weights["head.weight"].T)
        nodes += [
            helper.make_node("MatMul", [data, "head.weight"], ["product"]),
            helper.make_node("Add", ["product", "head.bias"], ["logits"]),
        ]
    else:
        # [directions, B, H] to [B, directions * H].
        weights["flat"] = np.array([0, width], np.int64)
        head = ["h", "head.weight", "head.bias"]
        nodes += [
            helper.make_node("Transpose", [data], ["last"], perm=[1, 0, 2]),
            helper.make_node("Reshape", ["last", "flat"], ["h"]),
            helper.make_node("Gemm", head, ["logits"], "head", transB=1),
        ]
    logits = ["T", "B", CLASSES] if shape.every_step else ["B", CLASSES]
    graph = helper.make_graph(
        nodes,
        "benchmark",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["T", "B", shape.features])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, logits)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
