// RUN: bppsa-opt %s --bppsa-fuse-gradients | FileCheck %s

// All sums move into the scan, which then emits only values with other users. A slice between the
// scan and a sum moves before the scan. Sizes come from saved values.

// CHECK-LABEL: func.func @sums(
// CHECK-SAME:      %[[H:[^:]*]]: tensor<?x?x4xf32>, %[[A:[^:]*]]: tensor<?x?x4xf32>, %[[X:[^:]*]]: tensor<?x?x3xf32>, %[[G:[^:]*]]: tensor<?x4xf32>, %[[T:[^:]*]]: index, %[[B:[^:]*]]: index)
// CHECK:         %[[BEFORE:.*]] = tensor.extract_slice %[[H]]
// CHECK-NEXT:    %[[G0:.*]], %[[KEPT:.*]], %[[SUMS:.*]]:4 = bppsa.chain plan <chunked, 8> saved(%[[A]] : tensor<?x?x4xf32>)
// CHECK-SAME:        factors(%[[X]], %[[BEFORE]] : tensor<?x?x3xf32>, tensor<?x?x4xf32>) sum_with [0, 1, 0, -1]
// CHECK-SAME:        -> (tensor<?x4xf32>) emitted(tensor<?x?x4xf32>) sums(tensor<4x3xf32>, tensor<4x4xf32>, tensor<4x3xf32>, tensor<4xf32>) {
// CHECK:           %[[D:.*]] = arith.mulf
// CHECK:           %[[E:.*]] = arith.addf
// CHECK:           bppsa.yield %[[E]], %[[E]], %[[D]], %[[D]], %[[E]], %[[D]]
// CHECK-NOT:     bppsa.outer_sum
// CHECK-NOT:     bppsa.step_sum
// CHECK:         tensor.dim %[[A]]
// CHECK:         return %[[G0]], %[[KEPT]], %[[SUMS]]#0, %[[SUMS]]#1, %[[SUMS]]#2, %[[SUMS]]#3
func.func @sums(%h: tensor<?x?x4xf32>, %a: tensor<?x?x4xf32>, %x: tensor<?x?x3xf32>, %g: tensor<?x4xf32>, %t: index, %b: index)
    -> (tensor<?x4xf32>, tensor<?x?x4xf32>, tensor<4x3xf32>, tensor<4x4xf32>, tensor<4x3xf32>, tensor<4xf32>, index) {
  %c0 = arith.constant 0 : index
  %0, %d, %e = bppsa.chain plan <chunked, 8> saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>)
      -> (tensor<?x4xf32>) emitted(tensor<?x?x4xf32>, tensor<?x?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    %2 = arith.addf %1, %gt : vector<4xf32>
    bppsa.yield %2, %1, %2 : vector<4xf32>, vector<4xf32>, vector<4xf32>
  }
  %before = tensor.extract_slice %h[0, 0, 0] [%t, %b, 4] [1, 1, 1] : tensor<?x?x4xf32> to tensor<?x?x4xf32>
  %w = bppsa.outer_sum %d, %x : tensor<?x?x4xf32>, tensor<?x?x3xf32> -> tensor<4x3xf32>
  %r = bppsa.outer_sum %d, %before : tensor<?x?x4xf32>, tensor<?x?x4xf32> -> tensor<4x4xf32>
  %v = bppsa.outer_sum %e, %x : tensor<?x?x4xf32>, tensor<?x?x3xf32> -> tensor<4x3xf32>
  %s = bppsa.step_sum %d : tensor<?x?x4xf32> -> tensor<4xf32>
  %steps = tensor.dim %d, %c0 : tensor<?x?x4xf32>
  return %0, %e, %w, %r, %v, %s, %steps : tensor<?x4xf32>, tensor<?x?x4xf32>, tensor<4x3xf32>, tensor<4x4xf32>, tensor<4x3xf32>, tensor<4xf32>, index
}

// A tree emits in separate kernels, so its sums are not fused.

// CHECK-LABEL: func.func @tree(
// CHECK:         bppsa.step_sum
func.func @tree(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<4xf32>) {
  %0, %d = bppsa.chain plan <hybrid, 1> saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>)
      -> (tensor<?x4xf32>) emitted(tensor<?x?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1, %gt : vector<4xf32>, vector<4xf32>
  }
  %s = bppsa.step_sum %d : tensor<?x?x4xf32> -> tensor<4xf32>
  return %0, %s : tensor<?x4xf32>, tensor<4xf32>
}

// A thread has too few registers for 1999 columns.

// CHECK-LABEL: func.func @wide(
// CHECK:         bppsa.outer_sum
func.func @wide(%a: tensor<?x?x4xf32>, %x: tensor<?x?x1999xf32>, %g: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<4x1999xf32>) {
  %0, %d = bppsa.chain saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>)
      -> (tensor<?x4xf32>) emitted(tensor<?x?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1, %gt : vector<4xf32>, vector<4xf32>
  }
  %w = bppsa.outer_sum %d, %x : tensor<?x?x4xf32>, tensor<?x?x1999xf32> -> tensor<4x1999xf32>
  return %0, %w : tensor<?x4xf32>, tensor<4x1999xf32>
}

// A product of two emitted sequences is not available before the chain.

// CHECK-LABEL: func.func @both_emitted(
// CHECK:         bppsa.outer_sum
func.func @both_emitted(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<4x4xf32>) {
  %0, %d = bppsa.chain saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>)
      -> (tensor<?x4xf32>) emitted(tensor<?x?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1, %gt : vector<4xf32>, vector<4xf32>
  }
  %w = bppsa.outer_sum %d, %d : tensor<?x?x4xf32>, tensor<?x?x4xf32> -> tensor<4x4xf32>
  return %0, %w : tensor<?x4xf32>, tensor<4x4xf32>
}
