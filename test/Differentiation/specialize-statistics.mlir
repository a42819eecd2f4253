// RUN: bppsa-opt %s --bppsa-specialize-training | FileCheck %s

// CHECK-LABEL: func.func @loss
// CHECK-SAME: %{{.+}}: tensor<4xf32>, %{{.+}}: tensor<4xf32>, %[[MEAN:.+]]: tensor<4xf32> {{.*}}, %[[FROZEN:.+]]: tensor<4xf32> {
// CHECK-NEXT: return %[[MEAN]], %[[MEAN]], %[[FROZEN]]
func.func @loss(%first: tensor<4xf32>, %second: tensor<4xf32>,
                %mean: tensor<4xf32> {bppsa.frozen, bppsa.parameter = "m", bppsa.statistic},
                %frozen: tensor<4xf32> {bppsa.frozen, bppsa.parameter = "f"})
    -> (tensor<4xf32> {bppsa.loss}, tensor<4xf32>, tensor<4xf32>) {
  %0, %1 = bppsa.running_statistic %first of %mean momentum 7.5e-01 : tensor<4xf32>
  %2, %3 = bppsa.running_statistic %second of %mean momentum 5.0e-01 : tensor<4xf32>
  %4, %5 = bppsa.running_statistic %second of %frozen momentum 5.0e-01 : tensor<4xf32>
  return %0, %2, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// A layer that is used twice updates its statistics twice; a frozen layer behaves as in inference.
// CHECK-LABEL: func.func private @training_loss
// CHECK-SAME: %[[FIRST:.+]]: tensor<4xf32>, %[[SECOND:.+]]: tensor<4xf32>, %[[MEAN:.+]]: tensor<4xf32> {{.*}}, %[[FROZEN:.+]]: tensor<4xf32> {
// CHECK-SAME: tensor<4xf32> {bppsa.updated = "m"})
// CHECK: %[[ONCE:.+]] = linalg.generic {{.*}} ins(%[[MEAN]], %[[FIRST]] :
// CHECK: %[[OLD:.+]] = arith.mulf %{{.+}}, %{{.+}}
// CHECK: arith.constant 2.500000e-01
// CHECK: %[[TWICE:.+]] = linalg.generic {{.*}} ins(%[[ONCE]], %[[SECOND]] :
// CHECK: return %[[FIRST]], %[[SECOND]], %[[FROZEN]], %[[TWICE]]
