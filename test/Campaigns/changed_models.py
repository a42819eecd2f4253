"""Changed ONNX models for bppsa-compile: bytes, structure, sizes, cycles, external data."""

import contextlib
import math
import os

import changed_bytes
import onnx
import programs
import test_fuzz
from campaign import Campaign, check_end, check_files, execute
from onnx import TensorProto, helper, numpy_helper

MODELS = ["rnn", "lengths", "tokens", "normalized", "stream", "ranks"]
NUMBERS = [*test_fuzz.NUMBERS, 1 << 20, 1 << 40, (1 << 62) + 1]
LOSSES = ["cross-entropy", "nll", "mse", "l1", "huber", "bce-with-logits", "vjp", "vjp", "none"]
PHASES = ["import", "loss", "differentiate", "differentiate", "scan", "scan", "lower"]
NAMES = [
    "",
    " ",
    "x",
    "y",
    "../x",
    "a\nb",
    "\x1b[1m",
    "é",
    "x" * 5000,
    "%s%n",
    "'",
    '"',
    "a'b\"c",
    "@f",
    "target",
]


# --- structure ---


def make_cycle(model, choice):
    """Makes a node read the output of a later node."""
    nodes = model.graph.node
    first = choice(nodes)
    if first.input:
        first.input[choice(range(len(first.input)))] = choice(choice(nodes).output or [""])


def reorder_nodes(model, choice):
    nodes = list(model.graph.node)
    at = choice(range(len(nodes)))
    nodes.insert(choice(range(len(nodes))), nodes.pop(at))
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def change_name(model, choice):
    graph = model.graph
    holders = [*graph.input, *graph.output, *graph.initializer, *graph.node, graph]
    choice(holders).name = choice(NAMES)


def rename_value(model, choice):
    """Renames a value everywhere."""
    graph = model.graph
    old = choice([name for node in graph.node for name in [*node.input, *node.output]] or [""])
    new = choice([*NAMES, choice([*graph.input, *graph.output]).name])
    for holder in [*graph.input, *graph.output, *graph.initializer]:
        holder.name = new if holder.name == old else holder.name
    for node in graph.node:
        for names in (node.input, node.output):
            for i, name in enumerate(names):
                names[i] = new if name == old else name


def make_huge(model, choice):
    """Sets sizes of inputs or initializers beyond any memory."""
    graph = model.graph
    if graph.initializer and choice([True, False]):
        tensor = choice(graph.initializer)
        for i in range(len(tensor.dims)):
            tensor.dims[i] = choice([tensor.dims[i], *NUMBERS])
    for value in [*graph.input, *graph.output]:
        for dim in value.type.tensor_type.shape.dim:
            if choice([True, False, False]):
                dim.dim_value = choice(NUMBERS)


def add_external_data(model, choice):
    """Moves an initializer to external data: missing, out of bounds, too short, or a folder."""
    if not model.graph.initializer:
        return
    tensor = choice(model.graph.initializer)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    places = [
        "data.bin",
        "missing",
        "../data.bin",
        "/etc/passwd",
        ".",
        "",
        "/dev/zero",
        "a\0b",
        "fifo",
    ]
    entries = {"location": choice(places)}
    if choice([True, False]):
        entries["offset"] = str(choice([0, 1, 4, 4096, -1, 1 << 62, "x", 1 << 70]))
    if choice([True, False]):
        entries["length"] = str(choice([0, 1, 4, 240, 1600, -1, 1 << 62, "", "x"]))
    if choice([True] * 9 + [False]):
        entries["checksum"] = "x"
    for key, value in entries.items():
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value


def nest(model, choice):
    """Nests the graph in branches of `If`, up to 300 deep."""
    condition = numpy_helper.from_array(programs.np.array(True), "condition")
    for _ in range(choice([1, 3, 40, 300])):
        branch = onnx.GraphProto()
        branch.CopyFrom(model.graph)
        del branch.input[:]
        outputs = [value.name for value in branch.output]
        node = helper.make_node(
            "If", ["condition"], outputs, then_branch=branch, else_branch=branch
        )
        del model.graph.node[:]
        del model.graph.initializer[:]
        model.graph.node.append(node)
        model.graph.initializer.append(condition)
        if model.ByteSize() > 2_000_000:
            return


def repeat_nodes(model, choice):
    """Inserts a long chain of nodes."""
    value = choice([info.name for info in model.graph.input] or ["x"])
    op = choice(["Tanh", "Relu", "Identity", "Neg", "Sigmoid"])
    count = choice([10, 300])
    for i in range(count):
        model.graph.node.insert(
            i, helper.make_node(op, [value if i == 0 else f"long{i - 1}"], [f"long{i}"])
        )
    user = choice(model.graph.node)
    if user.input and user.op_type != op:
        user.input[0] = f"long{count - 1}"


