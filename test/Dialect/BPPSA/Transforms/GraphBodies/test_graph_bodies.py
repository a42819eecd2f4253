"""Compares lowered, compiled time loops with graph bodies with bppsa-interpret in float64.

The interpreter evaluates the original loop, one sample and one step at a time.
"""

import harness
import numpy as np
import pytest
from interpreting import run
from kernels import Kernels

SAMPLES = (1, 3, 16)
STEPS = (1, 2, 7)

CACHED_CONVOLUTION = """
func.func @main(%x: tensor<?x?x2x1x6xf32>, %cache: tensor<?x2x2x6xf32>, %k: tensor<3x2x3x3xf32>)
    -> (tensor<?x?x2x2x6xf32>, tensor<?x?x3x1x4xf32>) {
  %caches, %y = bppsa.recurrence reverse sequences(%x : tensor<?x?x2x1x6xf32>)
      initial(%cache : tensor<?x2x2x6xf32>) captures(%k : tensor<3x2x3x3xf32>)
      -> (tensor<?x?x2x2x6xf32>) outputs(tensor<?x?x3x1x4xf32>) {
  ^bb0(%xt: tensor<2x1x6xf32>, %c: tensor<2x2x6xf32>, %kc: tensor<3x2x3x3xf32>):
    %all = tensor.concat dim(1) %c, %xt : (tensor<2x2x6xf32>, tensor<2x1x6xf32>) -> tensor<2x3x6xf32>
    %next = tensor.extract_slice %all[0, 1, 0] [2, 2, 6] [1, 1, 1] : tensor<2x3x6xf32> to tensor<2x2x6xf32>
    %one = tensor.expand_shape %all [[0, 1], [2], [3]] output_shape [1, 2, 3, 6] : tensor<2x3x6xf32> into tensor<1x2x3x6xf32>
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<1x3x1x4xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x3x1x4xf32>) -> tensor<1x3x1x4xf32>
    %f = linalg.conv_2d_nchw_fchw ins(%one, %kc : tensor<1x2x3x6xf32>, tensor<3x2x3x3xf32>)
        outs(%z : tensor<1x3x1x4xf32>) -> tensor<1x3x1x4xf32>
    %t = math.tanh %f : tensor<1x3x1x4xf32>
    %out = tensor.collapse_shape %t [[0, 1], [2], [3]] : tensor<1x3x1x4xf32> into tensor<3x1x4xf32>
    bppsa.yield %next, %out : tensor<2x2x6xf32>, tensor<3x1x4xf32>
  }
  return %caches, %y : tensor<?x?x2x2x6xf32>, tensor<?x?x3x1x4xf32>
}"""

