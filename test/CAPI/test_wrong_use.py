"""Invalid calls of the C API fail with a one-line message and change nothing."""

import ctypes as c

import capi
import models
import numpy as np
import pytest

SIZES = {"T": 6, "B": 5}
MODEL = models.build(models.Spec("GRU", lengths=True, head="steps"))


@pytest.fixture(scope="module")
def program():
    return capi.Program.compile(MODEL.SerializeToString(), loss="cross-entropy", O=1)


@pytest.fixture
def arrays():
    return models.data(MODEL, SIZES, "cross-entropy")


def without(name):
    return lambda arrays: arrays.pop(name)


def replaced(name, change):
    return lambda arrays: arrays.update({name: change(arrays[name])})


def of_type(dtype):
    return lambda array: array.astype(dtype)


def with_value(value):
    def change(array):
        array = array.copy()
        array.flat[1] = value
        return array

    return change


WRONG = [
    (without("x"), capi.WRONG_INPUT, "there is no array 'x'"),
    (without("target"), capi.WRONG_INPUT, "there is no array 'target'"),
    (lambda arrays: arrays.update(z=arrays["x"]), capi.WRONG_USAGE, "unknown array 'z'; the model takes"),
    (replaced("x", lambda x: x[..., :2]), capi.WRONG_INPUT, "array 'x': found shape [6, 5, 2], expected [T, B, 3]"),
    (replaced("x", lambda x: x[0]), capi.WRONG_INPUT, "array 'x': found rank 2"),
    (replaced("x", of_type("f8")), capi.WRONG_INPUT, "array 'x': found float64, expected float32"),
    (replaced("target", of_type("f4")), capi.WRONG_INPUT, "array 'target': found float32, expected int64"),
    (replaced("target", lambda t: t[:, :4]), capi.WRONG_INPUT, "array 'target': found shape [6, 4]"),
    (replaced("target", with_value(5)), capi.WRONG_INPUT, "array 'target': element [0, 1] is 5"),
    (replaced("lengths", with_value(7)), capi.WRONG_INPUT, "array 'lengths': element [1] is 7"),
    (lambda arrays: arrays.update(weight=-np.ones((6, 5), "f4")), capi.WRONG_INPUT, "array 'weight': element [0, 0] is -1"),
    (lambda arrays: arrays.update(weight=np.zeros((6, 5), "f4")), capi.WRONG_INPUT, "every position has the weight 0"),
    (replaced("x", with_value(np.nan)), capi.DIVERGED, "the loss is nan"),
]  # fmt: skip


@pytest.mark.parametrize("change, status, words", WRONG, ids=lambda value: value if isinstance(value, str) else "")
@pytest.mark.parametrize("call", ["step", "grad", "eval"])
def test_invalid_arrays(program, arrays, call, change, status, words):
    before = {name: view.copy() for name, view in program.parameters().items()}
    change(arrays)
    with pytest.raises(capi.Failure) as failure:
        getattr(program, call)(arrays)
    assert str(failure.value).startswith(words) and failure.value.status == status
    assert "\n" not in str(failure.value)
    for name, view in program.parameters().items():
        np.testing.assert_array_equal(view, before[name])


def test_other_integer_types_are_accepted(program, arrays):
    expected = program.eval(arrays)
    arrays["target"] = arrays["target"].astype(np.uint8)
    arrays["lengths"] = arrays["lengths"].astype(np.int64)
    assert program.eval(arrays) == expected


def test_unsupported_tensors(program, arrays):
    x = capi.tensor_of(arrays["x"])
    x.device_type = 2
    with pytest.raises(capi.Failure, match="array 'x': is on DLPack device type 2, expected the CPU"):
        program.eval({**arrays, "x": x})
    x = capi.tensor_of(arrays["x"])
    x.data = None
    with pytest.raises(capi.Failure, match="array 'x': has no memory"):
        program.eval({**arrays, "x": x})
    x = capi.tensor_of(arrays["x"])
    x.dtype.lanes = 4
    with pytest.raises(capi.Failure, match="array 'x': found a DLPack type with code 2, 32 bits and 4 lanes"):
        program.eval({**arrays, "x": x})


def test_duplicate_names(program, arrays):
    rows, _ = capi.named(arrays)
    twice = (capi.NamedArray * (len(rows) + 1))(*rows, rows[0])
    loss = c.c_double()
    with pytest.raises(capi.Failure, match="is given twice"):
        program.call("bppsaProgramEval", twice, c.c_ssize_t(len(twice)), c.byref(loss), None)


