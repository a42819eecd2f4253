// RUN: bppsa-opt %s "--bppsa-copy-functions=functions=step_a,absent,grad_a names=step_b,other,grad_b" | FileCheck %s
// RUN: not bppsa-opt %s "--bppsa-copy-functions=functions=step_a names=update" 2>&1 | FileCheck %s --check-prefix=TAKEN
// RUN: not bppsa-opt %s "--bppsa-copy-functions=functions=step_a" 2>&1 | FileCheck %s --check-prefix=NAMELESS

// Copies follow the last of the functions; those of functions that do not exist are left out.

// CHECK:      func.func @step_a(
// CHECK:      func.func @grad_a(
// CHECK:      func.func @step_b(%[[X:.*]]: tensor<2xf32> {bppsa.input = "x"}) -> tensor<2xf32> {
// CHECK-NEXT:   return %[[X]]
// CHECK:      func.func @grad_b(
// CHECK:      func.func @update(
// CHECK-NOT:  func.func

// TAKEN: error: @update exists already; choose another name
// NAMELESS: error: needs a name for each function to copy, found 1 functions and 0 names
func.func @step_a(%x: tensor<2xf32> {bppsa.input = "x"}) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
func.func @grad_a(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
func.func @update(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
