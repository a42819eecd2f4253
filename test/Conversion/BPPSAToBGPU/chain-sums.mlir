// RUN: bppsa-opt %s --bppsa-choose-gpu-mapping --convert-bppsa-to-bgpu --canonicalize --cse | FileCheck %s

// The loop carries row n of both sums in thread n, as a tile of vectors and a tile of scalars.
// Every 512 steps, and at the end, the thread adds them to the sums of its block in memory. The
// factor is prefetched like saved values. An emitted value that is summed without a product is
// added where it is computed. A second kernel adds the sums of the blocks.

// CHECK-LABEL: func private @chain(
// CHECK-SAME:      %[[A:[^:]*]]: memref<?x?x4xf32>, %[[X:[^:]*]]: memref<?x?x2xf32>, %[[G:[^:]*]]: memref<?x4xf32>, %{{[^:]*}}: memref<?x4xf32>, %[[W:[^:]*]]: memref<4x2xf32>, %[[B:[^:]*]]: memref<4xf32>)
// CHECK:         %[[PARTS:.*]] = memref.alloc(%[[BLOCKS:.*]]) {{.*}} : memref<?x12xf32>
// CHECK:         bgpu.kernel blocks(%[[BLOCK:.*]] in %[[BLOCKS]]) threads(32) {
// CHECK:           %[[PART:.*]] = memref.subview %[[PARTS]][%[[BLOCK]], 0] [1, 12] [1, 1]
// CHECK:           %[[APART:.*]]:3 = memref.distinct_objects %[[A]], %[[X]], %[[PART]]
// CHECK:           %[[OF_W:.*]] = memref.subview %[[APART]]#2[0] [8] [1]
// CHECK:           %[[MATRIX:.*]] = memref.expand_shape %[[OF_W]] {{\[\[}}0, 1]] output_shape [2, 4]
// CHECK:           %[[VECTOR:.*]] = memref.subview %[[APART]]#2[8] [4] [1]
// CHECK:           %[[SUMS:.*]]:2 = memref.distinct_objects %[[MATRIX]], %[[VECTOR]]
// CHECK:           bgpu.accumulate overwrite %[[W0:.*]], %[[SUMS]]#0 : tensor<4xvector<2xf32>>, memref<2x4xf32,
// CHECK-NEXT:      bgpu.accumulate overwrite %[[B0:.*]], %[[SUMS]]#1 : tensor<4xf32>, memref<4xf32,
// CHECK-NEXT:      %[[ZERO:.*]] = bgpu.share %{{.*}} : tensor<1xf32>
// CHECK:           %[[LAST:.*]]:3 = scf.for %[[POSITION:.*]] = {{.*}} iter_args(%{{.*}}, %[[OLD_W:.*]] = %[[W0]], %[[OLD_B:.*]] = %[[B0]])
// CHECK:             bgpu.fetch
// CHECK:             %[[FACTOR:.*]] = bgpu.fetch
// CHECK:             %[[D:.*]] = arith.mulf %{{.*}} : tensor<4xf32>
// CHECK-NEXT:        %[[NEW_B:.*]] = arith.addf %[[OLD_B]], %[[D]] : tensor<4xf32>
// CHECK-NEXT:        %[[XT:.*]] = bgpu.for_each [4] -> tensor<4xvector<2xf32>> {
// CHECK:               memref.load %[[FACTOR]][%c1]
// CHECK:             %[[NEW_W:.*]] = bgpu.for_each [4] %[[OLD_W]], %[[XT]], %[[D]]
// CHECK-COUNT-2:       math.fma
// CHECK:             %[[IN_PART:.*]] = arith.andi %[[POSITION]], %c511
// CHECK-NEXT:        %[[FULL:.*]] = arith.cmpi eq, %[[IN_PART]], %c511
// CHECK-NEXT:        %[[LEFT:.*]]:2 = scf.if %[[FULL]]
// CHECK-NEXT:          bgpu.accumulate %[[NEW_W]], %[[SUMS]]#0
// CHECK-NEXT:          bgpu.accumulate %[[NEW_B]], %[[SUMS]]#1
// CHECK:                 memref.load %[[ZERO]][%c0]
// CHECK:               } else {
// CHECK-NEXT:          scf.yield %[[NEW_W]], %[[NEW_B]]
// CHECK:             scf.yield %[[D]], %[[LEFT]]#0, %[[LEFT]]#1
// CHECK:           bgpu.accumulate %[[LAST]]#1, %[[SUMS]]#0
// CHECK-NEXT:      bgpu.accumulate %[[LAST]]#2, %[[SUMS]]#1
// CHECK:         bgpu.kernel
// CHECK:           scf.for %{{.*}} to %[[BLOCKS]] step %c16
// CHECK:             memref.load %[[PARTS]]
// CHECK:           memref.store %{{.*}}, %[[W]]
// CHECK:           memref.store %{{.*}}, %[[B]]
// CHECK:         memref.dealloc %[[PARTS]]
func.func private @chain(%a: memref<?x?x4xf32>, %x: memref<?x?x2xf32>, %g: memref<?x4xf32>, %out: memref<?x4xf32>,
    %w: memref<4x2xf32>, %b: memref<4xf32>) {
  bppsa.chain saved(%a : memref<?x?x4xf32>) seeds(%g : memref<?x4xf32>)
      factors(%x : memref<?x?x2xf32>) sum_with [0, -1]
      into(%out, %w, %b : memref<?x4xf32>, memref<4x2xf32>, memref<4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %0, %0, %0 : vector<4xf32>, vector<4xf32>, vector<4xf32>
  }
  return
}

// Two threads that share a row each accumulate a part of the columns of the sum, here two of three.

// CHECK-LABEL: func private @shared_rows(
// CHECK:           bgpu.accumulate overwrite %{{.*}}, %{{.*}} : tensor<136x2xvector<2xf32>>, memref<3x136xf32,
// CHECK:           bgpu.accumulate overwrite %{{.*}}, %{{.*}} : tensor<136xf32, #bgpu.replicated<2>>, memref<136xf32,
// CHECK:           scf.for
// CHECK:             %[[D:.*]] = arith.mulf %{{.*}} : tensor<136xf32, #bgpu.replicated<2>>
// CHECK:             bgpu.for_each [136, 2] %{{.*}}, %{{.*}}, %[[D]] : tensor<136x2xvector<2xf32>>, tensor<136x2xvector<2xf32>>, tensor<136xf32, #bgpu.replicated<2>>
func.func private @shared_rows(%a: memref<?x?x136xf32>, %x: memref<?x?x3xf32>, %g: memref<?x136xf32>, %w: memref<136x136xf32>,
    %out: memref<?x136xf32>, %dw: memref<136x3xf32>, %db: memref<136xf32>) {
  bppsa.chain saved(%a : memref<?x?x136xf32>) seeds(%g : memref<?x136xf32>) factors(%x : memref<?x?x3xf32>)
      sum_with [0, -1] captures(%w : memref<136x136xf32>) into(%out, %dw, %db : memref<?x136xf32>, memref<136x3xf32>, memref<136xf32>) {
  ^bb0(%at: vector<136xf32>, %gt: vector<136xf32>, %wc: vector<136x136xf32>):
    %0 = arith.mulf %at, %gt : vector<136xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<136x136xf32>, vector<136xf32> -> vector<136xf32>
    bppsa.yield %1, %0, %0 : vector<136xf32>, vector<136xf32>, vector<136xf32>
  }
  return
}
