// RUN: bppsa-opt %s -split-input-file -verify-diagnostics

// Loops whose body is a graph for one sample

func.func @mixed_arguments(%x: tensor<?x?x2x3xf32>, %v: tensor<?x?x3xf32>) -> tensor<?x?x2x3xf32> {
  // expected-error @below {{must have vectors only or tensors only as arguments and results of its body, found tensors and 'vector<3xf32>'}}
  %0 = bppsa.recurrence sequences(%x, %v : tensor<?x?x2x3xf32>, tensor<?x?x3xf32>) outputs(tensor<?x?x2x3xf32>) {
  ^bb0(%xt: tensor<2x3xf32>, %vt: vector<3xf32>):
    bppsa.yield %xt : tensor<2x3xf32>
  }
  return %0 : tensor<?x?x2x3xf32>
}

// -----

func.func @mixed_results(%v: tensor<?x?x3xf32>) -> tensor<?x?x3xf32> {
  // expected-error @below {{must have vectors only or tensors only as arguments and results of its body, found tensors and 'vector<3xf32>'}}
  %0 = bppsa.recurrence sequences(%v : tensor<?x?x3xf32>) outputs(tensor<?x?x3xf32>) {
  ^bb0(%vt: vector<3xf32>):
    %e = tensor.empty() : tensor<3xf32>
    bppsa.yield %e : tensor<3xf32>
  }
  return %0 : tensor<?x?x3xf32>
}

// -----

func.func @lanes(%x: tensor<?x?x3x16xf32>) -> tensor<?x?x3x16xf32> {
  // expected-error @below {{must have no lanes in graph form; run bppsa-lower-graph-bodies before bppsa-pack-batch}}
  %0 = bppsa.recurrence lanes 16 sequences(%x : tensor<?x?x3x16xf32>) outputs(tensor<?x?x3x16xf32>) {
  ^bb0(%xt: tensor<3x16xf32>):
    bppsa.yield %xt : tensor<3x16xf32>
  }
  return %0 : tensor<?x?x3x16xf32>
}

// -----

func.func @destinations(%x: tensor<?x?x2x3xf32>, %e: tensor<?x?x2x3xf32>) -> tensor<?x?x2x3xf32> {
  // expected-error @below {{must have no destinations in graph form; run bppsa-lower-graph-bodies before bufferization}}
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x2x3xf32>) into(%e : tensor<?x?x2x3xf32>) outputs(tensor<?x?x2x3xf32>) {
  ^bb0(%xt: tensor<2x3xf32>):
    bppsa.yield %xt : tensor<2x3xf32>
  }
  return %0 : tensor<?x?x2x3xf32>
}

// -----

func.func @memory(%x: memref<?x?x3xf32>) -> tensor<?x?x3xf32> {
  // expected-error @below {{sequence must be a tensor in graph form, found 'memref<?x?x3xf32>'; run bppsa-lower-graph-bodies before bufferization}}
  %0 = bppsa.recurrence sequences(%x : memref<?x?x3xf32>) outputs(tensor<?x?x3xf32>) {
  ^bb0(%xt: tensor<3xf32>):
    bppsa.yield %xt : tensor<3xf32>
  }
  return %0 : tensor<?x?x3xf32>
}

// -----

func.func @side_effects(%x: tensor<?x?x2x3xf32>, %m: memref<3xf32>) -> tensor<?x?x2x3xf32> {
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x2x3xf32>) outputs(tensor<?x?x2x3xf32>) {
  ^bb0(%xt: tensor<2x3xf32>):
    // expected-error @below {{'memref.alloc' op has side effects, which the body of a loop in graph form must not have}}
    %a = memref.alloc() : memref<3xf32>
    bppsa.yield %xt : tensor<2x3xf32>
  }
  return %0 : tensor<?x?x2x3xf32>
}

// -----

func.func @rank(%x: tensor<?xf32>) -> tensor<?x?xf32> {
  // expected-error @below {{sequence must have rank 2 or more, found 'tensor<?xf32>'}}
  %0 = bppsa.recurrence sequences(%x : tensor<?xf32>) outputs(tensor<?x?xf32>) {
  ^bb0(%xt: tensor<f32>):
    bppsa.yield %xt : tensor<f32>
  }
  return %0 : tensor<?x?xf32>
}

// -----

func.func @dynamic_sequence(%x: tensor<?x?x?xf32>) -> tensor<?x?x?xf32> {
  // expected-error @below {{sequence must have static dimensions after steps and samples, found 'tensor<?x?x?xf32>'}}
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x?xf32>) outputs(tensor<?x?x?xf32>) {
  ^bb0(%xt: tensor<?xf32>):
    bppsa.yield %xt : tensor<?xf32>
  }
  return %0 : tensor<?x?x?xf32>
}

