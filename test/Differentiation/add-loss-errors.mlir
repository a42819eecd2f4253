// RUN: bppsa-opt %s --split-input-file --verify-diagnostics --bppsa-add-loss=loss=cross-entropy
// RUN: not bppsa-opt %s --split-input-file --bppsa-add-loss=loss=hinge 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not bppsa-opt %s --split-input-file --bppsa-add-loss="loss=mse output=z" 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: not bppsa-opt %s --split-input-file --bppsa-add-loss=loss=none 2>&1 | FileCheck %s --check-prefix=NONE

// NAME: error: unknown loss 'hinge'; there are cross-entropy, nll, mse, l1, huber, bce-with-logits and none
// OUTPUT: error: the loss needs an output called 'z', found y
// NONE: error: loss none needs an output with one element, found 'tensor<4xf32>'; choose another output or a loss

// expected-error @below {{loss cross-entropy needs an f32 output, found 'tensor<?xi32>'}}
func.func @forward(%x: tensor<?xi32>) -> (tensor<?xi32> {bppsa.output = "y"}) {
  return %x : tensor<?xi32>
}

// -----

func.func @forward(%x: tensor<4xf32>) -> (tensor<4xf32> {bppsa.output = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{loss cross-entropy needs an output with a last axis of classes, found 'tensor<f32>'}}
func.func @forward(%x: tensor<f32>) -> (tensor<f32> {bppsa.output = "y"}) {
  return %x : tensor<f32>
}

// -----

// expected-error @below {{loss cross-entropy needs an output with a fixed number of classes, its last axis, found 'tensor<3x?xf32>'; choose another output or a loss}}
func.func @forward(%y: tensor<3x?xf32>) -> (tensor<3x?xf32> {bppsa.output = "y"}) {
  return %y : tensor<3x?xf32>
}

// -----

// expected-error @below {{loss cross-entropy needs an output with elements, found "y" of 'tensor<?x0xf32>'; choose another output with --loss-on}}
func.func @forward(%y: tensor<?x0xf32>) -> (tensor<?x0xf32> {bppsa.output = "y"}) {
  return %y : tensor<?x0xf32>
}

// -----

// expected-error @below {{needs a function @forward with one block}}
module {}
