// RUN: bppsa-opt %s --bppsa-lower-math --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @functions(
// CHECK:         call @erff
// CHECK:         llvm.intr.cos
// CHECK:         llvm.intr.floor
func.func @functions(%x: f32) -> f32 {
  %0 = math.erf %x : f32
  %1 = math.cos %0 : f32
  %2 = math.floor %1 : f32
  return %2 : f32
}

// -----

// Operations with an LLVM equivalent are left to the conversion to LLVM.

// CHECK-LABEL: func.func @instructions(
// CHECK:         math.floor
// CHECK:         math.sqrt
func.func @instructions(%x: f32) -> f32 {
  %0 = math.floor %x : f32
  %1 = math.sqrt %0 : f32
  return %1 : f32
}
