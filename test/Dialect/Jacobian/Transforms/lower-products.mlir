// RUN: bppsa-opt %s --bppsa-lower-products --cse | FileCheck %s

// Entries of all samples refer to elements of one array, and nothing is copied.

// CHECK-LABEL: func.func @positions(
// CHECK-SAME:    %[[W:.*]]: tensor<2xf32>, %[[G:.*]]: tensor<?x2xf32>)
// CHECK-DAG:     %[[STARTS:.*]] = arith.constant dense<[0, 1, 3, 4]> : tensor<4xi32>
// CHECK-DAG:     %[[COLUMNS:.*]] = arith.constant dense<[0, 0, 1, 1]> : tensor<4xi32>
// CHECK-DAG:     %[[POSITIONS:.*]] = arith.constant dense<[0, 1, 0, 1]> : tensor<4xi32>
// CHECK:         %[[H:.*]] = linalg.transpose ins(%[[G]] : tensor<?x2xf32>) outs(%{{.*}} : tensor<2x?xf32>) permutation = [1, 0]
// CHECK:         %[[R:.*]] = jacobian.sparse_apply values(%[[W]] : tensor<2xf32>) rows(%[[STARTS]] : tensor<4xi32>) columns(%[[COLUMNS]] : tensor<4xi32>) at(%[[POSITIONS]] : tensor<4xi32>) cotangent(%[[H]] : tensor<2x?xf32>) -> tensor<3x?xf32>
// CHECK:         %[[BACK:.*]] = linalg.transpose ins(%[[R]] : tensor<3x?xf32>) outs(%{{.*}} : tensor<?x3xf32>) permutation = [1, 0]
// CHECK:         return %[[BACK]]
!csr = !jacobian.matrix<3x2xf32, csr(#jacobian.pattern<3x2, [[0], [0, 1], [1]], [0 to 2]>)>
func.func @positions(%w: tensor<2xf32>, %g: tensor<?x2xf32>) -> tensor<?x3xf32> {
  %j = jacobian.assemble %w at [0, 1, 0, 1] : tensor<2xf32> -> !csr
  %0 = jacobian.apply %j, %g : !csr, tensor<?x2xf32> -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}

// A dense matrix is stored row-major, without indices.

// CHECK-LABEL: func.func @dense(
// CHECK-SAME:    %[[W:.*]]: tensor<3x2xf32>
// CHECK-NOT:     arith.constant dense
// CHECK:         %[[V:.*]] = tensor.collapse_shape %[[W]] {{\[\[}}0, 1]] : tensor<3x2xf32> into tensor<6xf32>
// CHECK:         jacobian.sparse_apply values(%[[V]] : tensor<6xf32>) cotangent
!dense = !jacobian.matrix<3x2xf32, dense>
func.func @dense(%w: tensor<3x2xf32>, %g: tensor<?x2xf32>) -> tensor<?x3xf32> {
  %j = jacobian.assemble %w : tensor<3x2xf32> -> !dense
  %0 = jacobian.apply %j, %g : !dense, tensor<?x2xf32> -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}

// The slopes of each sample are multiplied by its cotangent elementwise.

// CHECK-LABEL: func.func @diagonal(
// CHECK-SAME:    %[[S:.*]]: tensor<?x3xf32>, %[[G:.*]]: tensor<?x3xf32>)
// CHECK:         %[[SLOPES:.*]] = linalg.transpose ins(%[[S]] :
// CHECK:         %[[H:.*]] = linalg.transpose ins(%[[G]] :
// CHECK:         linalg.mul ins(%[[SLOPES]], %[[H]] : tensor<3x?xf32>, tensor<3x?xf32>)
// CHECK-NOT:     jacobian.sparse_apply
// CHECK:         return
!diagonal = !jacobian.matrix<3x3xf32, diagonal, batch = ?>
func.func @diagonal(%s: tensor<?x3xf32>, %g: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %j = jacobian.assemble %s : tensor<?x3xf32> -> !diagonal
  %0 = jacobian.apply %j, %g : !diagonal, tensor<?x3xf32> -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}

// Slopes shared by all samples form a matrix with one entry per row.

// CHECK-LABEL: func.func @shared_diagonal(
// CHECK-DAG:     %[[STARTS:.*]] = arith.constant dense<[0, 1, 2]> : tensor<3xi32>
// CHECK-DAG:     %[[COLUMNS:.*]] = arith.constant dense<[0, 1]> : tensor<2xi32>
// CHECK:         jacobian.sparse_apply values(%{{.*}} : tensor<2xf32>) rows(%[[STARTS]] : tensor<3xi32>) columns(%[[COLUMNS]] : tensor<2xi32>) cotangent
!shared = !jacobian.matrix<2x2xf32, diagonal>
func.func @shared_diagonal(%s: tensor<2xf32>, %g: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %j = jacobian.assemble %s : tensor<2xf32> -> !shared
  %0 = jacobian.apply %j, %g : !shared, tensor<?x2xf32> -> tensor<?x2xf32>
  return %0 : tensor<?x2xf32>
}

// The product of a per-sample matrix and a shared one: the positions of its entries are constants,
// and its values are one array per sample.

// CHECK-LABEL: func.func @compose(
// CHECK-SAME:    %[[S:.*]]: tensor<?x2xf32>, %[[W:.*]]: tensor<2xf32>
// CHECK-DAG:     %[[SLOPES:.*]] = linalg.transpose ins(%[[S]] :
// CHECK-DAG:     %[[ONE:.*]] = arith.constant dense<[0, 1, 2]> : tensor<3xi32>
// CHECK-DAG:     %[[DIAGONAL:.*]] = arith.constant dense<[0, 1]> : tensor<2xi32>
// CHECK-DAG:     %[[STARTS:.*]] = arith.constant dense<[0, 1, 3, 4]> : tensor<4xi32>
// CHECK-DAG:     %[[COLUMNS:.*]] = arith.constant dense<[0, 0, 1, 1]> : tensor<4xi32>
// CHECK-DAG:     %[[POSITIONS:.*]] = arith.constant dense<[0, 1, 0, 1]> : tensor<4xi32>
// CHECK:         jacobian.sparse_compose 3 x 2 x 2 first(%[[SLOPES]] : tensor<2x?xf32>) rows(%[[ONE]] : tensor<3xi32>) columns(%[[DIAGONAL]] : tensor<2xi32>)
// CHECK-SAME:      second(%[[W]] : tensor<2xf32>) rows(%[[STARTS]] : tensor<4xi32>) columns(%[[COLUMNS]] : tensor<4xi32>) at(%[[POSITIONS]] : tensor<4xi32>)
// CHECK-SAME:      result_rows(%[[STARTS]] : tensor<4xi32>) result_columns(%[[COLUMNS]] : tensor<4xi32>) -> tensor<4x?xf32>
!slopes = !jacobian.matrix<2x2xf32, diagonal, batch = ?>
!own = !jacobian.matrix<3x2xf32, csr(#jacobian.pattern<3x2, [[0], [0, 1], [1]], [0 to 2]>), batch = ?>
func.func @compose(%s: tensor<?x2xf32>, %w: tensor<2xf32>, %g: tensor<?x2xf32>) -> tensor<?x3xf32> {
  %j = jacobian.assemble %s : tensor<?x2xf32> -> !slopes
  %k = jacobian.assemble %w at [0, 1, 0, 1] : tensor<2xf32> -> !csr
  %p = jacobian.compose %j, %k : !slopes, !csr -> !own
  %0 = jacobian.apply %p, %g : !own, tensor<?x2xf32> -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}

// Cotangents keep their layout from product to product.

// CHECK-LABEL: func.func @list(
// CHECK-SAME:    %{{.*}}: tensor<2x2xf32>, %[[G:.*]]: tensor<?x2xf32>)
// CHECK:         %[[H:.*]] = linalg.transpose ins(%[[G]] :
// CHECK:         %[[ONE:.*]] = jacobian.sparse_apply {{.*}} cotangent(%[[H]] :
// CHECK:         %[[TWO:.*]] = jacobian.sparse_apply {{.*}} cotangent(%[[ONE]] :
// CHECK:         %[[BACK:.*]] = linalg.transpose ins(%[[TWO]] :
// CHECK:         return %[[BACK]]
!square = !jacobian.matrix<2x2xf32, dense>
func.func @list(%w: tensor<2x2xf32>, %g: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %j = jacobian.assemble %w : tensor<2x2xf32> -> !square
  %0 = jacobian.apply %j, %g : !square, tensor<?x2xf32> -> tensor<?x2xf32>
  %1 = jacobian.apply %j, %0 : !square, tensor<?x2xf32> -> tensor<?x2xf32>
  return %1 : tensor<?x2xf32>
}
