// RUN: bppsa-opt %s --bppsa-scan-links=algorithm=chunked | FileCheck %s

// Seven links in chunks of three: only the middle chunk is aggregated.

// CHECK-LABEL: func.func @seven(
// CHECK-COUNT-2: jacobian.compose
// CHECK-NOT:     jacobian.compose
!h = !jacobian.matrix<4x4xf32, shared_dense>
!t = tensor<8x4xf32>
func.func @seven(%a: !h, %g: !t) -> !t {
  %1 = jacobian.apply %a, %g : !h, !t -> !t
  %2 = jacobian.apply %a, %1 : !h, !t -> !t
  %3 = jacobian.apply %a, %2 : !h, !t -> !t
  %4 = jacobian.apply %a, %3 : !h, !t -> !t
  %5 = jacobian.apply %a, %4 : !h, !t -> !t
  %6 = jacobian.apply %a, %5 : !h, !t -> !t
  %7 = jacobian.apply %a, %6 : !h, !t -> !t
  return %7 : !t
}
