// RUN: not bppsa-opt %s --bppsa-evaluate-plan -o /dev/null 2>&1 | FileCheck %s --check-prefix=LENGTH
// RUN: not bppsa-opt %s --bppsa-evaluate-plan=length=8 -o /dev/null 2>&1 | FileCheck %s --check-prefix=AUTO
// RUN: not bppsa-opt %s --bppsa-evaluate-plan=algorithms=auto 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: not bppsa-opt %s --bppsa-evaluate-plan=algorithms=linear,chunked 2>&1 | FileCheck %s --check-prefix=CHUNKED
// RUN: not bppsa-opt %s --bppsa-evaluate-plan=workers=2,0 2>&1 | FileCheck %s --check-prefix=WORKERS
// RUN: not bppsa-opt %s --bppsa-evaluate-plan=batch=0 2>&1 | FileCheck %s --check-prefix=BATCH
// RUN: not bppsa-opt %s --bppsa-evaluate-plan="length=8 algorithms=linear output=%t/absent/x" 2>&1 | FileCheck %s --check-prefix=FILE

// LENGTH: error: 'bppsa.chain' op has a number of steps that is known at run time only, or none; evaluate it with length=T, T >= 1
// AUTO: error: 'bppsa.chain' op has the plan 'chunked', which leaves the tree to the run time; name plans with algorithms=...
// PLAN: error: 'auto' is not a plan to evaluate; use linear, blelloch, hybrid:L or chunked:C with whole L >= 0 and C >= 1
// CHUNKED: error: 'chunked' is not a plan to evaluate
// WORKERS: error: needs at least 1 worker, found 0
// BATCH: error: needs a length and a step overhead of at least 0 and a batch of at least 1
// FILE: error: cannot write {{.*}}absent{{.*}}: No such file or directory
func.func @dynamic(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = bppsa.chain plan <chunked> saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>)
      -> (tensor<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  return %0 : tensor<?x4xf32>
}
