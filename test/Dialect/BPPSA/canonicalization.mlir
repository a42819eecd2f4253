// RUN: bppsa-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @matvec_of_zero
// CHECK-SAME: %[[W:.*]]: vector<4x3xf32>, %[[B:.*]]: vector<4xf32>
// CHECK: return %[[B]]
func.func @matvec_of_zero(%w: vector<4x3xf32>, %b: vector<4xf32>) -> vector<4xf32> {
  %x = arith.constant dense<0.0> : vector<3xf32>
  %0 = bppsa.matvec %w, %x plus %b : vector<4x3xf32>, vector<3xf32> plus vector<4xf32> -> vector<4xf32>
  return %0 : vector<4xf32>
}

// CHECK-LABEL: func.func @nested_matvec_of_zero
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<3xf32>
// CHECK-NEXT: return %[[ZERO]]
func.func @nested_matvec_of_zero(%w: vector<4x3xf32>) -> vector<3xf32> {
  %x = arith.constant dense<0.0> : vector<3xf32>
  %0 = bppsa.matvec %w, %x : vector<4x3xf32>, vector<3xf32> -> vector<4xf32>
  %1 = bppsa.matvec transposed %w, %0 : vector<4x3xf32>, vector<4xf32> -> vector<3xf32>
  return %1 : vector<3xf32>
}

// CHECK-LABEL: func.func @matvec_by_zero
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<4xf32>
// CHECK-NEXT: return %[[ZERO]]
func.func @matvec_by_zero(%x: vector<3xf32>) -> vector<4xf32> {
  %w = arith.constant dense<0.0> : vector<4x3xf32>
  %0 = bppsa.matvec %w, %x : vector<4x3xf32>, vector<3xf32> -> vector<4xf32>
  return %0 : vector<4xf32>
}

// CHECK-LABEL: func.func @matvec_of_ones_stays
// CHECK: bppsa.matvec
func.func @matvec_of_ones_stays(%w: vector<4x3xf32>) -> vector<4xf32> {
  %x = arith.constant dense<1.0> : vector<3xf32>
  %0 = bppsa.matvec %w, %x : vector<4x3xf32>, vector<3xf32> -> vector<4xf32>
  return %0 : vector<4xf32>
}

!identity = !jacobian.matrix<4x4xf32, identity>
!diagonal = !jacobian.matrix<4x4xf32, diagonal>
!dense = !jacobian.matrix<4x4xf32, dense>
!zero = !jacobian.matrix<4x4xf32, zero>

// CHECK-LABEL: func.func @compose_with_identity
// CHECK-SAME: %[[I:.*]]: {{.*}}, %[[J:.*]]: {{.*}}) ->
// CHECK: return %[[J]], %[[J]]
func.func @compose_with_identity(%i: !identity, %j: !diagonal) -> (!diagonal, !diagonal) {
  %0 = jacobian.compose %i, %j : !identity, !diagonal -> !diagonal
  %1 = jacobian.compose %j, %i : !diagonal, !identity -> !diagonal
  return %0, %1 : !diagonal, !diagonal
}

// CHECK-LABEL: func.func @compose_with_zero
// CHECK-SAME: %[[Z:.*]]: {{.*}}, %[[J:.*]]: {{.*}}) ->
// CHECK: return %[[Z]], %[[Z]]
func.func @compose_with_zero(%z: !zero, %j: !dense) -> (!zero, !zero) {
  %0 = jacobian.compose %z, %j : !zero, !dense -> !zero
  %1 = jacobian.compose %j, %z : !dense, !zero -> !zero
  return %0, %1 : !zero, !zero
}

// A product is kept if its type drops the structure of its factors.
// CHECK-LABEL: func.func @compose_that_forgets_structure
// CHECK: jacobian.compose
func.func @compose_that_forgets_structure(%i: !identity, %j: !diagonal) -> !dense {
  %0 = jacobian.compose %i, %j : !identity, !diagonal -> !dense
  return %0 : !dense
}

// CHECK-LABEL: func.func @apply_identity
// CHECK-SAME: %[[G:[^:]*]]: tensor<?x4xf32>
// CHECK: return %[[G]]
func.func @apply_identity(%g: tensor<?x4xf32>, %i: !identity) -> tensor<?x4xf32> {
  %0 = jacobian.apply %i, %g : !identity, tensor<?x4xf32> -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @unused_link
// CHECK-NEXT: return
func.func @unused_link(%g: tensor<?x4xf32>, %s: tensor<?x4xf32>) {
  %0 = jacobian.link %g : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%gy: tensor<?x4xf32>):
    jacobian.yield %gy : tensor<?x4xf32>
  } jacobian {
  ^bb0(%gy: tensor<?x4xf32>):
    %1 = jacobian.assemble %s : tensor<?x4xf32> -> !jacobian.matrix<4x4xf32, diagonal, batch = ?>
    jacobian.yield %1 : !jacobian.matrix<4x4xf32, diagonal, batch = ?>
  }
  return
}

// CHECK-LABEL: func.func @unpack_of_pack
// CHECK-SAME: %[[X:.*]]: tensor<?x?x3xf32>
// CHECK: return %[[X]]
func.func @unpack_of_pack(%x: tensor<?x?x3xf32>, %batch: index) -> tensor<?x?x3xf32> {
  %0 = bppsa.pack_lanes 16, %x : tensor<?x?x3xf32> -> tensor<?x?x3x16xf32>
  %1 = bppsa.unpack_lanes 16, %0, %batch : tensor<?x?x3x16xf32> -> tensor<?x?x3xf32>
  return %1 : tensor<?x?x3xf32>
}

// CHECK-LABEL: func.func @unpack_of_pack_in_other_lanes
// CHECK: bppsa.unpack_lanes 8
func.func @unpack_of_pack_in_other_lanes(%x: tensor<?x?x3xf32>, %batch: index) -> tensor<?x?x3xf32> {
  %0 = bppsa.pack_lanes 16, %x : tensor<?x?x3xf32> -> tensor<?x?x3x16xf32>
  %1 = tensor.cast %0 : tensor<?x?x3x16xf32> to tensor<?x?x3x?xf32>
  %2 = tensor.extract_slice %1[0, 0, 0, 0] [2, 5, 3, 8] [1, 1, 1, 1] : tensor<?x?x3x?xf32> to tensor<2x5x3x8xf32>
  %3 = tensor.cast %2 : tensor<2x5x3x8xf32> to tensor<?x?x3x8xf32>
  %4 = bppsa.unpack_lanes 8, %3, %batch : tensor<?x?x3x8xf32> -> tensor<?x?x3xf32>
  return %4 : tensor<?x?x3xf32>
}

// CHECK-LABEL: func.func @dropout_of_nothing
// CHECK-SAME: %[[X:.*]]: tensor<?xf32>
// CHECK: return %[[X]]
func.func @dropout_of_nothing(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = bppsa.dropout %x ratio 0.000000e+00 stream 0 : tensor<?xf32>
  return %0 : tensor<?xf32>
}
