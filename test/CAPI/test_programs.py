"""In-process programs (bppsa-c/Program.h), compiled in memory and called through ctypes."""

import os
import sys
import threading

import capi
import harness
import models
import numpy as np
import onnx
import onnxruntime
import pytest
import references

SIZES = {"T": 6, "B": 5}


@pytest.fixture(scope="module", params=["GRU", "LSTM"])
def spec(request):
    return models.Spec(request.param, initial="input", head="steps")


@pytest.fixture(scope="module")
def model(spec):
    return models.build(spec)


@pytest.fixture(scope="module")
def program(model):
    return capi.Program.compile(model.SerializeToString(), loss="mse", optimizer="sgd")


@pytest.fixture
def arrays(model, program):
    program.reset()
    return models.data(model, SIZES, "mse")


def inputs_of(arrays):
    return {name: array for name, array in arrays.items() if name != "target"}


def test_outputs_match_onnx_runtime(model, program, arrays):
    session = onnxruntime.InferenceSession(model.SerializeToString())
    expected = session.run(None, inputs_of(arrays))
    found = program.infer(inputs_of(arrays))
    assert list(found) == [output.name for output in model.graph.output]
    for name, array in zip(found, expected):
        np.testing.assert_allclose(found[name], array, rtol=1e-5, atol=2e-6, err_msg=name)


@pytest.mark.parametrize("backward", ["sequential", "scan"])
def test_gradients(model, program, arrays, backward):
    """Includes the gradients of initial states."""
    exact, single = references.gradients(model, arrays, "mse")
    program.set_variant(backward)
    loss, gradients = program.grad(arrays)
    program.set_variant()
    assert set(inputs_of(arrays)) <= set(gradients)
    harness.check_gradients({"loss": np.float32(loss), **gradients}, exact, single)


def test_gradients_equal_command_line(model, program, arrays):
    """All gradients are bitwise equal to the executable's."""
    executable = harness.compile_model(model, "--loss=mse", "--optimizer=sgd")
    expected = executable.grad(arrays, "--backward=sequential")
    program.set_variant("sequential")
    loss, gradients = program.grad(arrays)
    program.set_variant()
    assert np.float32(loss) == expected.pop("loss")
    assert set(gradients) == set(expected)
    for name, gradient in gradients.items():
        np.testing.assert_array_equal(gradient, expected[name], err_msg=name)


def test_sgd_step(program, arrays):
    """A step subtracts lr times the gradient from `grad` and returns the loss before the update."""
    before = {name: view.copy() for name, view in program.parameters().items()}
    loss, gradients = program.grad(arrays)
    assert program.step(arrays, lr=0.125) == loss
    for name, view in program.parameters().items():
        np.testing.assert_allclose(view, before[name] - 0.125 * gradients[name], rtol=1e-6, atol=1e-7)
    assert program.eval(arrays)[0] < loss
    program.reset()
    for name, view in program.parameters().items():
        np.testing.assert_array_equal(view, before[name])


def test_parameter_views_are_live(model, program, arrays):
    views = program.parameters()
    shapes = {t.name: tuple(t.dims) for t in model.graph.initializer if t.data_type == 1}
    assert {name: view.shape for name, view in views.items()} == shapes
    first = program.eval(arrays)[0]
    for view in views.values():
        view *= 0.5
    assert program.eval(arrays)[0] != first
    session = onnxruntime.InferenceSession(scaled(model, 0.5))
    expected = session.run(None, inputs_of(arrays))[0]
    np.testing.assert_allclose(next(iter(program.infer(inputs_of(arrays)).values())), expected,
                               rtol=1e-5, atol=2e-6)  # fmt: skip


def scaled(model, factor):
    copy = onnx.ModelProto.FromString(model.SerializeToString())
    for tensor in copy.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT:
            values = onnx.numpy_helper.to_array(tensor) * np.float32(factor)
            tensor.CopyFrom(onnx.numpy_helper.from_array(values, tensor.name))
    return copy.SerializeToString()


def test_update_with_given_gradients(program, arrays):
    before = {name: view.copy() for name, view in program.parameters().items()}
    gradients = {name: np.ones_like(view) for name, view in program.parameters().items()}
    program.update(gradients, lr=0.25)
    for name, view in program.parameters().items():
        np.testing.assert_allclose(view, before[name] - 0.25, rtol=1e-6)


