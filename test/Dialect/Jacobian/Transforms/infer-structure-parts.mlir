// RUN: bppsa-opt %s --bppsa-infer-structure | FileCheck %s

// Elements dropped by a slice at the end of a dimension lie between the blocks of later dimensions,
// so this dimension does not count as blocks.

// CHECK-LABEL: func.func @border_at_the_end(
// CHECK:         tensor.insert_slice {{.*}}!jacobian.matrix<3x4xf32, csr(#jacobian.pattern<3x4, {{\[\[}}0], [1], [2]], [0 to 2]>)>
func.func @border_at_the_end(%x: tensor<?x3xf32> {bppsa.input = "x", bppsa.batch_axis = 0}, %zeros: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %c0 = arith.constant 0 : index
  %b = tensor.dim %x, %c0 : tensor<?x3xf32>
  %0 = tensor.insert_slice %x into %zeros[0, 0] [%b, 3] [1, 1] : tensor<?x3xf32> into tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @border_of_rows(
// CHECK:         tensor.insert_slice {{.*}}!jacobian.matrix<4x6xf32, block_diagonal(2, csr(#jacobian.pattern<2x3, {{\[\[}}0], [1]], [0, 1]>))>
func.func @border_of_rows(%x: tensor<?x2x2xf32> {bppsa.input = "x", bppsa.batch_axis = 0}, %zeros: tensor<?x2x3xf32>) -> tensor<?x2x3xf32> {
  %c0 = arith.constant 0 : index
  %b = tensor.dim %x, %c0 : tensor<?x2x2xf32>
  %0 = tensor.insert_slice %x into %zeros[0, 0, 0] [%b, 2, 2] [1, 1, 1] : tensor<?x2x2xf32> into tensor<?x2x3xf32>
  return %0 : tensor<?x2x3xf32>
}

// CHECK-LABEL: func.func @first_elements(
// CHECK:         tensor.extract_slice {{.*}}!jacobian.matrix<5x2xf32, csr(#jacobian.pattern<5x2, {{\[\[}}0], [1], []], [0 to 2, 2, 2]>)>
func.func @first_elements(%x: tensor<?x5xf32> {bppsa.input = "x", bppsa.batch_axis = 0}) -> tensor<?x2xf32> {
  %c0 = arith.constant 0 : index
  %b = tensor.dim %x, %c0 : tensor<?x5xf32>
  %0 = tensor.extract_slice %x[0, 0] [%b, 2] [1, 1] : tensor<?x5xf32> to tensor<?x2xf32>
  return %0 : tensor<?x2xf32>
}
