// RUN: bppsa-opt %s --bppsa-expand-reshapes | FileCheck %s

// CHECK-LABEL: func @two_dynamic_sizes
// CHECK-SAME: (%[[X:.*]]: memref<?x4xf32>, %[[T:.*]]: index, %[[B:.*]]: index)
// CHECK: %[[BASE:.*]], %{{.*}}, %{{.*}}:2, %[[STRIDES:.*]]:2 = memref.extract_strided_metadata %[[X]]
// CHECK: %[[STRIDE:.*]] = arith.muli %[[STRIDES]]#0, %[[B]]
// CHECK: memref.reinterpret_cast %[[BASE]] to offset: [0], sizes: [%[[T]], %[[B]], 4]
// CHECK-NOT: memref.expand_shape
func.func @two_dynamic_sizes(%x: memref<?x4xf32>, %t: index, %b: index) -> memref<?x?x4xf32> {
  %y = memref.expand_shape %x [[0, 1], [2]] output_shape [%t, %b, 4]
      : memref<?x4xf32> into memref<?x?x4xf32>
  return %y : memref<?x?x4xf32>
}

// CHECK-LABEL: func @one_dynamic_size
// CHECK: memref.expand_shape
func.func @one_dynamic_size(%x: memref<?x4xf32>, %t: index) -> memref<?x3x4xf32> {
  %y = memref.expand_shape %x [[0, 1], [2]] output_shape [%t, 3, 4]
      : memref<?x4xf32> into memref<?x3x4xf32>
  return %y : memref<?x3x4xf32>
}
