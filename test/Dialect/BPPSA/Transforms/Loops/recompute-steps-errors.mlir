// RUN: bppsa-opt %s -split-input-file -verify-diagnostics --bppsa-recompute-steps=memory-limit=1000

func.func @scan(%a: tensor<?x?x2x4xf32>, %g: tensor<?x2x4xf32>) -> tensor<?x2x4xf32> {
  // expected-error @below {{with the plan 'chunked:8' reads all steps at once, which a memory limit does not bound; use --backward=sequential, or leave --memory-limit out}}
  %0 = bppsa.chain plan <chunked, 8> lanes 4 saved(%a : tensor<?x?x2x4xf32>) seeds(%g : tensor<?x2x4xf32>)
      -> (tensor<?x2x4xf32>) {
  ^bb0(%at: vector<2xf32>, %gt: vector<2xf32>):
    %1 = arith.mulf %at, %gt : vector<2xf32>
    bppsa.yield %1 : vector<2xf32>
  }
  return %0 : tensor<?x2x4xf32>
}

// -----

func.func @no_recurrence(%a: tensor<?x?x2x4xf32>, %g: tensor<?x2x4xf32>) -> tensor<?x2x4xf32> {
  // expected-error @below {{reads no recurrence of its own that could be computed again in a memory limit; leave --memory-limit out}}
  %0 = bppsa.chain lanes 4 saved(%a : tensor<?x?x2x4xf32>) seeds(%g : tensor<?x2x4xf32>)
      -> (tensor<?x2x4xf32>) {
  ^bb0(%at: vector<2xf32>, %gt: vector<2xf32>):
    %1 = arith.mulf %at, %gt : vector<2xf32>
    bppsa.yield %1 : vector<2xf32>
  }
  return %0 : tensor<?x2x4xf32>
}
