// RUN: bppsa-opt %s --bppsa-differentiate="role=grad variant=scan" | FileCheck %s
// RUN: not bppsa-opt %s --bppsa-differentiate=role=walk 2>&1 | FileCheck %s --check-prefix=ROLE
// RUN: not bppsa-opt %s --bppsa-differentiate=role=loss 2>&1 | FileCheck %s --check-prefix=TAKEN

// A role names the new function, and the entry of the source is not copied.

// CHECK: func.func @loss({{.*}} attributes {bppsa.entry = #bppsa.entry<role = loss>}
// CHECK: func.func @grad_scan(
// CHECK-SAME: attributes {bppsa.entry = #bppsa.entry<role = grad, variant = "scan">}

// ROLE: error: role must be a role of '#bppsa.entry', found 'walk'
// TAKEN: error: @loss exists already; choose another name
func.func @loss(%w: tensor<f32> {bppsa.parameter = "w"}) -> tensor<f32>
    attributes {bppsa.entry = #bppsa.entry<role = loss>} {
  return %w : tensor<f32>
}
