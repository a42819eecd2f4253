// RUN: bppsa-opt %s -split-input-file -verify-diagnostics --bppsa-recompute-steps=memory-limit=1000

func.func @scan(%a: tensor<?x?x2x4xf32>, %g: tensor<?x2x4xf32>) -> tensor<?x2x4xf32> {
  // expected-error @below {{with the plan 'chunked:8' reads all steps at once, so a memory limit cannot bound it; use --backward=sequential, or remove --memory-limit}}
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
  // expected-error @below {{reads no recurrence that could be recomputed within a memory limit; remove --memory-limit}}
  %0 = bppsa.chain lanes 4 saved(%a : tensor<?x?x2x4xf32>) seeds(%g : tensor<?x2x4xf32>)
      -> (tensor<?x2x4xf32>) {
  ^bb0(%at: vector<2xf32>, %gt: vector<2xf32>):
    %1 = arith.mulf %at, %gt : vector<2xf32>
    bppsa.yield %1 : vector<2xf32>
  }
  return %0 : tensor<?x2x4xf32>
}
