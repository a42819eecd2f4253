// RUN: bppsa-opt %s --convert-bppsa-to-bgpu --split-input-file --verify-diagnostics

func.func private @tensors(%x: tensor<8x4x3xf32>) -> tensor<3xf32> {
  // expected-error @below {{works on tensors; run bppsa-bufferize first}}
  %0 = bppsa.step_sum %x : tensor<8x4x3xf32> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

func.func private @lanes(%x: memref<1x8x3x16xf32>, %s: memref<3xf32>) {
  // expected-error @below {{has lanes, which a GPU has no use for; leave bppsa-pack-batch out}}
  bppsa.step_sum lanes 16 %x into %s : memref<3xf32> : memref<1x8x3x16xf32>
  return
}
