"""Calls the C API through ctypes, as other languages do."""

import ctypes as c
import json
import math
import pathlib

import harness
import numpy as np

OK, WRONG_INPUT, WRONG_USAGE, DIVERGED, INTERNAL, CANCELLED = range(6)
INPUT, OUTPUT, TARGET, PARAMETER, GRADIENT = range(5)
CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


class DataType(c.Structure):
    _fields_ = [("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16)]


class Tensor(c.Structure):
    _fields_ = [
        ("data", c.c_void_p), ("device_type", c.c_int), ("device_id", c.c_int32),
        ("ndim", c.c_int32), ("dtype", DataType), ("shape", c.POINTER(c.c_int64)),
        ("strides", c.POINTER(c.c_int64)), ("byte_offset", c.c_uint64),
    ]  # fmt: skip


class ManagedTensor(c.Structure):
    pass


ManagedTensor._fields_ = [
    ("tensor", Tensor), ("context", c.c_void_p),
    ("deleter", c.CFUNCTYPE(None, c.POINTER(ManagedTensor))),
]  # fmt: skip


class NamedArray(c.Structure):
    _fields_ = [("name", c.c_char_p), ("array", c.POINTER(Tensor))]


class Model(c.Structure):
    _fields_ = [("path", c.c_char_p), ("bytes", c.c_char_p), ("size", c.c_size_t)]


class ArrayInfo(c.Structure):
    _fields_ = [
        ("name", c.c_char_p), ("dtype", DataType), ("rank", c.c_int32),
        ("shape", c.POINTER(c.c_int64)), ("batch_axis", c.c_int32), ("time_axis", c.c_int32),
        ("is_trained", c.c_bool), ("is_optional", c.c_bool), ("carried", c.c_char_p),
    ]  # fmt: skip


class OptionInfo(c.Structure):
    _fields_ = [("name", c.c_char_p), ("value", c.c_char_p), ("help", c.c_char_p),
                ("is_repeated", c.c_bool)]  # fmt: skip


class Setting(c.Structure):
    _fields_ = [("name", c.c_char_p), ("value", c.c_char_p)]


class TrainingEvent(c.Structure):
    _fields_ = [
        ("epoch", c.c_int64), ("epochs", c.c_int64), ("batch", c.c_int64), ("batches", c.c_int64),
        ("step", c.c_int64), ("loss", c.c_double), ("lr", c.c_double), ("record", c.c_char_p),
        ("message", c.c_char_p), ("is_warning", c.c_bool),
    ]  # fmt: skip


NEXT_BATCH = c.CFUNCTYPE(
    c.c_int, c.POINTER(c.POINTER(NamedArray)), c.POINTER(c.c_ssize_t), c.c_void_p
)
TRAINING = c.CFUNCTYPE(c.c_bool, c.POINTER(TrainingEvent), c.c_void_p)


class TrainingSource(c.Structure):
    _fields_ = [
        ("arrays", c.POINTER(NamedArray)), ("num_arrays", c.c_ssize_t), ("next", NEXT_BATCH),
        ("user_data", c.c_void_p), ("num_batches", c.c_int64),
    ]  # fmt: skip


PROGRESS = c.CFUNCTYPE(c.c_bool, c.c_char_p, c.c_int64, c.c_int64, c.c_void_p)
DIAGNOSTIC = c.CFUNCTYPE(None, c.c_int, c.c_char_p, c.c_void_p)


class Failure(Exception):
    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


def tensor_of(array):
    """Returns a DLPack tensor that refers to the memory of `array`, which must outlive it."""
    shape = (c.c_int64 * array.ndim)(*array.shape)
    strides = (c.c_int64 * array.ndim)(*(s // array.itemsize for s in array.strides))
    dtype = DataType(CODES[array.dtype.kind], 8 * array.itemsize, 1)
    return Tensor(array.ctypes.data, 1, 0, array.ndim, dtype, shape, strides, 0)


def array_of(tensor):
    """Returns a view of the memory of a tensor."""
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    kind = {code: kind for kind, code in CODES.items()}[tensor.dtype.code]
    dtype = np.dtype(f"{kind}{tensor.dtype.bits // 8}")
    count = math.prod(shape) * dtype.itemsize
    memory = (c.c_char * count).from_address(tensor.data) if count else b""
    return np.frombuffer(memory, dtype).reshape(shape)


def named(arrays):
    """Returns named arrays and their number as arguments of a call; they keep the tensors alive."""
    tensors = [tensor_of(a) if isinstance(a, np.ndarray) else a for a in arrays.values()]
    rows = [NamedArray(n.encode(), c.pointer(t)) for n, t in zip(arrays, tensors)]
    return (NamedArray * len(rows))(*rows), c.c_ssize_t(len(rows))


def library(path=None):
    lib = c.CDLL(str(path or harness.BUILD / "lib/libbppsa.so"))
    for name, result in [
        ("bppsaGetLastError", c.c_char_p), ("bppsaGetVersion", c.c_char_p),
        ("bppsaProgramGetDescription", c.c_char_p), ("bppsaProgramGetNumArrays", c.c_ssize_t),
        ("bppsaOptionsCreate", c.c_void_p), ("bppsaGetNumOptions", c.c_ssize_t),
        ("bppsaGetOption", OptionInfo), ("bppsaGetSupportedOperators", c.c_char_p),
    ]:  # fmt: skip
        if hasattr(lib, name):
            getattr(lib, name).restype = result
    return lib


class Program:
    """A program of libbppsa or of a compiled shared library."""

    def __init__(self, lib, handle):
        self.lib, self.handle = lib, handle

    @classmethod
    def compile(cls, model, diagnostics=None, progress=None, **options):
        lib = library()
        with Options(lib, options) as handle:
            tell = set_progress(lib, handle, progress)  # noqa: F841 (must live)
            program = c.c_void_p()
            record = DIAGNOSTIC(lambda kind, text, _: diagnostics.append((kind, text.decode())))
            callback = record if diagnostics is not None else DIAGNOSTIC()
            check(lib, lib.bppsaCompileToProgram(
                source(model), handle, callback, None, c.byref(program)))  # fmt: skip
        return cls(lib, program)

    @classmethod
    def open(cls, path):
        """Opens a compiled shared library without libbppsa."""
        lib, program = library(path), c.c_void_p()
        check(lib, lib.bppsaProgramOpen(c.byref(program)))
        return cls(lib, program)

    @classmethod
    def load(cls, path):
        lib, program = library(), c.c_void_p()
        check(lib, lib.bppsaProgramLoad(str(path).encode(), c.byref(program)))
        return cls(lib, program)

    def __del__(self):
        self.lib.bppsaProgramDestroy(self.handle)

    def call(self, name, *arguments):
        check(self.lib, getattr(self.lib, name)(self.handle, *arguments))

    @property
    def description(self):
        return json.loads(self.lib.bppsaProgramGetDescription(self.handle))

    def arrays(self, kind):
        infos = []
        for i in range(self.lib.bppsaProgramGetNumArrays(self.handle, kind)):
            info = ArrayInfo()
            self.call("bppsaProgramGetArray", kind, c.c_ssize_t(i), c.byref(info))
            infos.append(info)
        return infos

    def names(self, kind):
        return [info.name.decode() for info in self.arrays(kind)]

    def taken(self, function, names, *arguments):
        """Copies the arrays that a function allocates, and frees them."""
        tensors = (c.POINTER(ManagedTensor) * len(names))()
        self.call(function, *arguments, tensors)
        values = {}
        for name, managed in zip(names, tensors):
            values[name] = array_of(managed.contents.tensor).copy()
            managed.contents.deleter(managed)
        return values

    def infer(self, arrays):
        return self.taken("bppsaProgramInfer", self.names(OUTPUT), *named(arrays))

    def infer_into(self, arrays, outputs):
        self.call("bppsaProgramInferInto", *named(arrays), *named(outputs))

    def eval(self, arrays):
        loss, accuracy = c.c_double(), c.c_double()
        self.call("bppsaProgramEval", *named(arrays), c.byref(loss), c.byref(accuracy))
        return loss.value, accuracy.value

    def grad(self, arrays):
        loss = c.c_double()
        gradients = self.taken(
            "bppsaProgramGrad", self.names(GRADIENT), *named(arrays), c.byref(loss)
        )
        return loss.value, gradients

    def grad_into(self, arrays, gradients):
        loss = c.c_double()
        self.call("bppsaProgramGradInto", *named(arrays), c.byref(loss), *named(gradients))
        return loss.value

    def step(self, arrays, lr=math.nan):
        loss = c.c_double()
        self.call("bppsaProgramStep", *named(arrays), c.c_double(lr), c.byref(loss))
        return loss.value

    def update(self, gradients, lr=math.nan):
        self.call("bppsaProgramUpdate", *named(gradients), c.c_double(lr))

    def fit(self, arrays=None, callback=None, next_batch=None, **settings):
        """Trains; `next_batch` returns (0, arrays), 1 (end of epoch) or 2 (end of training)."""
        rows = [
            Setting(name.replace("_", "-").encode(), None if value is None else str(value).encode())
            for name, value in settings.items()
        ]
        batch = []

        def give(found, count, _):
            state = next_batch()
            if isinstance(state, tuple):
                batch[:] = named(state[1])
                found[0], count[0], state = batch[0], batch[1].value, state[0]
            return state

        source = TrainingSource(num_batches=-1)
        if arrays is not None:
            source.arrays, source.num_arrays = named(arrays)[0], len(arrays)
        if next_batch:
            source.next = NEXT_BATCH(give)
        tell = TRAINING(lambda event, _: callback(event.contents)) if callback else TRAINING()
        self.call("bppsaProgramFit", (Setting * len(rows))(*rows), c.c_ssize_t(len(rows)),
                  c.byref(source), None, tell, None)  # fmt: skip

    def residual_bytes(self, arrays):
        size = c.c_size_t()
        self.call("bppsaProgramGetResidualBytes", *named(arrays), c.byref(size))
        return size.value

    def used_residual_bytes(self, residuals):
        size, tensor = c.c_size_t(), tensor_of(residuals)
        self.call("bppsaProgramGetUsedResidualBytes", c.byref(tensor), c.byref(size))
        return size.value

    def forward(self, arrays, outputs, residuals=None):
        """Returns the residuals, which are allocated if not given."""
        if residuals is None:
            residuals = np.empty(self.residual_bytes(arrays), "u1")
        tensor = tensor_of(residuals)
        self.call("bppsaProgramForward", *named(arrays), *named(outputs), c.byref(tensor))
        return residuals

    def backward(self, arrays, residuals, cotangents, gradients):
        tensor = tensor_of(residuals)
        self.call("bppsaProgramBackward", *named(arrays), c.byref(tensor), *named(cotangents),
                  *named(gradients))  # fmt: skip

    def parameters(self):
        """Returns live views of the parameters."""
        views = {}
        for i, name in enumerate(self.names(PARAMETER)):
            view = c.POINTER(Tensor)()
            self.call("bppsaProgramGetParameter", c.c_ssize_t(i), c.byref(view))
            views[name] = array_of(view.contents)
        return views

    def set_variant(self, backward=None, scan=None, mapping=None):
        words = [w and w.encode() for w in (backward, scan, mapping)]
        self.call("bppsaProgramSetVariant", *words)

    def set_hyper(self, name, value):
        self.call("bppsaProgramSetHyperparameter", name.encode(), c.c_double(value))

    def set_threads(self, count):
        self.call("bppsaProgramSetThreads", c.c_int32(count))

    def set_affinity(self, cpus):
        self.call("bppsaProgramSetAffinity", (c.c_int32 * len(cpus))(*cpus), c.c_ssize_t(len(cpus)))

    def save(self, path, what=""):
        self.call(f"bppsaProgramSave{what}", str(path).encode())

    def load_checkpoint(self, path):
        self.call("bppsaProgramLoadCheckpoint", str(path).encode())

    def reset(self):
        self.call("bppsaProgramReset")


class Options:
    def __init__(self, lib, options):
        self.lib, self.options = lib, options

    def __enter__(self):
        self.handle = c.c_void_p(self.lib.bppsaOptionsCreate())
        for name, value in self.options.items():
            for text in value if isinstance(value, list) else [value]:
                check(self.lib, self.lib.bppsaOptionsSet(
                    self.handle, name.replace("_", "-").encode(), str(text).encode()))  # fmt: skip
        return self.handle

    def __exit__(self, *_):
        self.lib.bppsaOptionsDestroy(self.handle)


def source(model):
    if isinstance(model, bytes):
        return Model(None, model, len(model))
    return Model(str(pathlib.Path(model)).encode(), None, 0)


def set_progress(lib, options, progress):
    """Sets a callback with the phase and the numbers of parts; it returns whether to continue."""
    call = PROGRESS(lambda phase, done, total, _: progress(phase.decode(), done, total))
    lib.bppsaOptionsSetProgress(options, call if progress else PROGRESS(), None)
    return call


def compile_to_file(model, output, progress=None, **options):
    lib = library()
    with Options(lib, options) as handle:
        tell = set_progress(lib, handle, progress)  # noqa: F841 (must live)
        check(lib, lib.bppsaCompileToFile(
            source(model), handle, str(output).encode(), DIAGNOSTIC(), None))  # fmt: skip


def check(lib, status):
    if status != OK:
        raise Failure(status, lib.bppsaGetLastError().decode())