def test_clip_norm(program, arrays):
    before = {name: view.copy() for name, view in program.parameters().items()}
    _, gradients = program.grad(arrays)
    norm = np.sqrt(sum(np.sum(np.float64(gradients[name]) ** 2) for name in before))
    program.set_hyper("clip_norm", norm / 4)
    program.step(arrays, lr=1.0)
    program.set_hyper("clip_norm", 0)
    for name, view in program.parameters().items():
        np.testing.assert_allclose(before[name] - view, gradients[name] / 4, rtol=2e-4, atol=1e-7)


def test_arrays_of_the_caller(program, arrays):
    """Contiguous arrays are used in place, strided arrays are copied; the values are the same."""
    expected = program.infer(inputs_of(arrays))
    strided = {}
    for name, array in inputs_of(arrays).items():
        wide = np.zeros((*array.shape, 3), array.dtype)
        wide[..., 1] = array
        strided[name] = wide[..., 1]
    outputs = {name: np.full((*a.shape, 2), 7, a.dtype) for name, a in expected.items()}
    program.infer_into(strided, {name: a[..., 0] for name, a in outputs.items()})
    for name, array in outputs.items():
        np.testing.assert_array_equal(array[..., 0], expected[name])
        assert (array[..., 1] == 7).all()
    compact = {name: np.zeros_like(a) for name, a in expected.items()}
    program.infer_into(inputs_of(arrays), compact)
    for name, array in compact.items():
        np.testing.assert_array_equal(array, expected[name])
    _, gradients = program.grad(arrays)
    found = {name: np.empty_like(array) for name, array in gradients.items()}
    program.grad_into(arrays, found)
    for name, array in found.items():
        np.testing.assert_array_equal(array, gradients[name])


def test_sizes_change_between_calls(model, program, arrays):
    first, _ = program.eval(arrays)
    for batch in (1, 3, 17):
        other = models.data(model, {"T": 4, "B": batch}, "mse")
        expected = references.gradients(model, other, "mse")[0]["loss"]
        assert program.eval(other)[0] == pytest.approx(float(expected), rel=1e-5)
    assert program.eval(arrays)[0] == first


def test_description(model, program):
    info = program.description
    assert (info["loss"], info["optimizer"], info["target"]) == ("mse", "sgd", "cpu")
    executable = harness.compile_model(model, "--loss=mse", "--optimizer=sgd").info()
    for key in ("inputs", "outputs", "initializers", "parameters", "symbols", "target_array"):
        assert info[key] == executable[key]
    (x,) = [i for i in program.arrays(capi.INPUT) if i.name == b"x"]
    assert [x.shape[axis] for axis in range(x.rank)] == [-1, -1, 3]
    assert (x.time_axis, x.batch_axis, x.dtype.code, x.dtype.bits) == (0, 1, 2, 32)
    assert program.names(capi.TARGET)[0] == "target"
    assert all(info.is_trained for info in program.arrays(capi.PARAMETER))


def test_checkpoints_and_models(program, arrays, tmp_path):
    program.step(arrays, lr=0.1)
    program.save(tmp_path / "state", "Checkpoint")
    program.save(tmp_path / "model.onnx")
    expected = {name: view.copy() for name, view in program.parameters().items()}
    program.step(arrays, lr=0.1)
    program.load_checkpoint(tmp_path / "state")
    for name, view in program.parameters().items():
        np.testing.assert_array_equal(view, expected[name])
    saved = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    for found, wanted in zip(program.infer(inputs_of(arrays)).values(),
                             saved.run(None, inputs_of(arrays))):  # fmt: skip
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=2e-6)


def test_checkpoints_contain_optimizer_states(model, tmp_path):
    """Adam continues from a checkpoint in another program with bitwise the same losses."""
    arrays = models.data(model, SIZES, "mse")
    options = {"loss": "mse", "backward": "sequential", "O": 1}
    one, other = (capi.Program.compile(model.SerializeToString(), **options) for _ in range(2))
    for _ in range(3):
        one.step(arrays, lr=0.01)
    one.save(tmp_path / "state", "Checkpoint")
    other.load_checkpoint(tmp_path / "state")
    for _ in range(2):
        assert one.step(arrays, lr=0.01) == other.step(arrays, lr=0.01)
    for view, copy in zip(one.parameters().values(), other.parameters().values()):
        np.testing.assert_array_equal(view, copy)


