// RUN: bppsa-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @cache
// CHECK: bppsa.recurrence sequences(%{{.*}} : tensor<?x?x1x33xf32>) initial(%{{.*}} : tensor<?x2x33xf32>)
// CHECK-SAME: captures(%{{.*}}, %{{.*}} : tensor<f32>, tensor<4xi64>) -> (tensor<?x?x2x33xf32>) outputs(tensor<?x?xf32>)
// CHECK: bppsa.yield %{{.*}}, %{{.*}} : tensor<2x33xf32>, tensor<f32>
func.func @cache(%x: tensor<?x?x1x33xf32>, %cache: tensor<?x2x33xf32>, %s: tensor<f32>, %i: tensor<4xi64>)
    -> (tensor<?x?x2x33xf32>, tensor<?x?xf32>) {
  %caches, %y = bppsa.recurrence sequences(%x : tensor<?x?x1x33xf32>)
      initial(%cache : tensor<?x2x33xf32>) captures(%s, %i : tensor<f32>, tensor<4xi64>)
      -> (tensor<?x?x2x33xf32>) outputs(tensor<?x?xf32>) {
  ^bb0(%xt: tensor<1x33xf32>, %c: tensor<2x33xf32>, %sc: tensor<f32>, %ic: tensor<4xi64>):
    %last = tensor.extract_slice %c[1, 0] [1, 33] [1, 1] : tensor<2x33xf32> to tensor<1x33xf32>
    %next = tensor.concat dim(0) %last, %xt : (tensor<1x33xf32>, tensor<1x33xf32>) -> tensor<2x33xf32>
    bppsa.yield %next, %sc : tensor<2x33xf32>, tensor<f32>
  }
  return %caches, %y : tensor<?x?x2x33xf32>, tensor<?x?xf32>
}

// CHECK-LABEL: func.func @integers
// CHECK: bppsa.recurrence reverse sequences(%{{.*}}, %{{.*}} : tensor<5x2x3xi64>, tensor<5x2xi1>)
func.func @integers(%x: tensor<5x2x3xi64>, %m: tensor<5x2xi1>) -> tensor<5x2x3xi64> {
  %y = bppsa.recurrence reverse sequences(%x, %m : tensor<5x2x3xi64>, tensor<5x2xi1>) outputs(tensor<5x2x3xi64>) {
  ^bb0(%xt: tensor<3xi64>, %mt: tensor<i1>):
    bppsa.yield %xt : tensor<3xi64>
  }
  return %y : tensor<5x2x3xi64>
}

// CHECK-LABEL: func.func @without_sequences
// CHECK: bppsa.recurrence steps %{{.*}} initial(%{{.*}} : tensor<?x3xf32>) -> (tensor<?x?x3xf32>)
func.func @without_sequences(%n: index, %h: tensor<?x3xf32>) -> tensor<?x?x3xf32> {
  %0 = bppsa.recurrence steps %n initial(%h : tensor<?x3xf32>) -> (tensor<?x?x3xf32>) {
  ^bb0(%ht: tensor<3xf32>):
    %1 = math.tanh %ht : tensor<3xf32>
    bppsa.yield %1 : tensor<3xf32>
  }
  return %0 : tensor<?x?x3xf32>
}

// A GRU over bands would be a nested loop like this one, on vectors.
// CHECK-LABEL: func.func @nested
// CHECK: bppsa.recurrence sequences
// CHECK: bppsa.recurrence sequences(%{{.*}} : tensor<5x1x3xf32>) initial(%{{.*}} : tensor<1x3xf32>)
func.func @nested(%x: tensor<?x?x5x1x3xf32>, %h: tensor<?x1x3xf32>) -> tensor<?x?x1x3xf32> {
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x5x1x3xf32>) initial(%h : tensor<?x1x3xf32>)
      -> (tensor<?x?x1x3xf32>) {
  ^bb0(%xt: tensor<5x1x3xf32>, %ht: tensor<1x3xf32>):
    %1 = bppsa.recurrence sequences(%xt : tensor<5x1x3xf32>) initial(%ht : tensor<1x3xf32>)
        -> (tensor<6x1x3xf32>) {
    ^bb0(%xb: vector<3xf32>, %hb: vector<3xf32>):
      %2 = arith.addf %xb, %hb : vector<3xf32>
      bppsa.yield %2 : vector<3xf32>
    }
    %last = tensor.extract_slice %1[5, 0, 0] [1, 1, 3] [1, 1, 1] : tensor<6x1x3xf32> to tensor<1x3xf32>
    bppsa.yield %last : tensor<1x3xf32>
  }
  return %0 : tensor<?x?x1x3xf32>
}

// CHECK-LABEL: func.func @chain
// CHECK: bppsa.chain saved(%{{.*}} : tensor<?x?x2x3xf32>) seeds(%{{.*}} : tensor<?x2x3xf32>)
// CHECK-SAME: injected(%{{.*}} : tensor<?x?x2x3xf32>) inject_into [0] sum_with [-1]
// CHECK-SAME: -> (tensor<?x2x3xf32>) emitted(tensor<?x?x2x3xf32>) sums(tensor<2x3xf32>)
func.func @chain(%a: tensor<?x?x2x3xf32>, %g: tensor<?x2x3xf32>, %s: tensor<?x?x2x3xf32>)
    -> (tensor<?x2x3xf32>, tensor<?x?x2x3xf32>, tensor<2x3xf32>) {
  %0, %d, %w = bppsa.chain saved(%a : tensor<?x?x2x3xf32>) seeds(%g : tensor<?x2x3xf32>)
      injected(%s : tensor<?x?x2x3xf32>) inject_into [0] sum_with [-1] -> (tensor<?x2x3xf32>)
      emitted(tensor<?x?x2x3xf32>) sums(tensor<2x3xf32>) {
  ^bb0(%at: tensor<2x3xf32>, %gt: tensor<2x3xf32>):
    %1 = arith.mulf %at, %gt : tensor<2x3xf32>
    bppsa.yield %1, %gt, %1 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
  }
  return %0, %d, %w : tensor<?x2x3xf32>, tensor<?x?x2x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: func.func @sums_without_states
// CHECK: bppsa.chain saved(%{{.*}} : tensor<?x?x3xf32>) sum_with [-1] sums(tensor<3xf32>)
func.func @sums_without_states(%a: tensor<?x?x3xf32>) -> tensor<3xf32> {
  %w = bppsa.chain saved(%a : tensor<?x?x3xf32>) sum_with [-1] sums(tensor<3xf32>) {
  ^bb0(%at: tensor<3xf32>):
    bppsa.yield %at : tensor<3xf32>
  }
  return %w : tensor<3xf32>
}
