// RUN: bppsa-opt %s --bppsa-add-loss="loss=cross-entropy,mse,none output=y,z,penalty factors=1,0.5,2 weights=true" | FileCheck %s
// RUN: bppsa-opt %s --bppsa-add-loss="loss=mse output=z,y" | FileCheck %s --check-prefix=ALIKE
// RUN: bppsa-opt %s --bppsa-add-loss="loss=cross-entropy,mse output=y,z weights=true" --bppsa-specialize-training --bppsa-differentiate="of=training_loss" | FileCheck %s --check-prefix=STEP

// With several losses, the sum comes first, then each loss, then the count of correct predictions
// for each. A loss with zero total weight is divided by one.

// CHECK-LABEL: func.func @loss(
// CHECK-SAME:    %{{[a-z0-9]+}}: tensor<?xi64> {bppsa.target}, %{{[a-z0-9]+}}: tensor<?xf32> {bppsa.weight},
// CHECK-SAME:    %{{[a-z0-9]+}}: tensor<?x2xf32> {bppsa.target}, %{{[a-z0-9]+}}: tensor<?x2xf32> {bppsa.weight})
// CHECK-SAME:    -> (tensor<f32> {bppsa.loss}, tensor<f32> {bppsa.loss}, tensor<f32> {bppsa.loss}, tensor<f32> {bppsa.loss}, tensor<f64> {bppsa.correct})
// CHECK:         %[[IS_ZERO:.*]] = arith.cmpf oeq, %{{.*}}, %{{.*}} : f64
// CHECK:         arith.select %[[IS_ZERO]], %{{.*}}, %{{.*}} : f64
// CHECK:         arith.divf
// CHECK:         %[[PENALTY:.*]] = tensor.collapse_shape
// CHECK:         %[[SUM:.*]] = linalg.generic {{.*}}, %[[PENALTY]] : tensor<f32>, tensor<f32>, tensor<f32>)
// CHECK:           arith.mulf %{{.*}}, %cst{{.*}} : f32
// CHECK:           arith.addf
// CHECK:         return %[[SUM]], %{{.*}}, %{{.*}}, %[[PENALTY]], %{{.*}} : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f64>

// ALIKE-LABEL: func.func @loss(
// ALIKE-SAME:    tensor<?x2xf32> {bppsa.target}, %{{[a-z0-9]+}}: tensor<?x3xf32> {bppsa.target})
// ALIKE-SAME:    -> (tensor<f32> {bppsa.loss}, tensor<f32> {bppsa.loss}, tensor<f32> {bppsa.loss})
// ALIKE-NOT:     arith.select

// A step returns each loss too, after the gradients.

// STEP-LABEL: func.func @step(
// STEP-SAME:    -> (tensor<f32> {bppsa.loss}, tensor<3xf32> {bppsa.gradient = "w"}, tensor<f32> {bppsa.loss}, tensor<f32> {bppsa.loss})
func.func @forward(%y: tensor<?x3xf32> {bppsa.input = "x"}, %z: tensor<?x2xf32> {bppsa.input = "u"},
                   %w: tensor<3xf32> {bppsa.parameter = "w"}, %p: tensor<1xf32> {bppsa.input = "p"})
    -> (tensor<?x3xf32> {bppsa.output = "y"}, tensor<?x2xf32> {bppsa.output = "z"},
        tensor<1xf32> {bppsa.output = "penalty"}) {
  return %y, %z, %p : tensor<?x3xf32>, tensor<?x2xf32>, tensor<1xf32>
}
