// RUN: bppsa-opt %s '--convert-bppsa-to-vector=registers=8' | FileCheck %s
// RUN: bppsa-opt %s --convert-bppsa-to-vector | FileCheck %s --check-prefix=MANY

// Two gates of 70 units. With few registers, five rows of one gate have accumulators, then five
// rows of the other. The results wait in memory, and a loop over these rows computes the rest. With
// many registers, both gates share the loads of the state.

// CHECK-LABEL: func.func @gates(
// CHECK:         %[[FIRST:.*]] = memref.alloca() {alignment = 64 : i64} : memref<5x16xf32>
// CHECK:         scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-COUNT-5: vector.fma
// CHECK-NOT:     vector.fma
// CHECK:         vector.store {{.*}}, %[[FIRST]]
// CHECK:         %[[SECOND:.*]] = memref.alloca() {alignment = 64 : i64} : memref<5x16xf32>
// CHECK-COUNT-5: vector.fma
// CHECK-NOT:     vector.fma
// CHECK:         scf.for %[[ROW:.*]] = %c0{{.*}} to %c5
// CHECK:           %[[A:.*]] = vector.load %[[FIRST]][%[[ROW]],
// CHECK:           %[[B:.*]] = vector.load %[[SECOND]][%[[ROW]],
// CHECK:           math.tanh %[[B]]
// MANY-LABEL: func.func @gates(
// MANY-NOT:     memref<5x16xf32>
// MANY:         return
func.func @gates(%x: memref<?x?x70x16xf32>, %h0: memref<?x70x16xf32>, %r: memref<70x70xf32>,
    %s: memref<70x70xf32>, %h: memref<?x?x70x16xf32>) {
  bppsa.recurrence lanes 16 sequences(%x : memref<?x?x70x16xf32>) initial(%h0 : memref<?x70x16xf32>)
      captures(%r, %s : memref<70x70xf32>, memref<70x70xf32>) into(%h : memref<?x?x70x16xf32>) {
  ^bb0(%xt: vector<70xf32>, %ht: vector<70xf32>, %rc: vector<70x70xf32>, %sc: vector<70x70xf32>):
    %0 = bppsa.matvec %rc, %ht plus %xt : vector<70x70xf32>, vector<70xf32> plus vector<70xf32> -> vector<70xf32>
    %1 = bppsa.matvec %sc, %ht : vector<70x70xf32>, vector<70xf32> -> vector<70xf32>
    %2 = math.tanh %0 : vector<70xf32>
    %3 = arith.mulf %1, %2 : vector<70xf32>
    bppsa.yield %3 : vector<70xf32>
  }
  return
}
