"""Row operations fused in blocks match separate operations for any number of rows."""

import numpy as np
from kernels import Kernels
from loops import check, uniform

SOFTMAX = """
#row = affine_map<(t, b, n) -> (t, b)>
#all = affine_map<(t, b, n) -> (t, b, n)>
func.func @softmax(%x: tensor<?x?x10xf32>) -> tensor<?x?x10xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %t = tensor.dim %x, %c0 : tensor<?x?x10xf32>
  %b = tensor.dim %x, %c1 : tensor<?x?x10xf32>
  %e = tensor.empty(%t, %b) : tensor<?x?xf32>
  %f = linalg.fill ins(%least : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %most = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<?x?x10xf32>) outs(%f : tensor<?x?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.maximumf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<?x?xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %most : tensor<?x?x10xf32>, tensor<?x?xf32>) outs(%z : tensor<?x?xf32>) {
  ^bb0(%in: f32, %m: f32, %out: f32):
    %0 = arith.subf %in, %m : f32
    %1 = math.exp %0 : f32
    %2 = arith.addf %out, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<?x?xf32>
  %g = tensor.empty(%t, %b) : tensor<?x?x10xf32>
  %y = linalg.generic {indexing_maps = [#all, #row, #row, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %most, %sum : tensor<?x?x10xf32>, tensor<?x?xf32>, tensor<?x?xf32>) outs(%g : tensor<?x?x10xf32>) {
  ^bb0(%in: f32, %m: f32, %s: f32, %out: f32):
    %0 = arith.subf %in, %m : f32
    %1 = math.exp %0 : f32
    %2 = arith.divf %1, %s : f32
    linalg.yield %2 : f32
  } -> tensor<?x?x10xf32>
  return %y : tensor<?x?x10xf32>
}
"""


def test_softmax_of_every_step(tmp_path):
    kernels = Kernels(tmp_path, SOFTMAX)
    for steps, batch in ((1, 1), (1, 63), (64, 1), (31, 33), (100, 64)):
        (x,) = uniform(steps, (steps, batch, 10))
        terms = np.exp(x - x.max(-1, keepdims=True))
        once = kernels.call("softmax", [x], [x.shape])
        check(once, (terms / terms.sum(-1, keepdims=True),))
        again = kernels.call("softmax", [x], [x.shape], threads=3)
        np.testing.assert_array_equal(once[0], again[0])
