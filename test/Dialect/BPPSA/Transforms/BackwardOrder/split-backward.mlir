// RUN: bppsa-opt %s --bppsa-split-backward | FileCheck %s

#id = affine_map<(b, i) -> (b, i)>
#row = affine_map<(b, i) -> (i)>

// Transposed activations are scheduled with the product that reads them, and a transposed weight is
// part of the cotangents. There is no cotangent of an input without a gradient, and operations
// before the backward pass have no part.
// CHECK-LABEL: func.func @layers(
// CHECK-NOT:     backward_part
// CHECK:         bppsa.mark_phase 1
// CHECK-NEXT:    linalg.sub{{.*}}backward_part<cotangent>
// CHECK-NEXT:    %[[H:.*]] = linalg.transpose{{.*}}backward_part<parameter, stage = 2>
// CHECK-NEXT:    linalg.matmul{{.*}}backward_part<parameter, stage = 2>} ins(%[[H]],
// CHECK-NEXT:    linalg.transpose{{.*}}backward_part<cotangent>
// CHECK-NEXT:    linalg.matmul{{.*}}backward_part<cotangent>
// CHECK-NEXT:    linalg.transpose{{.*}}backward_part<parameter, stage = 1>
// CHECK-NEXT:    linalg.matmul{{.*}}backward_part<parameter, stage = 1>
// CHECK-NEXT:    return
func.func @layers(%x: tensor<4x8xf32> {bppsa.input = "x"}, %w1: tensor<8x8xf32> {bppsa.parameter = "w1"},
    %w2: tensor<8x8xf32> {bppsa.parameter = "w2"}, %t: tensor<4x8xf32> {bppsa.target})
    -> (tensor<8x8xf32> {bppsa.gradient = "w1"}, tensor<8x8xf32> {bppsa.gradient = "w2"}) {
  %rows = arith.constant dense<0.0> : tensor<4x8xf32>
  %square = arith.constant dense<0.0> : tensor<8x8xf32>
  %e = tensor.empty() : tensor<8x4xf32>
  %s = tensor.empty() : tensor<8x8xf32>
  %r = tensor.empty() : tensor<4x8xf32>
  bppsa.mark_phase 0
  %h = linalg.matmul ins(%x, %w1 : tensor<4x8xf32>, tensor<8x8xf32>) outs(%rows : tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = linalg.matmul ins(%h, %w2 : tensor<4x8xf32>, tensor<8x8xf32>) outs(%rows : tensor<4x8xf32>) -> tensor<4x8xf32>
  bppsa.mark_phase 1
  %g2 = linalg.sub ins(%y, %t : tensor<4x8xf32>, tensor<4x8xf32>) outs(%r : tensor<4x8xf32>) -> tensor<4x8xf32>
  %ht = linalg.transpose ins(%h : tensor<4x8xf32>) outs(%e : tensor<8x4xf32>) permutation = [1, 0]
  %dw2 = linalg.matmul ins(%ht, %g2 : tensor<8x4xf32>, tensor<4x8xf32>) outs(%square : tensor<8x8xf32>) -> tensor<8x8xf32>
  %w2t = linalg.transpose ins(%w2 : tensor<8x8xf32>) outs(%s : tensor<8x8xf32>) permutation = [1, 0]
  %g1 = linalg.matmul ins(%g2, %w2t : tensor<4x8xf32>, tensor<8x8xf32>) outs(%rows : tensor<4x8xf32>) -> tensor<4x8xf32>
  %xt = linalg.transpose ins(%x : tensor<4x8xf32>) outs(%e : tensor<8x4xf32>) permutation = [1, 0]
  %dw1 = linalg.matmul ins(%xt, %g1 : tensor<8x4xf32>, tensor<4x8xf32>) outs(%square : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %dw1, %dw2 : tensor<8x8xf32>, tensor<8x8xf32>
}

// Both contributions to the gradient of a tied matrix, and their sum, are parameter gradients. The
// value that passes through the matrix is a cotangent.
// CHECK-LABEL: func.func @tied(
// CHECK:         linalg.sub{{.*}}backward_part<cotangent>
// CHECK-NEXT:    linalg.matmul{{.*}}backward_part<parameter, stage = 2>
// CHECK-NEXT:    linalg.matmul{{.*}}backward_part<cotangent>
// CHECK-NEXT:    linalg.matmul{{.*}}backward_part<parameter, stage = 1>
// CHECK-NEXT:    linalg.add{{.*}}backward_part<parameter, stage = 1>
func.func @tied(%x: tensor<4x8xf32> {bppsa.input = "x"}, %w: tensor<8x8xf32> {bppsa.parameter = "w"}, %t: tensor<4x8xf32> {bppsa.target})
    -> (tensor<8x8xf32> {bppsa.gradient = "w"}) {
  %rows = arith.constant dense<0.0> : tensor<4x8xf32>
  %square = arith.constant dense<0.0> : tensor<8x8xf32>
  %s = tensor.empty() : tensor<8x8xf32>
  %h = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%rows : tensor<4x8xf32>) -> tensor<4x8xf32>
  bppsa.mark_phase 1
  %g2 = linalg.sub ins(%h, %t : tensor<4x8xf32>, tensor<4x8xf32>) outs(%rows : tensor<4x8xf32>) -> tensor<4x8xf32>
  %d2 = linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
      ins(%h, %g2 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%square : tensor<8x8xf32>) -> tensor<8x8xf32>
  %g1 = linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>]
      ins(%g2, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%rows : tensor<4x8xf32>) -> tensor<4x8xf32>
  %d1 = linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
      ins(%x, %g1 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%square : tensor<8x8xf32>) -> tensor<8x8xf32>
  %d = linalg.add ins(%d1, %d2 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%s : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %d : tensor<8x8xf32>
}

// An operation with a cotangent and a parameter gradient as results has the part `both`. So does a
// parameter gradient that contributes to a cotangent, as in batch normalization. Sizes have no
// part.
// CHECK-LABEL: func.func @normalise(
// CHECK:         linalg.sub{{.*}}backward_part<cotangent>
// CHECK-NEXT:    linalg.reduce{{.*}}backward_part<both>
// CHECK:         tensor.dim %{{.*}}, %{{.*}} : tensor<4x8xf32>
// CHECK:         linalg.generic{{.*}}backward_part<both>
func.func @normalise(%x: tensor<4x8xf32> {bppsa.input = "x"}, %a: tensor<4x8xf32> {bppsa.parameter = "a"}, %b: tensor<8xf32> {bppsa.parameter = "b"}, %t: tensor<4x8xf32> {bppsa.target})
    -> (tensor<4x8xf32> {bppsa.gradient = "x"}, tensor<4x8xf32> {bppsa.gradient = "a"}, tensor<8xf32> {bppsa.gradient = "b"}) {
  %rows = arith.constant dense<0.0> : tensor<4x8xf32>
  %row = arith.constant dense<0.0> : tensor<8xf32>
  bppsa.mark_phase 1
  %g = linalg.sub ins(%x, %t : tensor<4x8xf32>, tensor<4x8xf32>) outs(%rows : tensor<4x8xf32>) -> tensor<4x8xf32>
  %db = linalg.reduce ins(%g : tensor<4x8xf32>) outs(%row : tensor<8xf32>) dimensions = [0]
    (%in: f32, %out: f32) {
      %s = arith.addf %in, %out : f32
      linalg.yield %s : f32
    }
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<4x8xf32>
  %dx:2 = linalg.generic {indexing_maps = [#id, #id, #row, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g, %x, %db : tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>) outs(%rows, %rows : tensor<4x8xf32>, tensor<4x8xf32>) {
  ^bb0(%u: f32, %v: f32, %m: f32, %o: f32, %q: f32):
    %c = arith.subf %u, %m : f32
    %p = arith.mulf %u, %v : f32
    linalg.yield %c, %p : f32, f32
  } -> (tensor<4x8xf32>, tensor<4x8xf32>)
  return %dx#0, %dx#1, %db : tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>
}
