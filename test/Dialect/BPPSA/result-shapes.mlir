// RUN: bppsa-opt %s -split-input-file --resolve-ranked-shaped-type-result-dims --cse | FileCheck %s

// Sizes of results are computed from operands, so the results themselves are not needed.

// CHECK-LABEL: func.func @recurrence
// CHECK-SAME:      (%[[X:.*]]: tensor<?x?x4xf32>, %[[H:.*]]: tensor<?x4xf32>)
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[ONE:.*]] = arith.constant 1 : index
// CHECK:         %[[T:.*]] = tensor.dim %[[X]], %[[ZERO]]
// CHECK:         %[[SLOTS:.*]] = arith.addi %[[T]], %[[ONE]]
// CHECK:         %[[B:.*]] = tensor.dim %[[X]], %[[ONE]]
// CHECK:         return %[[SLOTS]], %[[B]], %[[T]], %[[B]]
func.func @recurrence(%x: tensor<?x?x4xf32>, %h: tensor<?x4xf32>) -> (index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0, %1 = bppsa.recurrence sequences(%x : tensor<?x?x4xf32>) initial(%h : tensor<?x4xf32>)
      -> (tensor<?x?x4xf32>) outputs(tensor<?x?x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
    %2 = arith.addf %xt, %ht : vector<4xf32>
    bppsa.yield %2, %xt : vector<4xf32>, vector<4xf32>
  }
  %t = tensor.dim %0, %c0 : tensor<?x?x4xf32>
  %b = tensor.dim %0, %c1 : tensor<?x?x4xf32>
  %u = tensor.dim %1, %c0 : tensor<?x?x4xf32>
  %n = tensor.dim %1, %c1 : tensor<?x?x4xf32>
  return %t, %b, %u, %n : index, index, index, index
}

// -----

// Without sequences, the number of steps is an operand, and the number of rows comes from the
// states.

// CHECK-LABEL: func.func @counted
// CHECK-SAME:      (%[[STEPS:.*]]: index, %[[H:.*]]: tensor<?x4xf32>)
// CHECK:         %[[B:.*]] = tensor.dim %[[H]], %{{.*}}
// CHECK:         return %[[STEPS]], %[[B]]
func.func @counted(%steps: index, %h: tensor<?x4xf32>) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0, %1 = bppsa.recurrence steps %steps initial(%h : tensor<?x4xf32>) -> (tensor<?x?x4xf32>) outputs(tensor<?x?x4xf32>) {
  ^bb0(%ht: tensor<4xf32>):
    bppsa.yield %ht, %ht : tensor<4xf32>, tensor<4xf32>
  }
  %t = tensor.dim %1, %c0 : tensor<?x?x4xf32>
  %b = tensor.dim %1, %c1 : tensor<?x?x4xf32>
  return %t, %b : index, index
}

// -----

// In packed arrays, batch blocks come before steps.

// CHECK-LABEL: func.func @packed_chain
// CHECK-SAME:      (%[[A:.*]]: tensor<?x?x4x16xf32>, %[[G:.*]]: tensor<?x4x16xf32>)
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[ONE:.*]] = arith.constant 1 : index
// CHECK:         %[[BLOCKS:.*]] = tensor.dim %[[A]], %[[ZERO]]
// CHECK:         %[[T:.*]] = tensor.dim %[[A]], %[[ONE]]
// CHECK:         return %[[BLOCKS]], %[[BLOCKS]], %[[T]]
func.func @packed_chain(%a: tensor<?x?x4x16xf32>, %g: tensor<?x4x16xf32>) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0, %1 = bppsa.chain lanes 16 saved(%a : tensor<?x?x4x16xf32>) seeds(%g : tensor<?x4x16xf32>)
      -> (tensor<?x4x16xf32>) emitted(tensor<?x?x4x16xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %2 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %2, %2 : vector<4xf32>, vector<4xf32>
  }
  %b = tensor.dim %0, %c0 : tensor<?x4x16xf32>
  %n = tensor.dim %1, %c0 : tensor<?x?x4x16xf32>
  %t = tensor.dim %1, %c1 : tensor<?x?x4x16xf32>
  return %b, %n, %t : index, index, index
}

