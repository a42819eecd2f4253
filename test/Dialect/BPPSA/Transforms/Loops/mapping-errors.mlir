// RUN: bppsa-opt %s --bppsa-pack-batch --verify-diagnostics

func.func @unmapped(%x: tensor<5x6x3xf32>) -> tensor<3xf32> {
  // expected-error @below {{has no mapping to a CPU; run bppsa-choose-cpu-mapping first}}
  %0 = bppsa.step_sum %x : tensor<5x6x3xf32> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
