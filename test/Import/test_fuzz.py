"""Valid models with random structural changes are imported or refused with one line.

BPPSA_FUZZ_SEED=N reruns one seed; BPPSA_FUZZ_COUNT=N runs more seeds.
"""

import math
import os
import random

import harness
import onnx
import onnx_cases
from onnx import numpy_helper

CASES = list(onnx_cases.all_cases())
NUMBERS = [0, 1, -1, 2, 3, 5, -7, 1 << 31, (1 << 63) - 1, -(1 << 63)]


def change_operand(model, choice):
    node = choice(model.graph.node)
    names = [n for other in model.graph.node for n in [*other.input, *other.output]]
    if node.input:
        node.input[choice(range(len(node.input)))] = choice([*names, "", "nowhere"])


def change_attribute(model, choice):
    node = choice(model.graph.node)
    if not node.attribute:
        return
    attribute = choice(node.attribute)
    if attribute.ints:
        attribute.ints[choice(range(len(attribute.ints)))] = choice(NUMBERS)
    elif attribute.type == onnx.AttributeProto.INT:
        attribute.i = choice(NUMBERS)
    else:
        attribute.type = choice([1, 2, 3, 4, 6, 7, 8])


def change_op(model, choice):
    choice(model.graph.node).op_type = choice(choice(CASES).model.graph.node).op_type


def change_dimension(model, choice):
    dims = [d for i in model.graph.input for d in i.type.tensor_type.shape.dim]
    if dims:
        dim = choice(dims)
        if choice([True, False]):
            dim.dim_value = choice(NUMBERS)
        else:
            dim.dim_param = choice(["T", "B", "N"])


def change_rank(model, choice):
    if model.graph.input:
        dims = choice(model.graph.input).type.tensor_type.shape.dim
        if dims and choice([True, False]):
            dims.pop()
        else:
            dims.add().dim_value = choice([1, 2, 3])


def change_constant(model, choice):
    integers = [
        tensor
        for tensor in model.graph.initializer
        if tensor.data_type == onnx.TensorProto.INT64
        and len(tensor.raw_data) == 8 * math.prod(tensor.dims)
    ]
    if integers:
        tensor = choice(integers)
        values = numpy_helper.to_array(tensor).copy()
        if values.size:
            values.flat[choice(range(values.size))] = choice(NUMBERS)
        tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))


def change_tensor(model, choice):
    if model.graph.initializer:
        tensor = choice(model.graph.initializer)
        kind = choice(["type", "dims", "data"])
        if kind == "type":
            tensor.data_type = choice([0, 1, 6, 7, 9, 10, 11, 99])
        elif kind == "dims":
            tensor.dims.append(choice(NUMBERS))
        else:
            tensor.raw_data = tensor.raw_data[: choice(range(9))]


def change_opset(model, choice):
    model.opset_import[0].version = choice([7, 8, 9, 10, 11, 12, 13, 14, 17, 18, 24, 28])


def change_node(model, choice):
    node = choice(model.graph.node)
    if choice([True, False]):
        model.graph.node.append(node)
    else:
        model.graph.node.remove(node)


CHANGES = [value for name, value in globals().items() if name.startswith("change_")]


def check(seed, directory):
    generator = random.Random(seed)
    model = onnx.ModelProto()
    model.CopyFrom(generator.choice(CASES).model)
    for _ in range(generator.choice([1, 1, 2, 4])):
        if model.graph.node:
            generator.choice(CHANGES)(model, generator.choice)
    path = directory / "model.onnx"
    path.write_bytes(model.SerializeToString())
    translate = harness.require_tool("bppsa-translate")
    result = harness.run(translate, "--import-onnx", path, "-o", directory / "out")
    expected = 0 if result.returncode == 0 else 1
    message = f"BPPSA_FUZZ_SEED={seed}: status {result.returncode}: {result.stderr}"
    assert result.returncode == expected, message
    errors = [line for line in result.stderr.splitlines() if ": error: " in line]
    assert len(errors) == expected, message
    others = [line for line in result.stderr.splitlines() if line not in errors]
    assert all(": warning: " in line or ": note: " in line for line in others), message


def test_mutated_models(tmp_path):
    seed = os.environ.get("BPPSA_FUZZ_SEED")
    seeds = [int(seed)] if seed else range(int(os.environ.get("BPPSA_FUZZ_COUNT", "300")))
    print(f"seeds: {seeds}")
    for seed in seeds:
        check(seed, tmp_path)
