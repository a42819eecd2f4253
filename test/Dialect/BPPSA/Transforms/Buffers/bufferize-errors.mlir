// RUN: bppsa-opt %s -verify-diagnostics --bppsa-bufferize

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
