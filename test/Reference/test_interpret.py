"""bppsa-interpret: op semantics compared with numpy, archives, and error messages."""

import harness
import numpy as np
import pytest
from interpreting import interpret, refusal, run


IDENTITY = "func.func @main(%x: {0}) -> {0} {{ return %x : {0} }}"


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed], ids=["stored", "deflated"])
@pytest.mark.parametrize(
    "dtype, type",
    [("f4", "f32"), ("f8", "f32"), ("i4", "i32"), ("i8", "i64"), ("?", "i1")],
    ids=["float32", "float64", "int32", "int64", "bool"],
)
def test_archives(dtype, type, save, tmp_path):
    array = np.array([[0, 1, 1], [1, 0, 0]]).astype(dtype)
    for given in (array, np.asfortranarray(array)):
        (found,) = run(tmp_path, IDENTITY.format(f"tensor<?x3x{type}>"), given, save=save)
        np.testing.assert_array_equal(found, array)
        assert found.dtype in (np.float64, np.int64)


def test_scalars_and_empty_arrays(tmp_path):
    (found,) = run(tmp_path, IDENTITY.format("f32"), np.array(2.5))
    assert found.shape == () and found == 2.5
    (found,) = run(tmp_path, IDENTITY.format("tensor<?x3xf32>"), np.zeros((0, 3)))
    assert found.shape == (0, 3)


def test_floats_are_doubles(tmp_path):
    ir = """func.func @main(%x: f32) -> f32 {
      %c = arith.constant 1.0 : f32
      %0 = arith.addf %x, %c : f32
      %1 = arith.subf %0, %c : f32
      return %1 : f32 }"""
    (found,) = run(tmp_path, ir, np.array(1e-12))
    assert abs(found - 1e-12) < 1e-15


@pytest.mark.parametrize(
    "op, function",
    [
        ("math.tanh", np.tanh),
        ("math.exp", np.exp),
        ("math.log1p", np.log1p),
        ("math.rsqrt", lambda x: 1 / np.sqrt(x)),
        ("math.absf", np.abs),
        ("math.floor", np.floor),
        ("math.roundeven", np.round),
        ("arith.negf", np.negative),
        ("bppsa.sigmoid", lambda x: 1 / (1 + np.exp(-x))),
    ],
)
def test_elementwise_functions(op, function, tmp_path):
    ir = f"""func.func @main(%x: vector<4xf32>) -> vector<4xf32> {{
      %0 = {op} %x : vector<4xf32>
      return %0 : vector<4xf32> }}"""
    x = np.array([0.3, 0.5, 1.5, 2.5])
    np.testing.assert_allclose(run(tmp_path, ir, x)[0], function(x), rtol=1e-15)


@pytest.mark.parametrize(
    "op, type, a, b, expected",
    [
        ("arith.floordivsi", "i64", -7, 2, -4),
        ("arith.divsi", "i64", -7, 2, -3),
        ("arith.remsi", "i64", -7, 2, -1),
        ("arith.ceildivsi", "i64", 7, 2, 4),
        ("arith.shrui", "i32", -1, 28, 15),
        ("arith.shrsi", "i32", -16, 2, -4),
        ("arith.muli", "i32", 1 << 20, 1 << 20, 0),
        ("arith.addi", "i32", 2**31 - 1, 1, -(2**31)),
        ("arith.divui", "i32", -1, 2, 2**31 - 1),
    ],
)
def test_integers_wrap_and_divide(op, type, a, b, expected, tmp_path):
    ir = f"""func.func @main(%a: {type}, %b: {type}) -> {type} {{
      %0 = {op} %a, %b : {type}
      return %0 : {type} }}"""
    assert run(tmp_path, ir, np.array(a), np.array(b))[0] == expected


