// RUN: bppsa-opt %s -split-input-file --bppsa-infer-structure=loops-only --bppsa-expand-scan=unroll-up-to=64 | FileCheck %s
// RUN: bppsa-opt %s -split-input-file --bppsa-infer-structure=loops-only --bppsa-expand-scan=unroll-up-to=64 --remarks-filter=scan 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Four links: the seed and the first link run directly. The second and third links are the only
// pair that is worth a product, and the last link is applied for the initial state. The link scales
// its cotangent, so every matrix is diagonal.

// REMARK: [Passed] ExpandScan
// REMARK-SAME: blelloch scan of 4 steps expanded: 1 compose, 4 apply, depth 3

// CHECK-LABEL: func.func @blelloch
// CHECK-SAME: %[[A:.*]]: tensor<4x8x2xf32>, %[[G:.*]]: tensor<8x2xf32>
// CHECK: %[[A3:.*]] = tensor.extract_slice %[[A]][3, 0, 0] [1, 8, 2]
// CHECK: %[[J3:.*]] = jacobian.linearize saved(%[[A3]] : tensor<8x2xf32>) states [2] -> <2x2xf32, diagonal, batch = 8>
// CHECK: %[[G3:.*]] = jacobian.apply %[[J3]], %[[G]]
// CHECK: %[[J2:.*]] = jacobian.linearize
// CHECK: %[[J1:.*]] = jacobian.linearize
// CHECK: %[[J21:.*]] = jacobian.compose %[[J2]], %[[J1]] : <2x2xf32, diagonal, batch = 8>, <2x2xf32, diagonal, batch = 8> -> <2x2xf32, diagonal, batch = 8>
// CHECK: %[[G1:.*]] = jacobian.apply %[[J21]], %[[G3]]
// CHECK: jacobian.apply %[[J2]], %[[G3]]
// CHECK: %[[A0:.*]] = tensor.extract_slice %[[A]][0, 0, 0] [1, 8, 2]
// CHECK: %[[J0:.*]] = jacobian.linearize saved(%[[A0]] : tensor<8x2xf32>)
// CHECK: %[[G0:.*]] = jacobian.apply %[[J0]], %[[G1]]
// CHECK: return %[[G0]]
func.func @blelloch(%a: tensor<4x8x2xf32>, %g: tensor<8x2xf32>) -> tensor<8x2xf32> {
  %0 = bppsa.chain plan <blelloch> saved(%a : tensor<4x8x2xf32>) seeds(%g : tensor<8x2xf32>)
      -> (tensor<8x2xf32>) {
  ^bb0(%at: vector<2xf32>, %gt: vector<2xf32>):
    %1 = arith.mulf %at, %gt : vector<2xf32>
    bppsa.yield %1 : vector<2xf32>
  }
  return %0 : tensor<8x2xf32>
}

// -----

// States that do not mix form one diagonal.

// CHECK-LABEL: func.func @two_states
// CHECK: jacobian.compose {{.*}} -> <5x5xf32, diagonal, batch = ?>
func.func @two_states(%f: tensor<4x?x3xf32>, %i: tensor<4x?x2xf32>, %g: tensor<?x3xf32>, %h: tensor<?x2xf32>)
    -> (tensor<?x3xf32>, tensor<?x2xf32>) {
  %0:2 = bppsa.chain plan <blelloch> saved(%f, %i : tensor<4x?x3xf32>, tensor<4x?x2xf32>)
      seeds(%g, %h : tensor<?x3xf32>, tensor<?x2xf32>) -> (tensor<?x3xf32>, tensor<?x2xf32>) {
  ^bb0(%ft: vector<3xf32>, %it: vector<2xf32>, %gt: vector<3xf32>, %ht: vector<2xf32>):
    %1 = arith.mulf %ft, %gt : vector<3xf32>
    %2 = arith.mulf %it, %ht : vector<2xf32>
    %3 = arith.subf %ht, %2 : vector<2xf32>
    bppsa.yield %1, %3 : vector<3xf32>, vector<2xf32>
  }
  return %0#0, %0#1 : tensor<?x3xf32>, tensor<?x2xf32>
}

// -----

// The product of two column-scaled shared matrices has no structure.

