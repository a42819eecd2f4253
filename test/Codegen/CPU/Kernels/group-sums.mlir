// RUN: bppsa-opt --bppsa-outline-kernels=group-sums %s | FileCheck %s

// Sums with the same right factor become one kernel at the position of the last sum. Deallocations
// between the sums move after it.

// CHECK-LABEL: func.func @interleaved
//  CHECK-SAME: (%[[X:.*]]: memref<?x?x8xf32>, %[[H:.*]]: memref<?x?x8xf32>, %[[A:.*]]: memref<?x?x4xf32>, %[[B:.*]]: memref<?x?x4xf32>, %[[W:.*]]: memref<4x8xf32>)
//  CHECK-NEXT:   %[[V:.*]] = memref.alloc() : memref<4x8xf32>
//  CHECK-NEXT:   %[[Q:.*]] = memref.alloc() : memref<4x8xf32>
//  CHECK-NEXT:   %[[S:.*]] = memref.alloc() : memref<4xf32>
//  CHECK-NEXT:   call @step_sum_kernel_0(%[[A]], %[[S]])
//  CHECK-NEXT:   call @outer_sum_kernel_1(%[[A]], %[[X]], %[[V]], %[[B]], %[[W]])
//  CHECK-NEXT:   %[[R:.*]] = memref.alloc() : memref<4x8xf32>
//  CHECK-NEXT:   call @outer_sum_kernel_3(%[[A]], %[[H]], %[[Q]], %[[B]], %[[R]])
//  CHECK-NEXT:   memref.dealloc %[[A]]
//  CHECK-NEXT:   return
func.func @interleaved(%x: memref<?x?x8xf32>, %h: memref<?x?x8xf32>, %a: memref<?x?x4xf32>, %b: memref<?x?x4xf32>,
    %w: memref<4x8xf32>) {
  %v = memref.alloc() : memref<4x8xf32>
  bppsa.outer_sum %a, %x into %v : memref<?x?x4xf32>, memref<?x?x8xf32> into memref<4x8xf32>
  %q = memref.alloc() : memref<4x8xf32>
  bppsa.outer_sum %a, %h into %q : memref<?x?x4xf32>, memref<?x?x8xf32> into memref<4x8xf32>
  %s = memref.alloc() : memref<4xf32>
  bppsa.step_sum %a into %s : memref<?x?x4xf32> into memref<4xf32>
  memref.dealloc %a : memref<?x?x4xf32>
  bppsa.outer_sum %b, %x into %w : memref<?x?x4xf32>, memref<?x?x8xf32> into memref<4x8xf32>
  %r = memref.alloc() : memref<4x8xf32>
  bppsa.outer_sum %b, %h into %r : memref<?x?x4xf32>, memref<?x?x8xf32> into memref<4x8xf32>
  return
}

// Sums are not grouped across other operations or across a sum that writes the same array.

// CHECK-LABEL: func.func @apart
//       CHECK:   call @outer_sum_kernel_5
//       CHECK:   call @fill_kernel_6
//       CHECK:   call @outer_sum_kernel_7
//       CHECK:   call @outer_sum_kernel_8
func.func @apart(%x: memref<?x?x8xf32>, %a: memref<?x?x4xf32>, %v: memref<4x8xf32>, %w: memref<4x8xf32>) {
  %zero = arith.constant 0.0 : f32
  bppsa.outer_sum %a, %x into %v : memref<?x?x4xf32>, memref<?x?x8xf32> into memref<4x8xf32>
  linalg.fill ins(%zero : f32) outs(%a : memref<?x?x4xf32>)
  bppsa.outer_sum %a, %x into %w : memref<?x?x4xf32>, memref<?x?x8xf32> into memref<4x8xf32>
  bppsa.outer_sum %a, %x into %w : memref<?x?x4xf32>, memref<?x?x8xf32> into memref<4x8xf32>
  return
}

// CHECK-LABEL: func.func private @outer_sum_kernel_1(
// CHECK-COUNT-2: bppsa.outer_sum
//       CHECK:   return
