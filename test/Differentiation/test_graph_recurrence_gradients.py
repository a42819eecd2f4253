"""Compares gradients of loops with graph bodies with finite differences.

Each loop is also lowered and compiled, and compared with the verified float64 gradient.
"""

import harness
import numpy as np
import pytest
from gradients import Module, check_gradients
from kernels import Kernels

STEPS = (1, 2, 7)
SAMPLES = (1, 3, 16)

MAPS = """
#s = affine_map<() -> ()>
#v = affine_map<(i) -> (i)>
#k = affine_map<(i, j) -> (j)>
#n = affine_map<(i, j) -> (i)>
#m = affine_map<(i, j) -> (i, j)>
#t = affine_map<(i, j) -> (j, i)>
#a3 = affine_map<(i, j, k) -> (i, j, k)>
#c3 = affine_map<(i, j, k) -> ()>
#c4 = affine_map<(i, j, k, l) -> ()>
#a4 = affine_map<(i, j, k, l) -> (i, j, k, l)>
#image = affine_map<(o, f, c, i, j) -> (c, i, f + j)>
#kernel = affine_map<(o, f, c, i, j) -> (o, c, i, j)>
#out = affine_map<(o, f, c, i, j) -> (o, f)>
"""


def generic(result, maps, kinds, inputs, outs, types, out_type, body):
    """Returns a linalg.generic as text; `body` computes %r from %a, %b, ... and the accumulator
    %z."""
    names = ", ".join(f"%{letter}: f32" for letter in "abcdefgh"[: len(inputs)])
    kinds = ", ".join({"p": '"parallel"', "r": '"reduction"'}[kind] for kind in kinds)
    return f"""
    {result} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
        ins({", ".join(inputs)} : {", ".join(types)}) outs({outs} : {out_type}) {{
    ^bb0({names}, %z: f32):
      {body}
      linalg.yield %r : f32
    }} -> {out_type}"""


MULTIPLY_ADD = "%p = arith.mulf %a, %b : f32\n      %r = arith.addf %z, %p : f32"


def fill(result, type):
    return f"""
    {result}0 = arith.constant 0.0 : f32
    {result}1 = tensor.empty() : {type}
    {result} = linalg.fill ins({result}0 : f32) outs({result}1 : {type}) -> {type}"""


def matvec(result, matrix, vector, rows, cols, init):
    return generic(result, "#m, #k, #n", "pr", (matrix, vector), init,
                   (f"tensor<{rows}x{cols}xf32>", f"tensor<{cols}xf32>"), f"tensor<{rows}xf32>", MULTIPLY_ADD)  # fmt: skip


def elementwise(result, inputs, shape, body):
    rank = shape.count("x") + 1 if shape else 0
    type = f"tensor<{shape}xf32>" if shape else "tensor<f32>"
    map = {0: "#s", 1: "#v", 2: "#m", 3: "#a3"}[rank]
    empty = f"\n    {result}e = tensor.empty() : {type}"
    return empty + generic(result, ", ".join([map] * (len(inputs) + 1)), "p" * rank, inputs,
                           f"{result}e", [type] * len(inputs), type, body)  # fmt: skip


def loss_of(arrays):
    """Sums tanh(x)^2 over all elements of each (name, type, rank), so the loss depends on every
    slot."""
    text, total = fill("%loss", "tensor<f32>"), "%loss"
    for number, (name, type, rank) in enumerate(arrays):
        dims = ", ".join(f"d{i}" for i in range(rank))
        maps = f"affine_map<({dims}) -> ({dims})>, affine_map<({dims}) -> ()>"
        text += generic(f"%sum{number}", maps, "r" * rank, (name,), total, (type,), "tensor<f32>",
                        "%w = math.tanh %a : f32\n      %v = arith.mulf %w, %w : f32\n      %r = arith.addf %z, %v : f32")  # fmt: skip
        total = f"%sum{number}"
    return text, total


def function(arguments, body, arrays):
    """Returns @loss of arguments (name, type); uppercase names are parameters."""
    signature = ", ".join(
        f'%{name}: {type} {{bppsa.{"parameter" if name.isupper() else "input"} = "{name}"}}'
        for name, type in arguments
    )
    text, total = loss_of(arrays)
    return f"{MAPS}\nfunc.func @loss({signature}) -> tensor<f32> {{\n{body}{text}\n    return {total} : tensor<f32>\n}}"


