"""bppsa-interpret matches numpy on loops whose body is a graph of one sample."""

import numpy as np
import pytest
from interpreting import refusal, run

CACHED_CONVOLUTION = """
  func.func @main(%x: tensor<?x?x1x5xf32>, %cache: tensor<?x2x5xf32>, %k: tensor<3x3xf32>)
      -> (tensor<?x?x2x5xf32>, tensor<?x?x3xf32>) {{
    %caches, %y = bppsa.recurrence {0} sequences(%x : tensor<?x?x1x5xf32>)
        initial(%cache : tensor<?x2x5xf32>) captures(%k : tensor<3x3xf32>)
        -> (tensor<?x?x2x5xf32>) outputs(tensor<?x?x3xf32>) {{
    ^bb0(%xt: tensor<1x5xf32>, %c: tensor<2x5xf32>, %kc: tensor<3x3xf32>):
      %all = tensor.concat dim(0) %c, %xt : (tensor<2x5xf32>, tensor<1x5xf32>) -> tensor<3x5xf32>
      %next = tensor.extract_slice %all[1, 0] [2, 5] [1, 1] : tensor<3x5xf32> to tensor<2x5xf32>
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<1x3xf32>
      %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x3xf32>) -> tensor<1x3xf32>
      %f = linalg.conv_2d ins(%all, %kc : tensor<3x5xf32>, tensor<3x3xf32>) outs(%z : tensor<1x3xf32>) -> tensor<1x3xf32>
      %t = math.tanh %f : tensor<1x3xf32>
      %out = tensor.collapse_shape %t [[0, 1]] : tensor<1x3xf32> into tensor<3xf32>
      bppsa.yield %next, %out : tensor<2x5xf32>, tensor<3xf32>
    }}
    return %caches, %y : tensor<?x?x2x5xf32>, tensor<?x?x3xf32> }}"""


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("steps, samples", [(1, 1), (4, 3)])
def test_cached_convolution(steps, samples, reverse, tmp_path):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(steps, samples, 1, 5))
    cache = rng.normal(size=(samples, 2, 5))
    kernel = rng.normal(size=(3, 3))
    ir = CACHED_CONVOLUTION.format("reverse" if reverse else "")
    caches, y = run(tmp_path, ir, x, cache, kernel)
    frames = np.moveaxis(x[::-1] if reverse else x, 0, 1)[:, :, 0]
    history = np.concatenate([cache, frames], axis=1)
    windows = np.lib.stride_tricks.sliding_window_view(history, (3, 3), axis=(1, 2))
    expected = np.tanh(np.einsum("btfij,ij->tbf", windows, kernel))
    slots = np.stack([history[:, t : t + 2] for t in range(steps + 1)])
    np.testing.assert_allclose(caches, slots[::-1] if reverse else slots, rtol=1e-14)
    np.testing.assert_allclose(y, expected[::-1] if reverse else expected, rtol=1e-12)


def test_steps_without_sequences(tmp_path):
    ir = """func.func @main(%n: index, %h: tensor<?x2xf32>) -> tensor<?x?x2xf32> {
      %0 = bppsa.recurrence steps %n initial(%h : tensor<?x2xf32>) -> (tensor<?x?x2xf32>) {
      ^bb0(%ht: tensor<2xf32>):
        %1 = arith.addf %ht, %ht : tensor<2xf32>
        bppsa.yield %1 : tensor<2xf32>
      }
      return %0 : tensor<?x?x2xf32> }"""
    h = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    (found,) = run(tmp_path, ir, np.array(3), h)
    np.testing.assert_array_equal(found, [h, 2 * h, 4 * h, 8 * h])
    (found,) = run(tmp_path, ir, np.array(0), h)
    np.testing.assert_array_equal(found, [h])
    assert "needs a number of steps, found -1" in refusal(tmp_path, ir, np.array(-1), h)


def test_integers_and_scalars(tmp_path):
    ir = """func.func @main(%x: tensor<?x?x2xi64>, %m: tensor<?x?xi1>, %s: tensor<?xi64>)
        -> (tensor<?x?xi64>, tensor<?x?x2xi64>) {
      %0, %1 = bppsa.recurrence sequences(%x, %m : tensor<?x?x2xi64>, tensor<?x?xi1>)
          initial(%s : tensor<?xi64>) -> (tensor<?x?xi64>) outputs(tensor<?x?x2xi64>) {
      ^bb0(%xt: tensor<2xi64>, %mt: tensor<i1>, %st: tensor<i64>):
        %c0 = arith.constant 0 : index
        %first = tensor.extract %xt[%c0] : tensor<2xi64>
        %old = tensor.extract %st[] : tensor<i64>
        %keep = tensor.extract %mt[] : tensor<i1>
        %sum = arith.addi %old, %first : i64
        %new = arith.select %keep, %old, %sum : i64
        %next = tensor.from_elements %new : tensor<i64>
        %both = tensor.from_elements %new, %old : tensor<2xi64>
        bppsa.yield %next, %both : tensor<i64>, tensor<2xi64>
      }
      return %0, %1 : tensor<?x?xi64>, tensor<?x?x2xi64> }"""
    x = np.array([[[1, 9], [2, 9]], [[3, 9], [4, 9]], [[5, 9], [6, 9]]])
    keep = np.array([[False, False], [True, False], [False, True]])
    sums, both = run(tmp_path, ir, x, keep, np.array([10, 20]))
    np.testing.assert_array_equal(sums, [[10, 20], [11, 22], [11, 26], [16, 26]])
    np.testing.assert_array_equal(both[..., 0], sums[1:])
    np.testing.assert_array_equal(both[..., 1], sums[:-1])


