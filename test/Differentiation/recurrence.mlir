// RUN: bppsa-opt %s --split-input-file --bppsa-differentiate="wrt=all" --canonicalize --cse | FileCheck %s
// RUN: bppsa-opt %s --split-input-file --bppsa-differentiate --canonicalize --cse | FileCheck %s --check-prefix=STEP

// The link reads only the state after the step. The seed is the cotangent of the last state.
// Cotangents of inputs are computed outside the chain, and only if they are requested.

// CHECK-LABEL: func.func @step(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x?x3xf32>
// CHECK-SAME:    %[[H0:[^:]*]]: tensor<?x4xf32>
// CHECK-SAME:    %[[W:[^:]*]]: tensor<4x3xf32>
// CHECK-SAME:    %[[R:[^:]*]]: tensor<4x4xf32>
// CHECK-SAME:    %[[B:[^:]*]]: tensor<4xf32>
// CHECK:         %[[H:.*]] = bppsa.recurrence sequences(%[[X]] : tensor<?x?x3xf32>) initial(%[[H0]] : tensor<?x4xf32>) captures(%[[W]], %[[R]], %[[B]]
// CHECK:           bppsa.yield %{{.*}} : vector<4xf32>
// CHECK:         bppsa.mark_phase 1
// CHECK:         %[[SEED:.*]] = linalg.generic
// CHECK:         %[[AFTER:.*]] = tensor.extract_slice %[[H]][1, 0, 0]
// CHECK:         %[[DH0:.*]], %[[DELTA:.*]] = bppsa.chain saved(%[[AFTER]] : tensor<?x?x4xf32>) seeds(%[[SEED]] : tensor<?x4xf32>) captures(%[[R]] : tensor<4x4xf32>) -> (tensor<?x4xf32>) emitted(tensor<?x?x4xf32>) {
// CHECK-NEXT:    ^bb0(%[[AT:.*]]: vector<4xf32>, %[[G:.*]]: vector<4xf32>, %[[RC:.*]]: vector<4x4xf32>):
// CHECK:           %[[SQUARE:.*]] = arith.mulf %[[AT]], %[[AT]]
// CHECK:           %[[SLOPE:.*]] = arith.subf %{{.*}}, %[[SQUARE]]
// CHECK:           %[[D:.*]] = arith.mulf %[[G]], %[[SLOPE]]
// CHECK:           %[[BEFORE:.*]] = bppsa.matvec transposed %[[RC]], %[[D]]
// CHECK:           bppsa.yield %[[BEFORE]], %[[D]]
// CHECK:         %[[DX:.*]] = bppsa.recurrence sequences(%[[DELTA]] : tensor<?x?x4xf32>) captures(%[[W]] : tensor<4x3xf32>) outputs(tensor<?x?x3xf32>)
// CHECK:         %[[PREVIOUS:.*]] = tensor.extract_slice %[[H]][0, 0, 0]
// CHECK-DAG:     %[[DR:.*]] = bppsa.outer_sum %[[DELTA]], %[[PREVIOUS]]
// CHECK-DAG:     %[[DW:.*]] = bppsa.outer_sum %[[DELTA]], %[[X]]
// CHECK-DAG:     %[[DB:.*]] = bppsa.step_sum %[[DELTA]]
// CHECK:         return %{{.*}}, %[[DX]], %[[DH0]], %[[DW]], %[[DR]], %[[DB]]

