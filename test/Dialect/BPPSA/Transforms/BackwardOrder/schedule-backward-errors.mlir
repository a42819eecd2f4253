// RUN: bppsa-opt %s --split-input-file --verify-diagnostics --bppsa-schedule-backward="order=reverse-first:2"
// RUN: not bppsa-opt %s --split-input-file --bppsa-schedule-backward="order=defer:1:1" 2>&1 | FileCheck %s

// CHECK: error: the order must be in-order, reverse-first:K, reverse-first:auto or defer:L:J[,L:J...] with 1 <= J < L or next, found 'defer:1:1'

// expected-error@+1 {{order 'reverse-first:2' names stage 2, but the backward pass has 1; stages count from the one that cotangents reach last}}
func.func @step(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  bppsa.mark_phase 1
  %w = linalg.abs {bppsa.backward_part = #bppsa.backward_part<parameter, stage = 1>} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %w : tensor<8xf32>
}

// -----

// A function without a backward pass has no order.
func.func @forward(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

func.func @huge_stage(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  bppsa.mark_phase 1
  // expected-error@+1 {{must have a stage of at most 4, the number of operations, found 5000000000; number stages without gaps}}
  %w = linalg.abs {bppsa.backward_part = #bppsa.backward_part<parameter, stage = 5000000000>} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %w : tensor<8xf32>
}
