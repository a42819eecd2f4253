// RUN: bppsa-opt %s --verify-diagnostics --bppsa-bufferize

func.func @graph(%x: tensor<?x?x3xf32>) -> tensor<?x?x3xf32> {
  // expected-error @below {{has a graph as its body; run bppsa-lower-graph-bodies first}}
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) outputs(tensor<?x?x3xf32>) {
  ^bb0(%xt: tensor<3xf32>):
    bppsa.yield %xt : tensor<3xf32>
  }
  return %0 : tensor<?x?x3xf32>
}
