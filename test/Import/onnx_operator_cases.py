"""Cases of logic, arithmetic, reductions, normalization, transposed convolution, padding, data
movement, indexing and Einsum, for onnx_cases.py."""

import numpy as np
from onnx import helper
from onnx_case import Case, floats, ints, model, op_case


def bools(*shape, key=0):
    return floats(*shape, key=key) > 0


def logic_cases():
    x, y = np.round(floats(3, 4)), np.round(floats(4, key=1))
    symbolic = {"a": ["N", 4]}
    for op in ("Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal"):
        yield op_case(op, {"a": x, "b": y}, shapes=symbolic, label="float")
        integers = {"a": x.astype(np.int64), "b": y.astype(np.int64)}
        yield op_case(op, integers, shapes=symbolic, label="int")
        yield op_case(op, {"a": ints(1, 2, 3), "b": ints(2, 2, 2)}, constants=["a", "b"], label="known")
    for op in ("And", "Or", "Xor"):
        yield op_case(op, {"a": bools(3, 4), "b": bools(4, key=1)}, shapes=symbolic)
        known = {"a": np.array([0, 0, 1, 1], bool), "b": np.array([0, 1, 0, 1], bool)}
        yield op_case(op, known, constants=["a", "b"], label="known")
    yield op_case("Not", {"a": bools(3, 4)}, shapes=symbolic)
    yield op_case("Not", {"a": bools(3, 4)}, constants=["a"], label="known")
    # The importer evaluates comparisons and arithmetic of sizes.
    shape = [helper.make_node("Shape", ["x"], ["s"])]
    for op, last in (
        ("Less", ["s", "c"]),
        ("GreaterOrEqual", ["s", "c"]),
        ("Mod", ["s", "two"]),
        ("Max", ["s", "c"]),
        ("Min", ["s", "c", "two"]),
    ):
        nodes = [*shape, helper.make_node(op, last, ["r"]), helper.make_node("Cast", ["r"], ["y"], to=7)]
        constants = [("c", ints(1, 4)), ("two", ints(2, 2))]
        built = model(nodes, [("x", ["N", 4])], [("y", (np.int64, [2]))], constants)
        yield Case(f"{op}-of-sizes", built, {"x": floats(3, 4)})


def arithmetic_cases():
    x = np.concatenate([floats(3, 4), [[0.0, 0.5, 1.5, -2.5]]]).astype(np.float32)
    symbolic = {"x": ["N", 4]}
    for op in ("Sin", "Cos", "Atan", "Sign", "Floor", "Ceil", "Round"):
        yield op_case(op, {"x": x}, shapes=symbolic)
    yield op_case("Reciprocal", {"x": floats(3, 4, low=0.3)}, shapes=symbolic)
    y = floats(4, low=0.4, key=1)
    yield op_case("Mod", {"a": x, "b": y}, fmod=1)
    integers = {"a": ints(-7, 7, 5, -6), "b": ints(3, -3, 2, 6)}
    for fmod in (0, 1):
        yield op_case("Mod", integers, constants=["b"], fmod=fmod, label="int")
        yield op_case("Mod", integers, constants=["a", "b"], fmod=fmod, label="known")
    for op in ("Max", "Min", "Sum", "Mean"):
        arrays = {"a": floats(3, 4), "b": floats(4, key=1), "c": floats(3, 1, key=2)}
        yield op_case(op, arrays, opset=13)
        yield op_case(op, {"a": floats(3, 4)}, opset=8, label="one")
        yield op_case(op, arrays, opset=13, shapes={"a": ["N", 4], "c": ["N", 1]}, label="dynamic")
    for op in ("Max", "Min"):
        yield op_case(op, {"a": ints(1, 5, -3), "b": ints(2, 2, 2)}, opset=13, label="int")


REDUCTIONS = (
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMin ReduceProd ReduceSumSquare"
).split()


