// RUN: bppsa-opt %s --bppsa-differentiate="wrt=all links=true" --bppsa-scan-links=algorithm=linear --canonicalize --cse | FileCheck %s

// A product used to absorb an insert_slice into a tensor of parameters, which lost the gradient of
// these parameters. The insert_slice is a separate link.

// CHECK-LABEL: func.func @step(
// CHECK-COUNT-3: jacobian.apply
// CHECK-NOT:     jacobian.apply
// CHECK:         %[[BORDER:.*]] = tensor.insert_slice %{{.*}} into %{{.*}}[0, 3] [%{{.*}}, 2] [1, 1]
// CHECK:         %[[DP:.*]] = linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%[[BORDER]] : tensor<?x5xf32>) outs(%{{.*}} : tensor<5xf32>)
// CHECK:         return %{{.*}}, %{{.*}}, %[[DP]], %{{.*}}
#row = affine_map<(b, i) -> (i)>
#id = affine_map<(b, i) -> (b, i)>
#left = affine_map<(b, i, k) -> (b, k)>
#right = affine_map<(b, i, k) -> (k, i)>
#place = affine_map<(b, i, k) -> (b, i)>
#scalar = affine_map<(b, i) -> ()>
func.func @loss(%x: tensor<?x2xf32> {bppsa.input = "x", bppsa.batch_axis = 0}, %p: tensor<5xf32> {bppsa.parameter = "p"}, %w: tensor<5x3xf32> {bppsa.parameter = "w"}) -> (tensor<f32> {bppsa.loss}) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %b = tensor.dim %x, %c0 : tensor<?x2xf32>
  %e5 = tensor.empty(%b) : tensor<?x5xf32>
  %tok = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<5xf32>) outs(%e5 : tensor<?x5xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
  } -> tensor<?x5xf32>
  %cat = tensor.insert_slice %x into %tok[0, 3] [%b, 2] [1, 1] : tensor<?x2xf32> into tensor<?x5xf32>
  %e3 = tensor.empty(%b) : tensor<?x3xf32>
  %zeros = linalg.fill ins(%z : f32) outs(%e3 : tensor<?x3xf32>) -> tensor<?x3xf32>
  %mm = linalg.generic {indexing_maps = [#left, #right, #place], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%cat, %w : tensor<?x5xf32>, tensor<5x3xf32>) outs(%zeros : tensor<?x3xf32>) {
    ^bb0(%a: f32, %v: f32, %o: f32):
      %q = arith.mulf %a, %v : f32
      %s = arith.addf %o, %q : f32
      linalg.yield %s : f32
  } -> tensor<?x3xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%mm : tensor<?x3xf32>) outs(%e3 : tensor<?x3xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = math.tanh %a : f32
      linalg.yield %0 : f32
  } -> tensor<?x3xf32>
  %e = tensor.empty() : tensor<f32>
  %zero = linalg.fill ins(%z : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [#id, #scalar], iterator_types = ["reduction", "reduction"]}
      ins(%t : tensor<?x3xf32>) outs(%zero : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %o, %a : f32
      linalg.yield %s : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}
