// RUN: bppsa-opt %s --bppsa-choose-cpu-mapping --bppsa-pack-batch --verify-diagnostics

func.func @sums(%a: tensor<?x?x3xf32>, %g: tensor<?x3xf32>) -> (tensor<?x3xf32>, tensor<3xf32>) {
  // expected-error @below {{sums its yielded values, which only chains and chunked scans for GPUs support; do not run bppsa-fuse-gradients}}
  %0, %1 = bppsa.chain saved(%a : tensor<?x?x3xf32>) seeds(%g : tensor<?x3xf32>) sum_with [-1] -> (tensor<?x3xf32>) sums(tensor<3xf32>) {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
    bppsa.yield %gt, %gt : vector<3xf32>, vector<3xf32>
  }
  return %0, %1 : tensor<?x3xf32>, tensor<3xf32>
}

// -----

func.func @graph(%x: tensor<?x?x3xf32>) -> tensor<?x?x3xf32> {
  // expected-error @below {{'bppsa.recurrence' op has a graph as its body; run bppsa-lower-graph-bodies first}}
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) outputs(tensor<?x?x3xf32>) {
  ^bb0(%xt: tensor<3xf32>):
    bppsa.yield %xt : tensor<3xf32>
  }
  return %0 : tensor<?x?x3xf32>
}
