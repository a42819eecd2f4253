// RUN: bppsa-opt %s --convert-bppsa-to-vector --canonicalize --cse | FileCheck %s

// A map in memory is [column, row, lane]. A diagonal is one column; injected cotangents add another.

// CHECK-LABEL: func @chunked(
// CHECK:         memref.alloc(%{{.*}}, %{{.*}}) {{.*}} : memref<?x?x1x4x16xf32>
func.func @chunked(%a: memref<?x?x4x16xf32>, %g: memref<?x4x16xf32>, %out: memref<?x4x16xf32>) {
  bppsa.scan <chunked, 4> lanes 16 saved(%a : memref<?x?x4x16xf32>) seeds(%g : memref<?x4x16xf32>)
      inject_into [] into(%out : memref<?x4x16xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return
}

// CHECK-LABEL: func @chunked_injected(
// CHECK:         memref.alloc(%{{.*}}, %{{.*}}) {{.*}} : memref<?x?x2x4x16xf32>
func.func @chunked_injected(%a: memref<?x?x4x16xf32>, %s: memref<?x?x4x16xf32>, %g: memref<?x4x16xf32>, %out: memref<?x4x16xf32>) {
  bppsa.scan <chunked, 4> lanes 16 saved(%a : memref<?x?x4x16xf32>) seeds(%g : memref<?x4x16xf32>)
      injected(%s : memref<?x?x4x16xf32>) inject_into [0] into(%out : memref<?x4x16xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return
}

// A product of two diagonals is one of their elements.

// CHECK-LABEL: func @blelloch(
// CHECK:         %[[MAPS:.*]] = memref.alloc(%{{.*}}) {{.*}} : memref<?x1x4x16xf32>
// CHECK:         } else {
// CHECK-NEXT:      scf.for %[[ROW:[^ ]*]] = %c0 to %c4 step %c1 {
// CHECK-NEXT:        %[[FIRST:.*]] = vector.load %[[MAPS]][%[[LEFT:.*]], %c0, %[[ROW]], %c0]
// CHECK-NEXT:        %[[SECOND:.*]] = vector.load %[[MAPS]][%[[END:.*]], %c0, %[[ROW]], %c0]
// CHECK-NEXT:        %[[PRODUCT:.*]] = arith.mulf %[[FIRST]], %[[SECOND]]
// CHECK-NEXT:        vector.store %[[PRODUCT]], %[[MAPS]][%[[END]], %c0, %[[ROW]], %c0]
// CHECK-NEXT:      }
func.func @blelloch(%a: memref<?x?x4x16xf32>, %g: memref<?x4x16xf32>, %out: memref<?x4x16xf32>) {
  bppsa.scan <blelloch> lanes 16 saved(%a : memref<?x?x4x16xf32>) seeds(%g : memref<?x4x16xf32>)
      inject_into [] into(%out : memref<?x4x16xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return
}

// States that do not mix are one diagonal.

// CHECK-LABEL: func @two_states(
// CHECK:         memref.alloc(%{{.*}}) {{.*}} : memref<?x2x7x16xf32>
func.func @two_states(%f: memref<?x?x4x16xf32>, %i: memref<?x?x3x16xf32>, %s: memref<?x?x3x16xf32>,
    %c: memref<?x4x16xf32>, %n: memref<?x3x16xf32>, %dc: memref<?x4x16xf32>, %dn: memref<?x3x16xf32>) {
  bppsa.scan <blelloch> lanes 16 saved(%f, %i : memref<?x?x4x16xf32>, memref<?x?x3x16xf32>)
      seeds(%c, %n : memref<?x4x16xf32>, memref<?x3x16xf32>) injected(%s : memref<?x?x3x16xf32>) inject_into [1]
      into(%dc, %dn : memref<?x4x16xf32>, memref<?x3x16xf32>) {
  ^bb0(%ft: vector<4xf32>, %it: vector<3xf32>, %ct: vector<4xf32>, %nt: vector<3xf32>):
    %0 = arith.mulf %ft, %ct : vector<4xf32>
    %1 = arith.mulf %it, %nt : vector<3xf32>
    %2 = arith.subf %nt, %1 : vector<3xf32>
    bppsa.yield %0, %2 : vector<4xf32>, vector<3xf32>
  }
  return
}

// States that are exchanged are none, although each block of the matrix is.

// CHECK-LABEL: func @exchanged(
// CHECK:         memref.alloc(%{{.*}}) {{.*}} : memref<?x8x8x16xf32>
func.func @exchanged(%f: memref<?x?x4x16xf32>, %c: memref<?x4x16xf32>, %n: memref<?x4x16xf32>, %dc: memref<?x4x16xf32>, %dn: memref<?x4x16xf32>) {
  bppsa.scan <blelloch> lanes 16 saved(%f : memref<?x?x4x16xf32>) seeds(%c, %n : memref<?x4x16xf32>, memref<?x4x16xf32>)
      inject_into [] into(%dc, %dn : memref<?x4x16xf32>, memref<?x4x16xf32>) {
  ^bb0(%ft: vector<4xf32>, %ct: vector<4xf32>, %nt: vector<4xf32>):
    %0 = arith.mulf %ft, %nt : vector<4xf32>
    %1 = arith.mulf %ft, %ct : vector<4xf32>
    bppsa.yield %0, %1 : vector<4xf32>, vector<4xf32>
  }
  return
}

// CHECK-LABEL: func @dense(
// CHECK:         memref.alloc(%{{.*}}) {{.*}} : memref<?x5x4x16xf32>
func.func @dense(%a: memref<?x?x4x16xf32>, %s: memref<?x?x4x16xf32>, %g: memref<?x4x16xf32>, %w: memref<4x4xf32>, %out: memref<?x4x16xf32>) {
  bppsa.scan <blelloch> lanes 16 saved(%a : memref<?x?x4x16xf32>) seeds(%g : memref<?x4x16xf32>)
      injected(%s : memref<?x?x4x16xf32>) inject_into [0] captures(%w : memref<4x4xf32>) into(%out : memref<?x4x16xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  return
}
