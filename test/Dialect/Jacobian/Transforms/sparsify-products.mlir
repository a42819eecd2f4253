// RUN: bppsa-opt %s --bppsa-sparsify-products=max-share=0.5 | FileCheck %s
// RUN: bppsa-opt %s --bppsa-sparsify-products=max-share=0.1 --remarks-filter=products 2>&1 | FileCheck %s --check-prefix=FEW

// Two of twelve elements remain. The matrix of the product is the weight matrix, transposed or not.

// CHECK-LABEL: func.func @gemm(
// CHECK-SAME:    %[[X:.*]]: tensor<?x4xf32> {{{.*}}}, %[[W:.*]]: tensor<3x4xf32> {{{.*}}}, %[[B:.*]]: tensor<3xf32> {{{.*}}}) -> tensor<?x3xf32>
// CHECK:         %[[BIAS:.*]] = linalg.broadcast ins(%[[B]] : tensor<3xf32>)
// CHECK:         %[[J:.*]] = jacobian.assemble %[[W]] at [1, 11] : tensor<3x4xf32> -> <3x4xf32, csr(#jacobian.pattern<3x4, {{\[\[}}1], [], [3]], [0 to 2]>)>
// CHECK:         %[[P:.*]] = jacobian.apply %[[J]], %[[X]] : <3x4xf32, csr(#jacobian.pattern<3x4, {{.*}}>)>, tensor<?x4xf32> -> tensor<?x3xf32>
// CHECK:         %[[Y:.*]] = linalg.add ins(%[[P]], %[[BIAS]] : tensor<?x3xf32>, tensor<?x3xf32>)
// CHECK:         return %[[Y]]
// FEW: remark: {{.*}}2 of 12 multiply-adds are left without pruned weights: they are computed with the others
// FEW-LABEL: func.func @gemm(
// FEW-NOT:     jacobian.apply
// FEW:         linalg.generic
#x = affine_map<(b, o, i) -> (b, i)>
#w = affine_map<(b, o, i) -> (o, i)>
#y = affine_map<(b, o, i) -> (b, o)>
func.func @gemm(%x: tensor<?x4xf32> {bppsa.input = "x", bppsa.batch_axis = 0 : i64},
                %w: tensor<3x4xf32> {bppsa.parameter = "w", bppsa.nonzeros = dense<[[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]]> : tensor<3x4xi1>},
                %b: tensor<3xf32> {bppsa.parameter = "b"}) -> tensor<?x3xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x4xf32>
  %empty = tensor.empty(%n) : tensor<?x3xf32>
  %bias = linalg.broadcast ins(%b : tensor<3xf32>) outs(%empty : tensor<?x3xf32>) dimensions = [0]
  %0 = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<?x4xf32>, tensor<3x4xf32>) outs(%bias : tensor<?x3xf32>) {
  ^bb0(%in: f32, %weight: f32, %sum: f32):
    %1 = arith.mulf %in, %weight : f32
    %2 = arith.addf %sum, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}

// The padding of a convolution is part of its matrix; nothing is added to the zeros.

