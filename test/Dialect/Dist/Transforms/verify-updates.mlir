// RUN: bppsa-opt %s -split-input-file -verify-diagnostics --bppsa-verify-updates

// The gradient of %w is computed in the next step and may read %w, which is updated after it. A
// function that does not signal final gradients, such as a pipeline stage, is not checked.

func.func @step(%w: memref<8xf32> {bppsa.parameter = "w"}, %v: memref<8xf32> {bppsa.parameter = "v"},
                %loss: memref<f32> {bppsa.loss}, %dv: memref<8xf32> {bppsa.gradient = "v"},
                %dw: memref<8xf32> {bppsa.gradient = "w"}) {
  dist.await_parameter %w : memref<8xf32>
  dist.await_parameter %v : memref<8xf32>
  memref.copy %v, %dv : memref<8xf32> to memref<8xf32>
  dist.signal_gradient %dv : memref<8xf32>
  bppsa.mark_phase 2
  memref.copy %w, %dw : memref<8xf32> to memref<8xf32>
  dist.signal_gradient %dw : memref<8xf32>
  return
}

func.func @stage(%w: memref<8xf32> {bppsa.parameter = "w"}, %dw: memref<8xf32> {bppsa.gradient = "w"}) {
  bppsa.mark_phase 2
  memref.copy %w, %dw : memref<8xf32> to memref<8xf32>
  return
}

// -----

// Uses through an earlier view are checked too.

func.func @step(%w: memref<8xf32> {bppsa.parameter = "w"}, %v: memref<8xf32> {bppsa.parameter = "v"},
                %dv: memref<8xf32> {bppsa.gradient = "v"}, %dw: memref<4xf32> {bppsa.gradient = "w"}) {
  %part = memref.subview %v[0] [4] [1] : memref<8xf32> to memref<4xf32>
  memref.copy %v, %dv : memref<8xf32> to memref<8xf32>
  dist.signal_gradient %dv : memref<8xf32>
  bppsa.mark_phase 2
  // expected-error @below {{uses parameter v after its update; form that gradient in the next step, too, or this one in the same step}}
  memref.copy %part, %dw : memref<4xf32> to memref<4xf32>
  dist.signal_gradient %dw : memref<4xf32>
  return
}

// -----

func.func @step(%w: memref<f32> {bppsa.parameter = "w"}, %loss: memref<f32> {bppsa.loss},
                %dw: memref<f32> {bppsa.gradient = "w"}) {
  bppsa.mark_phase 2
  // expected-error @below {{computes a loss or a statistic after the end of the step; move it before 'bppsa.mark_phase 2'}}
  memref.copy %w, %loss : memref<f32> to memref<f32>
  dist.signal_gradient %dw : memref<f32>
  return
}
