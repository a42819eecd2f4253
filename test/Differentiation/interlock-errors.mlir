// RUN: bppsa-opt %s --split-input-file --verify-diagnostics --bppsa-interlock="window=2 factors=1,1"
// RUN: not bppsa-opt %s --split-input-file --bppsa-interlock="window=0" 2>&1 | FileCheck %s

// CHECK: error: needs a window of at least 1 and last, sum or mean to combine, found 0 and 'last'

// No value contributes to both losses.
// expected-error@+1 {{loss 1 of 2 cuts no module off: no activation leads to it and to a later loss but to none before it; name the heads from the first to the last}}
func.func @loss(%x: tensor<f32> {bppsa.input = "x"}, %y: tensor<f32> {bppsa.input = "y"})
    -> (tensor<f32> {bppsa.loss}, tensor<f32> {bppsa.loss}, tensor<f32> {bppsa.loss}) {
  %e = tensor.empty() : tensor<f32>
  %l1 = linalg.exp ins(%x : tensor<f32>) outs(%e : tensor<f32>) -> tensor<f32>
  %l2 = linalg.exp ins(%y : tensor<f32>) outs(%e : tensor<f32>) -> tensor<f32>
  %sum = linalg.add ins(%l1, %l2 : tensor<f32>, tensor<f32>) outs(%e : tensor<f32>) -> tensor<f32>
  return %sum, %l1, %l2 : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// expected-error@+1 {{needs a loss for each module, and as many factors or none, found 1 and 2}}
func.func @loss(%x: tensor<f32> {bppsa.input = "x"}) -> (tensor<f32> {bppsa.loss}) {
  return %x : tensor<f32>
}

// -----

// expected-error@+1 {{needs a function @loss with one block; run bppsa-add-loss}}
module {
}
