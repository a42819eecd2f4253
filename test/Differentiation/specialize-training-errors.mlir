// RUN: bppsa-opt %s --split-input-file --verify-diagnostics --bppsa-specialize-training

// expected-error@below {{no function 'loss' to specialise; run bppsa-add-loss}}
module {
  func.func private @loss()
}

// -----

// expected-error@+1 {{with dist.rank_mean, needs a first result of type tensor<f32>, the loss; run bppsa-add-loss}}
func.func @loss(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = dist.rank_mean %x : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
