"""Chains and their sums are computed together, one block of time steps at a time."""

import itertools

import numpy as np
import pytest
from kernels import Kernels

SLAB = 32
LENGTHS = (1, 31, 32, 33, 64, 100, 161)
BATCHES = (1, 16, 37)

# The second emitted value is summed with the first. The first is also summed with a sequence that
# the chain reads. `@kept` returns the emitted values too; `@sums` has no chain.
PROGRAM = """
func.func @{name}(%a: tensor<?x?x5xf32>, %x: tensor<?x?x3xf32>, %g: tensor<?x5xf32>, %w: tensor<5x5xf32>)
    -> (tensor<?x5xf32>, tensor<5x3xf32>, tensor<5xf32>, tensor<5x5xf32>{types}) {{
  %0, %d:2 = bppsa.chain {reverse} saved(%a, %x : tensor<?x?x5xf32>, tensor<?x?x3xf32>) seeds(%g : tensor<?x5xf32>)
      {injected} captures(%w : tensor<5x5xf32>) -> (tensor<?x5xf32>)
      emitted(tensor<?x?x5xf32>, tensor<?x?x5xf32>) {{
  ^bb0(%at: vector<5xf32>, %xt: vector<3xf32>, %gt: vector<5xf32>, %wc: vector<5x5xf32>):
    %0 = arith.mulf %at, %gt : vector<5xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<5x5xf32>, vector<5xf32> -> vector<5xf32>
    %2 = arith.addf %0, %at : vector<5xf32>
    bppsa.yield %1, %0, %2 : vector<5xf32>, vector<5xf32>, vector<5xf32>
  }}
  %1 = bppsa.outer_sum %d#0, %x : tensor<?x?x5xf32>, tensor<?x?x3xf32> -> tensor<5x3xf32>
  %2 = bppsa.step_sum %d#0 : tensor<?x?x5xf32> -> tensor<5xf32>
  %3 = bppsa.outer_sum %d#1, %d#0 : tensor<?x?x5xf32>, tensor<?x?x5xf32> -> tensor<5x5xf32>
  return %0, %1, %2, %3{values} : tensor<?x5xf32>, tensor<5x3xf32>, tensor<5xf32>, tensor<5x5xf32>{types}
}}
"""
SUMS = """
func.func @sums(%d: tensor<?x?x5xf32>, %e: tensor<?x?x5xf32>, %x: tensor<?x?x3xf32>)
    -> (tensor<5x3xf32>, tensor<5xf32>, tensor<5x5xf32>) {
  %1 = bppsa.outer_sum %d, %x : tensor<?x?x5xf32>, tensor<?x?x3xf32> -> tensor<5x3xf32>
  %2 = bppsa.step_sum %d : tensor<?x?x5xf32> -> tensor<5xf32>
  %3 = bppsa.outer_sum %e, %d : tensor<?x?x5xf32>, tensor<?x?x5xf32> -> tensor<5x5xf32>
  return %1, %2, %3 : tensor<5x3xf32>, tensor<5xf32>, tensor<5x5xf32>
}
"""
INJECTED = "injected(%a : tensor<?x?x5xf32>) inject_into [0]"


def compile_program(directory, variant, registers=32):
    options = {
        "reverse": "reverse" if "reverse" in variant else "",
        "injected": INJECTED if "injected" in variant else "",
    }
    kept = {"types": ", tensor<?x?x5xf32>, tensor<?x?x5xf32>", "values": ", %d#0, %d#1"}
    program = PROGRAM.format(name="step", types="", values="", **options)
    program += PROGRAM.format(name="kept", **kept, **options) + SUMS
    return Kernels(directory, program, registers)


def make_inputs(steps, batch):
    random = np.random.default_rng(steps)
    shapes = (steps, batch, 5), (steps, batch, 3), (batch, 5), (5, 5)
    return [random.uniform(-1, 1, shape) for shape in shapes]


def shapes(steps, batch, kept=False):
    sums = [(batch, 5), (5, 3), (5,), (5, 5)]
    return sums + [(steps, batch, 5)] * 2 if kept else sums


def expect(a, x, g, w, variant):
    d = np.zeros_like(a)
    for t in range(len(a)) if "reverse" in variant else reversed(range(len(a))):
        d[t] = a[t] * (g + a[t] if "injected" in variant else g)
        g = d[t] @ w
    product = np.einsum("tbm,tbk->mk", d, x), np.einsum("tbm,tbk->mk", d + a, d)
    return g, product[0], d.sum((0, 1)), product[1]


