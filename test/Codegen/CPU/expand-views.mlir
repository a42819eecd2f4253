// RUN: bppsa-opt %s --bppsa-expand-views | FileCheck %s

// CHECK-LABEL: func.func @row(
// CHECK:         memref.extract_strided_metadata
// CHECK:         %[[OFFSET:.*]] = affine.apply
// CHECK:         memref.reinterpret_cast %{{.*}} to offset: [%[[OFFSET]]], sizes: [8], strides: [1]
// CHECK-NOT:     memref.subview
func.func @row(%x: memref<?x8xf32>, %i: index) -> memref<8xf32, strided<[1], offset: ?>> {
  %row = memref.subview %x[%i, 0] [1, 8] [1, 1] : memref<?x8xf32> to memref<8xf32, strided<[1], offset: ?>>
  return %row : memref<8xf32, strided<[1], offset: ?>>
}

// CHECK-LABEL: func.func @flat(
// CHECK-NOT:     memref.collapse_shape
// CHECK:         memref.reinterpret_cast
func.func @flat(%x: memref<?x8xf32>) -> memref<?xf32> {
  %flat = memref.collapse_shape %x [[0, 1]] : memref<?x8xf32> into memref<?xf32>
  return %flat : memref<?xf32>
}