// -----

func.func @dynamic_state(%x: tensor<?x?x3xf32>, %h: tensor<?x?xf32>) -> tensor<?x?x?xf32> {
  // expected-error @below {{initial state must have static dimensions after samples, found 'tensor<?x?xf32>'}}
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) initial(%h : tensor<?x?xf32>) -> (tensor<?x?x?xf32>) {
  ^bb0(%xt: tensor<3xf32>, %ht: tensor<?xf32>):
    bppsa.yield %ht : tensor<?xf32>
  }
  return %0 : tensor<?x?x?xf32>
}

// -----

func.func @body_value(%x: tensor<?x?x2x3xf32>) -> tensor<?x?x2x3xf32> {
  // expected-error @below {{sequence 'tensor<?x?x2x3xf32>' needs a body value of type 'tensor<2x3xf32>', found 'tensor<3x2xf32>'}}
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x2x3xf32>) outputs(tensor<?x?x2x3xf32>) {
  ^bb0(%xt: tensor<3x2xf32>):
    bppsa.yield %xt : tensor<3x2xf32>
  }
  return %0 : tensor<?x?x2x3xf32>
}

// -----

func.func @samples(%x: tensor<5x2x3xf32>, %h: tensor<7x3xf32>) -> tensor<6x2x3xf32> {
  // expected-error @below {{initial state must have 2 samples as the arrays before it, found 7 in 'tensor<7x3xf32>'}}
  %0 = bppsa.recurrence sequences(%x : tensor<5x2x3xf32>) initial(%h : tensor<7x3xf32>) -> (tensor<6x2x3xf32>) {
  ^bb0(%xt: tensor<3xf32>, %ht: tensor<3xf32>):
    bppsa.yield %ht : tensor<3xf32>
  }
  return %0 : tensor<6x2x3xf32>
}

// -----

func.func @slots(%x: tensor<5x2x3xf32>, %h: tensor<2x3xf32>) -> tensor<5x2x3xf32> {
  // expected-error @below {{trajectory must have 5 steps as the arrays before it, found 4 in 'tensor<5x2x3xf32>'}}
  %0 = bppsa.recurrence sequences(%x : tensor<5x2x3xf32>) initial(%h : tensor<2x3xf32>) -> (tensor<5x2x3xf32>) {
  ^bb0(%xt: tensor<3xf32>, %ht: tensor<3xf32>):
    bppsa.yield %ht : tensor<3xf32>
  }
  return %0 : tensor<5x2x3xf32>
}

// -----

func.func @dynamic_capture(%x: tensor<?x?x2x3xf32>, %w: tensor<?xf32>) -> tensor<?x?x2x3xf32> {
  // expected-error @below {{a capture must be a static tensor in graph form, found 'tensor<?xf32>'}}
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x2x3xf32>) captures(%w : tensor<?xf32>) outputs(tensor<?x?x2x3xf32>) {
  ^bb0(%xt: tensor<2x3xf32>, %wc: tensor<?xf32>):
    bppsa.yield %xt : tensor<2x3xf32>
  }
  return %0 : tensor<?x?x2x3xf32>
}

// -----

func.func @capture_type(%x: tensor<?x?x2x3xf32>, %w: tensor<2x3x4xf32>) -> tensor<?x?x2x3xf32> {
  // expected-error @below {{capture 'tensor<2x3x4xf32>' needs a body argument of its type, found 'tensor<4xf32>'}}
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x2x3xf32>) captures(%w : tensor<2x3x4xf32>) outputs(tensor<?x?x2x3xf32>) {
  ^bb0(%xt: tensor<2x3xf32>, %wc: tensor<4xf32>):
    bppsa.yield %xt : tensor<2x3xf32>
  }
  return %0 : tensor<?x?x2x3xf32>
}

// -----

func.func @state_changes(%x: tensor<?x?x2x3xf32>, %h: tensor<?x4xf32>) -> tensor<?x?x4xf32> {
  // expected-error @below {{state 0 must keep its type 'tensor<4xf32>', found 'tensor<2x3xf32>'}}
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x2x3xf32>) initial(%h : tensor<?x4xf32>) -> (tensor<?x?x4xf32>) {
  ^bb0(%xt: tensor<2x3xf32>, %ht: tensor<4xf32>):
    bppsa.yield %xt : tensor<2x3xf32>
  }
  return %0 : tensor<?x?x4xf32>
}

// -----

// Numbers of steps

func.func @no_steps(%h: tensor<?x3xf32>) -> tensor<?x?x3xf32> {
  // expected-error @below {{needs at least one sequence, or 'steps', to know the number of steps}}
  %0 = bppsa.recurrence initial(%h : tensor<?x3xf32>) -> (tensor<?x?x3xf32>) {
  ^bb0(%ht: tensor<3xf32>):
    bppsa.yield %ht : tensor<3xf32>
  }
  return %0 : tensor<?x?x3xf32>
}

