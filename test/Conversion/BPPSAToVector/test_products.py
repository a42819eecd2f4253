"""Compares lowered products of explicit Jacobians with numpy in float64.

A list of four links becomes a tree that composes the second and third link. The types of these two
vary. The third link has more rows than there are tasks; some rows are empty, and some have more
entries than there are partial sums.
"""

import itertools

import harness
import numpy as np
import pytest
from kernels import Kernels

SIZES = (6, 11, 9, 70, 5)  # Cotangent sizes before, between and after the links.
# Covers blocks of 16 and of 4 samples, single samples, and combinations.
BATCHES = (1, 3, 4, 16, 21)
TOLERANCE = {"rtol": 2e-5, "atol": 2e-5}


class Link:
    """A random matrix: its type and the array it is assembled from."""

    def __init__(self, random, rows, cols, kind, own=False, positions=False):
        self.kind, self.own, self.shape = kind, own, (rows, cols)
        if kind == "diagonal":
            mask = np.eye(rows, dtype=bool)
        elif kind == "csr":
            mask = random.random((rows, cols)) < 0.4
            mask[0], mask[-1] = False, True
        else:
            mask = np.ones((rows, cols), bool)
        self.mask = mask
        self.entries = np.count_nonzero(mask)
        self.width = self.entries
        self.positions = None
        if positions:
            self.width = max(1, self.entries // 2)
            self.positions = random.integers(0, self.width, self.entries)

    def type(self):
        rows, cols = self.shape
        structure = self.kind
        if self.kind == "csr":
            lists = [np.flatnonzero(row).tolist() for row in self.mask]
            structure = f"csr(#jacobian.pattern<{rows}x{cols}, {lists}, {list(range(rows))}>)"
        batch = ", batch = ?" if self.own else ""
        return f"!jacobian.matrix<{rows}x{cols}xf32, {structure}{batch}>"

    def source_type(self):
        return f"tensor<?x{self.width}xf32>" if self.own else f"tensor<{self.width}xf32>"

    def draw(self, random, batch):
        return random.uniform(-1, 1, (batch, self.width) if self.own else self.width)

    def matrices(self, values, batch):
        """Returns one dense matrix per sample."""
        if self.positions is not None:
            values = values[..., self.positions]
        matrices = np.zeros((batch, *self.shape))
        matrices[:, self.mask] = values
        return matrices


def write_list(links):
    """Returns a function that applies `links` in sequence and returns every intermediate result."""
    arguments = [f"%v{i}: {link.source_type()}" for i, link in enumerate(links)]
    arguments += [f"%g0: tensor<?x{links[0].shape[1]}xf32>"]
    types = [f"tensor<?x{link.shape[0]}xf32>" for link in links]
    lines = [f"func.func @list({', '.join(arguments)}) -> ({', '.join(types)}) {{"]
    for i, link in enumerate(links):
        at = "" if link.positions is None else f" at {link.positions.tolist()}"
        lines += [f"%j{i} = jacobian.assemble %v{i}{at} : {link.source_type()} -> {link.type()}"]
    for i, link in enumerate(links):
        operand = f"tensor<?x{link.shape[1]}xf32>"
        lines += [f"%g{i + 1} = jacobian.apply %j{i}, %g{i} : {link.type()}, {operand} -> {types[i]}"]
    results = ", ".join(f"%g{i + 1}" for i in range(len(links)))
    return "\n".join([*lines, f"return {results} : {', '.join(types)}", "}"])


def lower(directory, links, plan, break_even):
    source = directory / "list.mlir"
    source.write_text(write_list(links))
    passes = (f"--bppsa-scan-links=algorithm={plan}",
              f"--bppsa-plan-sparse-products=break-even={break_even}",
              "--bppsa-lower-products")  # fmt: skip
    opt = harness.require_tool("bppsa-opt")
    return harness.check_succeeded(harness.run(opt, source, *passes)).stdout


def check_list(directory, random, links, ir):
    kernels = Kernels(directory, ir)
    for batch in BATCHES:
        values = [link.draw(random, batch) for link in links]
        cotangent = random.uniform(-1, 1, (batch, links[0].shape[1]))
        expected = [cotangent]
        for link, own in zip(links, values, strict=True):
            expected += [np.einsum("brc,bc->br", link.matrices(own, batch), expected[-1])]
        inputs = [*values, cotangent]
        shapes = [(batch, link.shape[0]) for link in links]
        once = kernels.call("list", inputs, shapes)
        for value, exact in zip(once, expected[1:], strict=True):
            np.testing.assert_allclose(value, exact, **TOLERANCE)
        for value, again in zip(once, kernels.call("list", inputs, shapes, threads=3)):
            np.testing.assert_array_equal(value, again)


KINDS = list(itertools.product(("dense", "csr"), ("shared", "own")))


@pytest.mark.parametrize("second", KINDS, ids="-".join)
@pytest.mark.parametrize("first", KINDS, ids="-".join)
def test_products(tmp_path, first, second):
    random = np.random.default_rng(KINDS.index(first) + 4 * KINDS.index(second))
    kinds = [("csr", "own", True), (*first, False), (*second, True), ("dense", "shared", True)]
    links = [
        Link(random, rows, cols, kind, samples == "own", positions)
        for rows, cols, (kind, samples, positions) in zip(SIZES[1:], SIZES, kinds)
    ]
    ir = lower(tmp_path, links, "blelloch", break_even=1)
    assert ir.count("jacobian.sparse_compose") == 1
    check_list(tmp_path, random, links, ir)


def test_sparse_product_stored_dense(tmp_path):
    random = np.random.default_rng(1)
    links = [Link(random, rows, cols, "csr", own=True) for rows, cols in zip(SIZES[1:], SIZES)]
    ir = lower(tmp_path, links, "blelloch", break_even=0)
    assert ir.count("result_rows") == 0
    check_list(tmp_path, random, links, ir)


@pytest.mark.parametrize("plan", ["linear", "blelloch"])
def test_diagonals(tmp_path, plan):
    random = np.random.default_rng(2)
    links = [
        Link(random, 9, 9, "diagonal", own=True),
        Link(random, 9, 9, "diagonal", own=True, positions=True),
        Link(random, 9, 9, "diagonal", own=False),
        Link(random, 9, 9, "csr", own=False),
        Link(random, 9, 9, "diagonal", own=True),
        Link(random, 9, 9, "diagonal", own=False, positions=True),
    ]
    ir = lower(tmp_path, links, plan, break_even=1)
    assert ir.count("jacobian.sparse_compose") == (2 if plan == "blelloch" else 0)
    check_list(tmp_path, random, links, ir)


class OuterSum:
    """A random set of unpruned weights; each weight affects up to nine Jacobian entries."""

    SIZES = 11, 9

    def __init__(self, random, num_weights, share):
        self.num_weights = num_weights
        self.positions = np.flatnonzero(random.random(num_weights) < share)
        counts = random.integers(0, 10, self.positions.size)
        self.starts = np.concatenate([[0], np.cumsum(counts)])
        self.rows = [random.integers(0, size, counts.sum()) for size in self.SIZES]

    def write(self):
        lists = [("starts", self.starts), ("left", self.rows[0]), ("right", self.rows[1])]
        lists += [("positions", self.positions)]
        types = {name: f"tensor<{len(values)}xi32>" for name, values in lists}
        left, right = (f"tensor<{size}x?xf32>" for size in self.SIZES)
        result = f"tensor<{self.num_weights}xf32>"
        constants = [
            f"%{name} = arith.constant dense<{values.tolist()}> : {types[name]}"
            for name, values in lists
        ]
        return "\n".join([
            f"func.func @sum(%x: {left}, %g: {right}) -> {result} {{",
            *constants,
            f"%0 = jacobian.sparse_outer_sum lhs(%x : {left}) rhs(%g : {right})",
            f"starts(%starts : {types['starts']})",
            f"rows(%left, %right : {types['left']}, {types['right']})",
            f"at(%positions : {types['positions']}) -> {result}",
            f"return %0 : {result}",
            "}",
        ])  # fmt: skip

    def compute(self, left, right):
        products = np.sum(left[self.rows[0]] * right[self.rows[1]], axis=1)
        sums = np.zeros(self.num_weights)
        np.add.at(sums, np.repeat(self.positions, np.diff(self.starts)), products)
        return sums


# Zero fills of at least 1 MiB use non-temporal stores if the buffer is aligned to a cache line.
@pytest.mark.parametrize("num_weights, share", [(70, 0.6), (1 << 18, 1e-3), ((1 << 18) + 1, 1e-3)])
@pytest.mark.parametrize("skipped", [0, 16])
def test_gradients_of_pruned_weights(tmp_path, num_weights, share, skipped):
    random = np.random.default_rng(3)
    outer = OuterSum(random, num_weights, share)
    kernels = Kernels(tmp_path, outer.write())
    for batch in BATCHES:
        inputs = [random.uniform(-1, 1, (size, batch)) for size in outer.SIZES]
        shapes = [(outer.num_weights,)]
        (once,) = kernels.call("sum", inputs, shapes, skipped=skipped)
        np.testing.assert_allclose(once, outer.compute(*inputs), **TOLERANCE)
        (again,) = kernels.call("sum", inputs, shapes, threads=3, skipped=skipped)
        np.testing.assert_array_equal(once, again)
