// RUN: bppsa-opt %s --bppsa-differentiate="wrt=all links=true" --bppsa-scan-links="algorithm=linear dense-jacobians=true" --canonicalize --cse | FileCheck %s

#window = affine_map<(b, i, k) -> (b, i + k)>
#tap = affine_map<(b, i, k) -> (k)>
#place = affine_map<(b, i, k) -> (b, i)>
#id = affine_map<(b, i) -> (b, i)>
#scalar = affine_map<(b, i) -> ()>

// Column j of a Jacobian is the result of the rule of the link for a one-hot cotangent at element
// j. The gradient of the weights is still computed from the list of links.

// CHECK-LABEL: func.func @step(
// CHECK-SAME:    %[[X:.*]]: tensor<?x4xf32> {{.*}}, %[[K:.*]]: tensor<2xf32> {{.*}}, %{{.*}}: tensor<?x3xf32>, %{{.*}}: tensor<f32>)
// CHECK:         bppsa.mark_phase 1
// CHECK:         %[[SLOPES:.*]] = scf.for %[[J:.*]] = %c0{{.*}} to %c3{{.*}} step %c1{{.*}} iter_args(%[[COLUMNS:.*]] = %{{.*}}) -> (tensor<?x3x3xf32>) {
// CHECK:           %[[UNIT:.*]] = linalg.generic
// CHECK:             arith.cmpi eq, %{{.*}}, %[[J]] : index
// CHECK:           %[[COLUMN:.*]] = linalg.generic {{.*}} ins(%[[UNIT]], %{{.*}} :
// CHECK:             math.tanh
// CHECK:           tensor.insert_slice %[[COLUMN]] into %[[COLUMNS]][0, 0, %[[J]]] [%{{.*}}, 3, 1] [1, 1, 1]
// CHECK:         %[[ROWS:.*]] = tensor.collapse_shape %[[SLOPES]] {{\[\[}}0], [1, 2]] : tensor<?x3x3xf32> into tensor<?x9xf32>
// CHECK:         %[[TANH:.*]] = jacobian.assemble %[[ROWS]] : tensor<?x9xf32> -> <3x3xf32, dense, batch = ?>
// CHECK:         %[[CONV:.*]] = jacobian.assemble %{{.*}} : tensor<?x12xf32> -> <4x3xf32, dense, batch = ?>
// CHECK:         %[[H:.*]] = jacobian.apply %[[TANH]], %{{.*}}
// CHECK-NEXT:    %[[DX:.*]] = jacobian.apply %[[CONV]], %[[H]]
// CHECK:         %[[DK:.*]] = linalg.generic {{.*}} ins(%[[H]], %[[X]] :
// CHECK:         return %{{.*}}, %[[DX]], %[[DK]]
func.func @loss(%x: tensor<?x4xf32> {bppsa.input = "x", bppsa.batch_axis = 0}, %k: tensor<2xf32> {bppsa.parameter = "k"},
    %zeros: tensor<?x3xf32>, %zero: tensor<f32>) -> (tensor<f32> {bppsa.loss}) {
  %conv = linalg.generic {indexing_maps = [#window, #tap, #place], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %k : tensor<?x4xf32>, tensor<2xf32>) outs(%zeros : tensor<?x3xf32>) {
    ^bb0(%a: f32, %w: f32, %o: f32):
      %p = arith.mulf %a, %w : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
  } -> tensor<?x3xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%conv : tensor<?x3xf32>) outs(%zeros : tensor<?x3xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = math.tanh %a : f32
      linalg.yield %0 : f32
  } -> tensor<?x3xf32>
  %loss = linalg.generic {indexing_maps = [#id, #scalar], iterator_types = ["reduction", "reduction"]}
      ins(%t : tensor<?x3xf32>) outs(%zero : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}
