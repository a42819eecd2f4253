"""convert-bppsa-to-linalg against numpy: what it writes is run in float64 by the reference
interpreter, and natively, through upstream passes, by mlir-runner."""

import pathlib
import re
import shutil
import sys

import harness
import numpy as np
import pytest

sys.path.insert(0, str(harness.ROOT / "test" / "Dialect" / "BPPSA" / "Transforms" / "Scan"))
import test_scan_trees as trees

LANES = """
func.func @chain(%x: tensor<?x?x4xf32>, %h: tensor<?x4xf32>)
    -> (tensor<?x?x4xf32>, tensor<4x4xf32>, tensor<4xf32>) {
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %x, %c1 : tensor<?x?x4xf32>
  %px = bppsa.pack_lanes 2, %x : tensor<?x?x4xf32> -> tensor<?x?x4x2xf32>
  %ph = bppsa.pack_lanes 2, %h : tensor<?x4xf32> -> tensor<?x4x2xf32>
  %t, %o = bppsa.recurrence reverse lanes 2 sequences(%px : tensor<?x?x4x2xf32>)
      initial(%ph : tensor<?x4x2xf32>) -> (tensor<?x?x4x2xf32>) outputs(tensor<?x?x4x2xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
    %half = arith.constant 0.5 : f32
    %halves = vector.broadcast %half : f32 to vector<4xf32>
    %0 = arith.mulf %ht, %halves : vector<4xf32>
    %1 = arith.addf %0, %xt : vector<4xf32>
    %2 = bppsa.sigmoid %1 : vector<4xf32>
    %low = vector.extract_strided_slice %2 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
    %3 = vector.insert_strided_slice %low, %2 {offsets = [2], strides = [1]} : vector<2xf32> into vector<4xf32>
    bppsa.yield %3, %3 : vector<4xf32>, vector<4xf32>
  }
  %outer = bppsa.outer_sum lanes 2 %o, %o batch %batch : tensor<?x?x4x2xf32>, tensor<?x?x4x2xf32> -> tensor<4x4xf32>
  %sum = bppsa.step_sum lanes 2 %px : tensor<?x?x4x2xf32> -> tensor<4xf32>
  %y = bppsa.unpack_lanes 2, %t, %batch : tensor<?x?x4x2xf32> -> tensor<?x?x4xf32>
  return %y, %outer, %sum : tensor<?x?x4xf32>, tensor<4x4xf32>, tensor<4xf32>
}
"""

CHAIN_OF_LANES = """
func.func @chain(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>, %r: tensor<4x4xf32>)
    -> (tensor<?x4xf32>, tensor<?x?x4xf32>) {
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %a, %c1 : tensor<?x?x4xf32>
  %pa = bppsa.pack_lanes 2, %a : tensor<?x?x4xf32> -> tensor<?x?x4x2xf32>
  %pg = bppsa.pack_lanes 2, %g : tensor<?x4xf32> -> tensor<?x4x2xf32>
  %p0, %pe = bppsa.chain lanes 2 saved(%pa : tensor<?x?x4x2xf32>) seeds(%pg : tensor<?x4x2xf32>)
      injected(%pa : tensor<?x?x4x2xf32>) inject_into [0] captures(%r : tensor<4x4xf32>)
      -> (tensor<?x4x2xf32>) emitted(tensor<?x?x4x2xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %rc: vector<4x4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    %1 = bppsa.matvec transposed %rc, %0 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %1, %0 : vector<4xf32>, vector<4xf32>
  }
  %g0 = bppsa.unpack_lanes 2, %p0, %batch : tensor<?x4x2xf32> -> tensor<?x4xf32>
  %e = bppsa.unpack_lanes 2, %pe, %batch : tensor<?x?x4x2xf32> -> tensor<?x?x4xf32>
  return %g0, %e : tensor<?x4xf32>, tensor<?x?x4xf32>
}
"""

NATIVE = [
    "--convert-elementwise-to-linalg",
    "--one-shot-bufferize=bufferize-function-boundaries",
    "--buffer-deallocation-pipeline",
    "--convert-linalg-to-loops",
    "--convert-scf-to-cf",
    "--expand-strided-metadata",
    "--lower-affine",
    "--convert-math-to-llvm",
    "--convert-math-to-libm",
    "--convert-to-llvm",
    "--reconcile-unrealized-casts",
]


@pytest.mark.parametrize("plan", ["linear", "blelloch", "hybrid:1", "chunked:3"])
@pytest.mark.parametrize("T", [1, 2, 7])
def test_trees(T, plan, tmp_path):
    arrays = trees.make_arrays(T)
    ir = trees.make_chain(trees.CHAIN, T, injected=True, reverse=False)
    expand = "--bppsa-expand-scan=unroll-up-to=64"
    passes = [f"--bppsa-scan=algorithm={plan}", trees.INFER, expand, "--convert-bppsa-to-linalg"]
    ir = trees.optimize(tmp_path, ir, *passes)
    assert "bppsa." not in ir
    trees.check(trees.interpret(tmp_path, ir, arrays), trees.run_chain(arrays, False, True))


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
def test_chain_of_dynamic_length(reverse, tmp_path):
    arrays = trees.make_arrays(5)
    ir = trees.make_chain(trees.CHAIN, "?", True, reverse)
    ir = trees.optimize(tmp_path, ir, "--convert-bppsa-to-linalg")
    assert "bppsa." not in ir
    trees.check(trees.interpret(tmp_path, ir, arrays), trees.run_chain(arrays, reverse, True))


