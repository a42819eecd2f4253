"""A cell and a link, with reference values in float64.

They exercise every rule of row-wise evaluation: sums of products that depend on another product,
products of products, slices, comparisons, constants that differ by row, products with captured
vectors, and states that are read after their update or in different rows.
"""

import numpy as np

TOLERANCE = {"rtol": 2e-5, "atol": 2e-5}

CELL = """
func.func @cell(%x: tensor<?x?x3xf32>, %h: tensor<?x6xf32>, %c: tensor<?x4xf32>,
    %w: tensor<6x3xf32>, %r: tensor<6x6xf32>, %u: tensor<4x6xf32>, %b: tensor<6xf32>)
    -> (tensor<?x?x6xf32>, tensor<?x?x4xf32>, tensor<?x?x6xf32>) {{
  %0:3 = bppsa.recurrence {reverse} sequences(%x : tensor<?x?x3xf32>)
      initial(%h, %c : tensor<?x6xf32>, tensor<?x4xf32>)
      captures(%w, %r, %u, %b : tensor<6x3xf32>, tensor<6x6xf32>, tensor<4x6xf32>, tensor<6xf32>)
      -> (tensor<?x?x6xf32>, tensor<?x?x4xf32>) outputs(tensor<?x?x6xf32>) {{
  ^bb0(%xt: vector<3xf32>, %ht: vector<6xf32>, %ct: vector<4xf32>, %wc: vector<6x3xf32>,
       %rc: vector<6x6xf32>, %uc: vector<4x6xf32>, %bc: vector<6xf32>):
    %two = arith.constant dense<[0.0, 0.1, 0.2, 0.3, 0.4, 0.5]> : vector<6xf32>
    %zero = arith.constant dense<0.0> : vector<6xf32>
    %p = bppsa.matvec %rc, %ht plus %bc : vector<6x6xf32>, vector<6xf32> plus vector<6xf32> -> vector<6xf32>
    %s = bppsa.sigmoid %p : vector<6xf32>
    %q = bppsa.matvec transposed %rc, %bc : vector<6x6xf32>, vector<6xf32> -> vector<6xf32>
    %sq = arith.mulf %s, %q : vector<6xf32>
    %i = bppsa.matvec %wc, %xt : vector<6x3xf32>, vector<3xf32> -> vector<6xf32>
    %n0 = arith.addf %sq, %i : vector<6xf32>
    %n1 = arith.addf %n0, %two : vector<6xf32>
    %n = math.tanh %n1 : vector<6xf32>
    %positive = arith.cmpf ogt, %n, %zero : vector<6xf32>
    %k = arith.select %positive, %n, %s : vector<6xi1>, vector<6xf32>
    %k4 = vector.extract_strided_slice %k {{offsets = [1], sizes = [4], strides = [1]}} : vector<6xf32> to vector<4xf32>
    %c1 = bppsa.matvec %uc, %k plus %k4 : vector<4x6xf32>, vector<6xf32> plus vector<4xf32> -> vector<4xf32>
    %c2 = math.tanh %c1 : vector<4xf32>
    %h1 = vector.insert_strided_slice %ct, %k {{offsets = [2], strides = [1]}} : vector<4xf32> into vector<6xf32>
    bppsa.yield %h1, %c2, %k : vector<6xf32>, vector<4xf32>, vector<6xf32>
  }}
  return %0#0, %0#1, %0#2 : tensor<?x?x6xf32>, tensor<?x?x4xf32>, tensor<?x?x6xf32>
}}
"""

CHAIN = """
func.func @chain(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>, %k: tensor<?x4xf32>,
    %s: tensor<?x?x4xf32>, %w: tensor<4x4xf32>)
    -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x?x4xf32>) {{
  %0:3 = {op} {reverse} saved(%a : tensor<?x?x4xf32>)
      seeds(%g, %k : tensor<?x4xf32>, tensor<?x4xf32>) {injected}
      captures(%w : tensor<4x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) emitted(tensor<?x?x4xf32>) {{
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %kt: vector<4xf32>, %wc: vector<4x4xf32>):
    %d = arith.mulf %at, %kt : vector<4xf32>
    %e = bppsa.matvec transposed %wc, %gt plus %d : vector<4x4xf32>, vector<4xf32> plus vector<4xf32> -> vector<4xf32>
    bppsa.yield {order}, %d : vector<4xf32>, vector<4xf32>, vector<4xf32>
  }}
  return %0#0, %0#1, %0#2 : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x?x4xf32>
}}
"""


def uniform(seed, *shapes):
    random = np.random.default_rng(seed)
    return [random.uniform(-1, 1, shape) for shape in shapes]


def check(found, expected):
    for value, exact in zip(found, expected, strict=True):
        np.testing.assert_allclose(value, exact, **TOLERANCE)


def walk_cell(x, h, c, w, r, u, b, reverse):
    def sigmoid(v):
        return 1 / (1 + np.exp(-v))

    steps = len(x)
    hs, cs = np.zeros((steps + 1, *h.shape)), np.zeros((steps + 1, *c.shape))
    ks = np.zeros((steps, *h.shape))
    hs[steps if reverse else 0], cs[steps if reverse else 0] = h, c
    for t in reversed(range(steps)) if reverse else range(steps):
        s = sigmoid(h @ r.T + b)
        n = np.tanh(s * (b @ r) + x[t] @ w.T + np.arange(6) / 10)
        k = ks[t] = np.where(n > 0, n, s)
        h = k.copy()
        h[:, 2:6] = c
        c = np.tanh(k @ u.T + k[:, 1:5])
        hs[t if reverse else t + 1], cs[t if reverse else t + 1] = h, c
    return hs, cs, ks


def walk_chain(a, g, k, s, w, reverse, injected, swapped):
    emitted = np.zeros_like(a)
    for t in range(len(a)) if reverse else reversed(range(len(a))):
        if injected:
            g, k = g + s[t], k + s[t]
        emitted[t] = a[t] * k
        e = g @ w + emitted[t]
        g, k = (k, e) if swapped else (e, k)
    return g, k, emitted