def test_structured_ops(tmp_path):
    ir = """func.func @main(%a: tensor<?x3xf32>, %b: tensor<3x?xf32>, %c: tensor<?x?xf32>)
        -> (tensor<?x?xf32>, tensor<?x?xi64>) {
      %0 = linalg.matmul ins(%a, %b : tensor<?x3xf32>, tensor<3x?xf32>)
          outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %m = tensor.dim %c, %c0 : tensor<?x?xf32>
      %n = tensor.dim %c, %c1 : tensor<?x?xf32>
      %e = tensor.empty(%n, %m) : tensor<?x?xi64>
      %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>],
          iterator_types = ["parallel", "parallel"]} outs(%e : tensor<?x?xi64>) {
      ^bb0(%o: i64):
        %i = linalg.index 0 : index
        %j = linalg.index 1 : index
        %s = affine.apply affine_map<(i, j) -> (10 * i + j)>(%i, %j)
        %v = arith.index_cast %s : index to i64
        linalg.yield %v : i64
      } -> tensor<?x?xi64>
      return %0, %1 : tensor<?x?xf32>, tensor<?x?xi64> }"""
    random = np.random.default_rng(0)
    a, b, c = (random.standard_normal(s) for s in ((2, 3), (3, 4), (2, 4)))
    product, numbers = run(tmp_path, ir, a, b, c)
    np.testing.assert_allclose(product, a @ b + c, rtol=1e-14)
    np.testing.assert_array_equal(numbers, 10 * np.arange(4)[:, None] + np.arange(2))


def test_slices_and_shapes(tmp_path):
    ir = """func.func @main(%x: tensor<4x6xf32>, %i: index)
        -> (tensor<2x3xf32>, tensor<4x6xf32>, tensor<4x3x2xf32>, tensor<8x6xf32>) {
      %0 = tensor.extract_slice %x[%i, 0] [2, 3] [1, 2] : tensor<4x6xf32> to tensor<2x3xf32>
      %1 = tensor.insert_slice %0 into %x[0, %i] [2, 3] [2, 1]
          : tensor<2x3xf32> into tensor<4x6xf32>
      %2 = tensor.expand_shape %x [[0], [1, 2]] output_shape [4, 3, 2]
          : tensor<4x6xf32> into tensor<4x3x2xf32>
      %3 = tensor.concat dim(0) %x, %1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
      return %0, %1, %2, %3
          : tensor<2x3xf32>, tensor<4x6xf32>, tensor<4x3x2xf32>, tensor<8x6xf32> }"""
    x = np.arange(24.0).reshape(4, 6)
    inserted = x.copy()
    inserted[0:4:2, 1:4] = x[1:3, ::2]
    expected = [x[1:3, ::2], inserted, x.reshape(4, 3, 2), np.concatenate([x, inserted])]
    for found, exact in zip(run(tmp_path, ir, x, np.array(1)), expected, strict=True):
        np.testing.assert_array_equal(found, exact)


def test_control_flow(tmp_path):
    ir = """func.func @twice(%x: f32) -> f32 {
      %0 = arith.addf %x, %x : f32
      return %0 : f32
    }
    func.func @main(%x: f32, %n: index) -> f32 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %0 = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> f32 {
        %small = arith.cmpi ult, %i, %c3 : index
        %1 = scf.if %small -> f32 {
          %2 = func.call @twice(%y) : (f32) -> f32
          scf.yield %2 : f32
        } else {
          scf.yield %y : f32
        }
        scf.yield %1 : f32
      }
      return %0 : f32 }"""
    assert run(tmp_path, ir, np.array(1.5), np.array(5))[0] == 12


