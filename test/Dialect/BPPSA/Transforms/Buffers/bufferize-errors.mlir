// RUN: bppsa-opt %s -verify-diagnostics --bppsa-bufferize

func.func @link(%g: tensor<?x4xf32>, %s: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @below {{'jacobian.link' op has a rule and a jacobian, but a plan uses only one; run bppsa-scan-links first}}
  %0 = jacobian.link %g : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%gy: tensor<?x4xf32>):
    jacobian.yield %gy : tensor<?x4xf32>
  } jacobian {
  ^bb0(%gy: tensor<?x4xf32>):
    %1 = jacobian.assemble %s : tensor<?x4xf32> -> !jacobian.matrix<4x4xf32, diagonal, batch = ?>
    jacobian.yield %1 : !jacobian.matrix<4x4xf32, diagonal, batch = ?>
  }
  return %0 : tensor<?x4xf32>
}