# h' = tanh(R h + W x + b), with the states and the activation before tanh as outputs.
CELL_LOOP = (
    [("x", "tensor<?x?x3xf32>"), ("h", "tensor<?x4xf32>"), ("W", "tensor<4x3xf32>"),
     ("R", "tensor<4x4xf32>"), ("B", "tensor<4xf32>")],
    """
  %0, %1 = bppsa.recurrence DIRECTION sequences(%x : tensor<?x?x3xf32>) initial(%h : tensor<?x4xf32>)
      captures(%W, %R, %B : tensor<4x3xf32>, tensor<4x4xf32>, tensor<4xf32>)
      -> (tensor<?x?x4xf32>) outputs(tensor<?x?x4xf32>) {
  ^bb0(%xt: tensor<3xf32>, %ht: tensor<4xf32>, %w: tensor<4x3xf32>, %rr: tensor<4x4xf32>, %bb: tensor<4xf32>):"""
    + matvec("%i", "%w", "%xt", 4, 3, "%bb")
    + matvec("%q", "%rr", "%ht", 4, 4, "%i")
    + elementwise("%y", ["%q"], "4", "%r = math.tanh %a : f32")
    + """
    bppsa.yield %y, %q : tensor<4xf32>, tensor<4xf32>
  }""",
)  # fmt: skip
CELL = function(*CELL_LOOP, [("%0", "tensor<?x?x4xf32>", 3), ("%1", "tensor<?x?x4xf32>", 3)])
# The loss depends only on the activation: the states are used only by the backward pass.
ACTIVATION = function(*CELL_LOOP, [("%1", "tensor<?x?x4xf32>", 3)])

# A causal convolution of three frames, two of them cached, then a gate with its own state.
CACHED = function(
    [("x", "tensor<?x?x2x1x6xf32>"), ("c", "tensor<?x2x2x6xf32>"), ("g", "tensor<?x3xf32>"),
     ("K", "tensor<3x2x3x3xf32>")],
    """
  %0, %1, %2 = bppsa.recurrence sequences(%x : tensor<?x?x2x1x6xf32>)
      initial(%c, %g : tensor<?x2x2x6xf32>, tensor<?x3xf32>) captures(%K : tensor<3x2x3x3xf32>)
      -> (tensor<?x?x2x2x6xf32>, tensor<?x?x3xf32>) outputs(tensor<?x?x3x6xf32>) {
  ^bb0(%xt: tensor<2x1x6xf32>, %ct: tensor<2x2x6xf32>, %gt: tensor<3xf32>, %kc: tensor<3x2x3x3xf32>):
    %all = tensor.concat dim(1) %ct, %xt : (tensor<2x2x6xf32>, tensor<2x1x6xf32>) -> tensor<2x3x6xf32>
    %next = tensor.extract_slice %all[0, 1, 0] [2, 2, 6] [1, 1, 1] : tensor<2x3x6xf32> to tensor<2x2x6xf32>"""
    + fill("%border", "tensor<2x3x8xf32>")
    + """
    %padded = tensor.insert_slice %all into %border[0, 0, 1] [2, 3, 6] [1, 1, 1] : tensor<2x3x6xf32> into tensor<2x3x8xf32>"""
    + fill("%zeros", "tensor<3x6xf32>")
    + generic("%f", "#image, #kernel, #out", "pprrr", ("%padded", "%kc"), "%zeros",
              ("tensor<2x3x8xf32>", "tensor<3x2x3x3xf32>"), "tensor<3x6xf32>", MULTIPLY_ADD)
    + elementwise("%y", ["%f"], "3x6", "%n = arith.constant 0.1 : f32\n      %s = arith.mulf %a, %n : f32\n      %r = arith.maximumf %a, %s : f32")
    + generic("%pooled", "#m, #n", "pr", ("%y",), "%gt", ("tensor<3x6xf32>",), "tensor<3xf32>",
              "%r = arith.addf %z, %a : f32")
    + elementwise("%gate", ["%pooled"], "3", "%r = bppsa.sigmoid %a : f32")
    + "\n    %e2 = tensor.empty() : tensor<3x6xf32>"
    + generic("%scaled", "#m, #n, #m", "pp", ("%y", "%gate"), "%e2", ("tensor<3x6xf32>", "tensor<3xf32>"),
              "tensor<3x6xf32>", "%r = arith.mulf %a, %b : f32")
    + """
    bppsa.yield %next, %gate, %scaled : tensor<2x2x6xf32>, tensor<3xf32>, tensor<3x6xf32>
  }""",
    [("%0", "tensor<?x?x2x2x6xf32>", 5), ("%1", "tensor<?x?x3xf32>", 3), ("%2", "tensor<?x?x3x6xf32>", 4)],
)  # fmt: skip

