// RUN: bppsa-opt %s --split-input-file "--bppsa-differentiate=of=loss name=step" | FileCheck %s

// Slices that are disjoint along one axis are written into one tensor; overlapping slices are
// added.

// CHECK-LABEL: func.func @step(
// CHECK:         %[[A:.*]] = tensor.insert_slice %{{.*}} into %{{.*}}[1, 1] [1, 1]
// CHECK:         %[[B:.*]] = tensor.insert_slice %{{.*}} into %[[A]][1, 0] [1, 1]
// CHECK:         %[[C:.*]] = tensor.insert_slice %{{.*}} into %[[B]][0, 1] [1, 1]
// CHECK:         %[[D:.*]] = tensor.insert_slice %{{.*}} into %[[C]][0, 0] [1, 1]
// CHECK-NEXT:    return %{{.*}}, %[[D]]
func.func @loss(%w: tensor<2x2xf32> {bppsa.parameter = "w"}) -> tensor<f32> {
  %a = tensor.extract_slice %w[0, 0] [1, 1] [1, 1] : tensor<2x2xf32> to tensor<f32>
  %b = tensor.extract_slice %w[0, 1] [1, 1] [1, 1] : tensor<2x2xf32> to tensor<f32>
  %c = tensor.extract_slice %w[1, 0] [1, 1] [1, 1] : tensor<2x2xf32> to tensor<f32>
  %d = tensor.extract_slice %w[1, 1] [1, 1] [1, 1] : tensor<2x2xf32> to tensor<f32>
  %empty = tensor.empty() : tensor<f32>
  %product = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
      ins(%a, %b, %c, %d : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) outs(%empty : tensor<f32>) {
    ^bb0(%0: f32, %1: f32, %2: f32, %3: f32, %o: f32):
      %4 = arith.mulf %0, %1 : f32
      %5 = arith.mulf %4, %2 : f32
      %6 = arith.mulf %5, %3 : f32
      linalg.yield %6 : f32
    } -> tensor<f32>
  return %product : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @step(
// CHECK:         %[[ZEROS:.*]] = linalg.fill {{.*}} -> tensor<5xf32>
// CHECK:         %[[LAST:.*]] = tensor.insert_slice %{{.*}} into %[[ZEROS]][4] [1] [1]
// CHECK:         %[[SECOND:.*]] = tensor.insert_slice %{{.*}} into %{{.*}}[2] [1] [2]
// CHECK:         %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[LAST]], %[[SECOND]] :
// CHECK:         %[[FIRST:.*]] = tensor.insert_slice %{{.*}} into %{{.*}}[2] [1] [1]
// CHECK:         %[[ALL:.*]] = linalg.generic {{.*}} ins(%[[SUM]], %[[FIRST]] :
// CHECK:         return %{{.*}}, %[[ALL]]
func.func @loss(%w: tensor<5xf32> {bppsa.parameter = "w"}) -> tensor<f32> {
  %a = tensor.extract_slice %w[2] [1] [1] : tensor<5xf32> to tensor<f32>
  %b = tensor.extract_slice %w[2] [1] [2] : tensor<5xf32> to tensor<f32>
  %c = tensor.extract_slice %w[4] [1] [1] : tensor<5xf32> to tensor<f32>
  %empty = tensor.empty() : tensor<f32>
  %product = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
      ins(%a, %b, %c : tensor<f32>, tensor<f32>, tensor<f32>) outs(%empty : tensor<f32>) {
    ^bb0(%0: f32, %1: f32, %2: f32, %o: f32):
      %3 = arith.mulf %0, %1 : f32
      %4 = arith.mulf %3, %2 : f32
      linalg.yield %4 : f32
    } -> tensor<f32>
  return %product : tensor<f32>
}

// -----

// A slice of the collapsed matrix and a slice of the original tensor are disjoint.
// CHECK-LABEL: func.func @step(
// CHECK:         bppsa.mark_phase 1
// CHECK-NOT:     arith.addf
// CHECK:         %[[ONE:.*]] = tensor.insert_slice %{{.*}} into %{{.*}}[0, {{[02]}}, 0] [1, 2, 3]
// CHECK:         %[[BOTH:.*]] = tensor.insert_slice %{{.*}} into %[[ONE]][0, {{[02]}}, 0] [1, 2, 3]
// CHECK:         return %{{.*}}, %[[BOTH]]
func.func @loss(%w: tensor<1x4x3xf32> {bppsa.parameter = "w"}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %matrix = tensor.collapse_shape %w [[0, 1], [2]] : tensor<1x4x3xf32> into tensor<4x3xf32>
  %a = tensor.extract_slice %matrix[2, 0] [2, 3] [1, 1] : tensor<4x3xf32> to tensor<2x3xf32>
  %b = tensor.extract_slice %w[0, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<1x4x3xf32> to tensor<2x3xf32>
  %empty = tensor.empty() : tensor<f32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %product = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%a, %b : tensor<2x3xf32>, tensor<2x3xf32>) outs(%init : tensor<f32>) {
    ^bb0(%0: f32, %1: f32, %o: f32):
      %2 = arith.mulf %0, %1 : f32
      %3 = arith.addf %o, %2 : f32
      linalg.yield %3 : f32
    } -> tensor<f32>
  return %product : tensor<f32>
}