@pytest.mark.parametrize("registers", [32, 8, 4])
@pytest.mark.parametrize("variant", ["", "reverse", "injected"])
def test_gradients(tmp_path, variant, registers):
    kernels = compile_program(tmp_path, variant, registers)
    for steps, batch in itertools.product(LENGTHS, BATCHES):
        inputs = make_inputs(steps, batch)
        once = kernels.call("step", inputs, shapes(steps, batch))
        for value, exact in zip(once, expect(*inputs, variant), strict=True):
            np.testing.assert_allclose(value, exact, rtol=2e-5, atol=2e-5)
        on_threads = kernels.call("step", inputs, shapes(steps, batch), threads=3)
        kept = kernels.call("kept", inputs, shapes(steps, batch, kept=True))
        for value, again, beside in zip(once, on_threads, kept):
            np.testing.assert_array_equal(value, again)
            np.testing.assert_array_equal(value, beside)


@pytest.mark.parametrize("variant", ["", "reverse", "injected"])
def test_slabs_added_in_chain_order(tmp_path, variant):
    """The result has the bits of a sum over sequences stored in chain order."""
    kernels = compile_program(tmp_path, variant)
    for steps in LENGTHS:
        inputs = make_inputs(steps, 16)
        _, *sums, d, e = kernels.call("kept", inputs, shapes(steps, 16, kept=True))

        def lay(sequence):
            slabs = [
                np.pad(slab, ((0, SLAB - len(slab)), (0, 0), (0, 0)))
                for slab in np.split(sequence, range(SLAB, steps, SLAB))
            ]
            return np.concatenate(slabs if variant == "reverse" else slabs[::-1])

        laid = [lay(sequence) for sequence in (d, e, inputs[1])]
        expected = kernels.call("sums", laid, shapes(steps, 16)[1:])
        for value, other in zip(sums, expected, strict=True):
            np.testing.assert_array_equal(value, other)


def test_padding_lanes_skipped(tmp_path):
    """In padding lanes the link computes 1 / 0."""
    divided = PROGRAM.format(
        name="step", types="", values="", reverse="", injected=""
    ).replace(
        "%0 = arith.mulf %at, %gt : vector<5xf32>",
        "%r = arith.divf %gt, %at : vector<5xf32>\n    %0 = arith.mulf %r, %at : vector<5xf32>",
    )
    assert "divf" in divided
    kernels = Kernels(tmp_path, divided)
    for steps, batch in itertools.product((5, 40), (3, 17)):
        a, x, g, w = make_inputs(steps, batch)
        a = np.sign(a) + a
        found = kernels.call("step", [a, x, g, w / 3], shapes(steps, batch))
        for t in reversed(range(steps)):
            a[t], g = g, g @ (w / 3)
        expected = np.einsum("tbm,tbk->mk", a, x), a.sum((0, 1))
        for value, exact in zip(found[1:3], expected):
            np.testing.assert_allclose(value, exact, rtol=2e-5, atol=2e-5)


READ = """
func.func @step(%a: tensor<?x?x5xf32>, %x: tensor<?x?x3xf32>, %g: tensor<?x5xf32>, %w: tensor<5x5xf32>)
    -> (tensor<?x5xf32>, tensor<5x3xf32>, tensor<3xf32>, tensor<5xf32>) {{
  %0, %d = bppsa.chain {reverse} saved(%a, %x : tensor<?x?x5xf32>, tensor<?x?x3xf32>) seeds(%g : tensor<?x5xf32>)
      {injected} captures(%w : tensor<5x5xf32>) -> (tensor<?x5xf32>) emitted(tensor<?x?x5xf32>) {{
  ^bb0(%at: vector<5xf32>, %xt: vector<3xf32>, %gt: vector<5xf32>, %wc: vector<5x5xf32>):
    %0 = arith.mulf %at, %gt : vector<5xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<5x5xf32>, vector<5xf32> -> vector<5xf32>
    bppsa.yield %1, %0 : vector<5xf32>, vector<5xf32>
  }}
  %1 = bppsa.outer_sum %a, %x : tensor<?x?x5xf32>, tensor<?x?x3xf32> -> tensor<5x3xf32>
  %2 = bppsa.step_sum %x : tensor<?x?x3xf32> -> tensor<3xf32>
  %3 = bppsa.step_sum %d : tensor<?x?x5xf32> -> tensor<5xf32>
  return %0, %1, %2, %3 : tensor<?x5xf32>, tensor<5x3xf32>, tensor<3xf32>, tensor<5xf32>
}}
"""


