// RUN: bppsa-opt %s --bppsa-block-steps --split-input-file | FileCheck %s

// The classifier and a change of layout: of both a block of steps, and a buffer for what lies between.
// CHECK-LABEL: func.func @loss(
// CHECK-SAME:    %[[X:.*]]: memref<?x?x20x16xf32>, %[[W:.*]]: memref<10x20xf32>, %[[N:.*]]: index, %[[BLOCKS:.*]]: index, %[[STEPS:[^:]*]]: index
// CHECK:         %[[TASKS:.*]] = arith.maxui
// CHECK:         %[[LENGTH:.*]] = arith.muli %[[TASKS]], %c32
// CHECK:         %[[ROWS:.*]] = arith.minui %[[LENGTH]], %[[ALL:.*]] : index
// CHECK:         %[[SCORES:.*]] = memref.alloc(%[[BLOCKS]], %[[ROWS]]) : memref<?x?x10x16xf32>
// CHECK:         scf.for %[[FIRST:.*]] = %c0{{.*}} to %[[ALL]] step %[[LENGTH]]
// CHECK:           %[[LEFT:.*]] = arith.subi %[[ALL]], %[[FIRST]]
// CHECK:           %[[COUNT:.*]] = arith.minui %[[LEFT]], %[[LENGTH]]
// CHECK-DAG:       %[[XS:.*]] = memref.subview %[[X]][0, %[[FIRST]], 0, 0] [%{{.*}}, %[[COUNT]], 20, 16]
// CHECK-DAG:       %[[SS:.*]] = memref.subview %[[SCORES]][0, 0, 0, 0] [%{{.*}}, %[[COUNT]], 10, 16]
// CHECK:           bppsa.recurrence lanes 16 sequences(%[[XS]] : {{.*}}) captures(%[[W]] : {{.*}}) into(%[[SS]] :
// CHECK:           bppsa.unpack_lanes 16, %[[SS]], %[[N]] into %{{.*}} :
// CHECK:         memref.dealloc %[[SCORES]]
// CHECK-NOT:     memref.dealloc
// CHECK:         return
func.func @loss(%x: memref<?x?x20x16xf32>, %w: memref<10x20xf32>, %n: index, %blocks: index, %steps: index,
    %y: memref<?x?x10xf32>) {
  %scores = memref.alloc(%blocks, %steps) : memref<?x?x10x16xf32>
  bppsa.recurrence lanes 16 sequences(%x : memref<?x?x20x16xf32>) captures(%w : memref<10x20xf32>)
      into(%scores : memref<?x?x10x16xf32>) {
  ^bb0(%xt: vector<20xf32>, %wc: vector<10x20xf32>):
    %0 = bppsa.matvec %wc, %xt : vector<10x20xf32>, vector<20xf32> -> vector<10xf32>
    bppsa.yield %0 : vector<10xf32>
  }
  bppsa.unpack_lanes 16, %scores, %n into %y : memref<?x?x10xf32> : memref<?x?x10x16xf32>
  memref.dealloc %scores : memref<?x?x10x16xf32>
  return
}

// -----

// A recurrence goes on from the slot that the block before has written last.
// CHECK-LABEL: func.func @states(
// CHECK-SAME:    %[[X:.*]]: memref<?x?x20x16xf32>, %[[H0:.*]]: memref<?x20x16xf32>
// CHECK:         %[[H:.*]] = memref.alloc(%{{.*}}, %{{.*}}) : memref<?x?x20x16xf32>
// CHECK:         %[[SLOT0:.*]] = memref.subview %[[H]][0, 0, 0, 0] [%{{.*}}, 1, 20, 16]
// CHECK:         %[[START:.*]] = memref.subview %[[SLOT0]][0, 0, 0, 0]
// CHECK:         memref.copy %[[H0]], %[[START]]
// CHECK:         scf.for %[[FIRST:.*]] =
// CHECK:           %[[SLOTS:.*]] = arith.addi %[[COUNT:.*]], %c1
// CHECK:           %[[HS:.*]] = memref.subview %[[H]][0, %[[FIRST]], 0, 0] [%{{.*}}, %[[SLOTS]], 20, 16]
// CHECK:           %[[SLOT:.*]] = memref.subview %[[H]][0, %[[FIRST]], 0, 0] [%{{.*}}, 1, 20, 16]
// CHECK:           %[[BEFORE:.*]] = memref.subview %[[SLOT]][0, 0, 0, 0]
// CHECK:           bppsa.recurrence lanes 16 sequences({{.*}}) initial(%[[BEFORE]] : {{.*}}) into(%[[HS]] :
// CHECK:           bppsa.unpack_lanes
// CHECK:         memref.dealloc %[[H]]
func.func @states(%x: memref<?x?x20x16xf32>, %h0: memref<?x20x16xf32>, %n: index, %blocks: index, %steps: index,
    %y: memref<?x?x20xf32>) {
  %c1 = arith.constant 1 : index
  %slots = arith.addi %steps, %c1 : index
  %h = memref.alloc(%blocks, %slots) : memref<?x?x20x16xf32>
  bppsa.recurrence lanes 16 sequences(%x : memref<?x?x20x16xf32>) initial(%h0 : memref<?x20x16xf32>)
      into(%h : memref<?x?x20x16xf32>) {
  ^bb0(%xt: vector<20xf32>, %ht: vector<20xf32>):
    %0 = arith.addf %xt, %ht : vector<20xf32>
    bppsa.yield %0 : vector<20xf32>
  }
  %behind = memref.subview %h[0, 1, 0, 0] [%blocks, %steps, 20, 16] [1, 1, 1, 1]
      : memref<?x?x20x16xf32> to memref<?x?x20x16xf32, strided<[?, 320, 16, 1], offset: 320>>
  bppsa.unpack_lanes 16, %behind, %n into %y
      : memref<?x?x20xf32> : memref<?x?x20x16xf32, strided<[?, 320, 16, 1], offset: 320>>
  memref.dealloc %h : memref<?x?x20x16xf32>
  return
}

// -----

// Not in blocks: an operation by itself, one that reads the states before the steps, one with another number of
// steps, and a loop that goes back.
// CHECK-LABEL: func.func @others(
// CHECK-NOT:     scf.for
// CHECK:         return
func.func @others(%x: memref<?x?x20x16xf32>, %z: memref<?x?x20x16xf32>, %h0: memref<?x20x16xf32>, %n: index,
    %y: memref<?x?x20xf32>, %v: memref<?x?x20xf32>) {
  bppsa.unpack_lanes 16, %x, %n into %y : memref<?x?x20xf32> : memref<?x?x20x16xf32>
  bppsa.unpack_lanes 16, %z, %n into %v : memref<?x?x20xf32> : memref<?x?x20x16xf32>
  bppsa.recurrence reverse lanes 16 sequences(%z : memref<?x?x20x16xf32>) initial(%h0 : memref<?x20x16xf32>)
      into(%x : memref<?x?x20x16xf32>) {
  ^bb0(%xt: vector<20xf32>, %ht: vector<20xf32>):
    bppsa.yield %xt : vector<20xf32>
  }
  bppsa.unpack_lanes 16, %x, %n into %y : memref<?x?x20xf32> : memref<?x?x20x16xf32>
  return
}
