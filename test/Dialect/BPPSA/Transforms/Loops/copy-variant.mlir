// RUN: bppsa-opt %s --bppsa-copy-variant="from=a to=b" | FileCheck %s
// RUN: not bppsa-opt %s --bppsa-copy-variant="from=a to=c" 2>&1 | FileCheck %s --check-prefix=TAKEN
// RUN: not bppsa-opt %s --bppsa-copy-variant="from=d to=b" 2>&1 | FileCheck %s --check-prefix=ABSENT
// RUN: not bppsa-opt %s --bppsa-copy-variant="from=a to=" 2>&1 | FileCheck %s --check-prefix=NAMELESS

// Copies follow the last function of the variant.

// CHECK:      func.func @step_a(
// CHECK:      func.func @grad_a(
// CHECK:      func.func @step_b(%[[X:.*]]: tensor<2xf32> {bppsa.input = "x"}) -> tensor<2xf32>
// CHECK-SAME:   bppsa.entry = #bppsa.entry<role = step, variant = "b">
// CHECK-NEXT:   return %[[X]]
// CHECK:      func.func @grad_b(
// CHECK-SAME:   bppsa.entry = #bppsa.entry<role = grad, variant = "b">
// CHECK:      func.func @update(
// CHECK:      func.func @step_c(
// CHECK-NOT:  func.func

// TAKEN: error: needs functions of the variant 'a' to copy, and another variant that has no functions, found 2 and 'c'; change 'from' or 'to'
// ABSENT: error: needs functions of the variant 'd' to copy, and another variant that has no functions, found 0 and 'b'; change 'from' or 'to'
// NAMELESS: error: needs functions of the variant 'a' to copy, and another variant that has no functions, found 2 and ''; change 'from' or 'to'
func.func @step_a(%x: tensor<2xf32> {bppsa.input = "x"}) -> tensor<2xf32>
    attributes {bppsa.entry = #bppsa.entry<role = step, variant = "a">} {
  return %x : tensor<2xf32>
}
func.func @grad_a(%x: tensor<2xf32>) -> tensor<2xf32>
    attributes {bppsa.entry = #bppsa.entry<role = grad, variant = "a">} {
  return %x : tensor<2xf32>
}
func.func @update(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
func.func @step_c(%x: tensor<2xf32>) -> tensor<2xf32>
    attributes {bppsa.entry = #bppsa.entry<role = step, variant = "c">} {
  return %x : tensor<2xf32>
}
