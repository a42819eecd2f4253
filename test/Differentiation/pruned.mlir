// RUN: bppsa-opt %s --split-input-file --bppsa-differentiate="wrt=all" --canonicalize --cse | FileCheck %s
// RUN: bppsa-opt %s --split-input-file --bppsa-differentiate="wrt=all links=true" --bppsa-scan-links=algorithm=linear --canonicalize --cse | FileCheck %s --check-prefix=LINKS
// RUN: bppsa-opt %s --split-input-file --bppsa-differentiate="wrt=all links=true" --bppsa-scan-links=algorithm=none --canonicalize --cse | FileCheck %s

#left = affine_map<(b, i, k) -> (b, k)>
#right = affine_map<(b, i, k) -> (k, i)>
#place = affine_map<(b, i, k) -> (b, i)>
#id = affine_map<(b, i) -> (b, i)>
#scalar = affine_map<(b, i) -> ()>

// The rule of a layer computes gradients of all weights and masks the pruned ones. With an explicit
// Jacobian, only the remaining weights have a sum, and no mask is needed.

// CHECK-LABEL: func.func @step(
// CHECK-DAG:     %[[MASK:.*]] = arith.constant dense<{{\[\[}}true, false, true], [false, false, true]]> : tensor<2x3xi1>
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK:         %[[MASKED:.*]] = linalg.generic {{.*}} ins(%[[MASK]], %{{.*}} : tensor<2x3xi1>, tensor<2x3xf32>)
// CHECK-NEXT:    ^bb0(%[[KEPT:.*]]: i1, %[[VALUE:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT:      %[[SELECTED:.*]] = arith.select %[[KEPT]], %[[VALUE]], %[[ZERO]] : f32
// CHECK-NEXT:      linalg.yield %[[SELECTED]]
// CHECK:         return %{{.*}}, %{{.*}}, %[[MASKED]]

// LINKS-LABEL: func.func @step(
// LINKS-SAME:    %[[X:.*]]: tensor<?x2xf32> {{.*}}, %[[W:.*]]: tensor<2x3xf32> {{.*}}, %{{.*}}: tensor<?x3xf32>
// LINKS-NOT:     tensor<2x3xi1>
// LINKS-DAG:     %[[POSITIONS:.*]] = arith.constant dense<[0, 2, 5]> : tensor<3xi32>
// LINKS-DAG:     %[[RIGHT:.*]] = arith.constant dense<[0, 2, 2]> : tensor<3xi32>
// LINKS-DAG:     %[[LEFT:.*]] = arith.constant dense<[0, 0, 1]> : tensor<3xi32>
// LINKS-DAG:     %[[STARTS:.*]] = arith.constant dense<[0, 1, 2, 3]> : tensor<4xi32>
// LINKS:         jacobian.assemble %[[W]] at [0, 2, 5] : tensor<2x3xf32> -> <2x3xf32, csr(#jacobian.pattern<2x3, {{\[\[}}0, 2], [2]], [0, 1]>)>
// LINKS:         %[[G:.*]] = jacobian.apply {{.*}} diagonal
// LINKS-DAG:     %[[XT:.*]] = linalg.transpose ins(%[[X]] : {{.*}} permutation = [1, 0]
// LINKS-DAG:     %[[GT:.*]] = linalg.transpose ins(%[[G]] : {{.*}} permutation = [1, 0]
// LINKS:         %[[SUM:.*]] = jacobian.sparse_outer_sum lhs(%[[XT]] : tensor<2x?xf32>) rhs(%[[GT]] : tensor<3x?xf32>) starts(%[[STARTS]] : {{.*}}) rows(%[[LEFT]], %[[RIGHT]] : {{.*}}) at(%[[POSITIONS]] : {{.*}}) -> tensor<6xf32>
// LINKS-NEXT:    %[[DW:.*]] = tensor.expand_shape %[[SUM]]
// LINKS-NOT:     linalg.generic
// LINKS:         return %{{.*}}, %{{.*}}, %[[DW]]
func.func @loss(%x: tensor<?x2xf32> {bppsa.input = "x", bppsa.batch_axis = 0},
    %w: tensor<2x3xf32> {bppsa.parameter = "w", bppsa.nonzeros = dense<[[true, false, true], [false, false, true]]> : tensor<2x3xi1>},
    %zeros: tensor<?x3xf32>, %zero: tensor<f32>) -> (tensor<f32> {bppsa.loss}) {
  %product = linalg.generic {indexing_maps = [#left, #right, #place], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<?x2xf32>, tensor<2x3xf32>) outs(%zeros : tensor<?x3xf32>) {
    ^bb0(%a: f32, %v: f32, %o: f32):
      %p = arith.mulf %a, %v : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
  } -> tensor<?x3xf32>
  %tanh = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%product : tensor<?x3xf32>) outs(%zeros : tensor<?x3xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = math.tanh %a : f32
      linalg.yield %0 : f32
  } -> tensor<?x3xf32>
  %loss = linalg.generic {indexing_maps = [#id, #scalar], iterator_types = ["reduction", "reduction"]}
      ins(%tanh : tensor<?x3xf32>) outs(%zero : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

#window = affine_map<(b, i, k) -> (b, i + k)>
#tap = affine_map<(b, i, k) -> (k)>
#place = affine_map<(b, i, k) -> (b, i)>
#id = affine_map<(b, i) -> (b, i)>
#scalar = affine_map<(b, i) -> ()>

// A tap of a convolution has one entry per output position.

// LINKS-LABEL: func.func @step(
// LINKS-DAG:     %[[POSITIONS:.*]] = arith.constant dense<[0, 2]> : tensor<2xi32>
// LINKS-DAG:     %[[RIGHT:.*]] = arith.constant dense<[0, 1, 0, 1]> : tensor<4xi32>
// LINKS-DAG:     %[[LEFT:.*]] = arith.constant dense<[0, 1, 2, 3]> : tensor<4xi32>
// LINKS-DAG:     %[[STARTS:.*]] = arith.constant dense<[0, 2, 4]> : tensor<3xi32>
// LINKS:         jacobian.sparse_outer_sum {{.*}} starts(%[[STARTS]] : {{.*}}) rows(%[[LEFT]], %[[RIGHT]] : {{.*}}) at(%[[POSITIONS]] : {{.*}}) -> tensor<3xf32>
func.func @loss(%x: tensor<?x4xf32> {bppsa.input = "x", bppsa.batch_axis = 0},
    %k: tensor<3xf32> {bppsa.parameter = "k", bppsa.nonzeros = dense<[true, false, true]> : tensor<3xi1>},
    %zeros: tensor<?x2xf32>, %zero: tensor<f32>) -> (tensor<f32> {bppsa.loss}) {
  %conv = linalg.generic {indexing_maps = [#window, #tap, #place], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %k : tensor<?x4xf32>, tensor<3xf32>) outs(%zeros : tensor<?x2xf32>) {
    ^bb0(%a: f32, %v: f32, %o: f32):
      %p = arith.mulf %a, %v : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
  } -> tensor<?x2xf32>
  %tanh = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%conv : tensor<?x2xf32>) outs(%zeros : tensor<?x2xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = math.tanh %a : f32
      linalg.yield %0 : f32
  } -> tensor<?x2xf32>
  %loss = linalg.generic {indexing_maps = [#id, #scalar], iterator_types = ["reduction", "reduction"]}
      ins(%tanh : tensor<?x2xf32>) outs(%zero : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}
