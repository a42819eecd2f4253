// RUN: bppsa-opt %s --bppsa-choose-gpu-mapping --convert-bppsa-to-bgpu --canonicalize --cse | FileCheck %s

// One kernel runs all steps, starting with the last. The loop carries the cotangent as a tile.
// Threads share the operand of the product and keep their columns of the matrix in registers. Saved
// and injected vectors are prefetched seven positions ahead.

// CHECK-LABEL: func private @chain(
// CHECK-SAME:      %[[A:.*]]: memref<?x?x4xf32>, %[[G:.*]]: memref<?x4xf32>, %[[S:.*]]: memref<?x?x4xf32>, %[[W:.*]]: memref<4x4xf32>, %[[OUT:.*]]: memref<?x4xf32>, %[[EMITTED:.*]]: memref<?x?x4xf32>)
// CHECK-DAG:     %[[T:.*]] = memref.dim %[[A]], %c0
// CHECK-DAG:     %[[ROWS:.*]] = memref.dim %[[G]], %c0
// CHECK-DAG:     %[[SAMPLES:.*]] = memref.dim %[[A]], %c1
// CHECK:         bgpu.kernel blocks(%[[SAMPLE:.*]] in %[[ROWS]]) threads(32) {
// CHECK:           %[[APART:.*]]:4 = memref.distinct_objects %[[A]], %[[S]], %[[W]], %[[EMITTED]]
// CHECK:           %[[COLUMNS:.*]] = bgpu.for_each [4] -> tensor<4xvector<4xf32>> {
// CHECK:             memref.load %[[APART]]#2[%c3, %{{.*}}]
// CHECK:           %[[SEED:.*]] = bgpu.for_each [4] -> tensor<4xf32> {
// CHECK:             memref.load %[[G]][%[[SAMPLE]], %{{.*}}]
// CHECK-DAG:       %[[VECTORS:.*]] = memref.collapse_shape %[[A]]
// CHECK-DAG:       %[[OTHERS:.*]] = memref.collapse_shape %[[S]]
// CHECK:           %[[LAST:.*]] = scf.for %[[POSITION:.*]] = %c0 to %[[T]] step %c1 iter_args(%[[BEFORE:.*]] = %[[SEED]]) -> (tensor<4xf32>) {
// CHECK-NEXT:        %[[LEFT:.*]] = arith.subi %[[T]], %[[POSITION]]
// CHECK-NEXT:        %[[STEP:.*]] = arith.addi %[[LEFT]], %c-1
// CHECK-NEXT:        %[[OF_STEP:.*]] = arith.muli %[[STEP]], %[[SAMPLES]]
// CHECK-NEXT:        %[[VECTOR:.*]] = arith.addi %[[OF_STEP]], %[[SAMPLE]]
// CHECK-NEXT:        bgpu.fetch %[[VECTORS]][%[[VECTOR]]] stages(8)
// CHECK-NEXT:        bgpu.fetch %[[OTHERS]][%[[VECTOR]]] stages(8)
// CHECK:             %[[ALL:.*]] = arith.addf %[[BEFORE]], %{{.*}} : tensor<4xf32>
// CHECK-NEXT:        %[[PRODUCT:.*]] = arith.mulf %{{.*}}, %[[ALL]] : tensor<4xf32>
// CHECK-NEXT:        %[[WHOLE:.*]] = bgpu.share %[[PRODUCT]]
// CHECK-NEXT:        bgpu.for_each [4] %[[PRODUCT]]
// CHECK:               memref.store %{{.*}}, %[[APART]]#3[%[[STEP]], %[[SAMPLE]], %{{.*}}]
// CHECK:             %[[FACTORS:.*]] = bgpu.for_each [4] -> tensor<4xvector<4xf32>> {
// CHECK:               memref.load %[[WHOLE]][%c3]
// CHECK:             %[[NEXT:.*]] = bgpu.for_each [4] %[[COLUMNS]], %[[FACTORS]]
// CHECK-COUNT-4:       math.fma
// CHECK:             scf.yield %[[NEXT]]
// CHECK:           bgpu.for_each [4] %[[LAST]]
// CHECK:             memref.store %{{.*}}, %[[OUT]][%[[SAMPLE]], %{{.*}}]
// CHECK:         return
func.func private @chain(%a: memref<?x?x4xf32>, %g: memref<?x4xf32>, %s: memref<?x?x4xf32>, %w: memref<4x4xf32>,
    %out: memref<?x4xf32>, %emitted: memref<?x?x4xf32>) {
  bppsa.chain saved(%a : memref<?x?x4xf32>) seeds(%g : memref<?x4xf32>) injected(%s : memref<?x?x4xf32>)
      inject_into [0] captures(%w : memref<4x4xf32>) into(%out, %emitted : memref<?x4xf32>, memref<?x?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %1, %0 : vector<4xf32>, vector<4xf32>
  }
  return
}

// In a reversed chain, position p is step p.

