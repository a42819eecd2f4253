// RUN: bppsa-opt %s --bppsa-bufferize --convert-bppsa-to-vector --verify-diagnostics

func.func @scan(%a: tensor<?x?x4x1xf32>, %g: tensor<?x4x1xf32>) -> tensor<?x4x1xf32> {
  // expected-error @below {{'bppsa.scan' op has one lane, which only a bppsa.chain supports}}
  %0 = bppsa.scan <chunked, 8> lanes 1 saved(%a : tensor<?x?x4x1xf32>)
      seeds(%g : tensor<?x4x1xf32>) inject_into [] -> (tensor<?x4x1xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  return %0 : tensor<?x4x1xf32>
}
