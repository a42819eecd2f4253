"""Convolutional ONNX models for the tests, built with onnx.helper only; x is [N, C, H, W]."""

import numpy as np
import onnx
from models import GraphBuilder
from onnx import helper, numpy_helper


class ImageBuilder(GraphBuilder):
    """A chain of layers; `value` is the last output and `shape` its shape without N."""

    def __init__(self, shape, seed=0):
        super().__init__()
        self.rng = np.random.default_rng(seed)
        self.value = self.input("x", ["N", *shape])
        self.shape = tuple(shape)

    def weight(self, kind, shape, fan_in):
        name = f"{kind}{len(self.initializers)}"
        bound = np.sqrt(3 / fan_in)
        return self.parameter(name, self.rng.uniform(-bound, bound, shape))

    def layer(self, op, inputs=(), **attrs):
        self.value = self.add(op, [self.value, *inputs], **attrs)
        return self

    def conv(self, features, kernel, group=1, pads=(0, 0, 0, 0), strides=(1, 1), **attrs):
        channels, *sizes = self.shape
        fan_in = channels // group * kernel[0] * kernel[1]
        w = self.weight("conv.w", (features, channels // group, *kernel), fan_in)
        b = self.weight("conv.b", (features,), fan_in)
        dilations = attrs.get("dilations", (1, 1))
        places = [
            (size + pads[i] + pads[2 + i] - (kernel[i] - 1) * dilations[i] - 1) // strides[i] + 1
            for i, size in enumerate(sizes)
        ]
        self.shape = (features, *places)
        return self.layer("Conv", [w, b], group=group, pads=pads, strides=strides, **attrs)

    def pool(self, op, kernel, strides=None):
        strides = strides or kernel
        places = [(s - k) // t + 1 for s, k, t in zip(self.shape[1:], kernel, strides)]
        self.shape = (self.shape[0], *places)
        return self.layer(op, kernel_shape=kernel, strides=strides)

    def batch_norm(self, **attrs):
        (channels, *_) = self.shape
        names = [self.weight(f"bn.{k}", (channels,), 3) for k in ("scale", "bias", "mean")]
        names.append(self.parameter("bn.var" + names[0], self.rng.uniform(0.5, 2, channels)))
        if attrs.get("training_mode"):
            self.value, *_ = self.add("BatchNormalization", [self.value, *names], 3, **attrs)
            return self
        return self.layer("BatchNormalization", names, **attrs)

    def flatten(self):
        self.shape = (int(np.prod(self.shape)),)
        return self.layer("Flatten")

    def linear(self, features):
        (inputs,) = self.shape
        w, b = self.weight("fc.w", (inputs, features), inputs), self.weight("fc.b", (features,), inputs)
        self.shape = (features,)
        return self.layer("Gemm", [w, b])

    def finish(self, opset=17):
        self.nodes[-1].output[0] = "logits"
        output = helper.make_tensor_value_info("logits", onnx.TensorProto.FLOAT, ["N", *self.shape])
        graph = helper.make_graph(self.nodes, "test", self.inputs, [output], self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        onnx.checker.check_model(model)
        return model


def lenet5():
    b = ImageBuilder((1, 28, 28))
    b.conv(6, (5, 5), pads=(2, 2, 2, 2)).layer("Tanh").pool("AveragePool", (2, 2))
    b.conv(16, (5, 5)).layer("Tanh").pool("AveragePool", (2, 2)).flatten()
    return b.linear(120).layer("Tanh").linear(84).layer("Tanh").linear(10).finish()


def vgg11(width, size=32, batch_norm=False, hidden=True):
    """VGG-11 with `width` features instead of the paper's 64 and a classifier of a single layer."""
    b = ImageBuilder((3, size, size), seed=1)
    for factor in (1, 0, 2, 0, 4, 4, 0, 8, 8, 0, 8, 8, 0):
        if factor == 0:
            b.pool("MaxPool", (2, 2))
            continue
        b.conv(width * factor, (3, 3), pads=(1, 1, 1, 1))
        if batch_norm:
            b.batch_norm()
        b.layer("Relu")
    b.flatten()
    if hidden:
        b.linear(8 * width).layer("Relu")
    return b.linear(10).finish()


def residual():
    """Two residual blocks; the second has strides and a projection."""
    b = ImageBuilder((3, 9, 8), seed=2)
    b.conv(4, (3, 3), pads=(1, 1, 1, 1)).batch_norm().layer("Relu")
    for strides in ((1, 1), (2, 2)):
        before, shape = b.value, b.shape
        b.conv(4, (3, 3), pads=(1, 1, 1, 1), strides=strides).layer("Relu")
        b.conv(4, (3, 3), pads=(1, 1, 1, 1))
        branch, b.value, b.shape = b.value, before, shape
        if strides != (1, 1):
            b.conv(4, (1, 1), strides=strides)
        b.layer("Add", [branch]).layer("Relu")
    b.layer("GlobalAveragePool")
    b.shape = (4, 1, 1)
    return b.flatten().linear(5).finish()


def mixed():
    """Grouped and dilated convolutions, overlapping pools and the remaining activations."""
    b = ImageBuilder((4, 11, 10), seed=3)
    b.conv(8, (3, 2), group=2, pads=(1, 0, 2, 1)).layer("Elu").pool("MaxPool", (3, 3), (2, 1))
    b.conv(8, (2, 3), group=8, dilations=(2, 1)).layer("HardSwish")
    b.conv(6, (2, 2), strides=(1, 2)).batch_norm()
    slope = b.weight("slope", (6, 1, 1), 3)
    b.layer("PRelu", [slope]).pool("AveragePool", (2, 1), (1, 1)).layer("Selu").flatten()
    return b.linear(7).layer("Softplus").linear(4).finish()


def small():
    """Padded convolutions and pools, windows with two readers, and a skip connection."""
    b = ImageBuilder((2, 6, 5))
    b.conv(3, (3, 3), pads=(1, 1, 1, 1)).layer("Relu").pool("MaxPool", (3, 2), (2, 1))
    b.conv(4, (2, 2), pads=(0, 1, 1, 0), strides=(1, 2)).layer("Tanh").pool("AveragePool", (2, 1))
    return b.flatten().linear(6).layer("Relu").linear(3).finish()


def prune(model, percent):
    """Returns the model without its smallest weights, and masks of the remaining elements."""
    kept = {}
    for initializer in model.graph.initializer:
        array = numpy_helper.to_array(initializer)
        if array.ndim < 2:
            continue
        mask = np.abs(array) >= np.percentile(np.abs(array), percent)
        initializer.CopyFrom(numpy_helper.from_array(array * mask, initializer.name))
        kept[initializer.name] = mask
    return model, kept
