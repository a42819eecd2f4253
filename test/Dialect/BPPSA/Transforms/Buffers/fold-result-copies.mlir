// RUN: bppsa-opt %s -split-input-file --pass-pipeline="builtin.module(func.func(bppsa-fold-result-copies))" | FileCheck %s

// CHECK-LABEL: func @reshaped
// CHECK-SAME: %[[X:.*]]: memref<6xf32>, %[[RESULT:.*]]: memref<2x3xf32>
func.func @reshaped(%x: memref<6xf32>, %result: memref<2x3xf32>) {
  // CHECK-NEXT: %[[FLAT:.*]] = memref.collapse_shape %[[RESULT]] {{\[\[0, 1\]\]}} : memref<2x3xf32> into memref<6xf32>
  // CHECK-NEXT: linalg.exp ins(%[[X]] : memref<6xf32>) outs(%[[FLAT]] : memref<6xf32>)
  // CHECK-NOT: memref.copy
  // CHECK-NOT: memref.dealloc
  %a = memref.alloc() : memref<6xf32>
  linalg.exp ins(%x : memref<6xf32>) outs(%a : memref<6xf32>)
  %b = memref.expand_shape %a [[0, 1]] output_shape [2, 3] : memref<6xf32> into memref<2x3xf32>
  memref.copy %b, %result : memref<2x3xf32> to memref<2x3xf32>
  memref.dealloc %a : memref<6xf32>
  return
}

// -----

// CHECK-LABEL: func @collapsed
// CHECK-SAME: %[[X:.*]]: memref<2x3xf32>, %[[RESULT:.*]]: memref<6xf32>
func.func @collapsed(%x: memref<2x3xf32>, %result: memref<6xf32>) {
  // CHECK-NEXT: %[[SHAPED:.*]] = memref.expand_shape %[[RESULT]] {{.*}} : memref<6xf32> into memref<2x3xf32>
  // CHECK-NEXT: linalg.exp ins(%[[X]] : memref<2x3xf32>) outs(%[[SHAPED]] : memref<2x3xf32>)
  // CHECK-NOT: memref.copy
  %a = memref.alloc() : memref<2x3xf32>
  linalg.exp ins(%x : memref<2x3xf32>) outs(%a : memref<2x3xf32>)
  %b = memref.collapse_shape %a [[0, 1]] : memref<2x3xf32> into memref<6xf32>
  memref.copy %b, %result : memref<6xf32> to memref<6xf32>
  memref.dealloc %a : memref<2x3xf32>
  return
}

// -----

// A buffer that changes after the copy is not the result.
// CHECK-LABEL: func @changed_behind
// CHECK: memref.alloc
// CHECK: memref.copy
func.func @changed_behind(%x: memref<6xf32>, %other: memref<6xf32>, %result: memref<6xf32>) {
  %a = memref.alloc() : memref<6xf32>
  linalg.exp ins(%x : memref<6xf32>) outs(%a : memref<6xf32>)
  memref.copy %a, %result : memref<6xf32> to memref<6xf32>
  linalg.exp ins(%a : memref<6xf32>) outs(%a : memref<6xf32>)
  linalg.exp ins(%a : memref<6xf32>) outs(%other : memref<6xf32>)
  memref.dealloc %a : memref<6xf32>
  return
}

// -----

// The argument is read before the copy.
// CHECK-LABEL: func @read_argument
// CHECK: memref.alloc
// CHECK: memref.copy
func.func @read_argument(%x: memref<6xf32>, %both: memref<6xf32>) {
  %a = memref.alloc() : memref<6xf32>
  linalg.add ins(%x, %both : memref<6xf32>, memref<6xf32>) outs(%a : memref<6xf32>)
  memref.copy %a, %both : memref<6xf32> to memref<6xf32>
  memref.dealloc %a : memref<6xf32>
  return
}
