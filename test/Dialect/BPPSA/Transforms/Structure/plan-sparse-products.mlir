// RUN: bppsa-opt %s --bppsa-plan-sparse-products | FileCheck %s
// RUN: bppsa-opt %s --bppsa-plan-sparse-products=break-even=1 | FileCheck %s --check-prefix=SPARSE
// RUN: bppsa-opt %s --bppsa-plan-sparse-products=break-even=0.6 --remarks-filter=products -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

!p = !bppsa.jacobian<4x4xf32, csr(#bppsa.pattern<4x4, [[0, 1], [1, 2], [2, 3], [3]], [0 to 3]>)>
!q = !bppsa.jacobian<4x4xf32, csr(#bppsa.pattern<4x4, [[0 to 2], [1 to 3], [2, 3], [3]], [0 to 3]>)>
!r = !bppsa.jacobian<4x4xf32, csr(#bppsa.pattern<4x4, [[0 to 3], [1 to 3], [2, 3], [3]], [0 to 3]>)>

// 9 of 16 elements are more than half: the product is dense, and so is what it is part of.

// CHECK-LABEL: func.func @fills_in(
// CHECK:         %[[A:.*]] = bppsa.assemble {{.*}} -> <4x4xf32, csr(
// CHECK:         %[[AA:.*]] = bppsa.compose %[[A]], %[[A]] : {{.*}} -> <4x4xf32, dense>
// CHECK:         %[[AAA:.*]] = bppsa.compose %[[AA]], %[[A]] : <4x4xf32, dense>, <4x4xf32, csr({{.*}})> -> <4x4xf32, dense>
// CHECK:         bppsa.apply %[[AAA]], %{{.*}} : <4x4xf32, dense>

// SPARSE-LABEL: func.func @fills_in(
// SPARSE:         bppsa.compose {{.*}} -> <4x4xf32, csr(#bppsa.pattern<4x4, {{\[\[}}0 to 2], [1 to 3], [2, 3], [3]], [0 to 3]>)>
// SPARSE:         bppsa.compose {{.*}} -> <4x4xf32, csr(#bppsa.pattern<4x4, {{\[\[}}0 to 3], [1 to 3], [2, 3], [3]], [0 to 3]>)>

// Between 9 and 10 of 16:
// REMARK:      [Passed] PlanSparseProducts | Category:products | Function=fills_in | Remark="product of 4x4 and 4x4: 9 possible nonzeros (56.25%), 12 multiply-adds, 36 bytes of values"
// REMARK-NOT:  stored dense
// REMARK:      [Passed] PlanSparseProducts | Category:products | Function=fills_in | Remark="product of 4x4 and 4x4: 10 possible nonzeros (62.50%), 15 multiply-adds, 40 bytes of values"
// REMARK:      [Analysis] PlanSparseProducts | Category:products | Function=fills_in | Remark="the product is stored dense: 62.50% of it are possible nonzeros"
func.func @fills_in(%v: tensor<7xf32>, %g: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %a = bppsa.assemble %v : tensor<7xf32> -> !p
  %0 = bppsa.compose %a, %a : !p, !p -> !q
  %1 = bppsa.compose %0, %a : !q, !p -> !r
  %r = bppsa.apply %1, %g : !r, tensor<8x4xf32> -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// A diagonal needs no indices, so it stays one however small it is.

// CHECK-LABEL: func.func @diagonal(
// CHECK:         bppsa.compose {{.*}} -> <1x1xf32, diagonal, batch = ?>
!d = !bppsa.jacobian<1x1xf32, diagonal, batch = ?>
func.func @diagonal(%v: tensor<?x1xf32>, %g: tensor<?x1xf32>) -> tensor<?x1xf32> {
  %a = bppsa.assemble %v : tensor<?x1xf32> -> !d
  %0 = bppsa.compose %a, %a : !d, !d -> !d
  %r = bppsa.apply %0, %g : !d, tensor<?x1xf32> -> tensor<?x1xf32>
  return %r : tensor<?x1xf32>
}
