"""A test case: a model and its input arrays."""

import dataclasses

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {
    np.dtype(np.float32): TensorProto.FLOAT,
    np.dtype(np.int64): TensorProto.INT64,
    np.dtype(np.int32): TensorProto.INT32,
    np.dtype(np.bool_): TensorProto.BOOL,
}
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


@dataclasses.dataclass
class Case:
    name: str
    model: onnx.ModelProto
    arrays: dict


def generator(*key):
    """Returns a random generator that is seeded by the case."""
    return np.random.default_rng(list(repr(key).encode()))


def model(nodes, inputs, outputs, initializers=(), opset=17):
    """Builds a model; `inputs` and `outputs` are pairs (name, shape) or (name, (dtype, shape))."""

    def info(name, kind):
        dtype, shape = kind if isinstance(kind, tuple) else (np.float32, kind)
        return helper.make_tensor_value_info(name, TYPES[np.dtype(dtype)], shape)

    graph = helper.make_graph(
        nodes,
        "graph",
        [info(*pair) for pair in inputs],
        [info(*pair) for pair in outputs],
        [numpy_helper.from_array(array, name) for name, array in initializers],
    )
    result = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    result.ir_version = 8 if opset < 19 else 10
    return result


def op_case(op, arrays, outputs=1, opset=17, constants=(), label="", shapes=None, **attributes):
    """Returns a case with one node; `constants` are initializers, `shapes` may be symbolic."""
    names = list(arrays)
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(
        op, ["" if arrays[n] is None else n for n in names], results, name="node", **attributes
    )
    given = {n: a for n, a in arrays.items() if a is not None and n not in constants}
    shapes = shapes or {}
    inputs = [(n, (a.dtype, shapes.get(n, a.shape))) for n, a in given.items()]
    initializers = [(n, arrays[n]) for n in constants]
    outputs_info = [(n, (np.float32, None)) for n in results]
    built = model([node], inputs, outputs_info, initializers, opset)
    # The checker requires types of outputs; shape inference adds them.
    for output in built.graph.output:
        output.ClearField("type")
    built = onnx.shape_inference.infer_shapes(built)
    words = [op, f"opset{opset}", label] + [f"{k}={v}" for k, v in attributes.items()]
    return Case("-".join(w for w in words if w), built, given)


def floats(*shape, low=-2.0, high=2.0, key=0):
    return generator(shape, key).uniform(low, high, shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)
