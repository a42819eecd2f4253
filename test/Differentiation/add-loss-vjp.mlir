// RUN: bppsa-opt %s --bppsa-add-loss="loss=vjp weights=true" | FileCheck %s

// The loss is a sum, not a mean, of unweighted products.

// CHECK: #[[$SHAPE:.*]] = affine_map<()[s0] -> (s0, 5)>
// CHECK-LABEL: func.func @loss(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x5xf32> {bppsa.input = "x"
// CHECK-SAME:    %[[TARGET:[a-z0-9]+]]: tensor<?x5xf32> {bppsa.shape = #[[$SHAPE]], bppsa.target})
// CHECK-SAME:    -> (tensor<f32> {bppsa.loss})
// CHECK:         linalg.generic {{.*}} ins(%[[X]], %[[TARGET]] :
// CHECK:           arith.mulf
// CHECK:           arith.extf
// CHECK:           arith.addf
// CHECK-NOT:     arith.sitofp
// CHECK:         return {{.*}} : tensor<f32>
func.func @forward(%x: tensor<?x5xf32> {bppsa.input = "x", bppsa.shape = affine_map<()[s0] -> (s0, 5)>})
    -> (tensor<?x5xf32> {bppsa.output = "y", bppsa.shape = affine_map<()[s0] -> (s0, 5)>}) {
  return %x : tensor<?x5xf32>
}
