// RUN: bppsa-opt %s -verify-diagnostics --bppsa-stream-cotangents

func.func private @note()

func.func @step(%x: tensor<4xf32> {bppsa.input = "x"}, %w: tensor<4xf32> {bppsa.parameter = "w"})
    -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  bppsa.mark_phase 0
  bppsa.mark_phase 1
  %a = linalg.mul {bppsa.stage = 0 : i64} ins(%x, %w : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{of a backward pass in stages has side effects; modules that are stages need operations without any}}
  func.call @note() : () -> ()
  return %a : tensor<4xf32>
}