def reduction_cases():
    x = floats(2, 3, 4, low=0.2)
    symbolic = {"x": ["N", 3, "K"]}
    for op in REDUCTIONS:
        yield op_case(op, {"x": x}, opset=7, axes=[1], keepdims=0, shapes=symbolic)
        yield op_case(op, {"x": x}, opset=13, axes=[-1, 0], shapes=symbolic)
        yield op_case(op, {"x": x}, opset=11, label="all")
        arrays = {"x": x, "axes": ints(0, 2)}
        yield op_case(op, arrays, opset=18, constants=["axes"], keepdims=0)
    for op in ("ReduceMax", "ReduceProd"):
        yield op_case(op, {"x": x}, opset=18, noop_with_empty_axes=1)
    for op in ("ReduceL1", "ReduceL2", "ReduceMax", "ReduceLogSumExp"):
        yield op_case(op, {"x": floats(3, 4)}, opset=13, axes=[1], label="signs")
    large = {"x": 50 * floats(3, 4)}
    yield op_case("ReduceLogSumExp", large, opset=13, axes=[1], label="large")
    ties = np.round(floats(3, 5))
    for op in ("ArgMax", "ArgMin"):
        yield op_case(op, {"x": ties}, opset=7, axis=1)
        yield op_case(op, {"x": ties}, opset=13, axis=-1, keepdims=0, shapes={"x": ["N", "K"]})
        yield op_case(op, {"x": ties}, opset=12, axis=0, select_last_index=1)
        yield op_case(op, {"x": ties}, opset=13)
    for exclusive in (0, 1):
        for reverse in (0, 1):
            arrays = {"x": floats(3, 4, 2), "axis": np.array(1, np.int64)}
            options = {"exclusive": exclusive, "reverse": reverse}
            yield op_case("CumSum", arrays, constants=["axis"], shapes={"x": ["N", "K", 2]}, **options)
            yield op_case("CumProd", arrays, opset=26, constants=["axis"], shapes={"x": ["N", "K", 2]}, **options)
    whole = {"x": np.array([[2, -3, 0, 5], [1, 2, 3, 4]]), "axis": np.array(1, np.int64)}
    yield op_case("CumProd", whole, opset=26, constants=["axis"], label="int", reverse=1)
    cache, update = floats(2, 3, 5, 2), floats(2, 3, 2, 2, key=1)
    symbolic = {"c": ["N", 3, "S", 2], "u": ["N", 3, 2, 2]}
    yield op_case("TensorScatter", {"c": cache, "u": update}, opset=24, shapes=symbolic)
    for mode, first in (("linear", [0, 3]), ("circular", [4, 7])):
        arrays = {"c": cache, "u": update, "i": np.array(first)}
        yield op_case("TensorScatter", arrays, opset=24, mode=mode, axis=2)
    yield op_case("SwiGLU", {"a": floats(3, 4), "b": floats(3, 4, key=1)}, opset=28, alpha=0.7)
    yield op_case("BitCast", {"x": floats(3, 4)}, opset=26, to=6)
    yield op_case("BitCast", {"x": floats(3, 4).view(np.int32)}, opset=26, to=1)
    arrays = {"x": floats(5), "axis": np.array(-1, np.int64)}
    yield op_case("CumSum", arrays, opset=11, constants=["axis"], label="vector")


def scaling_cases():
    x, scale, bias = floats(2, 4, 3, 5), floats(4), floats(4, key=1)
    arrays, constants = {"x": x, "s": scale, "b": bias}, ["s", "b"]
    symbolic = {"x": ["N", 4, "H", 5]}
    yield op_case("InstanceNormalization", arrays, opset=7, constants=constants, shapes=symbolic)
    yield op_case("InstanceNormalization", arrays, constants=constants, epsilon=0.1)
    yield op_case(
        "GroupNormalization", arrays, opset=21, constants=constants, num_groups=2, shapes=symbolic
    )
    yield op_case("GroupNormalization", arrays, opset=21, constants=constants, num_groups=4, epsilon=0.1)
    groups = {"x": x, "s": floats(2), "b": floats(2, key=1)}
    yield op_case("GroupNormalization", groups, opset=18, constants=constants, num_groups=2)
    rows = {"x": floats(2, 3, 5), "s": floats(5)}
    yield op_case("RMSNormalization", rows, opset=23, constants=["s"], shapes={"x": ["N", 3, 5]})
    two = {"x": floats(2, 3, 5), "s": floats(3, 5)}
    yield op_case("RMSNormalization", two, opset=23, constants=["s"], axis=1, epsilon=0.1)
    for p in (1, 2):
        yield op_case("LpNormalization", {"x": floats(3, 4)}, p=p, axis=0, shapes={"x": ["N", 4]})
        yield op_case("LpNormalization", {"x": floats(3, 4)}, p=p)


