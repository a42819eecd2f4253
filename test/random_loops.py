"""Random models with Loop and Scan that access carried arrays at computed indices."""

import dataclasses

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

UNITS = 3
# Longer loops are never unrolled.
LONG = 65

FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
DTYPES = {FLOAT: np.float32, INT: np.int64, BOOL: np.bool_}


@dataclasses.dataclass
class RandomModel:
    model: onnx.ModelProto
    arrays: dict  # graph inputs


@dataclasses.dataclass(frozen=True)
class Buffer:
    """A type of carried array: `K` rows along `axis`."""

    shape: tuple  # sizes are "K", "N" or integers
    axis: int
    kind: int = FLOAT

    @property
    def row(self):
        return self.shape[: self.axis] + self.shape[self.axis + 1 :]


BUFFERS = [
    Buffer(("K", "N", UNITS), 0),
    Buffer(("N", "K", UNITS), 1),
    Buffer(("N", UNITS, "K"), 2),
    Buffer(("K", UNITS), 0),
    Buffer(("K",), 0),
    Buffer(("K", 1, "N", UNITS), 0),
    Buffer(("K",), 0, INT),
]


class Graph:
    """Nodes with unique names."""

    def __init__(self, prefix, constants):
        self.prefix, self.constants = prefix, constants
        self.nodes, self.count = [], 0

    def name(self):
        self.count += 1
        return f"{self.prefix}{self.count}"

    def add(self, op, *inputs, **attributes):
        output = self.name()
        self.nodes.append(helper.make_node(op, inputs, [output], name=f"{output}_{op}", **attributes))
        return output

    def const(self, value):
        name = f"{self.prefix}c{len(self.constants)}"
        self.constants[name] = np.asarray(value)
        return name

    def ints(self, *values):
        return self.const(np.array(values, np.int64))

    def int(self, value):
        return self.const(np.int64(value))


