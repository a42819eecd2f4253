// RUN: bppsa-opt %s --bppsa-scan-shards --split-input-file --verify-diagnostics

// expected-error @below {{needs a function with the role 'shard' in 'bppsa.entry', found none; run bppsa-differentiate}}
module {
}

// -----

// expected-error @below {{needs a chain whose cotangents come from the next rank, found none; run bppsa-shard-time and bppsa-differentiate}}
func.func @shard(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>) -> tensor<?x4xf32>
    attributes {bppsa.entry = #bppsa.entry<role = shard>} {
  %0 = bppsa.chain saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>) -> (tensor<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  return %0 : tensor<?x4xf32>
}

// -----

func.func @shard(%a: tensor<?x?x4xf32>, %h: tensor<?x4xf32>, %c: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
    attributes {bppsa.entry = #bppsa.entry<role = shard>} {
  %g = dist.shard_leave transposed %h channel 0 : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-error @below {{needs cotangents of all 2 states that come from the next rank and go to the previous rank, found cotangents of 1; remove --scan-shards}}
  %0:2 = bppsa.chain saved(%a : tensor<?x?x4xf32>) seeds(%g, %c : tensor<?x4xf32>, tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %ct: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1, %ct : vector<4xf32>, vector<4xf32>
  }
  %z = dist.shard_enter transposed %0#0 channel 0 : tensor<?x4xf32> -> tensor<?x4xf32>
  return %z, %0#1 : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// A cotangent that is known only after the loop cannot be part of a map.
func.func @shard(%a: tensor<?x?x4xf32>, %h: tensor<?x4xf32>) -> tensor<?x4xf32>
    attributes {bppsa.entry = #bppsa.entry<role = shard>} {
  %g = dist.shard_leave transposed %h channel 0 : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-error @below {{needs cotangents of all 1 states that come from the next rank and go to the previous rank, found cotangents of 0}}
  %0 = bppsa.chain saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>) -> (tensor<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  %other = dist.shard_leave transposed %h channel 1 : tensor<?x4xf32> -> tensor<?x4xf32>
  %empty = bppsa.stop_gradient %0 : tensor<?x4xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(b, i) -> (b, i)>, affine_map<(b, i) -> (b, i)>, affine_map<(b, i) -> (b, i)>], iterator_types = ["parallel", "parallel"]}
      ins(%0, %other : tensor<?x4xf32>, tensor<?x4xf32>) outs(%empty : tensor<?x4xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %2 = arith.addf %l, %r : f32
    linalg.yield %2 : f32
  } -> tensor<?x4xf32>
  %z = dist.shard_enter transposed %sum channel 0 : tensor<?x4xf32> -> tensor<?x4xf32>
  return %z : tensor<?x4xf32>
}

// -----

func.func @shard(%a: tensor<?x?x4xf32>, %h: tensor<?x4xf32>) -> tensor<?x4xf32>
    attributes {bppsa.entry = #bppsa.entry<role = shard>} {
  %g = dist.shard_leave transposed %h channel 0 : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-error @below {{has a graph as its link, which ranks cannot scan; remove --scan-shards}}
  %0 = bppsa.chain saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>) -> (tensor<?x4xf32>) {
  ^bb0(%at: tensor<4xf32>, %gt: tensor<4xf32>):
    %e = tensor.empty() : tensor<4xf32>
    %1 = linalg.mul ins(%at, %gt : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    bppsa.yield %1 : tensor<4xf32>
  }
  %z = dist.shard_enter transposed %0 channel 0 : tensor<?x4xf32> -> tensor<?x4xf32>
  return %z : tensor<?x4xf32>
}

// -----

// The chain of channel 1 needs the chain of channel 0, but runs before it on other ranks, so no
// exchange could complete.
func.func @shard(%a: tensor<?x?x4xf32>, %h: tensor<?x4xf32>) -> tensor<?x4xf32>
    attributes {bppsa.entry = #bppsa.entry<role = shard>} {
  %g = dist.shard_leave transposed %h channel 0 : tensor<?x4xf32> -> tensor<?x4xf32>
  %0, %e = bppsa.chain saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>) -> (tensor<?x4xf32>) emitted(tensor<?x?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %2 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %2, %2 : vector<4xf32>, vector<4xf32>
  }
  %y = dist.shard_enter transposed %0 channel 0 : tensor<?x4xf32> -> tensor<?x4xf32>
  %f = dist.shard_leave reverse transposed %h channel 1 : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-error @below {{of channel 1 runs before channel 0 on other ranks, but needs it here; remove --scan-shards}}
  %1 = bppsa.chain reverse saved(%a : tensor<?x?x4xf32>) seeds(%f : tensor<?x4xf32>) injected(%e : tensor<?x?x4xf32>) inject_into [0] -> (tensor<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %2 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %2 : vector<4xf32>
  }
  %z = dist.shard_enter reverse transposed %1 channel 1 : tensor<?x4xf32> -> tensor<?x4xf32>
  return %z : tensor<?x4xf32>
}

// -----

func.func @shard(%a: tensor<?x?x4xf32>, %h: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
    attributes {bppsa.entry = #bppsa.entry<role = shard>} {
  %g = dist.shard_leave transposed %h channel 0 : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-error @below {{needs cotangents of all 1 states that come from the next rank and go to the previous rank, found cotangents of 0}}
  %0 = bppsa.chain saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>) -> (tensor<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  %z = dist.shard_enter transposed %0 channel 0 : tensor<?x4xf32> -> tensor<?x4xf32>
  return %z, %g : tensor<?x4xf32>, tensor<?x4xf32>
}