def spreading_cases():
    def transposed(x, w, bias=True, **rest):
        arrays = {"x": floats(*x), "w": floats(*w)}
        constants = ["w"]
        if bias:
            arrays["b"] = floats(w[1] * rest.get("group", 1), key=1)
            constants.append("b")
        label = rest.pop("label", "") + "x".join(map(str, x)) + "," + "x".join(map(str, w))
        label += "" if bias else "-nobias"
        return op_case("ConvTranspose", arrays, constants=constants, label=label, **rest)

    sizes = {"x": ["N", 3, "H", "W"]}
    yield transposed((2, 3, 5), (3, 4, 3), opset=7)
    yield transposed((2, 3, 4, 5), (3, 2, 3, 2), shapes=sizes)
    yield transposed((2, 3, 4, 5), (3, 2, 3, 2), strides=[2, 3], bias=False, shapes=sizes)
    yield transposed((2, 3, 4, 5), (3, 2, 3, 3), strides=[2, 2], pads=[1, 0, 2, 1], shapes=sizes)
    yield transposed((2, 3, 4, 5), (3, 2, 3, 3), dilations=[2, 3], pads=[1, 2, 0, 1])
    yield transposed(
        (2, 3, 4, 5), (3, 2, 3, 3), strides=[3, 2], output_padding=[2, 1], pads=[1] * 4, shapes=sizes
    )
    yield transposed((2, 3, 4, 5), (3, 2, 3, 3), strides=[2, 2], output_shape=[8, 10])
    yield transposed((2, 3, 4, 5), (3, 2, 3, 3), strides=[2, 2], output_padding=[1, 1], label="more")
    yield transposed((2, 4, 5), (4, 3, 3), group=2, strides=[2], kernel_shape=[3])
    yield transposed((2, 4, 5, 3), (4, 1, 2, 3), group=4, bias=False)
    yield transposed((1, 2, 3, 4, 2), (2, 3, 2, 3, 2), strides=[1, 2, 2], pads=[0, 1, 0, 1, 0, 1])
    for auto_pad in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        yield transposed((2, 3, 4, 5), (3, 2, 4, 3), strides=[2, 2], auto_pad=auto_pad)
    arrays = {"x": floats(2, 3, 4), "w": floats(3, 2, 3), "b": floats(2)}
    yield op_case("ConvTranspose", arrays, label="weights-as-inputs")


def padding_cases():
    x = floats(2, 3, 5)
    symbolic = {"x": ["N", 3, "L"]}
    for mode in ("constant", "reflect", "edge", "wrap"):
        opset = 19 if mode == "wrap" else 13
        for pads in ([0, 1, 2, 0, 0, 3], [0, 2, 1, 0, 1, 1]):
            arrays = {"x": x, "p": ints(*pads)}
            yield op_case("Pad", arrays, opset=opset, mode=mode, constants=["p"], shapes=symbolic,
                          label="-".join(map(str, pads)))  # fmt: skip
    arrays = {"x": x, "p": ints(0, -1, 1, 0, 0, -2)}
    yield op_case("Pad", arrays, constants=["p"], label="negative", shapes=symbolic)
    yield op_case("Pad", {"x": x}, opset=7, mode="reflect", pads=[0, 0, 2, 0, 0, 2])
    for options in ({"p": 1}, {"p": 2}, {"p": 3, "pads": [1, 0, 2, 1]}, {"auto_pad": "SAME_UPPER"}):
        options = {"kernel_shape": [3, 2], "strides": [2, 1], **options}
        yield op_case("LpPool", {"x": floats(2, 3, 6, 5)}, shapes={"x": ["N", 3, 6, 5]}, **options)
    yield op_case("LpPool", {"x": floats(1, 2, 7)}, opset=18, kernel_shape=[2], dilations=[2])
    yield op_case("GlobalMaxPool", {"x": floats(2, 3, 4, 5)}, shapes={"x": ["N", 3, "H", "W"]})
    yield op_case("GlobalMaxPool", {"x": np.round(floats(2, 3, 6))}, label="ties")


