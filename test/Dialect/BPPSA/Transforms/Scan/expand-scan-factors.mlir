// RUN: bppsa-opt %s --bppsa-infer-structure=loops-only --bppsa-expand-scan=factor-links --canonicalize --cse | FileCheck %s
// RUN: bppsa-opt %s --bppsa-infer-structure=loops-only --bppsa-expand-scan --canonicalize --cse | FileCheck %s --check-prefix=COLUMNS

// COLUMNS-NOT: bppsa.factored_transition

// The transition of an RNN step is W^T diag(1 - h^2). The scales of all steps are computed first,
// then one leaf per step.

// CHECK-LABEL: func.func @rnn(
// CHECK-SAME:    %{{.*}}, %[[W:[^:]*]]: tensor<4x4xf32>)
// CHECK:         %[[SCALES:.*]] = bppsa.recurrence sequences(%{{[^:]*}} : tensor<?x?x4xf32>) captures(%[[W]] :
// CHECK-NEXT:    ^bb0(%[[HT:.*]]: vector<4xf32>, %{{.*}}: vector<4x4xf32>):
// CHECK:           %[[SQUARE:.*]] = arith.mulf %[[HT]], %[[HT]]
// CHECK-NEXT:      %[[SLOPE:.*]] = arith.subf %{{.*}}, %[[SQUARE]]
// CHECK-NEXT:      bppsa.yield %[[SLOPE]]
// CHECK:         scf.forall
// CHECK:           %[[D:.*]] = tensor.extract_slice %[[SCALES]]
// CHECK:           bppsa.factored_transition states [4] terms [#bppsa.term<row = 0, col = 0, matrix = 0, right = 0, transposed = true>] scales(%[[D]] : tensor<?x4xf32>) matrices(%[[W]] : tensor<4x4xf32>)
// CHECK-NOT:     bppsa.transition
func.func @rnn(%h: tensor<?x?x4xf32>, %g: tensor<?x4xf32>, %w: tensor<4x4xf32>) -> tensor<?x?x4xf32> {
  %0, %e = bppsa.chain plan <blelloch> saved(%h : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>)
      captures(%w : tensor<4x4xf32>) -> (tensor<?x4xf32>) emitted(tensor<?x?x4xf32>) {
  ^bb0(%ht: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %one = arith.constant dense<1.0> : vector<4xf32>
    %1 = arith.mulf %ht, %ht : vector<4xf32>
    %2 = arith.subf %one, %1 : vector<4xf32>
    %3 = arith.mulf %gt, %2 : vector<4xf32>
    %4 = bppsa.matvec transposed %wc, %3 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %4, %3 : vector<4xf32>, vector<4xf32>
  }
  return %e : tensor<?x?x4xf32>
}

// A saved scale is read in place. Terms with the same matrix are merged.

// CHECK-LABEL: func.func @saved(
// CHECK-SAME:    %[[Z:.*]]: tensor<?x?x4xf32>, %[[N:.*]]: tensor<?x?x4xf32>,
// CHECK-NOT:     math.exp
// CHECK:         scf.forall
// CHECK-DAG:       %[[ZT:.*]] = tensor.extract_slice %[[Z]]
// CHECK:           bppsa.factored_transition states [4] terms [#bppsa.term<row = 0, col = 0, matrix = 0, right = 0>, #bppsa.term<row = 0, col = 0, right = 1>] scales(%{{.*}}, %[[ZT]] :
func.func @saved(%z: tensor<?x?x4xf32>, %n: tensor<?x?x4xf32>, %g: tensor<?x4xf32>, %w: tensor<4x4xf32>) -> tensor<?x?x4xf32> {
  %0, %e = bppsa.chain plan <blelloch> saved(%z, %n : tensor<?x?x4xf32>, tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>)
      captures(%w : tensor<4x4xf32>) -> (tensor<?x4xf32>) emitted(tensor<?x?x4xf32>) {
  ^bb0(%zt: vector<4xf32>, %nt: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %1 = arith.mulf %gt, %nt : vector<4xf32>
    %2 = arith.mulf %1, %nt : vector<4xf32>
    %3 = arith.addf %1, %2 : vector<4xf32>
    %4 = bppsa.matvec %wc, %3 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    %5 = arith.mulf %zt, %gt : vector<4xf32>
    %6 = arith.addf %4, %5 : vector<4xf32>
    %7 = math.exp %1 : vector<4xf32>
    bppsa.yield %6, %7 : vector<4xf32>, vector<4xf32>
  }
  return %e : tensor<?x?x4xf32>
}

// A path through two matrices does not factor, so the link is applied to columns.

// CHECK-LABEL: func.func @two_matrices
// CHECK:         bppsa.transition
// CHECK-NOT:     bppsa.factored_transition
func.func @two_matrices(%h: tensor<?x?x4xf32>, %g: tensor<?x4xf32>, %w: tensor<4x4xf32>) -> tensor<?x?x4xf32> {
  %0, %e = bppsa.chain plan <blelloch> saved(%h : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>)
      captures(%w : tensor<4x4xf32>) -> (tensor<?x4xf32>) emitted(tensor<?x?x4xf32>) {
  ^bb0(%ht: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %1 = bppsa.matvec transposed %wc, %gt : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    %2 = arith.mulf %1, %ht : vector<4xf32>
    %3 = bppsa.matvec transposed %wc, %2 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %3, %2 : vector<4xf32>, vector<4xf32>
  }
  return %e : tensor<?x?x4xf32>
}
