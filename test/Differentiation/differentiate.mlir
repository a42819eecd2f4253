// RUN: bppsa-opt %s --split-input-file --bppsa-differentiate | FileCheck %s
// RUN: bppsa-opt %s --split-input-file --bppsa-differentiate="name=grad wrt=all" | FileCheck %s --check-prefix=ALL

#vector = affine_map<(i) -> (i)>
#scalar = affine_map<(i) -> ()>

// Only parameters that are not frozen have a gradient, unless gradients of all inputs are
// requested.

// CHECK-LABEL: func.func @step(
// CHECK-SAME:    -> (tensor<f32> {bppsa.loss}, tensor<4xf32> {bppsa.gradient = "w"}) {
// CHECK-NEXT:    bppsa.mark_phase 0
// CHECK:         %[[LOSS:.*]] = linalg.generic
// CHECK:         bppsa.mark_phase 1
// CHECK:         %[[ONE:.*]] = arith.constant 1.000000e+00
// CHECK:         %[[SEED:.*]] = linalg.fill ins(%[[ONE]]
// CHECK:         %[[GRADIENT:.*]] = linalg.generic {{.*}} ins(%[[SEED]], %{{.*}}, %{{.*}} : tensor<f32>, tensor<4xf32>, tensor<4xf32>)
// CHECK-NOT:     linalg.generic
// CHECK:         return %[[LOSS]], %[[GRADIENT]]

// ALL-LABEL: func.func @grad(
// ALL-SAME:    -> (tensor<f32> {bppsa.loss}, tensor<4xf32> {bppsa.gradient = "x"}, tensor<4xf32> {bppsa.gradient = "w"}) {
func.func @loss(%x: tensor<4xf32> {bppsa.input = "x"}, %n: tensor<4xi64> {bppsa.input = "n"},
                %w: tensor<4xf32> {bppsa.parameter = "w"},
                %f: tensor<4xf32> {bppsa.parameter = "f", bppsa.frozen})
    -> (tensor<f32> {bppsa.loss}) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<f32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [#vector, #vector, #vector, #scalar], iterator_types = ["reduction"]}
      ins(%x, %w, %f : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) outs(%init : tensor<f32>) {
    ^bb0(%a: f32, %b: f32, %c: f32, %sum: f32):
      %0 = arith.mulf %a, %b : f32
      %1 = arith.mulf %0, %c : f32
      %2 = arith.addf %sum, %1 : f32
      linalg.yield %2 : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// The gradient is zero for an argument that the loss does not use and through bppsa.stop_gradient.

// CHECK-LABEL: func.func @step(
// CHECK:         %[[ZERO:.*]] = arith.constant 0.000000e+00
// CHECK:         %[[ZEROS:.*]] = linalg.fill ins(%[[ZERO]]
// CHECK:         return %{{.*}}, %[[ZEROS]] : tensor<f32>, tensor<?xf32>
func.func @loss(%x: tensor<f32>, %w: tensor<?xf32> {bppsa.parameter = "w"}) -> tensor<f32> {
  %0 = bppsa.stop_gradient %w : tensor<?xf32>
  return %x : tensor<f32>
}

// -----

// Slices that do not overlap are written into one tensor.

// CHECK-LABEL: func.func @step(
// CHECK:         %[[ZEROS:.*]] = linalg.fill {{.*}} -> tensor<2xf32>
// CHECK-NEXT:    %[[FIRST:.*]] = tensor.insert_slice %{{.*}} into %[[ZEROS]][1] [1] [1]
// CHECK-NEXT:    %[[SECOND:.*]] = tensor.insert_slice %{{.*}} into %[[FIRST]][0] [1] [1]
// CHECK-NEXT:    return %{{.*}}, %[[SECOND]]
func.func @loss(%w: tensor<2xf32> {bppsa.parameter = "w"}) -> tensor<f32> {
  %0 = tensor.extract_slice %w[0] [1] [1] : tensor<2xf32> to tensor<f32>
  %1 = tensor.extract_slice %w[1] [1] [1] : tensor<2xf32> to tensor<f32>
  %empty = tensor.empty() : tensor<f32>
  %2 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
      ins(%0, %1 : tensor<f32>, tensor<f32>) outs(%empty : tensor<f32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %3 = arith.mulf %a, %b : f32
      linalg.yield %3 : f32
  } -> tensor<f32>
  return %2 : tensor<f32>
}