// -----

// CHECK-LABEL: func.func @layout
// CHECK-SAME:      (%[[X:.*]]: tensor<?x?x3xf32>, %[[B:.*]]: index)
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[ONE:.*]] = arith.constant 1 : index
// CHECK-DAG:     %[[L:.*]] = arith.constant 16 : index
// CHECK-DAG:     %[[T:.*]] = tensor.dim %[[X]], %[[ZERO]]
// CHECK-DAG:     %[[SAMPLES:.*]] = tensor.dim %[[X]], %[[ONE]]
// CHECK-DAG:     %[[BLOCKS:.*]] = arith.ceildivui %[[SAMPLES]], %[[L]]
// CHECK:         return %[[BLOCKS]], %[[T]], %[[T]], %[[B]]
func.func @layout(%x: tensor<?x?x3xf32>, %batch: index) -> (index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = bppsa.pack_lanes 16, %x : tensor<?x?x3xf32> -> tensor<?x?x3x16xf32>
  %1 = bppsa.unpack_lanes 16, %0, %batch : tensor<?x?x3x16xf32> -> tensor<?x?x3xf32>
  %blocks = tensor.dim %0, %c0 : tensor<?x?x3x16xf32>
  %steps = tensor.dim %0, %c1 : tensor<?x?x3x16xf32>
  %t = tensor.dim %1, %c0 : tensor<?x?x3xf32>
  %b = tensor.dim %1, %c1 : tensor<?x?x3xf32>
  return %blocks, %steps, %t, %b : index, index, index, index
}

// -----

// A result with a destination has the sizes of the destination.

// CHECK-LABEL: func.func @transition
// CHECK-SAME:      (%{{.*}}: tensor<8x?x4xf32>, %[[E:.*]]: tensor<?x4x4xf32>, %{{.*}}: tensor<?x4xf32>, %[[D:.*]]: tensor<?x4xf32>)
// CHECK:         %[[B:.*]] = tensor.dim %[[E]], %{{.*}}
// CHECK:         %[[N:.*]] = tensor.dim %[[D]], %{{.*}}
// CHECK:         return %[[B]], %[[N]]
func.func @transition(%a: tensor<8x?x4xf32>, %e: tensor<?x4x4xf32>, %g: tensor<?x4xf32>, %d: tensor<?x4xf32>) -> (index, index) {
  %c0 = arith.constant 0 : index
  %0 = bppsa.transition states [4] saved(%a : tensor<8x?x4xf32>) into(%e : tensor<?x4x4xf32>) -> tensor<?x4x4xf32> {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  %2 = bppsa.apply_transition %0, %g into %d : tensor<?x4x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %b = tensor.dim %0, %c0 : tensor<?x4x4xf32>
  %n = tensor.dim %2, %c0 : tensor<?x4xf32>
  return %b, %n : index, index
}

// -----

!diagonal = !jacobian.matrix<4x4xf32, diagonal, batch = ?>
// CHECK-LABEL: func.func @products
// CHECK-SAME:      %[[G:[^:]*]]: tensor<?x4xf32>, %[[V:[^:]*]]: tensor<2x?xf32>, %[[C:[^:]*]]: tensor<2x?xf32>
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[ONE:.*]] = arith.constant 1 : index
// CHECK-DAG:     %[[B:.*]] = tensor.dim %[[G]], %[[ZERO]]
// CHECK-DAG:     %[[N:.*]] = tensor.dim %[[C]], %[[ONE]]
// CHECK:         return %[[B]], %[[N]]
func.func @products(%j: !diagonal, %g: tensor<?x4xf32>, %v: tensor<2x?xf32>, %c: tensor<2x?xf32>) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = jacobian.apply %j, %g : !diagonal, tensor<?x4xf32> -> tensor<?x4xf32>
  %1 = jacobian.sparse_apply values(%v : tensor<2x?xf32>) cotangent(%c : tensor<2x?xf32>) -> tensor<1x?xf32>
  %b = tensor.dim %0, %c0 : tensor<?x4xf32>
  %n = tensor.dim %1, %c1 : tensor<1x?xf32>
  return %b, %n : index, index
}
