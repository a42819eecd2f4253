// RUN: bppsa-opt %s | bppsa-opt | FileCheck %s
// RUN: bppsa-opt %s --resolve-shaped-type-result-dims | FileCheck %s --check-prefix=SIZES

// CHECK-LABEL: @tensors(
// CHECK: bppsa.pack_chunks 16, %{{.*}} steps %{{.*}} : tensor<?x?x4x1xf32> -> tensor<?x?x4x16xf32>
// CHECK: bppsa.unpack_chunks 16, %{{.*}} into %{{.*}} : tensor<?x?x4x16xf32> into tensor<?x?x4x1xf32> -> tensor<?x?x4x1xf32>
func.func @tensors(%x: tensor<?x?x4x1xf32>, %c: index) -> tensor<?x?x4x1xf32> {
  %0 = bppsa.pack_chunks 16, %x steps %c : tensor<?x?x4x1xf32> -> tensor<?x?x4x16xf32>
  %1 = bppsa.unpack_chunks 16, %0 into %x : tensor<?x?x4x16xf32> into tensor<?x?x4x1xf32> -> tensor<?x?x4x1xf32>
  return %1 : tensor<?x?x4x1xf32>
}

// CHECK-LABEL: @memrefs(
// CHECK: bppsa.pack_chunks 8, %{{.*}} steps %{{.*}} into %{{.*}} : memref<?x?x3x1xf32> into memref<2x12x3x8xf32>
// CHECK: bppsa.unpack_chunks 8, %{{.*}} into %{{.*}} : memref<2x12x3x8xf32> into memref<?x?x3x1xf32>
func.func @memrefs(%x: memref<?x?x3x1xf32>, %y: memref<2x12x3x8xf32>) {
  %c = arith.constant 12 : index
  bppsa.pack_chunks 8, %x steps %c into %y : memref<?x?x3x1xf32> into memref<2x12x3x8xf32>
  bppsa.unpack_chunks 8, %y into %x : memref<2x12x3x8xf32> into memref<?x?x3x1xf32>
  return
}

// The result has batch blocks for the chunks of all samples, and the requested number of steps.
// SIZES-LABEL: @sizes(
// SIZES-SAME:      %[[X:.*]]: tensor<?x?x4x1xf32>, %[[C:.*]]: index
// SIZES:         %[[CHUNKS:.*]] = arith.divui %{{.*}}, %[[C]]
// SIZES:         %[[ROWS:.*]] = arith.muli %{{.*}}, %[[CHUNKS]]
// SIZES:         %[[BLOCKS:.*]] = arith.ceildivui %[[ROWS]], %{{.*}}
// SIZES:         return %[[BLOCKS]], %[[C]]
func.func @sizes(%x: tensor<?x?x4x1xf32>, %c: index) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = bppsa.pack_chunks 16, %x steps %c : tensor<?x?x4x1xf32> -> tensor<?x?x4x16xf32>
  %1 = tensor.dim %0, %c0 : tensor<?x?x4x16xf32>
  %2 = tensor.dim %0, %c1 : tensor<?x?x4x16xf32>
  return %1, %2 : index, index
}
