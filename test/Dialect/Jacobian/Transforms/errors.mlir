// RUN: split-file %s %t
// RUN: not bppsa-opt %t/links.mlir -split-input-file --bppsa-scan-links=algorithm=fast 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not bppsa-opt %t/links.mlir -split-input-file --bppsa-scan-links=algorithm=hybrid:-1 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: bppsa-opt %t/lower.mlir -split-input-file -verify-diagnostics --bppsa-lower-products

// WORD: error: 'fast' is not a plan; use auto, none, linear, blelloch, hybrid:L or chunked:C with whole L >= 0 and C >= 1
// SIZE: error: 'hybrid:-1' is not a plan; use auto, none, linear, blelloch, hybrid:L or chunked:C with whole L >= 0 and C >= 1

//--- links.mlir

!d = !jacobian.matrix<4x4xf32, dense>
func.func @links(%a: !d, %g: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = jacobian.apply %a, %g : !d, tensor<8x4xf32> -> tensor<8x4xf32>
  %1 = jacobian.apply %a, %0 : !d, tensor<8x4xf32> -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

//--- lower.mlir

!d = !jacobian.matrix<4x4xf32, dense>
func.func @argument(%a: !d, %g: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @below {{'jacobian.apply' op uses a jacobian that is neither assembled nor composed in this function; create it there with jacobian.assemble or jacobian.compose}}
  %0 = jacobian.apply %a, %g : !d, tensor<8x4xf32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

!d = !jacobian.matrix<4x4xf32, dense, batch = 8>
func.func @linearized(%s: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %a = jacobian.linearize saved(%s : tensor<8x4xf32>) states [4] -> !d {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    jacobian.yield %1 : vector<4xf32>
  }
  // expected-error @below {{'jacobian.compose' op uses a jacobian that is neither assembled nor composed in this function; create it there with jacobian.assemble or jacobian.compose}}
  %b = jacobian.compose %a, %a : !d, !d -> !d
  %0 = jacobian.apply %b, %s : !d, tensor<8x4xf32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

!d = !jacobian.matrix<4x4xf32, dense>
func.func @returned(%w: tensor<4x4xf32>) -> !d {
  %a = jacobian.assemble %w : tensor<4x4xf32> -> !d
  // expected-error @below {{'func.return' op uses a jacobian that is neither assembled nor composed in this function; create it there with jacobian.assemble or jacobian.compose}}
  return %a : !d
}
