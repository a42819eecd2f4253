// RUN: bppsa-opt %s -split-input-file -verify-diagnostics

// Attributes and types

// expected-error @below {{a plan size must not be negative, found -1}}
func.func private @plan() attributes {plan = #bppsa.plan<hybrid, -1>}

// -----

// expected-error @below {{plan 'blelloch' takes no size, found 3; only hybrid and chunked take one}}
func.func private @plan() attributes {plan = #bppsa.plan<blelloch, 3>}

// -----

// expected-error @below {{a jacobian needs 2 dimensions, found 3}}
func.func private @jacobian(!jacobian.matrix<2x3x4xf32, dense>)

// -----

// expected-error @below {{unknown jacobian structure 'sparse'; use zero, identity, diagonal, dense, shared_dense, row_scaled, column_scaled, csr, block_diagonal, blocks or sum}}
func.func private @jacobian(!jacobian.matrix<2x3xf32, sparse>)

// -----

// expected-error @below {{a jacobian needs at least one row and column, found 0x3}}
func.func private @jacobian(!jacobian.matrix<0x3xf32, dense>)

// -----

// expected-error @below {{a jacobian needs a float element type, found 'i32'}}
func.func private @jacobian(!jacobian.matrix<2x3xi32, dense>)

// -----

// expected-error @below {{a jacobian with structure 'diagonal' must be square, found 2x3; use dense}}
func.func private @jacobian(!jacobian.matrix<2x3xf32, diagonal>)

// -----

// Arrays of time loops

func.func @rank(%x: tensor<?x3xf32>) -> tensor<?x?x3xf32> {
  // expected-error @below {{'bppsa.recurrence' op sequence must have rank 3, found 'tensor<?x3xf32>'}}
  %0 = bppsa.recurrence sequences(%x : tensor<?x3xf32>) outputs(tensor<?x?x3xf32>) {
  ^bb0(%xt: vector<3xf32>):
    bppsa.yield %xt : vector<3xf32>
  }
  return %0 : tensor<?x?x3xf32>
}

// -----

func.func @lanes_of_array(%x: tensor<?x?x3x8xf32>) -> tensor<?x?x3x16xf32> {
  // expected-error @below {{sequence must have 16 lanes in its last dimension, found 'tensor<?x?x3x8xf32>'}}
  %0 = bppsa.recurrence lanes 16 sequences(%x : tensor<?x?x3x8xf32>) outputs(tensor<?x?x3x16xf32>) {
  ^bb0(%xt: vector<3xf32>):
    bppsa.yield %xt : vector<3xf32>
  }
  return %0 : tensor<?x?x3x16xf32>
}

// -----

func.func @body_value(%x: tensor<?x?x3xf32>) -> tensor<?x?x3xf32> {
  // expected-error @below {{sequence 'tensor<?x?x3xf32>' needs a body value of type vector<3x'f32'>, found 'vector<4xf32>'}}
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) outputs(tensor<?x?x3xf32>) {
  ^bb0(%xt: vector<4xf32>):
    bppsa.yield %xt : vector<4xf32>
  }
  return %0 : tensor<?x?x3xf32>
}

// -----

func.func @steps(%x: tensor<5x2x3xf32>, %y: tensor<6x2x3xf32>) -> tensor<5x2x3xf32> {
  // expected-error @below {{sequence must have 5 steps as the arrays before it, found 6 in 'tensor<6x2x3xf32>'}}
  %0 = bppsa.recurrence sequences(%x, %y : tensor<5x2x3xf32>, tensor<6x2x3xf32>) outputs(tensor<5x2x3xf32>) {
  ^bb0(%xt: vector<3xf32>, %yt: vector<3xf32>):
    bppsa.yield %xt : vector<3xf32>
  }
  return %0 : tensor<5x2x3xf32>
}

// -----

func.func @slots(%x: tensor<5x2x3xf32>, %h: tensor<2x3xf32>) -> tensor<5x2x3xf32> {
  // expected-error @below {{trajectory must have 5 steps as the arrays before it, found 4 in 'tensor<5x2x3xf32>'}}
  %0 = bppsa.recurrence sequences(%x : tensor<5x2x3xf32>) initial(%h : tensor<2x3xf32>) -> (tensor<5x2x3xf32>) {
  ^bb0(%xt: vector<3xf32>, %ht: vector<3xf32>):
    bppsa.yield %xt : vector<3xf32>
  }
  return %0 : tensor<5x2x3xf32>
}

// -----

func.func @samples(%x: tensor<5x2x3xf32>, %h: tensor<7x3xf32>) -> tensor<6x2x3xf32> {
  // expected-error @below {{initial state must have 2 samples as the arrays before it, found 7 in 'tensor<7x3xf32>'}}
  %0 = bppsa.recurrence sequences(%x : tensor<5x2x3xf32>) initial(%h : tensor<7x3xf32>) -> (tensor<6x2x3xf32>) {
  ^bb0(%xt: vector<3xf32>, %ht: vector<3xf32>):
    bppsa.yield %xt : vector<3xf32>
  }
  return %0 : tensor<6x2x3xf32>
}

// -----

func.func @dynamic_capture(%x: tensor<?x?x3xf32>, %w: tensor<?x3xf32>) -> tensor<?x?x3xf32> {
  // expected-error @below {{a capture must be a static vector or matrix, found 'tensor<?x3xf32>'}}
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) captures(%w : tensor<?x3xf32>) outputs(tensor<?x?x3xf32>) {
  ^bb0(%xt: vector<3xf32>, %wc: vector<4x3xf32>):
    bppsa.yield %xt : vector<3xf32>
  }
  return %0 : tensor<?x?x3xf32>
}

