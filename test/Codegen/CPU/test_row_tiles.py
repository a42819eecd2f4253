"""Compares softmax-like operations on tiles of short rows with numpy in float64."""

import numpy as np
import pytest
from kernels import Kernels

# The second operation of `normalize` may run in place.
ROWS = """
#row = affine_map<(t, b, c) -> (t, b, c)>
#same = affine_map<(t, b, c) -> (t, b)>
#element = affine_map<(t, b, c) -> (c)>
func.func @sum(%x: tensor<?x?xSIZExf32>, %most: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = tensor.dim %x, %c0 : tensor<?x?xSIZExf32>
  %b = tensor.dim %x, %c1 : tensor<?x?xSIZExf32>
  %e = tensor.empty(%t, %b) : tensor<?x?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %s = linalg.generic {indexing_maps = [#row, #same, #same], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %most : tensor<?x?xSIZExf32>, tensor<?x?xf32>) outs(%f : tensor<?x?xf32>) {
    ^bb0(%in: f32, %max: f32, %out: f32):
      %0 = arith.subf %in, %max : f32
      %1 = math.exp %0 : f32
      %2 = arith.mulf %1, %in : f32
      %3 = arith.addf %out, %2 : f32
      linalg.yield %3 : f32
  } -> tensor<?x?xf32>
  return %s : tensor<?x?xf32>
}
func.func @normalize(%x: tensor<?x?xSIZExf32>, %sum: tensor<?x?xf32>, %bias: tensor<SIZExf32>) -> tensor<?x?xSIZExf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = tensor.dim %x, %c0 : tensor<?x?xSIZExf32>
  %b = tensor.dim %x, %c1 : tensor<?x?xSIZExf32>
  %e = tensor.empty(%t, %b) : tensor<?x?xSIZExf32>
  %y = linalg.generic {indexing_maps = [#row, #same, #row], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %sum : tensor<?x?xSIZExf32>, tensor<?x?xf32>) outs(%e : tensor<?x?xSIZExf32>) {
    ^bb0(%in: f32, %s: f32, %out: f32):
      %0 = arith.divf %in, %s : f32
      linalg.yield %0 : f32
  } -> tensor<?x?xSIZExf32>
  %z = linalg.generic {indexing_maps = [#same, #element, #row], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%sum, %bias : tensor<?x?xf32>, tensor<SIZExf32>) outs(%y : tensor<?x?xSIZExf32>) {
    ^bb0(%s: f32, %w: f32, %out: f32):
      %c = linalg.index 2 : index
      %i = arith.index_cast %c : index to i32
      %f = arith.sitofp %i : i32 to f32
      %0 = arith.addf %out, %w : f32
      %1 = arith.mulf %0, %f : f32
      %2 = arith.addf %1, %s : f32
      linalg.yield %2 : f32
  } -> tensor<?x?xSIZExf32>
  return %z : tensor<?x?xSIZExf32>
}
"""  # noqa: E501


@pytest.mark.parametrize("registers", [8, 32])
@pytest.mark.parametrize("size", [4, 5, 6, 7, 10, 16, 17])
def test_any_number_of_rows(tmp_path, size, registers):
    kernels = Kernels(tmp_path, ROWS.replace("SIZE", str(size)), registers)
    random = np.random.default_rng(size)
    for steps, samples in ((1, 1), (1, 7), (2, 4), (3, 5), (1, 16), (3, 13), (2, 33)):
        x = random.normal(0, 2, (steps, samples, size)).astype(np.float32)
        most, bias = x.max(axis=2), random.normal(0, 1, size).astype(np.float32)
        wide = x.astype(np.float64)
        (sums,) = kernels.call("sum", [x, most], [most.shape])
        exact = np.sum(np.exp(wide - most[..., None]) * wide, axis=2)
        np.testing.assert_allclose(sums, exact, rtol=2e-6, atol=2e-6)
        (found,) = kernels.call("normalize", [x, most, bias], [x.shape])
        exact = (wide / most[..., None] + bias) * np.arange(size) + most[..., None]
        np.testing.assert_allclose(found, exact, rtol=2e-6, atol=2e-5)


@pytest.mark.parametrize("registers", [8, 32])
def test_rows_bit_identical_across_tiles(tmp_path, registers):
    """A row has the same bits in a tile of many rows and in a tile of its own."""
    kernels = Kernels(tmp_path, ROWS.replace("SIZE", "10"), registers)
    random = np.random.default_rng(0)
    x = random.normal(0, 2, (1, 40, 10)).astype(np.float32)
    most, bias = x.max(axis=2), random.normal(0, 1, 10).astype(np.float32)
    (sums,) = kernels.call("sum", [x, most], [most.shape])
    (found,) = kernels.call("normalize", [x, most, bias], [x.shape])
    for row in range(40):
        part, highest = x[:, row : row + 1], most[:, row : row + 1]
        (one,) = kernels.call("sum", [part, highest], [highest.shape])
        assert one.tobytes() == sums[:, row].tobytes(), row
        (one,) = kernels.call("normalize", [part, highest, bias], [part.shape])
        assert one.tobytes() == found[:, row].tobytes(), row
