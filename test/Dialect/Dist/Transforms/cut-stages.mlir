// RUN: bppsa-opt %s -bppsa-cut-stages=stages=2 | FileCheck %s
// RUN: bppsa-opt %s -bppsa-cut-stages=stages=2 | FileCheck %s --check-prefix=WHOLE
// RUN: bppsa-opt %s -bppsa-cut-stages=stages=2 | FileCheck %s --check-prefix=LATE

// Stage 0 sends an activation to stage 1, and stage 1 sends a cotangent back. Both have the sizes
// of the argument. Operations without a stage (%e, %u) are cloned into the stages that use them,
// and results belong to the stage that computes them. Functions are annotated with their work per
// sample: forward, cotangents, and parameter gradients.

// CHECK-LABEL: func.func @step_stage0(
//  CHECK-SAME:     %[[X:.*]]: tensor<?x4xf32> {bppsa.input = "x"}, %[[W0:.*]]: tensor<4x4xf32> {bppsa.parameter = "w0"}, %{{.*}}: tensor<4x4xf32> {bppsa.parameter = "w1"}, %{{.*}}: tensor<?x4xf32> {bppsa.target})
//  CHECK-SAME:     -> (tensor<?x4xf32> {bppsa.gradient = "w0"}) attributes {bppsa.entry = #bppsa.entry<role = step, stage = 0>, bppsa.stage_work = array<f64: 3.200000e+01, 0.000000e+00, 4.000000e+00>} {
//  CHECK-NEXT:   bppsa.mark_phase 0
//       CHECK:   %[[B:.*]] = tensor.dim %[[X]], %c0
//       CHECK:   %[[E:.*]] = tensor.empty(%[[B]])
//       CHECK:   %[[H0:.*]] = linalg.matmul ins(%[[X]], %[[W0]]
//  CHECK-NEXT:   dist.stage_send %[[H0]] to 1 channel 0 : tensor<?x4xf32>
//  CHECK-NEXT:   bppsa.mark_phase 1
//       CHECK:   %[[G:.*]] = dist.stage_receive(%{{.*}}) from 1 channel 1 : tensor<?x4xf32>
//       CHECK:   %[[D0:.*]] = linalg.mul {{.*}} ins(%[[X]], %[[G]]
//  CHECK-NEXT:   return %[[D0]] : tensor<?x4xf32>

// CHECK-LABEL: func.func @step_stage1(
//  CHECK-SAME:     -> (tensor<?x4xf32> {bppsa.output = "y"}) attributes {bppsa.entry = #bppsa.entry<role = step, stage = 1>, bppsa.stage_work = array<f64: 3.200000e+01, 4.000000e+00, 0.000000e+00>} {
//  CHECK-NEXT:   bppsa.mark_phase 0
//       CHECK:   %[[SIZE:.*]] = tensor.dim %arg0, %c0
//       CHECK:   %[[H0:.*]] = dist.stage_receive(%[[SIZE]]) from 0 channel 0 : tensor<?x4xf32>
//       CHECK:   %[[H1:.*]] = linalg.matmul ins(%[[H0]],
//       CHECK:   bppsa.mark_phase 1
//       CHECK:   %[[U:.*]] = linalg.add ins(%arg3, %arg3
//       CHECK:   %[[G:.*]] = linalg.sub ins(%[[H1]], %[[U]]
//  CHECK-NEXT:   dist.stage_send %[[G]] to 0 channel 1 : tensor<?x4xf32>
//  CHECK-NEXT:   return %[[H1]]

// WHOLE-LABEL: func.func @step(
//   WHOLE-NOT:   bppsa.stage
//       WHOLE: func.func @step_stage
func.func @step(%x: tensor<?x4xf32> {bppsa.input = "x"},
                %w0: tensor<4x4xf32> {bppsa.parameter = "w0"},
                %w1: tensor<4x4xf32> {bppsa.parameter = "w1"},
                %t: tensor<?x4xf32> {bppsa.target})
    -> (tensor<?x4xf32> {bppsa.output = "y"}, tensor<?x4xf32> {bppsa.gradient = "w0"})
    attributes {bppsa.entry = #bppsa.entry<role = step>} {
  %c0 = arith.constant 0 : index
  bppsa.mark_phase 0
  %b = tensor.dim %x, %c0 : tensor<?x4xf32>
  %e = tensor.empty(%b) : tensor<?x4xf32>
  %h0 = linalg.matmul {bppsa.stage = 0 : i64} ins(%x, %w0 : tensor<?x4xf32>, tensor<4x4xf32>) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
  %h1 = linalg.matmul {bppsa.stage = 1 : i64} ins(%h0, %w1 : tensor<?x4xf32>, tensor<4x4xf32>) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
  bppsa.mark_phase 1
  %d = tensor.dim %h1, %c0 : tensor<?x4xf32>
  %f = tensor.empty(%d) : tensor<?x4xf32>
  %u = linalg.add ins(%t, %t : tensor<?x4xf32>, tensor<?x4xf32>) outs(%f : tensor<?x4xf32>) -> tensor<?x4xf32>
  %g = linalg.sub {bppsa.stage = 1 : i64} ins(%h1, %u : tensor<?x4xf32>, tensor<?x4xf32>) outs(%f : tensor<?x4xf32>) -> tensor<?x4xf32>
  %d0 = linalg.mul {bppsa.stage = 0 : i64, bppsa.backward_part = #bppsa.backward_part<parameter, stage = 1>} ins(%x, %g : tensor<?x4xf32>, tensor<?x4xf32>) outs(%f : tensor<?x4xf32>) -> tensor<?x4xf32>
  return %h1, %d0 : tensor<?x4xf32>, tensor<?x4xf32>
}

// Running statistics come last, after the update by the previous microbatches.

// LATE-LABEL: func.func @step_normalized_stage0(
//       LATE:   bppsa.mark_phase 1
//       LATE:   linalg.sub
//       LATE:   %[[SUM:.*]] = linalg.add ins(%{{.*}}, %arg1
//  LATE-NEXT:   %[[NEW:.*]] = linalg.exp ins(%[[SUM]]
//  LATE-NEXT:   return %{{.*}}, %[[NEW]]
func.func @normalized(%x: tensor<4xf32> {bppsa.input = "x"},
                      %mean: tensor<4xf32> {bppsa.parameter = "mean"})
    -> (tensor<4xf32>, tensor<4xf32> {bppsa.updated = "mean"})
    attributes {bppsa.entry = #bppsa.entry<role = step, variant = "normalized">} {
  %e = tensor.empty() : tensor<4xf32>
  bppsa.mark_phase 0
  %m = linalg.exp {bppsa.stage = 0 : i64} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %sum = linalg.add {bppsa.stage = 0 : i64} ins(%m, %mean : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %new = linalg.exp {bppsa.stage = 0 : i64} ins(%sum : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  bppsa.mark_phase 1
  %g = linalg.sub {bppsa.stage = 0 : i64} ins(%x, %m : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %g, %new : tensor<4xf32>, tensor<4xf32>
}