// -----

func.func @capture_type(%x: tensor<?x?x3xf32>, %w: tensor<4x3xf32>) -> tensor<?x?x3xf32> {
  // expected-error @below {{capture 'tensor<4x3xf32>' needs a body argument of type 'vector<4x3xf32>', found 'vector<3x4xf32>'}}
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) captures(%w : tensor<4x3xf32>) outputs(tensor<?x?x3xf32>) {
  ^bb0(%xt: vector<3xf32>, %wc: vector<3x4xf32>):
    bppsa.yield %xt : vector<3xf32>
  }
  return %0 : tensor<?x?x3xf32>
}

// -----

func.func @results_and_destinations(%x: tensor<?x?x3xf32>, %m: memref<?x?x3xf32>) -> tensor<?x?x3xf32> {
  // expected-error @below {{must have either results or memory as destinations, found 1 results and 1 destinations}}
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) into(%m : memref<?x?x3xf32>) outputs(tensor<?x?x3xf32>) {
  ^bb0(%xt: vector<3xf32>):
    bppsa.yield %xt : vector<3xf32>
  }
  return %0 : tensor<?x?x3xf32>
}

// -----

func.func @yields_too_much(%x: tensor<?x?x3xf32>) -> tensor<?x?x3xf32> {
  // expected-error @below {{must yield one value for each of its 1 results, found 2 values}}
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) outputs(tensor<?x?x3xf32>) {
  ^bb0(%xt: vector<3xf32>):
    bppsa.yield %xt, %xt : vector<3xf32>, vector<3xf32>
  }
  return %0 : tensor<?x?x3xf32>
}

// -----

func.func @no_lanes(%x: tensor<?x?x3x0xf32>) -> tensor<?x?x3x0xf32> {
  // expected-error @below {{'bppsa.recurrence' op lanes must be positive, found 0}}
  %0 = bppsa.recurrence lanes 0 sequences(%x : tensor<?x?x3x0xf32>) outputs(tensor<?x?x3x0xf32>) {
  ^bb0(%xt: vector<3xf32>):
    bppsa.yield %xt : vector<3xf32>
  }
  return %0 : tensor<?x?x3x0xf32>
}

// -----

func.func @argument_count(%x: tensor<?x?x3xf32>) -> tensor<?x?x3xf32> {
  // expected-error @below {{body must have 1 arguments, one for each sequence, state and capture, found 2}}
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) outputs(tensor<?x?x3xf32>) {
  ^bb0(%xt: vector<3xf32>, %y: vector<3xf32>):
    bppsa.yield %xt : vector<3xf32>
  }
  return %0 : tensor<?x?x3xf32>
}

// -----

// Recurrences

func.func @no_sequence(%h: tensor<?x3xf32>) -> tensor<?x?x3xf32> {
  // expected-error @below {{needs at least one sequence to know the number of steps}}
  %0 = bppsa.recurrence initial(%h : tensor<?x3xf32>) -> (tensor<?x?x3xf32>) {
  ^bb0(%ht: vector<3xf32>):
    bppsa.yield %ht : vector<3xf32>
  }
  return %0 : tensor<?x?x3xf32>
}

// -----

func.func @no_state_yielded(%x: tensor<?x?x3xf32>, %h: tensor<?x3xf32>) {
  // expected-error @below {{must yield the 1 states after the step, found 0 values}}
  bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) initial(%h : tensor<?x3xf32>) {
  ^bb0(%xt: vector<3xf32>, %ht: vector<3xf32>):
    bppsa.yield
  }
  return
}

// -----

