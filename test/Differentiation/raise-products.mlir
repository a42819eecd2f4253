// RUN: bppsa-opt %s --split-input-file --bppsa-raise-products | FileCheck %s

#sequence = affine_map<(i, j, m, k) -> (i, j, k)>
#rows = affine_map<(i, j, m, k) -> (m, k)>
#columns = affine_map<(i, j, m, k) -> (k, m)>
#result = affine_map<(i, j, m, k) -> (i, j, m)>
#all = affine_map<(i, j, m) -> (i, j, m)>
#last = affine_map<(i, j, m) -> (m)>

// CHECK-LABEL: func.func @product_and_bias(
// CHECK-SAME:    %[[X:.*]]: tensor<?x?x4xf32>, %[[W:.*]]: tensor<2x4xf32>, %[[B:.*]]: tensor<2xf32>
// CHECK-NOT:     linalg.generic
// CHECK:         %[[Y:.*]] = bppsa.recurrence sequences(%[[X]] : tensor<?x?x4xf32>) captures(%[[W]], %[[B]] : tensor<2x4xf32>, tensor<2xf32>) outputs(tensor<?x?x2xf32>) {
// CHECK-NEXT:    ^bb0(%[[ROW:.*]]: vector<4xf32>, %[[MATRIX:.*]]: vector<2x4xf32>, %[[BIAS:.*]]: vector<2xf32>):
// CHECK-NEXT:      bppsa.matvec %[[MATRIX]], %[[ROW]] plus %[[BIAS]]
// CHECK:         return %[[Y]]
func.func @product_and_bias(%x: tensor<?x?x4xf32>, %w: tensor<2x4xf32>, %b: tensor<2xf32>,
                            %empty: tensor<?x?x2xf32>) -> tensor<?x?x2xf32> {
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x?x2xf32>) -> tensor<?x?x2xf32>
  %0 = linalg.generic {indexing_maps = [#sequence, #rows, #result], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<?x?x4xf32>, tensor<2x4xf32>) outs(%zeros : tensor<?x?x2xf32>) {
    ^bb0(%a: f32, %c: f32, %sum: f32):
      %1 = arith.mulf %a, %c : f32
      %2 = arith.addf %sum, %1 : f32
      linalg.yield %2 : f32
  } -> tensor<?x?x2xf32>
  %1 = linalg.generic {indexing_maps = [#last, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%b, %0 : tensor<2xf32>, tensor<?x?x2xf32>) outs(%empty : tensor<?x?x2xf32>) {
    ^bb0(%a: f32, %c: f32, %o: f32):
      %2 = arith.addf %c, %a : f32
      linalg.yield %2 : f32
  } -> tensor<?x?x2xf32>
  return %1 : tensor<?x?x2xf32>
}

// -----

// CHECK-LABEL: func.func @transposed(
// CHECK:         bppsa.matvec transposed %{{.*}} : vector<4x2xf32>, vector<4xf32> -> vector<2xf32>
func.func @transposed(%x: tensor<3x?x4xf32>, %w: tensor<4x2xf32>, %empty: tensor<3x?x2xf32>) -> tensor<3x?x2xf32> {
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<3x?x2xf32>) -> tensor<3x?x2xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j, m, k) -> (k, m)>, affine_map<(i, j, m, k) -> (i, j, k)>, affine_map<(i, j, m, k) -> (i, j, m)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%w, %x : tensor<4x2xf32>, tensor<3x?x4xf32>) outs(%zeros : tensor<3x?x2xf32>) {
    ^bb0(%a: f32, %c: f32, %sum: f32):
      %1 = arith.mulf %a, %c : f32
      %2 = arith.addf %sum, %1 : f32
      linalg.yield %2 : f32
  } -> tensor<3x?x2xf32>
  return %0 : tensor<3x?x2xf32>
}
