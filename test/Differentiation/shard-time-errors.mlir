// RUN: bppsa-opt %s --split-input-file --verify-diagnostics --bppsa-shard-time

// expected-error@+1 {{no input has a time axis of a recurrent layer, a Scan or a Loop that ranks could divide; use a model with one, or --carry}}
func.func @training_loss(%x: tensor<f32> {bppsa.input = "x"}) -> (tensor<f32> {bppsa.loss}) {
  return %x : tensor<f32>
}

// -----

// expected-error@+1 {{time shards do not support batch statistics, found "mean"; remove --training-mode}}
func.func @training_loss(%x: tensor<f32> {bppsa.input = "x"}, %m: tensor<4xf32> {bppsa.parameter = "mean"})
    -> (tensor<f32> {bppsa.loss}, tensor<4xf32> {bppsa.updated = "mean"}) {
  return %x, %m : tensor<f32>, tensor<4xf32>
}

// -----

// expected-error@+1 {{needs a function @training_loss with one block and a first result of type tensor<f32>, the loss; run bppsa-add-loss}}
module {
}

// -----

// expected-error@below {{needs a function @training_loss with one block and a first result of type tensor<f32>, the loss; run bppsa-add-loss}}
module {
  func.func @training_loss(%x: memref<?xf32> {bppsa.input = "x", bppsa.time_axis = 0 : i64}, %l: memref<f32>) {
    return
  }
}