func.func @state_changes(%x: tensor<?x?x3xf32>, %h: tensor<?x4xf32>) -> tensor<?x?x3xf32> {
  // expected-error @below {{state 0 must keep its type 'vector<4xf32>', found 'vector<3xf32>'}}
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) initial(%h : tensor<?x4xf32>) -> (tensor<?x?x3xf32>) {
  ^bb0(%xt: vector<3xf32>, %ht: vector<4xf32>):
    bppsa.yield %xt : vector<3xf32>
  }
  return %0 : tensor<?x?x3xf32>
}

// -----

// Chains and scans

func.func @no_saved(%g: tensor<?x3xf32>) -> tensor<?x3xf32> {
  // expected-error @below {{'bppsa.chain' op needs at least one saved sequence to know the number of steps}}
  %0 = bppsa.chain seeds(%g : tensor<?x3xf32>) -> (tensor<?x3xf32>) {
  ^bb0(%gt: vector<3xf32>):
    bppsa.yield %gt : vector<3xf32>
  }
  return %0 : tensor<?x3xf32>
}

// -----

func.func @no_seed(%a: tensor<?x?x3xf32>) -> tensor<?x?x3xf32> {
  // expected-error @below {{'bppsa.chain' op needs at least one state}}
  %0 = "bppsa.chain"(%a) <{injectInto = array<i64>, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 0, 1, 0>}> ({
  ^bb0(%at: vector<3xf32>):
    bppsa.yield %at : vector<3xf32>
  }) : (tensor<?x?x3xf32>) -> tensor<?x?x3xf32>
  return %0 : tensor<?x?x3xf32>
}

// -----

func.func @no_cotangent_yielded(%a: tensor<?x?x3xf32>, %g: tensor<?x3xf32>) -> tensor<?x3xf32> {
  // expected-error @below {{must yield the cotangents of 1 states, found 0 values}}
  %0 = bppsa.chain saved(%a : tensor<?x?x3xf32>) seeds(%g : tensor<?x3xf32>) -> (tensor<?x3xf32>) {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
    bppsa.yield
  }
  return %0 : tensor<?x3xf32>
}

// -----

func.func @injected_where(%a: tensor<?x?x3xf32>, %g: tensor<?x3xf32>) -> tensor<?x3xf32> {
  // expected-error @below {{needs one state index for each injected sequence, found 0 indices for 1 sequences}}
  %0 = bppsa.chain saved(%a : tensor<?x?x3xf32>) seeds(%g : tensor<?x3xf32>) injected(%a : tensor<?x?x3xf32>) -> (tensor<?x3xf32>) {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
    bppsa.yield %gt : vector<3xf32>
  }
  return %0 : tensor<?x3xf32>
}

// -----

func.func @injected_into_nothing(%a: tensor<?x?x3xf32>, %g: tensor<?x3xf32>) -> tensor<?x3xf32> {
  // expected-error @below {{'bppsa.chain' op inject_into must name one of the 1 states, found 1}}
  %0 = bppsa.chain saved(%a : tensor<?x?x3xf32>) seeds(%g : tensor<?x3xf32>) injected(%a : tensor<?x?x3xf32>) inject_into [1] -> (tensor<?x3xf32>) {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
    bppsa.yield %gt : vector<3xf32>
  }
  return %0 : tensor<?x3xf32>
}

// -----

func.func @cotangent_changes(%a: tensor<?x?x3xf32>, %g: tensor<?x4xf32>) -> tensor<?x3xf32> {
  // expected-error @below {{the cotangent of state 0 must keep its type 'vector<4xf32>', found 'vector<3xf32>'}}
  %0 = bppsa.chain saved(%a : tensor<?x?x3xf32>) seeds(%g : tensor<?x4xf32>) -> (tensor<?x3xf32>) {
  ^bb0(%at: vector<3xf32>, %gt: vector<4xf32>):
    bppsa.yield %at : vector<3xf32>
  }
  return %0 : tensor<?x3xf32>
}

// -----

// Sums of chains and scans

func.func @too_few_to_sum(%a: tensor<?x?x3xf32>, %g: tensor<?x3xf32>) -> (tensor<?x3xf32>, tensor<3xf32>) {
  // expected-error @below {{must yield the cotangents of 1 states and 1 values to sum, found 1 values}}
  %0, %1 = bppsa.chain saved(%a : tensor<?x?x3xf32>) seeds(%g : tensor<?x3xf32>) sum_with [-1] -> (tensor<?x3xf32>) sums(tensor<3xf32>) {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
    bppsa.yield %gt : vector<3xf32>
  }
  return %0, %1 : tensor<?x3xf32>, tensor<3xf32>
}

