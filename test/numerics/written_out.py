"""Layers over time as PyTorch's dynamo exporter writes nn.RNN: one node per operation and step."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper


class WrittenOut:
    """A graph of `layers` layers of nn.RNN, samples first, and a linear layer on all outputs."""

    def __init__(self, steps, layers=1, directions=1, features=3, hidden=8):
        self.steps, self.hidden, self.nodes, self.tensors = steps, hidden, [], []
        self.rng, self.initializers = np.random.default_rng(7), {}
        self.set_indices(range(steps + 1))
        self.set("zero", np.zeros((), np.float32))
        batch = self.add("Shape", "x", start=0, end=1)
        shape = self.add("Concat", self.set("one", np.array([1])), batch, self.set("hidden", np.array([hidden])), axis=0)
        self.state = self.add("Expand", "zero", shape)
        value = self.add("Transpose", "x", perm=[1, 0, 2])
        for layer in range(layers):
            size = features if layer == 0 else hidden * directions
            outputs = [self.add_direction(value, size, layer, reverse) for reverse in range(directions)]
            value = self.add("Concat", *outputs, axis=2) if directions > 1 else outputs[0]
        value = self.add("Transpose", value, perm=[1, 0, 2])
        value = self.add("MatMul", value, self.set_random("head.weight", hidden * directions, 2))
        self.nodes.append(helper.make_node("Add", [value, self.set_random("head.bias", 2)], ["y"], "output"))
        self.features = features

    def set(self, name, value):
        self.initializers[name] = numpy_helper.from_array(value, name)
        return name

    def set_random(self, name, *shape):
        return self.set(name, self.rng.uniform(-0.5, 0.5, shape).astype(np.float32))

    def set_indices(self, values):
        for value in values:
            self.set(f"i{value}", np.array([value]))

    def add(self, op, *inputs, **attributes):
        name = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], f"node_{name}", **attributes))
        return name

    def add_direction(self, value, size, layer, reverse):
        suffix = f"_l{layer}" + "_reverse" * reverse
        product = self.add("MatMul", value, self.set_random("weight_ih" + suffix, size, self.hidden))
        product = self.add("Add", product, self.set_random("bias_ih" + suffix, self.hidden))
        if reverse:
            self.set("minus", np.array([-1]))
            self.set("end", np.array([-(2**62)]))
            product = self.add("Slice", product, "minus", "end", "i0", "minus")
        weight = self.set_random("weight_hh" + suffix, self.hidden, self.hidden)
        bias, state, outputs = self.set_random("bias_hh" + suffix, self.hidden), self.state, []
        inputs = [self.add("Slice", product, f"i{t}", f"i{t + 1}", "i0") for t in range(self.steps)]
        inputs = [self.add("Squeeze", value, "i0") for value in inputs]
        for value in inputs:
            state = self.add("MatMul", state, weight)
            state = self.add("Tanh", self.add("Add", self.add("Add", state, bias), value))
            outputs.append(state)
        return self.add("Concat", *(outputs[::-1] if reverse else outputs), axis=0)

    def model(self):
        x, y = (
            helper.make_tensor_value_info(name, TensorProto.FLOAT, ["B", self.steps, size])
            for name, size in (("x", self.features), ("y", 2))
        )
        graph = helper.make_graph(self.nodes, "rnn", [x], [y], list(self.initializers.values()))
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
