// RUN: bppsa-opt %s --bppsa-plan-sparse-products | FileCheck %s
// RUN: bppsa-opt %s --bppsa-plan-sparse-products=break-even=1 | FileCheck %s --check-prefix=SPARSE
// RUN: bppsa-opt %s --bppsa-plan-sparse-products=break-even=0.6 --remarks-filter=products -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

!p = !jacobian.matrix<4x4xf32, csr(#jacobian.pattern<4x4, [[0, 1], [1, 2], [2, 3], [3]], [0 to 3]>)>
!q = !jacobian.matrix<4x4xf32, csr(#jacobian.pattern<4x4, [[0 to 2], [1 to 3], [2, 3], [3]], [0 to 3]>)>
!r = !jacobian.matrix<4x4xf32, csr(#jacobian.pattern<4x4, [[0 to 3], [1 to 3], [2, 3], [3]], [0 to 3]>)>

// 9 of 16 elements are more than half, so the product is stored dense, and so are products computed
// from it.

// CHECK-LABEL: func.func @fills_in(
// CHECK:         %[[A:.*]] = jacobian.assemble {{.*}} -> <4x4xf32, csr(
// CHECK:         %[[AA:.*]] = jacobian.compose %[[A]], %[[A]] : {{.*}} -> <4x4xf32, dense>
// CHECK:         %[[AAA:.*]] = jacobian.compose %[[AA]], %[[A]] : <4x4xf32, dense>, <4x4xf32, csr({{.*}})> -> <4x4xf32, dense>
// CHECK:         jacobian.apply %[[AAA]], %{{.*}} : <4x4xf32, dense>

// SPARSE-LABEL: func.func @fills_in(
// SPARSE:         jacobian.compose {{.*}} -> <4x4xf32, csr(#jacobian.pattern<4x4, {{\[\[}}0 to 2], [1 to 3], [2, 3], [3]], [0 to 3]>)>
// SPARSE:         jacobian.compose {{.*}} -> <4x4xf32, csr(#jacobian.pattern<4x4, {{\[\[}}0 to 3], [1 to 3], [2, 3], [3]], [0 to 3]>)>

// The threshold lies between 9 and 10 of 16 elements.
// REMARK:      [Passed] PlanSparseProducts | Category:products | Function=fills_in | Remark="product of 4x4 and 4x4: 9 possible nonzeros (56.25%), 12 multiply-adds, 36 bytes of values"
// REMARK-NOT:  stored dense
// REMARK:      [Passed] PlanSparseProducts | Category:products | Function=fills_in | Remark="product of 4x4 and 4x4: 10 possible nonzeros (62.50%), 15 multiply-adds, 40 bytes of values"
// REMARK:      [Analysis] PlanSparseProducts | Category:products | Function=fills_in | Remark="the product is stored dense: 62.50% of it are possible nonzeros"
func.func @fills_in(%v: tensor<7xf32>, %g: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %a = jacobian.assemble %v : tensor<7xf32> -> !p
  %0 = jacobian.compose %a, %a : !p, !p -> !q
  %1 = jacobian.compose %0, %a : !q, !p -> !r
  %r = jacobian.apply %1, %g : !r, tensor<8x4xf32> -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// A diagonal has no indices, so it is never stored dense.

// CHECK-LABEL: func.func @diagonal(
// CHECK:         jacobian.compose {{.*}} -> <1x1xf32, diagonal, batch = ?>
!d = !jacobian.matrix<1x1xf32, diagonal, batch = ?>
func.func @diagonal(%v: tensor<?x1xf32>, %g: tensor<?x1xf32>) -> tensor<?x1xf32> {
  %a = jacobian.assemble %v : tensor<?x1xf32> -> !d
  %0 = jacobian.compose %a, %a : !d, !d -> !d
  %r = jacobian.apply %0, %g : !d, tensor<?x1xf32> -> tensor<?x1xf32>
  return %r : tensor<?x1xf32>
}
