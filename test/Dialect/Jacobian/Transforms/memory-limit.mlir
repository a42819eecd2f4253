// RUN: bppsa-opt %s -split-input-file -verify-diagnostics --bppsa-plan-sparse-products="memory-limit=100 batch=3"

// The slopes of a sample take 16 bytes, and so does their square; the indices of a diagonal take 36
// bytes.

!d = !jacobian.matrix<4x4xf32, diagonal, batch = ?>
// expected-error @below {{@slopes needs 132 bytes for jacobians (36 and 32 for each of 3 samples), more than the memory limit of 100; use a plan with fewer levels, such as linear or hybrid:1, or raise the limit}}
func.func @slopes(%s: tensor<?x4xf32>, %g: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %a = jacobian.assemble %s : tensor<?x4xf32> -> !d
  %b = jacobian.compose %a, %a : !d, !d -> !d
  %0 = jacobian.apply %b, %g : !d, tensor<?x4xf32> -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

// They fit without the square.

!d = !jacobian.matrix<4x4xf32, diagonal, batch = ?>
func.func @fits(%s: tensor<?x4xf32>, %g: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %a = jacobian.assemble %s : tensor<?x4xf32> -> !d
  %0 = jacobian.apply %a, %g : !d, tensor<?x4xf32> -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}
