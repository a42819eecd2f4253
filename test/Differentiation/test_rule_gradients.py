"""Compares the differentiation rule of every op with finite differences."""

import numpy as np
import pytest

from gradients import Module, check_gradients

# Lines that compute %y from %a and %b, all of type TYPE; CONST(x) is a constant.
ELEMENTWISE = {
    "addf": "%y = arith.addf %a, %b : TYPE",
    "subf": "%y = arith.subf %a, %b : TYPE",
    "mulf": "%y = arith.mulf %a, %b : TYPE",
    "mulf-square": "%p = arith.mulf %a, %a : TYPE\n%y = arith.addf %p, %b : TYPE",
    "divf": "%y = arith.divf %a, %b : TYPE",
    "negf": "%p = arith.negf %a : TYPE\n%y = arith.mulf %p, %b : TYPE",
    "maximumf": "%y = arith.maximumf %a, %b : TYPE",
    "minimumf": "%y = arith.minimumf %a, %b : TYPE",
    "maxnumf": "%p = arith.maxnumf %a, %b : TYPE\n%y = arith.mulf %p, %p : TYPE",
    "minnumf": "%y = arith.minnumf %a, %b : TYPE",
    "clamp": """%k = CONST(1.0)
      %p = arith.minimumf %a, %k : TYPE
      %y = arith.mulf %p, %b : TYPE""",
    "select": """%c = arith.cmpf ogt, %a, %b : TYPE
      %p = arith.mulf %a, %b : TYPE
      %y = arith.select %c, %p, %b : COND, TYPE""",
    "tanh": "%p = math.tanh %a : TYPE\n%y = arith.mulf %p, %b : TYPE",
    "exp": "%p = math.exp %a : TYPE\n%y = arith.mulf %p, %b : TYPE",
    "expm1": "%p = math.expm1 %a : TYPE\n%y = arith.mulf %p, %b : TYPE",
    "log": "%p = math.log %a : TYPE\n%y = arith.mulf %p, %b : TYPE",
    "log1p": "%p = math.log1p %a : TYPE\n%y = arith.mulf %p, %b : TYPE",
    "sqrt": "%p = math.sqrt %a : TYPE\n%y = arith.mulf %p, %b : TYPE",
    "rsqrt": "%p = math.rsqrt %a : TYPE\n%y = arith.mulf %p, %b : TYPE",
    "absf": "%n = arith.negf %a : TYPE\n%p = math.absf %n : TYPE\n%y = arith.mulf %p, %b : TYPE",
    "erf": "%p = math.erf %a : TYPE\n%y = arith.mulf %p, %b : TYPE",
    "powf": "%y = math.powf %a, %b : TYPE",
    "powf-2": "%k = CONST(2.0)\n%p = math.powf %a, %k : TYPE\n%y = arith.addf %p, %b : TYPE",
    "powf-3": "%k = CONST(3.0)\n%p = math.powf %a, %k : TYPE\n%y = arith.addf %p, %b : TYPE",
    "sigmoid": "%p = bppsa.sigmoid %a : TYPE\n%y = arith.mulf %p, %b : TYPE",
}

FUNCTION = """
func.func @forward(%A: tensor<2x3x4xf32> {bppsa.input = "a"},
                   %B: tensor<2x3x4xf32> {bppsa.parameter = "b"})
    -> (tensor<2x3x4xf32> {bppsa.output = "y"}) {
  BODY
  return %Y : tensor<2x3x4xf32>
}
"""
GENERIC = """%E = tensor.empty() : tensor<2x3x4xf32>
  %Y = linalg.generic {indexing_maps = [#map, #map, #map],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%A, %B : tensor<2x3x4xf32>, tensor<2x3x4xf32>) outs(%E : tensor<2x3x4xf32>) {
    ^bb0(%a: TYPE, %b: TYPE, %o: TYPE):
      LINES
      linalg.yield %y : TYPE
  } -> tensor<2x3x4xf32>"""
LOOP = """%Y = bppsa.recurrence sequences(%A, %B : tensor<2x3x4xf32>, tensor<2x3x4xf32>)
      outputs(tensor<2x3x4xf32>) {
    ^bb0(%a: TYPE, %b: TYPE):
      LINES
      bppsa.yield %y : TYPE
  }"""


def make_elementwise(lines, frame, kind, condition, constant):
    body = frame.replace("LINES", lines)
    body = body.replace("TYPE", kind).replace("COND", condition)
    for value in ("1.0", "2.0", "3.0"):
        body = body.replace(f"CONST({value})", constant.replace("VALUE", value))
    return "#map = affine_map<(i, j, k) -> (i, j, k)>" + FUNCTION.replace("BODY", body)


