"""Compares scans of chains with diagonal links with the plain recurrence in float64.

The transition of a diagonal chain is one vector; a general transition has a column per state row.
"""

import itertools

import numpy as np
import pytest
from kernels import Kernels

BATCHES = (1, 3, 17)
LENGTHS = (1, 2, 7, 33)
PLANS = ("blelloch", "hybrid, 2", "chunked, 4")
VARIANTS = ("", "reverse", "injected", "reverse injected")
TOLERANCE = {"rtol": 2e-5, "atol": 2e-5}

# Exponential moving average: a single gate, and every operation is diagonal.
AVERAGE = """
func.func @average(%a: tensor<?x?x5xf32>, %g: tensor<?x5xf32>, %s: tensor<?x?x5xf32>) -> tensor<?x5xf32> {{
  %0 = bppsa.chain plan <{plan}> {reverse} saved(%a : tensor<?x?x5xf32>) seeds(%g : tensor<?x5xf32>)
      {injected} -> (tensor<?x5xf32>) {{
  ^bb0(%at: vector<5xf32>, %gt: vector<5xf32>):
    %d = arith.mulf %at, %gt : vector<5xf32>
    bppsa.yield %d : vector<5xf32>
  }}
  return %0 : tensor<?x5xf32>
}}
"""

# Two states of different sizes, each with its own gate: c' = f c and n' = n - i n; emits i n.
GATES = """
func.func @gates(%f: tensor<?x?x5xf32>, %i: tensor<?x?x3xf32>, %c: tensor<?x5xf32>, %n: tensor<?x3xf32>,
    %s: tensor<?x?x5xf32>, %r: tensor<?x?x3xf32>) -> (tensor<?x5xf32>, tensor<?x3xf32>, tensor<?x?x3xf32>) {{
  %0:3 = bppsa.chain plan <{plan}> {reverse} saved(%f, %i : tensor<?x?x5xf32>, tensor<?x?x3xf32>)
      seeds(%c, %n : tensor<?x5xf32>, tensor<?x3xf32>) {injected}
      -> (tensor<?x5xf32>, tensor<?x3xf32>) emitted(tensor<?x?x3xf32>) {{
  ^bb0(%ft: vector<5xf32>, %it: vector<3xf32>, %ct: vector<5xf32>, %nt: vector<3xf32>):
    %d = arith.mulf %ft, %ct : vector<5xf32>
    %p = arith.mulf %it, %nt : vector<3xf32>
    %e = arith.subf %nt, %p : vector<3xf32>
    bppsa.yield %d, %e, %p : vector<5xf32>, vector<3xf32>, vector<3xf32>
  }}
  return %0#0, %0#1, %0#2 : tensor<?x5xf32>, tensor<?x3xf32>, tensor<?x?x3xf32>
}}
"""

# Minimal gated unit, h' = (1 - z) h + z n. The cotangents of n and z are emitted but not carried.
UNIT = """
func.func @unit(%z: tensor<?x?x5xf32>, %d: tensor<?x?x5xf32>, %g: tensor<?x5xf32>, %s: tensor<?x?x5xf32>)
    -> (tensor<?x5xf32>, tensor<?x?x5xf32>, tensor<?x?x5xf32>) {{
  %0:3 = bppsa.chain plan <{plan}> {reverse} saved(%z, %d : tensor<?x?x5xf32>, tensor<?x?x5xf32>)
      seeds(%g : tensor<?x5xf32>) {injected}
      -> (tensor<?x5xf32>) emitted(tensor<?x?x5xf32>, tensor<?x?x5xf32>) {{
  ^bb0(%zt: vector<5xf32>, %dt: vector<5xf32>, %gt: vector<5xf32>):
    %one = arith.constant dense<1.0> : vector<5xf32>
    %k = arith.subf %one, %zt : vector<5xf32>
    %h = arith.mulf %k, %gt : vector<5xf32>
    %n = arith.mulf %zt, %gt : vector<5xf32>
    %e = arith.mulf %dt, %gt : vector<5xf32>
    bppsa.yield %h, %n, %e : vector<5xf32>, vector<5xf32>, vector<5xf32>
  }}
  return %0#0, %0#1, %0#2 : tensor<?x5xf32>, tensor<?x?x5xf32>, tensor<?x?x5xf32>
}}
"""


