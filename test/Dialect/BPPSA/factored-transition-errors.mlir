// RUN: bppsa-opt %s -split-input-file --verify-diagnostics

func.func @no_state(%e: tensor<?x4x4xf32>) {
  // expected-error @below {{'bppsa.factored_transition' op needs at least one state, and states of at least one value}}
  %0 = bppsa.factored_transition states [] terms [] into(%e : tensor<?x4x4xf32>) -> tensor<?x4x4xf32>
  return
}

// -----

func.func @result(%e: memref<?x4x4xf32>) {
  // expected-error @below {{'bppsa.factored_transition' op with the destination 'memref<?x4x4xf32>' must have no results}}
  %0 = bppsa.factored_transition states [4] terms [] into(%e : memref<?x4x4xf32>) -> tensor<?x4x4xf32>
  return
}

// -----

func.func @state(%e: tensor<?x4x4xf32>) {
  // expected-error @below {{'bppsa.factored_transition' op a term must name one of the 1 states, found 1}}
  %0 = bppsa.factored_transition states [4] terms [#bppsa.term<row = 0, col = 1>]
      into(%e : tensor<?x4x4xf32>) -> tensor<?x4x4xf32>
  return
}

// -----

func.func @scale(%e: tensor<?x4x4xf32>) {
  // expected-error @below {{'bppsa.factored_transition' op a term must name one of the 0 scales by its number, or -1 for none, found 0}}
  %0 = bppsa.factored_transition states [4] terms [#bppsa.term<row = 0, col = 0, left = 0>]
      into(%e : tensor<?x4x4xf32>) -> tensor<?x4x4xf32>
  return
}

// -----

func.func @scale_number(%e: tensor<?x4x4xf32>) {
  // expected-error @below {{'bppsa.factored_transition' op a term must name one of the 0 scales by its number, or -1 for none, found -2}}
  %0 = bppsa.factored_transition states [4] terms [#bppsa.term<row = 0, col = 0, right = -2>]
      into(%e : tensor<?x4x4xf32>) -> tensor<?x4x4xf32>
  return
}

// -----

func.func @matrix(%e: tensor<?x4x4xf32>) {
  // expected-error @below {{'bppsa.factored_transition' op a term must name one of the 0 matrices by its number, or -1 for none, found 2}}
  %0 = bppsa.factored_transition states [4] terms [#bppsa.term<row = 0, col = 0, matrix = 2>]
      into(%e : tensor<?x4x4xf32>) -> tensor<?x4x4xf32>
  return
}

// -----

func.func @scale_rank(%d: tensor<5x?x4xf32>, %e: tensor<?x4x4xf32>) {
  // expected-error @below {{'bppsa.factored_transition' op a scale must have rank 2, found 'tensor<5x?x4xf32>'}}
  %0 = bppsa.factored_transition states [4] terms [#bppsa.term<row = 0, col = 0, right = 0>]
      scales(%d : tensor<5x?x4xf32>) into(%e : tensor<?x4x4xf32>) -> tensor<?x4x4xf32>
  return
}

// -----

func.func @scale_size(%d: tensor<?x3xf32>, %e: tensor<?x4x4xf32>) {
  // expected-error @below {{'bppsa.factored_transition' op scale 0 must have the 4 values of its state, found 'tensor<?x3xf32>'}}
  %0 = bppsa.factored_transition states [4] terms [#bppsa.term<row = 0, col = 0, right = 0>]
      scales(%d : tensor<?x3xf32>) into(%e : tensor<?x4x4xf32>) -> tensor<?x4x4xf32>
  return
}

// -----

func.func @diagonal(%e: tensor<?x6x6xf32>) {
  // expected-error @below {{'bppsa.factored_transition' op a term without a matrix must be a square diagonal that is not transposed, found 4 x 2}}
  %0 = bppsa.factored_transition states [4, 2] terms [#bppsa.term<row = 0, col = 1>]
      into(%e : tensor<?x6x6xf32>) -> tensor<?x6x6xf32>
  return
}

// -----

func.func @matrix_size(%u: tensor<4x2xf32>, %e: tensor<?x6x6xf32>) {
  // expected-error @below {{'bppsa.factored_transition' op matrix 0 must be 2 x 4, found 'tensor<4x2xf32>'}}
  %0 = bppsa.factored_transition states [4, 2] terms [#bppsa.term<row = 0, col = 1, matrix = 0, transposed = true>]
      matrices(%u : tensor<4x2xf32>) into(%e : tensor<?x6x6xf32>) -> tensor<?x6x6xf32>
  return
}

// -----

func.func @injected(%g: tensor<?x4xf32>, %e: tensor<?x5x4xf32>) {
  // expected-error @below {{'bppsa.factored_transition' op needs one state index for each injected cotangent, found 0 indices for 1 cotangents}}
  %0 = bppsa.factored_transition states [4] terms [] injected(%g : tensor<?x4xf32>)
      into(%e : tensor<?x5x4xf32>) -> tensor<?x5x4xf32>
  return
}

// -----

func.func @inject_into(%g: tensor<?x4xf32>, %e: tensor<?x5x4xf32>) {
  // expected-error @below {{'bppsa.factored_transition' op inject_into must name one of the 1 states, found 3}}
  %0 = bppsa.factored_transition states [4] terms [] injected(%g : tensor<?x4xf32>) inject_into [3]
      into(%e : tensor<?x5x4xf32>) -> tensor<?x5x4xf32>
  return
}

// -----

func.func @injected_rank(%g: tensor<5x?x4xf32>, %e: tensor<?x5x4xf32>) {
  // expected-error @below {{'bppsa.factored_transition' op a cotangent must have rank 2, found 'tensor<5x?x4xf32>'}}
  %0 = bppsa.factored_transition states [4] terms [] injected(%g : tensor<5x?x4xf32>) inject_into [0]
      into(%e : tensor<?x5x4xf32>) -> tensor<?x5x4xf32>
  return
}

// -----

func.func @injected_size(%g: tensor<?x3xf32>, %e: tensor<?x5x4xf32>) {
  // expected-error @below {{'bppsa.factored_transition' op an injected cotangent must have the 4 values of its state, found 'tensor<?x3xf32>'}}
  %0 = bppsa.factored_transition states [4] terms [] injected(%g : tensor<?x3xf32>) inject_into [0]
      into(%e : tensor<?x5x4xf32>) -> tensor<?x5x4xf32>
  return
}

// -----

func.func @destination(%e: tensor<?x4x3xf32>) {
  // expected-error @below {{'bppsa.factored_transition' op a transition of 4 values must have 4 or, with an offset, 5 columns of 4 rows, found 'tensor<?x4x3xf32>'}}
  %0 = bppsa.factored_transition states [4] terms [] into(%e : tensor<?x4x3xf32>) -> tensor<?x4x3xf32>
  return
}

// -----

func.func @columns(%e: tensor<?x5x4xf32>) {
  // expected-error @below {{'bppsa.factored_transition' op must make 4 columns, found 'tensor<?x5x4xf32>'}}
  %0 = bppsa.factored_transition states [4] terms [] into(%e : tensor<?x5x4xf32>) -> tensor<?x5x4xf32>
  return
}
