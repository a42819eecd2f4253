// RUN: bppsa-opt %s --bppsa-choose-cpu-mapping --bppsa-pack-batch --bppsa-transpose-captures | FileCheck %s

// CHECK-LABEL: func.func @untransposed(
// CHECK-SAME:    %[[W:[^:]*]]: tensor<4x3xf32>, %[[B:.*]]: tensor<4xf32>)
// CHECK:         %[[WT:[^ ]*]] = linalg.transpose ins(%[[W]] : tensor<4x3xf32>) outs({{.*}} : tensor<3x4xf32>) permutation = [1, 0]
// CHECK:         bppsa.recurrence
// CHECK-SAME:      captures(%[[B]], %[[WT]] : tensor<4xf32>, tensor<3x4xf32>)
// CHECK:         ^bb0(%[[XT:.*]]: vector<3xf32>, %[[BC:.*]]: vector<4xf32>, %[[WC:.*]]: vector<3x4xf32>):
// CHECK:         bppsa.matvec transposed %[[WC]], %[[XT]] plus %[[BC]]
func.func @untransposed(%x: tensor<?x?x3xf32>, %w: tensor<4x3xf32>, %b: tensor<4xf32>)
    -> tensor<?x?x4xf32> attributes {bppsa.lanes = 1 : i64} {
  %y = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>)
      captures(%w, %b : tensor<4x3xf32>, tensor<4xf32>) outputs(tensor<?x?x4xf32>) {
  ^bb0(%xt: vector<3xf32>, %wc: vector<4x3xf32>, %bc: vector<4xf32>):
    %0 = bppsa.matvec %wc, %xt plus %bc : vector<4x3xf32>, vector<3xf32> plus vector<4xf32> -> vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return %y : tensor<?x?x4xf32>
}

// A matrix used in both orientations is captured in both.

// CHECK-LABEL: func.func @both(
// CHECK-SAME:    %[[W:[^:]*]]: tensor<3x3xf32>)
// CHECK:         %[[WT:[^ ]*]] = linalg.transpose
// CHECK:         captures(%[[W]], %[[WT]] : tensor<3x3xf32>, tensor<3x3xf32>)
func.func @both(%x: tensor<?x?x3xf32>, %w: tensor<3x3xf32>) -> tensor<?x?x3xf32>
    attributes {bppsa.lanes = 1 : i64} {
  %y = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) captures(%w : tensor<3x3xf32>)
      outputs(tensor<?x?x3xf32>) {
  ^bb0(%xt: vector<3xf32>, %wc: vector<3x3xf32>):
    %0 = bppsa.matvec %wc, %xt : vector<3x3xf32>, vector<3xf32> -> vector<3xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<3x3xf32>, vector<3xf32> -> vector<3xf32>
    bppsa.yield %1 : vector<3xf32>
  }
  return %y : tensor<?x?x3xf32>
}

// Loops over sample lanes read single elements of the matrix, so nothing is transposed.

// CHECK-LABEL: func.func @over_samples(
// CHECK-NOT:     linalg.transpose
func.func @over_samples(%x: tensor<?x?x3xf32>, %w: tensor<4x3xf32>) -> tensor<?x?x4xf32> {
  %y = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) captures(%w : tensor<4x3xf32>)
      outputs(tensor<?x?x4xf32>) {
  ^bb0(%xt: vector<3xf32>, %wc: vector<4x3xf32>):
    %0 = bppsa.matvec %wc, %xt : vector<4x3xf32>, vector<3xf32> -> vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return %y : tensor<?x?x4xf32>
}

// CHECK-LABEL: func.func @transition(
// CHECK-SAME:    %{{[^:]*}}: tensor<?x?x3xf32>, %[[W:[^:]*]]: tensor<3x3xf32>
// CHECK:         %[[WT:[^ ]*]] = linalg.transpose ins(%[[W]] : tensor<3x3xf32>)
// CHECK:         bppsa.transition lanes 1
// CHECK-SAME:      captures(%[[WT]] : tensor<3x3xf32>)
// CHECK:         bppsa.matvec transposed
func.func @transition(%a: tensor<?x?x3xf32>, %w: tensor<3x3xf32>, %into: tensor<?x3x3xf32>)
    -> tensor<?x3x3xf32> attributes {bppsa.lanes = 1 : i64} {
  %m = bppsa.transition states [3] saved(%a : tensor<?x?x3xf32>)
      captures(%w : tensor<3x3xf32>) into(%into : tensor<?x3x3xf32>) -> tensor<?x3x3xf32> {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>, %wc: vector<3x3xf32>):
    %0 = bppsa.matvec %wc, %gt : vector<3x3xf32>, vector<3xf32> -> vector<3xf32>
    bppsa.yield %0 : vector<3xf32>
  }
  return %m : tensor<?x3x3xf32>
}
