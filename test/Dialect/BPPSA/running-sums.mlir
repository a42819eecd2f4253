// RUN: bppsa-opt %s | bppsa-opt | FileCheck %s

// CHECK-LABEL: func.func @on_tensors
// CHECK: bppsa.add_to_sums 16 %{{.*}}, %{{.*}} into %{{.*}} : tensor<?x?x4x16xf32>, tensor<?x?x3x16xf32> into tensor<?x4x3x16xf32> -> tensor<?x4x3x16xf32>
// CHECK: bppsa.add_to_sums 16 reverse %{{.*}} into %{{.*}} : tensor<?x?x4x16xf32> into tensor<?x4x16xf32> -> tensor<?x4x16xf32>
// CHECK: bppsa.finish_sums 16 %{{.*}} batch %{{.*}} : tensor<?x4x3x16xf32> -> tensor<4x3xf32>
// CHECK: bppsa.finish_sums 16 %{{.*}} : tensor<?x4x16xf32> -> tensor<4xf32>
func.func @on_tensors(%d: tensor<?x?x4x16xf32>, %x: tensor<?x?x3x16xf32>, %w: tensor<?x4x3x16xf32>,
    %b: tensor<?x4x16xf32>, %n: index) -> (tensor<4x3xf32>, tensor<4xf32>) {
  %0 = bppsa.add_to_sums 16 %d, %x into %w : tensor<?x?x4x16xf32>, tensor<?x?x3x16xf32> into tensor<?x4x3x16xf32> -> tensor<?x4x3x16xf32>
  %1 = bppsa.add_to_sums 16 reverse %d into %b : tensor<?x?x4x16xf32> into tensor<?x4x16xf32> -> tensor<?x4x16xf32>
  %2 = bppsa.finish_sums 16 %0 batch %n : tensor<?x4x3x16xf32> -> tensor<4x3xf32>
  %3 = bppsa.finish_sums 16 %1 : tensor<?x4x16xf32> -> tensor<4xf32>
  return %2, %3 : tensor<4x3xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @on_memory
// CHECK: bppsa.add_to_sums 16 %{{.*}} into %{{.*}} : memref<?x?x4x16xf32> into memref<?x4x16xf32>
// CHECK: bppsa.finish_sums 16 %{{.*}} batch %{{.*}} into %{{.*}} : memref<?x4x16xf32> into memref<4xf32>
func.func @on_memory(%d: memref<?x?x4x16xf32>, %b: memref<?x4x16xf32>, %n: index, %r: memref<4xf32>) {
  bppsa.add_to_sums 16 %d into %b : memref<?x?x4x16xf32> into memref<?x4x16xf32>
  bppsa.finish_sums 16 %b batch %n into %r : memref<?x4x16xf32> into memref<4xf32>
  return
}