def test_programs_on_several_threads(model):
    """Programs that train concurrently have bitwise the same losses as a single one."""
    arrays = models.data(model, {"T": 200, "B": 32}, "mse")
    options = {"loss": "mse", "backward": "sequential", "O": 1}
    programs = [capi.Program.compile(model.SerializeToString(), **options) for _ in range(3)]

    def train(program, losses):
        losses.extend(program.step(arrays, lr=0.01) for _ in range(20))

    alone, *together = losses = [[] for _ in programs]
    train(programs[0], alone)
    threads = [threading.Thread(target=train, args=pair) for pair in zip(programs[1:], together)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert losses[1] == alone and losses[2] == alone


def test_concurrent_compilation_of_a_function(model):
    arrays = inputs_of(models.data(model, SIZES, "mse"))
    program = capi.Program.compile(model.SerializeToString(), loss="mse", O=1)
    found = [None, None]

    def infer(number):
        found[number] = program.infer(arrays)

    threads = [threading.Thread(target=infer, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, array in found[0].items():
        np.testing.assert_array_equal(array, found[1][name])


def test_caller_keeps_denormals(program, arrays):
    """Compiled code flushes denormals to zero and restores the caller's mode afterwards."""
    program.step(arrays, lr=0.0)
    assert np.float32(1e-38) * np.float32(0.1) != 0


OUT_OF_MEMORY = """
import resource, sys
import capi, models, numpy as np

model = models.build(models.Spec("LSTM", hidden=16, head="steps"))
program = capi.Program.compile(model.SerializeToString(), loss="mse", backward="sequential", O=1)
program.set_threads(int(sys.argv[1]))
small = models.data(model, {"T": 20, "B": 32}, "mse")
expected = program.grad(small)
large = models.data(model, {"T": 20000, "B": 32}, "mse")
used = int(open("/proc/self/statm").read().split()[0]) * 4096
for _ in range(3):
    resource.setrlimit(resource.RLIMIT_AS, (used + (150 << 20), resource.RLIM_INFINITY))
    try:
        program.step(large, lr=0.1)
        sys.exit("a step fits that should not")
    except capi.Failure as failure:
        assert failure.status == capi.WRONG_INPUT and "more bytes were needed" in str(failure)
    loss, gradients = program.grad(small)
    assert loss == expected[0]
    for name, gradient in gradients.items():
        np.testing.assert_array_equal(gradient, expected[1][name])
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
assert np.isfinite(program.step(large, lr=0.1))
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_out_of_memory_in_a_call(threads):
    """The call fails and frees its memory; the program stays usable."""
    paths = [harness.ROOT / "test", harness.ROOT / "test/numerics"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    command = [sys.executable, "-c", OUT_OF_MEMORY, threads]
    harness.check_succeeded(harness.run(*command, env=environment))


FORK = """
import os, signal, sys
import capi, models

model = models.build(models.Spec("GRU", hidden=16, head="steps"))
program = capi.Program.compile(model.SerializeToString(), loss="mse", backward="sequential", O=1)
program.set_threads(2)
arrays = models.data(model, {"T": 300, "B": 64}, "mse")
expected = [program.step(arrays, lr=0.1) for _ in range(5)]
program.reset()
child = os.fork()
if child == 0:
    signal.alarm(60)
    found = [program.step(arrays, lr=0.1) for _ in range(5)]
    sys.exit(0 if found == expected else 1)
assert os.waitpid(child, 0)[1] == 0
assert [program.step(arrays, lr=0.1) for _ in range(5)] == expected
# Which has no code yet.
child = os.fork()
if child == 0:
    signal.alarm(60)
    sys.exit(0 if program.infer({"x": arrays["x"]}) else 1)
assert os.waitpid(child, 0)[1] == 0
"""


def test_fork():
    """A forked child can call a program whose worker threads ran in the parent."""
    paths = [harness.ROOT / "test", harness.ROOT / "test/numerics"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    harness.check_succeeded(harness.run(sys.executable, "-c", FORK, env=environment))
