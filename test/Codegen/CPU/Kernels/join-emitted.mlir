// RUN: bppsa-opt %s --bppsa-join-emitted=min-bytes=1024 | FileCheck %s
// RUN: bppsa-opt %s --bppsa-join-emitted | FileCheck %s --check-prefix=SMALL

// Two of three arrays are multiplied by %x and two by %y, so the shared array is placed between the
// other two.
// CHECK-LABEL: func.func @gates(
// CHECK-SAME:    %[[A:.*]]: memref<?x?x8x16xf32>, %[[G:.*]]: memref<?x8x16xf32>, %[[X:.*]]: memref<?x?x3x16xf32>, %[[Y:[^:]*]]: memref<?x?x5x16xf32>
// CHECK:         %[[ALL:.*]] = memref.alloc(%{{.*}}, %{{.*}}) : memref<?x?x24x16xf32>
// CHECK:         %[[SECOND:.*]] = memref.subview %[[ALL]][0, 0, 0, 0] [{{.*}}, 8, 16]
// CHECK:         %[[FIRST:.*]] = memref.subview %[[ALL]][0, 0, 8, 0] [{{.*}}, 8, 16]
// CHECK:         %[[THIRD:.*]] = memref.subview %[[ALL]][0, 0, 16, 0] [{{.*}}, 8, 16]
// CHECK:         bppsa.chain lanes 16 {{.*}} into(%[[G]], %[[FIRST]], %[[SECOND]], %[[THIRD]] :
// CHECK:         %[[OF_X:.*]] = memref.alloc() : memref<16x3xf32>
// CHECK:         %[[ROWS_X:.*]] = memref.subview %[[ALL]][0, 0, 0, 0] [{{.*}}, 16, 16]
// CHECK:         bppsa.outer_sum lanes 16 %[[ROWS_X]], %[[X]] batch %{{.*}} into %[[OF_X]] : {{.*}} into memref<16x3xf32>
// CHECK:         %[[TO:.*]] = memref.subview %[[OF_X]][8, 0] [8, 3]
// CHECK:         memref.copy %[[TO]], %{{.*}}
// CHECK:         %[[OF_Y:.*]] = memref.alloc() : memref<16x5xf32>
// CHECK:         %[[ROWS_Y:.*]] = memref.subview %[[ALL]][0, 0, 8, 0] [{{.*}}, 16, 16]
// CHECK:         bppsa.outer_sum lanes 16 %[[ROWS_Y]], %[[Y]] batch %{{.*}} into %[[OF_Y]] : {{.*}} into memref<16x5xf32>
// CHECK-NOT:     bppsa.outer_sum
// CHECK:         bppsa.step_sum lanes 16 %[[FIRST]]
// CHECK-NOT:     memref.dealloc %{{.*}} : memref<?x?x8x16xf32
// CHECK:         memref.dealloc %[[ALL]] : memref<?x?x24x16xf32>
// CHECK-NOT:     memref.dealloc %{{.*}} : memref<?x?x
// SMALL-LABEL: func.func @gates(
// SMALL-NOT:     memref<?x?x24x16xf32>
func.func @gates(%a: memref<?x?x8x16xf32>, %g: memref<?x8x16xf32>, %x: memref<?x?x3x16xf32>, %y: memref<?x?x5x16xf32>,
    %n: index, %blocks: index, %steps: index, %s: memref<8xf32>,
    %wx1: memref<8x3xf32>, %wx2: memref<8x3xf32>, %wy1: memref<8x5xf32>, %wy3: memref<8x5xf32>) {
  %d1 = memref.alloc(%blocks, %steps) : memref<?x?x8x16xf32>
  %d2 = memref.alloc(%blocks, %steps) : memref<?x?x8x16xf32>
  %d3 = memref.alloc(%blocks, %steps) : memref<?x?x8x16xf32>
  bppsa.chain lanes 16 saved(%a : memref<?x?x8x16xf32>) seeds(%g : memref<?x8x16xf32>)
      into(%g, %d1, %d2, %d3 : memref<?x8x16xf32>, memref<?x?x8x16xf32>, memref<?x?x8x16xf32>, memref<?x?x8x16xf32>) {
  ^bb0(%at: vector<8xf32>, %gt: vector<8xf32>):
    %0 = arith.mulf %at, %gt : vector<8xf32>
    bppsa.yield %0, %0, %gt, %at : vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>
  }
  bppsa.outer_sum lanes 16 %d1, %x batch %n into %wx1 : memref<?x?x8x16xf32>, memref<?x?x3x16xf32> into memref<8x3xf32>
  bppsa.outer_sum lanes 16 %d1, %y batch %n into %wy1 : memref<?x?x8x16xf32>, memref<?x?x5x16xf32> into memref<8x5xf32>
  bppsa.outer_sum lanes 16 %d2, %x batch %n into %wx2 : memref<?x?x8x16xf32>, memref<?x?x3x16xf32> into memref<8x3xf32>
  bppsa.outer_sum lanes 16 %d3, %y batch %n into %wy3 : memref<?x?x8x16xf32>, memref<?x?x5x16xf32> into memref<8x5xf32>
  memref.dealloc %d2 : memref<?x?x8x16xf32>
  memref.dealloc %d3 : memref<?x?x8x16xf32>
  bppsa.step_sum lanes 16 %d1 batch %n into %s : memref<?x?x8x16xf32> into memref<8xf32>
  memref.dealloc %d1 : memref<?x?x8x16xf32>
  return
}

