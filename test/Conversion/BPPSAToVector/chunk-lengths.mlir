// RUN: bppsa-opt %s --convert-bppsa-to-vector --canonicalize | FileCheck %s

// A chunk has floor(sqrt(T / 2)) steps, at least 8 and at most 64. There is a map for each chunk but
// the one that the seeds enter.

// floor(sqrt(500)) = 22, and 1000 steps are 46 chunks.
// CHECK-LABEL: func @between(
// CHECK:         memref.alloc() {alignment = 64 : i64} : memref<1x45x1x4x16xf32>
func.func @between(%a: memref<1x1000x4x16xf32>, %g: memref<1x4x16xf32>, %out: memref<1x4x16xf32>) {
  bppsa.scan <chunked> lanes 16 saved(%a : memref<1x1000x4x16xf32>) seeds(%g : memref<1x4x16xf32>)
      inject_into [] into(%out : memref<1x4x16xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return
}

// 100 steps are 13 chunks of 8.
// CHECK-LABEL: func @shortest(
// CHECK:         memref.alloc() {alignment = 64 : i64} : memref<1x12x1x4x16xf32>
func.func @shortest(%a: memref<1x100x4x16xf32>, %g: memref<1x4x16xf32>, %out: memref<1x4x16xf32>) {
  bppsa.scan <chunked> lanes 16 saved(%a : memref<1x100x4x16xf32>) seeds(%g : memref<1x4x16xf32>)
      inject_into [] into(%out : memref<1x4x16xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return
}

// 10000 steps are 157 chunks of 64.
// CHECK-LABEL: func @longest(
// CHECK:         memref.alloc() {alignment = 64 : i64} : memref<1x156x1x4x16xf32>
func.func @longest(%a: memref<1x10000x4x16xf32>, %g: memref<1x4x16xf32>, %out: memref<1x4x16xf32>) {
  bppsa.scan <chunked> lanes 16 saved(%a : memref<1x10000x4x16xf32>) seeds(%g : memref<1x4x16xf32>)
      inject_into [] into(%out : memref<1x4x16xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return
}
