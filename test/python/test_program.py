# Part of the bppsa project, under the MIT License.
"""In-process programs: their results and their use of the caller's arrays."""

import contextlib
import copy
import gc
import json
import pickle
import resource
import subprocess
import sys
import threading
import types

import bitstreams
import harness
import jax
import numpy as np
import onnx
import onnxruntime
import pytest

bppsa = pytest.importorskip("bppsa")
pytest.importorskip("bppsa._native", reason="the package is not built: utils/python.sh")
from bitstreams import arrays  # noqa: E402


OPTIONS = {"loss": "cross-entropy", "optimizer": "sgd"}


def run_onnx(model, inputs):
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def test_description(program):
    assert list(program.inputs) == ["x"] and list(program.outputs) == ["logits"]
    x = program.inputs["x"]
    assert (x.dtype, x.shape, x.batch_axis, x.time_axis) == ("float32", (None, None, 1), 1, 0)
    assert program.targets["target"].dtype == "int64"
    model = onnx.load(bitstreams.MODEL)
    shapes = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    assert {name: view.shape for name, view in program.parameters.items()} == shapes
    assert set(program.gradients) == {*shapes, "x"}
    assert program.info["optimizer"] == "sgd"
    assert "bitstream_rnn.onnx" in repr(program)


def test_inputs_must_be_a_dict(program):
    inputs, target = arrays()
    for call in (program.infer, program.eval, program.grad, program.step):
        with pytest.raises(bppsa.Error, match="inputs must be a dict of arrays by name, found ndarray"):
            call(inputs["x"], target) if call != program.infer else call(inputs["x"])
    found = program.infer(types.MappingProxyType(inputs))
    np.testing.assert_array_equal(found["logits"], program.infer(inputs)["logits"])


def test_programs_cannot_be_copied(program):
    for copied in (copy.deepcopy, pickle.dumps):
        with pytest.raises(bppsa.Error, match="cannot be copied or pickled; save"):
            copied(program)


