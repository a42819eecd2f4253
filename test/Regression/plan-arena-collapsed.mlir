// RUN: bppsa-opt %s --bppsa-plan-arena | FileCheck %s

// The source dimensions of a collapsed dimension used to be read from a destroyed list.
// CHECK:         func.func private @f_arena(%[[T:[^ ]*]]: index) -> (index, index)
// CHECK:           arith.muli %[[T]], %{{.*}} : index
// CHECK-LABEL: func.func @f(
// CHECK:         memref.view
module attributes {bppsa.symbols = #bppsa.symbols<"T">} {
  func.func @f(%x: memref<2x?x3xf32> {bppsa.shape = affine_map<()[s0] -> (2, s0, 3)>}, %y: memref<?xf32>) {
    %c0 = arith.constant 0 : index
    %flat = memref.collapse_shape %x [[0, 1, 2]] : memref<2x?x3xf32> into memref<?xf32>
    %n = memref.dim %flat, %c0 : memref<?xf32>
    %a = memref.alloc(%n) : memref<?xf32>
    memref.copy %flat, %a : memref<?xf32> to memref<?xf32>
    memref.copy %a, %y : memref<?xf32> to memref<?xf32>
    memref.dealloc %a : memref<?xf32>
    return
  }
}
