// RUN: bppsa-opt %s -split-input-file --convert-bppsa-to-vector --verify-diagnostics

func.func @plan(%a: memref<?x?x4x16xf32>, %g: memref<?x4x16xf32>, %out: memref<?x4x16xf32>) {
  // expected-error @below {{'bppsa.chain' op has the plan 'chunked:8'; run bppsa-expand-scan before bufferization}}
  bppsa.chain plan <chunked, 8> lanes 16 saved(%a : memref<?x?x4x16xf32>) seeds(%g : memref<?x4x16xf32>)
      into(%out : memref<?x4x16xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  return
}

// -----

func.func @one_lane(%a: memref<?x4x4x1xf32>, %b: memref<?x4x4x1xf32>, %out: memref<?x4x4x1xf32>) {
  // expected-error @below {{'bppsa.compose_transitions' op has one lane; a scan needs samples or chunks in lanes, use the plan 'linear' or 'chunked'}}
  bppsa.compose_transitions lanes 1 %a, %b into %out : memref<?x4x4x1xf32>, memref<?x4x4x1xf32>, memref<?x4x4x1xf32>
  return
}

// -----

func.func @no_lanes(%m: memref<?x4x4xf32>, %g: memref<?x4xf32>, %out: memref<?x4xf32>) {
  // expected-error @below {{'bppsa.apply_transition' op has no lanes; run bppsa-pack-batch first}}
  bppsa.apply_transition %m, %g into %out : memref<?x4x4xf32>, memref<?x4xf32>, memref<?x4xf32>
  return
}

// -----

func.func @parts_of_sums(%parts: memref<?x?x4xf32>, %sum: memref<4xf32>) {
  // expected-error @below {{'bppsa.reduce_sums' op adds partial sums, which only scans for GPUs support; do not run bppsa-fuse-gradients}}
  bppsa.reduce_sums %parts into %sum : memref<?x?x4xf32> into memref<4xf32>
  return
}
