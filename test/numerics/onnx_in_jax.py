"""Evaluates an ONNX graph with JAX: the independent reference of the gradient tests.

It is written from the ONNX operator specification and follows it word by word; speed does not
matter. Floating-point values take one element type (float64 for the reference, float32 for the
error that an ordinary sequential implementation makes); integers, and with them all shape
arithmetic, stay NumPy arrays, so that a traced function has static shapes.

`test_reference.py` checks the evaluator against ONNX Runtime and its gradients against central
finite differences.
"""

import jax
import jax.numpy as jnp
import numpy as np
import onnx
from losses_in_jax import loss_value, position_weights
from onnx import numpy_helper
from operators_in_jax import attributes, evaluate_node

jax.config.update("jax_enable_x64", True)

# --- control flow: loops are unrolled, conditions are known ----------------------------------------


def run_body(graph, values, inputs, opset, dtype):
    """The outputs of a graph inside of a node, which also reads `values`."""
    inner = dict(values)
    for tensor in graph.initializer:
        value = numpy_helper.to_array(tensor)
        inner[tensor.name] = value.astype(dtype) if value.dtype == np.float32 else value
    inner.update({info.name: value for info, value in zip(graph.input, inputs, strict=True)})
    evaluate_nodes(graph.node, inner, opset, dtype)
    return [inner[output.name] for output in graph.output]


def scan_op(attrs, inputs, run):
    count = attrs["num_scan_inputs"]
    states, arrays = list(inputs[:-count]), list(inputs[-count:])
    axes = attrs.get("scan_input_axes", [0] * count)
    backwards = attrs.get("scan_input_directions", [0] * count)
    arrays = [
        jnp.moveaxis(array, axis, 0)[:: -1 if back else 1]
        for array, axis, back in zip(arrays, axes, backwards)
    ]
    steps = []
    for i in range(arrays[0].shape[0]):
        outputs = run(states + [array[i] for array in arrays])
        states = outputs[: len(states)]
        steps.append(outputs[len(states) :])
    outputs = len(steps[0])
    axes = attrs.get("scan_output_axes", [0] * outputs)
    backwards = attrs.get("scan_output_directions", [0] * outputs)
    stacked = [jnp.stack(column[:: -1 if back else 1], axis) for column, axis, back in zip(zip(*steps), axes, backwards)]
    return states + stacked


def loop_op(inputs, run):
    count, condition, *states = inputs
    going = True if condition is None else bool(np.asarray(condition).reshape(()))
    steps = []
    for i in range(int(np.asarray(count).reshape(()))):
        if not going:
            break
        going, *outputs = run([np.asarray(i), np.asarray(going)] + states)
        states = outputs[: len(states)]
        steps.append(outputs[len(states) :])
    return states + [jnp.stack(column) for column in zip(*steps)]


def evaluate_nodes(nodes, values, opset, dtype):
    """Adds what the nodes define to `values`."""
    for node in nodes:
        inputs = [values[name] for name in node.input]
        if node.op_type in ("If", "Loop", "Scan"):
            attrs = attributes(node)
            if node.op_type == "If":
                branch = "then_branch" if np.asarray(inputs[0]).reshape(()) else "else_branch"
                outputs = run_body(attrs[branch], values, [], opset, dtype)
            else:
                body = attrs["body"]

                def run(given, body=body):
                    return run_body(body, values, given, opset, dtype)

                outputs = loop_op(inputs, run) if node.op_type == "Loop" else scan_op(attrs, inputs, run)
        else:
            outputs = evaluate_node(node, inputs, opset, dtype)
        values.update({name: v for name, v in zip(node.output, outputs) if name})
    return values


def evaluate(model, floats, others, dtype):
    """Every named value of the graph.

    floats: name -> array for float inputs and float initializers (those of the model when absent);
    others: name -> NumPy array for the remaining graph inputs.
    """
    values = {"": None}
    for tensor in model.graph.initializer:
        value = numpy_helper.to_array(tensor)
        values[tensor.name] = value.astype(dtype) if value.dtype == np.float32 else value
    values.update(others)
    values.update({name: jnp.asarray(value, dtype) for name, value in floats.items()})
    opset = next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
    return evaluate_nodes(model.graph.node, values, opset, dtype)


# --- outputs and gradients ------------------------------------------------------------------------


def split_inputs(model, arrays):
    """The float values that have a gradient (initializers and inputs) and the other inputs."""
    floats = {
        tensor.name: numpy_helper.to_array(tensor)
        for tensor in model.graph.initializer
        if tensor.data_type == onnx.TensorProto.FLOAT
    }
    others = {}
    for name, array in arrays.items():
        if name not in ("target", "weight"):
            (floats if array.dtype == np.float32 else others)[name] = array
    return floats, others


def outputs(model, arrays, dtype):
    """Every graph output as a NumPy array."""
    floats, others = split_inputs(model, arrays)
    values = jax.jit(
        lambda f: [evaluate(model, f, others, dtype)[o.name] for o in model.graph.output]
    )(floats)
    return {o.name: np.asarray(v) for o, v in zip(model.graph.output, values)}


def gradients(model, arrays, loss, dtype, loss_on=None):
    """`loss` and one gradient for each float initializer and float graph input, as NumPy arrays."""
    floats, others = split_inputs(model, arrays)
    floats = {name: np.asarray(value, dtype) for name, value in floats.items()}
    name = loss_on or model.graph.output[0].name

    weight = position_weights(model, arrays, name)

    def function(f, target):
        return loss_value(loss, evaluate(model, f, others, dtype)[name], target, weight)

    value, grads = jax.jit(jax.value_and_grad(function))(floats, arrays.get("target"))
    return {"loss": np.asarray(value), **{n: np.asarray(g) for n, g in grads.items()}}
