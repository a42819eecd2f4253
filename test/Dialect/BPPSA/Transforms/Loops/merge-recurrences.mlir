// RUN: bppsa-opt %s --bppsa-merge-recurrences | FileCheck %s

// Two loops with equal states and different outputs, followed by two loops that read their
// trajectories.
// CHECK-LABEL: func.func @stack(
// CHECK-SAME:    %[[X:.*]]: tensor<3x?x4xf32>, %[[H0:.*]]: tensor<?x4xf32>
// CHECK:         %[[H:.*]], %[[S:.*]] = bppsa.recurrence sequences(%[[X]] : tensor<3x?x4xf32>) initial(%[[H0]] : tensor<?x4xf32>) -> (tensor<4x?x4xf32>) outputs(tensor<3x?x4xf32>)
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      %[[SUM:.*]] = arith.addf
// CHECK-NEXT:      %[[TANH:.*]] = math.tanh %[[SUM]]
// CHECK-NEXT:      bppsa.yield %[[TANH]], %[[SUM]]
// CHECK:         %[[READ:.*]] = tensor.extract_slice %[[H]]
// CHECK:         %[[K:.*]], %[[R:.*]] = bppsa.recurrence sequences(%[[READ]]
// CHECK-NOT:     bppsa.recurrence
// CHECK:         return %[[K]], %[[K]], %[[S]], %[[R]]
func.func @stack(%x: tensor<3x?x4xf32>, %h0: tensor<?x4xf32>, %n: index)
    -> (tensor<4x?x4xf32>, tensor<4x?x4xf32>, tensor<3x?x4xf32>, tensor<3x?x4xf32>) {
  %a = bppsa.recurrence sequences(%x : tensor<3x?x4xf32>) initial(%h0 : tensor<?x4xf32>) -> (tensor<4x?x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
    %0 = arith.addf %xt, %ht : vector<4xf32>
    %1 = math.tanh %0 : vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  %b, %s = bppsa.recurrence sequences(%x : tensor<3x?x4xf32>) initial(%h0 : tensor<?x4xf32>) -> (tensor<4x?x4xf32>) outputs(tensor<3x?x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
    %0 = arith.addf %xt, %ht : vector<4xf32>
    %1 = math.tanh %0 : vector<4xf32>
    bppsa.yield %1, %0 : vector<4xf32>, vector<4xf32>
  }
  %y = tensor.extract_slice %a[1, 0, 0] [3, %n, 4] [1, 1, 1] : tensor<4x?x4xf32> to tensor<3x?x4xf32>
  %z = tensor.extract_slice %b[1, 0, 0] [3, %n, 4] [1, 1, 1] : tensor<4x?x4xf32> to tensor<3x?x4xf32>
  %c, %r = bppsa.recurrence sequences(%y : tensor<3x?x4xf32>) initial(%h0 : tensor<?x4xf32>) -> (tensor<4x?x4xf32>) outputs(tensor<3x?x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
    %0 = arith.mulf %xt, %ht : vector<4xf32>
    bppsa.yield %0, %ht : vector<4xf32>, vector<4xf32>
  }
  %d = bppsa.recurrence sequences(%z : tensor<3x?x4xf32>) initial(%h0 : tensor<?x4xf32>) -> (tensor<4x?x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
    %0 = arith.mulf %xt, %ht : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return %c, %d, %s, %r : tensor<4x?x4xf32>, tensor<4x?x4xf32>, tensor<3x?x4xf32>, tensor<3x?x4xf32>
}

// Loops with different states, or in the other direction, are not merged.
// CHECK-LABEL: func.func @different(
// CHECK-COUNT-3: bppsa.recurrence
// CHECK:         return
func.func @different(%x: tensor<3x?x4xf32>, %h0: tensor<?x4xf32>)
    -> (tensor<4x?x4xf32>, tensor<4x?x4xf32>, tensor<4x?x4xf32>) {
  %a = bppsa.recurrence sequences(%x : tensor<3x?x4xf32>) initial(%h0 : tensor<?x4xf32>) -> (tensor<4x?x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
    %0 = arith.addf %xt, %ht : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  %b = bppsa.recurrence sequences(%x : tensor<3x?x4xf32>) initial(%h0 : tensor<?x4xf32>) -> (tensor<4x?x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
    %0 = arith.mulf %xt, %ht : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  %c = bppsa.recurrence reverse sequences(%x : tensor<3x?x4xf32>) initial(%h0 : tensor<?x4xf32>) -> (tensor<4x?x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
    %0 = arith.addf %xt, %ht : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return %a, %b, %c : tensor<4x?x4xf32>, tensor<4x?x4xf32>, tensor<4x?x4xf32>
}
