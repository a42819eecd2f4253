// RUN: bppsa-opt %s --bppsa-scan-links=algorithm=none | FileCheck %s --check-prefix=RULE
// RUN: bppsa-opt %s --bppsa-scan-links=algorithm=linear | FileCheck %s --check-prefix=LIST
// RUN: bppsa-opt %s --bppsa-scan-links=algorithm=blelloch --remarks-filter=scan 2>&1 | FileCheck %s --check-prefix=TREE
// RUN: bppsa-opt %s --bppsa-infer-structure --remarks-filter=structure -o /dev/null 2>&1 | FileCheck %s --check-prefix=STRUCTURE

// Either rules replace the links, or Jacobians and the values they depend on are computed before
// the first link. Here, the slopes of the second link are computed after the first link. The
// gradient of the weights stays at its link.

// RULE-LABEL: func.func @chain(
// RULE-SAME:    %[[X:.*]]: tensor<?x2x2xf32>, %[[S:.*]]: tensor<?x4xf32>, %{{.*}}: tensor<3x4xf32>, %[[G:.*]]: tensor<?x3xf32>,
// RULE-NEXT:    %[[GA:.*]] = linalg.matmul ins(%[[G]],
// RULE-NEXT:    %[[DW:.*]] = linalg.contract {{.*}} ins(%[[G]], %[[S]]
// RULE-NEXT:    %[[SLOPES:.*]] = math.exp %[[S]]
// RULE:         %[[GY:.*]] = arith.mulf %[[GA]], %[[SLOPES]]
// RULE-NEXT:    %[[GX:.*]] = tensor.expand_shape %[[GY]]
// RULE-NOT:     bppsa
// RULE:         return %[[GX]], %[[DW]]

// LIST-LABEL: func.func @chain(
// LIST-SAME:    %[[X:.*]]: tensor<?x2x2xf32>, %[[S:.*]]: tensor<?x4xf32>, %[[W:.*]]: tensor<3x4xf32>, %[[G:.*]]: tensor<?x3xf32>,
// LIST-NEXT:    %[[A:.*]] = jacobian.assemble %[[W]] at [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]
// LIST-NEXT:    %[[DW:.*]] = linalg.contract {{.*}} ins(%[[G]], %[[S]]
// LIST-NEXT:    %[[SLOPES:.*]] = math.exp %[[S]]
// LIST-NEXT:    %[[B:.*]] = jacobian.assemble %[[SLOPES]]
// LIST-NEXT:    %[[GA:.*]] = jacobian.apply %[[A]], %[[G]]
// LIST-NEXT:    %[[GB:.*]] = jacobian.apply %[[B]], %[[GA]]
// LIST:         %[[GX:.*]] = tensor.expand_shape %[[GB]] {{\[\[}}0], [1, 2]]
// LIST-NEXT:    return %[[GX]], %[[DW]]

// TREE: blelloch scan of 2 links: 0 compose, 2 apply, depth 2

// STRUCTURE: link 1 of 2, jacobian.link: 4x3, dense, 0.0000 % of it zero, shared by all samples
// STRUCTURE: link 2 of 2, jacobian.link: 4x4, diagonal, 75.0000 % of it zero, one for each sample
#left = affine_map<(m, n, b) -> (b, m)>
#right = affine_map<(m, n, b) -> (b, n)>
#outer = affine_map<(m, n, b) -> (m, n)>
!a = !jacobian.matrix<4x3xf32, dense>
!b = !jacobian.matrix<4x4xf32, diagonal, batch = ?>
func.func @chain(%x: tensor<?x2x2xf32>, %s: tensor<?x4xf32>, %w: tensor<3x4xf32>, %g: tensor<?x3xf32>,
    %gw: tensor<3x4xf32>, %gx: tensor<?x4xf32>)
    -> (tensor<?x2x2xf32> {bppsa.gradient = "x"}, tensor<3x4xf32> {bppsa.gradient = "w"}) {
  %1:2 = jacobian.link %g : (tensor<?x3xf32>) -> (tensor<?x4xf32>, tensor<3x4xf32>) {
  ^bb0(%gy: tensor<?x3xf32>):
    %3 = linalg.matmul ins(%gy, %w : tensor<?x3xf32>, tensor<3x4xf32>) outs(%gx : tensor<?x4xf32>) -> tensor<?x4xf32>
    %4 = linalg.contract indexing_maps = [#left, #right, #outer] ins(%gy, %s : tensor<?x3xf32>, tensor<?x4xf32>) outs(%gw : tensor<3x4xf32>) -> tensor<3x4xf32>
    jacobian.yield %3, %4 : tensor<?x4xf32>, tensor<3x4xf32>
  } jacobian {
  ^bb0(%gy: tensor<?x3xf32>):
    %3 = jacobian.assemble %w at [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11] : tensor<3x4xf32> -> !a
    %4 = linalg.contract indexing_maps = [#left, #right, #outer] ins(%gy, %s : tensor<?x3xf32>, tensor<?x4xf32>) outs(%gw : tensor<3x4xf32>) -> tensor<3x4xf32>
    jacobian.yield %3, %4 : !a, tensor<3x4xf32>
  }
  %slopes = math.exp %s : tensor<?x4xf32>
  %2 = jacobian.link %1#0 : (tensor<?x4xf32>) -> tensor<?x2x2xf32> {
  ^bb0(%gy: tensor<?x4xf32>):
    %c0 = arith.constant 0 : index
    %n = tensor.dim %x, %c0 : tensor<?x2x2xf32>
    %3 = arith.mulf %gy, %slopes : tensor<?x4xf32>
    %4 = tensor.expand_shape %3 [[0], [1, 2]] output_shape [%n, 2, 2] : tensor<?x4xf32> into tensor<?x2x2xf32>
    jacobian.yield %4 : tensor<?x2x2xf32>
  } jacobian {
  ^bb0(%gy: tensor<?x4xf32>):
    %3 = jacobian.assemble %slopes : tensor<?x4xf32> -> !b
    jacobian.yield %3 : !b
  }
  return %2, %1#1 : tensor<?x2x2xf32>, tensor<3x4xf32>
}
