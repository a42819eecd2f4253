// RUN: bppsa-opt %s --split-input-file --verify-diagnostics --bppsa-differentiate

// An op without a differentiation rule.

func.func @loss(%w: tensor<f32> {bppsa.parameter = "w"}) -> tensor<f32> {
  // expected-error @below {{'tensor.bitcast' op has no differentiation rule, and a gradient has to pass through it; freeze the values that it depends on or use bppsa.stop_gradient}}
  %0 = tensor.bitcast %w : tensor<f32> to tensor<f32>
  return %0 : tensor<f32>
}

// -----

// An op without a rule is accepted if the gradient does not pass through it.

func.func @loss(%x: tensor<f32>, %w: tensor<f32> {bppsa.parameter = "w"}) -> tensor<f32> {
  %0 = tensor.bitcast %w : tensor<f32> to tensor<i32>
  %1 = tensor.bitcast %0 : tensor<i32> to tensor<f32>
  %2 = bppsa.stop_gradient %w : tensor<f32>
  return %1 : tensor<f32>
}

// -----

func.func @loss(%w: tensor<4xf32> {bppsa.parameter = "w"}) -> tensor<f32> {
  %low = arith.constant 0xFF800000 : f32
  %empty = tensor.empty() : tensor<f32>
  %init = linalg.fill ins(%low : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  // expected-error @below {{'linalg.generic' op can be differentiated only if its reduction is one arith.addf, arith.maximumf, arith.minimumf or arith.mulf of a value that an iteration computes}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%w : tensor<4xf32>) outs(%init : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %1 = arith.divf %o, %a : f32
      linalg.yield %1 : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @loss(%w: tensor<4xf32> {bppsa.parameter = "w"}, %k: tensor<2xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %zeros = tensor.from_elements %zero, %zero, %zero, %zero, %zero : tensor<5xf32>
  // expected-error @below {{'linalg.generic' op can be differentiated only if the indexing map of the result is a projected permutation, or the reduction a sum}}
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0 + d1)>],
                       iterator_types = ["reduction", "reduction"]}
      ins(%w, %k : tensor<4xf32>, tensor<2xf32>) outs(%zeros : tensor<5xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %1 = arith.mulf %a, %b : f32
      %2 = arith.maximumf %o, %1 : f32
      linalg.yield %2 : f32
  } -> tensor<5xf32>
  %3 = tensor.extract_slice %0[0] [1] [1] : tensor<5xf32> to tensor<f32>
  return %3 : tensor<f32>
}

// -----

func.func @loss(%w: tensor<f32> {bppsa.parameter = "w"}) -> tensor<f32> {
  // expected-error @below {{'arith.mulf' op has a derivative on scalars and vectors only, found a tensor; use it in the body of a linalg.generic}}
  %0 = arith.mulf %w, %w : tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @loss(%w: f32 {bppsa.parameter = "w"}) -> tensor<f32> {
  %empty = tensor.empty() : tensor<f32>
  // expected-error @below {{'linalg.fill' op has no differentiation rule for its scalar}}
  %0 = linalg.fill ins(%w : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @loss(%x: tensor<1x1x4xf32>, %h0: tensor<1x4xf32>, %w: tensor<4xf32> {bppsa.parameter = "w"}) -> tensor<f32> {
  // expected-error @below {{'bppsa.recurrence' op can be differentiated only if the loss depends only on its states, found a cotangent of output 0; turn that output into a state}}
  %h, %o = bppsa.recurrence sequences(%x : tensor<1x1x4xf32>) initial(%h0 : tensor<1x4xf32>)
      captures(%w : tensor<4xf32>) -> (tensor<2x1x4xf32>) outputs(tensor<1x1x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>, %wc: vector<4xf32>):
    %0 = arith.mulf %xt, %wc : vector<4xf32>
    bppsa.yield %ht, %0 : vector<4xf32>, vector<4xf32>
  }
  %0 = tensor.extract_slice %o[0, 0, 0] [1, 1, 1] [1, 1, 1] : tensor<1x1x4xf32> to tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @loss(%x: tensor<1x1x4xf32>, %w: tensor<4x4xf32> {bppsa.parameter = "w"}) -> tensor<f32> {
  %o = bppsa.recurrence sequences(%x : tensor<1x1x4xf32>) captures(%w : tensor<4x4xf32>) outputs(tensor<1x1x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %wc: vector<4x4xf32>):
    // expected-error @below {{'arith.negf' op uses a captured matrix that has to be differentiated; only bppsa.matvec has a rule for that}}
    %0 = arith.negf %wc : vector<4x4xf32>
    %1 = bppsa.matvec %0, %xt : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  %0 = tensor.extract_slice %o[0, 0, 0] [1, 1, 1] [1, 1, 1] : tensor<1x1x4xf32> to tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @loss(%x: tensor<1x1x4xf32>, %w: tensor<4xf32> {bppsa.parameter = "w"}) -> tensor<f32> {
  %o = bppsa.recurrence sequences(%x : tensor<1x1x4xf32>) captures(%w : tensor<4xf32>) outputs(tensor<1x1x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %wc: vector<4xf32>):
    %0 = vector.broadcast %wc : vector<4xf32> to vector<4x4xf32>
    // expected-error @below {{'bppsa.matvec' op needs a captured matrix to be differentiated, found a computed one}}
    %1 = bppsa.matvec %0, %xt : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  %0 = tensor.extract_slice %o[0, 0, 0] [1, 1, 1] [1, 1, 1] : tensor<1x1x4xf32> to tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @loss(%x: tensor<1x1x4xf32>, %w: tensor<4xf32> {bppsa.parameter = "w"}) -> tensor<f32> {
  %o = bppsa.recurrence sequences(%x : tensor<1x1x4xf32>) captures(%w : tensor<4xf32>) outputs(tensor<1x1x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %wc: vector<4xf32>):
    // expected-error @below {{'math.tan' op has no differentiation rule}}
    %0 = math.tan %wc : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  %0 = tensor.extract_slice %o[0, 0, 0] [1, 1, 1] [1, 1, 1] : tensor<1x1x4xf32> to tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-error @below {{needs one block and a first result of type 'tensor<f32>' to be differentiated}}
func.func @loss(%w: tensor<4xf32> {bppsa.parameter = "w"}) -> tensor<4xf32> {
  return %w : tensor<4xf32>
}

// -----

// expected-error @below {{@step exists already; choose another name}}
module {
  func.func @loss(%w: tensor<f32>) -> tensor<f32> {
    return %w : tensor<f32>
  }
  func.func private @step()
}

// -----

// expected-error @below {{needs a function @loss with a body to differentiate}}
module {}

// -----

func.func @loss(%w: tensor<4xf32> {bppsa.parameter = "w"}, %k: tensor<2xf32>, %x: tensor<4xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %zeros = tensor.from_elements %zero, %zero, %zero : tensor<3xf32>
  // expected-error @below {{'linalg.generic' op reads captured tensors; its indexing maps must be projected permutations for a differentiation rule}}
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0 + d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>],
                       iterator_types = ["parallel", "reduction"]}
      ins(%x, %k : tensor<4xf32>, tensor<2xf32>) outs(%zeros : tensor<3xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %i = linalg.index 0 : index
      %1 = tensor.extract %w[%i] : tensor<4xf32>
      %2 = arith.addf %o, %1 : f32
      linalg.yield %2 : f32
  } -> tensor<3xf32>
  %3 = tensor.extract_slice %0[0] [1] [1] : tensor<3xf32> to tensor<f32>
  return %3 : tensor<f32>
}
