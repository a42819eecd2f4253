// RUN: bppsa-opt %s --bppsa-lower-graph-bodies -split-input-file -verify-diagnostics

func.func @dynamic(%x: tensor<?x?x3xf32>, %n: tensor<index>) -> tensor<?x?x3xf32> {
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) captures(%n : tensor<index>) outputs(tensor<?x?x3xf32>) {
  ^bb0(%xt: tensor<3xf32>, %nc: tensor<index>):
    %size = tensor.extract %nc[] : tensor<index>
    // expected-error @below {{'tensor.empty' op makes 'tensor<?xf32>' in the body of a time loop, whose arrays must have static sizes; give the model's dimensions fixed sizes}}
    %e = tensor.empty(%size) : tensor<?xf32>
    %c0 = arith.constant 0 : index
    %d = tensor.extract %e[%c0] : tensor<?xf32>
    %f = tensor.splat %d : tensor<3xf32>
    bppsa.yield %f : tensor<3xf32>
  }
  return %0 : tensor<?x?x3xf32>
}
