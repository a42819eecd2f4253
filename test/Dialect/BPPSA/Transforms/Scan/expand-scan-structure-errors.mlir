// RUN: bppsa-opt %s -split-input-file -verify-diagnostics --bppsa-expand-scan

func.func @missing(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @below {{'bppsa.chain' op has no structure of its link; run bppsa-infer-structure first}}
  %0 = bppsa.chain plan <blelloch> saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>) -> (tensor<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return %0 : tensor<?x4xf32>
}

// -----

// The link is not diagonal, so the scan would drop elements.

func.func @wrong(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>, %w: tensor<4x4xf32>) -> tensor<?x4xf32> {
  // expected-error @below {{'bppsa.chain' op has the structure 'diagonal' but its link has 'shared_dense'; run bppsa-infer-structure again}}
  %0 = bppsa.chain plan <blelloch> structure <diagonal> saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>)
      captures(%w : tensor<4x4xf32>) -> (tensor<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %0 = bppsa.matvec transposed %wc, %gt : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return %0 : tensor<?x4xf32>
}

// -----

// Terms of another link.

func.func @wrong_terms(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>, %w: tensor<4x4xf32>) -> tensor<?x4xf32> {
  // expected-error @below {{'bppsa.chain' op has terms that differ from the terms of its link; run bppsa-infer-structure again}}
  %0 = bppsa.chain plan <blelloch> structure <shared_dense> terms [#bppsa.term<row = 0, col = 0, matrix = 0>] saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>)
      captures(%w : tensor<4x4xf32>) -> (tensor<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %0 = bppsa.matvec transposed %wc, %gt : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return %0 : tensor<?x4xf32>
}
