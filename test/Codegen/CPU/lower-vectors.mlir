// RUN: bppsa-opt %s --bppsa-lower-vectors | FileCheck %s

// CHECK-LABEL: func.func @row(
// CHECK:         llvm.load
// CHECK:         llvm.shufflevector
// CHECK:         llvm.intr.fmuladd
// CHECK:         llvm.intr.masked.store
// CHECK-NOT:     vector.
func.func @row(%x: memref<?xf32>, %i: index, %a: f32, %n: index) {
  %v = vector.load %x[%i] : memref<?xf32>, vector<8xf32>
  %s = vector.broadcast %a : f32 to vector<8xf32>
  %f = vector.fma %v, %s, %v : vector<8xf32>
  %m = vector.create_mask %n : vector<8xi1>
  vector.maskedstore %x[%i], %m, %f : memref<?xf32>, vector<8xi1>, vector<8xf32>
  return
}
