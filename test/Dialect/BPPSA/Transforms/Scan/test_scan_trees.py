"""Compares scan trees in the reference interpreter with a loop in numpy.

The link is a linear map of two states that reads saved activations, so its products do not commute.
Cotangents are injected and values for the leaves are emitted at every step. A second link only
scales its states, so its trees consist of diagonal transitions.
"""

import itertools

import harness
import numpy as np
import pytest
from gradients import append_calls

B, N1, N2 = 3, 4, 2
PLANS = ["hybrid:0", "blelloch", "hybrid:1", "hybrid:2", "hybrid:9"]
PLANS += ["chunked:1", "chunked:2", "chunked:3", "chunked:5", "chunked:64"]

# Scan expansion requires the inferred structure.
INFER = "--bppsa-infer-structure=loops-only"

FUNCTION = """
func.func @chain(%a: tensor<{T}x?x4xf32>, %b: tensor<{T}x?x2xf32>, %g: tensor<?x4xf32>,
    %k: tensor<?x2xf32>, %s: tensor<{T}x?x4xf32>, %w: tensor<4x4xf32>, %u: tensor<4x2xf32>)
    -> (tensor<?x4xf32>, tensor<?x2xf32>, tensor<{T}x?x4xf32>) {attributes} {{
  %0:3 = bppsa.chain {reverse}
      saved(%a, %b : tensor<{T}x?x4xf32>, tensor<{T}x?x2xf32>)
      seeds(%g, %k : tensor<?x4xf32>, tensor<?x2xf32>)
      {injected}
      captures(%w, %u : tensor<4x4xf32>, tensor<4x2xf32>)
      -> (tensor<?x4xf32>, tensor<?x2xf32>) emitted(tensor<{T}x?x4xf32>) {{
  ^bb0(%at: vector<4xf32>, %bt: vector<2xf32>, %gt: vector<4xf32>, %kt: vector<2xf32>,
       %wc: vector<4x4xf32>, %uc: vector<4x2xf32>):
    {link}
  }}
  return %0#0, %0#1, %0#2 : tensor<?x4xf32>, tensor<?x2xf32>, tensor<{T}x?x4xf32>
}}
"""

# The products of this link do not commute.
CHAIN = """
%d = arith.mulf %at, %gt : vector<4xf32>
%e = bppsa.matvec transposed %wc, %d : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
%f = bppsa.matvec %uc, %kt plus %e : vector<4x2xf32>, vector<2xf32> plus vector<4xf32> -> vector<4xf32>
%h = bppsa.matvec transposed %uc, %gt : vector<4x2xf32>, vector<4xf32> -> vector<2xf32>
%i = arith.mulf %h, %bt : vector<2xf32>
%j = arith.addf %i, %kt : vector<2xf32>
bppsa.yield %f, %j, %d : vector<4xf32>, vector<2xf32>, vector<4xf32>
"""

# The link does not use the captured matrices.
DIAGONAL = """
%d = arith.mulf %at, %gt : vector<4xf32>
%e = arith.subf %gt, %d : vector<4xf32>
%j = arith.mulf %bt, %kt : vector<2xf32>
bppsa.yield %e, %j, %d : vector<4xf32>, vector<2xf32>, vector<4xf32>
"""

# Mergeable and unmergeable terms with signs, a quotient and a mask.
SCALED = """
%two = arith.constant dense<2.0> : vector<4xf32>
%zero = arith.constant dense<0.0> : vector<4xf32>
%c = arith.addf %at, %two : vector<4xf32>
%q = arith.divf %gt, %c : vector<4xf32>
%d = arith.mulf %at, %gt : vector<4xf32>
%n = arith.subf %q, %d : vector<4xf32>
%e = bppsa.matvec transposed %wc, %n : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
%l = bppsa.matvec transposed %wc, %gt : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
%m = arith.mulf %l, %at : vector<4xf32>
%o = arith.subf %e, %m : vector<4xf32>
%p = arith.cmpf ogt, %at, %zero : vector<4xf32>
%r = arith.select %p, %gt, %zero : vector<4xi1>, vector<4xf32>
%f = arith.subf %o, %r : vector<4xf32>
%h = bppsa.matvec transposed %uc, %gt : vector<4x2xf32>, vector<4xf32> -> vector<2xf32>
%i = arith.mulf %h, %bt : vector<2xf32>
%v = arith.negf %i : vector<2xf32>
%j = arith.addf %v, %kt : vector<2xf32>
%x = math.exp %d : vector<4xf32>
bppsa.yield %f, %j, %x : vector<4xf32>, vector<2xf32>, vector<4xf32>
"""


