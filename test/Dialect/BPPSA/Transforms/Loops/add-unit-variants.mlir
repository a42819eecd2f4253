// RUN: bppsa-opt %s --bppsa-add-unit-variants | FileCheck %s

// The forward pass, sequential backward passes and stages are copied.

// CHECK:     func.func @forward(
// CHECK:     func.func @forward_units(
// CHECK-SAME:  attributes {bppsa.entry = #bppsa.entry<role = forward, units = true>, bppsa.lanes = 1 : i64}
// CHECK:     func.func @loss(
// CHECK-NOT: func.func @loss_units
// CHECK:     func.func @step_sequential(
// CHECK:     func.func @step_sequential_units(
// CHECK:     func.func @step_scan_stage1(
// CHECK:     func.func @step_scan_stage1_units(
// CHECK-NOT: func.func
func.func @forward(%x: tensor<2xf32>) -> tensor<2xf32> attributes {bppsa.entry = #bppsa.entry<role = forward>} {
  return %x : tensor<2xf32>
}
func.func @loss(%x: tensor<2xf32>) -> tensor<2xf32> attributes {bppsa.entry = #bppsa.entry<role = loss>} {
  return %x : tensor<2xf32>
}
func.func @step_sequential(%x: tensor<2xf32>) -> tensor<2xf32>
    attributes {bppsa.entry = #bppsa.entry<role = step, variant = "sequential">} {
  return %x : tensor<2xf32>
}
func.func @step_scan_stage1(%x: tensor<2xf32>) -> tensor<2xf32>
    attributes {bppsa.entry = #bppsa.entry<role = step, variant = "scan", stage = 1>} {
  return %x : tensor<2xf32>
}
