// RUN: bppsa-opt %s -split-input-file --verify-diagnostics --convert-bppsa-to-linalg

// Without a pattern for an operation the conversion took back what it had rewritten in other
// functions, and crashed.
func.func @loop(%x: tensor<5x2x3xf32>, %h0: tensor<2x3xf32>) -> tensor<6x2x3xf32> {
  %h = bppsa.recurrence sequences(%x : tensor<5x2x3xf32>) initial(%h0 : tensor<2x3xf32>) -> (tensor<6x2x3xf32>) {
  ^bb0(%xt: vector<3xf32>, %ht: vector<3xf32>):
    %0 = arith.addf %xt, %ht : vector<3xf32>
    bppsa.yield %0 : vector<3xf32>
  }
  return %h : tensor<6x2x3xf32>
}

func.func @sparse(%v: tensor<4xf32>, %r: tensor<4xi32>, %c: tensor<4xi32>, %g: tensor<2x?xf32>) -> tensor<3x?xf32> {
  // expected-error @below {{has no conversion to linalg; lower it by convert-bppsa-to-vector}}
  %0 = bppsa.sparse_apply %v : tensor<4xf32> rows %r : tensor<4xi32> columns %c : tensor<4xi32> cotangent %g : tensor<2x?xf32> -> tensor<3x?xf32>
  return %0 : tensor<3x?xf32>
}

// -----

func.func @select(%c: i1, %j: !bppsa.jacobian<4x4xf32, dense>, %k: !bppsa.jacobian<4x4xf32, dense>) -> !bppsa.jacobian<4x4xf32, dense> {
  // expected-error @below {{has a jacobian as operand or result, which only the dialects func, scf and bppsa may}}
  %0 = arith.select %c, %j, %k : !bppsa.jacobian<4x4xf32, dense>
  return %0 : !bppsa.jacobian<4x4xf32, dense>
}
