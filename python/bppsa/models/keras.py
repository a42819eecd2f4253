# Part of the bppsa project, under the MIT License.
"""Example models as the usual Keras converter writes them, built node by node.

Keras is batch-major, so the converter puts a Transpose before each recurrent node and after its
output. Kernels are transposed and their gates reordered for ONNX. GRU has reset_after, which is
linear_before_reset = 1. The initial state is a zero tensor whose batch size is computed in the
graph.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
_KERAS_GATES = {"GRU": "zrh", "LSTM": "ifco"}
_ONNX_GATES = {"GRU": "zrh", "LSTM": "iofc"}


def _glorot(rng, rows, columns):
    limit = np.sqrt(6.0 / (rows + columns))
    return rng.uniform(-limit, limit, (rows, columns))


def _orthogonal_rows(rng, rows, columns):
    """Keras' orthogonal initializer for a matrix with fewer rows than columns."""
    q, r = np.linalg.qr(rng.standard_normal((columns, rows)))
    return (q * np.sign(np.diag(r))).T


class KerasLayer:
    """Weights of one recurrent layer in the layout of Keras.

    kernel [I, G H], recurrent [H, G H], bias [2, G H] for GRU and [G H] for LSTM, with G gates.
    """

    def __init__(self, kind, features, hidden, rng):
        self.kind, self.hidden = kind, hidden
        width = len(_KERAS_GATES[kind]) * hidden
        self.kernel = _glorot(rng, features, width).astype(np.float32)
        self.recurrent = _orthogonal_rows(rng, hidden, width).astype(np.float32)
        self.bias = np.zeros((2, width) if kind == "GRU" else width, np.float32)
        if kind == "LSTM":
            self.bias[hidden : 2 * hidden] = 1.0  # unit_forget_bias

    def _onnx_order(self, matrix):
        """Transposes [.., G H] to [G H, ..] and reorders the gates for ONNX."""
        gates = dict(
            zip(_KERAS_GATES[self.kind], np.split(matrix, len(_KERAS_GATES[self.kind]), axis=-1))
        )
        return np.concatenate([gates[gate].T for gate in _ONNX_GATES[self.kind]])

    def onnx_weights(self):
        """Returns W [1, G H, I], R [1, G H, H] and B [1, 2 G H] of the ONNX node."""
        if self.kind == "GRU":
            bias = np.concatenate([self._onnx_order(self.bias[0]), self._onnx_order(self.bias[1])])
        else:
            bias = np.concatenate([self._onnx_order(self.bias), np.zeros_like(self.bias)])
        return (
            self._onnx_order(self.kernel)[None],
            self._onnx_order(self.recurrent)[None],
            bias[None],
        )

    def run(self, x):
        """Evaluates Keras' formulas in float64: all hidden states [B, T, H] for x [B, T, I]."""
        sigmoid = lambda a: 1.0 / (1.0 + np.exp(-a))
        count = len(_KERAS_GATES[self.kind])
        h = c = np.zeros((x.shape[0], self.hidden))
        states = []
        for step in range(x.shape[1]):
            given = (
                x[:, step].astype(np.float64) @ self.kernel
                + self.bias.reshape(-1, self.bias.shape[-1])[0]
            )
            if self.kind == "GRU":
                kept = h @ self.recurrent + self.bias[1]
                (xz, xr, xh), (hz, hr, hh) = np.split(given, count, 1), np.split(kept, count, 1)
                z = sigmoid(xz + hz)
                h = z * h + (1.0 - z) * np.tanh(xh + sigmoid(xr + hr) * hh)
            else:
                i, f, g, o = np.split(given + h @ self.recurrent, count, 1)
                c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
                h = sigmoid(o) * np.tanh(c)
            states.append(h)
        return np.stack(states, axis=1)


