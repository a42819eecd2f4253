"""Lowered loops, sums and layouts against numpy in float64.

The cells and links are made up to need every rule of the row-wise evaluation: sums of products that
wait for another product, products of products, slices, comparisons, constants that differ by row,
captured vectors in a product, and states that are read after or in other rows than their new values.
"""

import itertools
import re

import numpy as np
import pytest
from kernels import Kernels

BATCHES = (1, 3, 16, 33)
LENGTHS = (1, 2, 7, 40)
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
    %p = bppsa.matvec %rc, %ht plus %bc : vector<6xf32> : vector<6x6xf32>, vector<6xf32> -> vector<6xf32>
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
    %c1 = bppsa.matvec %uc, %k plus %k4 : vector<4xf32> : vector<4x6xf32>, vector<6xf32> -> vector<4xf32>
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
    %e = bppsa.matvec transposed %wc, %gt plus %d : vector<4xf32> : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield {order}, %d : vector<4xf32>, vector<4xf32>, vector<4xf32>
  }}
  return %0#0, %0#1, %0#2 : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x?x4xf32>
}}
"""

LEAVES = """
func.func @sums(%a: tensor<?x?x{M}xf32>, %b: tensor<?x?x{K}xf32>)
    -> (tensor<{M}x{K}xf32>, tensor<{M}xf32>) {{
  %0 = bppsa.outer_sum %a, %b : tensor<?x?x{M}xf32>, tensor<?x?x{K}xf32> -> tensor<{M}x{K}xf32>
  %1 = bppsa.step_sum %a : tensor<?x?x{M}xf32> -> tensor<{M}xf32>
  return %0, %1 : tensor<{M}x{K}xf32>, tensor<{M}xf32>
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


@pytest.mark.parametrize("registers", [32, 8, 4])
@pytest.mark.parametrize("reverse", ["", "reverse"])
def test_a_cell_with_every_kind_of_operation(tmp_path, reverse, registers):
    kernels = Kernels(tmp_path, CELL.format(reverse=reverse), registers)
    for steps, batch in itertools.product(LENGTHS, BATCHES):
        inputs = uniform(
            steps, (steps, batch, 3), (batch, 6), (batch, 4), (6, 3), (6, 6), (4, 6), (6,)
        )
        shapes = [(steps + 1, batch, 6), (steps + 1, batch, 4), (steps, batch, 6)]
        check(kernels.call("cell", inputs, shapes), walk_cell(*inputs, reverse == "reverse"))


@pytest.mark.parametrize("mapping", ["units", "samples, width = 16"])
def test_mappings_that_are_set_by_hand(tmp_path, mapping):
    """Of one loop among others that are packed as always."""
    by_hand = f"attributes {{bppsa.mapping = #bppsa.cpu_mapping<{mapping}>}}"
    cell = CELL.format(reverse="")
    results = "-> (tensor<?x?x6xf32>, tensor<?x?x4xf32>) outputs"
    assert cell.count(results) == 1
    leaves = LEAVES.format(M=6, K=3)
    sequences = ": tensor<?x?x6xf32>, tensor<?x?x3xf32> ->"
    assert leaves.count(sequences) == 1
    mapped = cell.replace(results, f"{by_hand} {results}") + leaves.replace(
        sequences, f"{by_hand.removeprefix('attributes ')} {sequences}"
    )
    kernels = Kernels(tmp_path, mapped)
    for steps, batch in itertools.product(LENGTHS, BATCHES):
        inputs = uniform(
            steps, (steps, batch, 3), (batch, 6), (batch, 4), (6, 3), (6, 6), (4, 6), (6,)
        )
        shapes = [(steps + 1, batch, 6), (steps + 1, batch, 4), (steps, batch, 6)]
        check(kernels.call("cell", inputs, shapes), walk_cell(*inputs, reverse=False))
        a, b = uniform(steps, (steps, batch, 6), (steps, batch, 3))
        expected = np.einsum("tbm,tbk->mk", a, b), a.sum((0, 1))
        check(kernels.call("sums", [a, b], [(6, 3), (6,)]), expected)


def walk_chain(a, g, k, s, w, reverse, injected, swapped):
    emitted = np.zeros_like(a)
    for t in range(len(a)) if reverse else reversed(range(len(a))):
        if injected:
            g, k = g + s[t], k + s[t]
        emitted[t] = a[t] * k
        e = g @ w + emitted[t]
        g, k = (k, e) if swapped else (e, k)
    return g, k, emitted


def compile_both_directions(directory, source, kind):
    """Both directions in one module, which has one kernel for them, and each in a module of its own."""
    sources = {
        name: source.format(reverse=reverse).replace(f"@{kind}(", f"@{name}(")
        for name, reverse in (("forward", ""), ("backward", "reverse"))
    }
    programs = {"both": "".join(sources.values()), **sources}
    for name in programs:
        (directory / name).mkdir()
    return {name: Kernels(directory / name, ir) for name, ir in programs.items()}


def count_functions(kernels, loop):
    """Kernels of `loop`, and bodies of parallel loops in them."""
    return len(re.findall(rf"llvm.func .*@{loop}_kernel_\w*\(", kernels.lowered))


@pytest.mark.parametrize("mapping", ["units", "samples, width = 16"])
def test_both_directions_of_a_recurrence_have_one_kernel(tmp_path, mapping):
    results = "-> (tensor<?x?x6xf32>, tensor<?x?x4xf32>) outputs"
    by_hand = f"attributes {{{{bppsa.mapping = #bppsa.cpu_mapping<{mapping}>}}}}"
    cell = CELL.replace(results, f"{by_hand} {results}")
    kernels = compile_both_directions(tmp_path, cell, "cell")
    assert [count_functions(made, "recurrence") for made in kernels.values()] == [2, 2, 2]
    for steps, batch in itertools.product(LENGTHS, BATCHES):
        inputs = uniform(
            steps, (steps, batch, 3), (batch, 6), (batch, 4), (6, 3), (6, 6), (4, 6), (6,)
        )
        shapes = [(steps + 1, batch, 6), (steps + 1, batch, 4), (steps, batch, 6)]
        for name in ("forward", "backward"):
            found = kernels["both"].call(name, inputs, shapes)
            check(found, walk_cell(*inputs, name == "backward"))
            for value, alone in zip(found, kernels[name].call(name, inputs, shapes)):
                np.testing.assert_array_equal(value, alone)


@pytest.mark.parametrize("plan", ["linear", "blelloch", "chunked, 3"])
def test_both_directions_of_a_chain_have_one_kernel(tmp_path, plan):
    injected = "injected(%s, %s : tensor<?x?x4xf32>, tensor<?x?x4xf32>) inject_into [0, 1]"
    chain = CHAIN.replace("{op}", f"bppsa.chain plan <{plan}>").replace("{injected}", injected)
    kernels = compile_both_directions(tmp_path, chain.replace("{order}", "%e, %kt"), "chain")
    counts = [count_functions(made, "(?:chain|transition)") for made in kernels.values()]
    assert counts == [{"linear": 2, "blelloch": 2, "chunked, 3": 3}[plan]] * 3
    for steps, batch in itertools.product(LENGTHS, BATCHES):
        inputs = uniform(steps, (steps, batch, 4), (batch, 4), (batch, 4), (steps, batch, 4))
        inputs.append(uniform(1, (4, 4))[0] / 2)
        shapes = [(batch, 4), (batch, 4), (steps, batch, 4)]
        for name in ("forward", "backward"):
            found = kernels["both"].call(name, inputs, shapes)
            check(found, walk_chain(*inputs, name == "backward", True, False))
            for value, alone in zip(found, kernels[name].call(name, inputs, shapes)):
                np.testing.assert_array_equal(value, alone)


PLANS = ("linear", "blelloch", "hybrid, 0", "hybrid, 2", "chunked, 1", "chunked, 3", "chunked")


@pytest.mark.parametrize("op", ["bppsa.chain", *(f"bppsa.chain plan <{plan}>" for plan in PLANS)])
@pytest.mark.parametrize("variant", ["", "reverse", "injected", "swapped", "injected swapped"])
def test_a_link_that_reads_its_states_late(tmp_path, op, variant):
    injected = "injected(%s, %s : tensor<?x?x4xf32>, tensor<?x?x4xf32>) inject_into [0, 1]"
    kernels = Kernels(
        tmp_path,
        CHAIN.format(
            op=op,
            reverse="reverse" if "reverse" in variant else "",
            injected=injected if "injected" in variant else "inject_into []",
            order="%kt, %e" if "swapped" in variant else "%e, %kt",
        ),
    )
    flags = [word in variant for word in ("reverse", "injected", "swapped")]
    for steps, batch in itertools.product(LENGTHS, BATCHES):
        inputs = uniform(steps, (steps, batch, 4), (batch, 4), (batch, 4), (steps, batch, 4))
        inputs.append(uniform(1, (4, 4))[0] / 2)
        shapes = [(batch, 4), (batch, 4), (steps, batch, 4)]
        once = kernels.call("chain", inputs, shapes)
        check(once, walk_chain(*inputs, *flags))
        for value, again in zip(once, kernels.call("chain", inputs, shapes, threads=3)):
            np.testing.assert_array_equal(value, again)


@pytest.mark.parametrize("plan", ["chunked, 1", "chunked, 3", "chunked"])
@pytest.mark.parametrize("variant", ["", "reverse", "injected"])
def test_chunks_in_lanes_by_hand(tmp_path, variant, plan):
    """Of a chain in a function whose other vectors hold samples."""
    injected = "injected(%s, %s : tensor<?x?x4xf32>, tensor<?x?x4xf32>) inject_into [0, 1]"
    results = "-> (tensor<?x4xf32>, tensor<?x4xf32>) emitted"
    assert CHAIN.count(results) == 1
    mapping = "{{bppsa.mapping = #bppsa.cpu_mapping<chunks, width = 16>}}"
    kernels = Kernels(
        tmp_path,
        CHAIN.replace(results, f"attributes {mapping} {results}").format(
            op=f"bppsa.chain plan <{plan}>",
            reverse="reverse" if variant == "reverse" else "",
            injected=injected if variant == "injected" else "inject_into []",
            order="%e, %kt",
        ),
    )
    for steps, batch in itertools.product((1, 2, 9, 40, 150), (1, 3, 5)):
        inputs = uniform(steps, (steps, batch, 4), (batch, 4), (batch, 4), (steps, batch, 4))
        inputs.append(uniform(1, (4, 4))[0] / 2)
        shapes = [(batch, 4), (batch, 4), (steps, batch, 4)]
        once = kernels.call("chain", inputs, shapes)
        check(once, walk_chain(*inputs, variant == "reverse", variant == "injected", False))
        for value, again in zip(once, kernels.call("chain", inputs, shapes, threads=3)):
            np.testing.assert_array_equal(value, again)


@pytest.mark.parametrize("registers", [32, 8, 4])
@pytest.mark.parametrize("size", [(1, 1), (5, 7), (20, 20), (33, 3), (67, 70)])
def test_leaves(tmp_path, size, registers):
    kernels = Kernels(tmp_path, LEAVES.format(M=size[0], K=size[1]), registers)
    for steps, batch in itertools.product(LENGTHS, BATCHES):
        a, b = uniform(steps, (steps, batch, size[0]), (steps, batch, size[1]))
        expected = np.einsum("tbm,tbk->mk", a, b), a.sum((0, 1))
        once = kernels.call("sums", [a, b], [size, size[:1]])
        check(once, expected)
        for value, again in zip(once, kernels.call("sums", [a, b], [size, size[:1]], threads=4)):
            np.testing.assert_array_equal(value, again)


PADDED = """
func.func @sums(%x: tensor<?x?x3xf32>) -> (tensor<3x3xf32>, tensor<3xf32>) {
  %a = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) outputs(tensor<?x?x3xf32>) {
  ^bb0(%xt: vector<3xf32>):
    %one = arith.constant dense<1.0> : vector<3xf32>
    %0 = arith.divf %one, %xt : vector<3xf32>
    bppsa.yield %0 : vector<3xf32>
  }
  %0 = bppsa.outer_sum %x, %a : tensor<?x?x3xf32>, tensor<?x?x3xf32> -> tensor<3x3xf32>
  %1 = bppsa.step_sum %a : tensor<?x?x3xf32> -> tensor<3xf32>
  return %0, %1 : tensor<3x3xf32>, tensor<3xf32>
}
"""


@pytest.mark.parametrize("registers", [32, 8, 4])
def test_leaves_leave_out_lanes_without_a_sample(tmp_path, registers):
    """There the loop makes 1 / 0 of the zeros that arrays are packed with."""
    kernels = Kernels(tmp_path, PADDED, registers)
    for steps, batch in itertools.product(LENGTHS, (1, 3, 15, 16, 17, 33)):
        (x,) = uniform(steps, (steps, batch, 3))
        x = np.sign(x) + x
        expected = np.einsum("tbm,tbk->mk", x, 1 / x), (1 / x).sum((0, 1))
        check(kernels.call("sums", [x], [(3, 3), (3,)]), expected)


def test_a_long_sum_is_more_accurate_than_adding_in_order(tmp_path):
    kernels = Kernels(tmp_path, LEAVES.format(M=1, K=1))
    values = np.full((1 << 18, 16, 1), 0.1, np.float32)
    product, total = kernels.call("sums", [values, values], [(1, 1), (1,)])
    for found, terms in ((product, values * values), (total, values)):
        exact = terms.sum(dtype=np.float64)
        in_order = np.cumsum(terms[:, 0, 0], dtype=np.float32)[-1] * 16
        assert abs(found.item() - exact) < abs(in_order - exact) / 10
