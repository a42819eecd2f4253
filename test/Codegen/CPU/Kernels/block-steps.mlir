// RUN: bppsa-opt %s --bppsa-block-steps --split-input-file | FileCheck %s

// The classifier and the layout change run in blocks of steps, with a buffer for the values between
// them.
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
  bppsa.unpack_lanes 16, %scores, %n into %y : memref<?x?x10x16xf32> into memref<?x?x10xf32>
  memref.dealloc %scores : memref<?x?x10x16xf32>
  return
}

// -----

// A recurrence continues from the last slot that the previous block wrote.
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
      : memref<?x?x20x16xf32, strided<[?, 320, 16, 1], offset: 320>> into memref<?x?x20xf32>
  memref.dealloc %h : memref<?x?x20x16xf32>
  return
}

// -----

// No blocks: a single operation, one that reads the states before the steps, one with a different
// number of steps, and a reversed loop.
// CHECK-LABEL: func.func @others(
// CHECK-NOT:     scf.for
// CHECK:         return
func.func @others(%x: memref<?x?x20x16xf32>, %z: memref<?x?x20x16xf32>, %h0: memref<?x20x16xf32>, %n: index,
    %y: memref<?x?x20xf32>, %v: memref<?x?x20xf32>) {
  bppsa.unpack_lanes 16, %x, %n into %y : memref<?x?x20x16xf32> into memref<?x?x20xf32>
  bppsa.unpack_lanes 16, %z, %n into %v : memref<?x?x20x16xf32> into memref<?x?x20xf32>
  bppsa.recurrence reverse lanes 16 sequences(%z : memref<?x?x20x16xf32>) initial(%h0 : memref<?x20x16xf32>)
      into(%x : memref<?x?x20x16xf32>) {
  ^bb0(%xt: vector<20xf32>, %ht: vector<20xf32>):
    bppsa.yield %xt : vector<20xf32>
  }
  bppsa.unpack_lanes 16, %x, %n into %y : memref<?x?x20x16xf32> into memref<?x?x20xf32>
  return
}

// -----

#row = affine_map<(t, b, n) -> (t, b)>
#all = affine_map<(t, b, n) -> (t, b, n)>

// Row-wise operations on the outputs of all steps are blocked too: a block has as many rows as its
// steps have samples.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME:    %[[X:[a-z0-9]*]]: memref<?x?x10x16xf32>, %[[Y:[a-z0-9]*]]: memref<?x?x10xf32>, %[[M:[a-z0-9]*]]: memref<?x?xf32>,
// CHECK:         scf.for %[[FIRST:.*]] = %{{.*}} to %{{.*}} step
// CHECK:           %[[COUNT:.*]] = arith.minui
// CHECK-DAG:       %[[ROWS:.*]] = memref.collapse_shape %[[Y]] {{\[}}[0, 1], [2]]
// CHECK-DAG:       %[[MAXIMA:.*]] = memref.collapse_shape %[[M]] {{\[}}[0, 1]]
// CHECK-DAG:       %[[ROW:.*]] = arith.muli %[[FIRST]], %[[SAMPLES:.*]] :
// CHECK-DAG:       arith.muli %[[COUNT]], %[[SAMPLES]] :
// CHECK:           bppsa.unpack_lanes 16
// CHECK:           linalg.generic {indexing_maps = {{.*}}, iterator_types = ["parallel", "reduction"]} ins(%{{.*}} : memref<?x10xf32, strided<[10, 1], offset: ?>>)
func.func @rows(%x: memref<?x?x10x16xf32>, %y: memref<?x?x10xf32>, %most: memref<?x?xf32>, %n: index) {
  bppsa.unpack_lanes 16, %x, %n into %y : memref<?x?x10x16xf32> into memref<?x?x10xf32>
  linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%y : memref<?x?x10xf32>) outs(%most : memref<?x?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.maximumf %in, %out : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#packed = affine_map<(b, t, n, l) -> (b, t, n, l)>

// The first dimension of packed arrays is not time, so operations on them are not blocked.
// CHECK-LABEL: func.func @packed(
// CHECK-NOT:     scf.for
// CHECK:         return
func.func @packed(%x: memref<?x?x10x16xf32>, %y: memref<?x?x10xf32>, %z: memref<?x?x10x16xf32>, %n: index) {
  bppsa.unpack_lanes 16, %x, %n into %y : memref<?x?x10x16xf32> into memref<?x?x10xf32>
  linalg.exp ins(%x : memref<?x?x10x16xf32>) outs(%z : memref<?x?x10x16xf32>)
  linalg.exp ins(%z : memref<?x?x10x16xf32>) outs(%x : memref<?x?x10x16xf32>)
  return
}

// -----

// Arrays of indices have no size in bytes.
// CHECK-LABEL: func.func @indices(
// CHECK-NOT:     scf.for
// CHECK:         return
func.func @indices(%x: memref<?x?x10x16xf32>, %y: memref<?x?x10xf32>, %i: memref<?x?x10xindex>, %n: index) {
  bppsa.unpack_lanes 16, %x, %n into %y : memref<?x?x10x16xf32> into memref<?x?x10xf32>
  linalg.map ins(%y : memref<?x?x10xf32>) outs(%i : memref<?x?x10xindex>)
    (%in: f32, %out: index) {
      %0 = arith.fptosi %in : f32 to i64
      %1 = arith.index_cast %0 : i64 to index
      linalg.yield %1 : index
    }
  return
}