// Arrays are not joined if another operation writes one of them or if the right operand changes.
// CHECK-LABEL: func.func @others(
// CHECK-NOT:     memref<?x?x16x16xf32>
// CHECK:         return
func.func @others(%a: memref<?x?x8x16xf32>, %g: memref<?x8x16xf32>, %x: memref<?x?x3x16xf32>, %z: memref<?x?x3x16xf32>,
    %n: index, %blocks: index, %steps: index, %v: memref<8x3xf32>, %w: memref<8x3xf32>, %zero: f32) {
  %d1 = memref.alloc(%blocks, %steps) : memref<?x?x8x16xf32>
  %d2 = memref.alloc(%blocks, %steps) : memref<?x?x8x16xf32>
  bppsa.chain lanes 16 saved(%a : memref<?x?x8x16xf32>) seeds(%g : memref<?x8x16xf32>)
      into(%g, %d1, %d2 : memref<?x8x16xf32>, memref<?x?x8x16xf32>, memref<?x?x8x16xf32>) {
  ^bb0(%at: vector<8xf32>, %gt: vector<8xf32>):
    %0 = arith.mulf %at, %gt : vector<8xf32>
    bppsa.yield %0, %0, %gt : vector<8xf32>, vector<8xf32>, vector<8xf32>
  }
  bppsa.outer_sum lanes 16 %d1, %x batch %n into %v : memref<?x?x8x16xf32>, memref<?x?x3x16xf32> into memref<8x3xf32>
  memref.copy %z, %x : memref<?x?x3x16xf32> to memref<?x?x3x16xf32>
  bppsa.outer_sum lanes 16 %d2, %x batch %n into %w : memref<?x?x8x16xf32>, memref<?x?x3x16xf32> into memref<8x3xf32>
  %e1 = memref.alloc(%blocks, %steps) : memref<?x?x8x16xf32>
  %e2 = memref.alloc(%blocks, %steps) : memref<?x?x8x16xf32>
  linalg.fill ins(%zero : f32) outs(%e2 : memref<?x?x8x16xf32>)
  bppsa.chain lanes 16 saved(%a : memref<?x?x8x16xf32>) seeds(%g : memref<?x8x16xf32>)
      into(%g, %e1, %e2 : memref<?x8x16xf32>, memref<?x?x8x16xf32>, memref<?x?x8x16xf32>) {
  ^bb0(%at: vector<8xf32>, %gt: vector<8xf32>):
    %0 = arith.mulf %at, %gt : vector<8xf32>
    bppsa.yield %0, %0, %gt : vector<8xf32>, vector<8xf32>, vector<8xf32>
  }
  bppsa.outer_sum lanes 16 %e1, %x batch %n into %v : memref<?x?x8x16xf32>, memref<?x?x3x16xf32> into memref<8x3xf32>
  bppsa.outer_sum lanes 16 %e2, %x batch %n into %w : memref<?x?x8x16xf32>, memref<?x?x3x16xf32> into memref<8x3xf32>
  return
}
