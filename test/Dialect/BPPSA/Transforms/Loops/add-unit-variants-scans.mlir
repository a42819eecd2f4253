// RUN: bppsa-opt %s --split-input-file --bppsa-add-unit-variants | FileCheck %s --check-prefixes=CHECK,ALL
// RUN: bppsa-opt %s --split-input-file --bppsa-add-unit-variants=hopeful | FileCheck %s --check-prefixes=CHECK,HOPEFUL

// A scan is copied if its plan has chunks and, with `hopeful`, its state is small enough.

// CHECK: func.func @step_scan(
// CHECK: func.func @step_scan_units({{.*}}bppsa.entry = #bppsa.entry<role = step, variant = "scan", units = true>, bppsa.lanes = 1 : i64}
func.func @step_scan(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>, %w: tensor<4x4xf32>) -> tensor<?x4xf32>
    attributes {bppsa.entry = #bppsa.entry<role = step, variant = "scan">} {
  %0 = bppsa.chain plan <chunked> saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>)
      captures(%w : tensor<4x4xf32>) -> (tensor<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    %2 = bppsa.matvec transposed %wc, %1 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %2 : vector<4xf32>
  }
  return %0 : tensor<?x4xf32>
}

// -----

// CHECK: func.func @step_scan(
// ALL: func.func @step_scan_units(
// HOPEFUL-NOT: _units
func.func @step_scan(%a: tensor<?x?x64xf32>, %g: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32>
    attributes {bppsa.entry = #bppsa.entry<role = step, variant = "scan">} {
  %0 = bppsa.chain plan <chunked> saved(%a : tensor<?x?x64xf32>) seeds(%g : tensor<?x64xf32>)
      captures(%w : tensor<64x64xf32>) -> (tensor<?x64xf32>) {
  ^bb0(%at: vector<64xf32>, %gt: vector<64xf32>, %wc: vector<64x64xf32>):
    %1 = arith.mulf %at, %gt : vector<64xf32>
    %2 = bppsa.matvec transposed %wc, %1 : vector<64x64xf32>, vector<64xf32> -> vector<64xf32>
    bppsa.yield %2 : vector<64xf32>
  }
  return %0 : tensor<?x64xf32>
}

// -----

// CHECK: func.func @step_scan(
// CHECK-NOT: _units
func.func @step_scan(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>) -> tensor<?x4xf32>
    attributes {bppsa.entry = #bppsa.entry<role = step, variant = "scan">} {
  %0 = bppsa.chain plan <blelloch> saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>) -> (tensor<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  return %0 : tensor<?x4xf32>
}

// -----

// The functions of a backward pass are copied together.

// CHECK: func.func @step_scan(
// CHECK: func.func @step_scan_units(
// CHECK: func.func @grad_scan(
// CHECK: func.func @grad_scan_units(
func.func @step_scan(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>, %w: tensor<4x4xf32>) -> tensor<?x4xf32>
    attributes {bppsa.entry = #bppsa.entry<role = step, variant = "scan">} {
  %0 = bppsa.chain plan <chunked> saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>)
      captures(%w : tensor<4x4xf32>) -> (tensor<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    %2 = bppsa.matvec transposed %wc, %1 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %2 : vector<4xf32>
  }
  return %0 : tensor<?x4xf32>
}
func.func @grad_scan(%a: tensor<?x?x64xf32>, %g: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32>
    attributes {bppsa.entry = #bppsa.entry<role = grad, variant = "scan">} {
  %0 = bppsa.chain plan <chunked> saved(%a : tensor<?x?x64xf32>) seeds(%g : tensor<?x64xf32>)
      captures(%w : tensor<64x64xf32>) -> (tensor<?x64xf32>) {
  ^bb0(%at: vector<64xf32>, %gt: vector<64xf32>, %wc: vector<64x64xf32>):
    %1 = arith.mulf %at, %gt : vector<64xf32>
    %2 = bppsa.matvec transposed %wc, %1 : vector<64x64xf32>, vector<64xf32> -> vector<64xf32>
    bppsa.yield %2 : vector<64xf32>
  }
  return %0 : tensor<?x64xf32>
}