def make_chain(link, T, injected, reverse, attributes=""):
    clause = f"injected(%s : tensor<{T}x?x4xf32>) inject_into [0]" if injected else ""
    direction = "reverse" if reverse else ""
    return FUNCTION.format(
        T=T, link=link.strip(), injected=clause, reverse=direction, attributes=attributes
    )


def make_arrays(T):
    random = np.random.default_rng(T)
    shapes = [(T, B, N1), (T, B, N2), (B, N1), (B, N2), (T, B, N1), (N1, N1), (N1, N2)]
    return [random.uniform(-1, 1, shape) for shape in shapes]


def run_chain(arrays, reverse, injected):
    a, b, g, k, s, w, u = arrays
    emitted = np.zeros_like(a)
    for t in range(len(a)) if reverse else reversed(range(len(a))):
        if injected:
            g = g + s[t]
        emitted[t] = a[t] * g
        g, k = k @ u.T + emitted[t] @ w, (g @ u) * b[t] + k
    return g, k, emitted


def walk_diagonal(arrays, reverse, injected):
    a, b, g, k, s = arrays[:5]
    emitted = np.zeros_like(a)
    for t in range(len(a)) if reverse else reversed(range(len(a))):
        if injected:
            g = g + s[t]
        emitted[t] = a[t] * g
        g, k = g - emitted[t], b[t] * k
    return g, k, emitted


def run_scaled(arrays, reverse, injected):
    a, b, g, k, s, w, u = arrays
    emitted = np.zeros_like(a)
    for t in range(len(a)) if reverse else reversed(range(len(a))):
        if injected:
            g = g + s[t]
        emitted[t] = np.exp(a[t] * g)
        scaled = (1 / (a[t] + 2) - a[t]) * g
        g, k = scaled @ w - a[t] * (g @ w) - (a[t] > 0) * g, k - b[t] * (g @ u)
    return g, k, emitted


def interpret(tmp_path, ir, arrays):
    interpreter = harness.require_tool("bppsa-interpret")
    (tmp_path / "in.mlir").write_text(ir)
    np.savez(tmp_path / "in.npz", **{f"arg{i}": array for i, array in enumerate(arrays)})
    command = [interpreter, tmp_path / "in.mlir", "--function=chain"]
    command += ["--inputs", tmp_path / "in.npz", "--outputs", tmp_path / "out.npz"]
    harness.check_succeeded(harness.run(*command))
    with np.load(tmp_path / "out.npz") as loaded:
        return [loaded[f"res{i}"] for i in range(len(loaded.files))]


def optimize(tmp_path, ir, *passes):
    source = tmp_path / "source.mlir"
    source.write_text(ir)
    return harness.check_succeeded(
        harness.run(harness.require_tool("bppsa-opt"), source, *passes)
    ).stdout


def check(found, expected):
    for value, exact in zip(found, expected, strict=True):
        np.testing.assert_allclose(value, exact, rtol=1e-12, atol=1e-13)


# (cotangents injected at every step, chain walks forward)
VARIANTS = list(itertools.product([False, True], repeat=2))


def check_variants(tmp_path, link, exact, T, passes, attributes=""):
    """Transforms all variants in one process and checks them; returns the function of each."""
    arrays = make_arrays(T)
    chains = [make_chain(link, T, *variant, attributes) for variant in VARIANTS]
    names = [f"chain{k}" for k in range(len(chains))]
    source = "".join(c.replace("@chain(", f"@{name}(") for c, name in zip(chains, names))
    module = optimize(tmp_path, source, *passes)
    calls = append_calls(module, [(name, arrays) for name in names], arrays)
    found = interpret(tmp_path, calls.replace("@calls(", "@chain("), arrays)
    for k, (injected, reverse) in enumerate(VARIANTS):
        check(found[3 * k : 3 * k + 3], exact(arrays, reverse, injected))
    functions = module.split("func.func ")[1:]
    assert len(functions) == len(VARIANTS)
    return functions


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("T", [1, 2, 3, 7, 8, 13])
def test_expanded_tree(T, plan, tmp_path):
    passes = [f"--bppsa-scan=algorithm={plan}", INFER, "--bppsa-expand-scan=unroll-up-to=64"]
    for tree in check_variants(tmp_path, CHAIN, run_chain, T, passes):
        assert "bppsa.chain" not in tree


