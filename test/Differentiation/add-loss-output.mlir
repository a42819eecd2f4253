// RUN: bppsa-opt %s --bppsa-add-loss="loss=none output=total" | FileCheck %s

// The loss is the only element of the requested output, and there is no target.

// CHECK-LABEL: func.func @loss(
// CHECK-SAME:    %{{.*}}: tensor<3xf32>, %[[Y:.*]]: tensor<1x1xf32>) -> (tensor<f32> {bppsa.loss})
// CHECK:         %[[LOSS:.*]] = tensor.collapse_shape %[[Y]] [] : tensor<1x1xf32> into tensor<f32>
// CHECK:         return %[[LOSS]] : tensor<f32>
func.func @forward(%x: tensor<3xf32>, %y: tensor<1x1xf32>)
    -> (tensor<3xf32> {bppsa.output = "x"}, tensor<1x1xf32> {bppsa.output = "total"}) {
  return %x, %y : tensor<3xf32>, tensor<1x1xf32>
}