# Elements, slices, reshapes, reductions, sample-dependent indices, and values shared by all
# samples.
ELEMENTS = """
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @main(%x: tensor<?x?x2x3xf32>, %h: tensor<?x6xf32>, %s: tensor<?xf32>, %w: tensor<6x2xf32>)
    -> (tensor<?x?x6xf32>, tensor<?x?xf32>, tensor<?x?x3x2xf32>, tensor<?x?x2xf32>) {
  %0:4 = bppsa.recurrence sequences(%x : tensor<?x?x2x3xf32>)
      initial(%h, %s : tensor<?x6xf32>, tensor<?xf32>) captures(%w : tensor<6x2xf32>)
      -> (tensor<?x?x6xf32>, tensor<?x?xf32>) outputs(tensor<?x?x3x2xf32>, tensor<?x?x2xf32>) {
  ^bb0(%xt: tensor<2x3xf32>, %ht: tensor<6xf32>, %st: tensor<f32>, %wc: tensor<6x2xf32>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %shape = arith.constant dense<[6]> : tensor<1xi64>
    %flat = tensor.reshape %xt(%shape) : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<6xf32>
    %sum = arith.addf %flat, %ht : tensor<6xf32>
    %active = bppsa.sigmoid %sum : tensor<6xf32>
    %element = tensor.extract %xt[%c1, %c2] : tensor<2x3xf32>
    %old = tensor.extract %st[] : tensor<f32>
    %half = arith.constant 0.5 : f32
    %scaled = arith.mulf %old, %half : f32
    %new = arith.addf %scaled, %element : f32
    %next = tensor.from_elements %new : tensor<f32>
    // Which of two elements is read depends on the sample.
    %zero = arith.constant 0.0 : f32
    %positive = arith.cmpf ogt, %new, %zero : f32
    %place = arith.select %positive, %c0, %c1 : index
    %chosen = tensor.extract %ht[%place] : tensor<6xf32>
    %pair = tensor.from_elements %chosen, %half : tensor<2xf32>
    %spread = linalg.broadcast ins(%pair : tensor<2xf32>) outs(%wc : tensor<6x2xf32>) dimensions = [0]
    %product = arith.mulf %spread, %wc : tensor<6x2xf32>
    %e = tensor.empty() : tensor<6xf32>
    %filled = linalg.fill ins(%chosen : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
    %reduced = linalg.reduce { arith.addf } ins(%product : tensor<6x2xf32>) outs(%filled : tensor<6xf32>) dimensions = [1]
    %with = tensor.insert %new into %reduced[%c2] : tensor<6xf32>
    %some = tensor.extract_slice %active[2] [2] [2] : tensor<6xf32> to tensor<2xf32>
    %state = tensor.insert_slice %some into %with[0] [2] [1] : tensor<2xf32> into tensor<6xf32>
    // Reads captured tensors at computed places, and knows the place it computes.
    %e32 = tensor.empty() : tensor<3x2xf32>
    %table = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
        ins(%state : tensor<6xf32>) outs(%e32 : tensor<3x2xf32>) {
    ^bb0(%a: f32, %b: f32):
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %v = tensor.extract %xt[%j, %i] : tensor<2x3xf32>
      %u = tensor.extract %wc[%i, %j] : tensor<6x2xf32>
      %p = arith.mulf %v, %u : f32
      %q = arith.addf %p, %new : f32
      linalg.yield %q : f32
    } -> tensor<3x2xf32>
    bppsa.yield %state, %next, %table, %pair : tensor<6xf32>, tensor<f32>, tensor<3x2xf32>, tensor<2xf32>
  }
  return %0#0, %0#1, %0#2, %0#3 : tensor<?x?x6xf32>, tensor<?x?xf32>, tensor<?x?x3x2xf32>, tensor<?x?x2xf32>
}""".replace("(%state : tensor<6xf32>) outs(%e32", "(%three : tensor<3xf32>) outs(%e32").replace(
    "    %e32 =", "    %three = tensor.extract_slice %state[0] [3] [1] : tensor<6xf32> to tensor<3xf32>\n    %e32 ="
)

# Branches and loops over scalars have no batched form, so they run row by row.
BRANCHES = """
func.func @main(%x: tensor<?x?x3xf32>, %h: tensor<?x3xf32>) -> (tensor<?x?x3xf32>, tensor<?x?xf32>) {
  %0:2 = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) initial(%h : tensor<?x3xf32>)
      -> (tensor<?x?x3xf32>) outputs(tensor<?x?xf32>) {
  ^bb0(%xt: tensor<3xf32>, %ht: tensor<3xf32>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %zero = arith.constant 0.0 : f32
    %first = tensor.extract %xt[%c0] : tensor<3xf32>
    %positive = arith.cmpf ogt, %first, %zero : f32
    %next = scf.if %positive -> (tensor<3xf32>) {
      %sum = arith.addf %xt, %ht : tensor<3xf32>
      scf.yield %sum : tensor<3xf32>
    } else {
      scf.yield %ht : tensor<3xf32>
    }
    %total = scf.for %i = %c0 to %c3 step %c1 iter_args(%s = %zero) -> (f32) {
      %v = tensor.extract %next[%i] : tensor<3xf32>
      %t = arith.addf %s, %v : f32
      scf.yield %t : f32
    }
    // A loop over tensors takes all rows at once.
    %swapped = scf.for %i = %c0 to %c1 step %c1 iter_args(%s = %next) -> (tensor<3xf32>) {
      %v = tensor.extract %s[%i] : tensor<3xf32>
      %j = arith.addi %i, %c1 : index
      %u = tensor.insert %v into %s[%j] : tensor<3xf32>
      scf.yield %u : tensor<3xf32>
    }
    %out = tensor.from_elements %total : tensor<f32>
    bppsa.yield %swapped, %out : tensor<3xf32>, tensor<f32>
  }
  return %0#0, %0#1 : tensor<?x?x3xf32>, tensor<?x?xf32>
}"""

