// RUN: not bppsa-opt %s --bppsa-choose-cpu-mapping=lanes=0 --bppsa-pack-batch 2>&1 | FileCheck %s
// RUN: not bppsa-opt %s --bppsa-choose-cpu-mapping=lanes=-16 --bppsa-pack-batch 2>&1 | FileCheck %s

// Sizes used to be divided by zero lanes.
// CHECK: error: 'func.func' op must be packed into at least one lane, found {{0|-16}}
func.func @sum(%x: tensor<5x6x3xf32>) -> tensor<3xf32> {
  %0 = bppsa.step_sum %x : tensor<5x6x3xf32> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
