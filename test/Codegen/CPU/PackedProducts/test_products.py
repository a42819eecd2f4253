"""Compares each explicit product mapping with sums over the indexing maps in float64."""

import pathlib
import re
import shutil

import harness
import numpy as np
import pytest

LOOPS = {
    # Loop sizes, and the indices of lhs, rhs and result.
    "convolution": (
        dict(n=3, m=13, i=5, j=6, c=7, k=3, l=2),
        ["n, c, i * 2 + k * 3, j + l", "m, c, k, l", "n, m, i, j"],
    ),
    "weights": (
        dict(n=3, m=13, i=5, j=6, c=7, k=3, l=2),
        ["n, m, i, j", "n, c, i * 2 + k * 3, j + l", "m, c, k, l"],
    ),
    "image": (
        dict(n=3, m=13, i=5, j=6, c=7, k=3, l=2),
        ["n, m, i, j", "m, c, k, l", "n, c, i * 2 + k * 3, j + l"],
    ),
    # Contiguous elements that are copied as vectors, and square tiles that are transposed.
    "wide": (dict(n=2, m=40, i=4, j=8, c=3), ["n, c, i, j", "m, c", "n, m, i, j"]),
    "squares": (dict(n=2, m=9, c=11, k=24), ["n, k, m", "n, c, k", "n, m, c"]),
    "groups": (
        dict(n=2, g=3, m=5, i=9, c=2, k=3),
        ["n, g, c, i + k", "g, m, c, k", "n, g, m, i"],
    ),
    # More rows, lanes and terms than one block holds.
    "blocks": (dict(n=270, m=530, k=300), ["n, k", "m, k", "n, m"]),
    "image_of_one_channel": (dict(n=2, i=20, k=3, m=4), ["n, m, i", "m, k", "n, i + k"]),
    "row": (dict(n=1, m=37, k=5), ["n, k", "k, m", "n, m"]),
}
MAPPINGS = ["direct", "packed_lhs", "packed_rhs"]
PASSES = [
    "--convert-linalg-to-loops",
    "--expand-strided-metadata",
    "--lower-affine",
    "--convert-scf-to-cf",
    "--convert-vector-to-llvm",
    "--convert-to-llvm",
    "--reconcile-unrealized-casts",
]


def evaluate(expression, places):
    return [eval(part, {}, places) for part in expression.split(",")]


def make_arrays(sizes, maps):
    """Returns random arrays and the result according to the maps, in float64."""
    random = np.random.default_rng(5)
    last = evaluate_all(maps, {loop: size - 1 for loop, size in sizes.items()})
    arrays = [random.integers(-8, 9, [i + 1 for i in place]) / 8 for place in last]
    places = dict(zip(sizes, np.indices(list(sizes.values())), strict=True))
    lhs, rhs, result = (tuple(place) for place in evaluate_all(maps, places))
    exact = arrays[2].copy()
    np.add.at(exact, result, arrays[0][lhs] * arrays[1][rhs])
    return arrays, exact


def evaluate_all(maps, places):
    return [evaluate(expression, places) for expression in maps]


def make_module(sizes, maps, arrays, mapping):
    """Returns a program that prints the product of constant arrays with a dynamic first
    dimension."""
    dims = ", ".join(sizes)
    kinds = ["parallel" if re.fullmatch(rf".*\b{d}\b.*", maps[2]) else "reduction" for d in sizes]
    # Loops over a window of the result accumulate into one element.
    window = re.findall(r"\+ (\w)", maps[2])
    kinds = ["reduction" if d in window else kind for d, kind in zip(sizes, kinds, strict=True)]
    types = ["memref<" + "x".join(map(str, a.shape)) + "xf32>" for a in arrays]
    dynamic = [re.sub(r"<\d+x", "<?x", type) for type in types]
    text = ["func.func private @printMemrefF32(%m: memref<*xf32>)"]
    for i, (array, type) in enumerate(zip(arrays, types, strict=True)):
        values = f"dense<{array.tolist()}> : {type.replace('memref', 'tensor')}"
        text.append(f"memref.global @a{i} : {type} = {values.split(' : ')[0]}")
    affine = ", ".join(f"affine_map<({dims}) -> ({m})>" for m in maps)
    iterators = ", ".join(f'"{kind}"' for kind in kinds)
    text.append(f"""
func.func @product(%a: {dynamic[0]}, %b: {dynamic[1]}, %c: {dynamic[2]}) {{
  linalg.generic {{indexing_maps = [{affine}], iterator_types = [{iterators}]}}
      ins(%a, %b : {dynamic[0]}, {dynamic[1]}) outs(%c : {dynamic[2]})
      attrs = {{bppsa.mapping = #bppsa.product_mapping<{mapping}>}} {{
    ^bb0(%x: f32, %y: f32, %sum: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %sum, %p : f32
      linalg.yield %s : f32
  }}
  return
}}
func.func @main() {{""")
    for i in range(3):
        text.append(f"  %s{i} = memref.get_global @a{i} : {types[i]}")
        text.append(f"  %d{i} = memref.cast %s{i} : {types[i]} to {dynamic[i]}")
    text.append(f"  call @product(%d0, %d1, %d2) : ({', '.join(dynamic)}) -> ()")
    text.append(f"  %u = memref.cast %s2 : {types[2]} to memref<*xf32>")
    text.append("  call @printMemrefF32(%u) : (memref<*xf32>) -> ()\n  return\n}")
    return "\n".join(text)


def run_natively(directory, module, registers):
    version = (harness.ROOT / "cmake" / "LLVMVersion.txt").read_text().split(".")[0]
    llvm = pathlib.Path(f"/usr/lib/llvm-{version}")
    runner = shutil.which("mlir-runner", path=str(llvm / "bin"))
    if not runner:
        pytest.skip("mlir-runner is not installed")
    source, lowered = directory / "product.mlir", directory / "lowered.mlir"
    source.write_text(module)
    products = [
        f"--bppsa-pack-products=registers={registers}",
        f"--bppsa-vectorize-contractions=registers={registers}",
    ]
    optimizer = harness.require_tool("bppsa-opt")
    harness.check_succeeded(harness.run(optimizer, source, *products, *PASSES, "-o", lowered))
    libraries = f"{llvm}/lib/libmlir_runner_utils.so,{llvm}/lib/libmlir_c_runner_utils.so"
    end = ["-e", "main", "--entry-point-result=void", f"--shared-libs={libraries}"]
    printed = harness.check_succeeded(harness.run(runner, lowered, *end)).stdout
    numbers = re.findall(r"-?\d+\.?\d*(?:e[-+]?\d+)?", printed.split("data =")[1])
    return np.array([float(number) for number in numbers])


@pytest.mark.parametrize("registers", [32, 8, 4])
@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("name", LOOPS)
def test_product(name, mapping, registers, tmp_path):
    sizes, maps = LOOPS[name]
    arrays, exact = make_arrays(sizes, maps)
    module = make_module(sizes, maps, arrays, mapping)
    found = run_natively(tmp_path, module, registers)
    # The program prints six digits.
    np.testing.assert_allclose(found, exact.ravel(), rtol=1e-5, atol=1e-5)
