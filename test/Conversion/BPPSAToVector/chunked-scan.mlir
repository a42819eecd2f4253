// RUN: bppsa-opt %s --convert-bppsa-to-vector --canonicalize --cse | FileCheck %s

// Three parallel loops: maps of all chunks but the last, carries for each batch
// block, and the walk of every chunk from its carry. There is a column for each
// of the four rows of the state and none for injected cotangents.

// CHECK-LABEL: func @scan(
// CHECK:         %[[MAPS:.*]] = memref.alloc(%{{.*}}, %{{.*}}) {{.*}} : memref<?x?x4x4x16xf32>
// CHECK:         %[[CARRIES:.*]] = memref.alloc(%{{.*}}, %{{.*}}) {{.*}} : memref<?x?x4x16xf32>
// CHECK:         scf.parallel
// CHECK:           vector.store %{{.*}}, %[[MAPS]]
// CHECK:         scf.parallel
// CHECK:           vector.load %[[MAPS]]
// CHECK:           vector.store %{{.*}}, %[[CARRIES]]
// CHECK:         scf.parallel
// CHECK-NOT:       vector.load %[[MAPS]][
// CHECK:           vector.load %[[CARRIES]]
// CHECK:           scf.if
// CHECK:         memref.dealloc %[[MAPS]]
// CHECK:         memref.dealloc %[[CARRIES]]
func.func @scan(%a: memref<?x?x4x16xf32>, %g: memref<?x4x16xf32>, %w: memref<4x4xf32>,
    %out: memref<?x4x16xf32>) {
  bppsa.scan <chunked, 32> lanes 16 saved(%a : memref<?x?x4x16xf32>) seeds(%g : memref<?x4x16xf32>)
      inject_into [] captures(%w : memref<4x4xf32>) into(%out : memref<?x4x16xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  return
}

// What a link emits, no map needs: the second product is left to the last loop.

// CHECK-LABEL: func @emits_what_no_state_needs(
// CHECK-SAME:      %[[A:[^:]*]]: memref<?x?x4x16xf32>, %[[B:[^:]*]]: memref<?x?x4x16xf32>
// CHECK:         scf.parallel
// CHECK-NOT:       vector.load %[[B]]
// CHECK:         scf.parallel
// CHECK:         scf.parallel
// CHECK:           vector.load %[[B]]
func.func @emits_what_no_state_needs(%a: memref<?x?x4x16xf32>, %b: memref<?x?x4x16xf32>, %g: memref<?x4x16xf32>,
    %out: memref<?x4x16xf32>, %emitted: memref<?x?x4x16xf32>) {
  bppsa.scan <chunked, 32> lanes 16 saved(%a, %b : memref<?x?x4x16xf32>, memref<?x?x4x16xf32>) seeds(%g : memref<?x4x16xf32>)
      inject_into [] into(%out, %emitted : memref<?x4x16xf32>, memref<?x?x4x16xf32>) {
  ^bb0(%at: vector<4xf32>, %bt: vector<4xf32>, %gt: vector<4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    %1 = arith.mulf %bt, %gt : vector<4xf32>
    bppsa.yield %0, %1 : vector<4xf32>, vector<4xf32>
  }
  return
}