// -----

func.func @steps_and_sequence(%x: tensor<?x?x2x3xf32>, %n: index) -> tensor<?x?x2x3xf32> {
  // expected-error @below {{must take its number of steps from its sequences; remove 'steps'}}
  %0 = bppsa.recurrence steps %n sequences(%x : tensor<?x?x2x3xf32>) outputs(tensor<?x?x2x3xf32>) {
  ^bb0(%xt: tensor<2x3xf32>):
    bppsa.yield %xt : tensor<2x3xf32>
  }
  return %0 : tensor<?x?x2x3xf32>
}

// -----

func.func @steps_of_vectors(%h: tensor<?x3xf32>, %n: index) -> tensor<?x?x3xf32> {
  // expected-error @below {{must take its number of steps from a sequence if its body has vectors; remove 'steps'}}
  %0 = bppsa.recurrence steps %n initial(%h : tensor<?x3xf32>) -> (tensor<?x?x3xf32>) {
  ^bb0(%ht: vector<3xf32>):
    bppsa.yield %ht : vector<3xf32>
  }
  return %0 : tensor<?x?x3xf32>
}

// -----

func.func @no_samples(%w: tensor<3xf32>, %n: index) -> tensor<?x?x3xf32> {
  // expected-error @below {{needs at least one sequence or state to know the number of samples}}
  %0 = bppsa.recurrence steps %n captures(%w : tensor<3xf32>) outputs(tensor<?x?x3xf32>) {
  ^bb0(%wc: tensor<3xf32>):
    bppsa.yield %wc : tensor<3xf32>
  }
  return %0 : tensor<?x?x3xf32>
}

// -----

// Chains

func.func @chain_plan(%a: tensor<?x?x2x3xf32>, %g: tensor<?x2x3xf32>) -> tensor<?x2x3xf32> {
  // expected-error @below {{must have the plan 'linear' in graph form, found 'blelloch'}}
  %0 = bppsa.chain plan <blelloch> saved(%a : tensor<?x?x2x3xf32>) seeds(%g : tensor<?x2x3xf32>) -> (tensor<?x2x3xf32>) {
  ^bb0(%at: tensor<2x3xf32>, %gt: tensor<2x3xf32>):
    bppsa.yield %gt : tensor<2x3xf32>
  }
  return %0 : tensor<?x2x3xf32>
}

// -----

func.func @chain_factors(%a: tensor<?x?x2x3xf32>, %g: tensor<?x2x3xf32>) -> tensor<?x2x3xf32> {
  // expected-error @below {{must have no factors in graph form, found 1}}
  %0 = bppsa.chain saved(%a : tensor<?x?x2x3xf32>) seeds(%g : tensor<?x2x3xf32>) factors(%a : tensor<?x?x2x3xf32>) -> (tensor<?x2x3xf32>) {
  ^bb0(%at: tensor<2x3xf32>, %gt: tensor<2x3xf32>):
    bppsa.yield %gt : tensor<2x3xf32>
  }
  return %0 : tensor<?x2x3xf32>
}

// -----

func.func @chain_sum_with(%a: tensor<?x?x2x3xf32>) -> tensor<2x3xf32> {
  // expected-error @below {{sum_with must have -1 in graph form, found 0}}
  %0 = bppsa.chain saved(%a : tensor<?x?x2x3xf32>) sum_with [0] sums(tensor<2x3xf32>) {
  ^bb0(%at: tensor<2x3xf32>):
    bppsa.yield %at : tensor<2x3xf32>
  }
  return %0 : tensor<2x3xf32>
}

// -----

func.func @chain_sum_type(%a: tensor<?x?x2x3xf32>) -> tensor<3xf32> {
  // expected-error @below {{a sum must have the type 'tensor<2x3xf32>', found 'tensor<3xf32>'}}
  %0 = bppsa.chain saved(%a : tensor<?x?x2x3xf32>) sum_with [-1] sums(tensor<3xf32>) {
  ^bb0(%at: tensor<2x3xf32>):
    bppsa.yield %at : tensor<2x3xf32>
  }
  return %0 : tensor<3xf32>
}

// -----

func.func @chain_no_steps(%g: tensor<?x2x3xf32>) -> tensor<?x2x3xf32> {
  // expected-error @below {{needs at least one saved sequence, or 'steps', to know the number of steps}}
  %0 = bppsa.chain seeds(%g : tensor<?x2x3xf32>) -> (tensor<?x2x3xf32>) {
  ^bb0(%gt: tensor<2x3xf32>):
    bppsa.yield %gt : tensor<2x3xf32>
  }
  return %0 : tensor<?x2x3xf32>
}
