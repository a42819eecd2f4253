// RUN: bppsa-opt %s -split-input-file --verify-diagnostics

func.func @columns(%a: tensor<8x?x4xf32>, %e: tensor<?x3x4xf32>) {
  // expected-error @below {{'bppsa.transition' op a transition of 4 values must have 4 or, with an offset, 5 columns of 4 rows, found 'tensor<?x3x4xf32>'}}
  %0 = bppsa.transition states [4] saved(%a : tensor<8x?x4xf32>) into(%e : tensor<?x3x4xf32>) -> tensor<?x3x4xf32> {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    bppsa.yield %gt : vector<4xf32>
  }
  return
}

// -----

func.func @offset(%a: tensor<8x?x4xf32>, %e: tensor<?x5x4xf32>) {
  // expected-error @below {{'bppsa.transition' op must make 4 columns, found 'tensor<?x5x4xf32>'}}
  %0 = bppsa.transition states [4] saved(%a : tensor<8x?x4xf32>) into(%e : tensor<?x5x4xf32>) -> tensor<?x5x4xf32> {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    bppsa.yield %gt : vector<4xf32>
  }
  return
}

// -----

func.func @yields(%a: tensor<8x?x4xf32>, %e: tensor<?x4x4xf32>) {
  // expected-error @below {{'bppsa.transition' op must yield the cotangents of 1 states and nothing else, found 2 values}}
  %0 = bppsa.transition states [4] saved(%a : tensor<8x?x4xf32>) into(%e : tensor<?x4x4xf32>) -> tensor<?x4x4xf32> {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    bppsa.yield %gt, %at : vector<4xf32>, vector<4xf32>
  }
  return
}

// -----

func.func @state_type(%a: tensor<8x?x4xf32>, %e: tensor<?x3x3xf32>) {
  // expected-error @below {{'bppsa.transition' op the cotangent of state 0 must have type 'vector<3xf32>', found 'vector<4xf32>' to 'vector<4xf32>'}}
  %0 = bppsa.transition states [3] saved(%a : tensor<8x?x4xf32>) into(%e : tensor<?x3x3xf32>) -> tensor<?x3x3xf32> {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    bppsa.yield %gt : vector<4xf32>
  }
  return
}

// -----

func.func @no_saved(%e: tensor<?x4x4xf32>) {
  // expected-error @below {{'bppsa.transition' op needs at least one saved sequence to know the number of steps}}
  %0 = bppsa.transition states [4] into(%e : tensor<?x4x4xf32>) -> tensor<?x4x4xf32> {
  ^bb0(%gt: vector<4xf32>):
    bppsa.yield %gt : vector<4xf32>
  }
  return
}

// -----

func.func @no_states(%a: tensor<8x?x4xf32>, %e: tensor<?x4x4xf32>) {
  // expected-error @below {{'bppsa.transition' op needs at least one state, and states of at least one value}}
  %0 = bppsa.transition states [] saved(%a : tensor<8x?x4xf32>) into(%e : tensor<?x4x4xf32>) -> tensor<?x4x4xf32> {
  ^bb0(%at: vector<4xf32>):
    bppsa.yield
  }
  return
}

// -----

func.func @injected_state(%a: tensor<8x?x4xf32>, %e: tensor<?x5x4xf32>) {
  // expected-error @below {{'bppsa.transition' op inject_into must name one of the 1 states, found 1}}
  %0 = bppsa.transition states [4] saved(%a : tensor<8x?x4xf32>) injected(%a : tensor<8x?x4xf32>) inject_into [1] into(%e : tensor<?x5x4xf32>) -> tensor<?x5x4xf32> {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    bppsa.yield %gt : vector<4xf32>
  }
  return
}

// -----

func.func @injected_count(%a: tensor<8x?x4xf32>, %e: tensor<?x5x4xf32>) {
  // expected-error @below {{'bppsa.transition' op needs one state index for each injected sequence, found 0 indices for 1 sequences}}
  %0 = bppsa.transition states [4] saved(%a : tensor<8x?x4xf32>) injected(%a : tensor<8x?x4xf32>) into(%e : tensor<?x5x4xf32>) -> tensor<?x5x4xf32> {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    bppsa.yield %gt : vector<4xf32>
  }
  return
}

// -----

func.func @sequence(%a: tensor<8x?x4xf32>, %e: tensor<?x4x4xf32>) {
  // expected-error @below {{'bppsa.transition' op sequence 'tensor<8x?x4xf32>' must give the body a vector of its features, found 'vector<3xf32>'}}
  %0 = bppsa.transition states [4] saved(%a : tensor<8x?x4xf32>) into(%e : tensor<?x4x4xf32>) -> tensor<?x4x4xf32> {
  ^bb0(%at: vector<3xf32>, %gt: vector<4xf32>):
    bppsa.yield %gt : vector<4xf32>
  }
  return
}

// -----

func.func @rank(%a: tensor<8x4xf32>, %e: tensor<?x4x4xf32>) {
  // expected-error @below {{'bppsa.transition' op a sequence must have rank 3, found 'tensor<8x4xf32>'}}
  %0 = bppsa.transition states [4] saved(%a : tensor<8x4xf32>) into(%e : tensor<?x4x4xf32>) -> tensor<?x4x4xf32> {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    bppsa.yield %gt : vector<4xf32>
  }
  return
}

