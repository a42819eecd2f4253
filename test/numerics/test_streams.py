"""Compiled streams: outputs against ONNX Runtime step by step, gradients against float64 JAX."""

import harness
import numpy as np
import onnx
import pytest
import stream_models
from onnx import numpy_helper
from streams_in_jax import reference, take_samples, with_target

NAMES = list(stream_models.ALL)
SIZES = [(1, 1), (7, 3), (7, 17), (64, 16)]
# These models are tested with every combination of step count and batch size.
GRID = ["lstm_stack", "lstm_stack_written_out", "scattered_caches", "band_layers", "rated"]
STEPS, SAMPLES = (1, 2, 7, 64), (1, 3, 16)


def compile_stream(graph, *options):
    return harness.compile_model(graph.model, "--loss=mse", "--loss-on=y", *graph.flags, *options)


def sizes_of(graph, arrays):
    name, array = next((n, a) for n, a in arrays.items() if n not in graph.carry and n != "target")
    batch = graph.batch.get(name)
    if name in graph.step:
        front = batch is None
        return array.shape[graph.step[name] + front], array.shape[0 if front else batch]
    return array.shape[0], array.shape[1 if batch is None else 1 + batch]


@pytest.mark.parametrize("steps, samples", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_outputs(name, steps, samples):
    graph = stream_models.ALL[name]
    arrays = stream_models.random_arrays(graph, steps, samples)
    wanted = stream_models.run_steps(graph, arrays, steps, samples)
    found = compile_stream(graph).infer(arrays)
    assert set(found) == set(wanted)
    for output, array in wanted.items():
        assert found[output].shape == array.shape
        np.testing.assert_allclose(found[output], array, rtol=2e-5, atol=2e-5, err_msg=output)


@pytest.mark.parametrize("name", NAMES)
def test_missing_states_are_zero(name):
    graph = stream_models.ALL[name]
    arrays = stream_models.random_arrays(graph, 3, 2, states=False)
    wanted = stream_models.run_steps(graph, arrays, 3, 2)
    for output, array in compile_stream(graph).infer(arrays).items():
        np.testing.assert_allclose(array, wanted[output], rtol=2e-5, atol=2e-5, err_msg=output)


@pytest.mark.parametrize("name", NAMES)
def test_stream_continues_from_final_states(name):
    """The final states of a piece are the initial states of the next."""
    graph = stream_models.ALL[name]
    arrays = stream_models.random_arrays(graph, 4, 2)
    program = compile_stream(graph)
    whole = program.infer(arrays)
    x = arrays["x"]
    axis = graph.step["x"] + ("x" not in graph.batch) if "x" in graph.step else 0
    state = {n: a for n, a in arrays.items() if n in graph.carry}
    pieces = []
    for piece in np.split(x, [1], axis):
        found = program.infer({"x": piece} | state)
        state = {n: found[out] for n, out in graph.carry.items()}
        pieces.append(found["y"])
    np.testing.assert_allclose(np.concatenate(pieces, 0), whole["y"], rtol=2e-5, atol=2e-6)
    for n, out in graph.carry.items():
        np.testing.assert_allclose(state[n], whole[out], rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("steps, samples", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_gradients(name, steps, samples):
    graph = stream_models.ALL[name]
    arrays = stream_models.random_arrays(graph, steps, samples)
    arrays = with_target(graph, arrays, steps, samples)
    exact, single = (reference(graph, arrays, dtype) for dtype in (np.float64, np.float32))
    harness.check_gradients(compile_stream(graph).grad(arrays), exact, single)


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("name", GRID)
def test_grid(name, steps):
    """Outputs and gradients are right; a smaller batch is a prefix of the largest batch."""
    graph = stream_models.ALL[name]
    arrays = stream_models.random_arrays(graph, steps, max(SAMPLES))
    wanted = stream_models.run_steps(graph, arrays, steps, max(SAMPLES))
    noise = np.random.default_rng(9).normal(0, 1, wanted["y"].shape).astype(np.float32)
    arrays |= {"target": wanted["y"] + noise}
    exact, single = (
        reference(graph, arrays, dtype, SAMPLES) for dtype in (np.float64, np.float32)
    )
    program = compile_stream(graph)
    for i, samples in enumerate(SAMPLES):
        given = {n: take_samples(graph, n, a, samples) for n, a in arrays.items()}
        context = f"{steps} steps, {samples} samples"
        for output, array in program.infer(given).items():
            expected = take_samples(graph, output, wanted[output], samples)
            np.testing.assert_allclose(
                array, expected, rtol=2e-5, atol=2e-5, err_msg=f"{output}, {context}"
            )
        harness.check_gradients(program.grad(given), exact[i], single[i], context)


@pytest.mark.parametrize("name", ["lstm_stack", "bands"])
def test_results_do_not_depend_on_thread_count(name):
    """Threads share blocks of rows, and the last block is partly filled."""
    graph = stream_models.ALL[name]
    arrays = with_target(graph, stream_models.random_arrays(graph, 5, 35), 5, 35)
    program = compile_stream(graph)
    runs = [program.grad(arrays, f"--threads={n}") for n in (1, 2, 5)]
    for other in runs[1:]:
        for tensor, array in runs[0].items():
            assert array.tobytes() == other[tensor].tobytes(), tensor


def test_token_out_of_range(tmp_path):
    graph = stream_models.ALL["tokens"]
    arrays = stream_models.random_arrays(graph, 3, 2, states=False)
    arrays["x"][2, 1] = 5
    np.savez(tmp_path / "data.npz", **arrays)
    program = compile_stream(graph)
    result = program.run("infer", "--data", tmp_path / "data.npz", "--out", tmp_path / "y.npz")
    assert result.returncode == 1
    assert "array 'x': element [2, 1] is 5" in result.stderr and "-5 to 4" in result.stderr


def test_info():
    graph = stream_models.ALL["lstm_stack"]
    info = compile_stream(graph).info()
    arrays = {a["name"]: a for a in info["inputs"] + info["outputs"]}
    assert arrays["x"]["shape"] == ["T", "N", 3]
    assert (arrays["x"]["time_axis"], arrays["x"]["batch_axis"]) == (0, 1)
    assert arrays["h0"]["shape"] == arrays["h0n"]["shape"] == [1, "N", 5]
    assert arrays["h0"]["time_axis"] is None
    assert (arrays["h0"]["carried"], arrays["h0n"]["carried"]) == ("h0n", "h0")
    assert "carried" not in arrays["x"] and "carried" not in arrays["y"]
    assert arrays["y"]["shape"] == ["T", "N", 2]


def test_saved_model_is_step_graph(tmp_path):
    """Training changes the weights, and ONNX Runtime and `infer` agree on the saved graph."""
    graph = stream_models.ALL["lstm_written_out"]
    arrays = stream_models.random_arrays(graph, 6, 8, states=False)
    arrays = with_target(graph, arrays, 6, 8)
    np.savez(tmp_path / "data.npz", **arrays)
    program = compile_stream(graph)
    before = program.eval(arrays)["loss"]
    saved = tmp_path / "saved.onnx"
    words = ["--data", tmp_path / "data.npz", "--epochs", "5", "--batch", "4", "--lr", "1e-2"]
    harness.check_succeeded(program.run("train", *words, "--save", saved))
    model = onnx.load(saved)
    assert [i.name for i in model.graph.input] == [i.name for i in graph.model.graph.input]
    trained = stream_models.dataclasses.replace(graph, model=model)
    x = {"x": arrays["x"]}
    found = compile_stream(trained).infer(x)
    for output, array in stream_models.run_steps(trained, x, 6, 8).items():
        np.testing.assert_allclose(found[output], array, rtol=2e-5, atol=2e-5)
    assert compile_stream(trained).eval(arrays)["loss"] < before


def slice_steps(graph, arrays, first, end):
    """Returns the steps [first, end) of the sequences."""

    def cut(name, array):
        at = graph.step[name] + (name not in graph.batch) if name in graph.step else 0
        return array[(slice(None),) * at + (slice(first, end),)]

    sequences = {n: a for n, a in arrays.items() if n not in graph.carry and n != "target"}
    return {n: cut(n, a) for n, a in sequences.items()} | {"target": cut("y", arrays["target"])}


@pytest.mark.parametrize("name, length", [("lstm_stack", 3), ("causal_conv", 7), ("cell", 6)])
def test_tbptt_updates(name, length, tmp_path):
    """`--tbptt` does one update per segment, with the gradient that `grad` computes for it."""
    graph = stream_models.ALL[name]
    arrays = stream_models.random_arrays(graph, 7, 3)
    arrays = with_target(graph, arrays, 7, 3)
    np.savez(tmp_path / "data.npz", **arrays)
    saved, rate = tmp_path / "saved.onnx", 0.05
    words = ["--data", tmp_path / "data.npz", "--save", saved, "--batch", "3", "--lr", str(rate)]
    program = compile_stream(graph, "--optimizer=sgd")
    harness.check_succeeded(program.run("train", *words, "--tbptt", str(length)))
    found = {t.name: numpy_helper.to_array(t) for t in onnx.load(saved).graph.initializer}

    model = onnx.ModelProto()
    model.CopyFrom(graph.model)
    state = {n: a for n, a in arrays.items() if n in graph.carry}
    for first in range(0, 7, length):
        current = stream_models.dataclasses.replace(graph, model=model)
        piece = slice_steps(graph, arrays, first, first + length) | state
        at_step = compile_stream(current)
        grads, outputs = at_step.grad(piece), at_step.infer(piece)
        state = {n: outputs[out] for n, out in graph.carry.items()}
        for tensor in model.graph.initializer:
            if tensor.name in grads:
                value = numpy_helper.to_array(tensor) - rate * grads[tensor.name]
                tensor.CopyFrom(numpy_helper.from_array(value, tensor.name))
    for tensor in model.graph.initializer:
        expected = numpy_helper.to_array(tensor)
        np.testing.assert_allclose(found[tensor.name], expected, rtol=1e-5, atol=1e-6)


def test_tbptt_resumes_from_checkpoint(tmp_path):
    graph = stream_models.ALL["cell"]
    arrays = with_target(graph, stream_models.random_arrays(graph, 7, 4), 7, 4)
    np.savez(tmp_path / "data.npz", **arrays)
    program = compile_stream(graph)
    words = ["--data", tmp_path / "data.npz", "--batch", "2", "--tbptt", "3"]
    whole, part = tmp_path / "whole.onnx", tmp_path / "part.onnx"
    harness.check_succeeded(program.run("train", *words, "--epochs", "4", "--save", whole))
    check = ["--checkpoint", tmp_path / "state"]
    harness.check_succeeded(program.run("train", *words, "--epochs", "2", *check))
    words = ["--data", tmp_path / "data.npz", "--resume", tmp_path / "state", "--epochs", "4"]
    harness.check_succeeded(program.run("train", *words, "--save", part))
    assert whole.read_bytes() == part.read_bytes()
    result = program.run("train", *words, "--tbptt", "2")
    assert result.returncode == 1 and "was written with --tbptt 3" in result.stderr


def test_tbptt_requires_states(tmp_path):
    nodes = [stream_models.node("Mul", "x w", "y")]
    weights = [("w", np.ones(3, np.float32))]
    model = stream_models.build(nodes, [stream_models.info("x", ["B", 3])], ["y"], weights)
    arrays = {"x": np.ones((2, 3), np.float32), "target": np.ones((2, 3), np.float32)}
    np.savez(tmp_path / "data.npz", **arrays)
    program = harness.compile_model(model, "--loss=mse")
    result = program.run("train", "--data", tmp_path / "data.npz", "--tbptt", "2")
    assert result.returncode == 1
    assert "carries no state" in result.stderr and "--carry" in result.stderr


def refused(graph, *options, status=1):
    with pytest.raises(harness.CompileError) as error:
        compile_stream(graph, *options)
    assert error.value.status == status
    assert len(error.value.message.splitlines()) == 1, error.value.message
    return error.value.message


def test_refused_plans_and_targets():
    graph = stream_models.ALL["bands"]
    message = refused(graph, "--scan=blelloch")
    assert "132" in message and "256" not in message
    assert "--memory-limit" in refused(graph, "--target=cuda", "--memory-limit=1M")


@pytest.mark.parametrize("steps, samples", [(1, 1), (7, 17)])
@pytest.mark.parametrize("name", NAMES)
def test_emulated_gpu(name, steps, samples):
    graph = stream_models.ALL[name]
    arrays = stream_models.random_arrays(graph, steps, samples)
    wanted = stream_models.run_steps(graph, arrays, steps, samples)
    program = compile_stream(graph, "--target=cuda", "--emulate")
    for output, array in program.infer(arrays).items():
        np.testing.assert_allclose(array, wanted[output], rtol=2e-5, atol=2e-5, err_msg=output)
    arrays = with_target(graph, arrays, steps, samples)
    exact, single = (reference(graph, arrays, dtype) for dtype in (np.float64, np.float32))
    found = program.grad(arrays)
    harness.check_gradients(found, exact, single)
    for tensor, array in program.grad(arrays, "--emulate-seed=7").items():
        assert array.tobytes() == found[tensor].tobytes(), tensor
