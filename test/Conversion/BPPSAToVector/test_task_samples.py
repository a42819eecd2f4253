"""Time loops give the same bits with one or several samples (or vectors of samples) per task.

The cell and link are from loops.py, packed with 1 or 16 lanes. A cell of 40 units adds several
tiles and partial sums.
"""

import itertools
import re

import numpy as np
import pytest
from kernels import Kernels
from loops import CELL, CHAIN, check, uniform, walk_cell, walk_chain

# Batch sizes by number of lanes. MOST is the maximum number of vectors per task.
BATCHES = {1: (1, 2, 3, 4, 7, 9), 16: (1, 32, 39, 70)}
MOST = {1: 4, 16: 2}
LENGTHS = (1, 7, 40)

WIDE = """
func.func @wide(%x: tensor<?x?x3xf32>, %h: tensor<?x40xf32>, %w: tensor<40x3xf32>,
    %r: tensor<40x40xf32>) -> tensor<?x?x40xf32> {
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) initial(%h : tensor<?x40xf32>)
      captures(%w, %r : tensor<40x3xf32>, tensor<40x40xf32>) -> (tensor<?x?x40xf32>) {
  ^bb0(%xt: vector<3xf32>, %ht: vector<40xf32>, %wc: vector<40x3xf32>, %rc: vector<40x40xf32>):
    %p = bppsa.matvec %rc, %ht : vector<40x40xf32>, vector<40xf32> -> vector<40xf32>
    %q = bppsa.matvec %wc, %xt plus %p : vector<40x3xf32>, vector<3xf32> plus vector<40xf32> -> vector<40xf32>
    %n = math.tanh %q : vector<40xf32>
    bppsa.yield %n : vector<40xf32>
  }
  return %0 : tensor<?x?x40xf32>
}
"""


def with_lanes(ir, lanes, mapping=""):
    """Returns the loop of `ir` on packed arrays, with the explicit mapping `mapping`."""
    ir = re.sub(r"tensor<((?:\?x)+\d+)xf32>", rf"tensor<\1x{lanes}xf32>", ir)
    ir = re.sub(r"(bppsa\.(?:recurrence|chain)(?: reverse)?) ", rf"\1 lanes {lanes} ", ir)
    attributes = f"attributes {{bppsa.mapping = {mapping}}} " if mapping else ""
    ir, count = re.subn(r"(captures\([^)]*\))\s*(->|outputs)", rf"\1 {attributes}\2", ir)
    assert count == 1
    return ir


def pack(array, lanes):
    """Packs [T, B, N] to [ceil(B / lanes), T, N, lanes], or [B, N] to [ceil(B / lanes), N,
    lanes]."""
    steps = array if array.ndim == 3 else array[None]
    padding = -steps.shape[1] % lanes
    steps = np.pad(steps, [(0, 0), (0, padding), (0, 0)])
    blocks = steps.reshape(len(steps), -1, lanes, steps.shape[2]).transpose(1, 0, 3, 2)
    return blocks if array.ndim == 3 else blocks[:, 0]


def unpack(array, batch):
    blocks = array if array.ndim == 4 else array[:, None]
    steps = blocks.transpose(1, 0, 3, 2).reshape(blocks.shape[1], -1, blocks.shape[2])[:, :batch]
    return steps if array.ndim == 4 else steps[0]


def call(kernels, lanes, function, arrays, captures, shapes, threads=1):
    batches = [shape[-2] for shape in shapes]
    shapes = [pack(np.empty(shape), lanes).shape for shape in shapes]
    inputs = [*(pack(array, lanes) for array in arrays), *captures]
    results = kernels.call(function, inputs, shapes, threads=threads)
    return [unpack(one, batch) for one, batch in zip(results, batches, strict=True)]


class Pair:
    """The same loop compiled with one vector per task and with several."""

    def __init__(self, tmp_path, ir, lanes, registers=32):
        self.lanes, self.kernels = lanes, []
        together = f"#bppsa.task_mapping<most = {MOST[lanes]}>"
        for name, mapping in (("alone", ""), ("together", together)):
            (tmp_path / name).mkdir()
            ir_of_lanes = with_lanes(ir, lanes, mapping)
            self.kernels.append(Kernels(tmp_path / name, ir_of_lanes, registers))

    def check(self, expected, *arguments):
        alone, together = self.kernels
        once = call(alone, self.lanes, *arguments)
        check(once, expected)
        # The test runtime gives each task the maximum on one thread, and one vector on several
        # threads.
        for threads in (1, 3):
            for value, again in zip(once, call(together, self.lanes, *arguments, threads=threads)):
                np.testing.assert_array_equal(value, again)