def test_running_sums(tmp_path):
    """Steps are added to the sums of each block and lane; padding lanes are excluded."""
    ir = """func.func @main(%a: tensor<?x?x2x4xf32>, %b: tensor<?x?x3x4xf32>, %n: index,
        %o: tensor<?x2x3x4xf32>, %s: tensor<?x2x4xf32>)
        -> (tensor<?x2x3x4xf32>, tensor<2x3xf32>, tensor<?x2x4xf32>, tensor<2xf32>, tensor<2xf32>) {
      %0 = bppsa.add_to_sums 4 %a, %b into %o : tensor<?x?x2x4xf32>, tensor<?x?x3x4xf32>
          into tensor<?x2x3x4xf32> -> tensor<?x2x3x4xf32>
      %1 = bppsa.finish_sums 4 %0 batch %n : tensor<?x2x3x4xf32> -> tensor<2x3xf32>
      %2 = bppsa.add_to_sums 4 reverse %a into %s : tensor<?x?x2x4xf32> into tensor<?x2x4xf32>
          -> tensor<?x2x4xf32>
      %3 = bppsa.finish_sums 4 %2 batch %n : tensor<?x2x4xf32> -> tensor<2xf32>
      %4 = bppsa.finish_sums 4 %2 : tensor<?x2x4xf32> -> tensor<2xf32>
      return %0, %1, %2, %3, %4 : tensor<?x2x3x4xf32>, tensor<2x3xf32>, tensor<?x2x4xf32>,
          tensor<2xf32>, tensor<2xf32> }"""
    random = np.random.default_rng(3)
    shapes = (3, 5, 2, 4), (3, 5, 3, 4), (3, 2, 3, 4), (3, 2, 4)
    a, b, o, s = (random.standard_normal(shape) for shape in shapes)
    outer, steps = o + np.einsum("xtml,xtkl->xmkl", a, b), s + a.sum(axis=1)
    samples = np.moveaxis(outer, 3, 1).reshape(12, 2, 3), np.moveaxis(steps, 2, 1).reshape(12, 2)
    expected = [outer, samples[0][:10].sum(0), steps, samples[1][:10].sum(0), samples[1].sum(0)]
    for found, exact in zip(run(tmp_path, ir, a, b, np.array(10), o, s), expected, strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-13, atol=1e-14)
    message = refusal(tmp_path, ir, a, b[:, :4], np.array(10), o, s)
    assert "needs sequences of 5 steps and 12 samples, found other sizes" in message
    message = refusal(tmp_path, ir, a, b, np.array(10), o[:2], s)
    assert "needs states of 12 samples, found other sizes" in message


def test_unwritten_elements_are_nan(tmp_path):
    ir = """func.func @main() -> tensor<2xf32> {
      %0 = tensor.empty() : tensor<2xf32>
      return %0 : tensor<2xf32> }"""
    assert np.isnan(run(tmp_path, ir)[0]).all()


def test_refuses_unknown_ops(tmp_path):
    ir = """func.func @main(%x: vector<4xf32>) -> f32 {
      %0 = vector.reduction <add>, %x : vector<4xf32> into f32
      return %0 : f32 }"""
    message = refusal(tmp_path, ir, np.zeros(4))
    assert "'vector.reduction' op is not known to the reference interpreter" in message


def test_refuses_out_of_bounds_reads(tmp_path):
    ir = """func.func @main(%x: tensor<4xf32>, %i: index) -> f32 {
      %0 = tensor.extract %x[%i] : tensor<4xf32>
      return %0 : f32 }"""
    message = refusal(tmp_path, ir, np.zeros(4), np.array(4))
    assert "index 4 is outside of dimension 0 of size 4" in message


def test_refuses_wrong_arguments(tmp_path):
    ir = IDENTITY.format("tensor<?x3xf32>")
    assert "argument 0 has type 'tensor<?x3xf32>', found 2x4 float" in refusal(
        tmp_path, ir, np.zeros((2, 4))
    )
    assert "found 2x3 integer" in refusal(tmp_path, ir, np.zeros((2, 3), int))
    assert "array 'arg0' is missing" in refusal(tmp_path, ir)
    assert "found array 'x'" in refusal(tmp_path, ir, x=np.zeros(3))


def test_refuses_other_element_types(tmp_path):
    message = refusal(tmp_path, IDENTITY.format("tensor<?xi32>"), np.zeros(3, np.int16))
    assert "array 'arg0': found int16; use float32, float64, int32, int64 or bool" in message


def test_refuses_damaged_archives(tmp_path):
    tool = harness.require_tool("bppsa-interpret")
    (tmp_path / "in.mlir").write_text(IDENTITY.format("tensor<?xf32>"))
    np.savez(tmp_path / "in.npz", arg0=np.arange(1000.0))
    whole = (tmp_path / "in.npz").read_bytes()
    for content in (b"", b"random", whole[:500], whole[:-30], whole.replace(b"NUMPY", b"NUMPI")):
        (tmp_path / "in.npz").write_bytes(content)
        command = [tool, tmp_path / "in.mlir", "--inputs", tmp_path / "in.npz"]
        done = harness.run(*command, "--outputs", tmp_path / "out.npz")
        assert done.returncode == 1 and "in.npz': " in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert not (tmp_path / "out.npz").exists()
