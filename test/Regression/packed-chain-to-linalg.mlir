// RUN: bppsa-opt %s --convert-bppsa-to-linalg | FileCheck %s

// The matrix that all samples share was taken for a packed array: its place among the operands was
// counted without the factors of sums.
// CHECK-LABEL: func.func @chain
// CHECK-SAME:    %[[R:[^ ]*]]: tensor<4x4xf32>
// CHECK:         scf.for
// CHECK:           linalg.generic {{.*}} ins(%[[R]], %{{.*}} : tensor<4x4xf32>, tensor<?x4xf32>)
// CHECK-NOT:     bppsa.
func.func @chain(%a: tensor<?x?x4x16xf32>, %g: tensor<?x4x16xf32>, %r: tensor<4x4xf32>) -> tensor<?x4x16xf32> {
  %0 = bppsa.chain lanes 16 saved(%a : tensor<?x?x4x16xf32>) seeds(%g : tensor<?x4x16xf32>) inject_into []
      captures(%r : tensor<4x4xf32>) -> (tensor<?x4x16xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %rc: vector<4x4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    %2 = bppsa.matvec transposed %rc, %1 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %2 : vector<4xf32>
  }
  return %0 : tensor<?x4x16xf32>
}

// A loop without any capture has none to look for.
// CHECK-LABEL: func.func @recurrence
// CHECK:         scf.for
// CHECK-NOT:     bppsa.
func.func @recurrence(%x: tensor<10x7x4x2xf32>) -> tensor<10x7x4x2xf32> {
  %y = bppsa.recurrence lanes 2 sequences(%x : tensor<10x7x4x2xf32>) outputs(tensor<10x7x4x2xf32>) {
  ^bb0(%xt: vector<4xf32>):
    bppsa.yield %xt : vector<4xf32>
  }
  return %y : tensor<10x7x4x2xf32>
}
