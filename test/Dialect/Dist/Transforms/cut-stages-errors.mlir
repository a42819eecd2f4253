// RUN: bppsa-opt %s -split-input-file -verify-diagnostics -bppsa-cut-stages=stages=2

func.func @step(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {bppsa.entry = #bppsa.entry<role = step>} {
  %e = tensor.empty() : tensor<4xf32>
  %a = linalg.add {bppsa.stage = 1 : i64} ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{'linalg.add' op of stage 0 needs a value of stage 1, which activations reach later; put them into one stage}}
  %b = linalg.add {bppsa.stage = 0 : i64} ins(%a, %a : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}

// -----

func.func @step(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {bppsa.entry = #bppsa.entry<role = step>} {
  %e = tensor.empty() : tensor<4xf32>
  bppsa.mark_phase 1
  %a = linalg.add {bppsa.stage = 0 : i64} ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{'linalg.add' op of stage 1 needs a value of stage 0, which cotangents reach later; put them into one stage}}
  %b = linalg.add {bppsa.stage = 1 : i64} ins(%a, %a : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}

// -----

func.func @step(%x: tensor<f32>) -> tensor<f32>
    attributes {bppsa.entry = #bppsa.entry<role = step>} {
  %e = tensor.empty() : tensor<f32>
  // expected-error @below {{'tensor.extract' op makes a value of type 'f32' that stage 1 also needs; stages can exchange only tensors}}
  %a = tensor.extract %x[] {bppsa.stage = 0 : i64} : tensor<f32>
  %b = linalg.fill {bppsa.stage = 1 : i64} ins(%a : f32) outs(%e : tensor<f32>) -> tensor<f32>
  return %b : tensor<f32>
}

// -----

func.func private @random() -> index

func.func @step(%x: tensor<4xf32>) -> tensor<?xf32>
    attributes {bppsa.entry = #bppsa.entry<role = step>} {
  // expected-error @below {{'func.call' op of no stage has side effects; it needs a stage}}
  %n = func.call @random() : () -> index
  %a = tensor.empty(%n) {bppsa.stage = 0 : i64} : tensor<?xf32>
  return %a : tensor<?xf32>
}

// -----

func.func private @random() -> index

func.func @step(%x: tensor<4xf32>) -> tensor<?xf32>
    attributes {bppsa.entry = #bppsa.entry<role = step>} {
  %n = func.call @random() {bppsa.stage = 0 : i64} : () -> index
  // expected-error @below {{'tensor.empty' op has sizes that depend on values computed in a stage; stages can exchange only arrays whose sizes follow from the sizes of arguments}}
  %a = tensor.empty(%n) {bppsa.stage = 0 : i64} : tensor<?xf32>
  %b = linalg.exp {bppsa.stage = 1 : i64} ins(%a : tensor<?xf32>) outs(%a : tensor<?xf32>) -> tensor<?xf32>
  return %b : tensor<?xf32>
}
