// RUN: bppsa-opt %s --bppsa-trace-nans | FileCheck %s

// The body of a loop yields its intermediate values, and a search over all steps follows the loop.
// CHECK-LABEL: func.func @nans_step(
// CHECK-SAME: -> (tensor<2xi64> {bppsa.output = "first_nans"})
// CHECK-SAME: backward = false
// CHECK-SAME: in_loop = true
// CHECK-SAME: backward = true
// CHECK-SAME: in_loop = false
// CHECK: bppsa.recurrence {{.*}} outputs(tensor<?x?x2xf32>)
// CHECK: %[[EXP:.*]] = math.exp
// CHECK: bppsa.yield %[[EXP]], %[[EXP]]
// CHECK: linalg.generic {{.*}} outs({{.*}} : tensor<i64>)
// CHECK: linalg.index 0
// CHECK: arith.cmpf uno
// CHECK: arith.minsi
// CHECK: tensor.from_elements
func.func @grad(%x: tensor<2xf32>) -> tensor<2xf32> attributes {bppsa.entry = #bppsa.entry<role = grad>} {
  return %x : tensor<2xf32>
}
func.func @f(%x: tensor<?x?x2xf32>, %h: tensor<?x2xf32>) -> tensor<?x2xf32>
    attributes {bppsa.entry = #bppsa.entry<role = step>} {
  %states = bppsa.recurrence sequences(%x : tensor<?x?x2xf32>) initial(%h : tensor<?x2xf32>) -> (tensor<?x?x2xf32>) {
  ^bb0(%xt: vector<2xf32>, %s: vector<2xf32>):
    %e = math.exp %s : vector<2xf32>
    bppsa.yield %e : vector<2xf32>
  }
  bppsa.mark_phase 1
  %g = linalg.generic {indexing_maps = [affine_map<(b, i) -> (b, i)>, affine_map<(b, i) -> (b, i)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%h : tensor<?x2xf32>) outs(%h : tensor<?x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = math.log %in : f32
    linalg.yield %r : f32
  } -> tensor<?x2xf32>
  return %g : tensor<?x2xf32>
}