@pytest.mark.parametrize("frame", ["scalar", "vector"])
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(tmp_path, name, frame):
    if frame == "scalar":
        source = make_elementwise(
            ELEMENTWISE[name], GENERIC, "f32", "i1", "arith.constant VALUE : f32"
        )
    else:
        source = make_elementwise(
            ELEMENTWISE[name],
            LOOP,
            "vector<4xf32>",
            "vector<4xi1>",
            "arith.constant dense<VALUE> : vector<4xf32>",
        )
    rng = np.random.default_rng(5)
    arrays = [rng.uniform(0.3, 1.8, (2, 3, 4)) for _ in range(3)]
    check_gradients(Module(tmp_path, source, ["--bppsa-add-loss=loss=mse"]), arrays)


# Argument shapes ("?" is 3), result type and lines.
GRAPHS = {
    "broadcast": (
        ("2x3", "3"),
        "2x3",
        """%e = tensor.empty() : tensor<2x3xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%a0, %a1 : tensor<2x3xf32>, tensor<3xf32>) outs(%e : tensor<2x3xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      linalg.yield %p : f32
  } -> tensor<2x3xf32>""",
    ),
    "matmul": (
        ("?x4", "4x2"),
        "?x2",
        """%z = arith.constant 0.0 : f32
  %i = arith.constant 0 : index
  %n = tensor.dim %a0, %i : tensor<?x4xf32>
  %e = tensor.empty(%n) : tensor<?x2xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x2xf32>) -> tensor<?x2xf32>
  %y = linalg.matmul ins(%a0, %a1 : tensor<?x4xf32>, tensor<4x2xf32>)
      outs(%f : tensor<?x2xf32>) -> tensor<?x2xf32>""",
    ),
    "mean-of-squares": (
        ("2x?x4",),
        "2",
        """%z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<2xf32>) -> tensor<2xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>,
      affine_map<(i, j, k) -> (i)>], iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%a0 : tensor<2x?x4xf32>) outs(%f : tensor<2xf32>) {
    ^bb0(%a: f32, %o: f32):
      %p = arith.mulf %a, %a : f32
      %q = arith.addf %p, %o : f32
      linalg.yield %q : f32
  } -> tensor<2xf32>""",
    ),
    "sum-into-a-value": (
        ("2x3", "2"),
        "2",
        """%y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>,
      affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%a0 : tensor<2x3xf32>) outs(%a1 : tensor<2xf32>) {
    ^bb0(%a: f32, %o: f32):
      %q = arith.addf %o, %a : f32
      linalg.yield %q : f32
  } -> tensor<2xf32>""",
    ),
    "result-as-operand": (
        ("3", "3"),
        "3",
        """%y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%a0 : tensor<3xf32>) outs(%a1 : tensor<3xf32>) {
    ^bb0(%a: f32, %o: f32):
      %q = arith.mulf %o, %a : f32
      linalg.yield %q : f32
  } -> tensor<3xf32>""",
    ),
    "index": (
        ("2x3",),
        "2x3",
        """%e = tensor.empty() : tensor<2x3xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%a0 : tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
    ^bb0(%a: f32, %o: f32):
      %i = linalg.index 1 : index
      %j = arith.index_cast %i : index to i64
      %f = arith.sitofp %j : i64 to f32
      %p = arith.mulf %a, %f : f32
      linalg.yield %p : f32
  } -> tensor<2x3xf32>""",
    ),
    "transpose": (
        ("2x?x4",),
        "4x2x?",
        """%i = arith.constant 1 : index
  %n = tensor.dim %a0, %i : tensor<2x?x4xf32>
  %e = tensor.empty(%n) : tensor<4x2x?xf32>
  %y = linalg.transpose ins(%a0 : tensor<2x?x4xf32>) outs(%e : tensor<4x2x?xf32>)
      permutation = [2, 0, 1]""",
    ),
    # Row lookup with repeated indices.
    "gather": (
        ("5x2",),
        "4x2",
        """%n = arith.constant dense<[1, 3, 1, 0]> : tensor<4xi64>
  %e = tensor.empty() : tensor<4x2xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%n : tensor<4xi64>) outs(%e : tensor<4x2xf32>) {
    ^bb0(%k: i64, %o: f32):
      %r = arith.index_cast %k : i64 to index
      %c = linalg.index 1 : index
      %v = tensor.extract %a0[%r, %c] : tensor<5x2xf32>
      %s = arith.mulf %v, %v : f32
      linalg.yield %s : f32
  } -> tensor<4x2xf32>""",
    ),
    "gather-scaled": (
        ("?x2", "3x2"),
        "3x2",
        """%n = arith.constant dense<[1, 2, 1]> : tensor<3xi32>
  %e = tensor.empty() : tensor<3x2xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%n, %a1 : tensor<3xi32>, tensor<3x2xf32>) outs(%e : tensor<3x2xf32>) {
    ^bb0(%k: i32, %w: f32, %o: f32):
      %r = arith.index_cast %k : i32 to index
      %c = linalg.index 1 : index
      %v = tensor.extract %a0[%r, %c] : tensor<?x2xf32>
      %s = arith.mulf %v, %w : f32
      linalg.yield %s : f32
  } -> tensor<3x2xf32>""",
    ),
    "collapse-shape": (
        ("2x?x4",),
        "?x4",
        """%y = tensor.collapse_shape %a0 [[0, 1], [2]] : tensor<2x?x4xf32> into tensor<?x4xf32>""",
    ),
    "expand-shape": (
        ("?x4",),
        "?x2x2",
        """%i = arith.constant 0 : index
  %n = tensor.dim %a0, %i : tensor<?x4xf32>
  %y = tensor.expand_shape %a0 [[0], [1, 2]] output_shape [%n, 2, 2]
      : tensor<?x4xf32> into tensor<?x2x2xf32>""",
    ),
    "reshape": (
        ("?x4",),
        "2x?",
        """%i = arith.constant 0 : index
  %n = tensor.dim %a0, %i : tensor<?x4xf32>
  %two = arith.constant 2 : index
  %m = arith.muli %n, %two : index
  %s = tensor.from_elements %two, %m : tensor<2xindex>
  %y = tensor.reshape %a0(%s) : (tensor<?x4xf32>, tensor<2xindex>) -> tensor<2x?xf32>""",
    ),
    "cast": (("?x4",), "3x4", "%y = tensor.cast %a0 : tensor<?x4xf32> to tensor<3x4xf32>"),
    "extract-slice": (
        ("4x6",),
        "2",
        """%y = tensor.extract_slice %a0[1, 3] [2, 1] [2, 1]
      : tensor<4x6xf32> to tensor<2xf32>""",
    ),
    "overlapping-slices": (
        ("6",),
        "3",
        """%p = tensor.extract_slice %a0[0] [3] [1] : tensor<6xf32> to tensor<3xf32>
  %q = tensor.extract_slice %a0[1] [3] [1] : tensor<6xf32> to tensor<3xf32>
  %r = tensor.extract_slice %a0[3] [3] [1] : tensor<6xf32> to tensor<3xf32>
  %e = tensor.empty() : tensor<3xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>,
      affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%p, %q, %r : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) outs(%e : tensor<3xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
      %m = arith.mulf %a, %b : f32
      %n = arith.mulf %m, %c : f32
      linalg.yield %n : f32
  } -> tensor<3xf32>""",
    ),
    "insert-slice": (
        ("2", "4x3"),
        "4x3",
        """%y = tensor.insert_slice %a0 into %a1[1, 2] [2, 1] [1, 1]
      : tensor<2xf32> into tensor<4x3xf32>""",
    ),
    "concat": (
        ("2x?", "2x4", "2x1"),
        "2x?",
        """%y = tensor.concat dim(1) %a0, %a1, %a2
      : (tensor<2x?xf32>, tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x?xf32>""",
    ),
}
SIZES_OF_RESULT = {"collapse-shape": (6, 4), "reshape": (2, 6), "concat": (2, 8)}


