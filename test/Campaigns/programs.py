"""The programs that campaigns run, and valid data for them."""

import dataclasses
import functools
import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TEST = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TEST), str(TEST / "numerics"), str(TEST / "Import")]

# The folders of these modules are not packages.
import harness  # noqa: E402
import models  # noqa: E402

EXAMPLES = harness.ROOT / "examples"
STEPS, SAMPLES = 5, 24


def build(nodes, inputs, outputs, weights):
    """Returns a model; `inputs` and `outputs` are lists of (name, type, shape)."""
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(*info) for info in inputs],
        [helper.make_tensor_value_info(*info) for info in outputs],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def weight(*shape):
    return np.random.default_rng(len(shape)).normal(0, 0.3, shape).astype(np.float32)


def tokens():
    """Mean of embedded tokens with two heads."""
    nodes = [
        helper.make_node("Gather", ["table", "x"], ["rows"]),
        helper.make_node("ReduceMean", ["rows"], ["mean"], axes=[1], keepdims=0),
        helper.make_node("Gemm", ["mean", "word.weight"], ["word"], transB=1),
        helper.make_node("Gemm", ["mean", "pitch.weight"], ["pitch"], transB=1),
    ]
    weights = {
        "table": weight(11, 6),
        "word.weight": weight(4, 6),
        "pitch.weight": weight(2, 6),
    }
    outputs = [("word", TensorProto.FLOAT, ["N", 4]), ("pitch", TensorProto.FLOAT, ["N", 2])]
    return build(nodes, [("x", TensorProto.INT64, ["N", "T"])], outputs, weights)


def normalized():
    """A matrix product and a batch normalization in training mode."""
    statistics = ["scale", "shift", "mean", "var"]
    nodes = [
        helper.make_node("Gemm", ["x", "weight"], ["product"], transB=1),
        helper.make_node(
            "BatchNormalization",
            ["product", *statistics],
            ["y", "next_mean", "next_var"],
            name="norm",
            training_mode=1,
        ),
    ]
    weights = {"weight": weight(5, 3), **{name: weight(5) for name in statistics[:3]}}
    weights["var"] = np.ones(5, np.float32)
    inputs = [("x", TensorProto.FLOAT, ["N", 3])]
    return build(nodes, inputs, [("y", TensorProto.FLOAT, ["N", 5])], weights)


STREAM = ["--loss=mse", "--carry=cache:cache_next,h:h_next"]
# By program: the model or a function that builds it, and the options of bppsa-compile.
SOURCES = {
    "rnn": (EXAMPLES / "bitstream_rnn.onnx", []),
    "lengths": (
        functools.partial(models.build, models.Spec("GRU", lengths=True, head="steps")),
        ["--ignore-index=2", "--label-smoothing=0.1"],
    ),
    "tokens": (tokens, ["--loss-on=word,pitch", "--loss=cross-entropy,mse"]),
    "normalized": (normalized, ["--loss=mse", "--optimizer=momentum"]),
    "stream": (EXAMPLES / "denoiser_step.onnx", STREAM),
    "ranks": (EXAMPLES / "irmas_gru.onnx", ["--distributed=mpi", "--backward=sequential"]),
    "emulated": (EXAMPLES / "bitstream_rnn.onnx", ["--target=cuda", "--emulate"]),
}


@dataclasses.dataclass
class Program:
    """A compiled program, the output of its `info`, and a valid data set."""

    name: str
    path: pathlib.Path
    info: dict
    arrays: dict
    model: bytes

    def infos(self):
        """Returns the descriptions of the arrays of a data set."""
        losses = self.info.get("losses", [self.info])
        return [*self.info["inputs"], *(loss["target_array"] for loss in losses)]

    def sizes(self):
        """Returns options for small sizes of `bench`."""
        isTimed = any(info["time_axis"] is not None for info in self.info["inputs"])
        return ["--batch", 3, *(["--seq-len", 4] if isTimed else [])]


def make_array(info, sizes, rng):
    """Returns valid random values for an array described by `info`."""
    shape = [dim if isinstance(dim, int) else sizes[dim] for dim in info["shape"]]
    if "float" in info["dtype"]:
        return rng.standard_normal(shape).astype(np.float32)
    low, high = 0, 2
    if "classes" in info:
        high = info["classes"]
    for key, first in (("index_bounds", 0), ("length_bounds", 1)):
        if key in info:
            bounds = [n if isinstance(n, int) else sizes[n] for n in info[key]]
            low, high = first, min(bounds) + first
    return rng.integers(low, high, shape).astype(info["dtype"])


def make_arrays(program, samples=SAMPLES, steps=STEPS, seed=0):
    """Returns a data set for the program."""
    rng = np.random.default_rng(seed)
    infos = program.infos()
    sizes = {name: steps for name in program.info["symbols"]}
    for info in infos:
        if info["batch_axis"] is not None:
            sizes[info["shape"][info["batch_axis"]]] = samples
    return {info["name"]: make_array(info, sizes, rng) for info in infos}


class Programs:
    """Compiles each program on first use; `names` limits the programs in use.

    A name with a slash is the path of an existing trainer, for campaigns that compile nothing.
    """

    def __init__(self, names):
        self.names = names

    @functools.cache
    def get(self, name):
        if "/" in name:
            info = json.loads(harness.check_succeeded(harness.run(name, "info")).stdout)
            program = Program(name, pathlib.Path(name).resolve(), info, {}, b"")
            program.arrays = make_arrays(program)
            return program
        source, options = SOURCES[name]
        model = onnx.load(source) if isinstance(source, pathlib.Path) else source()
        compiled = harness.compile_model(model, "-O0", *options)
        program = Program(name, compiled.path, compiled.info(), {}, model.SerializeToString())
        program.arrays = make_arrays(program)
        return program

    def choose(self, source, names=None):
        return self.get(source.choice([name for name in names or self.names if name in self.names]))
