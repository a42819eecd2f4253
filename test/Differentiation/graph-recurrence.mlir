// RUN: bppsa-opt %s --bppsa-differentiate="name=grad wrt=all" --canonicalize --cse -split-input-file -verify-diagnostics | FileCheck %s

// The product is saved as a residual, and the sum after it is recomputed. The cotangent of the
// output is a saved sequence, and the gradient of the matrix is a sum of the chain.
// CHECK-LABEL: func.func @grad
// CHECK: %[[T:.*]], %[[OUT:.*]]:2 = bppsa.recurrence sequences(%[[X:.*]] : tensor<?x?x3xf32>) initial
// CHECK-SAME: -> (tensor<?x?x3xf32>) outputs(tensor<?x?x3xf32>, tensor<?x?x3xf32>)
// CHECK: %[[BEFORE:.*]] = tensor.extract_slice %[[T]][0, 0, 0]
// CHECK: bppsa.chain saved({{.*}}%[[OUT]]#1{{.*}}) seeds(
// CHECK-SAME: sum_with [-1]
// CHECK-SAME: -> (tensor<?x3xf32>) emitted(tensor<?x?x3xf32>) sums(tensor<3x3xf32>)
#v = affine_map<(i) -> (i)>
#m = affine_map<(i, j) -> (i, j)>
#n = affine_map<(i, j) -> (i)>
#k = affine_map<(i, j) -> (j)>
func.func @loss(%x: tensor<?x?x3xf32> {bppsa.input = "x"}, %h: tensor<?x3xf32> {bppsa.input = "h"},
    %w: tensor<3x3xf32> {bppsa.parameter = "w"}) -> tensor<f32> {
  %0:2 = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) initial(%h : tensor<?x3xf32>)
      captures(%w : tensor<3x3xf32>) -> (tensor<?x?x3xf32>) outputs(tensor<?x?x3xf32>) {
  ^bb0(%xt: tensor<3xf32>, %ht: tensor<3xf32>, %wc: tensor<3x3xf32>):
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<3xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
    %1 = linalg.generic {indexing_maps = [#m, #k, #n], iterator_types = ["parallel", "reduction"]}
        ins(%wc, %ht : tensor<3x3xf32>, tensor<3xf32>) outs(%z : tensor<3xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %c, %p : f32
      linalg.yield %s : f32
    } -> tensor<3xf32>
    %2 = linalg.generic {indexing_maps = [#v, #v, #v], iterator_types = ["parallel"]}
        ins(%1, %xt : tensor<3xf32>, tensor<3xf32>) outs(%e : tensor<3xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<3xf32>
    %3 = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]}
        ins(%2 : tensor<3xf32>) outs(%e : tensor<3xf32>) {
    ^bb0(%a: f32, %c: f32):
      %s = arith.mulf %a, %a : f32
      linalg.yield %s : f32
    } -> tensor<3xf32>
    bppsa.yield %3, %ht : tensor<3xf32>, tensor<3xf32>
  }
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %steps = tensor.extract_slice %0#0[1, 0, 0] [1, 1, 3] [1, 1, 1] : tensor<?x?x3xf32> to tensor<1x1x3xf32>
  %first = tensor.extract_slice %0#1[0, 0, 0] [1, 1, 3] [1, 1, 1] : tensor<?x?x3xf32> to tensor<1x1x3xf32>
  %loss = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> ()>], iterator_types = ["reduction", "reduction", "reduction"]}
      ins(%steps, %first : tensor<1x1x3xf32>, tensor<1x1x3xf32>) outs(%z : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

func.func @loss(%x: tensor<?x?x3xf32> {bppsa.input = "x"}) -> tensor<f32> {
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) outputs(tensor<?x?x3xf32>) {
  ^bb0(%xt: tensor<3xf32>):
    // expected-error @below {{'math.tanh' op has a derivative on scalars and vectors only, found a tensor; use it in the body of a linalg.generic}}
    %1 = math.tanh %xt : tensor<3xf32>
    bppsa.yield %1 : tensor<3xf32>
  }
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> ()>], iterator_types = ["reduction", "reduction", "reduction"]}
      ins(%0 : tensor<?x?x3xf32>) outs(%z : tensor<f32>) {
  ^bb0(%a: f32, %c: f32):
    %s = arith.addf %c, %a : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}
