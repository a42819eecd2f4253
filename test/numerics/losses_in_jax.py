"""The losses and what their positions count: part of `onnx_in_jax`."""

import jax
import jax.numpy as jnp
import numpy as np


def position_losses(kind, prediction, target):
    """The loss of each position."""
    if kind in ("cross-entropy", "nll"):
        log_p = jax.nn.log_softmax(prediction, axis=-1) if kind == "cross-entropy" else prediction
        return -jnp.take_along_axis(log_p, target[..., None], axis=-1)[..., 0]
    target = jnp.asarray(target, prediction.dtype)
    difference = prediction - target
    if kind == "mse":
        return difference**2
    if kind == "l1":
        return jnp.abs(difference)
    if kind == "huber":
        magnitude = jnp.abs(difference)
        return jnp.where(magnitude <= 1, 0.5 * difference**2, magnitude - 0.5)
    if kind == "bce-with-logits":
        return jnp.logaddexp(0, prediction) - prediction * target
    raise ValueError(kind)


def loss_value(kind, prediction, target, weight=None):
    """A loss is the mean over all its positions (design, section 2), weighted where they are."""
    if kind == "none":
        return prediction.reshape(())
    losses = position_losses(kind, prediction, target)
    return jnp.mean(losses) if weight is None else jnp.sum(losses * weight) / jnp.sum(weight)


def position_weights(model, arrays, output=None):
    """The array `weight`, and zeros beyond the ends of samples where there are `lengths`; or None."""
    weight, lengths = arrays.get("weight"), arrays.get("lengths")
    if lengths is None or "target" not in arrays:
        return weight
    names = [value.name for value in model.graph.input]
    inputs = dict(zip(names, map(dimensions, model.graph.input)))
    outputs = {value.name: dimensions(value) for value in model.graph.output}
    target = outputs[output or model.graph.output[0].name][: arrays["target"].ndim]
    (batch,) = inputs["lengths"]
    (steps,) = [size for size in inputs["x"][:2] if size != batch]
    if steps not in target:
        return weight
    shape = [len(lengths) if size == batch else 1 for size in target]
    is_part = np.indices(arrays["target"].shape)[target.index(steps)] < lengths.reshape(shape)
    return is_part * (1.0 if weight is None else weight)


def dimensions(value):
    """Sizes and names of symbolic sizes."""
    return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]
