// RUN: bppsa-opt %s --split-input-file --verify-diagnostics --bppsa-add-loss=loss=cross-entropy
// RUN: not bppsa-opt %s --split-input-file --bppsa-add-loss=loss=hinge 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not bppsa-opt %s --split-input-file --bppsa-add-loss="loss=mse output=z" 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: not bppsa-opt %s --split-input-file --bppsa-add-loss=loss=none 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not bppsa-opt %s --split-input-file --bppsa-add-loss="loss=mse weights=true class-weights=1,2" 2>&1 | FileCheck %s --check-prefix=CLASSES
// RUN: not bppsa-opt %s --split-input-file --bppsa-add-loss="loss=nll weights=true label-smoothing=0.5" 2>&1 | FileCheck %s --check-prefix=SMOOTH
// RUN: not bppsa-opt %s --split-input-file --bppsa-add-loss="loss=cross-entropy weights=true label-smoothing=1" 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not bppsa-opt %s --split-input-file --bppsa-add-loss="loss=cross-entropy label-smoothing=0.5" 2>&1 | FileCheck %s --check-prefix=WEIGHTS
// RUN: not bppsa-opt %s --split-input-file --bppsa-add-loss="loss=cross-entropy weights=true class-weights=1,2" 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not bppsa-opt %s --split-input-file --bppsa-add-loss="loss=mse output=y,y" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not bppsa-opt %s --split-input-file --bppsa-add-loss="loss=mse,l1 output=y" 2>&1 | FileCheck %s --check-prefix=EACH

// TWICE: error: an output has one loss, found two of 'y'; remove one
// EACH: error: as many losses and factors as outputs are needed, 1, found 2 and 0
// NAME: error: unknown loss 'hinge'; there are cross-entropy, nll, mse, l1, huber, bce-with-logits, vjp and none
// CLASSES: error: class weights need loss cross-entropy or nll, found mse
// SMOOTH: error: label smoothing needs loss cross-entropy, found nll
// RANGE: error: label smoothing must be at least 0 and below 1, found 1.000000e+00
// WEIGHTS: error: class weights and label smoothing need weights of positions; set weights=true
// COUNT: error: the class weights must be as many as the output has classes, 4, found 2
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

// expected-error @below {{loss cross-entropy needs an output with elements, found "y" of 'tensor<?x0xf32>'; choose another output}}
func.func @forward(%y: tensor<?x0xf32>) -> (tensor<?x0xf32> {bppsa.output = "y"}) {
  return %y : tensor<?x0xf32>
}

// -----

// expected-error @below {{needs a function @forward with one block}}
module {}
