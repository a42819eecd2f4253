"""Gradients through every ONNX op that the importer accepts around recurrent layers."""

import numpy as np
import onnx
import onnxruntime
import pytest
from gradients import Module, check, check_gradients
from harness import require_tool, run
from onnx import helper, numpy_helper

T, B, F = 3, 2, 4


def node(kind, inputs="x", outputs="y", **attributes):
    return helper.make_node(kind, inputs.split(), outputs.split(), **attributes)


def ints(name, *values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def scalar(name, value):
    return numpy_helper.from_array(np.array(value, np.float32), name)


def weights(*shape, name="w", low=-1.0):
    values = np.random.default_rng(1).uniform(low, 1.5, shape).astype(np.float32)
    return numpy_helper.from_array(values, name)


# Nodes and initializers; x is [T, B, F] and positive where that matters.
CASES = {
    "Abs": ([node("Abs")], []),
    "Add": ([node("Add", "x w")], [weights(F)]),
    "Add-scalar": ([node("Add", "x w")], [weights()]),
    "Cast": ([node("Cast", to=onnx.TensorProto.FLOAT)], []),
    "Concat": ([node("Concat", "x w x", axis=2)], [weights(T, B, 1)]),
    "Div": ([node("Div", "x w")], [weights(B, 1, low=0.5)]),
    "Div-by-x": ([node("Div", "w x")], [weights(T, 1, F)]),
    "Dropout": ([node("Dropout", "x")], []),
    "Exp": ([node("Exp")], []),
    "Expand": ([node("Expand", "w s", "e"), node("Mul", "x e")], [weights(1, F), ints("s", T, B, F)]),
    "Flatten": ([node("Flatten", axis=2)], []),
    "Gather-one": ([node("Gather", "x i", axis=0)], [ints("i", -1)]),
    "Gather-many": ([node("Gather", "x i", axis=2)], [ints("i", 1, 3, 1)]),
    "Gather-rows-of-a-table": ([node("Gather", "w i", "r"), node("Mul", "x r")],
                               [weights(5, F), ints("i", 2, 2)]),
    "Gemm": ([node("Reshape", "x s", "f"), node("Gemm", "f w b", transB=1, alpha=0.5, beta=2.0)],
             [ints("s", -1, F), weights(3, F), weights(3, name="b")]),
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
    "Sigmoid": ([node("Sigmoid")], []),
    "Slice": ([node("Slice", "x s e a")], [ints("s", 1), ints("e", 4), ints("a", 2)]),
    "Slice-last": ([node("Slice", "x s e a")], [ints("s", -1), ints("e", 2**63 - 1), ints("a", 0)]),
    "Slice-strided": ([node("Slice", "x s e a t")],
                      [ints("s", 0), ints("e", 4), ints("a", 2), ints("t", 2)]),
    "Slice-reversed": ([node("Slice", "x s e a t")],
                       [ints("s", -1), ints("e", -(2**63)), ints("a", 0), ints("t", -1)]),
    "Softmax": ([node("Softmax", axis=1)], []),
    "Split": ([node("Split", "x s", "p q", axis=2), node("Mul", "p q")], [ints("s", 2, 2)]),
    "Sqrt": ([node("Sqrt")], []),
    "Squeeze": ([node("Unsqueeze", "x a", "u"), node("Tanh", "u", "v"), node("Squeeze", "v a")],
                [ints("a", 1)]),
    "Sub": ([node("Sub", "w x")], [weights(B, F)]),
    "Tanh": ([node("Tanh")], []),
    "Transpose": ([node("Transpose", perm=[2, 0, 1])], []),
}  # fmt: skip


def make_model(nodes, initializers, shape):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        initializers,
    )
    reduces = any(node.op_type == "ReduceMean" for node in nodes)
    opset = helper.make_opsetid("", 17 if reduces else 18)
    return helper.make_model(graph, opset_imports=[opset], ir_version=8)


def output_shape(model, x):
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return session.run(None, {"x": x.astype(np.float32)})[0].shape


@pytest.mark.parametrize("shape", [[T, B, F], ["T", "B", F]], ids=["static", "dynamic"])
@pytest.mark.parametrize("name", CASES)
def test_gradient(tmp_path, name, shape):
    nodes, initializers = CASES[name]
    model = make_model(nodes, initializers, shape)
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    translate = require_tool("bppsa-translate")
    source = check(run(translate, "--import-onnx", tmp_path / "model.onnx"))
    passes = ["--bppsa-add-loss=loss=mse", "--canonicalize", "--bppsa-slice-early"]
    passes += ["--bppsa-raise-products"]
    # Dropout is the identity where a program does not train.
    passes += ["--bppsa-specialize-dropout"] if name == "Dropout" else []
    rng = np.random.default_rng(2)
    x = rng.uniform(0.4, 1.9, (T, B, F))
    arrays = [numpy_helper.to_array(tensor).astype(np.float64) for tensor in initializers
              if tensor.data_type == onnx.TensorProto.FLOAT]  # fmt: skip
    arrays = [x, *arrays, rng.standard_normal(output_shape(model, x))]
    check_gradients(Module(tmp_path, source, passes), arrays)
