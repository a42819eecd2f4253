// RUN: bppsa-opt %s --convert-bppsa-to-vector --canonicalize --cse | FileCheck %s
// RUN: bppsa-opt %s '--convert-bppsa-to-vector=registers=4' --canonicalize --cse | FileCheck %s --check-prefix=SMALL

// CHECK: func.func private @bppsa_rt_phase(i64)

// Both products of the cell and its bias accumulate in one register for each of the five rows. The
// state is read from the trajectory slot of the previous step.

// CHECK-LABEL: func @rnn(
// CHECK-SAME:      %[[X:.*]]: memref<?x?x6x16xf32>, %{{.*}}, %[[W:.*]]: memref<5x6xf32>, %[[R:.*]]: memref<5x5xf32>, %[[B:.*]]: memref<5xf32>, %[[H:.*]]: memref<?x?x5x16xf32>)
// CHECK:         scf.parallel (%[[BLOCK:.*]]) =
// CHECK:           scf.for %[[T:.*]] = %c0 to %{{.*}} step %c1
// CHECK:             %[[NEXT:.*]] = arith.addi %[[T]], %c1
// CHECK:             memref.load %[[B]][%c0]
// CHECK:             scf.for %[[J:.*]] = %c0 to %c5 step %c1 iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK:               %[[HJ:.*]] = vector.load %[[H]][%[[BLOCK]], %[[T]], %[[J]], %c0]
// CHECK:               memref.load %[[R]][%c0, %[[J]]]
// CHECK-COUNT-5:       vector.fma %{{.*}}, %[[HJ]], %{{.*}}
// CHECK:             scf.for %[[K:.*]] = %c0 to %c6 step %c1 iter_args
// CHECK:               %[[XK:.*]] = vector.load %[[X]][%[[BLOCK]], %[[T]], %[[K]], %c0]
// CHECK:               memref.load %[[W]][%c0, %[[K]]]
// CHECK-COUNT-5:       vector.fma %{{.*}}, %[[XK]], %{{.*}}
// CHECK:             %[[Y:.*]] = math.tanh %{{.*}} : vector<16xf32>
// CHECK:             vector.store %[[Y]], %[[H]][%[[BLOCK]], %[[NEXT]], %c0, %c0]

// With few registers, rows are computed in blocks of three, then the remainder.
// SMALL-LABEL: func @rnn(
// SMALL:         iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>) {
// SMALL:         iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>) {
func.func @rnn(%x: memref<?x?x6x16xf32>, %h0: memref<?x5x16xf32>, %w: memref<5x6xf32>,
    %r: memref<5x5xf32>, %b: memref<5xf32>, %h: memref<?x?x5x16xf32>) {
  bppsa.recurrence lanes 16 sequences(%x : memref<?x?x6x16xf32>) initial(%h0 : memref<?x5x16xf32>)
      captures(%w, %r, %b : memref<5x6xf32>, memref<5x5xf32>, memref<5xf32>)
      into(%h : memref<?x?x5x16xf32>) {
  ^bb0(%xt: vector<6xf32>, %ht: vector<5xf32>, %wc: vector<5x6xf32>, %rc: vector<5x5xf32>, %bc: vector<5xf32>):
    %0 = bppsa.matvec %wc, %xt : vector<5x6xf32>, vector<6xf32> -> vector<5xf32>
    %1 = bppsa.matvec %rc, %ht plus %bc : vector<5x5xf32>, vector<5xf32> plus vector<5xf32> -> vector<5xf32>
    %2 = arith.addf %0, %1 : vector<5xf32>
    %3 = math.tanh %2 : vector<5xf32>
    bppsa.yield %3 : vector<5xf32>
  }
  return
}

// CHECK-LABEL: func @phase()
// CHECK:         call @bppsa_rt_phase(%c1_i64)
func.func @phase() {
  bppsa.mark_phase 1
  return
}
