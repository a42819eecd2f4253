// RUN: bppsa-opt %s --bppsa-outline-kernels=whole-levels | FileCheck %s

// A loop that carries an array, as after bppsa-bufferize, used to be erased although its result was
// used.

// CHECK-LABEL: func @carries(
// CHECK:         %[[END:.*]] = scf.for
// CHECK:           func.call @apply_transition_kernel_0
// CHECK:         call @copy_kernel_1(%[[END]]
func.func @carries(%maps: memref<?x?x4x4xf32>, %carries: memref<?x?x4xf32>, %out: memref<?x?x4xf32>, %n: index, %b: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = scf.for %i = %c0 to %n step %c1 iter_args(%all = %carries) -> (memref<?x?x4xf32>) {
    %next = arith.addi %i, %c1 : index
    %map = memref.subview %maps[%i, 0, 0, 0] [1, %b, 4, 4] [1, 1, 1, 1] : memref<?x?x4x4xf32> to memref<?x4x4xf32, strided<[16, 4, 1], offset: ?>>
    %from = memref.subview %all[%i, 0, 0] [1, %b, 4] [1, 1, 1] : memref<?x?x4xf32> to memref<?x4xf32, strided<[4, 1], offset: ?>>
    %to = memref.subview %all[%next, 0, 0] [1, %b, 4] [1, 1, 1] : memref<?x?x4xf32> to memref<?x4xf32, strided<[4, 1], offset: ?>>
    bppsa.apply_transition %map, %from into %to : memref<?x4x4xf32, strided<[16, 4, 1], offset: ?>>, memref<?x4xf32, strided<[4, 1], offset: ?>>, memref<?x4xf32, strided<[4, 1], offset: ?>>
    scf.yield %all : memref<?x?x4xf32>
  }
  memref.copy %end, %out : memref<?x?x4xf32> to memref<?x?x4xf32>
  return
}