def sizes(shape):
    return tuple(3 if size == "?" else int(size) for size in shape.split("x"))


@pytest.mark.parametrize("name", GRAPHS)
def test_graph(tmp_path, name):
    shapes, result, lines = GRAPHS[name]
    arguments = ", ".join(
        f'%a{i}: tensor<{shape}xf32> {{bppsa.parameter = "a{i}"}}'
        for i, shape in enumerate(shapes)
    )
    source = f"""
func.func @forward({arguments}) -> (tensor<{result}xf32> {{bppsa.output = "y"}}) {{
  {lines}
  return %y : tensor<{result}xf32>
}}"""
    rng = np.random.default_rng(6)
    arrays = [rng.standard_normal(sizes(shape)) for shape in shapes]
    arrays.append(rng.standard_normal(SIZES_OF_RESULT.get(name, sizes(result))))
    check_gradients(Module(tmp_path, source, ["--bppsa-add-loss=loss=mse"]), arrays)


def test_vector_slices(tmp_path):
    body = """%Y = bppsa.recurrence sequences(%A, %B : tensor<2x3x4xf32>, tensor<2x3x4xf32>)
      outputs(tensor<2x3x4xf32>) {
    ^bb0(%a: vector<4xf32>, %b: vector<4xf32>):
      %p = vector.extract_strided_slice %a {offsets = [1], sizes = [2], strides = [1]}
          : vector<4xf32> to vector<2xf32>
      %q = vector.insert_strided_slice %p, %b {offsets = [2], strides = [1]}
          : vector<2xf32> into vector<4xf32>
      %y = arith.mulf %q, %a : vector<4xf32>
      bppsa.yield %y : vector<4xf32>
  }"""
    rng = np.random.default_rng(8)
    arrays = [rng.standard_normal((2, 3, 4)) for _ in range(3)]
    source = FUNCTION.replace("BODY", body)
    check_gradients(Module(tmp_path, source, ["--bppsa-add-loss=loss=mse"]), arrays)
