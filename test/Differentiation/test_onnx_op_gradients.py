"""Gradients through every ONNX op that the importer accepts around recurrent layers."""

import numpy as np
import onnx
import onnx.reference
import onnxruntime
import pytest
from gradients import Module, check, check_gradients
from harness import require_tool, run
from onnx import helper, numpy_helper

T, B, F = 3, 2, 4


def node(kind, inputs="x", outputs="y", **attributes):
    """Returns a node; an input between two consecutive spaces is omitted."""
    return helper.make_node(kind, inputs.split(" "), outputs.split(), **attributes)


def ints(name, *values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def number(name, value):
    return numpy_helper.from_array(np.array(value, np.int64), name)


def scalar(name, value):
    return numpy_helper.from_array(np.array(value, np.float32), name)


def weights(*shape, name="w", low=-1.0):
    values = np.random.default_rng(1).uniform(low, 1.5, shape).astype(np.float32)
    return numpy_helper.from_array(values, name)


LABELS = numpy_helper.from_array(np.array([[0, 1, 0, 0], [1, 1, 0, 1], [0, 0, 1, 0]]), "l")
CLASSES = numpy_helper.from_array(np.array([[0, 1], [3, 2], [1, 3]]), "l")

# Nodes and initializers; x is [T, B, F], and positive for ops that require it.
CASES = {
    "Abs": ([node("Abs")], []),
    "Add": ([node("Add", "x w")], [weights(F)]),
    "Add-scalar": ([node("Add", "x w")], [weights()]),
    "Celu": ([node("Sub", "x c", "d"), node("Celu", "d", alpha=0.7)], [scalar("c", 1.0)]),
    "Mish": ([node("Sub", "x c", "d"), node("Mish", "d")], [scalar("c", 1.0)]),
    "Softsign": ([node("Sub", "x c", "d"), node("Softsign", "d")], [scalar("c", 1.0)]),
    "Swish": ([node("Sub", "x c", "d"), node("Swish", "d", alpha=1.3)], [scalar("c", 1.0)]),
    "ThresholdedRelu": ([node("ThresholdedRelu", alpha=0.9)], []),
    "Cast": ([node("Cast", to=onnx.TensorProto.FLOAT)], []),
    "Concat": ([node("Concat", "x w x", axis=2)], [weights(T, B, 1)]),
    "Div": ([node("Div", "x w")], [weights(B, 1, low=0.5)]),
    "Div-by-x": ([node("Div", "w x")], [weights(T, 1, F)]),
    "Clip": ([node("Clip", "x l h")], [scalar("l", 0.7), scalar("h", 1.4)]),
    "Dropout": ([node("Dropout", "x")], []),
    "Elu": ([node("Sub", "x c", "d"), node("Elu", "d", alpha=0.7)], [scalar("c", 1.0)]),
    "Erf": ([node("Erf")], []),
    "Exp": ([node("Exp")], []),
    "Expand": ([node("Expand", "w s", "e"), node("Mul", "x e")], [weights(1, F), ints("s", T, B, F)]),
    "Flatten": ([node("Flatten", axis=2)], []),
    "Gather-one": ([node("Gather", "x i", axis=0)], [ints("i", -1)]),
    "Gather-many": ([node("Gather", "x i", axis=2)], [ints("i", 1, 3, 1)]),
    "Gather-rows-of-a-table": ([node("Gather", "w i", "r"), node("Mul", "x r")],
                               [weights(5, F), ints("i", 2, 2)]),
    "Gelu": ([node("Gelu")], []),
    "Gelu-tanh": ([node("Gelu", approximate="tanh")], []),
    "Gemm": ([node("Reshape", "x s", "f"), node("Gemm", "f w b", transB=1, alpha=0.5, beta=2.0)],
             [ints("s", -1, F), weights(3, F), weights(3, name="b")]),
    "HardSigmoid": ([node("Mul", "x c", "d"), node("HardSigmoid", "d")], [scalar("c", 2.0)]),
    "HardSwish": ([node("Mul", "x c", "d"), node("HardSwish", "d")], [scalar("c", 2.0)]),
    "Identity": ([node("Identity")], []),
    "LayerNormalization": ([node("LayerNormalization", "x w b", axis=-1)],
                           [weights(F), weights(F, name="b")]),
    "LeakyRelu": ([node("Sub", "x c", "d"), node("LeakyRelu", "d", alpha=0.2)], [scalar("c", 1.0)]),
    "Log": ([node("Log")], []),
    "LogSoftmax": ([node("LogSoftmax", axis=-1)], []),
    "MatMul": ([node("MatMul", "x w")], [weights(F, 3)]),
    "MatMul-bias": ([node("MatMul", "x w", "p"), node("Add", "b p")],
                    [weights(F, 3), weights(3, name="b")]),
    "MatMul-left": ([node("MatMul", "w x")], [weights(3, B)]),
    "Mul": ([node("Mul", "x w")], [weights(T, B, F)]),
    "Mul-self": ([node("Mul", "x x")], []),
    "Neg": ([node("Neg")], []),
    "Pow": ([node("Pow", "x c")], [scalar("c", 2.0)]),
    "Pow-half": ([node("Pow", "x c")], [scalar("c", 0.5)]),
    "ReduceMean": ([node("ReduceMean", "x", axes=[0], keepdims=0)], []),
    "ReduceSum": ([node("ReduceSum", "x a", keepdims=1)], [ints("a", 1)]),
    "Relu": ([node("Sub", "x c", "d"), node("Relu", "d")], [scalar("c", 1.0)]),
    "Reshape": ([node("Reshape", "x s")], [ints("s", 0, -1)]),
    "Selu": ([node("Sub", "x c", "d"), node("Selu", "d")], [scalar("c", 1.0)]),
    "Sigmoid": ([node("Sigmoid")], []),
    "Slice": ([node("Slice", "x s e a")], [ints("s", 1), ints("e", 4), ints("a", 2)]),
    "Slice-last": ([node("Slice", "x s e a")], [ints("s", -1), ints("e", 2**63 - 1), ints("a", 0)]),
    "Slice-strided": ([node("Slice", "x s e a t")],
                      [ints("s", 0), ints("e", 4), ints("a", 2), ints("t", 2)]),
    "Slice-reversed": ([node("Slice", "x s e a t")],
                       [ints("s", -1), ints("e", -(2**63)), ints("a", 0), ints("t", -1)]),
    "RotaryEmbedding": ([node("Unsqueeze", "x a", "h"), node("RotaryEmbedding", "h c s p")],
                        [ints("a", 1), weights(5, F // 2, name="c"), weights(5, F // 2, name="s"),
                         numpy_helper.from_array(np.array([[0, 4], [2, 2], [1, 3]]), "p")]),
    "RotaryEmbedding-interleaved": ([node("RotaryEmbedding", "x c s", num_heads=1, interleaved=1)],
                                    [weights(T, B, F // 2, name="c"), weights(T, B, F // 2, name="s")]),
    "Softmax": ([node("Softmax", axis=1)], []),
    "SoftmaxCrossEntropyLoss": ([node("SoftmaxCrossEntropyLoss", "x l", reduction="none")], [LABELS]),
    "SoftmaxCrossEntropyLoss-mean": ([node("Transpose", "x", "z", perm=[0, 2, 1]),
                                      node("SoftmaxCrossEntropyLoss", "z l w", ignore_index=1)],
                                     [CLASSES, weights(F, low=0.5)]),
    "NegativeLogLikelihoodLoss": ([node("Transpose", "x", "z", perm=[0, 2, 1]),
                                   node("NegativeLogLikelihoodLoss", "z l w", reduction="sum")],
                                  [CLASSES, weights(F, low=0.5)]),
    "Softplus": ([node("Sub", "x c", "d"), node("Softplus", "d")], [scalar("c", 1.0)]),
    "Split": ([node("Split", "x s", "p q", axis=2), node("Mul", "p q")], [ints("s", 2, 2)]),
    "Sqrt": ([node("Sqrt")], []),
    "Squeeze": ([node("Unsqueeze", "x a", "u"), node("Tanh", "u", "v"), node("Squeeze", "v a")],
                [ints("a", 1)]),
    "Sub": ([node("Sub", "w x")], [weights(B, F)]),
    "Tanh": ([node("Tanh")], []),
    "Transpose": ([node("Transpose", perm=[2, 0, 1])], []),
    "Atan": ([node("Atan")], []),
    "Einsum": ([node("Einsum", "x w v", equation="tbf,fg,bg->tg")], [weights(F, 3), weights(B, 3, name="v")]),
    "Einsum-diagonal": ([node("Einsum", "x w", equation="tbf,ff->bf")], [weights(F, F)]),
    "GatherElements": ([node("GatherElements", "x i", axis=2)],
                       [numpy_helper.from_array(np.array([[[0, 3, 3], [1, 1, 2]]] * T), "i")]),
    "GatherND": ([node("GatherND", "x i", batch_dims=1)],
                 [numpy_helper.from_array(np.array([[0, 1], [1, 3], [1, 0]]), "i")]),
    "ScatterND": ([node("ScatterND", "x i w")],
                  [numpy_helper.from_array(np.array([[2], [0]]), "i"), weights(2, B, F)]),
    "ScatterND-twice": ([node("ScatterND", "x i w")],
                        [numpy_helper.from_array(np.array([[1], [1]]), "i"), weights(2, B, F)]),
    "ScatterElements": ([node("ScatterElements", "x i w", axis=2)],
                        [numpy_helper.from_array(np.array([[[0, 3], [1, 2]]]), "i"), weights(1, B, 2)]),
    "ArgMax": ([node("ArgMax", "x", "i", axis=2), node("Cast", "i", "f", to=1), node("Mul", "x f")], []),
    "Cos": ([node("Cos")], []),
    "CumSum": ([node("CumSum", "x a")], [ints("a", 0)]),
    "CumProd": ([node("CumProd", "x a")], [number("a", -1)]),
    "CumProd-exclusive": ([node("CumProd", "x a", exclusive=1, reverse=1)], [number("a", 2)]),
    "CumProd-zeros": ([node("Mul", "x c", "d"), node("CumProd", "d a")],
                      [numpy_helper.from_array(np.array([1, 0, 0, 1], np.float32), "c"), number("a", 2)]),
    "CumSum-exclusive": ([node("CumSum", "x a", exclusive=1, reverse=1)], [ints("a", 2)]),
    "Floor": ([node("Floor", "x", "f"), node("Mul", "x f")], []),
    "Less": ([node("Less", "x w", "l"), node("Where", "l x w")], [weights(F)]),
    "LpNormalization": ([node("LpNormalization", axis=2)], []),
    "LpNormalization-1": ([node("LpNormalization", axis=1, p=1)], []),
    "Max": ([node("Max", "x w v")], [weights(F, low=0.5), weights(T, B, F, name="v")]),
    "Mean": ([node("Mean", "x w")], [weights(B, F)]),
    "Min": ([node("Min", "x w")], [weights(B, 1, low=0.5)]),
    "Mod": ([node("Mod", "x w", fmod=1)], [weights(F, low=0.3)]),
    "OneHot": ([node("OneHot", "i d v", "h"), node("Mul", "x h")],
               [ints("i", 1, 3), ints("d", F), weights(2, name="v")]),
    "Reciprocal": ([node("Reciprocal")], []),
    "RMSNormalization": ([node("RMSNormalization", "x w")], [weights(F)]),
    "ReduceL1": ([node("ReduceL1", axes=[2])], []),
    "ReduceL2": ([node("ReduceL2", axes=[0, 2], keepdims=0)], []),
    "ReduceLogSum": ([node("ReduceLogSum", axes=[1])], []),
    "ReduceLogSumExp": ([node("ReduceLogSumExp", axes=[1, 2])], []),
    "ReduceMax": ([node("ReduceMax", axes=[2])], []),
    "ReduceMax-time": ([node("ReduceMax", axes=[0], keepdims=0)], []),
    "ReduceMin": ([node("ReduceMin", axes=[0, 1])], []),
    "ReduceProd": ([node("ReduceProd", axes=[2], keepdims=0)], []),
    "ReduceProd-one-zero": ([node("Mul", "x c", "d"), node("ReduceProd", "d", axes=[2])],
                            [numpy_helper.from_array(np.array([1, 0, 1, 1], np.float32), "c")]),
    "ReduceProd-two-zeros": ([node("Mul", "x c", "d"), node("ReduceProd", "d", axes=[2])],
                             [numpy_helper.from_array(np.array([1, 0, 0, 1], np.float32), "c")]),
    "ReduceSumSquare": ([node("ReduceSumSquare", axes=[1])], []),
    "Sin": ([node("Sin")], []),
    "Sum": ([node("Sum", "x w x")], [weights(F)]),
    "Tile": ([node("Tile", "x r")], [ints("r", 1, 2, 3)]),
    "SwiGLU": ([node("Mul", "x w", "z"), node("SwiGLU", "x z", alpha=1.3)], [weights(T, B, F)]),
    "TensorScatter": ([node("TensorScatter", "x w i", axis=2)], [weights(T, B, 2), ints("i", 0, 2, 1)]),
    "TensorScatter-circular": ([node("TensorScatter", "x w i", axis=2, mode="circular")],
                               [weights(T, B, 3), ints("i", 3, 6, 1)]),
    "TensorScatter-start": ([node("TensorScatter", "x w")], [weights(T, 1, F)]),
    "Trilu": ([node("Trilu", "x k", upper=0)], [ints("k", 1)]),
}  # fmt: skip


LABELS = numpy_helper.from_array(np.array([[0, 1, 0, 0], [1, 1, 0, 1], [0, 0, 1, 0]]), "l")
CLASSES = numpy_helper.from_array(np.array([[0, 1], [3, 2], [1, 3]]), "l")

# Nodes and initializers; x is [N, C, H, W].
N, C, H, W = 2, 4, 5, 6
IMAGE_CASES = {
    "Conv": ([node("Conv", "x w b")], [weights(3, C, 3, 2), weights(3, name="b")]),
    "Conv-pads-strides": ([node("Conv", "x w b", pads=[1, 0, 2, 1], strides=[2, 3])],
                          [weights(3, C, 3, 2), weights(3, name="b")]),
    "Conv-dilations": ([node("Conv", "x w", dilations=[2, 3], pads=[1, 1, 1, 1])],
                       [weights(2, C, 3, 2)]),
    "Conv-groups": ([node("Conv", "x w b", group=2, auto_pad="SAME_UPPER", strides=[2, 1])],
                    [weights(6, 2, 3, 3), weights(6, name="b")]),
    "Conv-depthwise": ([node("Conv", "x w", group=4)], [weights(8, 1, 2, 3)]),
    "Conv-sparse-strides": ([node("Conv", "x w", strides=[3, 4])], [weights(2, C, 1, 1)]),
    "Conv-1d": ([node("Reshape", "x s", "f"), node("Conv", "f w", strides=[2], pads=[1, 0])],
                [ints("s", 0, C, -1), weights(2, C, 3)]),
    "MaxPool": ([node("MaxPool", kernel_shape=[2, 2], strides=[2, 2])], []),
    "MaxPool-overlapping": ([node("MaxPool", kernel_shape=[3, 2], pads=[1, 1, 0, 1])], []),
    "MaxPool-dilations": ([node("MaxPool", kernel_shape=[2, 2], dilations=[2, 3], ceil_mode=1)], []),
    "AveragePool": ([node("AveragePool", kernel_shape=[2, 3], strides=[1, 2])], []),
    "AveragePool-pads": ([node("AveragePool", kernel_shape=[3, 3], pads=[1, 2, 1, 0])], []),
    "AveragePool-counted": ([node("AveragePool", kernel_shape=[3, 3], pads=[1, 1, 1, 1],
                                  strides=[2, 3], ceil_mode=1, count_include_pad=1)], []),
    "GlobalAveragePool": ([node("GlobalAveragePool")], []),
    "BatchNormalization": ([node("BatchNormalization", "x w b m v")],
                           [weights(C), weights(C, name="b"), weights(C, name="m"),
                            weights(C, name="v", low=0.5)]),
    "BatchNormalization-training": ([node("BatchNormalization", "x w b m v", "y p q",
                                          training_mode=1)],
                                    [weights(C), weights(C, name="b"), weights(C, name="m"),
                                     weights(C, name="v", low=0.5)]),
    "Pad": ([node("Pad", "x p")], [ints("p", 0, 1, 2, 0, 0, 0, 1, 3)]),
    "Pad-reflect": ([node("Pad", "x p", mode="reflect")], [ints("p", 0, 0, 2, 1, 0, 0, 1, 3)]),
    "Pad-edge": ([node("Pad", "x p", mode="edge")], [ints("p", 0, 0, 2, 1, 0, 0, 1, 3)]),
    "Pad-wrap": ([node("Pad", "x p", mode="wrap")], [ints("p", 0, 0, 2, 1, 0, 0, 1, 3)]),
    "Pad-negative": ([node("Pad", "x p", mode="reflect")], [ints("p", 0, 0, -1, 1, 0, 0, 1, -2)]),
    "ConvTranspose": ([node("ConvTranspose", "x w b")], [weights(C, 3, 3, 2), weights(3, name="b")]),
    "ConvTranspose-strides": ([node("ConvTranspose", "x w b", strides=[2, 3], pads=[1, 0, 2, 1],
                                    output_padding=[1, 2])],
                              [weights(C, 3, 3, 2), weights(3, name="b")]),
    "ConvTranspose-dilations": ([node("ConvTranspose", "x w", dilations=[2, 3])], [weights(C, 2, 3, 2)]),
    "ConvTranspose-groups": ([node("ConvTranspose", "x w b", group=2, strides=[2, 2],
                                   auto_pad="SAME_UPPER")],
                             [weights(C, 3, 3, 3), weights(6, name="b")]),
    "DepthToSpace": ([node("DepthToSpace", blocksize=2, mode="CRD")], []),
    "SpaceToDepth": ([node("Pad", "x p", "q"), node("SpaceToDepth", "q", blocksize=2)],
                     [ints("p", 0, 0, 1, 0, 0, 0, 0, 0)]),
    "GlobalMaxPool": ([node("GlobalMaxPool")], []),
    "GroupNormalization": ([node("GroupNormalization", "x w b", num_groups=2)],
                           [weights(C), weights(C, name="b")]),
    "InstanceNormalization": ([node("InstanceNormalization", "x w b")],
                              [weights(C), weights(C, name="b")]),
    "LpPool": ([node("LpPool", kernel_shape=[3, 2], strides=[1, 2])], []),
    "LpPool-3": ([node("LpPool", kernel_shape=[2, 2], p=3, pads=[1, 0, 0, 1])], []),
    "Resize": ([node("Resize", "x  s")], [numpy_helper.from_array(np.float32([1, 1, 2, 3]), "s")]),
    "Resize-linear": ([node("Resize", "x   s", mode="linear", axes=[3, 2])], [ints("s", 3, 7)]),
    "Resize-cubic": ([node("Resize", "x   s", mode="cubic", axes=[2, 3], exclude_outside=1)], [ints("s", 8, 4)]),
    "PRelu": ([node("Sub", "x c", "d"), node("PRelu", "d w")], [scalar("c", 1.0), weights(C, 1, 1)]),
    # A value with several uses, and a residual connection around a layer.
    "residual": ([node("Conv", "x w", "c", pads=[1, 1, 1, 1]), node("Relu", "c", "r"),
                  node("Conv", "r v", "d", pads=[1, 1, 1, 1]), node("Add", "d x", "y")],
                 [weights(C, C, 3, 3), weights(C, C, 3, 3, name="v")]),
    "shared-weights": ([node("Conv", "x w", "c"), node("Conv", "c w", "y")],
                       [weights(C, C, 2, 2)]),
}  # fmt: skip


def make_model(nodes, initializers, shape):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        initializers,
    )
    # ONNX Runtime counts padding in AveragePool only since opset 19; the axes of ReduceMean are an
    # attribute before opset 18.
    newer = {"Attention": 24, "DFT": 17, "Upsample": 9, "ReduceMean": 17, "Gelu": 20, "AveragePool": 19, "Swish": 24, "Pad": 19}
    newer |= {"CumProd": 26, "SwiGLU": 28, "TensorScatter": 24}
    newer |= {"RMSNormalization": 23, "RotaryEmbedding": 23, "GroupNormalization": 21}
    newer |= dict.fromkeys(
        "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMin ReduceProd "
        "ReduceSumSquare".split(), 17
    )  # fmt: skip
    version = min((newer[node.op_type] for node in nodes if node.op_type in newer), default=18)
    opset = helper.make_opsetid("", version)
    return helper.make_model(graph, opset_imports=[opset], ir_version=8)


def output_shape(model, x):
    feed = {"x": x.astype(np.float32)}
    # ONNX Runtime does not support the newest operators.
    if model.opset_import[0].version > 25:
        return onnx.reference.ReferenceEvaluator(model).run(["y"], feed)[0].shape
    return onnxruntime.InferenceSession(model.SerializeToString()).run(["y"], feed)[0].shape


def check_model(tmp_path, model, x, initializers, passes=(), loss="loss"):
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    translate = require_tool("bppsa-translate")
    source = check(run(translate, "--import-onnx", tmp_path / "model.onnx"))
    before = ["--bppsa-add-loss=loss=mse", "--canonicalize", "--bppsa-slice-early"]
    arrays = [numpy_helper.to_array(tensor).astype(np.float64) for tensor in initializers
              if tensor.data_type == onnx.TensorProto.FLOAT]  # fmt: skip
    target = np.random.default_rng(3).standard_normal(output_shape(model, x))
    module = Module(tmp_path, source, [*before, "--bppsa-raise-products", *passes], loss)
    check_gradients(module, [x, *arrays, target])


@pytest.mark.parametrize("shape", [[T, B, F], ["T", "B", F]], ids=["static", "dynamic"])
@pytest.mark.parametrize("name", CASES)
def test_gradient(tmp_path, name, shape):
    nodes, initializers = CASES[name]
    x = np.random.default_rng(2).uniform(0.4, 1.9, (T, B, F))
    # Dropout is the identity unless the program trains.
    passes = ["--bppsa-specialize-training"] if name == "Dropout" else []
    check_model(tmp_path, make_model(nodes, initializers, shape), x, initializers, passes)


@pytest.mark.parametrize("samples", [N, "N"], ids=["static", "dynamic"])
@pytest.mark.parametrize("name", IMAGE_CASES)
def test_image_gradient(tmp_path, name, samples):
    nodes, initializers = IMAGE_CASES[name]
    x = np.random.default_rng(2).uniform(0.4, 1.9, (N, C, H, W))
    model = make_model(nodes, initializers, [samples, C, H, W])
    if name == "BatchNormalization-training":
        passes, loss = ["--bppsa-specialize-training"], "training_loss"
        return check_model(tmp_path, model, x, initializers, passes, loss)
    check_model(tmp_path, model, x, initializers)
