// RUN: bppsa-opt %s --bppsa-choose-gpu-mapping --convert-bppsa-to-bgpu --bgpu-stage-copies --bgpu-allocate-shared --bgpu-insert-barriers --convert-bgpu-to-gpu --canonicalize --cse | FileCheck %s

// The full pipeline: the state is double-buffered in shared memory, and each step ends with one
// barrier. The sequence element for seven steps ahead is requested while the step waits for the
// state. There are no branches: threads without a row use spare rows of shared arrays and store the
// last row again.

// CHECK-LABEL: func private @rnn(
// CHECK-SAME:      %[[X:.*]]: memref<?x?x4xf32>, %[[H0:.*]]: memref<?x4xf32>, %[[R:.*]]: memref<4x4xf32>, %[[B:.*]]: memref<4xf32>, %[[H:.*]]: memref<?x?x4xf32>)
// CHECK-DAG:     %[[T:.*]] = memref.dim %[[X]], %c0
// CHECK-DAG:     %[[SAMPLES:.*]] = memref.dim %[[X]], %c1
// CHECK:         gpu.launch blocks(%[[SAMPLE:[^,]*]], {{.*}}) in (%{{[^ ]*}} = %[[SAMPLES]], {{.*}}) threads(%[[UNIT:[^,]*]], {{.*}}) in (%{{[^ ]*}} = %c32,
// CHECK-SAME:        module(@device) function(@rnn) workgroup(%[[STATE:[^ ]*]] : memref<2x36xf32, #gpu.address_space<workgroup>>, %[[RING:[^ ]*]] : memref<8x32xf32, #gpu.address_space<workgroup>>)
// CHECK:           %[[ROW:.*]] = arith.minui %[[UNIT]], %c3
// CHECK:           %[[R0:.*]] = memref.load %[[R]][%{{.*}}, %c0]
// CHECK:           %[[R3:.*]] = memref.load %[[R]][%{{.*}}, %c3]
// CHECK:           %[[INITIAL:.*]] = memref.load %[[H0]][%[[SAMPLE]], %[[ROW]]]
// CHECK:           memref.store %[[INITIAL]], %[[H]][%c0, %[[SAMPLE]], %[[ROW]]]
// CHECK:           %[[OF_STEP:.*]] = arith.muli %{{.*}}, %c4
// CHECK:           %[[OF_SAMPLE:.*]] = arith.muli %[[SAMPLE]], %c4
// CHECK:           %[[BEHIND:.*]] = memref.reinterpret_cast %[[H]] to offset: [%[[OF_STEP]]],
// CHECK:           memref.store %[[INITIAL]], %[[STATE]][%c0, %[[UNIT]]]
// CHECK:           scf.if
// CHECK:             %[[FLAT:.*]] = memref.reinterpret_cast %{{.*}} to offset: [0],
// CHECK:             scf.for %{{.*}} = %c0 to %c7 step %c1 {
// CHECK:               nvgpu.device_async_copy %[[FLAT]]
// CHECK:             nvvm.cp.async.wait.group 6
// CHECK-NEXT:        gpu.barrier
// CHECK-NEXT:        scf.for %[[STEP:.*]] = %c0 to %[[T]] step %c1 iter_args(%[[PLACE:.*]] = %[[OF_SAMPLE]]) -> (index) {
// CHECK-NEXT:          %[[FILLED:.*]] = arith.andi %[[STEP]], %c7
// CHECK-NEXT:          %[[BEFORE:.*]] = arith.andi %[[STEP]], %c1
// CHECK-NEXT:          %[[S0:.*]] = memref.load %[[STATE]][%[[BEFORE]], %c0]
// CHECK-NEXT:          memref.load %[[STATE]][%[[BEFORE]], %c1]
// CHECK-NEXT:          memref.load %[[STATE]][%[[BEFORE]], %c2]
// CHECK-NEXT:          %[[S3:.*]] = memref.load %[[STATE]][%[[BEFORE]], %c3]
// CHECK-NEXT:          %[[AHEAD:.*]] = arith.addi %[[STEP]], %c7
// CHECK-NEXT:          %[[FREE:.*]] = arith.andi %[[AHEAD]], %c7
// CHECK-NEXT:          arith.addi %[[T]], %c-1
// CHECK-NEXT:          %[[FROM:.*]] = arith.minui %[[AHEAD]], %{{.*}}
// CHECK-NEXT:          %[[FIRST:.*]] = arith.muli %[[FROM]], %[[SAMPLES]]
// CHECK-NEXT:          %[[VECTOR:.*]] = arith.addi %[[FIRST]], %[[SAMPLE]]
// CHECK-NEXT:          %[[ELEMENT:.*]] = arith.muli %[[VECTOR]], %c4
// CHECK-NEXT:          %[[OWN:.*]] = arith.addi %[[ELEMENT]], %[[ROW]]
// CHECK-NEXT:          nvgpu.device_async_copy %[[FLAT]][%[[OWN]]], %[[RING]][%[[FREE]], %[[UNIT]]], 1
// CHECK-NEXT:          nvgpu.device_async_create_group
// CHECK-NOT:           memref.load %[[R]]
// CHECK-DAG:           math.fma %[[R0]], %[[S0]]
// CHECK-DAG:           math.fma %[[R3]], %[[S3]]
// CHECK-DAG:           memref.load %[[RING]][%[[FILLED]], %[[ROW]]]
// CHECK-NOT:           gpu.barrier
// CHECK:               %[[NEXT:.*]] = math.tanh
// CHECK-NEXT:          %[[AFTER:.*]] = arith.xori %[[BEFORE]], %c1
// CHECK-NEXT:          memref.store %[[NEXT]], %[[STATE]][%[[AFTER]], %[[UNIT]]]
// CHECK-NEXT:          %[[AT:.*]] = arith.addi %[[PLACE]], %[[ROW]]
// CHECK-NEXT:          memref.store %[[NEXT]], %[[BEHIND]][%[[AT]]]
// CHECK-NOT:           scf.if
// CHECK:               nvvm.cp.async.wait.group 6
// CHECK-NEXT:          gpu.barrier
// CHECK-NEXT:          scf.yield
// CHECK-NOT:       gpu.barrier
func.func private @rnn(%x: memref<?x?x4xf32>, %h0: memref<?x4xf32>, %r: memref<4x4xf32>, %b: memref<4xf32>,
    %h: memref<?x?x4xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x4xf32>) initial(%h0 : memref<?x4xf32>)
      captures(%r, %b : memref<4x4xf32>, memref<4xf32>) into(%h : memref<?x?x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>, %rc: vector<4x4xf32>, %bc: vector<4xf32>):
    %0 = bppsa.matvec %rc, %ht plus %bc : vector<4x4xf32>, vector<4xf32> plus vector<4xf32> -> vector<4xf32>
    %1 = arith.addf %0, %xt : vector<4xf32>
    %2 = math.tanh %1 : vector<4xf32>
    bppsa.yield %2 : vector<4xf32>
  }
  return
}