@pytest.mark.parametrize("lanes", [0, 2], ids=["plain", "packed"])
@pytest.mark.parametrize(
    "link, exact", [(CHAIN, run_chain), (SCALED, run_scaled)], ids=["products", "scaled"]
)
@pytest.mark.parametrize("plan", ["blelloch", "hybrid:1"])
@pytest.mark.parametrize("T", [1, 2, 7, 8])
def test_tree_of_factors(T, plan, link, exact, lanes, tmp_path):
    """Leaves are computed from the scaled matrices that make up the Jacobian of the link."""
    passes = [f"--bppsa-scan=algorithm={plan}"]
    if lanes:
        passes += [f"--bppsa-choose-cpu-mapping=lanes={lanes}", "--bppsa-pack-batch"]
    passes += [INFER, "--bppsa-expand-scan=factor-links"]
    for tree in check_variants(tmp_path, link, exact, T, passes):
        assert "bppsa.factored_transition" in tree and "bppsa.transition" not in tree


@pytest.mark.parametrize(
    "link, exact", [(CHAIN, run_chain), (DIAGONAL, walk_diagonal)], ids=["products", "diagonal"]
)
@pytest.mark.parametrize("plan", ["chunked:1", "chunked:3", "chunked:8"])
@pytest.mark.parametrize("T", [1, 3, 8, 13])
def test_chunks_in_lanes(T, plan, link, exact, tmp_path):
    passes = [f"--bppsa-scan=algorithm={plan}", "--bppsa-choose-cpu-mapping", "--bppsa-pack-batch"]
    passes += [INFER, "--bppsa-expand-scan"]
    attributes = "attributes {bppsa.lanes = 1 : i64}"
    # A single chunk is the sequential chain.
    is_one = int(plan.split(":")[1]) >= T
    for rows in check_variants(tmp_path, link, exact, T, passes, attributes):
        assert ("bppsa.pack_chunks" in rows) != is_one
        assert rows.count("bppsa.transition ") == (0 if is_one else 1)


LEAVES = """
func.func @chain(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>, %x: tensor<?x?x3xf32>)
    -> (tensor<?x4xf32>, tensor<4x3xf32>, tensor<4xf32>) {{
  %0, %d = bppsa.chain {reverse} saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>)
      -> (tensor<?x4xf32>) emitted(tensor<?x?x4xf32>) {{
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1, %gt : vector<4xf32>, vector<4xf32>
  }}
  %w = bppsa.outer_sum %d, %x : tensor<?x?x4xf32>, tensor<?x?x3xf32> -> tensor<4x3xf32>
  %s = bppsa.step_sum %d : tensor<?x?x4xf32> -> tensor<4xf32>
  return %0, %w, %s : tensor<?x4xf32>, tensor<4x3xf32>, tensor<4xf32>
}}
"""


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize("fused", [False, True], ids=["leaves", "fused"])
def test_sums(fused, reverse, tmp_path):
    """Sums over steps and samples are correct after a chain and fused into a scan."""
    random = np.random.default_rng(0)
    a, g, x = (random.uniform(-1, 1, shape) for shape in ((5, B, 4), (B, 4), (5, B, 3)))
    ir = LEAVES.format(reverse="reverse" if reverse else "")
    passes = ["--bppsa-scan=algorithm=chunked:2", "--bppsa-fuse-gradients"] if fused else []
    ir = optimize(tmp_path, ir, *passes)
    assert ("_sum %" in ir) != fused and ("sum_with [0, -1]" in ir) == fused
    cotangent, products, total = g, 0, 0
    for t in range(5) if reverse else reversed(range(5)):
        products, total = products + cotangent.T @ x[t], total + cotangent.sum(0)
        cotangent = a[t] * cotangent
    check(interpret(tmp_path, ir, [a, g, x]), (cotangent, products, total))


@pytest.mark.parametrize("injected", [False, True], ids=["last", "every"])
@pytest.mark.parametrize("plan", ["hybrid:0", "blelloch", "hybrid:1", "chunked:3"])
@pytest.mark.parametrize("T", [1, 2, 7, 8])
def test_tree_of_diagonals(T, plan, injected, tmp_path):
    arrays = make_arrays(T)
    ir = make_chain(DIAGONAL, T, injected, reverse=False)
    passes = [f"--bppsa-scan=algorithm={plan}", INFER, "--bppsa-expand-scan=unroll-up-to=64"]
    tree = optimize(tmp_path, ir, *passes)
    assert "xf32, diagonal, batch" in tree and "dense" not in tree
    check(interpret(tmp_path, tree, arrays), walk_diagonal(arrays, False, injected))
