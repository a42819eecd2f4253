// RUN: bppsa-opt %s --bppsa-scan=algorithm=auto | FileCheck %s
// RUN: bppsa-opt %s --bppsa-scan=algorithm=linear | FileCheck %s
// RUN: not bppsa-opt %s --bppsa-scan=algorithm=blelloch 2>&1 | FileCheck %s --check-prefix=REFUSED

// REFUSED: scan-graph-form.mlir:[[#@LINE+6]]:{{.*}} error: a loop has 2 states of 10 values and a graph as its body, for which the only plan is 'linear', found 'blelloch'; use --backward=sequential
// REFUSED-NOT: error

// CHECK-LABEL: func.func @graph
// CHECK: bppsa.chain saved
func.func @graph(%a: tensor<?x?x2x3xf32>, %g: tensor<?x2x3xf32>, %h: tensor<?x4xf32>) -> (tensor<?x2x3xf32>, tensor<?x4xf32>) {
  %0, %1 = bppsa.chain saved(%a : tensor<?x?x2x3xf32>) seeds(%g, %h : tensor<?x2x3xf32>, tensor<?x4xf32>) -> (tensor<?x2x3xf32>, tensor<?x4xf32>) {
  ^bb0(%at: tensor<2x3xf32>, %gt: tensor<2x3xf32>, %ht: tensor<4xf32>):
    %2 = arith.mulf %at, %gt : tensor<2x3xf32>
    bppsa.yield %2, %ht : tensor<2x3xf32>, tensor<4xf32>
  }
  return %0, %1 : tensor<?x2x3xf32>, tensor<?x4xf32>
}
