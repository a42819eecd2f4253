"""Cases of convolution, pooling, padding, normalization and activations, for onnx_cases.py."""

import numpy as np
from onnx import helper
from onnx_case import Case, floats, ints, model, op_case


def conv_cases():
    def conv(x, w, bias=True, opset=17, **rest):
        arrays = {"x": floats(*x), "w": floats(*w)}
        constants = ["w"]
        if bias:
            arrays["b"] = floats(w[0], key=1)
            constants.append("b")
        label = rest.pop("label", "") + "x".join(map(str, x)) + "," + "x".join(map(str, w))
        label += "" if bias else "-nobias"
        return op_case("Conv", arrays, opset=opset, constants=constants, label=label, **rest)

    batch = {"x": ["N", 2, 7, 8]}
    yield conv((2, 3, 7), (4, 3, 3))
    yield conv((2, 3, 7), (4, 3, 3), pads=[2, 1], strides=[2], dilations=[2], bias=False)
    yield conv((1, 1, 5, 5), (1, 1, 1, 1))
    for opset in (7, 11, 22):
        yield conv((3, 2, 7, 8), (4, 2, 3, 3), shapes=batch, opset=opset)
    yield conv((3, 2, 7, 8), (4, 2, 3, 2), shapes=batch, kernel_shape=[3, 2], pads=[1, 0, 2, 1])
    yield conv((3, 2, 7, 8), (4, 2, 3, 2), strides=[2, 3], bias=False)
    yield conv((3, 2, 7, 8), (4, 2, 2, 3), dilations=[3, 2], pads=[2, 3, 0, 1], strides=[1, 2])
    for auto_pad in ("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"):
        yield conv((2, 2, 7, 8), (3, 2, 4, 3), strides=[2, 3], auto_pad=auto_pad, shapes=batch)
        yield conv((2, 2, 7, 8), (3, 2, 3, 2), auto_pad=auto_pad, label="unit")
    yield conv((2, 4, 5, 6), (6, 2, 3, 3), group=2, pads=[1, 1, 1, 1], shapes={"x": ["N", 4, 5, 6]})
    yield conv((2, 4, 5, 6), (4, 1, 3, 3), group=4, strides=[2, 1], bias=False)
    yield conv((2, 4, 5, 6), (8, 1, 3, 3), group=4, dilations=[1, 2])
    yield conv((2, 6, 9), (9, 2, 4), group=3, pads=[0, 3])
    yield conv((1, 2, 4, 5, 3), (3, 2, 2, 3, 2), strides=[1, 2, 1], pads=[0, 1, 1, 1, 0, 0])
    yield conv((3, 2, 7, 8), (4, 2, 3, 3), pads=[1] * 4, shapes={"x": ["N", 2, "H", "W"]})
    yield conv(
        (3, 2, 7, 8), (4, 2, 3, 3), pads=[1, 1, 2, 2], strides=[3, 2], shapes={"x": ["N", 2, "H", "W"]}
    )
    arrays = {"x": floats(2, 3, 5, 5), "w": floats(4, 3, 3, 3), "b": floats(4)}
    yield op_case("Conv", arrays, label="weights-as-inputs", shapes={"x": ["N", 3, 5, 5]})


def pool_cases():
    x = floats(2, 3, 7, 8)
    batch = {"x": ["N", 3, 7, 8]}
    sizes = {"x": ["N", 3, "H", "W"]}
    ties = np.round(x)
    for op, newest in (("MaxPool", 22), ("AveragePool", 22)):
        dilations = {"dilations": [2, 3]}
        yield op_case(op, {"x": x}, opset=7, kernel_shape=[2, 2], strides=[2, 2], shapes=batch)
        yield op_case(op, {"x": x}, opset=8, kernel_shape=[3, 2], strides=[2, 1])
        yield op_case(op, {"x": ties}, kernel_shape=[3, 3], label="ties")
        yield op_case(op, {"x": floats(2, 3, 9)}, kernel_shape=[3], strides=[2], pads=[1, 2])
        yield op_case(op, {"x": floats(1, 2, 4, 5, 3)}, kernel_shape=[2, 3, 2], strides=[1, 2, 1])
        yield op_case(op, {"x": x}, kernel_shape=[3, 3], pads=[1, 2, 2, 0], shapes=batch)
        yield op_case(op, {"x": x}, opset=newest, kernel_shape=[3, 2], **dilations)
        yield op_case(
            op, {"x": x}, opset=newest, kernel_shape=[3, 2], pads=[2, 1, 1, 1], **dilations
        )
        for kernel, strides, pads in (
            ([3, 3], [2, 2], [0, 0, 0, 0]),
            ([2, 2], [3, 3], [1, 1, 1, 1]),
            ([3, 2], [2, 3], [1, 0, 2, 1]),
        ):
            yield op_case(
                op, {"x": x}, kernel_shape=kernel, strides=strides, pads=pads, ceil_mode=1
            )
        for auto_pad in ("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"):
            yield op_case(op, {"x": x}, kernel_shape=[3, 2], strides=[2, 3], auto_pad=auto_pad)
        yield op_case(op, {"x": x}, kernel_shape=[1, 1], shapes=sizes)
        yield op_case(op, {"x": x}, kernel_shape=[1, 1], strides=[2, 3], shapes=sizes, ceil_mode=0)
        yield op_case(op, {"x": x}, kernel_shape=[1, 1], shapes=sizes, ceil_mode=1)
        yield op_case(op, {"x": -9 + x}, kernel_shape=[2, 2], pads=[1] * 4, label="negative")
    yield op_case("MaxPool", {"x": x}, kernel_shape=[3, 3], pads=[1] * 4, shapes=sizes)
    yield op_case("MaxPool", {"x": x}, kernel_shape=[2, 2], storage_order=1)
    for options in (
        {"pads": [1, 2, 2, 0]},
        {"auto_pad": "SAME_UPPER"},
        {"pads": [1, 0, 2, 1], "strides": [2, 3], "ceil_mode": 1},
        {"strides": [2, 2], "ceil_mode": 1},
    ):
        yield op_case(
            "AveragePool", {"x": x}, opset=19, kernel_shape=[3, 3], count_include_pad=1, **options
        )
    options = {"kernel_shape": [3, 3], "pads": [1] * 4, "count_include_pad": 1}
    yield op_case("AveragePool", {"x": x}, shapes=sizes, **options)
    yield op_case("GlobalAveragePool", {"x": x}, shapes=sizes)
    yield op_case("GlobalAveragePool", {"x": floats(2, 3, 7)}, label="one-axis")
    pads = [0, 1, 2, 0, 0, 0, 1, 3]
    yield op_case("Pad", {"x": x}, opset=10, pads=pads, value=1.5, mode="constant", shapes=batch)
    yield op_case("Pad", {"x": x, "p": ints(*pads)}, opset=13, constants=["p"], shapes=sizes)
    arrays = {"x": x, "p": ints(*pads), "c": np.array(-2.5, np.float32)}
    yield op_case("Pad", arrays, opset=11, constants=["p", "c"])
    arrays = {"x": x, "p": ints(1, 2, 3, 0), "c": None, "a": ints(-1, 2)}
    yield op_case("Pad", arrays, opset=18, constants=["p", "a"])


