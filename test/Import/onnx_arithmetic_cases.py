"""Cases of shape arithmetic as written by exporters, for onnx_cases.py."""

import numpy as np
from onnx import helper
from onnx_case import Case, floats, ints, model


def arithmetic_cases():
    """Graphs that compute sizes from the shape of x[T, B, 4]."""
    x = floats(5, 3, 4)

    def build(name, nodes, initializers=(), output=("y", None), opset=17):
        return Case(
            "arithmetic-" + name,
            model(nodes, [("x", ["T", "B", 4])], [output], initializers, opset),
            {"x": x},
        )

    node = helper.make_node
    shape = node("Shape", ["x"], ["s"])
    scalars = [("k0", np.array(0, np.int64)), ("k1", np.array(1, np.int64))]
    lists = [("one", ints(1)), ("six", ints(6)), ("zero", ints(0)), ("minus", ints(-1))]
    pick = [
        node("Gather", ["s", "k0"], ["t"], axis=0),
        node("Gather", ["s", "k1"], ["b"], axis=0),
        node("Unsqueeze", ["t", "zero"], ["t1"]),
        node("Unsqueeze", ["b", "zero"], ["b1"]),
    ]
    yield build(
        "zeros-of-batch",
        [shape, *pick, node("Concat", ["one", "b1", "six"], ["hs"], axis=0)]
        + [node("ConstantOfShape", ["hs"], ["y"])],
        scalars + lists,
    )
    yield build(
        "expand",
        [shape, *pick, node("Concat", ["b1", "t1", "minus"], ["e"], axis=0)]
        + [node("Equal", ["e", "minus"], ["m"]), node("ConstantOfShape", ["three"], ["ones0"])]
        + [node("Where", ["m", "onesi", "e"], ["e2"])]
        + [node("Expand", ["v", "e2"], ["y"])],
        scalars + lists + [("onesi", ints(1, 1, 1)), ("three", ints(3)), ("v", floats(1, 1, 2))],
    )
    yield build(
        "merge-and-split",
        [shape, *pick, node("Mul", ["t1", "b1"], ["n"])]
        + [node("Concat", ["n", "minus"], ["flat"], axis=0), node("Reshape", ["x", "flat"], ["f"])]
        + [node("Relu", ["f"], ["g"]), node("Concat", ["t1", "b1", "minus"], ["back"], axis=0)]
        + [node("Reshape", ["g", "back"], ["y"])],
        scalars + lists,
    )
    yield build(
        "halves",
        [shape, node("Slice", ["s", "two", "three"], ["f"]), node("Div", ["f", "two"], ["h"])]
        + [node("Slice", ["x", "h", "f", "two"], ["y"])],
        [("two", ints(2)), ("three", ints(3))],
    )
    yield build(
        "last-step",
        [shape, *pick, node("Sub", ["t", "k1"], ["l"]), node("Gather", ["x", "l"], ["y"], axis=0)],
        scalars + lists,
    )
    yield build(
        "casts",
        [shape, *pick, node("Cast", ["t1"], ["ti"], to=6), node("Cast", ["ti"], ["tf"], to=1)]
        + [node("Sqrt", ["tf"], ["r"]), node("Div", ["x", "r"], ["y"])],
        scalars + lists,
    )
    yield build(
        "scatter",
        [shape, node("ScatterND", ["s", "where", "what"], ["s2"])]
        + [node("ConstantOfShape", ["s2"], ["y"])],
        [("where", np.array([[2]], np.int64)), ("what", ints(7))],
    )
    yield build(
        "sizes-as-result",
        [shape, *pick, node("Concat", ["t1", "b1"], ["y"], axis=0)],
        scalars + lists,
        ("y", (np.int64, [2])),
    )
    # The size is known only after two symbols are unified.
    yield Case(
        "arithmetic-unified-names",
        model(
            [node("Add", ["x", "z"], ["a"]), node("Reshape", ["a", "r"], ["y"])],
            [("x", ["T", 4]), ("z", ["S", 4])],
            [("y", None)],
            [("r", ints(-1))],
        ),
        {"x": floats(5, 4), "z": floats(5, 4, key=1)},
    )