@pytest.mark.parametrize("vanishes", [False, True])
@pytest.mark.parametrize("variant", ["", "reverse", "injected"])
def test_sums_of_chain_inputs(tmp_path, variant, vanishes):
    """The sums continue after the cotangents of the chain vanish."""
    program = READ.format(
        reverse="reverse" if variant == "reverse" else "",
        injected=INJECTED if variant == "injected" else "",
    )
    kernels = Kernels(tmp_path, program)
    for steps, batch in itertools.product(LENGTHS, BATCHES):
        a, x, g, w = make_inputs(steps, batch)
        if vanishes:
            g, w = 0 * g, 0 * w
        found = kernels.call("step", [a, x, g, w], [(batch, 5), (5, 3), (3,), (5,)])
        before, _, emitted, _ = expect(a, x, g, w, variant)
        exact = before, np.einsum("tbm,tbk->mk", a, x), x.sum((0, 1)), emitted
        for value, one in zip(found, exact, strict=True):
            np.testing.assert_allclose(value, one, rtol=2e-5, atol=2e-5)
        on_threads = kernels.call(
            "step", [a, x, g, w], [(batch, 5), (5, 3), (3,), (5,)], threads=3
        )
        for value, again in zip(found, on_threads, strict=True):
            np.testing.assert_array_equal(value, again)


def forget(a, first, last):
    """Blocks all cotangents at steps [first, last)."""
    a[first:last] = 0
    return a


@pytest.mark.parametrize("variant", ["", "reverse", "injected", "reverse injected"])
def test_skipping_zero_blocks_is_bit_exact(tmp_path, variant):
    """`@kept` emits a nonzero value, so it runs all blocks and serves as the reference."""
    kernels = compile_program(tmp_path, variant)
    for steps, batch in itertools.product((64, 100, 200), BATCHES):
        a, x, g, w = make_inputs(steps, batch)
        inputs = forget(a, 30, 130), x, g, w
        found = kernels.call("step", inputs, shapes(steps, batch))
        kept = kernels.call("kept", inputs, shapes(steps, batch, kept=True))
        for value, beside, exact in zip(found, kept, expect(*inputs, variant)):
            np.testing.assert_array_equal(value, beside)
            np.testing.assert_allclose(value, exact, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("variant", ["", "reverse", "injected"])
def test_zero_blocks_not_read(tmp_path, variant):
    """Infinities in these blocks would turn zeros into NaNs."""
    kernels = compile_program(tmp_path, variant)
    a, x, g, w = make_inputs(200, 16)
    inputs = [forget(a, 60, 140), x, g, w]
    expected = expect(*inputs, variant)
    inputs[1] = x.copy()
    inputs[1][100] = np.inf
    for value, exact in zip(kernels.call("step", inputs, shapes(200, 16)), expected):
        np.testing.assert_allclose(value, exact, rtol=2e-5, atol=2e-5)


CHAIN = """
func.func @chain(%a: tensor<?x?x5xf32>, %g: tensor<?x5xf32>) -> (tensor<?x5xf32>, tensor<?x?x5xf32>)
    attributes {{bppsa.lanes = {lanes} : i64}} {{
  %0, %d = bppsa.chain {reverse} saved(%a : tensor<?x?x5xf32>) seeds(%g : tensor<?x5xf32>)
      -> (tensor<?x5xf32>) emitted(tensor<?x?x5xf32>) {{
  ^bb0(%at: vector<5xf32>, %gt: vector<5xf32>):
    %0 = arith.mulf %at, %gt : vector<5xf32>
    bppsa.yield %0, %0 : vector<5xf32>, vector<5xf32>
  }}
  return %0, %d : tensor<?x5xf32>, tensor<?x?x5xf32>
}}
"""


@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize("reverse", ["", "reverse"])
def test_vanishing_chain_without_sums(tmp_path, reverse, lanes):
    kernels = Kernels(tmp_path, CHAIN.format(reverse=reverse, lanes=lanes))
    for steps, batch in itertools.product((1, 33, 100, 161), (1, 3, 17)):
        a, _, g, _ = make_inputs(steps, batch)
        forget(a, 40, 50)
        infinite = 90 if reverse else 10
        order = range(steps) if reverse else reversed(range(steps))
        expected = np.zeros_like(a)
        for t in order:
            expected[t] = g = a[t] * g
        if infinite < steps and steps > 50:
            a[infinite] = np.inf
        result, emitted = kernels.call("chain", [a, make_inputs(steps, batch)[2]], [(batch, 5), a.shape])
        np.testing.assert_allclose(result, g, rtol=1e-5, atol=1e-30)
        np.testing.assert_allclose(emitted, expected, rtol=1e-5, atol=1e-30)
