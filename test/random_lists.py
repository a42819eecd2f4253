"""Random models with loops that carry, read and change lists (ONNX Sequence operators)."""

import random

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from random_loops import Graph, RandomModel

SAMPLES, UNITS = 2, 3
ROW = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
LIST = helper.make_sequence_type_proto(ROW)


def describe(kind, *names):
    """Returns graph inputs or outputs of one ONNX type, or scalars of an element type."""
    if isinstance(kind, int):
        return [helper.make_tensor_value_info(name, kind, []) for name in names]
    return [helper.make_value_info(name, kind) for name in names]


class Body:
    """The body of a loop with one state, a row, and carried lists."""

    def __init__(self, model, carried):
        self.rng, self.model = model.rng, model
        self.graph = Graph(f"b{model.loops}_", model.constants)
        self.index, self.condition, self.state = (self.graph.name() for _ in range(3))
        self.inputs = [self.graph.name() for _ in range(carried)]
        self.lists, self.rows = list(self.inputs), [self.state]

    def number(self, *values):
        return self.graph.int(self.rng.choice(values))

    def make_place(self):
        """Returns an index: the step, the step counted from the end, or possibly out of range."""
        add, index = self.graph.add, self.index
        kinds = ["step", "mirrored", "from the end", "constant", "shifted"]
        kind = self.rng.choices(kinds, weights=[45, 25, 10, 10, 10])[0]
        if kind == "mirrored":
            return add("Sub", add("Sub", self.model.steps, self.number(1)), index)
        if kind == "from the end":
            return add("Sub", self.number(-1), index)
        if kind == "constant":
            return self.number(0, -1, 1)
        return index if kind == "step" else add("Add", index, self.number(0, 0, 1))

    def read(self):
        """Returns a row of the input, of an outer or carried list, or a new row."""
        add, rng = self.graph.add, self.rng
        sources = ["input", "outer list", "carried list", "row"]
        source = rng.choices(sources, weights=[35, 25, 30 if self.lists else 0, 10])[0]
        if source == "input":
            return add("Gather", "x", self.make_place())
        if source == "outer list":
            return add("SequenceAt", rng.choice(self.model.lists), self.make_place())
        if source == "row":
            return add("Tanh", rng.choice(self.rows))
        place = self.number(-1, -1, 0, -2) if rng.random() < 0.8 else self.index
        return add("SequenceAt", rng.choice(self.lists), place)

    def make_state(self):
        """Returns the next state, computed from all rows."""
        self.rows += [self.read() for _ in range(self.rng.choice([1, 2, 3]))]
        state = self.rows[0]
        for row in self.rows[1:]:
            state = self.graph.add(self.rng.choice(["Add", "Mul", "Sub"]), state, row)
        state = self.graph.add("Tanh", state)
        self.rows.append(state)
        return state

    def change(self, values):
        """Returns a list with a row added at either end or removed, or a new list."""
        add, rng = self.graph.add, self.rng
        kind = rng.choices(["append", "prepend", "erase", "construct"], weights=[65, 20, 8, 7])[0]
        if kind == "append":
            return add("SequenceInsert", values, rng.choice(self.rows))
        if kind == "prepend":
            return add("SequenceInsert", values, rng.choice(self.rows), self.number(0))
        if kind == "erase":
            return add("SequenceErase", values, self.number(0, -1))
        return add("SequenceConstruct", *(rng.choice(self.rows) for _ in range(rng.choice([1, 2]))))

    def change_lists(self):
        for k in range(len(self.lists)):
            for _ in range(self.rng.choice([0, 1, 1, 1, 2])):
                self.lists[k] = self.change(self.lists[k])

    def finish(self, state):
        """Returns the graph and the number of sequences that the loop returns."""
        stacked = [self.rng.choice(self.rows)] if self.rng.random() < 0.4 else []
        values = [self.condition, state, *self.lists, *stacked]
        condition, state, *others = [self.graph.add("Identity", value) for value in values]
        inputs = describe(TensorProto.INT64, self.index) + describe(TensorProto.BOOL, self.condition)
        inputs += describe(ROW, self.state) + describe(LIST, *self.inputs)
        outputs = describe(TensorProto.BOOL, condition) + describe(ROW, state)
        lists, stacked = others[: len(self.lists)], others[len(self.lists) :]
        outputs += describe(LIST, *lists) + describe(ROW, *stacked)
        return helper.make_graph(self.graph.nodes, "body", inputs, outputs), len(stacked)


