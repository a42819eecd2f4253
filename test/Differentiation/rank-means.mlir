// RUN: bppsa-opt %s --bppsa-specialize-training | FileCheck %s
// RUN: bppsa-opt %s --bppsa-specialize-training --bppsa-differentiate="of=training_loss name=step wrt=parameters" | FileCheck %s --check-prefix=STEP

#map = affine_map<() -> ()>

// Outside of training, there are no means over ranks.
// CHECK-LABEL: func.func @loss
//   CHECK-NOT:   dist.rank
//       CHECK:   return
func.func @loss(%w: tensor<f32> {bppsa.parameter = "w"}, %x: tensor<f32>) -> (tensor<f32> {bppsa.loss}) {
  %unused = dist.rank_mean %x : tensor<f32> -> tensor<f32>
  %empty = tensor.empty() : tensor<f32>
  %0 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = []}
      ins(%w, %x : tensor<f32>, tensor<f32>) outs(%empty : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %product = arith.mulf %a, %b : f32
    linalg.yield %product : f32
  } -> tensor<f32>
  %1 = dist.rank_mean %0 : tensor<f32> -> tensor<f32>
  %2 = linalg.generic {indexing_maps = [#map, #map], iterator_types = []}
      ins(%1 : tensor<f32>) outs(%empty : tensor<f32>) {
  ^bb0(%a: f32, %out: f32):
    %tanh = math.tanh %a : f32
    linalg.yield %tanh : f32
  } -> tensor<f32>
  return %2 : tensor<f32>
}

// The differentiated objective is the loss times the weight of the samples of the rank.
// CHECK-LABEL: func.func private @training_loss
//  CHECK-SAME:   -> (tensor<f32> {bppsa.loss}, tensor<f32> {bppsa.objective})
//       CHECK:   %[[OWN:.*]] = linalg.generic
//       CHECK:   %[[ALL:.*]] = dist.rank_mean %[[OWN]] : tensor<f32> -> tensor<f32>
//       CHECK:   %[[LOSS:.*]] = linalg.generic {{.*}} ins(%[[ALL]] :
//       CHECK:   %[[WEIGHT:.*]] = dist.rank_weight : f32
//       CHECK:   %[[OBJECTIVE:.*]] = linalg.generic {{.*}} ins(%[[LOSS]] :
//       CHECK:     arith.mulf %{{.*}}, %[[WEIGHT]]
//       CHECK:   return %[[LOSS]], %[[OBJECTIVE]]

// Cotangents of means over ranks are also averaged over ranks.
// STEP-LABEL: func.func @step
//       STEP:   %[[ALL:.*]] = dist.rank_mean %{{.*}} : tensor<f32>
//       STEP:   bppsa.mark_phase 1
//       STEP:   %[[COTANGENT:.*]] = dist.rank_mean transposed %{{.*}} : tensor<f32>
//   STEP-NOT:   dist.rank_mean
//       STEP:   ins(%[[COTANGENT]],
