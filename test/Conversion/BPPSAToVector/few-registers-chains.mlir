// RUN: bppsa-opt %s '--convert-bppsa-to-vector=registers=8' | FileCheck %s

// With few registers, twenty rows form several blocks. Rows of a later step are prefetched after
// the rows that are read, not along with the columns.

// CHECK-LABEL: func.func @rows(
// CHECK-SAME:      %[[A:[^:]*]]: memref<?x?x20x16xf32>
// CHECK-NOT:     memref.prefetch
// CHECK:         vector.load %[[A]][
// CHECK:         vector.store
// CHECK:         memref.prefetch %[[A]][{{.*}}], read, locality<2>, data
// CHECK:         scf.for {{.*}} iter_args
// CHECK-NOT:       memref.prefetch
// CHECK:         return
func.func @rows(%a: memref<?x?x20x16xf32>, %g: memref<?x20x16xf32>, %w: memref<20x20xf32>,
    %d: memref<?x?x20x16xf32>) {
  bppsa.chain lanes 16 saved(%a : memref<?x?x20x16xf32>) seeds(%g : memref<?x20x16xf32>)
      captures(%w : memref<20x20xf32>)
      into(%g, %d : memref<?x20x16xf32>, memref<?x?x20x16xf32>) {
  ^bb0(%at: vector<20xf32>, %gt: vector<20xf32>, %wc: vector<20x20xf32>):
    %0 = arith.mulf %at, %gt : vector<20xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<20x20xf32>, vector<20xf32> -> vector<20xf32>
    bppsa.yield %1, %0 : vector<20xf32>, vector<20xf32>
  }
  return
}

// If a step is longer than a page, the hardware prefetcher covers its rows.

// CHECK-LABEL: func.func @long_step(
// CHECK-NOT:     memref.prefetch
// CHECK:         return
func.func @long_step(%a: memref<?x?x64x16xf32>, %g: memref<?x64x16xf32>, %w: memref<64x64xf32>) {
  bppsa.chain lanes 16 saved(%a : memref<?x?x64x16xf32>) seeds(%g : memref<?x64x16xf32>)
      captures(%w : memref<64x64xf32>) into(%g : memref<?x64x16xf32>) {
  ^bb0(%at: vector<64xf32>, %gt: vector<64xf32>, %wc: vector<64x64xf32>):
    %0 = arith.mulf %at, %gt : vector<64xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<64x64xf32>, vector<64xf32> -> vector<64xf32>
    bppsa.yield %1 : vector<64xf32>
  }
  return
}