// -----

func.func @lanes(%m: memref<?x4x4x8xf32>, %g: memref<?x4x16xf32>, %o: memref<?x4x16xf32>) {
  // expected-error @below {{'bppsa.apply_transition' op a transition must have 16 lanes in its last dimension, found 'memref<?x4x4x8xf32>'}}
  bppsa.apply_transition lanes 16 %m, %g into %o : memref<?x4x4x8xf32>, memref<?x4x16xf32>, memref<?x4x16xf32>
  return
}

// -----

func.func @values(%m: memref<?x4x4xf32>, %g: memref<?x4xf32>, %o: memref<?x3xf32>) {
  // expected-error @below {{'bppsa.apply_transition' op must keep the 4 values of its cotangent, found 'memref<?x3xf32>'}}
  bppsa.apply_transition %m, %g into %o : memref<?x4x4xf32>, memref<?x4xf32>, memref<?x3xf32>
  return
}

// -----

func.func @overwritten_cotangent(%m: memref<?x4x4xf32>, %g: memref<?x4xf32>) {
  // expected-error @below {{'bppsa.apply_transition' op must not overwrite its cotangent, which every row of the result reads; use other memory}}
  bppsa.apply_transition %m, %g into %g : memref<?x4x4xf32>, memref<?x4xf32>, memref<?x4xf32>
  return
}

// -----

func.func @overwritten_first(%a: memref<?x4x4xf32>, %b: memref<?x4x4xf32>) {
  // expected-error @below {{'bppsa.compose_transitions' op must not overwrite its first operand, which every column of the result reads; use the second or other memory}}
  bppsa.compose_transitions %a, %b into %a : memref<?x4x4xf32>, memref<?x4x4xf32>, memref<?x4x4xf32>
  return
}

// -----

func.func @unlike(%a: memref<?x5x4xf32>, %b: memref<?x4x4xf32>) {
  // expected-error @below {{'bppsa.compose_transitions' op must have transitions of 5 columns only, found 'memref<?x4x4xf32>'}}
  bppsa.compose_transitions %a, %b into %b : memref<?x5x4xf32>, memref<?x4x4xf32>, memref<?x4x4xf32>
  return
}

// -----

func.func @result_on_memref(%m: memref<?x4x4xf32>, %g: memref<?x4xf32>, %o: memref<?x4xf32>) {
  // expected-error @below {{'bppsa.apply_transition' op with the destination 'memref<?x4xf32>' must have no results}}
  %0 = bppsa.apply_transition %m, %g into %o : memref<?x4x4xf32>, memref<?x4xf32>, memref<?x4xf32> -> tensor<?x4xf32>
  return
}

// -----

func.func @loop_destinations(%a: tensor<?x2x4xf32>, %g: tensor<2x4xf32>, %e: tensor<2x4xf32>) -> tensor<?x2x4xf32> {
  // expected-error @below {{'bppsa.chain' op on tensors must have destinations of the types of its results, or none}}
  %0, %1 = bppsa.chain saved(%a : tensor<?x2x4xf32>) seeds(%g : tensor<2x4xf32>)
      into(%e : tensor<2x4xf32>) -> (tensor<2x4xf32>) emitted(tensor<?x2x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    bppsa.yield %gt, %at : vector<4xf32>, vector<4xf32>
  }
  return %1 : tensor<?x2x4xf32>
}

// -----

func.func @rows_with_offset(%a: memref<8x?x4xf32>, %e: memref<?x5x4xf32>) {
  // expected-error @below {{'bppsa.transition' op by_rows needs transitions of 4 columns without an offset and lanes, found 'memref<?x5x4xf32>'; remove it}}
  bppsa.transition by_rows states [4] saved(%a : memref<8x?x4xf32>) injected(%a : memref<8x?x4xf32>) inject_into [0]
      into(%e : memref<?x5x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    bppsa.yield %gt : vector<4xf32>
  }
  return
}

// -----

func.func @diagonal_rows(%m: memref<?x1x4xf32>, %g: memref<?x4xf32>, %o: memref<?x4xf32>) {
  // expected-error @below {{'bppsa.apply_transition' op by_rows needs transitions of 4 columns without an offset and lanes, found 'memref<?x1x4xf32>'; remove it}}
  bppsa.apply_transition diagonal by_rows %m, %g into %o : memref<?x1x4xf32>, memref<?x4xf32>, memref<?x4xf32>
  return
}

// -----

func.func @packed_rows(%m: memref<?x4x4x2xf32>, %g: memref<?x4x2xf32>, %o: memref<?x4x2xf32>) {
  // expected-error @below {{'bppsa.apply_transition' op by_rows needs transitions of 4 columns without an offset and lanes, found 'memref<?x4x4x2xf32>'; remove it}}
  bppsa.apply_transition by_rows lanes 2 %m, %g into %o : memref<?x4x4x2xf32>, memref<?x4x2xf32>, memref<?x4x2xf32>
  return
}
