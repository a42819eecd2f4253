// RUN: bppsa-opt %s --bppsa-schedule-backward="batch=2 order=defer:1:next,2:next" | FileCheck %s

// Both gradients are deferred to the next step. The gradient of stage 1 comes first, because its
// parameter is read first. A tensor of 2 samples has 64 bytes: %x1, %g2 and %g1 stay alive, and the
// forward pass of the next step has two more tensors.

module attributes {bppsa.symbols = #bppsa.symbols<"B">} {

// CHECK-LABEL: func.func @steps(
// CHECK-SAME:  bppsa.backward_order = #bppsa.backward_order<"defer:1:next,2:next", peak = 320, in_order = 192>
// CHECK:       bppsa.mark_phase 1
// CHECK-NEXT:  %[[G2:.*]] = linalg.exp
// CHECK-NEXT:  %[[G1:.*]] = linalg.mul {{.*}} ins(%[[G2]],
// CHECK-NEXT:  bppsa.mark_phase 2
// CHECK-NEXT:  %[[W1:.*]] = linalg.mul {{.*}} ins(%[[G1]],
// CHECK-NEXT:  %[[W2:.*]] = linalg.mul {{.*}} ins(%[[G2]],
// CHECK-NEXT:  return %[[W1]], %[[W2]]
func.func @steps(%x: tensor<?x8xf32> {bppsa.input = "x", bppsa.batch_axis = 0, bppsa.shape = affine_map<()[s0] -> (s0, 8)>})
    -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%n) : tensor<?x8xf32>
  %x1 = linalg.exp ins(%x : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  %x2 = linalg.exp ins(%x1 : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  bppsa.mark_phase 1
  %g2 = linalg.exp {bppsa.backward_part = #bppsa.backward_part<cotangent>} ins(%x2 : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  %w2 = linalg.mul {bppsa.backward_part = #bppsa.backward_part<parameter, stage = 2>} ins(%g2, %x1 : tensor<?x8xf32>, tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  %g1 = linalg.mul {bppsa.backward_part = #bppsa.backward_part<cotangent>} ins(%g2, %x1 : tensor<?x8xf32>, tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  %w1 = linalg.mul {bppsa.backward_part = #bppsa.backward_part<parameter, stage = 1>} ins(%g1, %x : tensor<?x8xf32>, tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %w1, %w2 : tensor<?x8xf32>, tensor<?x8xf32>
}
}
