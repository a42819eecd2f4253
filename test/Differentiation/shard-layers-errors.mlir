// RUN: bppsa-opt %s --split-input-file --verify-diagnostics --bppsa-shard-time

// Operations that are not allowed on the step axis, here the first axis with symbol s0.

// expected-error @below {{the model fixes the number of steps of input 'x', which ranks cannot divide; make it any number with --dynamic=NAME:AXIS}}
func.func @training_loss(%x: tensor<6x?xf32> {bppsa.input = "x", bppsa.time_axis = 0 : i64, bppsa.shape = affine_map<()[s0] -> (6, s0)>},
                         %l: tensor<f32>) -> tensor<f32> {
  return %l : tensor<f32>
}

// -----

// expected-error @below {{ranks share the steps of one number, found another one for input 'y'; give the axes one symbol}}
func.func @training_loss(%x: tensor<?xf32> {bppsa.input = "x", bppsa.time_axis = 0 : i64, bppsa.shape = affine_map<()[s0, s1] -> (s0)>},
                         %y: tensor<?xf32> {bppsa.input = "y", bppsa.time_axis = 0 : i64, bppsa.shape = affine_map<()[s0, s1] -> (s1)>},
                         %l: tensor<f32>) -> tensor<f32> {
  return %l : tensor<f32>
}

// -----

// expected-error @below {{input 'y' has an axis whose size follows from the number of steps, which ranks cannot divide; use a model without it}}
func.func @training_loss(%x: tensor<?xf32> {bppsa.input = "x", bppsa.time_axis = 0 : i64, bppsa.shape = affine_map<()[s0] -> (s0)>},
                         %y: tensor<?xf32> {bppsa.input = "y", bppsa.shape = affine_map<()[s0] -> (s0 * 2)>},
                         %l: tensor<f32>) -> tensor<f32> {
  return %l : tensor<f32>
}

// -----

// expected-error @below {{has losses of every step and losses of whole sequences, which count in different ways on ranks, found 1 and 1; use losses of one type}}
func.func @training_loss(%x: tensor<?xf32> {bppsa.input = "x", bppsa.time_axis = 0 : i64, bppsa.shape = affine_map<()[s0, s1] -> (s0)>},
                         %y: tensor<?xf32> {bppsa.target, bppsa.shape = affine_map<()[s0, s1] -> (s0)>},
                         %z: tensor<?xf32> {bppsa.target, bppsa.shape = affine_map<()[s0, s1] -> (s1)>},
                         %l: tensor<f32>) -> (tensor<f32> {bppsa.loss}, tensor<f32> {bppsa.loss}, tensor<f32> {bppsa.loss}) {
  return %l, %l, %l : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// expected-error @below {{input 'm' has as many elements along axis 0 as there are steps, but is not a time axis there; give the axis its own symbol}}
func.func @training_loss(%x: tensor<?xf32> {bppsa.input = "x", bppsa.time_axis = 0 : i64, bppsa.shape = affine_map<()[s0] -> (s0)>},
                         %m: tensor<?xf32> {bppsa.input = "m", bppsa.shape = affine_map<()[s0] -> (s0)>},
                         %l: tensor<f32>) -> tensor<f32> {
  return %l : tensor<f32>
}

// -----

func.func @training_loss(%x: tensor<?x4xf32> {bppsa.input = "x", bppsa.time_axis = 0 : i64, bppsa.shape = affine_map<()[s0] -> (s0, 4)>},
                         %l: tensor<f32>) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = tensor.dim %x, %c0 : tensor<?x4xf32>
  %less = arith.subi %t, %c1 : index
  // expected-error @below {{takes some of the steps; apart from recurrent layers, sums over all steps and reads of the first or last step, time shards support only}}
  %0 = tensor.extract_slice %x[1, 0] [%less, 4] [1, 1] : tensor<?x4xf32> to tensor<?x4xf32>
  return %l : tensor<f32>
}

// -----

func.func @training_loss(%x: tensor<?x4xf32> {bppsa.input = "x", bppsa.time_axis = 0 : i64, bppsa.shape = affine_map<()[s0] -> (s0, 4)>},
                         %n: index, %l: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{takes steps with a stride}}
  %0 = tensor.extract_slice %x[0, 0] [%n, 4] [2, 1] : tensor<?x4xf32> to tensor<?x4xf32>
  return %l : tensor<f32>
}

// -----

func.func @training_loss(%x: tensor<?x4xf32> {bppsa.input = "x", bppsa.time_axis = 0 : i64, bppsa.shape = affine_map<()[s0] -> (s0, 4)>},
                         %l: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{puts sequences together along their steps}}
  %0 = tensor.concat dim(0) %x, %x : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return %l : tensor<f32>
}

// -----

