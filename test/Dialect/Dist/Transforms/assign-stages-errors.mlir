// RUN: bppsa-opt %s -split-input-file -verify-diagnostics -bppsa-assign-stages=stages=2

// expected-error @below {{needs a function with the role 'step' in 'bppsa.entry', found none; run bppsa-differentiate}}
module {
}

// -----

// expected-error @below {{bppsa-assign-stages: needs training steps of one block and at least 1 stage, found 2 blocks and 2 stages}}
func.func @step() attributes {bppsa.entry = #bppsa.entry<role = step>} {
  cf.br ^bb1
^bb1:
  return
}

// -----

// expected-error @below {{a pipeline of 2 stages needs 2 layers with parameters, found 1; use fewer stages}}
func.func @step(%x: tensor<8x4xf32> {bppsa.input = "x"}, %w: tensor<4x4xf32> {bppsa.parameter = "w"})
    -> tensor<8x4xf32>
    attributes {bppsa.entry = #bppsa.entry<role = step>} {
  %e = tensor.empty() : tensor<8x4xf32>
  %h = linalg.matmul ins(%x, %w : tensor<8x4xf32>, tensor<4x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %h : tensor<8x4xf32>
}

// -----

// Each module is a stage.
// expected-error @below {{modules are stages of their own: 3 with parameters need as many stages, found 2}}
func.func @step(%x: tensor<8x4xf32> {bppsa.input = "x"},
                %w: tensor<4x4xf32> {bppsa.parameter = "w", bppsa.stage = 0 : i64},
                %v: tensor<4x4xf32> {bppsa.parameter = "v", bppsa.stage = 2 : i64}) -> tensor<8x4xf32>
    attributes {bppsa.entry = #bppsa.entry<role = step>} {
  %e = tensor.empty() : tensor<8x4xf32>
  %h0 = linalg.matmul ins(%x, %w : tensor<8x4xf32>, tensor<4x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %h1 = linalg.matmul ins(%h0, %v : tensor<8x4xf32>, tensor<4x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %h1 : tensor<8x4xf32>
}

// -----

// The first module has no parameters.
// expected-error @below {{module 1 has no operation that depends on its own parameters; add some, or remove its loss}}
func.func @step(%x: tensor<8x4xf32> {bppsa.input = "x"},
                %w: tensor<4x4xf32> {bppsa.parameter = "w", bppsa.stage = 1 : i64}) -> tensor<8x4xf32>
    attributes {bppsa.entry = #bppsa.entry<role = step>} {
  %e = tensor.empty() : tensor<8x4xf32>
  %h0 = linalg.matmul ins(%x, %w : tensor<8x4xf32>, tensor<4x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %h0 : tensor<8x4xf32>
}

// -----

// The function has only a backward pass.
// expected-error @below {{a pipeline of 2 stages needs 2 layers with parameters, found 0; use fewer stages}}
func.func @step(%x: tensor<4xf32> {bppsa.input = "x"}, %w: tensor<4xf32> {bppsa.parameter = "w"}) -> tensor<4xf32>
    attributes {bppsa.entry = #bppsa.entry<role = step>} {
  %e = tensor.empty() : tensor<4xf32>
  bppsa.mark_phase 1
  %a = linalg.mul ins(%x, %w : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %a : tensor<4xf32>
}