def add_function(model, choice):
    """Replaces an operator with a local function, which may call itself."""
    node = choice(model.graph.node)
    body = [
        helper.make_node(
            choice([node.op_type, "F", "Tanh"]), ["a"], ["b"], domain=choice(["", "own"])
        )
    ]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    model.functions.append(helper.make_function("own", "F", ["a"], ["b"], body, opsets))
    model.opset_import.append(opsets[1])
    node.op_type, node.domain = "F", "own"


def change_values(model, choice):
    """Makes weights non-finite, zero or very large."""
    if not model.graph.initializer:
        return
    tensor = choice(model.graph.initializer)
    if len(tensor.raw_data) != 4 * math.prod(tensor.dims) or tensor.data_type != TensorProto.FLOAT:
        return
    values = numpy_helper.to_array(tensor).copy()
    if values.size:
        value = choice([float("nan"), float("inf"), 0.0, 3e38, 1e-40])
        if choice([True, False]):
            values[...] = value
        else:
            values.flat[choice(range(values.size))] = value
        tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))


def remove_part(model, choice):
    for field in (
        model.graph.input,
        model.graph.output,
        model.graph.initializer,
        model.opset_import,
    ):
        if field and choice([True, False, False]):
            del field[choice(range(len(field)))]


def repeat_part(model, choice):
    field = choice(
        [model.graph.input, model.graph.output, model.graph.initializer, model.opset_import]
    )
    if field:
        field.add().CopyFrom(choice(field))


def change_op(model, choice):
    """Replaces an operator with any operator of ONNX."""
    choice(model.graph.node).op_type = choice(onnx.defs.get_all_schemas()).name


def change_text(model, choice):
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.STRING:
                attribute.s = choice(
                    [b"", b"\xff\xfe", b"reverse", b"bidirectional", b"x" * 1000, b"\0"]
                )
            elif attribute.type == onnx.AttributeProto.FLOAT:
                attribute.f = choice([float("nan"), float("inf"), -1.0, 0.0, 3e38])


OWN = [make_cycle, reorder_nodes, change_name, rename_value, make_huge, add_external_data, nest]
OWN += [repeat_nodes, add_function, change_values, remove_part, repeat_part, change_op, change_text]


def change(source, model):
    """Returns the bytes of a changed model that still has a graph."""
    for _ in range(source.choice([1, 1, 2, 3])):
        if model.graph.node:
            # An earlier change may have removed all candidates.
            with contextlib.suppress(IndexError):
                source.choice([*OWN, source.choice(test_fuzz.CHANGES)])(model, source.choice)
    return model.SerializeToString()


# --- the campaign ---


class ChangedModels(Campaign):
    """Changed models for bppsa-compile; one in ten is compiled to a program and run."""

    name = "models"
    count, short = 2500, 12

    def choose(self, source):
        """Returns a model and its compiler options."""
        if source.random() < 0.5:
            model = onnx.ModelProto()
            model.CopyFrom(source.choice(test_fuzz.CASES).model)
            return model, ["--loss=" + source.choice(LOSSES)]
        name = source.choice(MODELS)
        if name not in self.programs.names:
            name = self.programs.names[0]
        model = onnx.load_from_string(self.programs.get(name).model)
        return model, list(programs.SOURCES[name][1])

    def run(self, source, folder):
        model, options = self.choose(source)
        if source.random() < 0.3:
            content = changed_bytes.change(source, model.SerializeToString())
        else:
            content = change(source, model)
        (folder / "m.onnx").write_bytes(content)
        (folder / "data.bin").write_bytes(bytes(4000))
        os.mkfifo(folder / "fifo")
        isWhole = source.random() < 0.1
        phase = [] if isWhole else ["--compile-to=" + source.choice(PHASES), "--emit=mlir"]
        options += source.choice(
            [[], [], ["--scan=blelloch"], ["--backward=scan"], ["--training-mode"]]
        )
        # Sizes beyond any memory must not exhaust the memory of this machine.
        command = ["prlimit", "--as=8000000000", programs.harness.COMPILER, "m.onnx", "-o", "out"]
        run = execute(folder, [*command, "-O0", "--mcpu=x86-64-v3", *phase, *options], self.limit)
        check_end(run, accepted=(0, 1))
        inputs = ["m.onnx", "data.bin", "fifo"]
        check_files(run, folder, inputs + (["out"] if run.status == 0 else []))
        if isWhole and run.status == 0:
            self.run_program(folder)
        return f"status {run.status}" + (" whole" if isWhole else "")

    def run_program(self, folder):
        """Checks that a program of a changed model starts and runs on generated data."""
        command = ["prlimit", "--as=4000000000", "./out"]
        check_end(execute(folder, [*command, "info"], self.limit), accepted=(0,))
        bench = ["bench", "--seq-len", 5, "--batch", 3, "--repeat", 1]
        check_end(execute(folder, [*command, *bench], self.limit), accepted=(0, 1))