def normalization_cases():
    for shape, symbolic in (
        ((2, 3, 4, 5), ["N", 3, 4, 5]),
        ((4, 3), ["N", 3]),
        ((2, 3, 6), ["N", 3, "L"]),
    ):
        arrays = {"x": floats(*shape), "s": floats(3), "b": floats(3, key=1)}
        arrays |= {"m": floats(3, key=2), "v": floats(3, low=0.5, key=3)}
        constants = ["s", "b", "m", "v"]
        for opset, attributes in (
            (7, {"spatial": 1}),
            (9, {"epsilon": 0.1, "momentum": 0.7}),
            (14, {"training_mode": 0}),
            (17, {}),
        ):
            yield op_case(
                "BatchNormalization",
                arrays,
                opset=opset,
                constants=constants,
                shapes={"x": symbolic},
                label=f"rank{len(shape)}",
                **attributes,
            )
        for attributes in ({}, {"momentum": 0.6, "epsilon": 0.01}):
            yield op_case(
                "BatchNormalization",
                arrays,
                outputs=3,
                opset=15,
                constants=["s", "b"],  # statistics that are not initializers
                shapes={"x": symbolic},
                label=f"rank{len(shape)}",
                training_mode=1,
                **attributes,
            )


def activation_cases():
    x = floats(4, 5, low=-6.0, high=6.0)
    x[0, :] = [0.0, 3.0, -3.0, 100.0, -100.0]
    symbolic = {"x": ["N", 5]}
    for op, opset in (("Elu", 7), ("Selu", 7), ("HardSigmoid", 7), ("HardSwish", 14)):
        yield op_case(op, {"x": x}, opset=opset, shapes=symbolic)
        yield op_case(op, {"x": x}, opset=22)
    for op, opset in (("Celu", 12), ("Mish", 18), ("Softsign", 7), ("ThresholdedRelu", 10)):
        yield op_case(op, {"x": x}, opset=opset, shapes=symbolic)
    yield op_case("Swish", {"x": x}, opset=24)
    yield op_case("Swish", {"x": x}, opset=24, alpha=0.7)
    yield op_case("Celu", {"x": x}, opset=12, alpha=0.3)
    yield op_case("ThresholdedRelu", {"x": x}, opset=10, alpha=2.5)
    yield op_case("Elu", {"x": x}, alpha=0.3)
    yield op_case("Selu", {"x": x}, alpha=1.2, gamma=0.7)
    yield op_case("HardSigmoid", {"x": x}, alpha=0.3, beta=0.4)
    yield op_case("Softplus", {"x": x})
    yield op_case("Erf", {"x": x}, opset=9)
    yield op_case("Gelu", {"x": x}, opset=20)
    for approximate in ("none", "tanh"):
        yield op_case("Gelu", {"x": x}, opset=20, approximate=approximate, shapes=symbolic)
    yield op_case("PRelu", {"x": x, "s": floats(5)}, constants=["s"], shapes=symbolic)
    yield op_case("PRelu", {"x": floats(2, 3, 4, 4), "s": floats(3, 1, 1)}, opset=7)
    low, high = np.array(-1.5, np.float32), np.array(2.0, np.float32)
    yield op_case("Clip", {"x": x}, opset=7)
    yield op_case("Clip", {"x": x}, opset=10, min=-1.0, max=2.5)
    yield op_case("Clip", {"x": x}, opset=7, max=0.5, shapes=symbolic)
    yield op_case("Clip", {"x": x}, opset=13, label="none")
    yield op_case("Clip", {"x": x, "l": low}, opset=11, constants=["l"])
    yield op_case("Clip", {"x": x, "l": None, "h": high}, opset=12, constants=["h"])
    yield op_case("Clip", {"x": x, "l": low, "h": high}, opset=13, constants=["l", "h"])
    yield op_case("Clip", {"x": x, "l": high, "h": low}, constants=["l", "h"], label="crossed")
    nodes = [
        helper.make_node("Constant", [], ["l"], value_float=-1.0),
        helper.make_node("Clip", ["x", "l"], ["y"]),
    ]
    yield Case("Clip-constant", model(nodes, [("x", [4, 5])], [("y", [4, 5])]), {"x": x})