// -----

func.func @sum_with_nothing(%a: tensor<?x?x3xf32>, %g: tensor<?x3xf32>) -> (tensor<?x3xf32>, tensor<3x3xf32>) {
  // expected-error @below {{sum_with must have -1 or name one of the 1 factors, found 1}}
  %0, %1 = bppsa.chain saved(%a : tensor<?x?x3xf32>) seeds(%g : tensor<?x3xf32>) factors(%a : tensor<?x?x3xf32>) sum_with [1] -> (tensor<?x3xf32>) sums(tensor<3x3xf32>) {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
    bppsa.yield %gt, %gt : vector<3xf32>, vector<3xf32>
  }
  return %0, %1 : tensor<?x3xf32>, tensor<3x3xf32>
}

// -----

func.func @sum_shape(%a: tensor<?x?x3xf32>, %x: tensor<?x?x2xf32>, %g: tensor<?x3xf32>) -> (tensor<?x3xf32>, tensor<2x3xf32>) {
  // expected-error @below {{a sum must have the type 'tensor<3x2xf32>' or the type of such a memref, found 'tensor<2x3xf32>'}}
  %0, %1 = bppsa.chain saved(%a : tensor<?x?x3xf32>) seeds(%g : tensor<?x3xf32>) factors(%x : tensor<?x?x2xf32>) sum_with [0] -> (tensor<?x3xf32>) sums(tensor<2x3xf32>) {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
    bppsa.yield %gt, %gt : vector<3xf32>, vector<3xf32>
  }
  return %0, %1 : tensor<?x3xf32>, tensor<2x3xf32>
}

// -----

func.func @flat_sum_shape(%a: tensor<?x?x3xf32>, %x: tensor<?x?x2xf32>, %g: tensor<?x3xf32>) -> (tensor<?x3xf32>, tensor<6xf32>) {
  // expected-error @below {{a sum must have the type 'tensor<9xf32>' or the type of such a memref, found 'tensor<6xf32>'}}
  %0, %1 = bppsa.chain saved(%a : tensor<?x?x3xf32>) seeds(%g : tensor<?x3xf32>) factors(%x : tensor<?x?x2xf32>) sum_with [0, -1] flat_sums -> (tensor<?x3xf32>) sums(tensor<6xf32>) {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
    bppsa.yield %gt, %gt, %gt : vector<3xf32>, vector<3xf32>, vector<3xf32>
  }
  return %0, %1 : tensor<?x3xf32>, tensor<6xf32>
}

// -----

func.func @flat_sums_of_nothing(%a: tensor<?x?x3xf32>, %g: tensor<?x3xf32>) -> tensor<?x3xf32> {
  // expected-error @below {{has flat_sums, but no vectors to sum; remove it}}
  %0 = bppsa.chain saved(%a : tensor<?x?x3xf32>) seeds(%g : tensor<?x3xf32>) flat_sums -> (tensor<?x3xf32>) {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
    bppsa.yield %gt : vector<3xf32>
  }
  return %0 : tensor<?x3xf32>
}

// -----

func.func @summed_matrix(%a: tensor<?x?x3xf32>, %g: tensor<?x3xf32>, %w: tensor<3x3xf32>) -> (tensor<?x3xf32>, tensor<3xf32>) {
  // expected-error @below {{a value to sum must be a vector of rank 1, found 'vector<3x3xf32>'}}
  %0, %1 = bppsa.chain saved(%a : tensor<?x?x3xf32>) seeds(%g : tensor<?x3xf32>) sum_with [-1] captures(%w : tensor<3x3xf32>) -> (tensor<?x3xf32>) sums(tensor<3xf32>) {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>, %wc: vector<3x3xf32>):
    bppsa.yield %gt, %wc : vector<3xf32>, vector<3x3xf32>
  }
  return %0, %1 : tensor<?x3xf32>, tensor<3xf32>
}

// -----

func.func @factor_elements(%a: tensor<?x?x3xf32>, %x: tensor<?x?x2xf64>, %g: tensor<?x3xf32>) -> (tensor<?x3xf32>, tensor<3x2xf32>) {
  // expected-error @below {{a value to sum must have the element type of its factor 'tensor<?x?x2xf64>', found 'vector<3xf32>'}}
  %0, %1 = bppsa.chain saved(%a : tensor<?x?x3xf32>) seeds(%g : tensor<?x3xf32>) factors(%x : tensor<?x?x2xf64>) sum_with [0] -> (tensor<?x3xf32>) sums(tensor<3x2xf32>) {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
    bppsa.yield %gt, %gt : vector<3xf32>, vector<3xf32>
  }
  return %0, %1 : tensor<?x3xf32>, tensor<3x2xf32>
}

