// RUN: bppsa-opt %s --bppsa-infer-structure | FileCheck %s

#window = affine_map<(b, i, k) -> (b, i + k)>
#tap = affine_map<(b, i, k) -> (k)>
#place = affine_map<(b, i, k) -> (b, i)>
#left = affine_map<(b, i, k) -> (b, k)>
#right = affine_map<(b, i, k) -> (k, i)>

// A pruned tap has no entry in any row.

// CHECK-LABEL: func.func @convolution(
// CHECK:         linalg.generic {{.*}}jacobian.operands = #jacobian.operands<!jacobian.matrix<5x3xf32, csr(#jacobian.pattern<5x3, {{\[\[}}0], [1], [0, 2], [2]], [0 to 2, 1, 3]>)>, none, none>
func.func @convolution(%x: tensor<?x5xf32> {bppsa.input = "x", bppsa.batch_axis = 0},
    %w: tensor<3xf32> {bppsa.parameter = "w", bppsa.nonzeros = dense<[true, false, true]> : tensor<3xi1>},
    %zeros: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %0 = linalg.generic {indexing_maps = [#window, #tap, #place], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<?x5xf32>, tensor<3xf32>) outs(%zeros : tensor<?x3xf32>) {
    ^bb0(%a: f32, %v: f32, %o: f32):
      %p = arith.mulf %a, %v : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
  } -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}

// CHECK-LABEL: func.func @product(
// CHECK:         linalg.generic {{.*}}jacobian.operands = #jacobian.operands<!jacobian.matrix<2x3xf32, csr(#jacobian.pattern<2x3, {{\[\[}}0, 2], [2]], [0, 1]>)>, none, none>
func.func @product(%x: tensor<?x2xf32> {bppsa.input = "x", bppsa.batch_axis = 0},
    %w: tensor<2x3xf32> {bppsa.parameter = "w", bppsa.nonzeros = dense<[[true, false, true], [false, false, true]]> : tensor<2x3xi1>},
    %zeros: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %0 = linalg.generic {indexing_maps = [#left, #right, #place], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<?x2xf32>, tensor<2x3xf32>) outs(%zeros : tensor<?x3xf32>) {
    ^bb0(%a: f32, %v: f32, %o: f32):
      %p = arith.mulf %a, %v : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
  } -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}

// All steps share the weights, so one matrix repeats.

// CHECK-LABEL: func.func @product_for_each_step(
// CHECK:         linalg.generic {{.*}}jacobian.operands = #jacobian.operands<!jacobian.matrix<8x12xf32, block_diagonal(4, csr(#jacobian.pattern<2x3, {{\[\[}}0, 2], [2]], [0, 1]>))>, none, none>
func.func @product_for_each_step(%x: tensor<?x4x2xf32> {bppsa.input = "x", bppsa.batch_axis = 0},
    %w: tensor<2x3xf32> {bppsa.parameter = "w", bppsa.nonzeros = dense<[[true, false, true], [false, false, true]]> : tensor<2x3xi1>},
    %zeros: tensor<?x4x3xf32>) -> tensor<?x4x3xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(b, t, i, k) -> (b, t, k)>, affine_map<(b, t, i, k) -> (k, i)>, affine_map<(b, t, i, k) -> (b, t, i)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<?x4x2xf32>, tensor<2x3xf32>) outs(%zeros : tensor<?x4x3xf32>) {
    ^bb0(%a: f32, %v: f32, %o: f32):
      %p = arith.mulf %a, %v : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
  } -> tensor<?x4x3xf32>
  return %0 : tensor<?x4x3xf32>
}

// The remaining entries of a dense matrix may form a diagonal or be empty.

// CHECK-LABEL: func.func @diagonal(
// CHECK:         linalg.generic {{.*}}jacobian.operands = #jacobian.operands<!jacobian.matrix<2x2xf32, diagonal>, none, none>
func.func @diagonal(%x: tensor<?x2xf32> {bppsa.input = "x", bppsa.batch_axis = 0},
    %w: tensor<2x2xf32> {bppsa.parameter = "w", bppsa.nonzeros = dense<[[true, false], [false, true]]> : tensor<2x2xi1>},
    %zeros: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %0 = linalg.generic {indexing_maps = [#left, #right, #place], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<?x2xf32>, tensor<2x2xf32>) outs(%zeros : tensor<?x2xf32>) {
    ^bb0(%a: f32, %v: f32, %o: f32):
      %p = arith.mulf %a, %v : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
  } -> tensor<?x2xf32>
  return %0 : tensor<?x2xf32>
}

// CHECK-LABEL: func.func @nothing(
// CHECK:         linalg.generic {{.*}}jacobian.operands = #jacobian.operands<!jacobian.matrix<2x2xf32, zero>, none, none>
func.func @nothing(%x: tensor<?x2xf32> {bppsa.input = "x", bppsa.batch_axis = 0},
    %w: tensor<2x2xf32> {bppsa.parameter = "w", bppsa.nonzeros = dense<false> : tensor<2x2xi1>},
    %zeros: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %0 = linalg.generic {indexing_maps = [#left, #right, #place], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<?x2xf32>, tensor<2x2xf32>) outs(%zeros : tensor<?x2xf32>) {
    ^bb0(%a: f32, %v: f32, %o: f32):
      %p = arith.mulf %a, %v : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
  } -> tensor<?x2xf32>
  return %0 : tensor<?x2xf32>
}
