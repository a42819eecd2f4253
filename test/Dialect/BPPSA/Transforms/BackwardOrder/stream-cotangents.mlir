// RUN: bppsa-opt %s --bppsa-stream-cotangents | FileCheck %s

// Three modules with one product each. The last loss passes through two modules, the second loss
// through one. Stage 1 computes the cotangent of its own loss (%c1) first, and propagates the
// cotangent of the last loss (%p2) before it computes its parameter gradient. The cotangent from
// which stage 0 learns is the last one; operations without a stage come first.

// CHECK-LABEL: func.func @step(
//       CHECK:   bppsa.mark_phase 1
//  CHECK-NEXT:   %[[T:.*]] = linalg.add ins(%[[W1:.*]], %[[W1]]
//  CHECK-NEXT:   %[[C1:.*]] = linalg.sub {bppsa.stage = 1 : i64}
//  CHECK-NEXT:   %[[P1:.*]] = linalg.mul {bppsa.stage = 1 : i64} ins(%[[C1]], %[[T]]
//  CHECK-NEXT:   %[[R1:.*]] = linalg.mul {bppsa.stage = 0 : i64} ins(%[[P1]], %[[W0:.*]] :
//  CHECK-NEXT:   %[[C2:.*]] = linalg.sub {bppsa.stage = 2 : i64}
//  CHECK-NEXT:   %[[P2:.*]] = linalg.mul {bppsa.stage = 2 : i64} ins(%[[C2]],
//  CHECK-NEXT:   %[[Q2:.*]] = linalg.mul {bppsa.stage = 1 : i64} ins(%[[P2]], %[[T]]
//  CHECK-NEXT:   %[[D2:.*]] = linalg.mul {bppsa.stage = 2 : i64} ins(%[[C2]],
//  CHECK-NEXT:   %[[D1:.*]] = linalg.mul {bppsa.stage = 1 : i64} ins(%[[P2]],
//  CHECK-NEXT:   %[[D0:.*]] = linalg.mul {bppsa.stage = 0 : i64} ins(%[[Q2]],
//  CHECK-NEXT:   return %[[D0]], %[[D1]], %[[D2]], %[[R1]]
func.func @step(%x: tensor<4xf32> {bppsa.input = "x"},
                %w0: tensor<4xf32> {bppsa.parameter = "w0"},
                %w1: tensor<4xf32> {bppsa.parameter = "w1"},
                %w2: tensor<4xf32> {bppsa.parameter = "w2"},
                %t: tensor<4xf32> {bppsa.target})
    -> (tensor<4xf32> {bppsa.gradient = "w0"}, tensor<4xf32> {bppsa.gradient = "w1"},
        tensor<4xf32> {bppsa.gradient = "w2"}, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  bppsa.mark_phase 0
  %x0 = linalg.mul {bppsa.stage = 0 : i64} ins(%x, %w0 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %x1 = linalg.mul {bppsa.stage = 1 : i64} ins(%x0, %w1 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %x2 = linalg.mul {bppsa.stage = 2 : i64} ins(%x1, %w2 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  bppsa.mark_phase 1
  %c2 = linalg.sub {bppsa.stage = 2 : i64} ins(%x2, %t : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %d2 = linalg.mul {bppsa.stage = 2 : i64} ins(%c2, %x1 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %p2 = linalg.mul {bppsa.stage = 2 : i64} ins(%c2, %w2 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %d1 = linalg.mul {bppsa.stage = 1 : i64} ins(%p2, %x0 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %u = linalg.add ins(%w1, %w1 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %q2 = linalg.mul {bppsa.stage = 1 : i64} ins(%p2, %u : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %d0 = linalg.mul {bppsa.stage = 0 : i64} ins(%q2, %x : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %c1 = linalg.sub {bppsa.stage = 1 : i64} ins(%x1, %t : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %p1 = linalg.mul {bppsa.stage = 1 : i64} ins(%c1, %u : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r1 = linalg.mul {bppsa.stage = 0 : i64} ins(%p1, %w0 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %d0, %d1, %d2, %r1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Steps without stages are unchanged.

// CHECK-LABEL: func.func @whole(
//       CHECK:   bppsa.mark_phase 1
//  CHECK-NEXT:   %[[A:.*]] = linalg.mul
//  CHECK-NEXT:   %[[B:.*]] = linalg.sub
//  CHECK-NEXT:   return %[[A]], %[[B]]
func.func @whole(%x: tensor<4xf32> {bppsa.input = "x"}, %w: tensor<4xf32> {bppsa.parameter = "w"})
    -> (tensor<4xf32> {bppsa.gradient = "w"}, tensor<4xf32> {bppsa.gradient = "x"}) {
  %e = tensor.empty() : tensor<4xf32>
  bppsa.mark_phase 0
  bppsa.mark_phase 1
  %a = linalg.mul ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %b = linalg.sub ins(%x, %w : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}