def test_infer_agrees_with_onnx_runtime(program):
    inputs, _ = arrays()
    expected = run_onnx(str(bitstreams.MODEL), inputs)["logits"]
    np.testing.assert_allclose(program.infer(inputs)["logits"], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("backward", ["sequential", "scan"])
def test_gradients_agree_with_jax(program, backward):
    program.set_variant(backward=backward)
    inputs, target = arrays()
    loss, gradients = program.grad(inputs, target)
    expected, exact = bitstreams.exact_gradients(program.state_dict(), inputs["x"], target)
    assert loss == pytest.approx(expected, rel=1e-6)
    assert set(gradients) == set(exact)
    for name, gradient in gradients.items():
        assert harness.relative_error(gradient, exact[name]) < 1e-5, name


def test_step_is_gradient_descent(program):
    inputs, target = arrays()
    before = program.state_dict()
    loss, gradients = program.grad(inputs, target)
    assert program.step(inputs, target, lr=0.1) == pytest.approx(loss, rel=1e-6)
    for name, value in program.parameters.items():
        np.testing.assert_allclose(value, before[name] - 0.1 * gradients[name], atol=1e-6)
    assert program.eval(inputs, target)["loss"] < loss


@pytest.mark.parametrize("rate", [-0.1, np.inf])
def test_invalid_learning_rate_changes_nothing(program, rate):
    inputs, target = arrays()
    before = program.state_dict()
    with pytest.raises(bppsa.Error, match="lr must be finite and at least 0"):
        program.step(inputs, target, lr=rate)
    for name, value in program.parameters.items():
        assert np.array_equal(value, before[name]), name


def test_grad_and_update_equal_step(program):
    inputs, target = arrays()
    program.step(inputs, target, lr=0.1)
    stepped = program.state_dict()
    program.reset()
    _, gradients = program.grad(inputs, target)
    del gradients["x"]
    program.update(gradients, lr=0.1)
    for name, value in program.parameters.items():
        np.testing.assert_allclose(value, stepped[name], atol=1e-7)


def test_eval_accuracy(program):
    inputs, target = arrays(samples=40)
    logits = program.infer(inputs)["logits"]
    seen = program.eval(inputs, target)
    assert seen["accuracy"] == pytest.approx(np.mean(logits.argmax(-1) == target))
    assert program.losses["logits"] == pytest.approx(seen["loss"])


def test_position_weights(program):
    inputs, target = arrays(samples=4)
    weight = np.array([1, 0, 0, 0], np.float32)
    first = program.eval({"x": inputs["x"][:, :1]}, target[:1])["loss"]
    assert program.eval(inputs, target, weight=weight)["loss"] == pytest.approx(first, rel=1e-6)


def test_parameters_are_live_views(program):
    inputs, target = arrays()
    view = program.parameters[bitstreams.HEAD_B]
    address = view.ctypes.data
    view[...] = np.arange(10)
    expected, _ = bitstreams.exact_gradients(program.state_dict(), inputs["x"], target)
    assert program.eval(inputs, target)["loss"] == pytest.approx(expected, rel=1e-6)
    program.step(inputs, target, lr=0.5)
    assert view[0] != 0 and program.parameters[bitstreams.HEAD_B].ctypes.data == address


def test_views_keep_program_alive():
    program = bppsa.compile(bitstreams.MODEL, backward="sequential")
    views = [program.parameters[name] for name in program.parameters]
    values = [view.copy() for view in views]
    del program
    gc.collect()
    assert all(np.array_equal(*pair) for pair in zip(views, values, strict=True))


def test_state_dict(program):
    inputs, target = arrays()
    state = program.state_dict()
    program.step(inputs, target, lr=0.1)
    program.load_state_dict(state)
    for name, value in program.parameters.items():
        np.testing.assert_array_equal(value, state[name])
    with pytest.raises(bppsa.Error, match="misses parameter 'head.bias'"):
        program.load_state_dict({})
    program.load_state_dict({}, strict=False)
    with pytest.raises(bppsa.Error, match="unknown parameter 'other'"):
        program.load_state_dict({**state, "other": np.zeros(1)})
    # Loading is atomic: the first array fits, the second does not.
    wrong = {name: np.zeros_like(value) for name, value in state.items()}
    wrong[bitstreams.B] = np.zeros(3, np.float32)
    with pytest.raises(bppsa.Error, match="has the shape"):
        program.load_state_dict(wrong)
    np.testing.assert_array_equal(program.parameters["head.bias"], state["head.bias"])


@contextlib.contextmanager
def address_space(more):
    """Limits the process to ``more`` bytes beyond its current address space."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        size = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def test_contiguous_arrays_are_not_copied():
    """Memory suffices for half the input, so contiguous arrays pass and strided ones fail."""
    weight = onnx.numpy_helper.from_array(np.ones((4096, 1), np.float32), "w")
    x, y = (
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["N", size])
        for name, size in (("x", 4096), ("y", 1))
    )
    nodes = [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])]
    graph = onnx.helper.make_graph(nodes, "graph", [x], [y], [weight])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    program = bppsa.compile(model, loss="mse", optimizer="sgd")
    compact = np.zeros((16384, 4096), np.float32)
    strided = np.zeros((16384, 8192), np.float32)[:, ::2]
    target = np.ones((16384, 1), np.float32)
    with address_space(compact.nbytes // 2):
        assert program.step({"x": compact}, target, lr=0.1) == 1
        with pytest.raises(bppsa.Error, match="memory"):
            program.step({"x": strided}, target, lr=0.1)


def test_strided_arrays_are_copied(program):
    inputs, target = arrays()
    wide = np.zeros((7, 5, 3), np.float32)
    wide[..., 1:2] = inputs["x"]
    expected = program.infer(inputs)["logits"]
    np.testing.assert_array_equal(program.infer({"x": wide[..., 1:2]})["logits"], expected)
    fortran = np.asfortranarray(inputs["x"])
    np.testing.assert_array_equal(program.infer({"x": fortran})["logits"], expected)
    loss = program.eval(inputs, target)
    assert program.eval({"x": fortran}, target.astype(np.int8)) == loss


def test_result_type_matches_input_type(program):
    inputs, target = arrays()
    loss, expected = program.grad(inputs, target)
    found = program.grad({"x": jax.numpy.asarray(inputs["x"])}, jax.numpy.asarray(target))
    assert found[0] == loss
    for name, gradient in found[1].items():
        assert isinstance(gradient, jax.Array)
        np.testing.assert_array_equal(gradient, expected[name])


WRONG = [
    ({"y": np.zeros((2, 3, 1), np.float32)}, np.zeros(3, int), "'y'"),
    ({}, np.zeros(3, int), "'x'"),
    ({"x": np.zeros((2, 3), np.float32)}, np.zeros(3, int), "'x'"),
    ({"x": np.zeros((2, 3, 2), np.float32)}, np.zeros(3, int), "'x'"),
    ({"x": np.zeros((2, 3, 1))}, np.zeros(3, int), "float64"),
    ({"x": np.full((2, 3, 1), np.nan, np.float32)}, np.zeros(3, int), "nan"),
    ({"x": [[[0.0]]]}, np.zeros(1, int), "DLPack.*list"),
    ({"x": np.zeros((2, 3, 1), np.float32)}, np.zeros(4, int), "'target'"),
    ({"x": np.zeros((2, 3, 1), np.float32)}, np.full(3, 10), "10"),
    ({"x": np.zeros((2, 3, 1), np.float32)}, np.zeros(3), "'target'"),
    ({"x": np.zeros((2, 3, 1), np.float32)}, None, "'target'"),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_invalid_arrays_change_nothing(program, case):
    inputs, target, message = WRONG[case]
    state = program.state_dict()
    for call in (program.step, program.grad, program.eval):
        with pytest.raises(bppsa.Error, match=message) as caught:
            call(inputs, target)
        assert "\n" not in str(caught.value)
    for name, value in program.parameters.items():
        np.testing.assert_array_equal(value, state[name])


def mutate(rng, arrays):
    """Returns the arrays of a call with an error in one of them, and the error."""
    arrays = dict(arrays)
    name = rng.choice(list(arrays))
    array = arrays[name]
    mistake = rng.choice(["missing", "unknown", "type", "rank", "size", "empty", "no array"])
    if mistake == "missing":
        del arrays[name]
    elif mistake == "unknown":
        arrays["z"] = array
    elif mistake == "type":
        arrays[name] = array.astype(np.float64 if array.dtype == np.float32 else np.float32)
    elif mistake == "rank":
        arrays[name] = array[np.newaxis] if rng.random() < 0.5 else array[0]
    elif mistake == "size":
        axis = int(rng.integers(array.ndim))
        # Only the batch axis of the target is dynamic, and only the last axis of x is static.
        axis = axis if name != "x" else array.ndim - 1
        arrays[name] = np.concatenate([array, array], axis)
    elif mistake == "empty":
        arrays[name] = array[:0] if array.ndim == 1 else array[..., :0]
    else:
        arrays[name] = array.tolist()
    return arrays, f"{mistake} {name}"


def test_random_invalid_arrays_change_nothing(program):
    """Random invalid arrays raise errors and do not change the program."""
    rng = np.random.default_rng(0)
    inputs, target = arrays()
    program.step(inputs, target, lr=0.1)
    gradients = {n: g for n, g in program.grad(inputs, target)[1].items() if n != "x"}
    given = {**inputs, "target": target}
    calls = [
        ("infer", inputs, program.infer),
        ("infer out", {"logits": np.zeros((5, 10), np.float32)}, lambda o: program.infer(inputs, out=o)),
        ("eval", given, program.eval),
        ("grad", given, program.grad),
        ("grad out", gradients, lambda out: program.grad(inputs, target, out=out)),
        ("step", given, program.step),
        ("update", gradients, program.update),
        ("fit", given, lambda found: program.fit(found, batch=5, progress=False)),
    ]
    state, before = program.state_dict(), program.eval(given)
    tried = 0
    for name, right, call in calls:
        for _ in range(40):
            wrong, mistake = mutate(rng, right)
            # Outputs without an array are discarded, so a missing one is not an error.
            if "out" in name and mistake.startswith("missing"):
                continue
            kept = {n: np.array(a) for n, a in wrong.items() if isinstance(a, np.ndarray)}
            with pytest.raises(bppsa.Error) as caught:
                call(wrong)
                pytest.fail(f"{name}: {mistake}")
            assert "\n" not in str(caught.value), (name, mistake)
            for n, array in kept.items():
                np.testing.assert_array_equal(wrong[n], array, err_msg=f"{name}: {mistake}")
            tried += 1
        for n, value in program.parameters.items():
            np.testing.assert_array_equal(value, state[n], err_msg=name)
    assert tried > 250 and program.eval(given) == before
    # The failed steps did not advance the optimizer's step count either.
    program.step(inputs, target, lr=0.1)


def test_out_arrays_must_be_writable_with_matching_shape(program):
    inputs, _ = arrays()
    with pytest.raises(bppsa.Error, match="'logits'"):
        program.infer(inputs, out={"logits": np.empty((5, 9), np.float32)})
    fixed = np.empty((5, 10), np.float32)
    fixed.flags.writeable = False
    with pytest.raises(bppsa.Error, match="must be writable"):
        program.infer(inputs, out={"logits": fixed})
    with pytest.raises(bppsa.Error, match="scores"):
        program.infer(inputs, out={"scores": fixed.copy()})


def test_divergence_changes_nothing(program):
    inputs, target = arrays()
    program.parameters[bitstreams.HEAD_W][0, 0] = np.inf
    state = program.state_dict()
    with pytest.raises(bppsa.DivergedError, match="is -?(nan|inf)"):
        program.step(inputs, target, lr=0.1)
    for name, value in program.parameters.items():
        np.testing.assert_array_equal(value, state[name])


def test_clip_norm(program):
    inputs, target = arrays()
    before = program.state_dict()
    program.set_hyperparameters(clip_norm=1e-3)
    program.step(inputs, target, lr=1.0)
    moved = sum(((value - before[name]) ** 2).sum() for name, value in program.parameters.items())
    assert np.sqrt(moved) == pytest.approx(1e-3, rel=1e-2)
    with pytest.raises(bppsa.Error, match="beta3"):
        program.set_hyperparameters(beta3=0.5)


def test_save(program, tmp_path):
    inputs, target = arrays()
    program.step(inputs, target, lr=0.1)
    program.save(tmp_path / "trained.onnx")
    found = run_onnx(str(tmp_path / "trained.onnx"), inputs)["logits"]
    np.testing.assert_allclose(found, program.infer(inputs)["logits"], rtol=1e-5, atol=1e-6)
    with pytest.raises(bppsa.Error, match="nowhere"):
        program.save(tmp_path / "nowhere" / "trained.onnx")


def test_checkpoint(tmp_path):
    program = bppsa.compile(bitstreams.MODEL, optimizer="adam", backward="sequential")
    inputs, target = arrays()
    program.step(inputs, target, lr=1e-2)
    program.checkpoint(tmp_path / "state")
    losses = [program.step(inputs, target, lr=1e-2) for _ in range(3)]
    program.resume(tmp_path / "state")
    assert [program.step(inputs, target, lr=1e-2) for _ in range(3)] == losses
    with pytest.raises(bppsa.Error, match="nothing"):
        program.resume(tmp_path / "nothing")


def test_missing_model_file(tmp_path):
    path = tmp_path / "none.onnx"
    for use in (bppsa.compile, bppsa.check, lambda model: bppsa.build(model, tmp_path / "out")):
        with pytest.raises(bppsa.Error, match="none.onnx: cannot be read: No such file"):
            use(path)


def test_concurrent_programs_are_independent():
    """Two programs run concurrently with the interpreter lock released."""
    programs = [bppsa.compile(bitstreams.MODEL, backward="sequential") for _ in range(2)]
    sets = [arrays(seed) for seed in range(2)]

    def train(number, losses):
        inputs, target = sets[number]
        losses += [programs[number].step(inputs, target, lr=1e-2) for _ in range(50)]

    alone = [[], []]
    for number in range(2):
        train(number, alone[number])
        programs[number].reset()
    together = [[], []]
    threads = [threading.Thread(target=train, args=(n, together[n])) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone


def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def test_memory_does_not_grow(program):
    inputs, target = arrays()

    def call(count):
        for _ in range(count):
            program.step(inputs, target, lr=0.0)
            program.infer(inputs)
            program.grad(inputs, target)

    call(500)
    before = resident()
    call(5000)
    assert resident() - before < 2 << 20


COMPILATIONS = """
import gc, resource, sys
import bppsa, numpy as np
from onnx import TensorProto, helper, numpy_helper

value = lambda name, size: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", size])
weight = numpy_helper.from_array(np.ones((3, 2), np.float32), "w")
graph = helper.make_graph(
    [helper.make_node("MatMul", ["x", "w"], ["y"])], "graph", [value("x", 3)], [value("y", 2)], [weight]
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])

