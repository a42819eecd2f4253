// RUN: bppsa-opt %s --bppsa-add-unit-variants=functions=forward,absent | FileCheck %s

// Functions that do not exist are left out, and others have no copy.

// CHECK:     func.func @forward(%{{.*}}: tensor<2xf32>) -> tensor<2xf32> {
// CHECK:     func.func @forward_units(%{{.*}}: tensor<2xf32>) -> tensor<2xf32> attributes {bppsa.lanes = 1 : i64}
// CHECK:     func.func @loss
// CHECK-NOT: func.func
func.func @forward(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
func.func @loss(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
