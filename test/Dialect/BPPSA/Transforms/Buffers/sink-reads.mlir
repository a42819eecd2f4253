// RUN: bppsa-opt %s --bppsa-sink-reads | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// Values computed from a read-only input move into the operation that uses them.
// CHECK-LABEL: func @seed(
// CHECK-SAME:    %[[SEED:.*]]: memref<i64>, %[[OUT:.*]]: memref<?xi64>)
// CHECK-NEXT:    linalg.generic
// CHECK:           %[[VALUE:.*]] = memref.load %[[SEED]][]
// CHECK:           %[[MIXED:.*]] = arith.xori %[[VALUE]], %{{.*}}
// CHECK:           linalg.yield %[[MIXED]]
func.func @seed(%seed: memref<i64>, %out: memref<?xi64>) {
  %0 = memref.load %seed[] : memref<i64>
  %c7 = arith.constant 7 : i64
  %1 = arith.xori %0, %c7 : i64
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%out : memref<?xi64>) {
  ^bb0(%old: i64):
    linalg.yield %1 : i64
  }
  return
}

// Reads of an array that is written are not moved.
// CHECK-LABEL: func @written(
// CHECK:         memref.load
// CHECK:         linalg.generic
func.func @written(%number: memref<i64>, %out: memref<?xi64>) {
  %c7 = arith.constant 7 : i64
  memref.store %c7, %number[] : memref<i64>
  %0 = memref.load %number[] : memref<i64>
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%out : memref<?xi64>) {
  ^bb0(%old: i64):
    linalg.yield %0 : i64
  }
  return
}
