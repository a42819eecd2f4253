"""--interlock: each module is trained on the losses of nearby modules.

In a chain of modules, the gradient of loss j with respect to the parameters of module i passes
only through the modules i to j. The reference therefore differentiates each loss of the whole
model and selects the losses of the window for every parameter.
"""

import functools

import harness
import jax
import losses_in_jax
import numpy as np
import onnx
import onnx_in_jax
import pytest
from onnx import TensorProto, helper, numpy_helper

CLASSES = 4


def make_model(nodes, outputs, tensors, x):
    initializers = [numpy_helper.from_array(np.asarray(a), n) for n, a in tensors.items()]
    info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in outputs.items()]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)]
    graph = helper.make_graph(nodes, "modules", inputs, info, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def elementwise(parameters):
    """x -> p x for each module, heads x -> 1 x; the loss is 0.1 times the sum of the last output.
    """
    nodes, outputs, tensors, last = [], {}, {"tenth": np.float32(0.1)}, "x"
    for i, parameter in enumerate(parameters, 1):
        tensors[f"p{i}"] = np.full(2, parameter, np.float32)
        nodes.append(helper.make_node("Mul", [last, f"p{i}"], [f"x{i}"]))
        last = f"x{i}"
        if i < len(parameters):
            tensors[f"h{i}"] = np.ones(2, np.float32)
            nodes.append(helper.make_node("Mul", [last, f"h{i}"], [f"y{i}"]))
            outputs[f"y{i}"] = ["N", 2]
    nodes.append(helper.make_node("ReduceSum", [last], ["sum"], keepdims=0))
    nodes.append(helper.make_node("Mul", ["sum", "tenth"], ["loss"]))
    return make_model(nodes, outputs | {"loss": []}, tensors, ["N", 2])


# From tests/test_model.py of the authors' repository: rate 1, input [1, 1], target class 1.
GOLDEN = [
    ((2, 3, 4), 1, "last", [[1.5, 2.5], [2, 4], [3.4, 3.4]]),
    ((2, 3, 4), 2, "last", [[0.5, 3.5], [2.2, 2.2], [3.4, 3.4]]),
    ((2, 3, 4), 3, "last", [[0.8, 0.8], [2.2, 2.2], [3.4, 3.4]]),
    ((2, 3, 4), 2, "sum", [[0, 4], [1.2, 3.2], [3.4, 3.4]]),
    ((2, 3, 4), 2, "mean", [[1, 3], [2.1, 3.1], [3.4, 3.4]]),
    ((2, 3, 4, 5), 3, "last", [[-4, 8], [-1, -1], [1, 1], [2.6, 2.6]]),
]


@pytest.mark.parametrize("start, window, combine, expected", GOLDEN)
def test_step_matches_the_authors_values(start, window, combine, expected, tmp_path):
    heads = [f"y{i}" for i in range(1, len(start))]
    losses = ",".join(["cross-entropy"] * len(heads) + ["none"])
    program = harness.compile_model(
        elementwise(start), f"--loss={losses}", f"--loss-on={','.join(heads)},loss",
        "--freeze=tenth", "--optimizer=sgd", f"--interlock={window}", f"--interlock-combine={combine}",
    )  # fmt: skip
    data, saved = tmp_path / "data.npz", tmp_path / "saved.onnx"
    targets = {f"target.{name}": np.array([1]) for name in heads}
    np.savez(data, x=np.ones((1, 2), np.float32), **targets)
    words = ["--data", data, "--epochs", 1, "--batch", 1, "--lr", 1, "--save", saved]
    harness.check_succeeded(program.run("train", *words))
    found = {t.name: numpy_helper.to_array(t) for t in onnx.load(saved).graph.initializer}
    for i, values in enumerate(expected, 1):
        np.testing.assert_allclose(found[f"p{i}"], values, rtol=1e-6, atol=1e-6)
    # The head of the first module is trained only on its own loss.
    np.testing.assert_allclose(found["h1"], [1 - start[0] / 2, 1 + start[0] / 2], rtol=1e-6)


@functools.cache
def chain(kind, count=4):
    """Returns a chain of `count` modules with heads, and the module of each parameter."""
    rng = np.random.default_rng(0)
    nodes, outputs, tensors, last = [], {}, {}, "x"
    modules, heads = {}, {}

    def weights(name, of, number, *shape):
        tensors[name] = (rng.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)
        of[name] = number

    for i in range(count):
        if kind == "dense":
            weights(f"w{i}", modules, i, 6, 6)
            weights(f"b{i}", modules, i, 6)
            nodes.append(helper.make_node("Gemm", [last, f"w{i}", f"b{i}"], [f"a{i}"]))
            nodes.append(helper.make_node("Tanh", [f"a{i}"], [f"x{i}"]))
        else:
            weights(f"w{i}", modules, i, 1, 18, 6)
            weights(f"r{i}", modules, i, 1, 18, 6)
            nodes.append(helper.make_node("GRU", [last, f"w{i}", f"r{i}"], [f"a{i}"], hidden_size=6))
            nodes.append(helper.make_node("Squeeze", [f"a{i}", "one"], [f"x{i}"]))
        last = f"x{i}"
        weights(f"u{i}", modules if i + 1 == count else heads, i, 6, CLASSES)
        nodes.append(helper.make_node("MatMul", [last, f"u{i}"], [f"y{i}"]))
        outputs[f"y{i}"] = ["N", CLASSES] if kind == "dense" else [5, "N", CLASSES]
    if kind == "gru":
        tensors["one"] = np.array([1])
    shape = ["N", 6] if kind == "dense" else [5, "N", 6]
    return make_model(nodes, outputs, tensors, shape), modules, heads


def make_data(kind, count=4):
    rng = np.random.default_rng(1)
    shape = (7,) if kind == "dense" else (5, 7)
    arrays = {"x": rng.standard_normal((*shape, 6)).astype(np.float32)}
    return arrays | {f"target.y{i}": rng.integers(0, CLASSES, shape) for i in range(count)}


@functools.cache
def gradients_of_losses(kind):
    """Returns the float64 gradients of all parameters for each loss."""
    model, modules, heads = chain(kind)
    arrays = make_data(kind)
    values = {
        t.name: numpy_helper.to_array(t).astype(np.float64)
        for t in model.graph.initializer
        if t.data_type == TensorProto.FLOAT
    } | {"x": arrays["x"].astype(np.float64)}

    def losses(values):
        outputs = onnx_in_jax.evaluate(model, values, {}, np.float64)
        names = [output.name for output in model.graph.output]
        return [losses_in_jax.loss_value("cross-entropy", outputs[n], arrays[f"target.{n}"]) for n in names]

    return jax.jacrev(losses)(values)


def followed(combine, window, module, count):
    """Returns the losses in the window of a module and their factors."""
    last = min(module + window, count)
    if combine == "last":
        return {last - 1: 1.0}
    return {loss: 1.0 if combine == "sum" else 1 / (last - module) for loss in range(module, last)}


def expected_gradients(kind, combine, window, count=4):
    _, modules, heads = chain(kind)
    by_loss = gradients_of_losses(kind)
    found = {name: by_loss[loss][name] for name, loss in heads.items()}
    for name, module in (modules | {"x": 0}).items():
        factors = followed(combine, window, module, count)
        found[name] = sum(factor * by_loss[loss][name] for loss, factor in factors.items())
    return found


def compile_chain(kind, *options):
    names = ",".join(f"y{i}" for i in range(4))
    return harness.compile_model(chain(kind)[0], f"--loss-on={names}", "--optimizer=adam", *options)


CASES = [(window, "last") for window in (1, 2, 3, 4, 9)] + [(2, "sum"), (3, "mean")]


@pytest.mark.parametrize("window, combine", CASES)
@pytest.mark.parametrize("kind", ["dense", "gru"])
def test_gradients_of_windows(kind, window, combine):
    program = compile_chain(kind, f"--interlock={window}", f"--interlock-combine={combine}")
    expected = expected_gradients(kind, combine, window)
    for backward in ("sequential", "scan"):
        found = program.grad(make_data(kind), f"--backward={backward}")
        for name, gradient in expected.items():
            assert harness.relative_error(found[name], gradient) < 3e-6, (backward, name)


def test_loss_is_the_sum_of_all_modules():
    arrays = make_data("dense")
    sums = [compile_chain("dense", *words).grad(arrays)["loss"] for words in ([], ["--interlock=2"])]
    np.testing.assert_array_equal(*sums)


def test_full_window_is_backpropagation():
    arrays = make_data("dense")
    found = compile_chain("dense", "--interlock=4").grad(arrays)
    target = {"x": arrays["x"], "target": arrays["target.y3"]}
    plain = harness.compile_model(chain("dense")[0], "--loss-on=y3", "--optimizer=adam").grad(target)
    for name in chain("dense")[1]:
        np.testing.assert_array_equal(found[name], plain[name], err_msg=name)


def test_gradients_of_shared_parameters_are_summed():
    model, _, _ = chain("dense")
    tied = onnx.ModelProto.FromString(model.SerializeToString())
    for node in tied.graph.node:
        node.input[:] = ["w1" if name == "w2" else name for name in node.input]
    for tensor in [t for t in tied.graph.initializer if t.name == "w2"]:
        tied.graph.initializer.remove(tensor)
    same = onnx.ModelProto.FromString(model.SerializeToString())
    tensors = {t.name: t for t in same.graph.initializer}
    tensors["w2"].raw_data = tensors["w1"].raw_data
    options = ["--loss-on=y0,y1,y2,y3", "--interlock=2"]
    found = harness.compile_model(tied, *options).grad(make_data("dense"))
    parts = harness.compile_model(same, *options).grad(make_data("dense"))
    assert harness.relative_error(found["w1"], parts["w1"] + parts["w2"]) < 1e-6


@pytest.mark.parametrize(
    "options, words",
    [
        (["--loss-on=y1,y0,y2,y3", "--interlock=2"], "loss 2 of 4 cuts no module off"),
        (["--interlock=0"], "--interlock must be at least 1, found 0"),
        (["--interlock-combine=sum"], "--interlock-combine needs --interlock"),
        (["--interlock=1", "--interlock-combine=most"], "--interlock-combine must be last, sum or mean"),
        (["--interlock=1", "--loss=vjp"], "--interlock needs losses of modules, found --loss=vjp"),
    ],
)
def test_invalid_options_are_refused(options, words, tmp_path):
    status = 1 if "cuts" in words else 2
    harness.check_refused(chain("dense")[0], tmp_path, options, status, words)
