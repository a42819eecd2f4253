// RUN: bppsa-opt %s -split-input-file -verify-diagnostics

func.func @await_view(%w: memref<8xf32> {bppsa.parameter = "w"}) {
  %view = memref.subview %w[0] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1]>>
  // expected-error @below {{needs an argument of the function, found another value; use the argument with 'bppsa.parameter'}}
  dist.await_parameter %view : memref<4xf32, strided<[1]>>
  return
}

// -----

func.func @await_input(%x: memref<8xf32>, %w: memref<8xf32> {bppsa.parameter = "w"}) {
  // expected-error @below {{needs an argument with 'bppsa.parameter', found argument 0 without; use another one}}
  dist.await_parameter %x : memref<8xf32>
  return
}

// -----

func.func @signal_parameter(%w: memref<8xf32> {bppsa.parameter = "w"},
                            %dw: memref<8xf32> {bppsa.gradient = "w"}) {
  // expected-error @below {{needs an argument with 'bppsa.gradient', found argument 0 without; use another one}}
  dist.signal_gradient %w : memref<8xf32>
  return
}

// -----

func.func @integers(%own: tensor<8xi64>) {
  // expected-error @below {{needs an operand of f32, found 'tensor<8xi64>'}}
  %0 = dist.rank_mean %own : tensor<8xi64> -> tensor<8xi64>
  return
}

// -----

func.func @no_result(%own: tensor<8xf32>) {
  // expected-error @below {{needs a result for a tensor operand and a destination for a memref operand, found another combination}}
  dist.rank_mean %own : tensor<8xf32>
  return
}

// -----

func.func @other_shape(%own: memref<8xf32>, %all: memref<4xf32>) {
  // expected-error @below {{returns an array of the type of its operand, 'memref<8xf32>', found 'memref<4xf32>'}}
  dist.rank_mean %own into %all : memref<8xf32> into memref<4xf32>
  return
}

// -----

func.func @receive_without_sizes() {
  // expected-error @below {{needs the 1 sizes that 'tensor<?x4xf32>' leaves open, found 0}}
  %0 = dist.stage_receive() from 0 channel 0 : tensor<?x4xf32>
  return
}

// -----

func.func @receive_nowhere() {
  // expected-error @below {{must have either a result or a destination}}
  "dist.stage_receive"() <{channel = 0 : i64, operandSegmentSizes = array<i32: 0, 0>, stage = 0 : i64}> : () -> ()
  return
}

// -----

func.func @send_before_the_first(%x: tensor<4xf32>) {
  // expected-error @below {{needs a stage and a channel from 0 on, found -1 and 0}}
  dist.stage_send %x to -1 channel 0 : tensor<4xf32>
  return
}

// -----

func.func @state_of_integers(%h: tensor<4xi64>) {
  // expected-error @below {{needs a state of f32, found 'tensor<4xi64>'}}
  %0 = dist.shard_enter %h channel 0 : tensor<4xi64> -> tensor<4xi64>
  return
}

// -----

func.func @rest_of_other_shape(%h: tensor<4xf32>) {
  // expected-error @below {{makes an array of 'tensor<f32>', found 'tensor<4xf32>'}}
  %0 = dist.shard_leave %h channel 0 : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @cotangent_nowhere(%h: memref<4xf32>) {
  // expected-error @below {{needs a result for a tensor operand and a destination for a memref operand, found another combination}}
  dist.shard_leave transposed %h channel 0 : memref<4xf32>
  return
}

// -----

func.func @channel_before_the_first(%h: tensor<4xf32>) {
  // expected-error @below {{needs a channel from 0 on, found -1}}
  %0 = dist.shard_enter %h channel -1 : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @map_of_other_size(%map: tensor<?x4x5xf32>, %own: tensor<?x4xf32>) {
  // expected-error @below {{needs a map [B, S, S] of f32 with a fixed S, found 'tensor<?x4x5xf32>'}}
  %0 = dist.shard_scan %map, %own channel 0 : tensor<?x4x5xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return
}

// -----

func.func @own_of_other_size(%map: tensor<?x4x4xf32>, %own: tensor<?x5xf32>) {
  // expected-error @below {{needs cotangents [B, S] of as many samples and values as the map, 'tensor<?x4x4xf32>', found 'tensor<?x5xf32>'}}
  %0 = dist.shard_scan %map, %own channel 0 : tensor<?x4x4xf32>, tensor<?x5xf32> -> tensor<?x5xf32>
  return
}

// -----

func.func @own_of_integers(%map: tensor<?x4x4xf32>, %own: tensor<?x4xi32>) {
  // expected-error @below {{needs a state of f32, found 'tensor<?x4xi32>'}}
  %0 = dist.shard_scan %map, %own channel 0 : tensor<?x4x4xf32>, tensor<?x4xi32> -> tensor<?x4xi32>
  return
}

// -----

func.func @scan_of_other_type(%map: tensor<?x4x4xf32>, %own: tensor<?x4xf32>) {
  // expected-error @below {{makes an array of 'tensor<?x4xf32>', found 'tensor<8x4xf32>'}}
  %0 = dist.shard_scan %map, %own channel 0 : tensor<?x4x4xf32>, tensor<?x4xf32> -> tensor<8x4xf32>
  return
}
