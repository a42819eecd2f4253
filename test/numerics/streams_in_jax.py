"""Reference losses and gradients of streams in JAX: a loop over the single-sample step graph."""

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import onnx_in_jax
import stream_models
from onnx import numpy_helper


def with_target(graph, arrays, steps, samples):
    wanted = stream_models.run_steps(graph, arrays, steps, samples)["y"]
    noise = np.random.default_rng(9).normal(0, 1, wanted.shape).astype(np.float32)
    return arrays | {"target": wanted + noise}


def reference(graph, arrays, dtype, counts=None):
    """Returns loss and gradients, from a loop over the graph of one step, mapped over samples.

    With `counts`, returns one result per count, for that number of leading samples.
    """
    model = graph.resolved or graph.model
    tensors = {
        t.name: numpy_helper.to_array(t)
        for t in model.graph.initializer
        if t.data_type == onnx.TensorProto.FLOAT
    }
    fixed = {name: tensors.pop(name).astype(dtype) for name in graph.unread}
    known = graph.bound | fixed
    floats = {n: a for n, a in arrays.items() if a.dtype == np.float32 and n != "target"}
    values = {name: np.asarray(a, dtype) for name, a in (tensors | floats).items()}
    states = list(graph.carry)

    def split(name, array):
        """Splits an array by step and sample, or by sample for states."""
        steps = [] if name in states else [graph.step.get(name)]
        own = [*steps, graph.batch.get(name)]
        front = 0 if name in states or name in graph.step else 1
        at = front if own[-1] is None else front + own[-1]
        from_axes = [at] if name in states else [0 if front else own[0] + (own[-1] is None), at]
        array = jnp.moveaxis(array, from_axes, list(range(len(from_axes))))
        for axis in sorted(axis for axis in own if axis is not None):
            array = jnp.expand_dims(array, len(own) + axis)
        return array

    target = split("y", np.asarray(arrays["target"], dtype))
    sequences = {n: a for n, a in arrays.items() if n not in states and n != "target"}
    whole = {n: split(n, a) for n, a in sequences.items() if a.dtype != np.float32}

    def losses(values):
        """Returns the loss of each sample as a batch of one."""
        weights = {n: a for n, a in values.items() if n not in arrays}

        def step(state, now):
            def run(state, now):
                found = onnx_in_jax.evaluate(model, weights | now | state, known, dtype)
                return {n: found[out] for n, out in graph.carry.items()}, found["y"]

            return jax.vmap(run)(state, now)

        over_time = {n: split(n, values[n]) for n in sequences if n in values}
        first = {n: split(n, values[n]) for n in states}
        _, found = jax.lax.scan(step, first, over_time | whole)
        squares = (found - target) ** 2
        return jnp.mean(squares, axis=[i for i in range(squares.ndim) if i != 1])

    counts_or_all = counts or [target.shape[1]]
    results = []
    value, pull = jax.vjp(jax.jit(losses), values)
    pull = jax.jit(pull)
    for count in counts_or_all:
        share = (np.arange(target.shape[1]) < count).astype(dtype) / count
        (grads,) = pull(jnp.asarray(share))
        results.append({"loss": np.asarray(jnp.sum(value * share))})
        for name, grad in grads.items():
            results[-1][name] = np.asarray(take_samples(graph, name, grad, count))
    return results if counts else results[0]


def take_samples(graph, name, array, count):
    """Returns the first `count` samples of an array of the stream; weights are not changed."""
    if name not in [value.name for value in graph.model.graph.input] + ["target", *graph.batch]:
        return array
    if name == "target":
        name = "y"
    state = name in graph.carry or name in graph.carry.values()
    axis = graph.batch.get(name)
    front = 0 if state or name in graph.step else 1
    at = front if axis is None else front + axis
    return array[(slice(None),) * at + (slice(0, count),)]
