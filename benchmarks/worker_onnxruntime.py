# Part of the bppsa project, under the MIT License.
"""Measures a training step of ONNX Runtime's training package on the benchmark's ONNX model.

The last version of `onnxruntime-training` is 1.19.2; it has no gradient of RNN. Its forward and
backward pass are one call, so `backward_us` is the time of that call minus the evaluation of the
same batch.
"""

import os
import pathlib
import statistics
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from onnxruntime.training import api, artifacts

import onnx_models
from shapes import CLASSES, Shape
from worker import serve


def _complete(graph, shape):
    """Adds all outputs and initial states to the layer, which its gradient requires."""
    layer, states = graph.node[0], ["h", "c"] if shape.cell == "lstm" else ["h"]
    del layer.output[:]
    layer.output.extend(["Y", *(f"Y_{state}" for state in states)])
    layer.input.append("")
    for state in states:
        zeros = np.zeros((1, shape.batch, shape.hidden), np.float32)
        graph.initializer.append(numpy_helper.from_array(zeros, f"initial_{state}"))
        layer.input.append(f"initial_{state}")


def _prepare(request, folder):
    """Returns the module and optimizer of a shape, from artifacts generated for its model."""
    shape = Shape(**{name: request[name] for name in Shape.__dataclass_fields__})
    onnx_models.write(shape, folder / "model.onnx")
    model = onnx.load(folder / "model.onnx")
    trained = [tensor.name for tensor in onnx_models.parameters(model)]
    _complete(model.graph, shape)
    artifacts.generate_artifacts(
        model,
        requires_grad=trained,
        loss=artifacts.LossType.CrossEntropyLoss,
        optimizer=artifacts.OptimType.AdamW,
        artifact_directory=str(folder),
    )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ["BENCH_THREADS"])
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    state = api.CheckpointState.load_checkpoint(str(folder / "checkpoint"))
    module = api.Module(
        str(folder / "training_model.onnx"),
        state,
        str(folder / "eval_model.onnx"),
        session_options=options,
    )
    return module, api.Optimizer(str(folder / "optimizer_model.onnx"), module)


def _step(module, optimizer, x, target):
    """Returns microseconds of the forward and backward pass, and of the update."""
    module.train()
    start = time.perf_counter()
    module(x, target)
    computed = time.perf_counter()
    optimizer.step()
    module.lazy_reset_grad()
    return 1e6 * (computed - start), 1e6 * (time.perf_counter() - computed)


def _evaluate(module, x, target):
    module.eval()
    start = time.perf_counter()
    module(x, target)
    return 1e6 * (time.perf_counter() - start)


def measure(request):
    x = np.random.default_rng(1).random(
        (request["steps"], request["batch"], request["features"]), np.float32
    )
    target = np.arange(request["batch"]) % CLASSES
    with tempfile.TemporaryDirectory() as folder:
        module, optimizer = _prepare(request, pathlib.Path(folder))
        _step(module, optimizer, x, target)
        steps = [_step(module, optimizer, x, target) for _ in range(request["repeat"])]
        forward = statistics.median(_evaluate(module, x, target) for _ in steps)
    computed, update = (statistics.median(column) for column in zip(*steps))
    return {
        "forward_us": forward,
        "backward_us": computed - forward,
        "update_us": update,
        "step_us": statistics.median(map(sum, steps)),
        "variant": "train_step",
    }


if __name__ == "__main__":
    serve({"onnxruntime-training": onnxruntime.__version__}, measure)