def moving_cases():
    arrays = {"x": floats(2, 3), "r": ints(2, 3)}
    yield op_case("Tile", arrays, constants=["r"], shapes={"x": ["N", 3]})
    yield op_case("Tile", {"x": floats(2, 3), "r": ints(1, 4)}, constants=["r"], label="last")
    yield op_case("Tile", {"x": ints(1, 2), "r": ints(3)}, constants=["x", "r"], label="known")
    square = floats(2, 4, 5)
    for upper in (0, 1):
        yield op_case("Trilu", {"x": square}, opset=14, upper=upper, shapes={"x": ["N", "T", 5]})
        for k in (-1, 2):
            arrays = {"x": square, "k": np.array(k, np.int64)}
            yield op_case("Trilu", arrays, opset=14, constants=["k"], upper=upper, label=f"k{k}")
    values, depth = np.array([-0.5, 2.0], np.float32), np.array(4, np.int64)
    arrays = {"i": np.array([[0, 3], [-1, 2], [7, -4]]), "d": depth, "v": values}
    for axis in (-1, 0, 1):
        yield op_case("OneHot", arrays, constants=["d", "v"], axis=axis, shapes={"i": ["N", 2]})
    yield op_case("OneHot", arrays, opset=9, constants=["d"], label="data")
    image = floats(2, 8, 3, 4)
    for mode in ("DCR", "CRD"):
        options = {"blocksize": 2, "mode": mode, "shapes": {"x": ["N", 8, "H", "W"]}}
        yield op_case("DepthToSpace", {"x": image}, opset=13, **options)
    yield op_case("SpaceToDepth", {"x": floats(2, 3, 4, 6)}, blocksize=2)
    yield from resize_cases()
    caches = {"c": floats(9, 3, key=1), "s": floats(9, 3, key=2), "p": np.array([[0, 8, 3], [1, 1, 2]])}
    for interleaved in (0, 1):
        options = {"opset": 23, "interleaved": interleaved, "num_heads": 2}
        shapes = {"x": ["N", "T", 16], "p": ["N", "T"]}
        arrays = {"x": floats(2, 3, 16), **caches}
        yield op_case("RotaryEmbedding", arrays, shapes=shapes, rotary_embedding_dim=6, **options)
    labels = np.array([[0, 2, -1, 1], [1, 1, 0, 2]])
    for op in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"):
        arrays = {"x": floats(2, 3, 4), "t": labels, "w": floats(3, low=0.1, key=1)}
        shapes = {"x": ["N", 3, "T"], "t": ["N", "T"]}
        for reduction in ("none", "mean", "sum"):
            yield op_case(op, arrays, shapes=shapes, reduction=reduction, ignore_index=-1)


def resize_cases():
    """Symbolic batch sizes; symbolic image sizes if elements are repeated."""
    image = floats(2, 3, 5, 4)
    scales = {"x": image, "roi": None, "s": np.array([1, 1, 2, 3], np.float32)}
    for options in ({}, {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}):
        yield op_case("Resize", scales, constants=["s"], shapes={"x": ["N", 3, "H", "W"]}, **options)
    for mode in ("linear", "cubic"):
        for where in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"):
            options = {"mode": mode, "coordinate_transformation_mode": where, "shapes": {"x": ["N", 3, 5, 4]}}
            yield op_case("Resize", scales, constants=["s"], **options)
    arrays = {"x": image, "roi": None, "s": None, "z": np.array([2, 3, 7, 3])}
    for options in ({"mode": "linear"}, {"nearest_mode": "ceil"}, {"nearest_mode": "round_prefer_ceil"}):
        yield op_case("Resize", arrays, constants=["z"], **options)