def test_invalid_outputs_and_gradients(program, arrays):
    inputs = {name: array for name, array in arrays.items() if name != "target"}
    (name,) = program.names(capi.OUTPUT)
    wrong = np.full((6, 5, 4), 7, "f4")
    with pytest.raises(capi.Failure, match="found float32 \\[6, 5, 4\\], expected float32 \\[6, 5, 5\\]"):
        program.infer_into(inputs, {name: wrong})
    assert (wrong == 7).all()
    with pytest.raises(capi.Failure, match="unknown output 'z'"):
        program.infer_into(inputs, {"z": wrong})
    with pytest.raises(capi.Failure, match="unknown gradient 'z'"):
        program.grad_into(arrays, {"z": wrong})
    with pytest.raises(capi.Failure, match="there is no gradient of parameter"):
        program.update({})
    with pytest.raises(capi.Failure, match="there is no trained parameter 'z'"):
        program.update({"z": wrong})
    arrays["x"].flat[0] = np.inf
    gradient = {"x": np.full_like(arrays["x"], 7)}
    with pytest.raises(capi.Failure):
        program.grad_into({**arrays, "x": np.full_like(arrays["x"], np.nan)}, gradient)
    assert (gradient["x"] == 7).all()


@pytest.mark.parametrize(
    "action, words",
    [
        (lambda p: p.set_hyper("lrr", 1), "unknown hyperparameter 'lrr'; this program has"),
        (lambda p: p.set_hyper("lr", np.inf), "hyperparameter 'lr' must be finite"),
        (lambda p: p.set_hyper("weight_decay", -1), "hyperparameter 'weight_decay' must be finite and at least 0, found -1"),
        (lambda p: p.set_hyper("beta1", 1), "hyperparameter 'beta1' must be finite and at least 0, and below 1, found 1"),
        (lambda p: p.set_threads(-1), "the number of threads must be at least 0, found -1"),
        (lambda p: p.set_variant("backwards"), "--backward=backwards"),
        (lambda p: p.set_variant(mapping="diagonal"), "--mapping=diagonal"),
        (lambda p: p.load_checkpoint("/none"), "'/none'"),
        (lambda p: p.save("/none/model.onnx"), "'/none/model.onnx'"),
        (lambda p: p.call("bppsaProgramGetArray", 0, c.c_ssize_t(9), None), "there is no array 9"),
        (lambda p: p.call("bppsaProgramGetLosses", (c.c_double * 2)(), c.c_ssize_t(2)), "the program has 1 losses"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_invalid_settings(program, action, words):
    with pytest.raises(capi.Failure) as failure:
        action(program)
    assert words in str(failure.value)


@pytest.mark.parametrize(
    "options, status, words",
    [
        ({"los": "mse"}, capi.WRONG_USAGE, "unknown option 'los', did you mean 'loss'"),
        ({"loss": "mean"}, capi.WRONG_USAGE, "--loss must be"),
        ({"backward": "both"}, capi.WRONG_USAGE, "--backward must be auto, scan or sequential, found 'both'"),
        ({"O": "9"}, capi.WRONG_USAGE, "-O must be followed by 0, 1, 2 or 3, found '9'"),
        ({"ignore-index": "x"}, capi.WRONG_USAGE, "--ignore-index must be a whole number, found 'x'"),
        ({"label-smoothing": "x"}, capi.WRONG_USAGE, "--label-smoothing must be a number, found 'x'"),
        ({"emulate": "5"}, capi.WRONG_USAGE, "--emulate must be true or false"),
        ({"memory-limit": "3q"}, capi.WRONG_USAGE, "--memory-limit must be a whole number of bytes"),
        ({"class-weights": "/none.npy"}, capi.WRONG_INPUT, "--class-weights: /none.npy: cannot be read"),
        ({"loss-on": "z"}, capi.WRONG_INPUT, "--loss-on='z' is not a graph output"),
        ({"emit": "shared"}, capi.WRONG_USAGE, "--emit and --compile-to write files"),
        ({"target": "cuda"}, capi.WRONG_USAGE, "a program in this process needs --target=cpu"),
        ({"mcpu": "native"}, capi.WRONG_USAGE, "--mcpu is for files"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_invalid_options(options, status, words):
    with pytest.raises(capi.Failure) as failure:
        capi.Program.compile(MODEL.SerializeToString(), **options)
    assert words in str(failure.value) and failure.value.status == status


def test_invalid_models():
    with pytest.raises(capi.Failure, match="cannot be read: No such file"):
        capi.Program.compile("/none.onnx")
    with pytest.raises(capi.Failure):
        capi.Program.compile(b"no model")


def test_diagnostics():
    found = []
    with pytest.raises(capi.Failure) as failure:
        capi.Program.compile(b"no model", diagnostics=found)
    assert found[0] == (2, str(failure.value))