def positions(steps, variant):
    return range(steps) if "reverse" in variant else reversed(range(steps))


def walk_average(variant, a, g, s):
    for t in positions(len(a), variant):
        g = a[t] * (g + s[t] if "injected" in variant else g)
    return (g,)


def walk_gates(variant, f, i, c, n, s, r):
    emitted = np.zeros_like(i)
    for t in positions(len(f), variant):
        if "injected" in variant:
            c, n = c + s[t], n + r[t]
        emitted[t] = i[t] * n
        c, n = f[t] * c, n - emitted[t]
    return c, n, emitted


def walk_unit(variant, z, d, g, s):
    emitted = np.zeros_like(z), np.zeros_like(z)
    for t in positions(len(z), variant):
        g = g + s[t] if "injected" in variant else g
        emitted[0][t], emitted[1][t] = z[t] * g, d[t] * g
        g = (1 - z[t]) * g
    return g, *emitted


def check_scan(kernels, function, reference, draw):
    """Checks the values for every length and batch, and that three threads give the same bits."""
    for steps, batch in itertools.product(LENGTHS, BATCHES):
        inputs = draw(np.random.default_rng(steps), steps, batch)
        expected = reference(*inputs)
        shapes = [array.shape for array in expected]
        once = kernels.call(function, inputs, shapes)
        for value, exact in zip(once, expected, strict=True):
            np.testing.assert_allclose(value, exact, **TOLERANCE)
        for value, again in zip(once, kernels.call(function, inputs, shapes, threads=3)):
            np.testing.assert_array_equal(value, again)


def write(template, plan, variant, injected):
    return template.format(
        plan=plan,
        reverse="reverse" if "reverse" in variant else "",
        injected=injected if "injected" in variant else "",
    )


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("plan", PLANS)
def test_average(tmp_path, plan, variant):
    injected = "injected(%s : tensor<?x?x5xf32>) inject_into [0]"

    def draw(random, steps, batch):
        shapes = (steps, batch, 5), (batch, 5), (steps, batch, 5)
        return [random.uniform(-1, 1, shape) for shape in shapes]

    kernels = Kernels(tmp_path, write(AVERAGE, plan, variant, injected))
    check_scan(kernels, "average", lambda *inputs: walk_average(variant, *inputs), draw)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("plan", PLANS)
def test_gates(tmp_path, plan, variant):
    injected = "injected(%s, %r : tensor<?x?x5xf32>, tensor<?x?x3xf32>) inject_into [0, 1]"

    def draw(random, steps, batch):
        gates = [random.uniform(0, 1, (steps, batch, size)) for size in (5, 3)]
        shapes = (batch, 5), (batch, 3), (steps, batch, 5), (steps, batch, 3)
        return gates + [random.uniform(-1, 1, shape) for shape in shapes]

    kernels = Kernels(tmp_path, write(GATES, plan, variant, injected))
    check_scan(kernels, "gates", lambda *inputs: walk_gates(variant, *inputs), draw)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("plan", PLANS)
def test_unit(tmp_path, plan, variant):
    injected = "injected(%s : tensor<?x?x5xf32>) inject_into [0]"

    def draw(random, steps, batch):
        gates = [random.uniform(0, 1, (steps, batch, 5)) for _ in range(2)]
        return gates + [random.uniform(-1, 1, shape) for shape in ((batch, 5), (steps, batch, 5))]

    kernels = Kernels(tmp_path, write(UNIT, plan, variant, injected))
    check_scan(kernels, "unit", lambda *inputs: walk_unit(variant, *inputs), draw)