// CHECK-LABEL: func private @reverse(
// CHECK-SAME:      %[[A:[^:]*]]: memref<?x?x4xf32>
// CHECK-DAG:     %[[SAMPLES:.*]] = memref.dim %[[A]], %c1
// CHECK:         bgpu.kernel blocks(%[[SAMPLE:.*]] in
// CHECK:           scf.for %[[STEP:.*]] = %c0 to
// CHECK-NEXT:        %[[OF_STEP:.*]] = arith.muli %[[STEP]], %[[SAMPLES]]
// CHECK-NEXT:        %[[VECTOR:.*]] = arith.addi %[[OF_STEP]], %[[SAMPLE]]
// CHECK-NEXT:        bgpu.fetch %{{.*}}[%[[VECTOR]]]
// CHECK-NOT:         bgpu.share
func.func private @reverse(%a: memref<?x?x4xf32>, %g: memref<?x4xf32>, %out: memref<?x4xf32>) {
  bppsa.chain reverse saved(%a : memref<?x?x4xf32>) seeds(%g : memref<?x4xf32>)
      into(%out : memref<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return
}

// Each state has its own tile.

// CHECK-LABEL: func private @two_states(
// CHECK-SAME:      %[[DC:[^:]*]]: memref<?x4xf32>, %[[DN:[^:]*]]: memref<?x3xf32>)
// CHECK:           %[[LAST:.*]]:2 = scf.for {{.*}} -> (tensor<4xf32>, tensor<3xf32>) {
// CHECK:           bgpu.for_each [4] %[[LAST]]#0
// CHECK:             memref.store %{{.*}}, %[[DC]]
// CHECK:           bgpu.for_each [3] %[[LAST]]#1
// CHECK:             memref.store %{{.*}}, %[[DN]]
func.func private @two_states(%f: memref<?x?x4xf32>, %i: memref<?x?x3xf32>, %c: memref<?x4xf32>, %n: memref<?x3xf32>,
    %dc: memref<?x4xf32>, %dn: memref<?x3xf32>) {
  bppsa.chain saved(%f, %i : memref<?x?x4xf32>, memref<?x?x3xf32>) seeds(%c, %n : memref<?x4xf32>, memref<?x3xf32>)
      into(%dc, %dn : memref<?x4xf32>, memref<?x3xf32>) {
  ^bb0(%ft: vector<4xf32>, %it: vector<3xf32>, %ct: vector<4xf32>, %nt: vector<3xf32>):
    %0 = arith.mulf %ft, %ct : vector<4xf32>
    %1 = arith.mulf %it, %nt : vector<3xf32>
    bppsa.yield %0, %1 : vector<4xf32>, vector<3xf32>
  }
  return
}

// Each iteration of the parallel loop is a block that runs one window of the steps of a sample.
// Unused cotangents are not stored.

// CHECK-LABEL: func private @windows(
// CHECK-SAME:      %[[A:.*]]: memref<8x4x3xf32>, %[[G:.*]]: memref<2x4x3xf32>, %[[EMITTED:.*]]: memref<8x4x3xf32>)
// CHECK:         bgpu.kernel blocks(%[[BLOCK:.*]] in %c8) threads(32) {
// CHECK-DAG:       %[[SAMPLE:.*]] = arith.divui %[[BLOCK]], %c2
// CHECK-DAG:       %[[CHUNK:.*]] = arith.remui %[[BLOCK]], %c2
// CHECK:           %[[FIRST:.*]] = arith.muli %[[CHUNK]], %c4
// CHECK:           %[[APART:.*]]:2 = memref.distinct_objects %[[A]], %[[EMITTED]]
// CHECK:           %[[SEED:.*]] = memref.subview %[[G]][%[[CHUNK]], %[[SAMPLE]], 0]
// CHECK:             memref.load %[[SEED]][%c0, %{{.*}}]
// CHECK:           %[[BEFORE:.*]] = arith.subi %c4, %[[FIRST]]
// CHECK-NEXT:      %[[END:.*]] = arith.subi %c8, %[[FIRST]]
// CHECK:           scf.for %{{.*}} = %[[BEFORE]] to %[[END]]
// CHECK:             memref.store %{{.*}}, %[[APART]]#1[%{{.*}}, %[[SAMPLE]], %{{.*}}]
// CHECK:             scf.yield
// CHECK-NOT:       memref.store
// CHECK:         return
func.func private @windows(%a: memref<8x4x3xf32>, %g: memref<2x4x3xf32>, %emitted: memref<8x4x3xf32>) {
  %c4 = arith.constant 4 : index
  scf.forall (%b, %k) in (4, 2) {
    %first = arith.muli %k, %c4 : index
    %a_k = memref.subview %a[%first, %b, 0] [4, 1, 3] [1, 1, 1] : memref<8x4x3xf32> to memref<4x1x3xf32, strided<[12, 3, 1], offset: ?>>
    %e_k = memref.subview %emitted[%first, %b, 0] [4, 1, 3] [1, 1, 1] : memref<8x4x3xf32> to memref<4x1x3xf32, strided<[12, 3, 1], offset: ?>>
    %g_k = memref.subview %g[%k, %b, 0] [1, 1, 3] [1, 1, 1] : memref<2x4x3xf32> to memref<1x3xf32, strided<[3, 1], offset: ?>>
    %out = memref.alloca() : memref<1x3xf32>
    bppsa.chain saved(%a_k : memref<4x1x3xf32, strided<[12, 3, 1], offset: ?>>) seeds(%g_k : memref<1x3xf32, strided<[3, 1], offset: ?>>)
        into(%out, %e_k : memref<1x3xf32>, memref<4x1x3xf32, strided<[12, 3, 1], offset: ?>>) {
    ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
      %0 = arith.mulf %at, %gt : vector<3xf32>
      bppsa.yield %0, %0 : vector<3xf32>, vector<3xf32>
    }
  }
  return
}