def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

def compile(count):
    for _ in range(count):
        program = bppsa.compile(model, loss="mse", optimizer="sgd", O=0)
        program.step({"x": np.ones((4, 3), np.float32)}, np.zeros((4, 2), np.float32))

count = int(sys.argv[1])
compile(10)
before = resident()
compile(count)
print(resident() - before)
"""


def test_compilations_do_not_leak_memory():
    """Twenty consecutive programs leave less than 8 MiB; each needs several times as much."""
    environment = {"PYTHONPATH": str(harness.BUILD / "python"), "PATH": ""}
    run = harness.run(sys.executable, "-c", COMPILATIONS, "20", env=environment)
    assert int(harness.check_succeeded(run).stdout) < 8 << 20


def test_gradients_match_command_line_program(program, tmp_path):
    """`grad` of the command-line program gives the same values."""
    inputs, target = arrays()
    built = harness.compile_model(onnx.load(bitstreams.MODEL), "--optimizer=sgd")
    expected = built.grad({**inputs, "target": target})
    loss, gradients = program.grad(inputs, target)
    assert loss == pytest.approx(float(expected.pop("loss")), rel=1e-6)
    assert set(gradients) == set(expected)
    for name, gradient in gradients.items():
        np.testing.assert_allclose(gradient, expected[name], rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("kind", [{}, {"target": "cuda", "emulate": True}], ids=["cpu", "gpu"])
def test_shared_libraries(program, tmp_path, kind):
    """Programs loaded from one library have separate parameters and match in-process steps."""
    options = {"optimizer": "sgd", "backward": "sequential", "emit": "shared", **kind}
    path = bppsa.build(bitstreams.MODEL, tmp_path / "model.so", **options)
    first, second = bppsa.load(path), bppsa.load(path)
    inputs, target = arrays()
    before = second.eval(inputs, target)["loss"]
    for _ in range(3):
        assert first.step(inputs, target, lr=0.1) == pytest.approx(program.step(inputs, target, lr=0.1))
    for name, value in first.parameters.items():
        np.testing.assert_allclose(value, program.parameters[name], rtol=1e-4, atol=1e-6)
    assert second.eval(inputs, target)["loss"] == before
    with pytest.raises(bppsa.Error, match="model.onnx"):
        bppsa.load(bitstreams.MODEL.parent / "no_model.onnx")


def test_import_is_fast():
    code = "import time; t = time.perf_counter(); import bppsa; print(time.perf_counter() - t)"
    path = {"PYTHONPATH": str(harness.BUILD / "python"), "PATH": ""}
    times = [
        float(subprocess.run([sys.executable, "-c", code], env=path, capture_output=True, check=True).stdout)
        for _ in range(3)
    ]
    assert min(times) < 0.2


def test_info_is_json_serializable(program):
    assert json.loads(json.dumps(program.info)) == program.info
