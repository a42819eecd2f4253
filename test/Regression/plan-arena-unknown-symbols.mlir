// RUN: bppsa-opt %s --bppsa-plan-arena | FileCheck %s

// Sizes are looked up among the symbols of the model; this module lists none.
// CHECK-LABEL: func.func @copy
// CHECK:         memref.alloc(%{{.*}}) : memref<?xf32>
// CHECK:         memref.view {{.*}} to memref<4xf32>
func.func @copy(%x: memref<?xf32> {bppsa.shape = affine_map<()[s0] -> (s0)>, bppsa.time_axis = 0 : i64}, %y: memref<?xf32>, %z: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %a = memref.alloc(%n) : memref<?xf32>
  memref.copy %x, %a : memref<?xf32> to memref<?xf32>
  memref.copy %a, %y : memref<?xf32> to memref<?xf32>
  memref.dealloc %a : memref<?xf32>
  %b = memref.alloc() : memref<4xf32>
  memref.copy %b, %z : memref<4xf32> to memref<4xf32>
  memref.dealloc %b : memref<4xf32>
  return
}