// -----

func.func @factor_size(%a: tensor<?x?x3xf32>, %x: tensor<?x?x?xf32>, %g: tensor<?x3xf32>) -> (tensor<?x3xf32>, tensor<3x2xf32>) {
  // expected-error @below {{a factor must have a static last dimension, found 'tensor<?x?x?xf32>'}}
  %0, %1 = bppsa.chain saved(%a : tensor<?x?x3xf32>) seeds(%g : tensor<?x3xf32>) factors(%x : tensor<?x?x?xf32>) sum_with [0] -> (tensor<?x3xf32>) sums(tensor<3x2xf32>) {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
    bppsa.yield %gt, %gt : vector<3xf32>, vector<3xf32>
  }
  return %0, %1 : tensor<?x3xf32>, tensor<3x2xf32>
}

// -----

func.func @factor_steps(%a: tensor<5x?x3xf32>, %x: tensor<6x?x2xf32>, %g: tensor<?x3xf32>) -> (tensor<?x3xf32>, tensor<3x2xf32>) {
  // expected-error @below {{factor must have 5 steps as the arrays before it, found 6 in 'tensor<6x?x2xf32>'}}
  %0, %1 = bppsa.chain saved(%a : tensor<5x?x3xf32>) seeds(%g : tensor<?x3xf32>) factors(%x : tensor<6x?x2xf32>) sum_with [0] -> (tensor<?x3xf32>) sums(tensor<3x2xf32>) {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
    bppsa.yield %gt, %gt : vector<3xf32>, vector<3xf32>
  }
  return %0, %1 : tensor<?x3xf32>, tensor<3x2xf32>
}

// -----

func.func @packed_sums(%a: tensor<?x?x3x8xf32>, %g: tensor<?x3x8xf32>) -> (tensor<?x3x8xf32>, tensor<3xf32>) {
  // expected-error @below {{sums over samples one by one and must have no lanes}}
  %0, %1 = bppsa.chain lanes 8 saved(%a : tensor<?x?x3x8xf32>) seeds(%g : tensor<?x3x8xf32>) sum_with [-1] -> (tensor<?x3x8xf32>) sums(tensor<3xf32>) {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
    bppsa.yield %gt, %gt : vector<3xf32>, vector<3xf32>
  }
  return %0, %1 : tensor<?x3x8xf32>, tensor<3xf32>
}

// -----

// Products with a vector

func.func @matvec_shape(%w: vector<4x3xf32>, %x: vector<3xf32>) -> vector<3xf32> {
  // expected-error @below {{a 3x4 transposed matrix maps vector<4> to vector<3>, found 'vector<3xf32>' to 'vector<3xf32>'}}
  %0 = bppsa.matvec transposed %w, %x : vector<4x3xf32>, vector<3xf32> -> vector<3xf32>
  return %0 : vector<3xf32>
}

// -----

func.func @matvec_addend(%w: vector<4x3xf32>, %x: vector<3xf32>) -> vector<4xf32> {
  // expected-error @below {{the addend must have the type of the result 'vector<4xf32>', found 'vector<3xf32>'}}
  %0 = bppsa.matvec %w, %x plus %x : vector<4x3xf32>, vector<3xf32> plus vector<3xf32> -> vector<4xf32>
  return %0 : vector<4xf32>
}

// -----

func.func @matvec_elements(%w: vector<4x3xf64>, %x: vector<3xf32>) -> vector<4xf32> {
  // expected-error @below {{needs one element type, found 'vector<4x3xf64>', 'vector<3xf32>' and 'vector<4xf32>'}}
  %0 = bppsa.matvec %w, %x : vector<4x3xf64>, vector<3xf32> -> vector<4xf32>
  return %0 : vector<4xf32>
}

// -----

// Leaves and layout

func.func @no_result(%d: tensor<?x?x4xf32>) {
  // expected-error @below {{must have either a result or a destination}}
  bppsa.step_sum %d : tensor<?x?x4xf32>
  return
}

// -----

func.func @no_total(%parts: tensor<?x?x4xf32>) {
  // expected-error @below {{must have either results or destinations}}
  bppsa.reduce_sums %parts : tensor<?x?x4xf32>
  return
}

// -----

