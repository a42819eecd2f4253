// RUN: bppsa-opt %s --bppsa-fuse-multiply-adds | FileCheck %s

// CHECK-LABEL: func.func @vectors(
// CHECK-SAME:    %[[X:[^:]*]]: {{[^:]*}}, %[[Y:[^:]*]]: {{[^:]*}}, %[[Z:[^:]*]]:
// CHECK-NEXT:    %[[SUM:.*]] = vector.fma %[[X]], %[[Y]], %[[Z]]
// CHECK-NEXT:    return %[[SUM]]
func.func @vectors(%x: vector<16xf32>, %y: vector<16xf32>, %z: vector<16xf32>) -> vector<16xf32> {
  %p = arith.mulf %x, %y : vector<16xf32>
  %s = arith.addf %z, %p : vector<16xf32>
  return %s : vector<16xf32>
}

// CHECK-LABEL: func.func @differences(
// CHECK-SAME:    %[[X:.*]]: f32, %[[Y:.*]]: f32, %[[Z:.*]]: f32)
// CHECK-NEXT:    %[[MZ:.*]] = arith.negf %[[Z]]
// CHECK-NEXT:    %[[A:.*]] = llvm.intr.fmuladd(%[[X]], %[[Y]], %[[MZ]])
// CHECK-NEXT:    %[[MX:.*]] = arith.negf %[[X]]
// CHECK-NEXT:    %[[B:.*]] = llvm.intr.fmuladd(%[[MX]], %[[Z]], %[[A]])
// CHECK-NEXT:    return %[[B]]
func.func @differences(%x: f32, %y: f32, %z: f32) -> f32 {
  %p = arith.mulf %x, %y : f32
  %a = arith.subf %p, %z : f32
  %q = arith.mulf %x, %z : f32
  %b = arith.subf %a, %q : f32
  return %b : f32
}

// If both operands are products, the first one becomes part of the fma.

// CHECK-LABEL: func.func @both(
// CHECK-SAME:    %[[X:.*]]: f32, %[[Y:.*]]: f32)
// CHECK-NEXT:    %[[Q:.*]] = arith.mulf %[[Y]], %[[Y]]
// CHECK-NEXT:    llvm.intr.fmuladd(%[[X]], %[[X]], %[[Q]])
func.func @both(%x: f32, %y: f32) -> f32 {
  %p = arith.mulf %x, %x : f32
  %q = arith.mulf %y, %y : f32
  %s = arith.addf %p, %q : f32
  return %s : f32
}

// A product that is used twice, or computed once for many sums, is not fused.

// CHECK-LABEL: func.func @shared(
// CHECK:         arith.mulf
// CHECK:         arith.addf
// CHECK:         arith.mulf
// CHECK:         scf.for
// CHECK:           arith.addf
func.func @shared(%x: f32, %y: f32, %n: index) -> (f32, f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p = arith.mulf %x, %y : f32
  %s = arith.addf %p, %x : f32
  %q = arith.mulf %x, %x : f32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %s) -> f32 {
    %next = arith.addf %sum, %q : f32
    scf.yield %next : f32
  }
  return %p, %s, %r : f32, f32, f32
}
