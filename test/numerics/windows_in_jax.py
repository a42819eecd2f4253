"""Convolution, pooling and normalization of ONNX in JAX, for onnx_in_jax.py."""

import jax
import jax.numpy as jnp
import numpy as np


def window(x, attrs, kernel):
    """Strides, dilations and pads of the spatial axes; pads are a pair for each axis, and how many
    elements of the second one only a rounded-up output size reaches."""
    rank = len(kernel)
    strides = attrs.get("strides", [1] * rank)
    dilations = attrs.get("dilations", [1] * rank)
    given = attrs.get("pads", [0] * 2 * rank)
    auto_pad = attrs.get("auto_pad", b"NOTSET").decode()
    pads, rounded = [], []
    for i, size in enumerate(x.shape[2:]):
        span = (kernel[i] - 1) * dilations[i] + 1
        low, high, extra = given[i], given[rank + i], 0
        if auto_pad.startswith("SAME"):
            total = max((-(-size // strides[i]) - 1) * strides[i] + span - size, 0)
            low = (total + 1) // 2 if auto_pad == "SAME_LOWER" else total // 2
            high = total - low
        elif attrs.get("ceil_mode", 0):
            steps = -(-(size + low + high - span) // strides[i])
            steps -= steps * strides[i] >= size + low
            extra = max(0, steps * strides[i] + span - size - low - high)
        pads.append((low, high + extra))
        rounded.append(extra)
    return strides, dilations, pads, rounded


def conv(x, w, b, attrs):
    strides, dilations, pads, _ = window(x, attrs, w.shape[2:])
    y = jax.lax.conv_general_dilated(
        x, w, strides, pads, rhs_dilation=dilations, feature_group_count=attrs.get("group", 1)
    )
    return y if b is None else y + b.reshape(-1, *[1] * (x.ndim - 2))


def window_elements(x, attrs, padding):
    """x[N, C, places..., elements]: the elements of every window in row-major order."""
    kernel = attrs["kernel_shape"]
    strides, dilations, pads, _ = window(x, attrs, kernel)
    padded = jnp.pad(x, [(0, 0), (0, 0), *pads], constant_values=padding)
    slices = []
    for offset in np.ndindex(*kernel):
        index = [slice(None), slice(None)]
        for o, k, d, s, size in zip(offset, kernel, dilations, strides, padded.shape[2:]):
            count = (size - (k - 1) * d - 1) // s + 1
            index.append(slice(o * d, o * d + (count - 1) * s + 1, s))
        slices.append(padded[tuple(index)])
    return jnp.stack(slices, axis=-1)


def max_pool(x, attrs):
    elements = window_elements(x, attrs, -np.inf)
    first = jnp.argmax(elements, axis=-1)  # of several maxima the first one
    return jnp.take_along_axis(elements, first[..., None], axis=-1)[..., 0]


def average_pool(x, attrs):
    *_, pads, rounded = window(x, attrs, attrs["kernel_shape"])
    ones = jnp.ones_like(x)
    if attrs.get("count_include_pad", 0):
        # The given padding counts, what is behind it does not.
        pads = [(low, high - extra) for (low, high), extra in zip(pads, rounded)]
        ones = jnp.pad(ones, [(0, 0), (0, 0), *pads], constant_values=1)
        attrs_of_ones = {**attrs, "pads": [0] * len(pads) + rounded, "ceil_mode": 0}
        attrs_of_ones.pop("auto_pad", None)
    else:
        attrs_of_ones = attrs
    counts = window_elements(ones, attrs_of_ones, 0).sum(-1)
    return window_elements(x, attrs, 0).sum(-1) / counts


def batch_normalization(x, scale, bias, mean, variance, attrs):
    def spread(value):
        return value.reshape(-1, *[1] * (x.ndim - 2))

    running = ()
    if attrs.get("training_mode", 0):
        axes = (0, *range(2, x.ndim))
        momentum = attrs.get("momentum", 0.9)
        old, (mean, variance) = (mean, variance), (x.mean(axes), x.var(axes))
        running = tuple(
            a * momentum + b * (1 - momentum) for a, b in zip(old, (mean, variance))
        )
    normal = (x - spread(mean)) / jnp.sqrt(spread(variance) + attrs.get("epsilon", 1e-5))
    return (normal * spread(scale) + spread(bias), *running)
