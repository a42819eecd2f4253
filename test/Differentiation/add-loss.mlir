// RUN: bppsa-opt %s --split-input-file --bppsa-add-loss=loss=cross-entropy | FileCheck %s
// RUN: bppsa-opt %s --split-input-file --bppsa-add-loss=loss=nll | FileCheck %s --check-prefix=NLL
// RUN: bppsa-opt %s --split-input-file --bppsa-add-loss=loss=huber | FileCheck %s --check-prefix=HUBER
// RUN: bppsa-opt %s --split-input-file --bppsa-add-loss="loss=cross-entropy weights=true" | FileCheck %s --check-prefix=WEIGHTS
// RUN: bppsa-opt %s --split-input-file --bppsa-add-loss="loss=cross-entropy weights=true class-weights=1,2,0,1,0.5 label-smoothing=0.25" | FileCheck %s --check-prefix=SMOOTH

// The maximum output shifts the exponentials and has no derivative.

// CHECK-LABEL: func.func @forward
// CHECK-LABEL: func.func @loss(
// CHECK-SAME:    %[[X:.*]]: tensor<?x5xf32> {bppsa.input = "x"
// CHECK-SAME:    %[[TARGET:.*]]: tensor<?xi64> {bppsa.shape = affine_map<()[s0] -> (s0)>, bppsa.target})
// CHECK-SAME:    -> (tensor<f32> {bppsa.loss}, tensor<f64> {bppsa.correct})
// CHECK:         %[[MAX:.*]] = linalg.generic
// CHECK:           arith.maximumf
// CHECK:         %[[SHIFT:.*]] = bppsa.stop_gradient %[[MAX]]
// CHECK:         linalg.generic {{.*}} ins(%[[X]], %[[SHIFT]]
// CHECK:           math.exp
// CHECK:         linalg.generic {{.*}} ins(%[[X]], %[[TARGET]]
// CHECK:           linalg.index 1
// CHECK:           arith.cmpi eq
// CHECK:           arith.select
// CHECK:         math.log
// CHECK:         arith.divf {{.*}} : f64
// CHECK:         return {{.*}} : tensor<f32>, tensor<f64>

// NLL-LABEL: func.func @loss(
// NLL-SAME:    -> (tensor<f32> {bppsa.loss}, tensor<f64> {bppsa.correct})
// NLL-NOT:     math
// NLL:         arith.negf

// The weighted sum over positions is divided by the sum of the weights, and correct positions count
// with their weight.

// WEIGHTS-LABEL: func.func @loss(
// WEIGHTS-SAME:    %[[TARGET:[a-z0-9]+]]: tensor<?xi64> {bppsa.shape = affine_map<()[s0] -> (s0)>, bppsa.target},
// WEIGHTS-SAME:    %[[WEIGHT:[a-z0-9]+]]: tensor<?xf32> {bppsa.shape = affine_map<()[s0] -> (s0)>, bppsa.weight})
// WEIGHTS:         linalg.generic {{.*}}, %[[WEIGHT]] :
// WEIGHTS:           arith.mulf
// WEIGHTS:         linalg.generic {{.*}} ins(%[[WEIGHT]] :
// WEIGHTS:         arith.divf {{.*}} : f64
// WEIGHTS:         linalg.generic {{.*}}, %[[WEIGHT]] :
// WEIGHTS:           arith.extf
// WEIGHTS:           arith.select

// SMOOTH-LABEL: func.func @loss(
// SMOOTH-SAME:    %[[WEIGHT:[a-z0-9]+]]: tensor<?xf32> {bppsa.shape = affine_map<()[s0] -> (s0)>, bppsa.weight})
// SMOOTH:         %[[CLASSES:.*]] = arith.constant dense<[1.000000e+00, 2.000000e+00, 0.000000e+00, 1.000000e+00, 5.000000e-01]>
// SMOOTH:         %[[OWN:.*]] = linalg.generic {{.*}}, %[[WEIGHT]], %[[CLASSES]] :
// SMOOTH:         linalg.generic {{.*}}, %[[WEIGHT]], %[[OWN]] :
// SMOOTH:         linalg.generic {{.*}} ins(%[[OWN]] :

// The target has the shape of the output; there is no count of correct predictions.

// HUBER: #[[$SHAPE:.*]] = affine_map<()[s0] -> (s0, 5)>
// HUBER-LABEL: func.func @loss(
// HUBER-SAME:    tensor<?x5xf32> {bppsa.shape = #[[$SHAPE]], bppsa.target})
// HUBER-SAME:    -> (tensor<f32> {bppsa.loss})
func.func @forward(%x: tensor<?x5xf32> {bppsa.input = "x", bppsa.shape = affine_map<()[s0] -> (s0, 5)>})
    -> (tensor<?x5xf32> {bppsa.output = "y", bppsa.shape = affine_map<()[s0] -> (s0, 5)>}) {
  return %x : tensor<?x5xf32>
}
