// RUN: bppsa-opt --bppsa-merge-products %s | FileCheck %s

// Products of the same sequence become one loop at the position of the first. The matrix of the
// second product is computed before it.

// CHECK-LABEL: func.func @gates
//  CHECK-SAME: (%[[X:.*]]: tensor<?x?x8xf32>, %[[V:.*]]: tensor<4x8xf32>, %[[W:.*]]: tensor<2x6x8xf32>, %[[B:.*]]: tensor<4xf32>, %[[C:.*]]: tensor<6xf32>)
//       CHECK:   %[[M:.*]] = tensor.extract_slice %[[W]]
//  CHECK-NEXT:   %[[OUTPUTS:.*]]:2 = bppsa.recurrence sequences(%[[X]] : tensor<?x?x8xf32>) captures(%[[V]], %[[B]], %[[M]], %[[C]] : {{.*}}) outputs(tensor<?x?x4xf32>, tensor<?x?x6xf32>) {
//  CHECK-NEXT:   ^bb0(%[[XT:.*]]: vector<8xf32>, %[[VC:.*]]: vector<4x8xf32>, %[[BC:.*]]: vector<4xf32>, %[[MC:.*]]: vector<6x8xf32>, %[[CC:.*]]: vector<6xf32>):
//  CHECK-NEXT:     %[[P:.*]] = bppsa.matvec %[[VC]], %[[XT]] plus %[[BC]]
//  CHECK-NEXT:     %[[Q:.*]] = bppsa.matvec %[[MC]], %[[XT]] plus %[[CC]]
//  CHECK-NEXT:     bppsa.yield %[[P]], %[[Q]]
//       CHECK:   %[[Z:.*]] = math.tanh %[[OUTPUTS]]#0
//       CHECK:   return %[[Z]], %[[OUTPUTS]]#1
func.func @gates(%x: tensor<?x?x8xf32>, %v: tensor<4x8xf32>, %w: tensor<2x6x8xf32>, %b: tensor<4xf32>, %c: tensor<6xf32>)
    -> (tensor<?x?x4xf32>, tensor<?x?x6xf32>) {
  %y = bppsa.recurrence sequences(%x : tensor<?x?x8xf32>) captures(%v, %b : tensor<4x8xf32>, tensor<4xf32>) outputs(tensor<?x?x4xf32>) {
  ^bb0(%xt: vector<8xf32>, %vc: vector<4x8xf32>, %bc: vector<4xf32>):
    %0 = bppsa.matvec %vc, %xt plus %bc : vector<4x8xf32>, vector<8xf32> plus vector<4xf32> -> vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  %z = math.tanh %y : tensor<?x?x4xf32>
  %m = tensor.extract_slice %w[1, 0, 0] [1, 6, 8] [1, 1, 1] : tensor<2x6x8xf32> to tensor<6x8xf32>
  %u = bppsa.recurrence sequences(%x : tensor<?x?x8xf32>) captures(%m, %c : tensor<6x8xf32>, tensor<6xf32>) outputs(tensor<?x?x6xf32>) {
  ^bb0(%xt: vector<8xf32>, %mc: vector<6x8xf32>, %cc: vector<6xf32>):
    %0 = bppsa.matvec %mc, %xt plus %cc : vector<6x8xf32>, vector<8xf32> plus vector<6xf32> -> vector<6xf32>
    bppsa.yield %0 : vector<6xf32>
  }
  return %z, %u : tensor<?x?x4xf32>, tensor<?x?x6xf32>
}

// Not merged: a loop that multiplies another sequence, a loop without an addend, and a loop whose
// matrix depends on the first product.

// CHECK-LABEL: func.func @unlike
// CHECK-COUNT-4: bppsa.recurrence
func.func @unlike(%x: tensor<?x?x8xf32>, %h: tensor<?x?x8xf32>, %v: tensor<4x8xf32>, %b: tensor<4xf32>)
    -> (tensor<?x?x4xf32>, tensor<?x?x4xf32>, tensor<?x?x4xf32>, tensor<?x?x4xf32>) {
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x8xf32>) captures(%v, %b : tensor<4x8xf32>, tensor<4xf32>) outputs(tensor<?x?x4xf32>) {
  ^bb0(%xt: vector<8xf32>, %vc: vector<4x8xf32>, %bc: vector<4xf32>):
    %6 = bppsa.matvec %vc, %xt plus %bc : vector<4x8xf32>, vector<8xf32> plus vector<4xf32> -> vector<4xf32>
    bppsa.yield %6 : vector<4xf32>
  }
  %1 = bppsa.recurrence sequences(%h : tensor<?x?x8xf32>) captures(%v, %b : tensor<4x8xf32>, tensor<4xf32>) outputs(tensor<?x?x4xf32>) {
  ^bb0(%xt: vector<8xf32>, %vc: vector<4x8xf32>, %bc: vector<4xf32>):
    %6 = bppsa.matvec %vc, %xt plus %bc : vector<4x8xf32>, vector<8xf32> plus vector<4xf32> -> vector<4xf32>
    bppsa.yield %6 : vector<4xf32>
  }
  %2 = bppsa.recurrence sequences(%x : tensor<?x?x8xf32>) captures(%v : tensor<4x8xf32>) outputs(tensor<?x?x4xf32>) {
  ^bb0(%xt: vector<8xf32>, %vc: vector<4x8xf32>):
    %6 = bppsa.matvec %vc, %xt : vector<4x8xf32>, vector<8xf32> -> vector<4xf32>
    bppsa.yield %6 : vector<4xf32>
  }
  %3 = bppsa.outer_sum %0, %x : tensor<?x?x4xf32>, tensor<?x?x8xf32> -> tensor<4x8xf32>
  %4 = bppsa.recurrence sequences(%x : tensor<?x?x8xf32>) captures(%3, %b : tensor<4x8xf32>, tensor<4xf32>) outputs(tensor<?x?x4xf32>) {
  ^bb0(%xt: vector<8xf32>, %vc: vector<4x8xf32>, %bc: vector<4xf32>):
    %6 = bppsa.matvec %vc, %xt plus %bc : vector<4x8xf32>, vector<8xf32> plus vector<4xf32> -> vector<4xf32>
    bppsa.yield %6 : vector<4xf32>
  }
  return %0, %1, %2, %4 : tensor<?x?x4xf32>, tensor<?x?x4xf32>, tensor<?x?x4xf32>, tensor<?x?x4xf32>
}
