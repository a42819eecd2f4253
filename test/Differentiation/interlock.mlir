// RUN: bppsa-opt %s --bppsa-interlock="window=1" --canonicalize | FileCheck %s --check-prefixes=CHECK,LOCAL
// RUN: bppsa-opt %s --bppsa-interlock="window=2 factors=1,0.5" --canonicalize | FileCheck %s --check-prefixes=CHECK,ALL
// RUN: bppsa-opt %s --bppsa-interlock="window=2" --remarks-filter=interlock 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: bppsa-opt %s --bppsa-interlock="window=2" --linalg-generalize-named-ops --bppsa-differentiate="of=interlocked_loss name=step" --cse | FileCheck %s --check-prefix=STEP

// REMARK: remark: [Passed] Interlock | Category:interlock | Function=interlocked_loss | Remark="2 modules, cotangents pass 1 of them down: 2 terms"

// Two modules, x1 = exp(x p1) and x2 = exp(x1 p2); the head of the first is x1 h.

// CHECK-LABEL: func.func private @interlocked_loss(
// CHECK-SAME:    %[[X:.*]]: tensor<4xf32> {{.*}}, %[[P1:.*]]: tensor<4xf32> {bppsa.parameter = "p1", bppsa.stage = 0 : i64}, %[[P2:.*]]: tensor<4xf32> {bppsa.parameter = "p2", bppsa.stage = 1 : i64}, %[[H:.*]]: tensor<4xf32> {bppsa.parameter = "h", bppsa.stage = 0 : i64})
// CHECK-SAME:    -> (tensor<f32> {bppsa.loss}, tensor<f32> {bppsa.loss}, tensor<f32> {bppsa.loss}, tensor<f32> {bppsa.objective})

// With only its own loss, the first module is the model itself, and the second one starts from x1.
// LOCAL:         %[[A1:.*]] = linalg.mul ins(%[[X]], %[[P1]]
// LOCAL:         %[[X1:.*]] = linalg.exp ins(%[[A1]]
// LOCAL:         %[[STOPPED:.*]] = bppsa.stop_gradient %[[X1]]
// LOCAL:         return %{{.*}}, %{{.*}}, %{{.*}}, %[[OBJECTIVE:.*]] :
// LOCAL-NOT:     stop_gradient

// Over both modules, the last loss passes through all of them, and the head learns from a detached
// activation.
// ALL:           %[[X1:.*]] = linalg.exp
// ALL:           %[[STOPPED:.*]] = bppsa.stop_gradient %[[X1]]
// ALL-NOT:       bppsa.stop_gradient
// ALL:           linalg.mul ins(%[[STOPPED]], %[[H]]
// ALL:           linalg.generic
// ALL:           ^bb0(%[[L1:.*]]: f32, %[[L2:.*]]: f32, %{{.*}}: f32):
// ALL:             arith.mulf %[[L2]], %cst
// ALL:           return

// The copies are merged with the model again: two products, two exponentials and a head before the
// backward pass.
// STEP-LABEL: func.func @step(
// STEP-SAME:    -> (tensor<f32> {bppsa.loss}, tensor<4xf32> {bppsa.gradient = "p1"}, tensor<4xf32> {bppsa.gradient = "p2"}, tensor<4xf32> {bppsa.gradient = "h"}, tensor<f32> {bppsa.loss}, tensor<f32> {bppsa.loss})
// STEP-NOT:     stop_gradient
// STEP:         bppsa.mark_phase 0
// STEP-COUNT-2: math.exp
// STEP-NOT:     math.exp
// STEP:         bppsa.mark_phase 1

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
#scalar = affine_map<() -> ()>
func.func @loss(%x: tensor<4xf32> {bppsa.input = "x"}, %p1: tensor<4xf32> {bppsa.parameter = "p1"},
    %p2: tensor<4xf32> {bppsa.parameter = "p2"}, %h: tensor<4xf32> {bppsa.parameter = "h"})
    -> (tensor<f32> {bppsa.loss}, tensor<f32> {bppsa.loss}, tensor<f32> {bppsa.loss}) {
  %e = tensor.empty() : tensor<4xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %a1 = linalg.mul ins(%x, %p1 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %x1 = linalg.exp ins(%a1 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %y1 = linalg.mul ins(%x1, %h : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %a2 = linalg.mul ins(%x1, %p2 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %x2 = linalg.exp ins(%a2 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %l1 = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%y1 : tensor<4xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%v: f32, %o: f32):
    %s = arith.addf %o, %v : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  %l2 = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%x2 : tensor<4xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%v: f32, %o: f32):
    %s = arith.addf %o, %v : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  %sum = linalg.add ins(%l1, %l2 : tensor<f32>, tensor<f32>) outs(%zero : tensor<f32>) -> tensor<f32>
  return %sum, %l1, %l2 : tensor<f32>, tensor<f32>, tensor<f32>
}
