// RUN: bppsa-opt %s --bppsa-shard-time | FileCheck %s
// RUN: bppsa-opt %s --bppsa-shard-time --bppsa-differentiate="of=sharded_loss name=shard wrt=states" --canonicalize --cse | FileCheck %s --check-prefix=GRADIENTS

// A state h that becomes h w, an integer state that does not change, and the loss sum(h w).

// The function on a whole sequence is unchanged.
// CHECK-LABEL: func.func @training_loss(
// CHECK-NOT:     dist.rank_weight

// Only the floating-point state has a cotangent.
// CHECK-LABEL: func.func private @sharded_loss(
// CHECK-SAME:    %{{[^:]*}}: tensor<4xf32> {bppsa.parameter = "w"}, %[[COTANGENT:[^:]*]]: tensor<?x4xf32> {bppsa.cotangent = "h_next", bppsa.shape = #{{[a-z0-9]*}}})
// CHECK-SAME:    tensor<f32> {bppsa.objective})
// CHECK:         %[[LOSS:.*]] = linalg.generic {{.*}}iterator_types = ["reduction", "reduction"]
// CHECK:         %[[NEXT:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]
// CHECK:         linalg.generic {{.*}} ins(%[[NEXT]], %[[COTANGENT]] :
// CHECK:         %[[WEIGHT:.*]] = dist.rank_weight
// CHECK:         %[[WEIGHTED:.*]] = linalg.generic {{.*}} ins(%[[LOSS]] : tensor<f32>)
// CHECK:           arith.mulf %{{.*}}, %[[WEIGHT]]
// CHECK:         %[[OBJECTIVE:.*]] = linalg.generic {{.*}} ins(%[[WEIGHTED]], %{{.*}} : tensor<f32>, tensor<f32>)
// CHECK:         return %[[LOSS]], %[[NEXT]], %{{.*}}, %[[OBJECTIVE]] :

// Gradients of parameters and states, and of no other input.
// GRADIENTS-LABEL: func.func @shard(
// GRADIENTS-SAME:    -> (tensor<f32> {bppsa.loss}, tensor<?x4xf32> {bppsa.gradient = "h"}, tensor<4xf32> {bppsa.gradient = "w"}, tensor<?x4xf32> {bppsa.carried = "h", bppsa.output = "h_next", bppsa.shape = #{{[a-z0-9]*}}}, tensor<?xi64> {bppsa.carried = "n", bppsa.output = "n_next"})

#map = affine_map<(d0, d1) -> (d0, d1)>
#shape = affine_map<()[s0] -> (s0, 4)>
func.func @training_loss(
    %x: tensor<?x?x4xf32> {bppsa.input = "x"},
    %h: tensor<?x4xf32> {bppsa.input = "h", bppsa.carried = "h_next", bppsa.shape = #shape},
    %n: tensor<?xi64> {bppsa.input = "n", bppsa.carried = "n_next"},
    %w: tensor<4xf32> {bppsa.parameter = "w"}) -> (
    tensor<f32> {bppsa.loss},
    tensor<?x4xf32> {bppsa.output = "h_next", bppsa.carried = "h", bppsa.shape = #shape},
    tensor<?xi64> {bppsa.output = "n_next", bppsa.carried = "n"}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %0 = tensor.empty() : tensor<f32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<f32>) -> tensor<f32>
  %2 = linalg.generic {indexing_maps = [#map, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> ()>],
                       iterator_types = ["reduction", "reduction"]}
      ins(%h, %w : tensor<?x4xf32>, tensor<4xf32>) outs(%1 : tensor<f32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %3 = arith.mulf %a, %b : f32
      %4 = arith.addf %3, %c : f32
      linalg.yield %4 : f32
  } -> tensor<f32>
  %n0 = tensor.dim %h, %c0 : tensor<?x4xf32>
  %5 = tensor.empty(%n0) : tensor<?x4xf32>
  %6 = linalg.generic {indexing_maps = [#map, affine_map<(d0, d1) -> (d1)>, #map],
                       iterator_types = ["parallel", "parallel"]}
      ins(%h, %w : tensor<?x4xf32>, tensor<4xf32>) outs(%5 : tensor<?x4xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %7 = arith.mulf %a, %b : f32
      linalg.yield %7 : f32
  } -> tensor<?x4xf32>
  return %2, %6, %n : tensor<f32>, tensor<?x4xf32>, tensor<?xi64>
}
