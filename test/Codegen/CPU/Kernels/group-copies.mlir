// RUN: bppsa-opt --bppsa-outline-kernels=group-copies %s | FileCheck %s

// Copies to different parts of an array, and to different arrays, are one kernel.

// CHECK-LABEL: func.func @gates
//  CHECK-SAME:   (%[[A:.*]]: memref<4xf32>, %[[B:.*]]: memref<4xf32>, %[[BIAS:.*]]: memref<8xf32>, %[[C:.*]]: memref<3x2xf32>)
//       CHECK:   %[[V:.*]] = memref.alloc
//       CHECK:   %[[FIRST:.*]] = memref.subview %[[BIAS]][0] [4] [1]
//       CHECK:   %[[SECOND:.*]] = memref.subview %[[BIAS]][4] [4] [1]
//       CHECK:   call @copy_kernel_0(%[[A]], %[[FIRST]], %[[B]], %[[SECOND]], %[[V]], %[[C]])
//  CHECK-NEXT:   memref.dealloc %[[V]]
//  CHECK-NEXT:   return
func.func @gates(%a: memref<4xf32>, %b: memref<4xf32>, %bias: memref<8xf32>, %c: memref<3x2xf32>) {
  %v = memref.alloc() : memref<3x2xf32>
  %first = memref.subview %bias[0] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1]>>
  memref.copy %a, %first : memref<4xf32> to memref<4xf32, strided<[1]>>
  %second = memref.subview %bias[4] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: 4>>
  memref.copy %b, %second : memref<4xf32> to memref<4xf32, strided<[1], offset: 4>>
  memref.copy %v, %c : memref<3x2xf32> to memref<3x2xf32>
  memref.dealloc %v : memref<3x2xf32>
  return
}

// Copies that read or write the destination of another copy, and copies of unknown size, stay
// separate.

// CHECK-LABEL: func.func @apart
//       CHECK:   call @copy_kernel_3
//       CHECK:   call @copy_kernel_4
//       CHECK:   call @copy_kernel_5
//       CHECK:   call @copy_kernel_6
func.func @apart(%a: memref<4xf32>, %b: memref<4xf32>, %c: memref<8xf32>, %d: memref<?xf32>, %e: memref<?xf32>) {
  memref.copy %a, %b : memref<4xf32> to memref<4xf32>
  %upper = memref.subview %c[0] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1]>>
  memref.copy %b, %upper : memref<4xf32> to memref<4xf32, strided<[1]>>
  %middle = memref.subview %c[2] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: 2>>
  memref.copy %a, %middle : memref<4xf32> to memref<4xf32, strided<[1], offset: 2>>
  memref.copy %d, %e : memref<?xf32> to memref<?xf32>
  return
}
