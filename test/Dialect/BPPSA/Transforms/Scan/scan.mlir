// RUN: bppsa-opt %s --bppsa-scan=algorithm=chunked:32 | FileCheck %s
// RUN: bppsa-opt %s --bppsa-scan="algorithm=blelloch variant=one" | FileCheck %s --check-prefix=ONE
// RUN: bppsa-opt %s --bppsa-scan=algorithm=blelloch --remarks-filter=scan 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: bppsa-opt %s --bppsa-scan=algorithm=linear --remarks-filter=scan 2>&1 >/dev/null | FileCheck %s --check-prefix=LINEAR
// RUN: not bppsa-opt %s --bppsa-scan=algorithm=chunked:0 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: not bppsa-opt %s --bppsa-scan=variant=absent 2>&1 | FileCheck %s --check-prefix=FUNCTION

// PLAN: error: unknown scan plan 'chunked:0'; use auto, linear, blelloch, hybrid:L or chunked:C with whole L >= 0 and C >= 1
// FUNCTION: error: needs a function of the variant 'absent' to scan, found none; run bppsa-differentiate

// CHECK-LABEL: func.func @static
// CHECK: bppsa.chain plan <chunked, 32> saved(%{{.*}} : tensor<7x?x4xf32>) seeds(%{{.*}} : tensor<?x4xf32>)
// CHECK-SAME: -> (tensor<?x4xf32>) emitted(tensor<7x?x4xf32>)
// CHECK: arith.mulf
// CHECK: bppsa.yield

// ONE-LABEL: func.func @static
// ONE: bppsa.chain plan <blelloch>

// REMARK: [Passed] Scan | Category:scan | Function=static
// REMARK-SAME: chain of 1 state of 4 values and 7 steps scanned by blelloch: 2 compose, 7 apply, depth 5 instead of 7
// LINEAR: [Missed] Scan | Category:scan | Function=static
// LINEAR-SAME: chain of 1 state of 4 values stays sequential: the plan is linear
func.func @static(%a: tensor<7x?x4xf32>, %g: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<7x?x4xf32>)
    attributes {bppsa.entry = #bppsa.entry<role = grad, variant = "one">} {
  %0, %d = bppsa.chain saved(%a : tensor<7x?x4xf32>) seeds(%g : tensor<?x4xf32>)
      -> (tensor<?x4xf32>) emitted(tensor<7x?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1, %gt : vector<4xf32>, vector<4xf32>
  }
  return %0, %d : tensor<?x4xf32>, tensor<7x?x4xf32>
}

// CHECK-LABEL: func.func @dynamic
// CHECK: bppsa.chain plan <chunked, 32> reverse

// ONE-LABEL: func.func @dynamic
// ONE: bppsa.chain reverse

// REMARK: Function=dynamic
// REMARK-SAME: chain of 1 state of 4 values scanned by blelloch; work and depth are known at run time
func.func @dynamic(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = bppsa.chain reverse saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>)
      -> (tensor<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  return %0 : tensor<?x4xf32>
}

// REMARK: Function=one_step
// REMARK-SAME: chain of 1 state of 4 values stays sequential: it has 1 steps
func.func @one_step(%a: tensor<1x?x4xf32>, %g: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = bppsa.chain saved(%a : tensor<1x?x4xf32>) seeds(%g : tensor<?x4xf32>)
      -> (tensor<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  return %0 : tensor<?x4xf32>
}