def test_nested_loop_of_vectors(tmp_path):
    ir = """func.func @main(%x: tensor<?x?x4x2x3xf32>, %h: tensor<?x2x3xf32>, %w: tensor<3x3xf32>)
        -> tensor<?x?x2x3xf32> {
      %0 = bppsa.recurrence sequences(%x : tensor<?x?x4x2x3xf32>) initial(%h : tensor<?x2x3xf32>)
          captures(%w : tensor<3x3xf32>) -> (tensor<?x?x2x3xf32>) {
      ^bb0(%xt: tensor<4x2x3xf32>, %ht: tensor<2x3xf32>, %wc: tensor<3x3xf32>):
        %1 = bppsa.recurrence sequences(%xt : tensor<4x2x3xf32>) initial(%ht : tensor<2x3xf32>)
            captures(%wc : tensor<3x3xf32>) -> (tensor<5x2x3xf32>) {
        ^bb0(%xb: vector<3xf32>, %hb: vector<3xf32>, %wb: vector<3x3xf32>):
          %2 = bppsa.matvec %wb, %hb plus %xb : vector<3x3xf32>, vector<3xf32> plus vector<3xf32> -> vector<3xf32>
          %3 = math.tanh %2 : vector<3xf32>
          bppsa.yield %3 : vector<3xf32>
        }
        %last = tensor.extract_slice %1[4, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<5x2x3xf32> to tensor<2x3xf32>
        bppsa.yield %last : tensor<2x3xf32>
      }
      return %0 : tensor<?x?x2x3xf32> }"""
    rng = np.random.default_rng(2)
    x, h, w = rng.normal(size=(3, 2, 4, 2, 3)), rng.normal(size=(2, 2, 3)), rng.normal(size=(3, 3))
    expected = [h]
    for frame in x:
        state = expected[-1]
        for band in range(4):
            state = np.tanh(state @ w.T + frame[:, band])
        expected.append(state)
    np.testing.assert_allclose(run(tmp_path, ir, x, h, w)[0], expected, rtol=1e-12)


@pytest.mark.parametrize("reverse", [False, True])
def test_chain_with_sums(reverse, tmp_path):
    ir = """func.func @main(%a: tensor<?x?x2x3xf32>, %g: tensor<?x2x3xf32>, %s: tensor<?x?x2x3xf32>)
        -> (tensor<?x2x3xf32>, tensor<?x?x2x3xf32>, tensor<2x3xf32>) {{
      %0, %d, %w = bppsa.chain {0} saved(%a : tensor<?x?x2x3xf32>) seeds(%g : tensor<?x2x3xf32>)
          injected(%s : tensor<?x?x2x3xf32>) inject_into [0] sum_with [-1] -> (tensor<?x2x3xf32>)
          emitted(tensor<?x?x2x3xf32>) sums(tensor<2x3xf32>) {{
      ^bb0(%at: tensor<2x3xf32>, %gt: tensor<2x3xf32>):
        %1 = arith.mulf %at, %gt : tensor<2x3xf32>
        bppsa.yield %1, %gt, %1 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
      }}
      return %0, %d, %w : tensor<?x2x3xf32>, tensor<?x?x2x3xf32>, tensor<2x3xf32> }}"""
    rng = np.random.default_rng(3)
    a, s, g = rng.normal(size=(4, 3, 2, 3)), rng.normal(size=(4, 3, 2, 3)), rng.normal(size=(3, 2, 3))
    found = run(tmp_path, ir.format("reverse" if reverse else ""), a, g, s)
    emitted, total = np.zeros_like(a), np.zeros((2, 3))
    for t in range(4) if reverse else range(3, -1, -1):
        emitted[t] = g + s[t]
        g = a[t] * emitted[t]
        total += g.sum(axis=0)
    for array, expected in zip(found, (g, emitted, total)):
        np.testing.assert_allclose(array, expected, rtol=1e-12)