// STEP-LABEL: func.func @step(
// STEP:         bppsa.chain
// STEP-NOT:     bppsa.recurrence
// STEP:         return
func.func @loss(%x: tensor<?x?x3xf32> {bppsa.input = "x", bppsa.shape = affine_map<()[s0, s1] -> (s0, s1, 3)>},
                %h0: tensor<?x4xf32> {bppsa.input = "h0"},
                %w: tensor<4x3xf32> {bppsa.parameter = "w"}, %r: tensor<4x4xf32> {bppsa.parameter = "r"},
                %b: tensor<4xf32> {bppsa.parameter = "b"}) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = tensor.dim %x, %c0 : tensor<?x?x3xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?x3xf32>
  %h = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) initial(%h0 : tensor<?x4xf32>)
      captures(%w, %r, %b : tensor<4x3xf32>, tensor<4x4xf32>, tensor<4xf32>) -> (tensor<?x?x4xf32>) {
  ^bb0(%xt: vector<3xf32>, %ht: vector<4xf32>, %wc: vector<4x3xf32>, %rc: vector<4x4xf32>, %bc: vector<4xf32>):
    %0 = bppsa.matvec %wc, %xt plus %bc : vector<4x3xf32>, vector<3xf32> plus vector<4xf32> -> vector<4xf32>
    %1 = bppsa.matvec %rc, %ht plus %0 : vector<4x4xf32>, vector<4xf32> plus vector<4xf32> -> vector<4xf32>
    %2 = math.tanh %1 : vector<4xf32>
    bppsa.yield %2 : vector<4xf32>
  }
  %last = tensor.extract_slice %h[%t, 0, 0] [1, %n, 4] [1, 1, 1] : tensor<?x?x4xf32> to tensor<?x4xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<f32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%last : tensor<?x4xf32>) outs(%init : tensor<f32>) {
    ^bb0(%a: f32, %sum: f32):
      %0 = arith.mulf %a, %a : f32
      %1 = arith.addf %sum, %0 : f32
      linalg.yield %1 : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Products and transcendental functions that the link reads are saved; cheap values are recomputed.
// The cotangents of all steps are injected. A vector that is used as a factor gets the sum of its
// cotangents over steps.

// CHECK-LABEL: func.func @step(
// CHECK:         %[[H:.*]], %[[SAVED:.*]]:2 = bppsa.recurrence reverse
// CHECK-SAME:      -> (tensor<?x?x4xf32>) outputs(tensor<?x?x4xf32>, tensor<?x?x4xf32>)
// CHECK:           %[[PRODUCT:.*]] = bppsa.matvec
// CHECK:           %[[GATE:.*]] = bppsa.sigmoid
// CHECK:           bppsa.yield %{{.*}}, %[[GATE]], %[[PRODUCT]]
// CHECK:         bppsa.mark_phase 1
// CHECK:         %[[INJECTED:.*]] = linalg.generic
// CHECK:         bppsa.chain reverse saved(
// CHECK-SAME:      injected(%[[INJECTED]] : tensor<?x?x4xf32>) inject_into [0]
// CHECK:         bppsa.outer_sum
// CHECK:         bppsa.step_sum
func.func @loss(%x: tensor<?x?x4xf32>, %h0: tensor<?x4xf32>,
                %r: tensor<4x4xf32> {bppsa.parameter = "r"}, %p: tensor<4xf32> {bppsa.parameter = "p"}) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = tensor.dim %x, %c0 : tensor<?x?x4xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?x4xf32>
  %h = bppsa.recurrence reverse sequences(%x : tensor<?x?x4xf32>) initial(%h0 : tensor<?x4xf32>)
      captures(%r, %p : tensor<4x4xf32>, tensor<4xf32>) -> (tensor<?x?x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>, %rc: vector<4x4xf32>, %pc: vector<4xf32>):
    %0 = bppsa.matvec %rc, %ht : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    %1 = arith.mulf %xt, %pc : vector<4xf32>
    %2 = bppsa.sigmoid %1 : vector<4xf32>
    %3 = arith.mulf %0, %2 : vector<4xf32>
    bppsa.yield %3 : vector<4xf32>
  }
  %y = tensor.extract_slice %h[0, 0, 0] [%t, %n, 4] [1, 1, 1] : tensor<?x?x4xf32> to tensor<?x?x4xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<f32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> ()>], iterator_types = ["reduction", "reduction", "reduction"]}
      ins(%y : tensor<?x?x4xf32>) outs(%init : tensor<f32>) {
    ^bb0(%a: f32, %sum: f32):
      %0 = arith.mulf %a, %a : f32
      %1 = arith.addf %sum, %0 : f32
      linalg.yield %1 : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}
