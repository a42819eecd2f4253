"""bppsa-interpret matches numpy on packed loops."""

import numpy as np
from interpreting import run

LANES = """
func.func @main(%x: tensor<?x?x4xf32>, %h: tensor<?x4xf32>)
    -> (tensor<?x?x4xf32>, tensor<4x4xf32>, tensor<4xf32>) {
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %x, %c1 : tensor<?x?x4xf32>
  %px = bppsa.pack_lanes 2, %x : tensor<?x?x4xf32> -> tensor<?x?x4x2xf32>
  %ph = bppsa.pack_lanes 2, %h : tensor<?x4xf32> -> tensor<?x4x2xf32>
  %t, %o = bppsa.recurrence reverse lanes 2 sequences(%px : tensor<?x?x4x2xf32>)
      initial(%ph : tensor<?x4x2xf32>) -> (tensor<?x?x4x2xf32>) outputs(tensor<?x?x4x2xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
    %half = arith.constant 0.5 : f32
    %halves = vector.broadcast %half : f32 to vector<4xf32>
    %0 = arith.mulf %ht, %halves : vector<4xf32>
    %1 = arith.addf %0, %xt : vector<4xf32>
    %2 = bppsa.sigmoid %1 : vector<4xf32>
    %low = vector.extract_strided_slice %2 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
    %3 = vector.insert_strided_slice %low, %2 {offsets = [2], strides = [1]} : vector<2xf32> into vector<4xf32>
    bppsa.yield %3, %3 : vector<4xf32>, vector<4xf32>
  }
  %outer = bppsa.outer_sum lanes 2 %o, %o batch %batch : tensor<?x?x4x2xf32>, tensor<?x?x4x2xf32> -> tensor<4x4xf32>
  %sum = bppsa.step_sum lanes 2 %px : tensor<?x?x4x2xf32> -> tensor<4xf32>
  %y = bppsa.unpack_lanes 2, %t, %batch : tensor<?x?x4x2xf32> -> tensor<?x?x4xf32>
  return %y, %outer, %sum : tensor<?x?x4xf32>, tensor<4x4xf32>, tensor<4xf32>
}
"""

CHAIN_OF_LANES = """
func.func @main(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>, %r: tensor<4x4xf32>)
    -> (tensor<?x4xf32>, tensor<?x?x4xf32>) {
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %a, %c1 : tensor<?x?x4xf32>
  %pa = bppsa.pack_lanes 2, %a : tensor<?x?x4xf32> -> tensor<?x?x4x2xf32>
  %pg = bppsa.pack_lanes 2, %g : tensor<?x4xf32> -> tensor<?x4x2xf32>
  %p0, %pe = bppsa.chain lanes 2 saved(%pa : tensor<?x?x4x2xf32>) seeds(%pg : tensor<?x4x2xf32>)
      injected(%pa : tensor<?x?x4x2xf32>) inject_into [0] captures(%r : tensor<4x4xf32>)
      -> (tensor<?x4x2xf32>) emitted(tensor<?x?x4x2xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %rc: vector<4x4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    %1 = bppsa.matvec transposed %rc, %0 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %1, %0 : vector<4xf32>, vector<4xf32>
  }
  %g0 = bppsa.unpack_lanes 2, %p0, %batch : tensor<?x4x2xf32> -> tensor<?x4xf32>
  %e = bppsa.unpack_lanes 2, %pe, %batch : tensor<?x?x4x2xf32> -> tensor<?x?x4xf32>
  return %g0, %e : tensor<?x4xf32>, tensor<?x?x4xf32>
}
"""


def packed_example(x, h):
    """Reference for LANES: a reversed recurrence, and sums over samples and steps."""
    trajectory = [h]
    for t in reversed(range(len(x))):
        state = 1 / (1 + np.exp(-(trajectory[0] / 2 + x[t])))
        state[:, 2:] = state[:, :2]
        trajectory.insert(0, state)
    states = np.stack(trajectory)
    return states, np.einsum("tbm,tbk->mk", states[:-1], states[:-1]), x.sum((0, 1))


def test_packed_loops(tmp_path):
    random = np.random.default_rng(3)
    x, h = random.uniform(-1, 1, (5, 3, 4)), random.uniform(-1, 1, (3, 4))
    for found, exact in zip(run(tmp_path, LANES, x, h), packed_example(x, h), strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-12)


def test_packed_chain_with_a_capture(tmp_path):
    random = np.random.default_rng(4)
    a, g, r = (random.uniform(-1, 1, shape) for shape in [(5, 3, 4), (3, 4), (4, 4)])
    cotangent, emitted = g, np.empty_like(a)
    for t in reversed(range(len(a))):
        emitted[t] = a[t] * (cotangent + a[t])
        cotangent = emitted[t] @ r
    found = run(tmp_path, CHAIN_OF_LANES, a, g, r)
    for value, exact in zip(found, [cotangent, emitted], strict=True):
        np.testing.assert_allclose(value, exact, rtol=1e-12, atol=1e-12)