func.func @training_loss(%x: tensor<?x4xf32> {bppsa.input = "x", bppsa.time_axis = 0 : i64, bppsa.shape = affine_map<()[s0] -> (s0, 4)>},
                         %y: tensor<?x4xf32>, %n: index, %l: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{puts sequences together along their steps}}
  %0 = tensor.insert_slice %x into %y[1, 0] [%n, 4] [1, 1] : tensor<?x4xf32> into tensor<?x4xf32>
  return %l : tensor<f32>
}

// -----

func.func @training_loss(%x: tensor<?x4xf32> {bppsa.input = "x", bppsa.time_axis = 0 : i64, bppsa.shape = affine_map<()[s0] -> (s0, 4)>},
                         %y: tensor<?x4xf32>, %l: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{puts a sequence and another array together}}
  %0 = tensor.concat dim(1) %x, %x, %y : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x12xf32>
  return %l : tensor<f32>
}

// -----

func.func @training_loss(%x: tensor<?x4xf32> {bppsa.input = "x", bppsa.time_axis = 0 : i64, bppsa.shape = affine_map<()[s0] -> (s0, 4)>},
                         %l: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{merges the axis of the steps with another one}}
  %0 = tensor.collapse_shape %x [[0, 1]] : tensor<?x4xf32> into tensor<?xf32>
  return %l : tensor<f32>
}

// -----

func.func @training_loss(%x: tensor<?xf32> {bppsa.input = "x", bppsa.time_axis = 0 : i64, bppsa.shape = affine_map<()[s0] -> (s0)>},
                         %n: index, %l: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{divides the axis of the steps}}
  %0 = tensor.expand_shape %x [[0, 1]] output_shape [%n, 2] : tensor<?xf32> into tensor<?x2xf32>
  return %l : tensor<f32>
}

// -----

func.func @training_loss(%x: tensor<?x4xf32> {bppsa.input = "x", bppsa.time_axis = 0 : i64, bppsa.shape = affine_map<()[s0] -> (s0, 4)>},
                         %l: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{may mix steps}}
  %0 = tensor.pad %x low[1, 0] high[0, 0] {
  ^bb0(%i: index, %j: index):
    %zero = arith.constant 0.0 : f32
    tensor.yield %zero : f32
  } : tensor<?x4xf32> to tensor<?x4xf32>
  return %l : tensor<f32>
}

// -----

func.func @training_loss(%x: tensor<?xf32> {bppsa.input = "x", bppsa.time_axis = 0 : i64, bppsa.shape = affine_map<()[s0] -> (s0)>},
                         %n: index, %l: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{computes with an element of a sequence}}
  %0 = tensor.extract %x[%n] : tensor<?xf32>
  return %l : tensor<f32>
}

// -----

func.func @training_loss(%x: tensor<?xf32> {bppsa.input = "x", bppsa.time_axis = 0 : i64, bppsa.shape = affine_map<()[s0] -> (s0)>},
                         %l: tensor<f32>) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?xf32>
  %less = arith.subi %t, %t : index
  // expected-error @below {{computes with a value derived from the number of steps}}
  %0 = arith.index_cast %less : index to i64
  return %l : tensor<f32>
}

// -----

#id = affine_map<(t) -> (t)>
#none = affine_map<(t) -> ()>
func.func @training_loss(%x: tensor<?xf32> {bppsa.input = "x", bppsa.time_axis = 0 : i64, bppsa.shape = affine_map<()[s0] -> (s0)>},
                         %l: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{reduces the steps otherwise than to a sum of f32}}
  %0 = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%x : tensor<?xf32>) outs(%l : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.maximumf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}

// -----

#id = affine_map<(t) -> (t)>
#none = affine_map<(t) -> ()>
func.func @training_loss(%x: tensor<?xf32> {bppsa.input = "x", bppsa.time_axis = 0 : i64, bppsa.shape = affine_map<()[s0] -> (s0)>},
                         %l: tensor<f32>) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = tensor.dim %x, %c0 : tensor<?xf32>
  %less = arith.subi %t, %c1 : index
  %last = tensor.extract_slice %x[%less] [1] [1] : tensor<?xf32> to tensor<f32>
  // expected-error @below {{combines every step with a value that is known only after the last step}}
  %0 = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel"]} ins(%x, %last : tensor<?xf32>, tensor<f32>) outs(%x : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %1 = arith.addf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<?xf32>
  return %l : tensor<f32>
}

// -----

#id = affine_map<(t) -> (t)>
func.func @training_loss(%x: tensor<?xf32> {bppsa.input = "x", bppsa.time_axis = 0 : i64, bppsa.shape = affine_map<()[s0] -> (s0)>},
                         %y: tensor<?xf32>, %l: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{reads an array by the number of each step}}
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%x, %y : tensor<?xf32>, tensor<?xf32>) outs(%x : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %1 = arith.addf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<?xf32>
  return %l : tensor<f32>
}

