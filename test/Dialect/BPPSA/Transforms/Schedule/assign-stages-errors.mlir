// RUN: bppsa-opt %s -split-input-file -verify-diagnostics -bppsa-assign-stages="functions=step stages=2"
// RUN: not bppsa-opt %s -split-input-file -bppsa-assign-stages="functions=walk stages=2" 2>&1 | FileCheck %s

// CHECK: bppsa-assign-stages: needs functions that are there and at least 1 stage, found 'walk' and 2; change 'functions'

// expected-error @below {{a pipeline of 2 stages needs 2 layers with parameters, found 1; use fewer stages}}
func.func @step(%x: tensor<8x4xf32> {bppsa.input = "x"}, %w: tensor<4x4xf32> {bppsa.parameter = "w"})
    -> tensor<8x4xf32> {
  %e = tensor.empty() : tensor<8x4xf32>
  %h = linalg.matmul ins(%x, %w : tensor<8x4xf32>, tensor<4x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %h : tensor<8x4xf32>
}
