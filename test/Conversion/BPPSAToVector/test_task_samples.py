"""Time loops over units whose threads take several samples together: each has its bits alone.

The cell and the link of loops.py, packed with one lane, and a cell of 40 units, which has
several tiles and partial sums.
"""

import itertools
import re

import numpy as np
import pytest
from kernels import Kernels
from loops import CELL, CHAIN, check, uniform, walk_cell, walk_chain

BATCHES = (1, 2, 3, 4, 7, 9)
LENGTHS = (1, 7, 40)

WIDE = """
func.func @wide(%x: tensor<?x?x3xf32>, %h: tensor<?x40xf32>, %w: tensor<40x3xf32>,
    %r: tensor<40x40xf32>) -> tensor<?x?x40xf32> {
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) initial(%h : tensor<?x40xf32>)
      captures(%w, %r : tensor<40x3xf32>, tensor<40x40xf32>) -> (tensor<?x?x40xf32>) {
  ^bb0(%xt: vector<3xf32>, %ht: vector<40xf32>, %wc: vector<40x3xf32>, %rc: vector<40x40xf32>):
    %p = bppsa.matvec %rc, %ht : vector<40x40xf32>, vector<40xf32> -> vector<40xf32>
    %q = bppsa.matvec %wc, %xt plus %p : vector<40xf32> : vector<40x3xf32>, vector<3xf32> -> vector<40xf32>
    %n = math.tanh %q : vector<40xf32>
    bppsa.yield %n : vector<40xf32>
  }
  return %0 : tensor<?x?x40xf32>
}
"""


def one_lane(ir, mapping=""):
    """The loop of `ir` on packed arrays; `mapping` is set by hand."""
    ir = re.sub(r"tensor<((?:\?x)+\d+)xf32>", r"tensor<\1x1xf32>", ir)
    ir = re.sub(r"(bppsa\.(?:recurrence|chain)(?: reverse)?) ", r"\1 lanes 1 ", ir)
    attributes = f"attributes {{bppsa.mapping = {mapping}}} " if mapping else ""
    ir, count = re.subn(r"(captures\([^)]*\))\s*(->|outputs)", rf"\1 {attributes}\2", ir)
    assert count == 1
    return ir


def pack(array):
    """[T, B, N] as [B, T, N, 1], and [B, N] as [B, N, 1]."""
    return (array.swapaxes(0, 1) if array.ndim == 3 else array)[..., None]


def unpack(array):
    return array[..., 0].swapaxes(0, 1) if array.ndim == 4 else array[..., 0]


def call(kernels, function, arrays, captures, shapes, threads=1):
    shapes = [pack(np.empty(shape)).shape for shape in shapes]
    inputs = [*map(pack, arrays), *captures]
    return [unpack(one) for one in kernels.call(function, inputs, shapes, threads=threads)]


class Pair:
    """A loop that takes up to 4 samples together, and the same one that takes each alone."""

    def __init__(self, tmp_path, ir, registers=32):
        self.kernels = []
        for name, mapping in (("alone", ""), ("together", "#bppsa.task_mapping<most = 4>")):
            (tmp_path / name).mkdir()
            self.kernels.append(Kernels(tmp_path / name, one_lane(ir, mapping), registers))

    def check(self, expected, *arguments):
        alone, together = self.kernels
        once = call(alone, *arguments)
        check(once, expected)
        # The runtime of tests gives tasks 4 samples on one thread, and one on several.
        for threads in (1, 3):
            for value, again in zip(once, call(together, *arguments, threads=threads)):
                np.testing.assert_array_equal(value, again)


@pytest.mark.parametrize("registers", [32, 8])
@pytest.mark.parametrize("reverse", ["", "reverse"])
def test_a_cell_with_every_kind_of_operation(tmp_path, reverse, registers):
    pair = Pair(tmp_path, CELL.format(reverse=reverse), registers)
    for steps, batch in itertools.product(LENGTHS, BATCHES):
        arrays = uniform(steps, (steps, batch, 3), (batch, 6), (batch, 4))
        captures = uniform(1, (6, 3), (6, 6), (4, 6), (6,))
        shapes = [(steps + 1, batch, 6), (steps + 1, batch, 4), (steps, batch, 6)]
        expected = walk_cell(*arrays, *captures, reverse == "reverse")
        pair.check(expected, "cell", arrays, captures, shapes)