# Recurrent layers over bands: one with two samples per row, and one with a row-dependent matrix.
NESTED = """
func.func @main(%x: tensor<?x?x4x2x3xf32>, %h: tensor<?x2x3xf32>, %w: tensor<3x3xf32>)
    -> (tensor<?x?x2x3xf32>, tensor<?x?x4x2x3xf32>, tensor<?x?x2x3xf32>) {
  %0:3 = bppsa.recurrence sequences(%x : tensor<?x?x4x2x3xf32>) initial(%h : tensor<?x2x3xf32>)
      captures(%w : tensor<3x3xf32>) -> (tensor<?x?x2x3xf32>)
      outputs(tensor<?x?x4x2x3xf32>, tensor<?x?x2x3xf32>) {
  ^bb0(%xt: tensor<4x2x3xf32>, %ht: tensor<2x3xf32>, %wc: tensor<3x3xf32>):
    %1 = bppsa.recurrence reverse sequences(%xt : tensor<4x2x3xf32>) initial(%ht : tensor<2x3xf32>)
        captures(%wc : tensor<3x3xf32>) -> (tensor<5x2x3xf32>) {
    ^bb0(%xb: vector<3xf32>, %hb: vector<3xf32>, %wb: vector<3x3xf32>):
      %2 = bppsa.matvec %wb, %hb plus %xb : vector<3x3xf32>, vector<3xf32> plus vector<3xf32> -> vector<3xf32>
      %3 = math.tanh %2 : vector<3xf32>
      bppsa.yield %3 : vector<3xf32>
    }
    %states = tensor.extract_slice %1[0, 0, 0] [4, 2, 3] [1, 1, 1] : tensor<5x2x3xf32> to tensor<4x2x3xf32>
    %last = tensor.extract_slice %1[0, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<5x2x3xf32> to tensor<2x3xf32>
    %step = tensor.extract_slice %xt[2, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<1x2x3xf32>
    %4 = bppsa.recurrence sequences(%step : tensor<1x2x3xf32>) initial(%last : tensor<2x3xf32>)
        captures(%wc : tensor<3x3xf32>) -> (tensor<2x2x3xf32>) {
    ^bb0(%xb: vector<3xf32>, %hb: vector<3xf32>, %wb: vector<3x3xf32>):
      %5 = bppsa.matvec transposed %wb, %hb plus %xb : vector<3x3xf32>, vector<3xf32> plus vector<3xf32> -> vector<3xf32>
      bppsa.yield %5 : vector<3xf32>
    }
    %after = tensor.extract_slice %4[1, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<2x2x3xf32> to tensor<2x3xf32>
    %own = tensor.extract_slice %xt[1, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<2x3xf32>
    %m = tensor.concat dim(0) %own, %last : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
    %m3 = tensor.extract_slice %m[0, 0] [3, 3] [1, 1] : tensor<4x3xf32> to tensor<3x3xf32>
    %6 = bppsa.recurrence sequences(%step : tensor<1x2x3xf32>) captures(%m3 : tensor<3x3xf32>)
        outputs(tensor<1x2x3xf32>) {
    ^bb0(%xb: vector<3xf32>, %wb: vector<3x3xf32>):
      %7 = bppsa.matvec %wb, %xb : vector<3x3xf32>, vector<3xf32> -> vector<3xf32>
      bppsa.yield %7 : vector<3xf32>
    }
    %flat = tensor.collapse_shape %6 [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
    bppsa.yield %after, %states, %flat : tensor<2x3xf32>, tensor<4x2x3xf32>, tensor<2x3xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<?x?x2x3xf32>, tensor<?x?x4x2x3xf32>, tensor<?x?x2x3xf32>
}"""

NESTED_GRAPH = """
func.func @main(%x: tensor<?x?x4x2x3xf32>, %h: tensor<?x2x3xf32>) -> tensor<?x?x2x3xf32> {
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x4x2x3xf32>) initial(%h : tensor<?x2x3xf32>)
      -> (tensor<?x?x2x3xf32>) {
  ^bb0(%xt: tensor<4x2x3xf32>, %ht: tensor<2x3xf32>):
    %1 = bppsa.recurrence sequences(%xt : tensor<4x2x3xf32>) initial(%ht : tensor<2x3xf32>)
        -> (tensor<5x2x3xf32>) {
    ^bb0(%xb: tensor<3xf32>, %hb: tensor<3xf32>):
      %2 = arith.mulf %hb, %xb : tensor<3xf32>
      %3 = math.tanh %2 : tensor<3xf32>
      bppsa.yield %3 : tensor<3xf32>
    }
    %last = tensor.extract_slice %1[4, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<5x2x3xf32> to tensor<2x3xf32>
    bppsa.yield %last : tensor<2x3xf32>
  }
  return %0 : tensor<?x?x2x3xf32>
}"""

