// RUN: bppsa-opt %s --bppsa-add-unit-variants=scans=small,tree | FileCheck %s
// RUN: bppsa-opt %s --bppsa-add-unit-variants="scans=small hopeful" | FileCheck %s
// RUN: bppsa-opt %s --bppsa-add-unit-variants="scans=large hopeful" | FileCheck %s --check-prefix=NONE
// RUN: bppsa-opt %s --bppsa-add-unit-variants=scans=tree | FileCheck %s --check-prefix=NONE
// RUN: bppsa-opt %s --bppsa-add-unit-variants="scans=small,large hopeful" | FileCheck %s --check-prefix=BOTH

// A scan has a copy where its plan has chunks and, if only hopeful ones are wanted, its state is
// small enough. Functions of one backward pass have copies together.

// CHECK: func.func @small_units({{.*}} attributes {bppsa.lanes = 1 : i64}
// NONE-NOT: _units
// BOTH-DAG: func.func @small_units(
// BOTH-DAG: func.func @large_units(
func.func @small(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>, %w: tensor<4x4xf32>) -> tensor<?x4xf32> {
  %0 = bppsa.chain plan <chunked> saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>)
      captures(%w : tensor<4x4xf32>) -> (tensor<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    %2 = bppsa.matvec transposed %wc, %1 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %2 : vector<4xf32>
  }
  return %0 : tensor<?x4xf32>
}
func.func @large(%a: tensor<?x?x64xf32>, %g: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
  %0 = bppsa.chain plan <chunked> saved(%a : tensor<?x?x64xf32>) seeds(%g : tensor<?x64xf32>)
      captures(%w : tensor<64x64xf32>) -> (tensor<?x64xf32>) {
  ^bb0(%at: vector<64xf32>, %gt: vector<64xf32>, %wc: vector<64x64xf32>):
    %1 = arith.mulf %at, %gt : vector<64xf32>
    %2 = bppsa.matvec transposed %wc, %1 : vector<64x64xf32>, vector<64xf32> -> vector<64xf32>
    bppsa.yield %2 : vector<64xf32>
  }
  return %0 : tensor<?x64xf32>
}
func.func @tree(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = bppsa.chain plan <blelloch> saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>) -> (tensor<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  return %0 : tensor<?x4xf32>
}