@pytest.mark.parametrize("variant", ["", "reverse", "injected", "swapped"])
def test_a_link_that_reads_its_states_late(tmp_path, variant):
    injected = "injected(%s, %s : tensor<?x?x4xf32>, tensor<?x?x4xf32>) inject_into [0, 1]"
    pair = Pair(
        tmp_path,
        CHAIN.format(
            op="bppsa.chain",
            reverse="reverse" if variant == "reverse" else "",
            injected=injected if variant == "injected" else "inject_into []",
            order="%kt, %e" if variant == "swapped" else "%e, %kt",
        ),
    )
    for steps, batch in itertools.product(LENGTHS, BATCHES):
        arrays = uniform(steps, (steps, batch, 4), (batch, 4), (batch, 4), (steps, batch, 4))
        captures = [uniform(1, (4, 4))[0] / 2]
        flags = [variant == word for word in ("reverse", "injected", "swapped")]
        expected = walk_chain(*arrays, *captures, *flags)
        shapes = [(batch, 4), (batch, 4), (steps, batch, 4)]
        pair.check(expected, "chain", arrays, captures, shapes)


def test_a_chain_that_ends_where_all_samples_are_zero(tmp_path):
    """Some samples of a task have cotangents, the others have none."""
    ir = CHAIN.format(op="bppsa.chain", reverse="", injected="inject_into []", order="%e, %d")
    pair = Pair(tmp_path, ir)
    steps, batch = 150, 7
    a, s = uniform(0, (steps, batch, 4), (steps, batch, 4))
    a[20:60] = 0
    seeds = np.zeros((2, batch, 4))
    seeds[0, 2] = seeds[1, 5] = 1
    captures = [np.zeros((4, 4))]
    shapes = [(batch, 4), (batch, 4), (steps, batch, 4)]
    g, k = seeds
    emitted = np.zeros((steps, batch, 4))
    for t in reversed(range(steps)):
        emitted[t] = a[t] * k
        g, k = g @ captures[0] + emitted[t], emitted[t]
    pair.check((g, k, emitted), "chain", [a, *seeds, s], captures, shapes)


@pytest.mark.parametrize("registers", [32, 8])
def test_several_tiles_and_partial_sums(tmp_path, registers):
    pair = Pair(tmp_path, WIDE, registers)
    for steps, batch in itertools.product(LENGTHS, BATCHES):
        arrays = uniform(steps, (steps, batch, 3), (batch, 40))
        w, r = uniform(1, (40, 3), (40, 40))
        r /= 6
        h = [arrays[1]]
        for x in arrays[0]:
            h.append(np.tanh(h[-1] @ r.T + x @ w.T))
        pair.check([np.array(h)], "wide", arrays, [w, r], [(steps + 1, batch, 40)])


@pytest.mark.parametrize("registers", [32, 8])
def test_steps_of_a_loop_without_states(tmp_path, registers):
    """Two results of one matrix each, of which one is added to the other."""
    pair = Pair(
        tmp_path,
        """
func.func @steps(%x: tensor<?x?x42xf32>, %w: tensor<23x42xf32>, %v: tensor<23x42xf32>)
    -> (tensor<?x?x23xf32>, tensor<?x?x23xf32>) {
  %0:2 = bppsa.recurrence sequences(%x : tensor<?x?x42xf32>)
      captures(%w, %v : tensor<23x42xf32>, tensor<23x42xf32>)
      outputs(tensor<?x?x23xf32>, tensor<?x?x23xf32>) {
  ^bb0(%xt: vector<42xf32>, %wc: vector<23x42xf32>, %vc: vector<23x42xf32>):
    %p = bppsa.matvec %wc, %xt : vector<23x42xf32>, vector<42xf32> -> vector<23xf32>
    %s = bppsa.sigmoid %p : vector<23xf32>
    %q = bppsa.matvec %vc, %xt plus %s : vector<23xf32> : vector<23x42xf32>, vector<42xf32> -> vector<23xf32>
    bppsa.yield %q, %s : vector<23xf32>, vector<23xf32>
  }
  return %0#0, %0#1 : tensor<?x?x23xf32>, tensor<?x?x23xf32>
}
""",
        registers,
    )
    for steps, batch in itertools.product(LENGTHS, (1, 3)):
        (x,) = uniform(steps, (steps, batch, 42))
        w, v = uniform(1, (23, 42), (23, 42))
        s = 1 / (1 + np.exp(-(x @ w.T)))
        pair.check([x @ v.T + s, s], "steps", [x], [w, v], [(steps, batch, 23)] * 2)