// -----

#window = affine_map<(t, k) -> (t + k)>
#kernel = affine_map<(t, k) -> (k)>
#out = affine_map<(t, k) -> (t)>
func.func @training_loss(%x: tensor<?xf32> {bppsa.input = "x", bppsa.time_axis = 0 : i64, bppsa.shape = affine_map<()[s0] -> (s0)>},
                         %w: tensor<3xf32>, %y: tensor<?xf32>, %l: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{looks at several steps at a time}}
  %0 = linalg.generic {indexing_maps = [#window, #kernel, #out], iterator_types = ["parallel", "reduction"]}
      ins(%x, %w : tensor<?xf32>, tensor<3xf32>) outs(%y : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %1 = arith.mulf %a, %b : f32
    %2 = arith.addf %1, %c : f32
    linalg.yield %2 : f32
  } -> tensor<?xf32>
  return %l : tensor<f32>
}

// -----

#id = affine_map<(i) -> (i)>
func.func @training_loss(%x: tensor<?xf32> {bppsa.input = "x", bppsa.time_axis = 0 : i64, bppsa.shape = affine_map<()[s0] -> (s0)>},
                         %p: tensor<4xindex>, %y: tensor<4xf32>, %l: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{picks elements of a sequence}}
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%p : tensor<4xindex>) outs(%y : tensor<4xf32>) {
  ^bb0(%a: index, %b: f32):
    %1 = tensor.extract %x[%a] : tensor<?xf32>
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  return %l : tensor<f32>
}

// -----

#id = affine_map<(t, b, i) -> (t, b, i)>
func.func @training_loss(%x: tensor<?x?x4xf32> {bppsa.input = "x", bppsa.time_axis = 0 : i64, bppsa.shape = affine_map<()[s0, s1] -> (s0, s1, 4)>},
                         %h0: tensor<?x4xf32>, %l: tensor<f32>) -> tensor<f32> {
  %h = bppsa.recurrence sequences(%x : tensor<?x?x4xf32>) initial(%h0 : tensor<?x4xf32>) -> (tensor<?x?x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
    bppsa.yield %xt : vector<4xf32>
  }
  // expected-error @below {{computes with the states before and after steps}}
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%h : tensor<?x?x4xf32>) outs(%h : tensor<?x?x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<?x?x4xf32>
  return %l : tensor<f32>
}

// -----

func.func @training_loss(%x: tensor<?x?x4xf32> {bppsa.input = "x", bppsa.time_axis = 0 : i64, bppsa.shape = affine_map<()[s0, s1] -> (s0, s1, 4)>},
                         %h0: tensor<?x4xf32>, %l: tensor<f32>) -> tensor<f32> {
  %h = bppsa.recurrence sequences(%x : tensor<?x?x4xf32>) initial(%h0 : tensor<?x4xf32>) -> (tensor<?x?x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
    bppsa.yield %xt : vector<4xf32>
  }
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = tensor.dim %x, %c0 : tensor<?x?x4xf32>
  %b = tensor.dim %x, %c1 : tensor<?x?x4xf32>
  %last = tensor.extract_slice %h[%t, 0, 0] [1, %b, 4] [1, 1, 1] : tensor<?x?x4xf32> to tensor<?x4xf32>
  // expected-error @below {{starts from a value that is known only after the last step}}
  %again = bppsa.recurrence sequences(%x : tensor<?x?x4xf32>) initial(%last : tensor<?x4xf32>) -> (tensor<?x?x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
    bppsa.yield %xt : vector<4xf32>
  }
  return %l : tensor<f32>
}

// -----

func.func @training_loss(%x: tensor<?x?x4xf32> {bppsa.input = "x", bppsa.time_axis = 0 : i64, bppsa.shape = affine_map<()[s0, s1] -> (s0, s1, 4)>},
                         %y: tensor<?x?x4xf32>, %l: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{iterates over a sequence and another array}}
  %0 = bppsa.recurrence sequences(%x, %y : tensor<?x?x4xf32>, tensor<?x?x4xf32>) outputs(tensor<?x?x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %yt: vector<4xf32>):
    bppsa.yield %xt : vector<4xf32>
  }
  return %l : tensor<f32>
}

// -----

func.func @training_loss(%x: tensor<?x?x4xf32> {bppsa.input = "x", bppsa.time_axis = 0 : i64, bppsa.shape = affine_map<()[s0, s1] -> (s0, s1, 4)>},
                         %n: tensor<?xi64>, %l: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{carries a state of another type than f32}}
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x4xf32>) initial(%n : tensor<?xi64>) -> (tensor<?x?xi64>) {
  ^bb0(%xt: tensor<4xf32>, %nt: tensor<i64>):
    bppsa.yield %nt : tensor<i64>
  }
  return %l : tensor<f32>
}
