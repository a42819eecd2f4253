// RUN: bppsa-opt %s --convert-bppsa-to-vector --split-input-file --verify-diagnostics

func.func @tensors(%x: tensor<?x?x4xf32>) -> tensor<4xf32> {
  // expected-error @below {{works on tensors; run bppsa-bufferize first}}
  %0 = bppsa.step_sum %x : tensor<?x?x4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @rank_mean(%own: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{works on tensors; run bppsa-bufferize first}}
  %0 = dist.rank_mean %own : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @product(%v: tensor<4xf32>, %g: tensor<2x?xf32>) -> tensor<2x?xf32> {
  // expected-error @below {{works on tensors; run bppsa-bufferize first}}
  %0 = jacobian.sparse_apply values(%v : tensor<4xf32>) cotangent(%g : tensor<2x?xf32>) -> tensor<2x?xf32>
  return %0 : tensor<2x?xf32>
}

// -----

func.func @not_packed(%x: memref<?x?x4xf32>, %y: memref<4xf32>) {
  // expected-error @below {{has no lanes; run bppsa-pack-batch first}}
  bppsa.step_sum %x into %y : memref<?x?x4xf32> into memref<4xf32>
  return
}

// -----

func.func @mixes_rows(%x: memref<?x?x4x16xf32>, %y: memref<?x?x4x16xf32>) {
  bppsa.recurrence lanes 16 sequences(%x : memref<?x?x4x16xf32>) into(%y : memref<?x?x4x16xf32>) {
  ^bb0(%xt: vector<4xf32>):
    // expected-error @below {{has no row-wise evaluation; a body holds elementwise operations, bppsa.matvec and strided slices}}
    %0 = vector.shuffle %xt, %xt [3, 2, 1, 0] : vector<4xf32>, vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return
}

// -----

func.func @stage_send(%x: tensor<4xf32>) {
  // expected-error @below {{works on tensors; run bppsa-bufferize first}}
  dist.stage_send %x to 1 channel 0 : tensor<4xf32>
  return
}

// -----

func.func @stage_receive() -> tensor<4xf32> {
  // expected-error @below {{works on tensors; run bppsa-bufferize first}}
  %0 = dist.stage_receive() from 1 channel 0 : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @receive_into_gaps(%n: index, %x: memref<?xf32, strided<[2]>>) {
  // expected-error @below {{needs a dense destination, found 'memref<?xf32, strided<[2]>>'}}
  dist.stage_receive(%n) from 1 channel 0 into %x : memref<?xf32, strided<[2]>>
  return
}
