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
func.func @nonzeros(%x: tensor<4xf32> {bppsa.parameter = "w", bppsa.nonzeros = dense<true> : tensor<2xi1>}) {
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

// expected-error @below {{attribute 'bppsa.entry' must be the role of a function, '#bppsa.entry<...>', found "step"}}
func.func @entry() attributes {bppsa.entry = "step"} {
  return
}

// -----

// expected-error @below {{needs a stage of at least 0 of a function with the role 'step', found 1 and 'grad'}}
func.func @stage() attributes {bppsa.entry = #bppsa.entry<role = grad, stage = 1>} {
  return
}

// -----

// expected-error @below {{needs the name of a backward pass as its variant, found an empty name; remove 'variant'}}
func.func @variant() attributes {bppsa.entry = #bppsa.entry<role = grad, variant = "">} {
  return
}

// -----

// expected-error @below {{attribute 'bppsa.symbols' must be the symbols of sizes, '#bppsa.symbols<...>', found ["T"]}}
module attributes {bppsa.symbols = ["T"]} {
}

// -----

// expected-error @below {{symbols must have different names, found "T" twice}}
module attributes {bppsa.symbols = #bppsa.symbols<"T", "T">} {
}

// -----

// expected-error @below {{the minimum size of symbol "T" must be positive, found 0}}
module attributes {bppsa.symbols = #bppsa.symbols<"B", "T" at least 0>} {
}

// -----

// expected-error @below {{the dialect has no attribute 'bppsa.least_sizes' for a module; remove it}}
module attributes {bppsa.least_sizes = array<i64: 1>} {
}

// -----

module attributes {bppsa.symbols = #bppsa.symbols<"B">} {
  // expected-error @below {{attribute 'bppsa.shape' must be a map from the 1 symbols of the module}}
  func.func @shape_symbols(%x: tensor<?xf32> {bppsa.shape = affine_map<()[s0, s1] -> (s1)>}) {
    return
  }
}

// -----

// expected-error @below {{attribute 'bppsa.index_bounds' must be a map from symbols to sizes, found affine_map<(d0) -> (d0)>}}
func.func @index_bounds(%x: tensor<4xi64> {bppsa.index_bounds = affine_map<(d) -> (d)>}) {
  return
}

// -----

// expected-error @below {{attribute 'bppsa.time_axis' must be an axis of the array, found "T"}}
func.func @time_axis(%x: tensor<4xf32> {bppsa.time_axis = "T"}) {
  return
}

// -----

// expected-error @below {{the argument of a function must have one role, found 'bppsa.input' and 'bppsa.parameter'; remove one of them}}
func.func @two_roles(%x: tensor<4xf32> {bppsa.input = "x", bppsa.parameter = "w"}) {
  return
}

// -----

// expected-error @below {{attribute 'bppsa.stage_work' must be the FLOPs of forward operations, cotangents and gradients of parameters, found array<f64: 1.000000e+00, 2.000000e+00>}}
func.func @work() attributes {bppsa.stage_work = array<f64: 1.0, 2.0>} {
  return
}

// -----

// expected-error @below {{attribute 'bppsa.stage_work' must be the FLOPs of forward operations, cotangents and gradients of parameters, found array<f64: 1.000000e+00, -2.000000e+00, 0.000000e+00>}}
func.func @negative_work() attributes {bppsa.stage_work = array<f64: 1.0, -2.0, 0.0>} {
  return
}

// -----

// expected-error @below {{the result of a function must have one role, found 'bppsa.loss' and 'bppsa.output'; remove one of them}}
func.func @two_roles_of_result(%x: tensor<f32>) -> (tensor<f32> {bppsa.loss, bppsa.output = "y"}) {
  return %x : tensor<f32>
}

// -----

// expected-error @below {{attribute 'bppsa.frozen' is for the argument of a function that has 'bppsa.parameter', found one without; remove it}}
func.func @frozen_input(%x: tensor<4xf32> {bppsa.input = "x", bppsa.frozen}) {
  return
}

// -----

// expected-error @below {{attribute 'bppsa.nonzeros' is for the argument of a function that has 'bppsa.parameter', found one without; remove it}}
func.func @nonzero_input(%x: tensor<2xf32> {bppsa.input = "x", bppsa.nonzeros = dense<true> : tensor<2xi1>}) {
  return
}

// -----

// expected-error @below {{attribute 'bppsa.carried' is for the result of a function that has 'bppsa.input' or 'bppsa.output', found one without; remove it}}
func.func @carried_gradient(%x: tensor<4xf32>) -> (tensor<4xf32> {bppsa.carried = "h", bppsa.gradient = "x"}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{attribute 'bppsa.mixing_layouts' must be a boolean for each of the 2 layouts of argument 0}}
func.func @mixing_layouts(%x: tensor<4x4xf32> {bppsa.batch_axes = array<i64: 0, 1>})
    attributes {bppsa.mixing_layouts = array<i1: true>} {
  return
}

// -----

func.func @operation(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{attribute 'jacobian.operands' must hold the Jacobians of operands, '#jacobian.operands<...>', found "dense"}}
  %0 = arith.negf %x {jacobian.operands = "dense"} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @no_jacobian(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{must hold a type of Jacobians or none for each value, found 'f32'}}
  %0 = arith.negf %x {jacobian.operands = #jacobian.operands<f32>} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @part(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{attribute 'bppsa.backward_part' must be a part of the backward pass, '#bppsa.backward_part<...>', found "cotangent"}}
  %0 = arith.negf %x {bppsa.backward_part = "cotangent"} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @stage(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{attribute 'bppsa.stage' must be the number of a stage, from 0 on, found -1 : i64}}
  %0 = arith.negf %x {bppsa.stage = -1 : i64} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @below {{attribute 'bppsa.stage' is for the argument of a function that has 'bppsa.parameter', found one without; remove it}}
func.func @stage_of_input(%x: tensor<4xf32> {bppsa.input = "x", bppsa.stage = 0 : i64}) {
  return
}

// -----

// expected-error @below {{attribute 'bppsa.stage' must be the number of a stage, from 0 on, found "last"}}
func.func @stage_of_parameter(%w: tensor<4xf32> {bppsa.parameter = "w", bppsa.stage = "last"}) {
  return
}

// -----

func.func @part_without_stage(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{a backward part 'parameter' must have a stage from 1 on, found 0; number the stages from the one cotangents reach last}}
  %0 = arith.negf %x {bppsa.backward_part = #bppsa.backward_part<parameter>} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @stage_of_cotangent(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{a backward part 'cotangent' must have no stage, found 2; only 'parameter' has one}}
  %0 = arith.negf %x {bppsa.backward_part = #bppsa.backward_part<cotangent, stage = 2>} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @below {{attribute 'bppsa.backward_order' must be the order of a backward pass, '#bppsa.backward_order<...>', found "in-order"}}
func.func @order() attributes {bppsa.backward_order = "in-order"} {
  return
}

// -----

// expected-error @below {{the result of a function must have one role, found 'bppsa.loss' and 'bppsa.objective'; remove one of them}}
func.func @loss_and_objective(%x: tensor<f32>) -> (tensor<f32> {bppsa.loss, bppsa.objective}) {
  return %x : tensor<f32>
}

// -----

// expected-error @below {{attribute 'bppsa.cotangent' must be the name of an array, found unit}}
func.func @cotangent(%x: tensor<f32> {bppsa.cotangent}) {
  return
}
