// RUN: bppsa-opt %s --pass-pipeline="builtin.module(func.func(bppsa-fold-covered-fills))" | FileCheck %s

// CHECK-LABEL: func.func @halves(
// CHECK-NOT:     linalg.fill
// CHECK:         %[[EMPTY:.*]] = tensor.empty()
// CHECK:         tensor.insert_slice %{{.*}} into %[[EMPTY]][2, 0]
func.func @halves(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> tensor<4x3xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x3xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x3xf32>) -> tensor<4x3xf32>
  %1 = tensor.insert_slice %a into %0[2, 0] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<4x3xf32>
  %2 = tensor.insert_slice %b into %1[0, 0] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<4x3xf32>
  return %2 : tensor<4x3xf32>
}

// The inserted slices have as many elements as the tensor, but overlap, so the fill is kept.
// CHECK-LABEL: func.func @twice(
// CHECK:         %[[ZEROS:.*]] = linalg.fill
// CHECK:         tensor.insert_slice %{{.*}} into %[[ZEROS]]
func.func @twice(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  %1 = tensor.insert_slice %a into %0[0] [2] [1] : tensor<2xf32> into tensor<4xf32>
  %2 = tensor.insert_slice %b into %1[1] [2] [1] : tensor<2xf32> into tensor<4xf32>
  return %2 : tensor<4xf32>
}

// CHECK-LABEL: func.func @gap(
// CHECK:         linalg.fill
func.func @gap(%a: tensor<2xf32>, %b: tensor<1xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  %1 = tensor.insert_slice %a into %0[0] [2] [1] : tensor<2xf32> into tensor<4xf32>
  %2 = tensor.insert_slice %b into %1[3] [1] [1] : tensor<1xf32> into tensor<4xf32>
  return %2 : tensor<4xf32>
}

// The fill is also kept if the zeros are read in between, or if offsets or strides are unknown.
// CHECK-LABEL: func.func @read(
// CHECK:         linalg.fill
func.func @read(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%empty : tensor<2xf32>) -> tensor<2xf32>
  %1 = tensor.insert_slice %a into %0[0] [2] [1] : tensor<2xf32> into tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: func.func @anywhere(
// CHECK:         linalg.fill
func.func @anywhere(%a: tensor<2xf32>, %b: tensor<2xf32>, %i: index) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  %1 = tensor.insert_slice %a into %0[%i] [2] [1] : tensor<2xf32> into tensor<4xf32>
  %2 = tensor.insert_slice %b into %1[0] [2] [1] : tensor<2xf32> into tensor<4xf32>
  return %2 : tensor<4xf32>
}