# Sums of products, shared values, slices, reshapes and other sums.
CHAIN = """
#mk = affine_map<(m, n) -> (m)>
#nk = affine_map<(m, n) -> (n)>
#mn = affine_map<(m, n) -> (m, n)>
#id = affine_map<(i) -> (i)>
#red = affine_map<(n, m) -> (n)>
#inn = affine_map<(n, m) -> (n, m)>
func.func @main(%a: tensor<?x?x4xf32>, %b: tensor<?x?x3xf32>, %i: tensor<?x?x4xf32>,
    %g: tensor<?x4xf32>, %w: tensor<4x4xf32>)
    -> (tensor<?x4xf32>, tensor<?x?x3xf32>, tensor<4x3xf32>, tensor<4xf32>, tensor<6xf32>, tensor<4x4xf32>, tensor<2x2xf32>) {
  %0:7 = bppsa.chain saved(%a, %b : tensor<?x?x4xf32>, tensor<?x?x3xf32>) seeds(%g : tensor<?x4xf32>)
      injected(%i : tensor<?x?x4xf32>) inject_into [0] sum_with [-1, -1, -1, -1, -1]
      captures(%w : tensor<4x4xf32>) -> (tensor<?x4xf32>) emitted(tensor<?x?x3xf32>)
      sums(tensor<4x3xf32>, tensor<4xf32>, tensor<6xf32>, tensor<4x4xf32>, tensor<2x2xf32>) {
  ^bb0(%at: tensor<4xf32>, %bt: tensor<3xf32>, %gt: tensor<4xf32>, %wc: tensor<4x4xf32>):
    %zero = arith.constant 0.0 : f32
    %delta = arith.mulf %at, %gt : tensor<4xf32>
    %e4 = tensor.empty() : tensor<4xf32>
    %z4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<4xf32>) -> tensor<4xf32>
    %next = linalg.generic {indexing_maps = [#inn, affine_map<(n, m) -> (m)>, #red], iterator_types = ["parallel", "reduction"]}
        ins(%wc, %delta : tensor<4x4xf32>, tensor<4xf32>) outs(%z4 : tensor<4xf32>) {
    ^bb0(%x: f32, %y: f32, %s: f32):
      %p = arith.mulf %x, %y : f32
      %t = arith.addf %s, %p : f32
      linalg.yield %t : f32
    } -> tensor<4xf32>
    %e43 = tensor.empty() : tensor<4x3xf32>
    %outer = linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel"]}
        ins(%delta, %bt : tensor<4xf32>, tensor<3xf32>) outs(%e43 : tensor<4x3xf32>) {
    ^bb0(%x: f32, %y: f32, %s: f32):
      %p = arith.mulf %x, %y : f32
      linalg.yield %p : f32
    } -> tensor<4x3xf32>
    %head = tensor.extract_slice %delta[0] [3] [1] : tensor<4xf32> to tensor<3xf32>
    %e6 = tensor.empty() : tensor<6xf32>
    %z6 = linalg.fill ins(%zero : f32) outs(%e6 : tensor<6xf32>) -> tensor<6xf32>
    %scaled = arith.mulf %head, %bt : tensor<3xf32>
    %six = tensor.insert_slice %scaled into %z6[1] [3] [1] : tensor<3xf32> into tensor<6xf32>
    %first = arith.mulf %at, %at : tensor<4xf32>
    %second = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
        ins(%first, %gt : tensor<4xf32>, tensor<4xf32>) outs(%e4 : tensor<4xf32>) {
    ^bb0(%x: f32, %y: f32, %s: f32):
      %t = arith.addf %x, %y : f32
      linalg.yield %t : f32
    } -> tensor<4xf32>
    %d2 = arith.mulf %delta, %gt : tensor<4xf32>
    %square = tensor.expand_shape %d2 [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
    bppsa.yield %next, %scaled, %outer, %second, %six, %wc, %square : tensor<4xf32>, tensor<3xf32>, tensor<4x3xf32>, tensor<4xf32>, tensor<6xf32>, tensor<4x4xf32>, tensor<2x2xf32>
  }
  return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6 : tensor<?x4xf32>, tensor<?x?x3xf32>, tensor<4x3xf32>, tensor<4xf32>, tensor<6xf32>, tensor<4x4xf32>, tensor<2x2xf32>
}"""

