// RUN: bppsa-opt %s --convert-bppsa-to-bgpu --bgpu-insert-barriers --canonicalize --cse | FileCheck %s

!vector = memref<?x40xf32, strided<[40, 1], offset: ?>>
!map = memref<?x40x40xf32, strided<[1600, 40, 1], offset: ?>>

// There is one thread block per iteration and row. The buffer of an iteration is one row in shared
// memory. A barrier precedes writes to elements that other threads still read.

// CHECK-LABEL: func private @levels(
// CHECK-SAME:      %[[PAIRS:[^:]*]]: index, %[[ROWS:[^:]*]]: index, %[[V:[^:]*]]: memref<?x?x40xf32>, %[[M:[^:]*]]: memref<?x?x40x40xf32>)
// CHECK:         %[[BLOCKS:.*]] = arith.muli %[[ROWS]], %[[PAIRS]]
// CHECK:         bgpu.kernel blocks(%[[BLOCK:.*]] in %[[BLOCKS]]) threads(64) {
// CHECK-DAG:       %[[KEPT:.*]] = memref.alloc() : memref<40xf32, #gpu.address_space<workgroup>>
// CHECK-DAG:       %[[ROW:.*]] = arith.divui %[[BLOCK]], %[[PAIRS]]
// CHECK-DAG:       %[[PAIR:.*]] = arith.remui %[[BLOCK]], %[[PAIRS]]
// CHECK-DAG:       %[[MAP:.*]] = memref.subview %[[M]][%[[PAIR]],
// CHECK-DAG:       %[[VECTOR:.*]] = memref.subview %[[V]][%[[PAIR]],
// CHECK:           bgpu.for_each [40] {
// CHECK-NEXT:      ^bb0(%[[VALUE:.*]]: index):
// CHECK-NEXT:        %[[SUM:.*]] = scf.for %[[COLUMN:.*]] = %c0 to %c40
// CHECK-DAG:           memref.load %[[VECTOR]][%[[ROW]], %[[COLUMN]]]
// CHECK-DAG:           memref.load %[[MAP]][%[[ROW]], %[[COLUMN]], %[[VALUE]]]
// CHECK:               math.fma
// CHECK:             memref.store %[[SUM]], %[[KEPT]][%[[VALUE]]]
// CHECK:           gpu.barrier
// CHECK-NEXT:      bgpu.for_each [40] {
// CHECK-NEXT:      ^bb0(%[[VALUE:.*]]: index):
// CHECK-NEXT:        %[[OWN:.*]] = memref.load %[[KEPT]][%[[VALUE]]]
// CHECK-NEXT:        memref.store %[[OWN]], %[[VECTOR]][%[[ROW]], %[[VALUE]]]
// CHECK-NOT:       gpu.barrier
// CHECK:         return
func.func private @levels(%pairs: index, %rows: index, %v: memref<?x?x40xf32>, %m: memref<?x?x40x40xf32>) {
  scf.forall (%pair) in (%pairs) {
    %kept = memref.alloc(%rows) : memref<?x40xf32>
    %map = memref.subview %m[%pair, 0, 0, 0] [1, %rows, 40, 40] [1, 1, 1, 1] : memref<?x?x40x40xf32> to !map
    %vector = memref.subview %v[%pair, 0, 0] [1, %rows, 40] [1, 1, 1] : memref<?x?x40xf32> to !vector
    bppsa.apply_transition %map, %vector into %kept : !map, !vector, memref<?x40xf32>
    memref.copy %kept, %vector : memref<?x40xf32> to !vector
    memref.dealloc %kept : memref<?x40xf32>
  }
  return
}

// A sequential loop has one block per row, and its iterations wait for each other. Some iterations
// multiply two maps, which needs only one row of the second factor.

// CHECK-LABEL: func private @roots(
// CHECK:         bgpu.kernel blocks(%[[ROW:.*]] in %[[ROWS:.*]]) threads(64) {
// CHECK:           scf.for
// CHECK:             scf.if
// CHECK-NEXT:          bgpu.for_each [40] {
// CHECK:                 math.fma
// CHECK:             } else {
// CHECK-NEXT:          bgpu.for_each [40] {
// CHECK:                 memref.alloca() : memref<40xf32>
// CHECK:                 math.fma
// CHECK:             gpu.barrier
// CHECK-NEXT:      }
func.func private @roots(%count: index, %rows: index, %v: memref<?x?x40xf32>, %m: memref<?x?x40x40xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %count step %c1 {
    %next = arith.addi %i, %c1 : index
    %isFirst = arith.cmpi eq, %i, %c0 : index
    %map = memref.subview %m[%i, 0, 0, 0] [1, %rows, 40, 40] [1, 1, 1, 1] : memref<?x?x40x40xf32> to !map
    %map1 = memref.subview %m[%next, 0, 0, 0] [1, %rows, 40, 40] [1, 1, 1, 1] : memref<?x?x40x40xf32> to !map
    %from = memref.subview %v[%i, 0, 0] [1, %rows, 40] [1, 1, 1] : memref<?x?x40xf32> to !vector
    %to = memref.subview %v[%next, 0, 0] [1, %rows, 40] [1, 1, 1] : memref<?x?x40xf32> to !vector
    scf.if %isFirst {
      bppsa.apply_transition %map, %from into %to : !map, !vector, !vector
    } else {
      bppsa.compose_transitions %map, %map1 into %map1 : !map, !map, !map
    }
  }
  return
}
