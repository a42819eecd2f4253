"""Cases of attention, Fourier transforms, scatters, integers and resizing, for onnx_cases.py."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx_case import Case, floats, ints, model, op_case


def attention_cases():
    def attention(label, q, k, v, mask=None, past=(), opset=23, outputs=1, shapes=None, lengths=None, **rest):
        arrays = {"q": floats(*q), "k": floats(*k, key=1), "v": floats(*v, key=2)}
        optional = {"m": mask, "pk": past[0] if past else None, "pv": past[1] if past else None, "n": lengths}
        while optional and list(optional.values())[-1] is None:
            optional.popitem()
        return op_case("Attention", arrays | optional, opset=opset, outputs=outputs, label=label, shapes=shapes, **rest)  # fmt: skip

    four = ((2, 4, 3, 8), (2, 4, 5, 8), (2, 4, 5, 6))
    names = {"q": ["N", 4, "S", 8], "k": ["N", 4, "T", 8], "v": ["N", 4, "T", 6]}
    yield attention("cross", *four, shapes=names)
    yield attention("causal", *four, shapes=names, is_causal=1)
    yield attention("scaled", *four, scale=0.3, softcap=1.5)
    shared = ((2, 4, 3, 8), (2, 2, 5, 8), (2, 2, 5, 6))
    grouped = {"q": ["N", 4, "S", 8], "k": ["N", 2, "T", 8], "v": ["N", 2, "T", 6]}
    yield attention("grouped", *shared, shapes=grouped, is_causal=1)
    rows = {"q": ["N", "T", 8], "k": ["N", "T", 8], "v": ["N", "T", 8]}
    flat = {"q_num_heads": 2, "kv_num_heads": 2, "is_causal": 1}
    yield attention("heads", (2, 4, 8), (2, 4, 8), (2, 4, 8), shapes=rows, **flat)
    yield attention("mask", *four, mask=floats(3, 5, key=3), shapes={**names, "m": ["S", "T"]})
    hidden = floats(2, 1, 3, 5, key=4) > 0
    hidden[0, 0, 1] = False
    yield attention("bools", *four, mask=hidden, shapes={**names, "m": ["N", 1, "S", "T"]})
    past = (floats(2, 4, 2, 8, key=5), floats(2, 4, 2, 6, key=6))
    lengths = {"pk": ["N", 4, "P", 8], "pv": ["N", 4, "P", 6]}
    yield attention("past", *four, past=past, outputs=3, shapes=names | lengths, is_causal=1)
    count = np.array([2, 5])
    yield attention("lengths", *four, lengths=count, opset=24, shapes={**names, "n": ["N"]})


def fourier_cases():
    for inverse in (0, 1):
        for parts in (1, 2):
            arrays = {"x": floats(2, 5, 3, parts), "n": None}
            yield op_case("DFT", arrays, inverse=inverse, shapes={"x": ["N", 5, "K", parts]}, label=f"{parts}")
    yield op_case("DFT", {"x": floats(2, 6, 1)}, onesided=1)
    for length in (4, 9):
        arrays = {"x": floats(2, 6, 1), "n": np.array(length, np.int64)}
        yield op_case("DFT", arrays, constants=["n"], onesided=1, label=f"length{length}")
        arrays["a"] = np.array(1, np.int64)
        yield op_case("DFT", arrays, constants=["n", "a"], opset=20, label=f"length{length}")
    signal, step = floats(2, 11, 1), np.array(3, np.int64)
    symbolic = {"x": ["N", "T", 1]}
    arrays = {"x": signal, "s": step, "w": floats(4, key=1)}
    yield op_case("STFT", arrays, constants=["s", "w"], shapes=symbolic)
    arrays = {"x": signal, "s": step, "w": None, "f": np.array(5, np.int64)}
    yield op_case("STFT", arrays, constants=["s", "f"], shapes=symbolic, onesided=0)


def joined_cases():
    """Scatters with several updates of one element and with elements that are not updated."""
    x, picks = floats(4, 3), np.array([[2], [0], [2], [-2]])
    for how in ("add", "mul", "max", "min"):
        arrays = {"d": x, "i": picks, "u": floats(4, 3, key=1)}
        shapes = {"d": ["N", 3], "i": ["M", 1], "u": ["M", 3]}
        yield op_case("ScatterND", arrays, opset=18, reduction=how, shapes=shapes)
        pairs = np.array([[[0, 1], [3, 2]], [[0, 1], [-1, -1]]])
        arrays = {"d": x, "i": pairs, "u": floats(2, 2, key=2)}
        yield op_case("ScatterND", arrays, opset=18, reduction=how, constants=["i"], label="elements")
        arrays = {"d": x, "i": np.array([[1, 1], [0, -1]]), "u": floats(2, 2, key=3)}
        yield op_case("ScatterElements", arrays, opset=18, reduction=how, axis=1, shapes={"d": ["N", 3]} if how == "add" else None, label="part" if how == "add" else "")  # fmt: skip
        arrays = {"d": ints(3, -4, 5), "i": ints(1, 1, 2), "u": ints(2, -9, 7)}
        yield op_case("ScatterElements", arrays, opset=18, reduction=how, label="int")


def integer_cases():
    a, b = ints(-7, 7, 5, -6), ints(2, -3, -5, 4)
    yield op_case("Div", {"a": a, "b": b}, opset=14, label="int")
    yield op_case("Pow", {"a": a, "b": ints(2, 3, 0, 1)}, opset=15, label="int")
    yield op_case("Pow", {"a": np.abs(a), "b": floats(4, key=1)}, opset=15, label="int-float")
    yield op_case("Pow", {"a": floats(4, low=0.5), "b": b}, opset=15, label="float-int")
    table = a.reshape(2, 2).astype(np.int32)
    for exclusive in (0, 1):
        for reverse in (0, 1):
            options = {"exclusive": exclusive, "reverse": reverse, "shapes": {"x": ["N", "K"]}}
            arrays = {"x": np.stack([b, a]), "axis": np.array(1, np.int64)}
            yield op_case("CumSum", arrays, constants=["axis"], label="int", **options)
    for op in ("ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd"):
        axes = {"a": ints(1)} if op == "ReduceSum" else {}
        attributes = {} if axes else {"axes": [1]}
        yield op_case(op, {"x": table, **axes}, opset=13, constants=list(axes), label="int", **attributes)
    for mode in ("constant", "reflect"):
        arrays = {"x": table, "p": ints(0, 1, 1, 0)}
        yield op_case("Pad", arrays, opset=18, constants=["p"], mode=mode, label="int")
    bounds = {n: np.array(v, np.float32) for n, v in (("s", 1.0), ("l", -0.5), ("d", -0.4))}
    yield op_case("Range", bounds, constants=list(bounds), label="float")
    arrays = {"i": np.array([1.0, 3.0], np.float32), "d": np.array(4, np.float32), "v": floats(2)}
    yield op_case("OneHot", arrays, constants=["d"], label="float")
    yield op_case("Mod", {"a": floats(3, 4), "b": floats(4, key=1)}, opset=13, fmod=1, label="signs")
    image = np.round(floats(2, 3, 4, 5))
    for order in (0, 1):
        options = {"kernel_shape": [2, 2], "pads": [1, 0, 0, 1], "storage_order": order, "outputs": 2}
        yield op_case("MaxPool", {"x": image}, shapes={"x": ["N", 3, 4, 5]}, label="indices", **options)
    yield op_case("MaxPool", {"x": floats(1, 2, 4, 3, 4)}, kernel_shape=[2, 2, 2], outputs=2, label="3d")
    yield op_case("Upsample", {"x": floats(1, 2, 3, 4), "s": np.array([1, 1, 2, 1.5], np.float32)}, opset=9, constants=["s"])  # fmt: skip
    for mode in ("nearest", "linear"):
        yield op_case("Upsample", {"x": floats(1, 2, 3, 4)}, opset=7, scales=[1.0, 1.0, 2.0, 3.0], mode=mode, shapes={"x": ["N", 2, "H", "W"]} if mode == "nearest" else None)  # fmt: skip


def more_resize_cases():
    x = floats(1, 2, 7, 5)
    for mode in ("linear", "cubic"):
        for outside in (0, 1):
            arrays = {"x": x, "roi": None, "s": np.array([1, 1, 0.4, 1.6], np.float32)}
            options = {"antialias": 1, "mode": mode, "exclude_outside": outside}
            yield op_case("Resize", arrays, opset=18, constants=["s"], shapes={"x": ["N", 2, 7, 5]}, **options)
    crop = np.array([0.2, -0.3, 0.7, 1.2], np.float32)
    for mode in ("nearest", "linear"):
        arrays = {"x": x, "roi": crop, "e": None, "s": ints(4, 6)}
        yield op_case("Resize", arrays, opset=18, constants=["roi", "s"], axes=[2, 3], mode=mode, coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=7.5)  # fmt: skip
    for policy in ("not_larger", "not_smaller"):
        arrays = {"x": x, "roi": None, "e": None, "s": ints(9, 8)}
        yield op_case("Resize", arrays, opset=18, constants=["s"], axes=[2, 3], keep_aspect_ratio_policy=policy)


def computed_resize_cases():
    """Scales and sizes computed as exporters do: concatenated, and sizes as floats."""
    x = floats(2, 2, 3, 4)

    def case(label, nodes, initializers, inputs, shape, output):
        nodes.append(helper.make_node("Resize", inputs, ["y"], "node", mode="nearest", nearest_mode="floor",
                                      coordinate_transformation_mode="asymmetric"))  # fmt: skip
        built = model(nodes, [("x", shape)], [("y", output)], initializers)
        return Case(f"Resize-{label}", built, {"x": x})

    node = helper.make_node
    halves = [("one", np.ones(2, np.float32)), ("two", np.array([2, 3], np.float32))]
    values = [node("Constant", [], [f"{n}.c"], value=numpy_helper.from_array(a)) for n, a in halves]
    joined = [*values, node("Concat", ["one.c", "two.c"], ["s"], axis=0)]
    yield case("joined", joined, [], ["x", "", "s"], ["N", 2, "H", "W"], ["N", 2, "H2", "W3"])
    computed = [
        node("Shape", ["x"], ["all"]),
        node("Slice", ["all", "zero", "two"], ["front"]),
        node("Gather", ["all", "two0"], ["h"]),
        node("Cast", ["h"], ["hf"], to=TensorProto.FLOAT),
        node("Mul", ["hf", "factor"], ["larger"]),
        node("Floor", ["larger"], ["whole"]),
        node("Unsqueeze", ["whole", "zero"], ["row"]),
        node("Concat", ["row", "width"], ["back"], axis=0),
        node("Cast", ["back"], ["integers"], to=TensorProto.INT64),
        node("Concat", ["front", "integers"], ["z"], axis=0),
    ]
    numbers = [("zero", ints(0)), ("two", ints(2)), ("two0", np.array(2))]
    given = [("factor", np.float32(2.0)), ("width", np.array([6.5], np.float32))]
    constants = [node("Constant", [], [n], value=numpy_helper.from_array(np.asarray(a))) for n, a in given]
    yield case("computed", constants + computed, numbers, ["x", "", "", "z"], ["N", 2, "H", 4], ["N", 2, "H2", 6])


def transform_cases():
    resizes = (more_resize_cases, computed_resize_cases)
    for cases in (attention_cases, fourier_cases, joined_cases, integer_cases, *resizes):
        yield from cases()