func.func @rank_of_parts(%parts: tensor<?x4xf32>) -> tensor<4xf32> {
  // expected-error @below {{parts of sums must have rank 3, found 'tensor<?x4xf32>'}}
  %0 = bppsa.reduce_sums %parts : tensor<?x4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @dynamic_total(%parts: tensor<?x?x4xf32>) -> tensor<?xf32> {
  // expected-error @below {{a sum must be a vector or a matrix of static shape of 'f32', found 'tensor<?xf32>'}}
  %0 = bppsa.reduce_sums %parts : tensor<?x?x4xf32> -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

func.func @elements_of_parts(%parts: tensor<?x?x4xf32>) -> (tensor<2x3xf32>, tensor<2xf32>) {
  // expected-error @below {{must have 8 elements of sums in each part, found 'tensor<?x?x4xf32>'}}
  %0, %1 = bppsa.reduce_sums %parts : tensor<?x?x4xf32> -> tensor<2x3xf32>, tensor<2xf32>
  return %0, %1 : tensor<2x3xf32>, tensor<2xf32>
}

// -----

func.func @sequence_rank(%d: tensor<?x4xf32>) -> tensor<4xf32> {
  // expected-error @below {{a sequence must have rank 3, found 'tensor<?x4xf32>'}}
  %0 = bppsa.step_sum %d : tensor<?x4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @sequence_lanes(%d: tensor<?x?x4x8xf32>) -> tensor<4xf32> {
  // expected-error @below {{a sequence must have rank 4 and 16 lanes in its last dimension, found 'tensor<?x?x4x8xf32>'}}
  %0 = bppsa.step_sum lanes 16 %d : tensor<?x?x4x8xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @batch_without_lanes(%d: tensor<?x?x4xf32>, %n: index) -> tensor<4xf32> {
  // expected-error @below {{has a batch but no lanes; a plain sequence has its number of samples in its type}}
  %0 = bppsa.step_sum %d batch %n : tensor<?x?x4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @outer_sum_shape(%d: tensor<?x?x4xf32>, %x: tensor<?x?x3xf32>) -> tensor<3x4xf32> {
  // expected-error @below {{needs a result of shape 4x3, found 'tensor<3x4xf32>'}}
  %0 = bppsa.outer_sum %d, %x : tensor<?x?x4xf32>, tensor<?x?x3xf32> -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

func.func @step_sum_shape(%d: tensor<?x?x4xf32>) -> tensor<3xf32> {
  // expected-error @below {{needs a result of shape 4, found 'tensor<3xf32>'}}
  %0 = bppsa.step_sum %d : tensor<?x?x4xf32> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

func.func @pack_lanes(%x: tensor<?x3xf32>) -> tensor<?x3x0xf32> {
  // expected-error @below {{'bppsa.pack_lanes' op lanes must be positive, found 0}}
  %0 = bppsa.pack_lanes 0, %x : tensor<?x3xf32> -> tensor<?x3x0xf32>
  return %0 : tensor<?x3x0xf32>
}

// -----

func.func @pack_rank(%x: tensor<3xf32>) -> tensor<1x3x16xf32> {
  // expected-error @below {{packs arrays of rank 2 or 3, found 'tensor<3xf32>'}}
  %0 = bppsa.pack_lanes 16, %x : tensor<3xf32> -> tensor<1x3x16xf32>
  return %0 : tensor<1x3x16xf32>
}

// -----

func.func @pack_shape(%x: tensor<5x20x3xf32>) -> tensor<1x5x3x16xf32> {
  // expected-error @below {{'tensor<5x20x3xf32>' in 16 lanes is packed as 'tensor<2x5x3x16xf32>', found 'tensor<1x5x3x16xf32>'}}
  %0 = bppsa.pack_lanes 16, %x : tensor<5x20x3xf32> -> tensor<1x5x3x16xf32>
  return %0 : tensor<1x5x3x16xf32>
}

// -----

// Trees

func.func @linearize_size(%a: tensor<?x4xf32>) {
  // expected-error @below {{states of 4 values in all need a 4x4 jacobian, found '!jacobian.matrix<3x3xf32, dense, batch = ?>'}}
  %0 = jacobian.linearize saved(%a : tensor<?x4xf32>) states [4] -> !jacobian.matrix<3x3xf32, dense, batch = ?> {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    jacobian.yield %gt : vector<4xf32>
  }
  return
}

// -----

func.func @linearize_saved(%a: tensor<?x4xf32>) {
  // expected-error @below {{saved array 'tensor<?x4xf32>' must have rank 2 and give a vector of its last dimension, found 'vector<3xf32>'}}
  %0 = jacobian.linearize saved(%a : tensor<?x4xf32>) states [4] -> !jacobian.matrix<4x4xf32, dense, batch = ?> {
  ^bb0(%at: vector<3xf32>, %gt: vector<4xf32>):
    jacobian.yield %gt : vector<4xf32>
  }
  return
}

// -----

func.func @linearize_yields(%a: tensor<?x4xf32>) {
  // expected-error @below {{must yield the cotangents of 1 states and nothing else, found 2 values}}
  %0 = jacobian.linearize saved(%a : tensor<?x4xf32>) states [4] -> !jacobian.matrix<4x4xf32, dense, batch = ?> {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    jacobian.yield %gt, %at : vector<4xf32>, vector<4xf32>
  }
  return
}

// -----

func.func @linearize_cotangent(%a: tensor<?x4xf32>) {
  // expected-error @below {{the cotangent of state 0 must have type 'vector<4xf32>', found 'vector<3xf32>' to 'vector<4xf32>'}}
  %0 = jacobian.linearize saved(%a : tensor<?x4xf32>) states [4] -> !jacobian.matrix<4x4xf32, dense, batch = ?> {
  ^bb0(%at: vector<4xf32>, %gt: vector<3xf32>):
    jacobian.yield %at : vector<4xf32>
  }
  return
}

// -----

func.func @linearize_batch(%a: tensor<?x4xf32>) {
  // expected-error @below {{needs a jacobian with a batch if and only if it reads saved arrays, found '!jacobian.matrix<4x4xf32, dense>' and 1 saved arrays}}
  %0 = jacobian.linearize saved(%a : tensor<?x4xf32>) states [4] -> !jacobian.matrix<4x4xf32, dense> {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    jacobian.yield %gt : vector<4xf32>
  }
  return
}

// -----

func.func @compose_inner(%j: !jacobian.matrix<2x3xf32, dense>) {
  // expected-error @below {{the second jacobian must have as many columns as the first has rows (2), found 3}}
  %0 = jacobian.compose %j, %j : !jacobian.matrix<2x3xf32, dense>, !jacobian.matrix<2x3xf32, dense> -> !jacobian.matrix<2x3xf32, dense>
  return
}

// -----

func.func @compose_outer(%j: !jacobian.matrix<2x3xf32, dense>, %k: !jacobian.matrix<4x2xf32, dense>) {
  // expected-error @below {{the product must be 4x3, found 3x4}}
  %0 = jacobian.compose %j, %k : !jacobian.matrix<2x3xf32, dense>, !jacobian.matrix<4x2xf32, dense> -> !jacobian.matrix<3x4xf32, dense>
  return
}

// -----

func.func @compose_batch(%j: !jacobian.matrix<3x3xf32, dense, batch = 8>, %k: !jacobian.matrix<3x3xf32, dense>) {
  // expected-error @below {{needs a product with a batch if and only if a factor has one, found '!jacobian.matrix<3x3xf32, dense>'}}
  %0 = jacobian.compose %j, %k : !jacobian.matrix<3x3xf32, dense, batch = 8>, !jacobian.matrix<3x3xf32, dense> -> !jacobian.matrix<3x3xf32, dense>
  return
}

// -----

func.func @compose_structure(%j: !jacobian.matrix<3x3xf32, diagonal>, %k: !jacobian.matrix<3x3xf32, dense>) {
  // expected-error @below {{the product of dense and diagonal is dense, found diagonal}}
  %0 = jacobian.compose %j, %k : !jacobian.matrix<3x3xf32, diagonal>, !jacobian.matrix<3x3xf32, dense> -> !jacobian.matrix<3x3xf32, diagonal>
  return
}

// -----

func.func @apply_columns(%j: !jacobian.matrix<2x3xf32, dense>, %g: tensor<?x2xf32>) -> tensor<?x2xf32> {
  // expected-error @below {{needs a cotangent of shape [batch, 3], found 'tensor<?x2xf32>'}}
  %0 = jacobian.apply %j, %g : !jacobian.matrix<2x3xf32, dense>, tensor<?x2xf32> -> tensor<?x2xf32>
  return %0 : tensor<?x2xf32>
}

// -----

func.func @apply_rows(%j: !jacobian.matrix<2x3xf32, dense>, %g: tensor<?x3xf32>) -> tensor<?x3xf32> {
  // expected-error @below {{needs a result of shape [batch, 2], found 'tensor<?x3xf32>'}}
  %0 = jacobian.apply %j, %g : !jacobian.matrix<2x3xf32, dense>, tensor<?x3xf32> -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}

// -----

// Graph level

func.func @dropout_ratio(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @below {{needs a ratio of at least 0 and less than 1, found 1}}
  %0 = bppsa.dropout %x ratio 1.000000e+00 stream 0 : tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

func.func @dropout_type(%x: tensor<?xi32>) -> tensor<?xi32> {
  // expected-error @below {{needs a float tensor, found 'tensor<?xi32>'}}
  %0 = bppsa.dropout %x ratio 5.000000e-01 stream 0 : tensor<?xi32>
  return %0 : tensor<?xi32>
}

// -----

func.func @statistic_type(%x: tensor<?xi32>) -> tensor<?xi32> {
  // expected-error @below {{needs float tensors, found 'tensor<?xi32>'}}
  %0, %1 = bppsa.running_statistic %x of %x momentum 9.0e-01 : tensor<?xi32>
  return %0 : tensor<?xi32>
}

// -----

// Structures

// expected-error @below {{the pattern of a 4x3 jacobian must have its shape, found 3x4}}
func.func private @structure() attributes {type = !jacobian.matrix<4x3xf32, csr(#jacobian.pattern<3x4, [[0]], [0, 0, 0]>)>}

// -----

// expected-error @below {{3 blocks must divide the rows and columns of a jacobian, found 4x4}}
func.func private @structure() attributes {type = !jacobian.matrix<4x4xf32, block_diagonal(3, dense)>}

// -----

// expected-error @below {{a block diagonal needs at least one block, found 0}}
func.func private @structure() attributes {type = !jacobian.matrix<4x4xf32, block_diagonal(0, dense)>}

// -----

// expected-error @below {{a jacobian with structure 'identity' must be square, found 2x4; use dense}}
func.func private @structure() attributes {type = !jacobian.matrix<4x8xf32, block_diagonal(2, identity)>}

// -----

// expected-error @below {{the blocks of a 4x4 jacobian must add up to its shape, found 3x4}}
func.func private @structure() attributes {type = !jacobian.matrix<4x4xf32, blocks([2, 1], [4], [dense, dense])>}

// -----

// expected-error @below {{a block of a jacobian needs at least one row and column, found a size of 0}}
func.func private @structure() attributes {type = !jacobian.matrix<4x4xf32, blocks([4, 0], [4], [dense, dense])>}

// -----

// expected-error @below {{a grid of 2 x 2 blocks needs as many structures, found 3}}
func.func private @structure() attributes {type = !jacobian.matrix<4x4xf32, blocks([2, 2], [2, 2], [dense, zero, dense])>}

// -----

// expected-error @below {{a jacobian with structure 'diagonal' must be square, found 2x1; use dense}}
func.func private @structure() attributes {type = !jacobian.matrix<4x4xf32, blocks([2, 2], [1, 3], [diagonal, zero, zero, dense])>}

// -----

// expected-error @below {{a sum needs at least 2 structures, found 1}}
func.func private @structure() attributes {type = !jacobian.matrix<4x4xf32, sum(dense)>}

// -----

// expected-error @below {{a jacobian with structure 'diagonal' must be square, found 4x3; use dense}}
func.func private @structure() attributes {type = !jacobian.matrix<4x3xf32, sum(dense, diagonal)>}

// -----

// expected-error @below {{a pattern needs 2 dimensions below 2^31}}
func.func private @structure() attributes {pattern = #jacobian.pattern<2x3x4, [[0]], [0, 0]>}

// -----

// expected-error @below {{expected ascending numbers from 0 to 2, found 3 to 3}}
func.func private @structure() attributes {pattern = #jacobian.pattern<2x3, [[3]], [0, 0]>}

// -----

// expected-error @below {{the columns of a row must ascend}}
func.func private @structure() attributes {pattern = #jacobian.pattern<2x3, [[1, 0]], [0, 0]>}

// -----

// expected-error @below {{expected ascending numbers from 0 to 0, found 1 to 1}}
func.func private @structure() attributes {pattern = #jacobian.pattern<2x3, [[0]], [0, 1]>}

// -----

// expected-error @below {{a pattern of 2 rows must say for each which one it is, found 1}}
func.func private @structure() attributes {pattern = #jacobian.pattern<2x3, [[0]], [0]>}

// -----

func.func @compose_patterns(%j: !jacobian.matrix<2x2xf32, csr(#jacobian.pattern<2x2, [[0], [0, 1]], [0, 1]>)>) {
  // expected-error @below {{the product of csr with 3 entries and csr with 3 entries is csr with 3 entries, found csr with 1 entries}}
  %0 = jacobian.compose %j, %j : !jacobian.matrix<2x2xf32, csr(#jacobian.pattern<2x2, [[0], [0, 1]], [0, 1]>)>, !jacobian.matrix<2x2xf32, csr(#jacobian.pattern<2x2, [[0], [0, 1]], [0, 1]>)> -> !jacobian.matrix<2x2xf32, csr(#jacobian.pattern<2x2, [[0], []], [0, 1]>)>
  return
}
