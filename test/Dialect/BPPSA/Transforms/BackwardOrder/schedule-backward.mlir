// RUN: bppsa-opt %s --bppsa-schedule-backward="batch=2" | FileCheck %s --check-prefixes=CHECK,IN-ORDER
// RUN: bppsa-opt %s --bppsa-schedule-backward="batch=2" --remarks-filter=schedule 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: bppsa-opt %s --bppsa-schedule-backward="batch=2 order=reverse-first:2" | FileCheck %s --check-prefixes=CHECK,REVERSED
// RUN: bppsa-opt %s --bppsa-schedule-backward="batch=2 order=reverse-first:auto" | FileCheck %s --check-prefixes=CHECK,REVERSED
// RUN: bppsa-opt %s --bppsa-schedule-backward="batch=2 order=reverse-first:auto memory-limit=192" | FileCheck %s --check-prefixes=CHECK,ALL
// RUN: bppsa-opt %s --bppsa-schedule-backward="batch=2 order=defer:3:1" | FileCheck %s --check-prefixes=CHECK,DEFERRED
// RUN: bppsa-opt %s --bppsa-schedule-backward="batch=2 order=defer:2:next,3:2" | FileCheck %s --check-prefixes=CHECK,NEXT

module attributes {bppsa.symbols = #bppsa.symbols<"B">} {

// A cotangent of 2 samples has 64 bytes. In order, two cotangents are alive at a time: the previous
// one and the next one. Two stages can be deferred without more memory, because computing the
// cotangent of stage 1 keeps the cotangent of stage 2 alive anyway. Gradients are in memory of the
// caller.

// REMARK: remark: [Passed] ScheduleBackward | Category:schedule | Function=chain | Remark="in-order of 3 stages: at most 128 bytes of tensors at a time, 128 in order"

// CHECK-LABEL: func.func @chain(
// IN-ORDER-SAME: bppsa.backward_order = #bppsa.backward_order<"in-order", peak = 128, in_order = 128>
// REVERSED-SAME: bppsa.backward_order = #bppsa.backward_order<"reverse-first:2", peak = 128, in_order = 128>
// ALL-SAME:      bppsa.backward_order = #bppsa.backward_order<"reverse-first:3", peak = 192, in_order = 128>
// DEFERRED-SAME: bppsa.backward_order = #bppsa.backward_order<"defer:3:1", peak = 192, in_order = 128>
// NEXT-SAME:     bppsa.backward_order = #bppsa.backward_order<"defer:2:next,3:2", peak = 192, in_order = 128>
// CHECK:         bppsa.mark_phase 1
// CHECK-NEXT:    %[[G3:.*]] = linalg.exp

// IN-ORDER-NEXT: %[[W3:.*]] = linalg.abs {{.*}} ins(%[[G3]]
// IN-ORDER-NEXT: %[[G2:.*]] = linalg.exp {{.*}} ins(%[[G3]]
// IN-ORDER-NEXT: %[[HALF:.*]] = linalg.fill
// IN-ORDER-NEXT: %[[W2:.*]] = linalg.mul {{.*}} ins(%[[G2]], %[[HALF]]
// IN-ORDER-NEXT: %[[G1:.*]] = linalg.exp {{.*}} ins(%[[G2]]
// IN-ORDER-NEXT: %[[W1:.*]] = linalg.abs {{.*}} ins(%[[G1]]

// REVERSED-NEXT: %[[W3:.*]] = linalg.abs {{.*}} ins(%[[G3]]
// REVERSED-NEXT: %[[G2:.*]] = linalg.exp {{.*}} ins(%[[G3]]
// REVERSED-NEXT: %[[G1:.*]] = linalg.exp {{.*}} ins(%[[G2]]
// REVERSED-NEXT: %[[W1:.*]] = linalg.abs {{.*}} ins(%[[G1]]
// REVERSED-NEXT: %[[HALF:.*]] = linalg.fill
// REVERSED-NEXT: %[[W2:.*]] = linalg.mul {{.*}} ins(%[[G2]], %[[HALF]]

// ALL-NEXT:      %[[G2:.*]] = linalg.exp {{.*}} ins(%[[G3]]
// ALL-NEXT:      %[[G1:.*]] = linalg.exp {{.*}} ins(%[[G2]]
// ALL-NEXT:      %[[W1:.*]] = linalg.abs {{.*}} ins(%[[G1]]
// ALL-NEXT:      %[[HALF:.*]] = linalg.fill
// ALL-NEXT:      %[[W2:.*]] = linalg.mul {{.*}} ins(%[[G2]], %[[HALF]]
// ALL-NEXT:      %[[W3:.*]] = linalg.abs {{.*}} ins(%[[G3]]

// DEFERRED-NEXT: %[[G2:.*]] = linalg.exp {{.*}} ins(%[[G3]]
// DEFERRED-NEXT: %[[HALF:.*]] = linalg.fill
// DEFERRED-NEXT: %[[W2:.*]] = linalg.mul {{.*}} ins(%[[G2]], %[[HALF]]
// DEFERRED-NEXT: %[[G1:.*]] = linalg.exp {{.*}} ins(%[[G2]]
// DEFERRED-NEXT: %[[W1:.*]] = linalg.abs {{.*}} ins(%[[G1]]
// DEFERRED-NEXT: %[[W3:.*]] = linalg.abs {{.*}} ins(%[[G3]]

// NEXT-NEXT:     %[[G2:.*]] = linalg.exp {{.*}} ins(%[[G3]]
// NEXT-NEXT:     %[[G1:.*]] = linalg.exp {{.*}} ins(%[[G2]]
// NEXT-NEXT:     %[[W1:.*]] = linalg.abs {{.*}} ins(%[[G1]]
// NEXT-NEXT:     bppsa.mark_phase 2
// NEXT-NEXT:     %[[HALF:.*]] = linalg.fill
// NEXT-NEXT:     %[[W2:.*]] = linalg.mul {{.*}} ins(%[[G2]], %[[HALF]]
// NEXT-NEXT:     %[[W3:.*]] = linalg.abs {{.*}} ins(%[[G3]]

// CHECK-NEXT:    return %[[W1]], %[[W2]], %[[W3]]
func.func @chain(%x: tensor<?x8xf32> {bppsa.input = "x", bppsa.batch_axis = 0, bppsa.shape = affine_map<()[s0] -> (s0, 8)>})
    -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) {
  %c0 = arith.constant 0 : index
  %half = arith.constant 0.5 : f32
  %n = tensor.dim %x, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%n) : tensor<?x8xf32>
  bppsa.mark_phase 1
  // An operation without a part goes where it is needed.
  %halves = linalg.fill ins(%half : f32) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  %g3 = linalg.exp {bppsa.backward_part = #bppsa.backward_part<cotangent>} ins(%x : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  %g2 = linalg.exp {bppsa.backward_part = #bppsa.backward_part<cotangent>} ins(%g3 : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  %w3 = linalg.abs {bppsa.backward_part = #bppsa.backward_part<parameter, stage = 3>} ins(%g3 : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  %g1 = linalg.exp {bppsa.backward_part = #bppsa.backward_part<cotangent>} ins(%g2 : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  %w2 = linalg.mul {bppsa.backward_part = #bppsa.backward_part<parameter, stage = 2>} ins(%g2, %halves : tensor<?x8xf32>, tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  %w1 = linalg.abs {bppsa.backward_part = #bppsa.backward_part<parameter, stage = 1>} ins(%g1 : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %w1, %w2, %w3 : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
}
}
