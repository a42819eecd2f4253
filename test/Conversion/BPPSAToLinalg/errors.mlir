// RUN: bppsa-opt %s -split-input-file -verify-diagnostics --convert-bppsa-to-linalg

func.func @plan(%a: tensor<?x?x3xf32>, %g: tensor<?x3xf32>) -> tensor<?x3xf32> {
  // expected-error @+1 {{with plan 'blelloch' has no conversion to linalg; run bppsa-expand-scan with unroll-up-to first or use the plan 'linear'}}
  %0 = bppsa.chain plan <blelloch> saved(%a : tensor<?x?x3xf32>) seeds(%g : tensor<?x3xf32>) inject_into [] -> (tensor<?x3xf32>) {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
    bppsa.yield %gt : vector<3xf32>
  }
  return %0 : tensor<?x3xf32>
}

// -----

func.func @sums(%a: tensor<?x?x3xf32>, %g: tensor<?x3xf32>) -> (tensor<?x3xf32>, tensor<3xf32>) {
  // expected-error @+1 {{sums what it yields, which only chains and chunked scans for GPUs do; leave bppsa-fuse-gradients out}}
  %0, %1 = bppsa.chain saved(%a : tensor<?x?x3xf32>) seeds(%g : tensor<?x3xf32>) inject_into [] sum_with [-1] -> (tensor<?x3xf32>) sums(tensor<3xf32>) {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
    bppsa.yield %gt, %gt : vector<3xf32>, vector<3xf32>
  }
  return %0, %1 : tensor<?x3xf32>, tensor<3xf32>
}

// -----

func.func @body(%x: tensor<?x?x3xf32>) -> tensor<?x?x3xf32> {
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) outputs(tensor<?x?x3xf32>) {
  ^bb0(%xt: vector<3xf32>):
    // expected-error @+1 {{cannot be written on tensors in the body of a time loop; use elementwise ops, bppsa.matvec, and slices and broadcasts of vectors}}
    %s = vector.reduction <add>, %xt : vector<3xf32> into f32
    %v = vector.broadcast %s : f32 to vector<3xf32>
    bppsa.yield %v : vector<3xf32>
  }
  return %0 : tensor<?x?x3xf32>
}

// -----

func.func @buffers(%x: memref<?x?x3xf32>, %y: memref<?x?x3xf32>) {
  // expected-error @+1 {{must be on tensors to be converted to linalg}}
  bppsa.recurrence sequences(%x : memref<?x?x3xf32>) into(%y : memref<?x?x3xf32>) {
  ^bb0(%xt: vector<3xf32>):
    bppsa.yield %xt : vector<3xf32>
  }
  return
}

// -----

func.func @destination(%x: memref<?x?x3xf32>, %y: memref<3xf32>) {
  // expected-error @+1 {{must be on tensors to be converted to linalg}}
  bppsa.step_sum %x into %y : memref<3xf32> : memref<?x?x3xf32>
  return
}

// -----

func.func @sigmoid(%x: vector<3xf32>) -> vector<3xf32> {
  // expected-error @+1 {{on 'vector<3xf32>' has no conversion to linalg outside of a time loop; use a scalar or a tensor}}
  %0 = bppsa.sigmoid %x : vector<3xf32>
  return %0 : vector<3xf32>
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

// -----

func.func @link(%g: tensor<?x4xf32>, %s: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @below {{'bppsa.link' op has a rule and a jacobian, of which a plan takes one; run bppsa-scan-links first}}
  %0 = bppsa.link %g : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%gy: tensor<?x4xf32>):
    bppsa.link_yield %gy : tensor<?x4xf32>
  } jacobian {
  ^bb0(%gy: tensor<?x4xf32>):
    %1 = bppsa.assemble %s : tensor<?x4xf32> -> !bppsa.jacobian<4x4xf32, diagonal, batch = ?>
    bppsa.link_yield %1 : !bppsa.jacobian<4x4xf32, diagonal, batch = ?>
  }
  return %0 : tensor<?x4xf32>
}
