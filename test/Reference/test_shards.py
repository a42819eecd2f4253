"""bppsa-interpret: a single process holds all steps; transitions of shards match numpy."""

import harness
import numpy as np
from interpreting import run

ALONE = """
func.func @main(%map: tensor<?x3x3xf32>, %own: tensor<?x3xf32>)
    -> (tensor<?x3xf32>, tensor<?x3xf32>, tensor<f32>, tensor<?x3xf32>) {
  %scan = dist.shard_scan %map, %own channel 0 : tensor<?x3x3xf32>, tensor<?x3xf32> -> tensor<?x3xf32>
  %enter = dist.shard_enter %own channel 0 : tensor<?x3xf32> -> tensor<?x3xf32>
  %rest = dist.shard_leave %own channel 0 : tensor<?x3xf32> -> tensor<f32>
  %leave = dist.shard_leave transposed %own channel 0 : tensor<?x3xf32> -> tensor<?x3xf32>
  return %scan, %enter, %rest, %leave : tensor<?x3xf32>, tensor<?x3xf32>, tensor<f32>, tensor<?x3xf32>
}
"""

TRANSITION = """
func.func @main(%a: tensor<?x?x3xf32>, %w: tensor<3x3xf32>) -> tensor<?x3x3xf32> {
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %a, %c1 : tensor<?x?x3xf32>
  %into = tensor.empty(%batch) : tensor<?x3x3xf32>
  %m = bppsa.transition states [3] saved(%a : tensor<?x?x3xf32>)
      captures(%w : tensor<3x3xf32>) into(%into : tensor<?x3x3xf32>) -> tensor<?x3x3xf32> {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>, %wc: vector<3x3xf32>):
    %0 = arith.mulf %at, %gt : vector<3xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<3x3xf32>, vector<3xf32> -> vector<3xf32>
    bppsa.yield %1 : vector<3xf32>
  }
  return %m : tensor<?x3x3xf32>
}
"""


def test_one_process_has_all_steps(tmp_path):
    rng = np.random.default_rng(0)
    own = rng.normal(size=(2, 3)).astype(np.float32)
    scan, enter, rest, leave = run(tmp_path, ALONE, rng.normal(size=(2, 3, 3)).astype(np.float32), own)
    assert scan.shape == leave.shape == (2, 3) and not scan.any() and not leave.any() and rest == 0
    assert np.array_equal(enter, own)


def test_packed_transition_is_jacobian_product(tmp_path):
    """5 samples in lanes of 2: the links of 4 steps, last step first, applied to unit vectors."""
    rng = np.random.default_rng(1)
    a, w = (rng.normal(size=shape).astype(np.float32) for shape in [(4, 5, 3), (3, 3)])
    (tmp_path / "plain.mlir").write_text(TRANSITION)
    words = ["--bppsa-choose-cpu-mapping=lanes=2", "--bppsa-pack-batch"]
    packed = harness.check_succeeded(harness.run(harness.require_tool("bppsa-opt"), tmp_path / "plain.mlir", *words))
    assert "bppsa.transition lanes 2" in packed.stdout
    (found,) = run(tmp_path, packed.stdout, a, w)
    for sample in range(5):
        expected = np.eye(3)
        for step in reversed(range(4)):
            expected = w.T.astype(np.float64) @ np.diag(a[step, sample].astype(np.float64)) @ expected
        # Column c of the matrix is row c of the array.
        assert np.allclose(found[sample].T, expected, rtol=1e-5, atol=1e-6)
