// RUN: bppsa-opt %s --bppsa-choose-cpu-mapping --bppsa-pack-batch | FileCheck %s

// Windows of four with stride two write 8 of 9 steps. The size of the result is the size of its
// destination, not the extent of the windows.
// CHECK-LABEL: func.func @windows
// CHECK-SAME: %[[INTO:[a-z0-9]+]]: tensor<?xf32>
// CHECK: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-NOT: affine.apply
// CHECK: %[[SIZE:.*]] = tensor.dim %[[INTO]], %[[ZERO]]
// CHECK: return %{{.*}}, %[[SIZE]]
func.func @windows(%frames: tensor<?x4xf32>, %into: tensor<?xf32>) -> (tensor<?xf32>, index) {
  %c0 = arith.constant 0 : index
  %sum = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0 * 2 + d1)>],
      iterator_types = ["reduction", "reduction"]}
      ins(%frames : tensor<?x4xf32>) outs(%into : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<?xf32>
  %size = tensor.dim %sum, %c0 : tensor<?xf32>
  return %sum, %size : tensor<?xf32>, index
}