class Lists:
    """One or two loops; the second one also reads lists of the first one."""

    def __init__(self, rng):
        self.rng, self.constants, self.loops = rng, {}, 0
        self.graph = Graph("v", self.constants)
        add, int_ = self.graph.add, self.graph.int
        self.steps = add("Gather", add("Shape", "x"), int_(0))
        self.first = add("Gather", "x", int_(0))
        size = [int_(1)] if rng.random() < 0.5 else []
        self.lists = [add("SplitToSequence", "x", *size, axis=0, keepdims=0)]
        if rng.random() < 0.5:
            self.lists.append(add("SequenceConstruct", self.first, "h"))
        for _ in range(rng.choice([1, 1, 2])):
            self.state = self.add_loop()

    def start(self):
        """Returns the initial value of a carried list."""
        kind = self.rng.choices(["empty", "rows", "list"], weights=[40, 40, 20])[0]
        if kind == "empty":
            return self.graph.add("SequenceEmpty")
        if kind == "list":
            return self.rng.choice(self.lists)
        rows = self.rng.choice([["h"], ["h", self.first], [self.first, self.first, "h"]])
        return self.graph.add("SequenceConstruct", *rows)

    def add_loop(self):
        """Adds a loop, whose lists the next loop reads, and returns its last state."""
        self.loops += 1
        carried = [self.start() for _ in range(self.rng.choice([0, 1, 1, 2]))]
        body = Body(self, len(carried))
        state = body.make_state()
        body.change_lists()
        graph, stacked = body.finish(state)
        steps = self.steps if self.rng.random() < 0.8 else self.graph.int(self.rng.choice([1, 2, 3]))
        results = [self.graph.name() for _ in range(1 + len(carried) + stacked)]
        node = helper.make_node("Loop", [steps, "", "h", *carried], results, f"loop{self.loops}", body=graph)
        self.graph.nodes.append(node)
        self.lists = results[1 : 1 + len(carried)] + self.lists[:1]
        return results[0]

    def read(self, values):
        """Returns a tensor from a list: its rows stacked or concatenated, or one row."""
        kind = self.rng.choices(["stack", "join", "row"], weights=[50, 30, 20])[0]
        if kind == "row":
            return self.graph.add("SequenceAt", values, self.graph.int(self.rng.choice([0, -1, 1])))
        axis, new_axis = self.rng.choice([0, 1, -1]), int(kind == "stack")
        return self.graph.add("ConcatFromSequence", values, axis=axis, new_axis=new_axis)

    def finish(self, steps):
        """Returns the model; its outputs y0, y1, ... are the last state and tensors from lists."""
        carried = self.lists[:-1] or self.lists
        outputs = []
        for k, value in enumerate([self.state, *map(self.read, carried)]):
            outputs.append(helper.make_tensor_value_info(f"y{k}", TensorProto.FLOAT, None))
            self.graph.nodes.append(helper.make_node("Identity", [value], [f"y{k}"], f"output{k}"))
        shapes = {"x": [steps, SAMPLES, UNITS], "h": [SAMPLES, UNITS]}
        inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()]
        tensors = [numpy_helper.from_array(value, name) for name, value in self.constants.items()]
        graph = helper.make_graph(self.graph.nodes, "graph", inputs, outputs, tensors)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        return model


def make(seed):
    rng = random.Random(seed)
    steps, is_symbol = rng.choice([1, 2, 3, 5]), rng.random() < 0.6
    model = Lists(rng).finish("T" if is_symbol else steps)
    generator = np.random.default_rng([seed, 13])
    shapes = {"x": (steps, SAMPLES, UNITS), "h": (SAMPLES, UNITS)}
    arrays = {name: generator.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    return RandomModel(model, arrays)