class Part:
    """One loop with its inputs; `row` is its result of shape [N, UNITS]."""

    def __init__(self, rng, prefix, steps, samples, is_scan, has_symbols):
        self.rng, self.steps, self.samples = rng, steps, samples
        self.is_scan, self.has_symbols = is_scan, has_symbols
        self.places = int(rng.choice([1, 2, 4, 5]))
        self.inputs, self.weights, self.infos = {}, {}, []
        self.outer = Graph(prefix, self.weights)
        self.body = Graph(f"{prefix}b", self.weights)
        self.prefix = prefix
        self.build()

    def chance(self, probability):
        return self.rng.random() < probability

    def choice(self, options):
        return options[int(self.rng.integers(len(options)))]

    def real(self, *shape):
        return self.rng.normal(0, 0.6, shape).astype(np.float32)

    def resolve(self, shape):
        sizes = {"N": self.samples, "K": self.places, "T": self.steps}
        return [sizes.get(size, size) for size in shape]

    def declare(self, shape):
        """Returns `shape` for a graph input, in which samples and steps may be symbols."""
        symbols = "NT" if self.has_symbols else ""
        return [size if size in list(symbols) else self.resolve([size])[0] for size in shape]

    def input(self, shape, kind=FLOAT):
        name = f"{self.prefix}x{len(self.inputs)}"
        sizes = self.resolve(shape)
        data = self.real(*sizes) if kind == FLOAT else self.rng.integers(-self.places, self.places, sizes)
        self.inputs[name] = data.astype(DTYPES[kind])
        self.infos.append(helper.make_tensor_value_info(name, kind, self.declare(shape)))
        return name

    # --- indices ---

    def make_place(self):
        """Returns an index in [-K, K)."""
        g, count = self.body, self.places
        number = self.choice(self.numbers)
        wrapped = g.add("Mod", number, g.int(count))
        kind = self.rng.integers(8)
        if kind == 4 and self.has_symbols:
            kind = 7
        if kind == 0:
            return g.int(self.rng.integers(-count, count))
        if kind == 1:
            return g.add("Sub", wrapped, g.int(count))
        if kind == 2:
            return g.add("Sub", g.int(count - 1), wrapped)
        if kind == 3:
            before = g.add("Max", g.add("Sub", number, g.int(1)), g.int(0))
            return g.add("Mod", before, g.int(count))
        if kind == 4:
            scores = g.add("ReduceMean", self.choice(self.rows), axes=[0], keepdims=0)
            best = g.add("ArgMax", scores, axis=0, keepdims=0)
            return g.add("Min", best, g.int(count - 1))
        if kind == 5:
            return g.add("Min", number, g.int(count - 1))
        return wrapped

    def expand(self, place, buffer):
        """Expands the index `place` to the shape of a row, with an axis of size one."""
        g = self.body
        if self.has_symbols and "N" in buffer.shape:
            # The shape of a row is known only at run time.
            like = g.add("Unsqueeze", g.add("Mul", self.fit_row(buffer), g.const(np.float32(0))), g.ints(buffer.axis))
            return g.add("Add", g.add("Cast", like, to=INT), place)
        shape = self.resolve([1 if i == buffer.axis else size for i, size in enumerate(buffer.shape)])
        return g.add("Expand", place, g.ints(*shape))

    # --- access to buffers ---

    def from_buffer(self, row, buffer):
        """Converts a row of the buffer to a shape that broadcasts to [N, UNITS]."""
        g = self.body
        if buffer.kind == INT:
            return g.add("Cast", row, to=FLOAT)
        if len(buffer.row) == 3:
            return g.add("Squeeze", row, g.ints(0))
        return row

    def fit_row(self, buffer):
        """Returns a row in the shape of the buffer's rows."""
        g, row = self.body, self.choice(self.rows)
        if buffer.row == ("N", UNITS):
            return row
        if buffer.row == (UNITS,):
            return g.add("ReduceMean", row, axes=[0], keepdims=0)
        if buffer.row == (1, "N", UNITS):
            return g.add("Unsqueeze", row, g.ints(0))
        if buffer.kind == INT:
            return self.choice(self.numbers)
        return g.add("ReduceMean", row, axes=[0, 1], keepdims=0)

    def mask(self, place, buffer):
        """Returns a mask of the given index, with size 1 along all other axes."""
        g = self.body
        shape = [self.places if i == buffer.axis else 1 for i in range(len(buffer.shape))]
        places = g.const(np.arange(self.places).reshape(shape))
        positive = g.add("Mod", g.add("Add", place, g.int(self.places)), g.int(self.places))
        return g.add("Equal", places, positive)

    def read(self, array, buffer):
        g, axis = self.body, buffer.axis
        place = self.make_place()
        way = self.choice(["gather", "gather1", "slice", "mask", "nd", "elements", "fixed", "mean", "soft"])
        if way == "gather1":
            found = g.add("Gather", array, g.add("Unsqueeze", place, g.ints(0)), axis=axis)
            found = g.add("Squeeze", found, g.ints(axis))
        elif way == "slice":
            start = g.add("Reshape", g.add("Mod", place, g.int(self.places)), g.ints(1))
            end = g.add("Add", start, g.ints(1))
            found = g.add("Squeeze", g.add("Slice", array, start, end, g.ints(axis)), g.ints(axis))
        elif way == "fixed":
            at = int(self.rng.integers(self.places))
            found = g.add("Slice", array, g.ints(at), g.ints(at + 1), g.ints(axis))
            found = g.add("Squeeze", found, g.ints(axis))
        elif way == "mask" and buffer.kind == FLOAT:
            hot = g.add("Cast", self.mask(place, buffer), to=FLOAT)
            found = g.add("ReduceSum", g.add("Mul", array, hot), g.ints(axis), keepdims=0)
        elif way == "nd" and axis == 0:
            found = g.add("GatherND", array, g.add("Reshape", place, g.ints(1)))
        elif way == "elements":
            found = g.add("GatherElements", array, self.expand(place, buffer), axis=axis)
            found = g.add("Squeeze", found, g.ints(axis))
        elif way == "mean" and buffer.kind == FLOAT:
            found = g.add("ReduceMean", array, axes=[axis], keepdims=0)
        elif way == "soft" and buffer.kind == FLOAT:
            weights = g.add("Softmax", array, axis=axis)
            found = g.add("ReduceSum", g.add("Mul", array, weights), g.ints(axis), keepdims=0)
        else:
            found = g.add("Gather", array, place, axis=axis)
        return self.from_buffer(found, buffer)

    def write(self, array, buffer):
        g, axis = self.body, buffer.axis
        place, row = self.make_place(), self.fit_row(buffer)
        updates = g.add("Unsqueeze", row, g.ints(axis))
        ways = ["nd", "twice", "add", "elements", "add elements", "where", "mask", "shift", "scale"]
        way = self.choice(ways)
        if way in ("nd", "twice", "add") and axis == 0:
            at = g.add("Reshape", place, g.ints(1, 1))
            reduction = {} if way == "nd" else {"reduction": "add"}
            if way == "twice":
                at = g.add("Concat", at, g.add("Reshape", self.make_place(), g.ints(1, 1)), axis=0)
                other = g.add("Unsqueeze", self.fit_row(buffer), g.ints(axis))
                updates = g.add("Concat", updates, other, axis=0)
            return g.add("ScatterND", array, at, updates, **reduction)
        if way in ("elements", "add elements"):
            at = self.expand(place, buffer)
            reduction = {} if way == "elements" else {"reduction": "add"}
            return g.add("ScatterElements", array, at, updates, axis=axis, **reduction)
        if way == "mask" and buffer.kind == FLOAT:
            hot = self.mask(place, buffer)
            kept = g.add("Mul", array, g.add("Cast", g.add("Not", hot), to=FLOAT))
            return g.add("Add", kept, g.add("Mul", updates, g.add("Cast", hot, to=FLOAT)))
        if way == "shift":
            rest = g.add("Slice", array, g.ints(1), g.ints(self.places), g.ints(axis))
            return g.add("Concat", rest, updates, axis=axis)
        if way == "scale" and buffer.kind == FLOAT:
            return g.add("Mul", array, g.const(np.float32(0.9)))
        return g.add("Where", self.mask(place, buffer), updates, array)

    # --- rows ---

    def add_row(self):
        g = self.body
        a, b = self.choice(self.rows), self.choice(self.rows)
        op = self.choice(["Add", "Mul", "Sub", "Tanh", "Sigmoid", "MatMul", "Where", "Max", "Mean", "Parts", "Softmax", "If"])
        if op in ("Add", "Mul", "Sub", "Max"):
            row = g.add(op, a, b)
        elif op == "MatMul":
            weight = g.const(self.real(UNITS, UNITS)) if self.chance(0.7) else self.weight
            row = g.add("MatMul", a, weight)
        elif op == "Where":
            row = g.add("Where", g.add("Greater", a, b), a, g.add("Neg", b))
        elif op == "Mean":
            row = g.add("Sub", a, g.add("ReduceMean", b, axes=[1], keepdims=1))
        elif op == "Parts":
            first = g.add("Slice", a, g.ints(0), g.ints(1), g.ints(1))
            rest = g.add("Slice", b, g.ints(1), g.ints(UNITS), g.ints(1))
            row = g.add("Concat", rest, first, axis=1)
        elif op == "Softmax":
            row = g.add("Softmax", a, axis=1)
        elif op == "If":
            row = self.add_branch(a, b)
        else:
            row = g.add(op, a)
        self.rows.append(row)

    def add_branch(self, a, b):
        """Adds an If with a condition that is known at compile time."""
        branches = {}
        for key, op, value in (("then_branch", "Neg", a), ("else_branch", "Tanh", b)):
            inner = Graph(self.body.name() + "_", self.weights)
            result = inner.add(op, value)
            info = helper.make_tensor_value_info(result, FLOAT, None)
            branches[key] = helper.make_graph(inner.nodes, key, [], [info])
        return self.body.add("If", self.body.const(np.bool_(self.chance(0.5))), **branches)

    # --- the loop ---

    def make_states(self):
        """Returns the names of initial values, types and shapes of the carried values."""
        states = [(self.input(("N", UNITS)), FLOAT, None)]
        if self.chance(0.5):
            states.append((self.input(("N", UNITS)), FLOAT, None))
        # Operations that mix samples need a fixed number of samples.
        kinds = [b for b in BUFFERS if "N" in b.shape or b.kind == INT] if self.has_symbols else BUFFERS
        self.buffers = [self.choice(kinds) for _ in range(int(self.rng.integers(1, 3)))]
        for buffer in self.buffers:
            states.append((self.input(buffer.shape, buffer.kind), buffer.kind, buffer))
        if self.is_scan or self.chance(0.3):
            states.append((self.outer.int(0), INT, "counter"))
        return states

    def make_body(self, states, sequences):
        g = self.body
        names = [f"{self.prefix}s{i}" for i in range(len(states))]
        taken = [f"{self.prefix}q{i}" for i in range(len(sequences))]
        self.rows = [n for n, (_, _, what) in zip(names, states) if what is None]
        self.numbers = [n for n, (_, _, what) in zip(names, states) if what == "counter"]
        inputs = []
        if self.is_scan:
            self.rows.append(taken[0])
            self.numbers += taken[1:]
        else:
            number, go = f"{self.prefix}i", f"{self.prefix}go"
            inputs = [(number, INT, []), (go, BOOL, [])]
            self.numbers += [number] * 2
            self.rows.append(g.add("Gather", sequences[0], number))
        self.rows.append(self.captured)
        inputs += [(n, kind, None) for n, (_, kind, _) in zip(names, states)]
        if self.is_scan:
            inputs += [(n, kind, None) for n, kind in zip(taken, [FLOAT, INT])]
        arrays = {n: what for n, (_, _, what) in zip(names, states) if isinstance(what, Buffer)}
        current = dict.fromkeys(arrays)
        for name in current:
            current[name] = name
        for _ in range(int(self.rng.integers(1, 3))):
            for name, buffer in arrays.items():
                if self.chance(0.6):
                    read = self.read(current[name], buffer)
                    self.rows.append(g.add("Add", self.choice(self.rows), read))
                if self.chance(0.6):
                    current[name] = self.write(current[name], buffer)
            self.add_row()
        yielded = [self.next_state(n, what, current) for n, (_, _, what) in zip(names, states)]
        results = [("row", self.choice(self.rows))]
        if self.chance(0.3):
            results.append(("row", names[0]))
        for name, buffer in arrays.items():
            if self.chance(0.2):
                results.append((buffer, self.choice([name, current[name]])))
        outputs = [*yielded, *(value for _, value in results)]
        # A value may be an output only once.
        outputs = [g.add("Identity", value) for value in outputs]
        kinds = [kind for _, kind, _ in states]
        kinds += [FLOAT if what == "row" else what.kind for what, _ in results]
        infos = [helper.make_tensor_value_info(n, kind, None) for n, kind in zip(outputs, kinds)]
        if not self.is_scan:
            infos.insert(0, helper.make_tensor_value_info(g.add("Identity", go), BOOL, []))
        inputs = [helper.make_tensor_value_info(*info) for info in inputs]
        return helper.make_graph(g.nodes, "body", inputs, infos), results

    def next_state(self, name, what, current):
        if what == "counter":
            return self.body.add("Add", name, self.body.int(1))
        if isinstance(what, Buffer):
            alike = [n for n in current if self.kind_of[n] == what]
            return self.choice([current[name], current[name], current[name], current[self.choice(alike)]])
        # Other states sometimes keep their value or take that of another state.
        if self.chance(0.15):
            return self.choice(self.rows)
        row = self.body.add("Tanh", self.rows[-1]) if self.chance(0.5) else self.rows[-1]
        self.rows.append(row)
        return row

    def build(self):
        g = self.outer
        self.weight = g.const(self.real(UNITS, UNITS))
        sequences = [self.input(("T", "N", UNITS))]
        if self.is_scan:
            sequences.append(self.input(("T",), INT))
        self.captured = self.input(("N", UNITS))
        states = self.make_states()
        self.kind_of = {f"{self.prefix}s{i}": what for i, (_, _, what) in enumerate(states)}
        body, results = self.make_body(states, sequences)
        outputs = [f"{self.prefix}o{i}" for i in range(len(states) + len(results))]
        initial = [name for name, _, _ in states]
        if self.is_scan:
            attributes = {"num_scan_inputs": len(sequences)}
            if self.chance(0.2):
                attributes |= {"scan_input_directions": [1, 1], "scan_output_directions": [1] * len(results)}
            loop = helper.make_node("Scan", [*initial, *sequences], outputs, name=f"{self.prefix}scan", body=body, **attributes)
        else:
            count = g.int(self.steps)
            if self.has_symbols:
                count = g.add("Squeeze", g.add("Shape", sequences[0], start=0, end=1), g.ints(0))
            loop = helper.make_node("Loop", [count, "", *initial], outputs, name=f"{self.prefix}loop", body=body)
        g.nodes.append(loop)
        self.row = self.join(outputs, states, results)

    def join(self, outputs, states, results):
        """Returns the mean of all results as [N, UNITS]."""
        g, terms = self.outer, []
        for name, (_, kind, what) in zip(outputs, states):
            if what is None:
                terms.append(name)
            elif kind == FLOAT:
                axes = [i for i, size in enumerate(what.shape) if size not in ("N", UNITS)]
                terms.append(g.add("ReduceMean", name, axes=axes, keepdims=0))
        for name, (what, _) in zip(outputs[len(states) :], results):
            if what == "row":
                terms.append(g.add("ReduceMean", name, axes=[0], keepdims=0))
            elif what.kind == FLOAT:
                axes = [0] + [i + 1 for i, size in enumerate(what.shape) if size not in ("N", UNITS)]
                terms.append(g.add("ReduceMean", name, axes=axes, keepdims=0))
        return g.add("Tanh", g.add("Sum", *terms))


def has_symbols(seed):
    """Returns whether the numbers of samples and steps are symbols."""
    return bool(np.random.default_rng([seed, 12]).random() < 0.3)


def make_part(seed, prefix, samples):
    rng = np.random.default_rng([seed, 11])
    steps = LONG if has_symbols(seed) else int(rng.choice([LONG, LONG, LONG, 3, 1]))
    is_scan = bool(rng.random() < 0.4)
    return Part(rng, prefix, steps, samples, is_scan, has_symbols(seed))


def make(seeds, samples=2):
    """Returns a model with one loop per seed; its output `y` is the sum of their results."""
    parts = [make_part(seed, f"p{number}", samples) for number, seed in enumerate(seeds)]
    nodes = [n for part in parts for n in part.outer.nodes]
    rows = [part.row for part in parts]
    nodes.append(helper.make_node("Sum", rows, ["y"]))
    weights = {name: value for part in parts for name, value in part.weights.items()}
    infos = [info for part in parts for info in part.infos]
    tensors = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    output = helper.make_tensor_value_info("y", FLOAT, None)
    graph = helper.make_graph(nodes, "graph", infos, [output], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    arrays = {name: value for part in parts for name, value in part.inputs.items()}
    return RandomModel(model, arrays)