// CHECK-LABEL: func.func @convolution(
// CHECK-SAME:    %[[X:.*]]: tensor<?x1x3xf32>
// CHECK:         %[[J:.*]] = jacobian.assemble %{{.*}} at [2, 2] : tensor<1x1x3xf32> -> <3x3xf32, csr
// CHECK:         %[[FLAT:.*]] = tensor.collapse_shape %[[X]] {{.*}} : tensor<?x1x3xf32> into tensor<?x3xf32>
// CHECK:         %[[P:.*]] = jacobian.apply %[[J]], %[[FLAT]] :
// CHECK:         %[[Y:.*]] = tensor.expand_shape %[[P]]
// CHECK-NOT:     linalg
// CHECK:         return %[[Y]]
#window = affine_map<(b, o, t, i, k) -> (b, i, t + k)>
#taps = affine_map<(b, o, t, i, k) -> (o, i, k)>
#out = affine_map<(b, o, t, i, k) -> (b, o, t)>
func.func @convolution(%x: tensor<?x1x3xf32> {bppsa.input = "x", bppsa.batch_axis = 0 : i64},
                       %w: tensor<1x1x3xf32> {bppsa.parameter = "w", bppsa.nonzeros = dense<[[[0, 0, 1]]]> : tensor<1x1x3xi1>}) -> tensor<?x1x3xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x1x3xf32>
  %border = tensor.empty(%n) : tensor<?x1x5xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%border : tensor<?x1x5xf32>) -> tensor<?x1x5xf32>
  %padded = tensor.insert_slice %x into %zeros[0, 0, 1] [%n, 1, 3] [1, 1, 1] : tensor<?x1x3xf32> into tensor<?x1x5xf32>
  %empty = tensor.empty(%n) : tensor<?x1x3xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x1x3xf32>) -> tensor<?x1x3xf32>
  %0 = linalg.generic {indexing_maps = [#window, #taps, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%padded, %w : tensor<?x1x5xf32>, tensor<1x1x3xf32>) outs(%init : tensor<?x1x3xf32>) {
  ^bb0(%in: f32, %weight: f32, %sum: f32):
    %1 = arith.mulf %in, %weight : f32
    %2 = arith.addf %sum, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<?x1x3xf32>
  return %0 : tensor<?x1x3xf32>
}

// Nonzero padding adds a constant to the result, which a matrix cannot express.

// CHECK-LABEL: func.func @padded_with_ones(
// CHECK-NOT:     jacobian.apply
// CHECK:         linalg.generic
func.func @padded_with_ones(%x: tensor<?x1x3xf32> {bppsa.input = "x", bppsa.batch_axis = 0 : i64},
                       %w: tensor<1x1x3xf32> {bppsa.parameter = "w", bppsa.nonzeros = dense<[[[0, 0, 1]]]> : tensor<1x1x3xi1>}) -> tensor<?x1x3xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x1x3xf32>
  %border = tensor.empty(%n) : tensor<?x1x5xf32>
  %ones = linalg.fill ins(%one : f32) outs(%border : tensor<?x1x5xf32>) -> tensor<?x1x5xf32>
  %padded = tensor.insert_slice %x into %ones[0, 0, 1] [%n, 1, 3] [1, 1, 1] : tensor<?x1x3xf32> into tensor<?x1x5xf32>
  %empty = tensor.empty(%n) : tensor<?x1x3xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x1x3xf32>) -> tensor<?x1x3xf32>
  %0 = linalg.generic {indexing_maps = [#window, #taps, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%padded, %w : tensor<?x1x5xf32>, tensor<1x1x3xf32>) outs(%init : tensor<?x1x3xf32>) {
  ^bb0(%in: f32, %weight: f32, %sum: f32):
    %1 = arith.mulf %in, %weight : f32
    %2 = arith.addf %sum, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<?x1x3xf32>
  return %0 : tensor<?x1x3xf32>
}

// An operation with unknown weights is not replaced.

// CHECK-LABEL: func.func @whole(
// CHECK-NOT:     jacobian.apply
// CHECK:         linalg.generic
func.func @whole(%x: tensor<?x4xf32> {bppsa.input = "x", bppsa.batch_axis = 0 : i64},
                 %w: tensor<3x4xf32> {bppsa.parameter = "w"}, %b: tensor<3xf32> {bppsa.parameter = "b"}) -> tensor<?x3xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x4xf32>
  %empty = tensor.empty(%n) : tensor<?x3xf32>
  %bias = linalg.broadcast ins(%b : tensor<3xf32>) outs(%empty : tensor<?x3xf32>) dimensions = [0]
  %0 = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<?x4xf32>, tensor<3x4xf32>) outs(%bias : tensor<?x3xf32>) {
  ^bb0(%in: f32, %weight: f32, %sum: f32):
    %1 = arith.mulf %in, %weight : f32
    %2 = arith.addf %sum, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}

// An elementwise product without a reduction is not a matrix product.

// CHECK-LABEL: func.func @elementwise(
// CHECK-NOT:     jacobian.apply
// CHECK:         linalg.generic
#id = affine_map<(b, i) -> (b, i)>
#i = affine_map<(b, i) -> (i)>
func.func @elementwise(%x: tensor<?x4xf32> {bppsa.input = "x", bppsa.batch_axis = 0 : i64},
                       %w: tensor<4xf32> {bppsa.parameter = "w", bppsa.nonzeros = dense<[0, 1, 0, 0]> : tensor<4xi1>}) -> tensor<?x4xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x4xf32>
  %empty = tensor.empty(%n) : tensor<?x4xf32>
  %0 = linalg.generic {indexing_maps = [#id, #i, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %w : tensor<?x4xf32>, tensor<4xf32>) outs(%empty : tensor<?x4xf32>) {
  ^bb0(%in: f32, %weight: f32, %out: f32):
    %1 = arith.mulf %in, %weight : f32
    linalg.yield %1 : f32
  } -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}
