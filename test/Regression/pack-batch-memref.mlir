// RUN: bppsa-opt %s --bppsa-choose-cpu-mapping --bppsa-pack-batch --verify-diagnostics

// Packing used to assume tensors and crashed after bufferization.
func.func @destination(%x: memref<?x?x3xf32>, %y: memref<3xf32>) {
  // expected-error @below {{must be on tensors to be packed; run bppsa-pack-batch before bppsa-bufferize}}
  bppsa.step_sum %x into %y : memref<?x?x3xf32> into memref<3xf32>
  return
}
