// RUN: bppsa-opt %s --convert-bppsa-to-bgpu --canonicalize --cse | FileCheck %s

!map = memref<1x21x21xf32, strided<[441, 21, 1], offset: ?>>
!vector = memref<1x21xf32, strided<[21, 1], offset: ?>>

// The cotangent that each iteration multiplies by the next transition is a tile, carried by the
// loop and shared by the block. Transitions are prefetched, and threads load their rows into
// registers before they multiply.

// CHECK-LABEL: func private @carries(
// CHECK-SAME:      %[[ROWS:[^:]*]]: index, %[[LAST:[^:]*]]: index, %[[V:[^:]*]]: memref<?x?x21xf32>, %[[G:[^:]*]]: memref<?x21xf32>, %[[M:[^:]*]]: memref<?x?x21x21xf32>)
// CHECK:         %[[VECTORS:.*]] = memref.collapse_shape %[[M]] {{\[\[}}0], [1], [2, 3]]
// CHECK:         bgpu.kernel blocks(%[[ROW:.*]] in %[[ROWS]]) threads(32) {
// CHECK:           %[[CARRIES:.*]] = memref.subview %[[V]][0, %[[ROW]], 0]
// CHECK:           bgpu.for_each [21] {
// CHECK:             memref.load %{{.*}}[%c0, %{{.*}}]
// CHECK:           %[[APART:.*]]:2 = memref.distinct_objects %[[M]], %[[CARRIES]]
// CHECK-NEXT:      %[[FIRST:.*]] = bgpu.for_each [21] -> tensor<21xf32> {
// CHECK:             memref.load %[[APART]]#1[%c0, %c0,
// CHECK:           scf.for %[[I:.*]] = %c0 to %[[LAST]] step %c1 iter_args(%[[OWN:.*]] = %[[FIRST]]) -> (tensor<21xf32>) {
// CHECK-NEXT:        %[[MAP:.*]] = bgpu.fetch %[[VECTORS]][%[[I]], %[[ROW]]] stages(8) : memref<?x?x441xf32>
// CHECK-NEXT:        %[[WHOLE:.*]] = bgpu.share %[[OWN]] : tensor<21xf32>
// CHECK-NEXT:        %[[VALUES:.*]] = bgpu.for_each [21] -> tensor<21xvector<42xf32>> {
// CHECK-NEXT:        ^bb0(%[[VALUE:.*]]: index):
// CHECK-DAG:           memref.load %[[MAP]][%[[VALUE]]]
// CHECK-DAG:           memref.load %[[WHOLE]][%c0]
// CHECK:             %[[NEXT:.*]] = bgpu.for_each [21] %[[VALUES]] : tensor<21xvector<42xf32>> -> tensor<21xf32> {
// CHECK-COUNT-21:      math.fma
// CHECK:             bgpu.for_each [21] %[[NEXT]]
// CHECK:               memref.store %{{.*}}, %[[APART]]#1
// CHECK:             scf.yield %[[NEXT]]
// CHECK:         } {repeat_last}
func.func private @carries(%rows: index, %last: index, %v: memref<?x?x21xf32>, %g: memref<?x21xf32>, %m: memref<?x?x21x21xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %slots = memref.dim %v, %c0 : memref<?x?x21xf32>
  scf.forall (%row) in (%rows) {
    %carries = memref.subview %v[0, %row, 0] [%slots, 1, 21] [1, 1, 1] : memref<?x?x21xf32> to memref<?x1x21xf32, strided<[?, 21, 1], offset: ?>>
    %seed = memref.subview %g[%row, 0] [1, 21] [1, 1] : memref<?x21xf32> to !vector
    %first = memref.subview %carries[0, 0, 0] [1, 1, 21] [1, 1, 1] : memref<?x1x21xf32, strided<[?, 21, 1], offset: ?>> to !vector
    memref.copy %seed, %first : !vector to !vector
    scf.for %i = %c0 to %last step %c1 {
      %next = arith.addi %i, %c1 : index
      %map = memref.subview %m[%i, %row, 0, 0] [1, 1, 21, 21] [1, 1, 1, 1] : memref<?x?x21x21xf32> to !map
      %from = memref.subview %carries[%i, 0, 0] [1, 1, 21] [1, 1, 1] : memref<?x1x21xf32, strided<[?, 21, 1], offset: ?>> to !vector
      %to = memref.subview %carries[%next, 0, 0] [1, 1, 21] [1, 1, 1] : memref<?x1x21xf32, strided<[?, 21, 1], offset: ?>> to !vector
      bppsa.apply_transition %map, %from into %to : !map, !vector, !vector
    }
  }
  return
}
