// RUN: bppsa-opt %s --split-input-file --bppsa-differentiate="of=forward name=pullback wrt=all cotangents=y" --verify-diagnostics | FileCheck %s

// The results come first, then the vector-Jacobian products of the cotangent of one result.

// CHECK: #[[$SHAPE:.*]] = affine_map<()[s0] -> (s0)>
// CHECK-LABEL: func.func @pullback(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?xf32> {bppsa.input = "x"
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<?xf32> {bppsa.parameter = "w"}
// CHECK-SAME:    %[[G:[a-z0-9]+]]: tensor<?xf32> {bppsa.shape = #[[$SHAPE]], bppsa.target})
// CHECK-SAME:    -> (tensor<?xf32> {bppsa.output = "z"
// CHECK-SAME:    tensor<?xf32> {bppsa.output = "y"
// CHECK-SAME:    tensor<?xf32> {bppsa.gradient = "x"}, tensor<?xf32> {bppsa.gradient = "w"})
// CHECK:         bppsa.mark_phase 0
// CHECK:         %[[Y:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[W]]
// CHECK:         bppsa.mark_phase 1
// CHECK:         linalg.generic {{.*}}%[[G]]
// CHECK:         return %[[X]], %[[Y]], %{{.*}}, %{{.*}} :
#id = affine_map<(d0) -> (d0)>
func.func @forward(%x: tensor<?xf32> {bppsa.input = "x", bppsa.shape = affine_map<()[s0] -> (s0)>},
                   %w: tensor<?xf32> {bppsa.parameter = "w"})
    -> (tensor<?xf32> {bppsa.output = "z"},
        tensor<?xf32> {bppsa.output = "y", bppsa.shape = affine_map<()[s0] -> (s0)>}) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %empty = tensor.empty(%n) : tensor<?xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x, %w : tensor<?xf32>, tensor<?xf32>) outs(%empty : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %product = arith.mulf %a, %b : f32
    linalg.yield %product : f32
  } -> tensor<?xf32>
  return %x, %y : tensor<?xf32>, tensor<?xf32>
}

// -----

// expected-error@+1 {{has no output 'y' to start from}}
func.func @forward(%x: tensor<4xf32> {bppsa.input = "x"}) -> (tensor<4xf32> {bppsa.output = "z"}) {
  return %x : tensor<4xf32>
}
