// RUN: bppsa-opt %s --bppsa-infer-structure=loops-only --bppsa-expand-scan=whole-levels --canonicalize --cse --bppsa-bufferize --canonicalize --cse \
// RUN:     --bppsa-outline-kernels=whole-levels --canonicalize --bppsa-choose-gpu-mapping --convert-bppsa-to-bgpu | FileCheck %s

// Windows with a static number of steps used to be rejected, because canonicalization turns them
// into casts or whole arrays.

// CHECK-LABEL: func private @forall_kernel_1(
// CHECK-NOT:     bppsa.
// CHECK:         bgpu.kernel
// CHECK-LABEL: func private @forall_kernel_4(
// CHECK-NOT:     bppsa.
// CHECK:         bgpu.kernel
func.func @one_step(%a: tensor<1x3x4xf32>, %g: tensor<3x4xf32>, %w: tensor<4x4xf32>) -> tensor<1x3x4xf32> {
  %0:2 = bppsa.chain plan <chunked> saved(%a : tensor<1x3x4xf32>) seeds(%g : tensor<3x4xf32>)
      captures(%w : tensor<4x4xf32>) -> (tensor<3x4xf32>) emitted(tensor<1x3x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %1, %0 : vector<4xf32>, vector<4xf32>
  }
  return %0#1 : tensor<1x3x4xf32>
}

func.func @one_row(%a: tensor<7x1x4xf32>, %g: tensor<1x4xf32>, %w: tensor<4x4xf32>) -> tensor<7x1x4xf32> {
  %0:2 = bppsa.chain plan <chunked, 8> saved(%a : tensor<7x1x4xf32>) seeds(%g : tensor<1x4xf32>)
      captures(%w : tensor<4x4xf32>) -> (tensor<1x4xf32>) emitted(tensor<7x1x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %1, %0 : vector<4xf32>, vector<4xf32>
  }
  return %0#1 : tensor<7x1x4xf32>
}