SUMS_OF_SAMPLES = """
func.func @main(%a: tensor<?x?x2x2x4xf32>, %b: tensor<?x?x2x2x3xf32>) -> (tensor<4x3xf32>, tensor<4xf32>) {
  %0:2 = bppsa.chain saved(%a, %b : tensor<?x?x2x2x4xf32>, tensor<?x?x2x2x3xf32>)
      sum_with [-1, -1] sums(tensor<4x3xf32>, tensor<4xf32>) {
  ^bb0(%at: tensor<2x2x4xf32>, %bt: tensor<2x2x3xf32>):
    %1 = bppsa.outer_sum %at, %bt : tensor<2x2x4xf32>, tensor<2x2x3xf32> -> tensor<4x3xf32>
    %2 = bppsa.step_sum %at : tensor<2x2x4xf32> -> tensor<4xf32>
    bppsa.yield %1, %2 : tensor<4x3xf32>, tensor<4xf32>
  }
  return %0#0, %0#1 : tensor<4x3xf32>, tensor<4xf32>
}"""

# Argument shapes; T is the number of steps and R the number of samples.
CASES = {
    "cached_convolution": (CACHED_CONVOLUTION, "T R 2 1 6, R 2 2 6, 3 2 3 3"),
    "elements": (ELEMENTS, "T R 2 3, R 6, R, 6 2"),
    "branches": (BRANCHES, "T R 3, R 3"),
    "nested": (NESTED, "T R 4 2 3, R 2 3, 3 3"),
    "nested_graph": (NESTED_GRAPH, "T R 4 2 3, R 2 3"),
    "chain": (CHAIN, "T R 4, T R 3, T R 4, R 4, 4 4"),
    "sums_of_samples": (SUMS_OF_SAMPLES, "T R 2 2 4, T R 2 2 3"),
}


def make_arrays(shapes, steps, samples):
    rng = np.random.default_rng(steps + 10 * samples)
    sizes = {"T": steps, "R": samples}
    return [
        rng.normal(size=[sizes[size] if size in sizes else int(size) for size in shape.split()])
        for shape in shapes.split(",")
    ]


def lower(ir):
    """Lowers all loops in graph form."""
    opt = harness.require_tool("bppsa-opt")
    done = harness.run(opt, "--bppsa-lower-graph-bodies", "--canonicalize", "--cse", input=ir)
    harness.check_succeeded(done)
    return done.stdout


@pytest.mark.parametrize("case", CASES)
def test_lowered_and_compiled(case, tmp_path):
    ir, shapes = CASES[case]
    lowered, kernels = lower(ir), Kernels(tmp_path, ir)
    for steps in STEPS:
        for samples in SAMPLES:
            arrays = make_arrays(shapes, steps, samples)
            expected = run(tmp_path, ir, *arrays)
            context = f"{steps} steps, {samples} samples"
            for found, exact in zip(run(tmp_path, lowered, *arrays), expected):
                np.testing.assert_allclose(found, exact, rtol=1e-11, atol=1e-12, err_msg=context)
            compiled = kernels.call("main", arrays, [exact.shape for exact in expected])
            for found, exact in zip(compiled, expected):
                np.testing.assert_allclose(found, exact, rtol=2e-5, atol=2e-5, err_msg=context)


def test_steps_without_sequences(tmp_path):
    ir = """func.func @main(%n: index, %h: tensor<?x2xf32>) -> tensor<?x?x2xf32> {
      %0 = bppsa.recurrence steps %n initial(%h : tensor<?x2xf32>) -> (tensor<?x?x2xf32>) {
      ^bb0(%ht: tensor<2xf32>):
        %1 = arith.addf %ht, %ht : tensor<2xf32>
        bppsa.yield %1 : tensor<2xf32>
      }
      return %0 : tensor<?x?x2xf32> }"""
    h = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    for steps in (0, 3):
        (found,) = run(tmp_path, lower(ir), np.array(steps), h)
        np.testing.assert_array_equal(found, [h * 2**t for t in range(steps + 1)])
