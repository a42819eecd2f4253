// RUN: bppsa-opt %s --bppsa-infer-structure=loops-only --bppsa-expand-scan=whole-levels --canonicalize --cse --bppsa-bufferize --canonicalize --cse \
// RUN:     --bppsa-outline-kernels=whole-levels --bppsa-choose-gpu-mapping --convert-bppsa-to-bgpu | FileCheck %s

// Replacing parallel loops of one iteration that write one of two arrays used to mix up the arrays.

// CHECK-LABEL: func @two_steps(
// CHECK:         call @forall_kernel
// CHECK:         call @recurrence_kernel
// CHECK-NOT:     bppsa.
// CHECK-LABEL: func @three_steps(
// CHECK:         call @forall_kernel
// CHECK:         call @forall_kernel
// CHECK:         call @recurrence_kernel
// CHECK-NOT:     bppsa.
func.func @two_steps(%a: tensor<2x?x4xf32>, %g: tensor<?x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x?x4xf32> {
  %0:2 = bppsa.chain plan <blelloch> saved(%a : tensor<2x?x4xf32>) seeds(%g : tensor<?x4xf32>)
      captures(%w : tensor<4x4xf32>) -> (tensor<?x4xf32>) emitted(tensor<2x?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %1, %0 : vector<4xf32>, vector<4xf32>
  }
  return %0#1 : tensor<2x?x4xf32>
}

func.func @three_steps(%a: tensor<3x1x4xf32>, %g: tensor<1x4xf32>, %w: tensor<4x4xf32>) -> tensor<3x1x4xf32> {
  %0:2 = bppsa.chain plan <blelloch> saved(%a : tensor<3x1x4xf32>) seeds(%g : tensor<1x4xf32>)
      captures(%w : tensor<4x4xf32>) -> (tensor<1x4xf32>) emitted(tensor<3x1x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %1, %0 : vector<4xf32>, vector<4xf32>
  }
  return %0#1 : tensor<3x1x4xf32>
}