def packed_example(x, h):
    """What LANES computes: a reversed recurrence, and sums over samples and steps."""
    trajectory = [h]
    for t in reversed(range(len(x))):
        state = 1 / (1 + np.exp(-(trajectory[0] / 2 + x[t])))
        state[:, 2:] = state[:, :2]
        trajectory.insert(0, state)
    states = np.stack(trajectory)
    return states, np.einsum("tbm,tbk->mk", states[:-1], states[:-1]), x.sum((0, 1))


@pytest.mark.parametrize("convert", [False, True], ids=["bppsa", "linalg"])
def test_packed_loops(convert, tmp_path):
    random = np.random.default_rng(3)
    x, h = random.uniform(-1, 1, (5, 3, 4)), random.uniform(-1, 1, (3, 4))
    ir = LANES
    if convert:
        ir = trees.optimize(tmp_path, ir, "--convert-bppsa-to-linalg")
        assert "bppsa." not in ir
    trees.check(trees.interpret(tmp_path, ir, [x, h]), packed_example(x, h))


@pytest.mark.parametrize("convert", [False, True], ids=["bppsa", "linalg"])
def test_packed_chain_with_a_capture(convert, tmp_path):
    random = np.random.default_rng(4)
    a, g, r = (random.uniform(-1, 1, shape) for shape in [(5, 3, 4), (3, 4), (4, 4)])
    ir = CHAIN_OF_LANES
    if convert:
        ir = trees.optimize(tmp_path, ir, "--convert-bppsa-to-linalg")
        assert "bppsa." not in ir
    cotangent, emitted = g, np.empty_like(a)
    for t in reversed(range(len(a))):
        emitted[t] = a[t] * (cotangent + a[t])
        cotangent = emitted[t] @ r
    trees.check(trees.interpret(tmp_path, ir, [a, g, r]), [cotangent, emitted])


def make_main(arrays):
    """A main function that calls @chain with constants and prints its results."""
    lines = ["func.func private @printMemrefF32(%m: memref<*xf32>)", "func.func @main() {"]
    types = []
    for i, array in enumerate(arrays):
        types.append("tensor<" + "x".join(map(str, array.shape)) + "xf32>")
        values = str(array.astype(np.float32).tolist())
        lines.append(f"  %s{i} = arith.constant dense<{values}> : {types[-1]}")
        dynamic = re.sub(r"(\d+)x(4|2)xf32", r"?x\2xf32", types[-1]) if 2 <= i < 4 else None
        if i in (0, 1, 4):
            dynamic = re.sub(r"<(\d+)x\d+x", r"<\1x?x", types[-1])
        lines.append(f"  %a{i} = tensor.cast %s{i} : {types[-1]} to {dynamic or types[-1]}")
        types[-1] = dynamic or types[-1]
    T = arrays[0].shape[0]
    results = ["tensor<?x4xf32>", "tensor<?x2xf32>", f"tensor<{T}x?x4xf32>"]
    names = ", ".join(f"%a{i}" for i in range(len(arrays)))
    signature = f"({', '.join(types)}) -> ({', '.join(results)})"
    lines.append(f"  %r:3 = func.call @chain({names}) : {signature}")
    for i, type in enumerate(results):
        memref = type.replace("tensor", "memref")
        lines.append(f"  %m{i} = bufferization.to_buffer %r#{i} : {type} to {memref}")
        lines.append(f"  %u{i} = memref.cast %m{i} : {memref} to memref<*xf32>")
        lines.append(f"  call @printMemrefF32(%u{i}) : (memref<*xf32>) -> ()")
    return "\n".join([*lines, "  return", "}"])


def parse_memrefs(text):
    """The arrays that printMemrefF32 printed, flat."""
    parts = text.split("data =")[1:]
    number = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")
    return [
        np.array([float(x) for x in number.findall(part.split("Unranked")[0])]) for part in parts
    ]


@pytest.mark.parametrize("plan", ["hybrid:0", "blelloch", "chunked:3"])
def test_native_execution(plan, tmp_path):
    version = (harness.ROOT / "cmake" / "LLVMVersion.txt").read_text().split(".")[0]
    llvm = pathlib.Path(f"/usr/lib/llvm-{version}")
    runner = shutil.which("mlir-runner", path=str(llvm / "bin"))
    if not runner:
        pytest.skip("mlir-runner is not installed")
    arrays = trees.make_arrays(7)
    ir = trees.make_chain(trees.CHAIN, 7, injected=True, reverse=False) + make_main(arrays)
    expand = "--bppsa-expand-scan=unroll-up-to=64"
    passes = [f"--bppsa-scan=algorithm={plan}", trees.INFER, expand, "--convert-bppsa-to-linalg"]
    source = tmp_path / "native.mlir"
    source.write_text(trees.optimize(tmp_path, ir, *passes, *NATIVE))
    libraries = f"{llvm}/lib/libmlir_runner_utils.so,{llvm}/lib/libmlir_c_runner_utils.so"
    run = harness.run(
        runner, source, "-e", "main", "--entry-point-result=void", f"--shared-libs={libraries}"
    )
    found = parse_memrefs(harness.check_succeeded(run).stdout)
    for value, exact in zip(found, trees.run_chain(arrays, False, True), strict=True):
        # Six digits are printed.
        np.testing.assert_allclose(value, exact.ravel(), rtol=1e-5, atol=1e-5)
