// RUN: bppsa-opt %s --bppsa-gpu-code-pipeline | FileCheck %s

// Upstream's expand-strided-metadata crashes on reshapes into several dynamic sizes.
// CHECK-LABEL: func.func @two_dynamic_sizes
// CHECK-NOT:     memref.expand_shape
func.func @two_dynamic_sizes(%x: memref<?x4xf32>, %t: index, %b: index) -> memref<?x?x4xf32> {
  %y = memref.expand_shape %x [[0, 1], [2]] output_shape [%t, %b, 4]
      : memref<?x4xf32> into memref<?x?x4xf32>
  return %y : memref<?x?x4xf32>
}