@pytest.mark.parametrize("lanes, registers", [(1, 32), (1, 8), (16, 32)])
@pytest.mark.parametrize("reverse", ["", "reverse"])
def test_cell_with_all_operations(tmp_path, reverse, lanes, registers):
    pair = Pair(tmp_path, CELL.format(reverse=reverse), lanes, registers)
    for steps, batch in itertools.product(LENGTHS, BATCHES[lanes]):
        arrays = uniform(steps, (steps, batch, 3), (batch, 6), (batch, 4))
        captures = uniform(1, (6, 3), (6, 6), (4, 6), (6,))
        shapes = [(steps + 1, batch, 6), (steps + 1, batch, 4), (steps, batch, 6)]
        expected = walk_cell(*arrays, *captures, reverse == "reverse")
        pair.check(expected, "cell", arrays, captures, shapes)


@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize("variant", ["", "reverse", "injected", "swapped"])
def test_link_with_late_state_reads(tmp_path, variant, lanes):
    injected = "injected(%s, %s : tensor<?x?x4xf32>, tensor<?x?x4xf32>) inject_into [0, 1]"
    pair = Pair(
        tmp_path,
        CHAIN.format(
            op="bppsa.chain",
            reverse="reverse" if variant == "reverse" else "",
            injected=injected if variant == "injected" else "",
            order="%kt, %e" if variant == "swapped" else "%e, %kt",
        ),
        lanes,
    )
    for steps, batch in itertools.product(LENGTHS, BATCHES[lanes]):
        arrays = uniform(steps, (steps, batch, 4), (batch, 4), (batch, 4), (steps, batch, 4))
        captures = [uniform(1, (4, 4))[0] / 2]
        flags = [variant == word for word in ("reverse", "injected", "swapped")]
        expected = walk_chain(*arrays, *captures, *flags)
        shapes = [(batch, 4), (batch, 4), (steps, batch, 4)]
        pair.check(expected, "chain", arrays, captures, shapes)


@pytest.mark.parametrize("lanes", [1, 16])
def test_chain_stops_when_all_samples_are_zero(tmp_path, lanes):
    """Some samples of a task have nonzero cotangents and the others have only zeros."""
    ir = CHAIN.format(op="bppsa.chain", reverse="", injected="", order="%e, %d")
    pair = Pair(tmp_path, ir, lanes)
    steps, batch = 150, 7 * lanes
    a, s = uniform(0, (steps, batch, 4), (steps, batch, 4))
    a[20:60] = 0
    seeds = np.zeros((2, batch, 4))
    seeds[0, 2 * lanes] = seeds[1, 5 * lanes] = 1
    captures = [np.zeros((4, 4))]
    shapes = [(batch, 4), (batch, 4), (steps, batch, 4)]
    g, k = seeds
    emitted = np.zeros((steps, batch, 4))
    for t in reversed(range(steps)):
        emitted[t] = a[t] * k
        g, k = g @ captures[0] + emitted[t], emitted[t]
    pair.check((g, k, emitted), "chain", [a, *seeds, s], captures, shapes)


@pytest.mark.parametrize("lanes, registers", [(1, 32), (1, 8), (16, 32)])
def test_several_tiles_and_partial_sums(tmp_path, lanes, registers):
    pair = Pair(tmp_path, WIDE, lanes, registers)
    for steps, batch in itertools.product(LENGTHS, BATCHES[lanes]):
        arrays = uniform(steps, (steps, batch, 3), (batch, 40))
        w, r = uniform(1, (40, 3), (40, 40))
        r /= 6
        h = [arrays[1]]
        for x in arrays[0]:
            h.append(np.tanh(h[-1] @ r.T + x @ w.T))
        pair.check([np.array(h)], "wide", arrays, [w, r], [(steps + 1, batch, 40)])


@pytest.mark.parametrize("lanes, registers", [(1, 32), (1, 8), (16, 32)])
def test_stateless_loop(tmp_path, lanes, registers):
    """There are two results with one matrix each; one result is added to the other."""
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
    %q = bppsa.matvec %vc, %xt plus %s : vector<23x42xf32>, vector<42xf32> plus vector<23xf32> -> vector<23xf32>
    bppsa.yield %q, %s : vector<23xf32>, vector<23xf32>
  }
  return %0#0, %0#1 : tensor<?x?x23xf32>, tensor<?x?x23xf32>
}
""",
        lanes,
        registers,
    )
    for steps, batch in itertools.product(LENGTHS, (1, 3)):
        (x,) = uniform(steps, (steps, batch, 42))
        w, v = uniform(1, (23, 42), (23, 42))
        s = 1 / (1 + np.exp(-(x @ w.T)))
        pair.check([x @ v.T + s, s], "steps", [x], [w, v], [(steps, batch, 23)] * 2)