class _Graph:
    """Collects nodes and initializers with converter-like names."""

    def __init__(self):
        self.nodes, self.initializers = [], []

    def constant(self, name, value, dtype=np.int64):
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(value, dtype), name))
        return name

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(
            helper.make_node(op, inputs, [output], name=output.split(":")[0], **attributes)
        )
        return output

    def recurrent(self, scope, layer, x, sequences):
        """Adds one Keras layer on batch-major x.

        Returns all hidden states [B, T, H] if `sequences` is true, and otherwise the last one [B,
        H].
        """
        major = self.node("Transpose", [x], f"{scope}/transpose:0", perm=[1, 0, 2])
        shape = self.node("Shape", [major], f"{scope}/Shape:0")
        one, two = self.constant(f"{scope}/one", [1]), self.constant(f"{scope}/two", [2])
        batch = self.node("Slice", [shape, one, two], f"{scope}/strided_slice:0")
        size = self.constant(f"{scope}/units", [layer.hidden])
        extent = self.node("Concat", [one, batch, size], f"{scope}/zeros/packed:0", axis=0)
        zero = numpy_helper.from_array(np.zeros(1, np.float32))
        zeros = self.node("ConstantOfShape", [extent], f"{scope}/zeros:0", value=zero)

        names = [
            self.constant(f"{scope}/{letter}", weight, np.float32)
            for letter, weight in zip("WRB", layer.onnx_weights())
        ]
        inputs = [major, *names, "", zeros] + ([zeros] if layer.kind == "LSTM" else [])
        outputs = [f"{scope}/Y:0", f"{scope}/Y_h:0"]
        attributes = {"hidden_size": layer.hidden, "direction": "forward"}
        if layer.kind == "GRU":
            attributes["linear_before_reset"] = 1
        self.nodes.append(
            helper.make_node(layer.kind, inputs, outputs, name=f"{scope}/cell", **attributes)
        )
        if not sequences:
            return self.node(
                "Squeeze", [outputs[1], self.constant(f"{scope}/first", [0])], f"{scope}/last:0"
            )
        steps = self.node("Squeeze", [outputs[0], one], f"{scope}/squeeze:0")
        return self.node("Transpose", [steps], f"{scope}/transpose_1:0", perm=[1, 0, 2])

    def dense(self, scope, kernel, bias, x, output):
        product = self.node(
            "MatMul", [x, self.constant(f"{scope}/kernel", kernel, np.float32)], f"{scope}/MatMul:0"
        )
        return self.node("Add", [product, self.constant(f"{scope}/bias", bias, np.float32)], output)

    def model(self, inputs, outputs):
        value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        graph = helper.make_graph(
            self.nodes,
            "keras",
            [value(*i) for i in inputs],
            [value(*o) for o in outputs],
            self.initializers,
        )
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8
        )
        onnx.checker.check_model(model, full_check=True)
        return model


def _compare(model, reference, features):
    """Compares all outputs in ONNX Runtime with the float64 reference at several shapes."""
    import onnxruntime

    session = onnxruntime.InferenceSession(model.SerializeToString())
    for batch, steps in ((1, 1), (5, 2), (4, 33)):
        x = (
            np.random.default_rng(steps)
            .standard_normal((batch, steps, features))
            .astype(np.float32)
        )
        for found, expected in zip(session.run(None, {"x": x}), reference(x)):
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-6)


def gru_classifier(features=12, hidden=20, classes=11, seed=6):
    """GRU(20), Dense(11), softmax. Outputs: logits and probabilities; x is [B, T, 12]."""
    rng = np.random.default_rng(seed)
    layer = KerasLayer("GRU", features, hidden, rng)
    kernel, bias = _glorot(rng, hidden, classes).astype(np.float32), np.zeros(classes, np.float32)
    graph = _Graph()
    last = graph.recurrent("gru", layer, "x", sequences=False)
    graph.dense("dense", kernel, bias, last, "logits")
    graph.node("Softmax", ["logits"], "probabilities", axis=-1)
    model = graph.model(
        [("x", ["B", "T", features])],
        [("logits", ["B", classes]), ("probabilities", ["B", classes])],
    )

    def reference(x):
        logits = layer.run(x)[:, -1] @ kernel + bias
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        return logits, weights / weights.sum(axis=1, keepdims=True)

    _compare(model, reference, features)
    return model


def lstm_regressor(features=3, hidden=16, outputs=2, seed=7):
    """LSTM(16, sequences), mean over time, Dense(2): a regression for mse; x is [B, T, 3]."""
    rng = np.random.default_rng(seed)
    layer = KerasLayer("LSTM", features, hidden, rng)
    kernel, bias = _glorot(rng, hidden, outputs).astype(np.float32), np.zeros(outputs, np.float32)
    graph = _Graph()
    steps = graph.recurrent("lstm", layer, "x", sequences=True)
    mean = graph.node(
        "ReduceMean", [steps], "global_average_pooling1d/Mean:0", axes=[1], keepdims=0
    )
    graph.dense("dense", kernel, bias, mean, "y")
    model = graph.model([("x", ["B", "T", features])], [("y", ["B", outputs])])
    _compare(model, lambda x: (layer.run(x).mean(axis=1) @ kernel + bias,), features)
    return model


EXAMPLES = {"keras_gru": gru_classifier, "keras_lstm": lstm_regressor}


def make(name):
    """Creates and checks one example; returns an onnx.ModelProto."""
    return EXAMPLES[name]()
