// RUN: bppsa-opt %s --bppsa-cpu-pipeline --verify-diagnostics

// The tensor pipeline used to crash on a loop on memrefs.
func.func private @product(%x: memref<?x?x4xf32>, %w: memref<2x4xf32>, %y: memref<?x?x2xf32>) {
  // expected-error @below {{must be on tensors to be packed; run bppsa-pack-batch before bppsa-bufferize}}
  bppsa.recurrence sequences(%x : memref<?x?x4xf32>) captures(%w : memref<2x4xf32>) into(%y : memref<?x?x2xf32>) {
  ^bb0(%xt: vector<4xf32>, %wc: vector<2x4xf32>):
    %0 = bppsa.matvec %wc, %xt : vector<2x4xf32>, vector<4xf32> -> vector<2xf32>
    bppsa.yield %0 : vector<2xf32>
  }
  return
}
