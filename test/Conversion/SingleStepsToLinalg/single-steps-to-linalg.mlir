// RUN: bppsa-opt %s --convert-single-steps-to-linalg=min-steps=2 --split-input-file | FileCheck %s
// RUN: bppsa-opt %s --convert-single-steps-to-linalg=min-steps=3 --split-input-file | FileCheck %s --check-prefix=FEW

// Two steps h' = tanh(u h + x): the state passes from one to the other without reshapes.

// CHECK-LABEL: func.func @chain(
// CHECK-SAME: %[[X:.*]]: tensor<2x?x3xf32>, %[[S:.*]]: tensor<?x3xf32>, %[[U:.*]]: tensor<3xf32>
// CHECK-NOT: bppsa.recurrence
// CHECK: %[[B:.*]] = tensor.dim %[[S]], %{{.*}}
// CHECK: %[[X0:.*]] = tensor.collapse_shape
// CHECK: %[[P0:.*]] = linalg.generic {{.*}} ins(%[[U]], %[[S]] : tensor<3xf32>, tensor<?x3xf32>)
// CHECK: %[[A0:.*]] = linalg.generic {{.*}} ins(%[[P0]], %[[X0]] :
// CHECK: %[[H0:.*]] = linalg.generic {{.*}} ins(%[[A0]] : tensor<?x3xf32>)
// CHECK: math.tanh
// CHECK: %[[X1:.*]] = tensor.collapse_shape
// CHECK: linalg.generic {{.*}} ins(%[[U]], %[[H0]] : tensor<3xf32>, tensor<?x3xf32>)
// CHECK: math.tanh
// CHECK-NOT: tensor.dim
// CHECK: tensor.expand_shape %{{.*}} {{\[}}[0, 1], [2]] output_shape [1, %[[B]], 3]
// FEW-LABEL: func.func @chain(
// FEW-COUNT-2: bppsa.recurrence
func.func @chain(%x: tensor<2x?x3xf32>, %s: tensor<?x3xf32>, %u: tensor<3xf32>) -> tensor<1x?x3xf32> {
  %c1 = arith.constant 1 : index
  %b = tensor.dim %x, %c1 : tensor<2x?x3xf32>
  %x0 = tensor.extract_slice %x[0, 0, 0] [1, %b, 3] [1, 1, 1] : tensor<2x?x3xf32> to tensor<1x?x3xf32>
  %h0 = bppsa.recurrence sequences(%x0 : tensor<1x?x3xf32>) initial(%s : tensor<?x3xf32>) captures(%u : tensor<3xf32>) -> (tensor<2x?x3xf32>) {
  ^bb0(%xt: vector<3xf32>, %h: vector<3xf32>, %w: vector<3xf32>):
    %p = arith.mulf %w, %h : vector<3xf32>
    %a = arith.addf %p, %xt : vector<3xf32>
    %n = math.tanh %a : vector<3xf32>
    bppsa.yield %n : vector<3xf32>
  }
  %l0 = tensor.extract_slice %h0[1, 0, 0] [1, %b, 3] [1, 1, 1] : tensor<2x?x3xf32> to tensor<1x?x3xf32>
  %s1 = tensor.collapse_shape %l0 [[0, 1], [2]] : tensor<1x?x3xf32> into tensor<?x3xf32>
  %x1 = tensor.extract_slice %x[1, 0, 0] [1, %b, 3] [1, 1, 1] : tensor<2x?x3xf32> to tensor<1x?x3xf32>
  %h1 = bppsa.recurrence sequences(%x1 : tensor<1x?x3xf32>) initial(%s1 : tensor<?x3xf32>) captures(%u : tensor<3xf32>) -> (tensor<2x?x3xf32>) {
  ^bb0(%xt: vector<3xf32>, %h: vector<3xf32>, %w: vector<3xf32>):
    %p = arith.mulf %w, %h : vector<3xf32>
    %a = arith.addf %p, %xt : vector<3xf32>
    %n = math.tanh %a : vector<3xf32>
    bppsa.yield %n : vector<3xf32>
  }
  %l1 = tensor.extract_slice %h1[1, 0, 0] [1, %b, 3] [1, 1, 1] : tensor<2x?x3xf32> to tensor<1x?x3xf32>
  return %l1 : tensor<1x?x3xf32>
}

// -----

// A product starts from zero and its addend is added afterwards. A trajectory is a concatenation of
// all slots.

// CHECK-LABEL: func.func @product(
// CHECK-COUNT-2: linalg.fill
// CHECK: tensor.concat dim(0) {{.*}} : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<2x2x3xf32>
// CHECK-NOT: bppsa.recurrence
func.func @product(%x: tensor<1x2x4xf32>, %y: tensor<1x2x4xf32>, %s: tensor<2x3xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>)
    -> (tensor<2x2x3xf32>, tensor<2x2x3xf32>) {
  %0 = bppsa.recurrence sequences(%x : tensor<1x2x4xf32>) initial(%s : tensor<2x3xf32>) captures(%w, %b : tensor<3x4xf32>, tensor<3xf32>) -> (tensor<2x2x3xf32>) {
  ^bb0(%xt: vector<4xf32>, %h: vector<3xf32>, %m: vector<3x4xf32>, %c: vector<3xf32>):
    %p = bppsa.matvec %m, %xt plus %c : vector<3x4xf32>, vector<4xf32> plus vector<3xf32> -> vector<3xf32>
    %n = arith.addf %p, %h : vector<3xf32>
    bppsa.yield %n : vector<3xf32>
  }
  %1 = bppsa.recurrence sequences(%y : tensor<1x2x4xf32>) initial(%s : tensor<2x3xf32>) captures(%w, %b : tensor<3x4xf32>, tensor<3xf32>) -> (tensor<2x2x3xf32>) {
  ^bb0(%xt: vector<4xf32>, %h: vector<3xf32>, %m: vector<3x4xf32>, %c: vector<3xf32>):
    %p = bppsa.matvec %m, %xt plus %c : vector<3x4xf32>, vector<4xf32> plus vector<3xf32> -> vector<3xf32>
    %n = arith.addf %p, %h : vector<3xf32>
    bppsa.yield %n : vector<3xf32>
  }
  return %0, %1 : tensor<2x2x3xf32>, tensor<2x2x3xf32>
}
