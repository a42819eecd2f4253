"""Small models with several layers, for tests of the order of the backward pass.

Each function returns a model with input x and output y (three classes), and the shapes of x and
of the target for 16 samples.
"""

import numpy as np
from onnx import TensorProto, helper, numpy_helper


def weights(**shapes):
    rng = np.random.default_rng(0)
    return [
        numpy_helper.from_array((rng.standard_normal(s) / np.sqrt(s[-1])).astype(np.float32), name)
        for name, s in shapes.items()
    ]


def make_model(nodes, initializers, shape, outputs):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, outputs)
    graph = helper.make_graph(nodes, "layers", [x], [y], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def dense():
    """Shared weights, a residual connection, and an operation with two results."""
    nodes = [
        helper.make_node("Gemm", ["x", "a", "p"], ["x1"]),
        helper.make_node("Tanh", ["x1"], ["x2"]),
        helper.make_node("MatMul", ["x2", "b"], ["x3"]),
        helper.make_node("Sigmoid", ["x3"], ["x4"]),
        helper.make_node("MatMul", ["x4", "b"], ["x5"]),
        helper.make_node("Add", ["x5", "x2"], ["x6"]),
        helper.make_node("Split", ["x6"], ["left", "right"], axis=1),
        helper.make_node("Mul", ["left", "right"], ["x7"]),
        helper.make_node("Gemm", ["x7", "c", "q"], ["y"]),
    ]
    tensors = weights(a=(8, 8), p=(8,), b=(8, 8), c=(4, 3), q=(3,))
    return make_model(nodes, tensors, ["N", 8], ["N", 3]), (16, 8), (16,)


def recurrent():
    """Two layers; the second one is bidirectional."""
    nodes = [
        helper.make_node("GRU", ["x", "w", "r", "b"], ["s"], hidden_size=8),
        helper.make_node("Squeeze", ["s", "one"], ["h"]),
        helper.make_node("LSTM", ["h", "v", "u"], ["t"], hidden_size=4, direction="bidirectional"),
        helper.make_node("Transpose", ["t"], ["last"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["last", "rows"], ["z"]),
        helper.make_node("MatMul", ["z", "c"], ["y"]),
    ]
    tensors = weights(w=(1, 24, 3), r=(1, 24, 8), b=(1, 48), v=(2, 16, 8), u=(2, 16, 4), c=(8, 3))
    tensors += [numpy_helper.from_array(np.array(v), n) for n, v in (("one", [1]), ("rows", [0, 0, 8]))]
    return make_model(nodes, tensors, [6, "N", 3], [6, "N", 3]), (6, 16, 3), (6, 16)


def convolutional():
    """BatchNormalization in training mode, which updates running statistics."""
    nodes = [
        helper.make_node("Conv", ["x", "k"], ["x1"], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["x1", "g", "h", "m", "v"], ["x2", "m2", "v2"], training_mode=1),
        helper.make_node("Relu", ["x2"], ["x3"]),
        helper.make_node("Conv", ["x3", "l"], ["x4"]),
        helper.make_node("Flatten", ["x4"], ["x5"]),
        helper.make_node("MatMul", ["x5", "c"], ["y"]),
    ]
    tensors = weights(k=(4, 2, 3, 3), l=(3, 4, 3, 3), c=(27, 3))
    tensors += [
        numpy_helper.from_array(np.full(4, value, np.float32), name)
        for name, value in (("g", 1), ("h", 0), ("m", 0), ("v", 1))
    ]
    return make_model(nodes, tensors, ["N", 2, 5, 5], ["N", 3]), (16, 2, 5, 5), (16,)


def scaled():
    """A weight that is a product, so that the gradient of each factor reads the other one."""
    nodes = [
        helper.make_node("Mul", ["v", "g"], ["a"]),
        helper.make_node("MatMul", ["x", "a"], ["h"]),
        helper.make_node("Tanh", ["h"], ["t"]),
        helper.make_node("MatMul", ["t", "b"], ["u"]),
        helper.make_node("Tanh", ["u"], ["w"]),
        helper.make_node("MatMul", ["w", "c"], ["y"]),
    ]
    return make_model(nodes, weights(v=(8, 4), g=(1, 4), b=(4, 4), c=(4, 3)), ["N", 8], ["N", 3]), (16, 8), (16,)


MODELS = {"dense": dense, "recurrent": recurrent, "convolutional": convolutional, "scaled": scaled}


def wide():
    """Two layers whose gradients have separate kernel launches and memory on a GPU."""
    nodes = [
        helper.make_node("RNN", ["x", "w", "r", "b"], ["s"], hidden_size=64),
        helper.make_node("Squeeze", ["s", "one"], ["h"]),
        helper.make_node("RNN", ["h", "v", "u"], ["t"], hidden_size=64),
        helper.make_node("Squeeze", ["t", "one"], ["z"]),
        helper.make_node("MatMul", ["z", "c"], ["y"]),
    ]
    tensors = weights(
        w=(1, 64, 3), r=(1, 64, 64), b=(1, 128), v=(1, 64, 64), u=(1, 64, 64), c=(64, 3)
    )
    tensors.append(numpy_helper.from_array(np.array([1]), "one"))
    return make_model(nodes, tensors, [6, "N", 3], [6, "N", 3]), (6, 16, 3), (6, 16)