# Each step runs a recurrent layer over five bands; its last state is the state of the step.
NESTED = function(
    [("x", "tensor<?x?x5x2x3xf32>"), ("h", "tensor<?x2x4xf32>"), ("W", "tensor<4x3xf32>"),
     ("R", "tensor<4x4xf32>"), ("B", "tensor<4xf32>")],
    """
  %0, %1 = bppsa.recurrence sequences(%x : tensor<?x?x5x2x3xf32>) initial(%h : tensor<?x2x4xf32>)
      captures(%W, %R, %B : tensor<4x3xf32>, tensor<4x4xf32>, tensor<4xf32>)
      -> (tensor<?x?x2x4xf32>) outputs(tensor<?x?x5x2x4xf32>) {
  ^bb0(%xt: tensor<5x2x3xf32>, %ht: tensor<2x4xf32>, %w: tensor<4x3xf32>, %rr: tensor<4x4xf32>, %bb: tensor<4xf32>):
    %bands = bppsa.recurrence NESTED_DIRECTION sequences(%xt : tensor<5x2x3xf32>) initial(%ht : tensor<2x4xf32>)
        captures(%w, %rr, %bb : tensor<4x3xf32>, tensor<4x4xf32>, tensor<4xf32>) -> (tensor<6x2x4xf32>) {
    ^bb0(%xb: vector<3xf32>, %hb: vector<4xf32>, %wb: vector<4x3xf32>, %rb: vector<4x4xf32>, %b: vector<4xf32>):
      %i = bppsa.matvec %wb, %xb plus %b : vector<4x3xf32>, vector<3xf32> plus vector<4xf32> -> vector<4xf32>
      %s = bppsa.matvec %rb, %hb plus %i : vector<4x4xf32>, vector<4xf32> plus vector<4xf32> -> vector<4xf32>
      %y = math.tanh %s : vector<4xf32>
      bppsa.yield %y : vector<4xf32>
    }
    %last = tensor.extract_slice %bands[LAST, 0, 0] [1, 2, 4] [1, 1, 1] : tensor<6x2x4xf32> to tensor<2x4xf32>
    %states = tensor.extract_slice %bands[FIRST, 0, 0] [5, 2, 4] [1, 1, 1] : tensor<6x2x4xf32> to tensor<5x2x4xf32>
    bppsa.yield %last, %states : tensor<2x4xf32>, tensor<5x2x4xf32>
  }""",
    [("%0", "tensor<?x?x2x4xf32>", 4), ("%1", "tensor<?x?x5x2x4xf32>", 5)],
)  # fmt: skip

# The nested cell over bands is a graph itself.
NESTED_GRAPH = function(
    [("x", "tensor<?x?x5x2x3xf32>"), ("h", "tensor<?x2x3xf32>"), ("W", "tensor<3x3xf32>")],
    """
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x5x2x3xf32>) initial(%h : tensor<?x2x3xf32>)
      captures(%W : tensor<3x3xf32>) -> (tensor<?x?x2x3xf32>) {
  ^bb0(%xt: tensor<5x2x3xf32>, %ht: tensor<2x3xf32>, %w: tensor<3x3xf32>):
    %bands = bppsa.recurrence sequences(%xt : tensor<5x2x3xf32>) initial(%ht : tensor<2x3xf32>)
        captures(%w : tensor<3x3xf32>) -> (tensor<6x2x3xf32>) {
    ^bb0(%xb: tensor<3xf32>, %hb: tensor<3xf32>, %wb: tensor<3x3xf32>):"""
    + matvec("%q", "%wb", "%hb", 3, 3, "%xb")
    + elementwise("%y", ["%q"], "3", "%r = math.tanh %a : f32")
    + """
      bppsa.yield %y : tensor<3xf32>
    }
    %last = tensor.extract_slice %bands[5, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<6x2x3xf32> to tensor<2x3xf32>
    bppsa.yield %last : tensor<2x3xf32>
  }""",
    [("%0", "tensor<?x?x2x3xf32>", 4)],
)  # fmt: skip

