// RUN: bppsa-opt %s --bppsa-infer-structure=loops-only --bppsa-expand-scan --canonicalize | FileCheck %s

// A chunk has floor(sqrt(T / 2)) steps, between 8 and 64. Every chunk has a transition except the
// first and the last.

// floor(sqrt(500)) = 22, so 1000 steps are 46 chunks.
// CHECK-LABEL: func @between(
// CHECK:         bufferization.alloc_tensor() : tensor<1x44x1x4x16xf32>
func.func @between(%a: tensor<1x1000x4x16xf32>, %g: tensor<1x4x16xf32>) -> tensor<1x4x16xf32> {
  %0 = bppsa.chain plan <chunked> lanes 16 saved(%a : tensor<1x1000x4x16xf32>) seeds(%g : tensor<1x4x16xf32>)
      -> (tensor<1x4x16xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  return %0 : tensor<1x4x16xf32>
}

// 100 steps are 13 chunks of 8.
// CHECK-LABEL: func @shortest(
// CHECK:         bufferization.alloc_tensor() : tensor<1x11x1x4x16xf32>
func.func @shortest(%a: tensor<1x100x4x16xf32>, %g: tensor<1x4x16xf32>) -> tensor<1x4x16xf32> {
  %0 = bppsa.chain plan <chunked> lanes 16 saved(%a : tensor<1x100x4x16xf32>) seeds(%g : tensor<1x4x16xf32>)
      -> (tensor<1x4x16xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  return %0 : tensor<1x4x16xf32>
}

// 10000 steps are 157 chunks of 64.
// CHECK-LABEL: func @longest(
// CHECK:         bufferization.alloc_tensor() : tensor<1x155x1x4x16xf32>
func.func @longest(%a: tensor<1x10000x4x16xf32>, %g: tensor<1x4x16xf32>) -> tensor<1x4x16xf32> {
  %0 = bppsa.chain plan <chunked> lanes 16 saved(%a : tensor<1x10000x4x16xf32>) seeds(%g : tensor<1x4x16xf32>)
      -> (tensor<1x4x16xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  return %0 : tensor<1x4x16xf32>
}
