// REQUIRES: bppsa-assertions
// RUN: env BPPSA_DEBUG=bppsa-pack-batch bppsa-opt %s --bppsa-choose-cpu-mapping --bppsa-pack-batch -o /dev/null 2>&1 | FileCheck %s
// RUN: env BPPSA_DEBUG=bppsa-scan bppsa-opt %s --bppsa-choose-cpu-mapping --bppsa-pack-batch -o /dev/null 2>&1 | count 0

// CHECK: [bppsa-pack-batch PackBatch.cpp:{{[0-9]+}} 1] bppsa.step_sum at {{.*}} gets 16 lanes
func.func @sum(%x: tensor<5x6x3xf32>) -> tensor<3xf32> {
  %0 = bppsa.step_sum %x : tensor<5x6x3xf32> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
