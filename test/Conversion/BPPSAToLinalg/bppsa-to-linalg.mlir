// RUN: bppsa-opt %s --convert-bppsa-to-linalg | FileCheck %s

// CHECK-LABEL: func.func @recurrence
// CHECK-SAME: %[[X:.*]]: tensor<5x2x3xf32>, %[[H0:.*]]: tensor<2x3xf32>
// CHECK: %[[T:.*]] = tensor.insert_slice %[[H0]] into %{{.*}}[0, 0, 0] [1, 2, 3] [1, 1, 1]
// CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%[[H:.*]] = %[[H0]], %[[S:.*]] = %[[T]])
// CHECK:   %[[XT:.*]] = tensor.extract_slice %[[X]][%[[I]], 0, 0] [1, 2, 3] [1, 1, 1]
// CHECK:   linalg.generic {{.*}} ins(%[[XT]], %[[H]] : tensor<2x3xf32>, tensor<2x3xf32>)
// CHECK:     arith.addf
// CHECK:   %[[NEXT:.*]] = arith.addi %[[I]]
// CHECK:   tensor.insert_slice %{{.*}} into %[[S]][%[[NEXT]], 0, 0] [1, 2, 3] [1, 1, 1]
func.func @recurrence(%x: tensor<5x2x3xf32>, %h0: tensor<2x3xf32>) -> tensor<6x2x3xf32> {
  %h = bppsa.recurrence sequences(%x : tensor<5x2x3xf32>) initial(%h0 : tensor<2x3xf32>) -> (tensor<6x2x3xf32>) {
  ^bb0(%xt: vector<3xf32>, %ht: vector<3xf32>):
    %0 = arith.addf %xt, %ht : vector<3xf32>
    bppsa.yield %0 : vector<3xf32>
  }
  return %h : tensor<6x2x3xf32>
}

// A Jacobian is a dense tensor; `compose %j, %k` is the product k j.
// CHECK-LABEL: func.func @products
// CHECK-SAME: %[[J:.*]]: tensor<8x4x4xf32>, %[[K:.*]]: tensor<4x4xf32>, %[[G:.*]]: tensor<8x4xf32>
// CHECK: %[[P:.*]] = linalg.generic {{.*}} ins(%[[K]], %[[J]] : tensor<4x4xf32>, tensor<8x4x4xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[G]], %[[P]] : tensor<8x4xf32>, tensor<8x4x4xf32>)
func.func @products(%j: !bppsa.jacobian<4x4xf32, dense, batch = 8>, %k: !bppsa.jacobian<4x4xf32, dense>, %g: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = bppsa.compose %j, %k : !bppsa.jacobian<4x4xf32, dense, batch = 8>, !bppsa.jacobian<4x4xf32, dense> -> !bppsa.jacobian<4x4xf32, dense, batch = 8>
  %1 = bppsa.apply %0, %g : !bppsa.jacobian<4x4xf32, dense, batch = 8>, tensor<8x4xf32> -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// CHECK-LABEL: func.func @sigmoid
// CHECK: linalg.generic
// CHECK: arith.negf
// CHECK: math.exp
// CHECK: arith.divf
func.func @sigmoid(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %0 = bppsa.sigmoid %x : tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}

// CHECK-LABEL: func.func @graph
// CHECK-SAME: %[[X:.*]]: tensor<?xf32>
// CHECK: return %[[X]]
func.func @graph(%x: tensor<?xf32>) -> tensor<?xf32> {
  bppsa.mark_phase 1
  %0 = bppsa.stop_gradient %x : tensor<?xf32>
  %1 = bppsa.dropout %0 ratio 5.000000e-01 stream 0 : tensor<?xf32>
  %2 = math.exp %x : tensor<?xf32>
  %3, %4 = bppsa.running_statistic %2 of %1 momentum 9.0e-01 : tensor<?xf32>
  return %3 : tensor<?xf32>
}
