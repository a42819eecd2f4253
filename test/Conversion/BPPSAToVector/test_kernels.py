"""Compares lowered time loops, sums and layouts with numpy in float64."""

import itertools
import re

import numpy as np
import pytest
from kernels import Kernels
from loops import CELL, CHAIN, check, uniform, walk_cell, walk_chain

BATCHES = (1, 3, 16, 33)
LENGTHS = (1, 2, 7, 40)

LEAVES = """
func.func @sums(%a: tensor<?x?x{M}xf32>, %b: tensor<?x?x{K}xf32>)
    -> (tensor<{M}x{K}xf32>, tensor<{M}xf32>) {{
  %0 = bppsa.outer_sum %a, %b : tensor<?x?x{M}xf32>, tensor<?x?x{K}xf32> -> tensor<{M}x{K}xf32>
  %1 = bppsa.step_sum %a : tensor<?x?x{M}xf32> -> tensor<{M}xf32>
  return %0, %1 : tensor<{M}x{K}xf32>, tensor<{M}xf32>
}}
"""


@pytest.mark.parametrize("registers", [32, 8, 4])
@pytest.mark.parametrize("reverse", ["", "reverse"])
def test_cell_with_all_operations(tmp_path, reverse, registers):
    kernels = Kernels(tmp_path, CELL.format(reverse=reverse), registers)
    for steps, batch in itertools.product(LENGTHS, BATCHES):
        inputs = uniform(
            steps, (steps, batch, 3), (batch, 6), (batch, 4), (6, 3), (6, 6), (4, 6), (6,)
        )
        shapes = [(steps + 1, batch, 6), (steps + 1, batch, 4), (steps, batch, 6)]
        check(kernels.call("cell", inputs, shapes), walk_cell(*inputs, reverse == "reverse"))


@pytest.mark.parametrize("mapping", ["units", "samples, width = 16"])
def test_explicit_mappings(tmp_path, mapping):
    """One loop has an explicit mapping; the others are packed by default."""
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


def compile_both_directions(directory, source, kind):
    """Compiles one module with both directions, which share a kernel, and one module per
    direction."""
    sources = {
        name: source.format(reverse=reverse).replace(f"@{kind}(", f"@{name}(")
        for name, reverse in (("forward", ""), ("backward", "reverse"))
    }
    programs = {"both": "".join(sources.values()), **sources}
    for name in programs:
        (directory / name).mkdir()
    return {name: Kernels(directory / name, ir) for name, ir in programs.items()}


def count_functions(kernels, loop):
    """Counts the kernels of `loop` and the bodies of their parallel loops."""
    return len(re.findall(rf"llvm.func .*@{loop}_kernel_\w*\(", kernels.lowered))


@pytest.mark.parametrize("mapping", ["units", "samples, width = 16"])
def test_recurrence_directions_share_kernel(tmp_path, mapping):
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
def test_chain_directions_share_kernel(tmp_path, plan):
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
def test_link_with_late_state_reads(tmp_path, op, variant):
    injected = "injected(%s, %s : tensor<?x?x4xf32>, tensor<?x?x4xf32>) inject_into [0, 1]"
    kernels = Kernels(
        tmp_path,
        CHAIN.format(
            op=op,
            reverse="reverse" if "reverse" in variant else "",
            injected=injected if "injected" in variant else "",
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
def test_explicit_chunks_mapping(tmp_path, variant, plan):
    """The chain has an explicit mapping to chunks; all other vectors hold samples."""
    injected = "injected(%s, %s : tensor<?x?x4xf32>, tensor<?x?x4xf32>) inject_into [0, 1]"
    results = "-> (tensor<?x4xf32>, tensor<?x4xf32>) emitted"
    assert CHAIN.count(results) == 1
    mapping = "{{bppsa.mapping = #bppsa.cpu_mapping<chunks, width = 16>}}"
    kernels = Kernels(
        tmp_path,
        CHAIN.replace(results, f"attributes {mapping} {results}").format(
            op=f"bppsa.chain plan <{plan}>",
            reverse="reverse" if variant == "reverse" else "",
            injected=injected if variant == "injected" else "",
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
@pytest.mark.parametrize("size", [(1, 1), (5, 7), (20, 20), (33, 3), (67, 70), (200, 64)])
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
func.func @sums(%x: tensor<?x?x{N}xf32>) -> (tensor<{N}x{N}xf32>, tensor<{N}xf32>) {{
  %a = bppsa.recurrence sequences(%x : tensor<?x?x{N}xf32>) outputs(tensor<?x?x{N}xf32>) {{
  ^bb0(%xt: vector<{N}xf32>):
    %one = arith.constant dense<1.0> : vector<{N}xf32>
    %0 = arith.divf %one, %xt : vector<{N}xf32>
    bppsa.yield %0 : vector<{N}xf32>
  }}
  %0 = bppsa.outer_sum %x, %a : tensor<?x?x{N}xf32>, tensor<?x?x{N}xf32> -> tensor<{N}x{N}xf32>
  %1 = bppsa.step_sum %a : tensor<?x?x{N}xf32> -> tensor<{N}xf32>
  return %0, %1 : tensor<{N}x{N}xf32>, tensor<{N}xf32>
}}
"""


@pytest.mark.parametrize("registers", [32, 8, 4])
@pytest.mark.parametrize("size", [3, 64])
def test_leaves_skip_padding_lanes(tmp_path, size, registers):
    """In padding lanes the loop computes 1 / 0."""
    kernels = Kernels(tmp_path, PADDED.format(N=size), registers)
    for steps, batch in itertools.product(LENGTHS, (1, 3, 15, 16, 17, 33)):
        (x,) = uniform(steps, (steps, batch, size))
        x = np.sign(x) + x
        expected = np.einsum("tbm,tbk->mk", x, 1 / x), (1 / x).sum((0, 1))
        found = kernels.call("sums", [x], [(size, size), (size,)])
        # Sums of many terms of mixed sign can be near zero, so compare means.
        check(*([value / (steps * batch) for value in values] for values in (found, expected)))


def test_long_sum_beats_sequential_accuracy(tmp_path):
    kernels = Kernels(tmp_path, LEAVES.format(M=1, K=1))
    values = np.full((1 << 18, 16, 1), 0.1, np.float32)
    product, total = kernels.call("sums", [values, values], [(1, 1), (1,)])
    for found, terms in ((product, values * values), (total, values)):
        exact = terms.sum(dtype=np.float64)
        in_order = np.cumsum(terms[:, 0, 0], dtype=np.float32)[-1] * 16
        assert abs(found.item() - exact) < abs(in_order - exact) / 10
