"""Loops over blocks of time steps match whole sequences for any number of steps and samples."""

import itertools

import numpy as np
import pytest
from kernels import Kernels
from loops import check, uniform

# Two layers and an output at every step. The second layer reads the states of the first.
STACK = """
func.func @stack(%x: tensor<?x?x8xf32>, %h: tensor<?x24xf32>, %k: tensor<?x24xf32>, %w: tensor<24x8xf32>,
    %r: tensor<24x24xf32>, %v: tensor<40x24xf32>) -> (tensor<?x?x40xf32>, tensor<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %steps = tensor.dim %x, %c0 : tensor<?x?x8xf32>
  %samples = tensor.dim %x, %c1 : tensor<?x?x8xf32>
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x8xf32>) initial(%h : tensor<?x24xf32>)
      captures(%w, %r : tensor<24x8xf32>, tensor<24x24xf32>) -> (tensor<?x?x24xf32>) {
  ^bb0(%xt: vector<8xf32>, %ht: vector<24xf32>, %wc: vector<24x8xf32>, %rc: vector<24x24xf32>):
    %p = bppsa.matvec %wc, %xt : vector<24x8xf32>, vector<8xf32> -> vector<24xf32>
    %q = bppsa.matvec %rc, %ht plus %p : vector<24x24xf32>, vector<24xf32> plus vector<24xf32> -> vector<24xf32>
    %t = math.tanh %q : vector<24xf32>
    bppsa.yield %t : vector<24xf32>
  }
  %behind = tensor.extract_slice %0[1, 0, 0] [%steps, %samples, 24] [1, 1, 1] : tensor<?x?x24xf32> to tensor<?x?x24xf32>
  %1 = bppsa.recurrence sequences(%behind : tensor<?x?x24xf32>) initial(%k : tensor<?x24xf32>)
      captures(%r : tensor<24x24xf32>) -> (tensor<?x?x24xf32>) {
  ^bb0(%xt: vector<24xf32>, %ht: vector<24xf32>, %rc: vector<24x24xf32>):
    %q = bppsa.matvec %rc, %ht plus %xt : vector<24x24xf32>, vector<24xf32> plus vector<24xf32> -> vector<24xf32>
    %t = math.tanh %q : vector<24xf32>
    bppsa.yield %t : vector<24xf32>
  }
  %last = tensor.extract_slice %1[1, 0, 0] [%steps, %samples, 24] [1, 1, 1] : tensor<?x?x24xf32> to tensor<?x?x24xf32>
  %2 = bppsa.recurrence sequences(%last : tensor<?x?x24xf32>) captures(%v : tensor<40x24xf32>)
      outputs(tensor<?x?x40xf32>) {
  ^bb0(%xt: vector<24xf32>, %vc: vector<40x24xf32>):
    %p = bppsa.matvec %vc, %xt : vector<40x24xf32>, vector<24xf32> -> vector<40xf32>
    bppsa.yield %p : vector<40xf32>
  }
  %e = tensor.empty(%steps, %samples) : tensor<?x?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(t, b, n) -> (t, b, n)>, affine_map<(t, b, n) -> (t, b)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%2 : tensor<?x?x40xf32>) outs(%f : tensor<?x?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %in, %out : f32
    linalg.yield %s : f32
  } -> tensor<?x?xf32>
  return %2, %3 : tensor<?x?x40xf32>, tensor<?x?xf32>
}
"""


@pytest.mark.parametrize("registers", [32, 8])
def test_layers_and_outputs_of_every_step(tmp_path, registers):
    kernels = Kernels(tmp_path, STACK, registers)
    for steps, batch in itertools.product((1, 31, 32, 33, 150), (1, 16, 70)):
        x, h, k = uniform(steps, (steps, batch, 8), (batch, 24), (batch, 24))
        w, r, v = uniform(1, (24, 8), (24, 24), (40, 24))
        r /= 5
        outputs = []
        first, second = h, k
        for t in range(steps):
            first = np.tanh(first @ r.T + x[t] @ w.T)
            second = np.tanh(second @ r.T + first)
            outputs.append(second @ v.T)
        expected = np.array(outputs), np.array(outputs).sum(2)
        shapes = [(steps, batch, 40), (steps, batch)]
        once = kernels.call("stack", [x, h, k, w, r, v], shapes)
        check(once, expected)
        again = kernels.call("stack", [x, h, k, w, r, v], shapes, threads=3)
        for value, other in zip(once, again, strict=True):
            np.testing.assert_array_equal(value, other)