// CHECK-LABEL: func.func @shared
// CHECK: jacobian.compose {{.*}} : <2x2xf32, column_scaled, batch = 8>, <2x2xf32, column_scaled, batch = 8> -> <2x2xf32, dense, batch = 8>
func.func @shared(%a: tensor<4x8x2xf32>, %g: tensor<8x2xf32>, %w: tensor<2x2xf32>) -> tensor<8x2xf32> {
  %0 = bppsa.chain plan <blelloch> saved(%a : tensor<4x8x2xf32>) seeds(%g : tensor<8x2xf32>)
      captures(%w : tensor<2x2xf32>) -> (tensor<8x2xf32>) {
  ^bb0(%at: vector<2xf32>, %gt: vector<2xf32>, %wc: vector<2x2xf32>):
    %1 = arith.mulf %at, %gt : vector<2xf32>
    %2 = bppsa.matvec transposed %wc, %1 : vector<2x2xf32>, vector<2xf32> -> vector<2xf32>
    bppsa.yield %2 : vector<2xf32>
  }
  return %0 : tensor<8x2xf32>
}

// -----

// The last link is not formed if the cotangent of the initial state is unused. Emitted values are
// recomputed from the cotangent that enters each link.

// CHECK-LABEL: func.func @emitted
// CHECK: jacobian.linearize
// CHECK-NOT: jacobian.linearize
// CHECK: %[[D:.*]] = bppsa.recurrence sequences(%{{.*}}, %{{.*}} : tensor<2x8x2xf32>, tensor<2x8x2xf32>) outputs(tensor<2x8x2xf32>)
// CHECK: return %[[D]]
func.func @emitted(%a: tensor<2x8x2xf32>, %g: tensor<8x2xf32>) -> tensor<2x8x2xf32> {
  %0, %d = bppsa.chain plan <blelloch> saved(%a : tensor<2x8x2xf32>) seeds(%g : tensor<8x2xf32>)
      -> (tensor<8x2xf32>) emitted(tensor<2x8x2xf32>) {
  ^bb0(%at: vector<2xf32>, %gt: vector<2xf32>):
    %1 = arith.mulf %at, %gt : vector<2xf32>
    bppsa.yield %1, %1 : vector<2xf32>, vector<2xf32>
  }
  return %d : tensor<2x8x2xf32>
}

// -----

// An injected cotangent is the offset of an affine pair.

// CHECK-LABEL: func.func @injected
// CHECK-SAME: %[[S:[^:]*]]: tensor<2x8x2xf32>, %[[G:.*]]: tensor<8x2xf32>
// CHECK: %[[S1:.*]] = tensor.extract_slice %[[S]][1, 0, 0]
// CHECK: %[[E1:.*]] = arith.addf %[[G]], %[[S1]]
// CHECK: %[[S0:.*]] = tensor.extract_slice %[[S]][0, 0, 0]
// CHECK: %[[J1E1:.*]] = jacobian.apply %{{.*}}, %[[E1]]
// CHECK: %[[E0:.*]] = arith.addf %[[J1E1]], %[[S0]]
// CHECK: jacobian.apply %{{.*}}, %[[E0]]
func.func @injected(%s: tensor<2x8x2xf32>, %g: tensor<8x2xf32>) -> tensor<8x2xf32> {
  %0 = bppsa.chain plan <hybrid, 0> saved(%s : tensor<2x8x2xf32>) seeds(%g : tensor<8x2xf32>)
      injected(%s : tensor<2x8x2xf32>) inject_into [0] -> (tensor<8x2xf32>) {
  ^bb0(%at: vector<2xf32>, %gt: vector<2xf32>):
    %1 = arith.mulf %at, %gt : vector<2xf32>
    bppsa.yield %1 : vector<2xf32>
  }
  return %0 : tensor<8x2xf32>
}

// -----

// Arrays of one scan may have different static sizes.

// CHECK-LABEL: func.func @mixed_sizes
// CHECK: tensor.cast %{{.*}} : tensor<?x1xf32> to tensor<8x1xf32>
// CHECK: tensor.cast %{{.*}} : tensor<8x2xf32> to tensor<?x2xf32>
func.func @mixed_sizes(%a: tensor<2x?x2xf32>, %g: tensor<8x2xf32>, %k: tensor<?x1xf32>)
    -> (tensor<?x2xf32>, tensor<8x1xf32>) {
  %0:2 = bppsa.chain plan <blelloch> saved(%a : tensor<2x?x2xf32>)
      seeds(%g, %k : tensor<8x2xf32>, tensor<?x1xf32>)
      -> (tensor<?x2xf32>, tensor<8x1xf32>) {
  ^bb0(%at: vector<2xf32>, %gt: vector<2xf32>, %kt: vector<1xf32>):
    bppsa.yield %gt, %kt : vector<2xf32>, vector<1xf32>
  }
  return %0#0, %0#1 : tensor<?x2xf32>, tensor<8x1xf32>
}