# No states: each step is an independent product.
STATELESS = function(
    [("x", "tensor<?x?x3xf32>"), ("W", "tensor<4x3xf32>")],
    """
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) captures(%W : tensor<4x3xf32>) outputs(tensor<?x?x4xf32>) {
  ^bb0(%xt: tensor<3xf32>, %w: tensor<4x3xf32>):"""
    + fill("%zeros", "tensor<4xf32>")
    + matvec("%y", "%w", "%xt", 4, 3, "%zeros")
    + """
    bppsa.yield %y : tensor<4xf32>
  }""",
    [("%0", "tensor<?x?x4xf32>", 3)],
)  # fmt: skip

CASES = {
    "cell": (CELL.replace("DIRECTION", ""), "T R 3, R 4, 4 3, 4 4, 4"),
    "reversed_cell": (CELL.replace("DIRECTION", "reverse"), "T R 3, R 4, 4 3, 4 4, 4"),
    "cached": (CACHED, "T R 2 1 6, R 2 2 6, R 3, 3 2 3 3"),
    "nested": (
        NESTED.replace("NESTED_DIRECTION", "").replace("LAST", "5").replace("FIRST", "1"),
        "T R 5 2 3, R 2 4, 4 3, 4 4, 4",
    ),
    "nested_reversed": (
        NESTED.replace("NESTED_DIRECTION", "reverse").replace("LAST", "0").replace("FIRST", "0"),
        "T R 5 2 3, R 2 4, 4 3, 4 4, 4",
    ),
    "nested_graph": (NESTED_GRAPH, "T R 5 2 3, R 2 3, 3 3"),
    "stateless": (STATELESS, "T R 3, 4 3"),
}


# Loops with and without external uses of the states, in both directions, and nested loops with
# residuals.
SEGMENTED = {
    "activation": (ACTIVATION.replace("DIRECTION", ""), CASES["cell"][1]),
    "reversed_activation": (ACTIVATION.replace("DIRECTION", "reverse"), CASES["cell"][1]),
    **{name: CASES[name] for name in ("reversed_cell", "cached", "nested")},
}


def make_arrays(shapes, steps, samples):
    rng = np.random.default_rng(steps + 10 * samples)
    sizes = {"T": steps, "R": samples}
    return [
        rng.normal(size=[sizes[size] if size in sizes else int(size) for size in shape.split()]) / 2
        for shape in shapes.split(",")
    ]


@pytest.mark.parametrize("case", CASES)
def test_finite_differences(case, tmp_path):
    source, shapes = CASES[case]
    module = Module(tmp_path, source)
    for steps, samples in ((1, 1), (3, 2)):
        check_gradients(module, make_arrays(shapes, steps, samples), tolerance=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_compiled(case, tmp_path):
    source, shapes = CASES[case]
    module = Module(tmp_path, source)
    kernels = Kernels(tmp_path, module.text)
    for steps in STEPS:
        for samples in SAMPLES:
            arrays = make_arrays(shapes, steps, samples)
            exact = module.call("grad", arrays)
            found = kernels.call("grad", arrays, [array.shape for array in exact])
            for one, other in zip(found, exact):
                error = harness.relative_error(one, other)
                assert error < 1e-5, f"{steps} steps, {samples} samples: {error}"


@pytest.mark.parametrize("case", SEGMENTED)
def test_segments(case, tmp_path):
    """Recomputing segments before the backward chain is bit-exact."""
    source, shapes = SEGMENTED[case]
    module = Module(tmp_path, source)
    whole = Kernels(tmp_path, module.text)
    (tmp_path / "segments").mkdir()
    segmented = Kernels(tmp_path / "segments", module.text, options="memory-limit=1")
    for steps, samples, length in ((1, 1, 1), (2, 3, 1), (7, 3, 2), (7, 17, 3), (7, 17, 7)):
        arrays = make_arrays(shapes, steps, samples)
        sizes = [array.shape for array in module.call("grad", arrays)]
        wanted = whole.call("grad", arrays, sizes)
        found = segmented.call("grad", arrays, sizes, segment_steps=length)
        for one, other in zip(wanted, found):
            assert np.isfinite(one).all()
            assert one.tobytes() == other.tobytes(), f"{steps} steps in segments of {length}"
