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

// -----

// A tied weight.
// expected-error @below {{a stage needs parameters of its own, found "w" in stages 0 and 1; use fewer stages, or initializers of their own for each use}}
func.func @step(%x: tensor<8x4xf32> {bppsa.input = "x"}, %w: tensor<4x4xf32> {bppsa.parameter = "w"},
                %v: tensor<4x4xf32> {bppsa.parameter = "v"})
    -> (tensor<8x4xf32>, tensor<4x4xf32> {bppsa.gradient = "w"}, tensor<4x4xf32> {bppsa.gradient = "v"}) {
  %e = tensor.empty() : tensor<8x4xf32>
  %h0 = linalg.matmul ins(%x, %w : tensor<8x4xf32>, tensor<4x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32> loc("first")
  %h1 = linalg.matmul ins(%h0, %v : tensor<8x4xf32>, tensor<4x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32> loc("second")
  %h2 = linalg.matmul ins(%h1, %w : tensor<8x4xf32>, tensor<4x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32> loc("third")
  return %h2, %w, %v : tensor<8x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// expected-error @below {{stages of a pipeline update no running statistics, found "mean"; leave the model in inference mode}}
func.func @step(%x: tensor<4xf32> {bppsa.input = "x"}, %mean: tensor<4xf32> {bppsa.parameter = "mean", bppsa.statistic})
    -> (tensor<4xf32> {bppsa.updated = "mean"}) {
  return %x : tensor<4xf32>
}
