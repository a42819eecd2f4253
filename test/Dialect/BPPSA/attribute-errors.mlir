// RUN: bppsa-opt %s -split-input-file --verify-diagnostics

// expected-error @below {{attribute 'bppsa.output' must be the name of an array, found 7 : i64}}
func.func @output(%x: tensor<4xf32>) -> (tensor<4xf32> {bppsa.output = 7}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{attribute 'bppsa.shape' must be a map from symbols to a size for each dimension, found "no"}}
func.func @shape(%x: tensor<4xf32> {bppsa.shape = "no"}) {
  return
}

// -----

// expected-error @below {{attribute 'bppsa.shape' must be a map from symbols to a size for each dimension}}
func.func @shape_rank(%x: tensor<?xf32> {bppsa.shape = affine_map<()[s0] -> (s0, 4)>}) {
  return
}

// -----

// expected-error @below {{attribute 'bppsa.batch_axis' must be an axis of the array, found 1 : i64}}
func.func @batch_axis(%x: tensor<4xf32> {bppsa.batch_axis = 1}) {
  return
}

// -----

// expected-error @below {{attribute 'bppsa.batch_axes' must be axes of the array, or -1}}
func.func @batch_axes(%x: tensor<4xf32> {bppsa.batch_axes = array<i64: 0, -2>}) {
  return
}

// -----

// expected-error @below {{attribute 'bppsa.frozen' must be a unit attribute, found true}}
func.func @frozen(%x: tensor<4xf32> {bppsa.frozen = true}) {
  return
}

// -----

// expected-error @below {{attribute 'bppsa.nonzeros' must be a boolean for each element of the array}}
func.func @nonzeros(%x: tensor<4xf32> {bppsa.nonzeros = dense<true> : tensor<2xi1>}) {
  return
}

// -----

// expected-error @below {{the dialect has no attribute 'bppsa.inptu' for the argument of a function; remove it}}
func.func @unknown(%x: tensor<4xf32> {bppsa.inptu = "x"}) {
  return
}

// -----

// expected-error @below {{attribute 'bppsa.lanes' must be a positive number of lanes, found 0 : i64}}
func.func @lanes() attributes {bppsa.lanes = 0} {
  return
}

// -----

// expected-error @below {{attribute 'bppsa.symbols' must be the names of the symbols of shapes}}
module attributes {bppsa.symbols = [1]} {
}

// -----

func.func @operation(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{attribute 'bppsa.jacobian' must be a type of Jacobians, or one for each operand}}
  %0 = arith.negf %x {bppsa.jacobian = "dense"} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