def index_cases():
    data, rows = floats(3, 4), {"d": ["N", 4]}
    arrays = {"d": data, "i": np.array([[0, -1], [2, 1], [3, 3]])}
    yield op_case("GatherElements", arrays, opset=11, axis=1, shapes={**rows, "i": ["N", 2]})
    arrays = {"d": data, "i": np.array([[0, -1, 2], [2, 1, 0]])}
    yield op_case("GatherElements", arrays, constants=["i"], axis=0)
    yield op_case("GatherND", {"d": floats(4, 3), "i": np.array([[0], [-1], [2]])}, constants=["i"])
    pairs = np.array([[[0, 1]], [[-1, 3]]])
    yield op_case("GatherND", {"d": floats(3, 4, 2), "i": pairs}, shapes={"d": ["N", 4, 2]}, label="pairs")
    picks = np.array([[1], [-2], [0]])
    yield op_case("GatherND", {"d": floats(3, 4, 2), "i": picks}, opset=12, batch_dims=1)
    yield op_case("GatherND", {"d": ints(5, 6, 7), "i": np.array([[2], [0]])}, label="int")
    arrays = {"d": floats(5, 3), "i": np.array([[3], [-5]]), "u": floats(2, 3)}
    yield op_case("ScatterND", arrays, opset=11, constants=["i"])
    yield op_case("ScatterND", arrays, label="data", shapes={"d": ["N", 3]})
    arrays = {"d": floats(3, 4, 2), "i": pairs, "u": floats(2, 1, 2)}
    yield op_case("ScatterND", arrays, opset=16, reduction="none", label="pairs")
    whole = np.stack(np.meshgrid([0, 2], [1, 3], indexing="ij"), -1)
    yield op_case("ScatterND", {"d": floats(3, 4), "i": whole, "u": floats(2, 2)}, constants=["i"],
                  label="elements")  # fmt: skip
    yield op_case("ScatterND", {"d": ints(1, 2, 3), "i": np.array([[1]]), "u": ints(9)}, label="int")
    arrays = {"d": floats(3, 4), "i": np.array([[1, -1], [0, 2]]), "u": floats(2, 2)}
    yield op_case("ScatterElements", arrays, opset=11, axis=1, shapes={"d": ["N", 4]})
    arrays = {"d": floats(3, 4), "i": np.array([[1, 2, 0, 0]]), "u": floats(1, 4)}
    yield op_case("ScatterElements", arrays, opset=16, constants=["i"])


def einsum_cases():
    def einsum(equation, *shapes, **rest):
        arrays = {f"x{i}": floats(*shape, key=i) for i, shape in enumerate(shapes)}
        return op_case("Einsum", arrays, equation=equation, opset=12, **rest)

    yield einsum("ij,jk->ik", (3, 4), (4, 2), shapes={"x0": ["N", 4]})
    yield einsum("ij,jk", (3, 4), (4, 2))
    yield einsum("bhid, bhjd -> bhij", (2, 2, 3, 4), (2, 2, 5, 4), shapes={"x0": ["N", 2, "T", 4], "x1": ["N", 2, "S", 4]})  # fmt: skip
    yield einsum("ij->ji", (3, 4))
    yield einsum("ij->i", (3, 4))
    yield einsum("ij->", (3, 4))
    yield einsum("ii->i", (3, 3))
    yield einsum("ii", (3, 3))
    yield einsum("...ij,...jk->...ik", (2, 3, 4), (2, 4, 5))
    yield einsum("...ij,...jk", (2, 3, 4), (1, 4, 5))
    yield einsum("i,j->ij", (3,), (4,))
    yield einsum("bi,ij,bj->b", (2, 3), (3, 4), (2, 4))
    yield einsum("ab,bc,cd->da", (2, 3), (3, 4), (4, 5))
    yield einsum("ij,ij->ij", (3, 4), (1, 4))


def operator_cases():
    for cases in (
        logic_cases,
        arithmetic_cases,
        reduction_cases,
        scaling_cases,
        spreading_cases,
        padding_cases,
        moving_cases,
        index_cases,
        einsum_cases,
    ):
        yield from cases()
