// RUN: bppsa-opt %s -bppsa-defer-weights | FileCheck %s

// Parameter gradients (W) move after all operations that other stages may wait for and keep their
// order. The first one stays, because another stage needs its result.

// CHECK-LABEL: func.func @stage(
//       CHECK:   %[[SENT:.*]] = arith.negf %arg0
//       CHECK:   %[[G:.*]] = arith.addf %arg0, %arg1
//       CHECK:   dist.stage_send %[[SENT]] to 0 channel 0
//       CHECK:   dist.stage_send %[[G]] to 0 channel 1
//  CHECK-NEXT:   bppsa.mark_phase 2
//  CHECK-NEXT:   %[[D:.*]] = arith.mulf %arg0, %[[G]]
//  CHECK-NEXT:   %[[E:.*]] = arith.addf %[[D]], %[[D]]
//  CHECK-NEXT:   return %[[E]]
func.func @stage(%x: tensor<4xf32>, %g1: tensor<4xf32>) -> (tensor<4xf32> {bppsa.gradient = "w"})
    attributes {bppsa.entry = #bppsa.entry<role = step, variant = "stage", stage = 0>} {
  bppsa.mark_phase 1
  %sent = arith.negf %x {bppsa.backward_part = #bppsa.backward_part<parameter, stage = 1>} : tensor<4xf32>
  %g = arith.addf %x, %g1 {bppsa.backward_part = #bppsa.backward_part<cotangent>} : tensor<4xf32>
  %d = arith.mulf %x, %g {bppsa.backward_part = #bppsa.backward_part<parameter, stage = 1>} : tensor<4xf32>
  dist.stage_send %sent to 0 channel 0 : tensor<4xf32>
  %e = arith.addf %d, %d {bppsa.backward_part = #bppsa.backward_part<parameter, stage = 1>} : tensor<4xf32>
  dist.stage_send %g to 0 channel 1 : tensor<4xf32>
  return %e : tensor<4xf32>
}

// CHECK-LABEL: func.func @nothing(
//       CHECK:   bppsa.mark_phase 1
//  CHECK-NEXT:   bppsa.mark_phase 2
//  CHECK-NEXT:   return
func.func @nothing()
    attributes {bppsa.entry = #bppsa.entry<role = step, variant = "nothing", stage = 0>} {
  bppsa.mark_phase 1
  return
}

// Running statistics are deferred along with W.

// CHECK-LABEL: func.func @normalized(
//       CHECK:   bppsa.mark_phase 1
//  CHECK-NEXT:   %[[G:.*]] = arith.subf
//  CHECK-NEXT:   bppsa.mark_phase 2
//  CHECK-NEXT:   %[[NEW:.*]] = arith.addf
//  CHECK-NEXT:   return %[[G]], %[[NEW]]
func.func @normalized(%x: tensor<4xf32>, %mean: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32> {bppsa.updated = "mean"})
    attributes {bppsa.entry = #bppsa.entry<role = step, variant = "normalized", stage = 0>} {
  bppsa.mark_phase 1
  %new = arith.addf %x, %mean : tensor<4xf32>
  %g = arith.subf %x, %mean : tensor<4xf32>
  return %g, %new : tensor<4xf32>, tensor<4xf32>
}

// Functions that are not stages lose the attributes that mark W, because nothing uses them anymore.

// CHECK-LABEL: func.func @whole(
//   CHECK-NOT:   bppsa.backward_part
//   CHECK-NOT:   bppsa.mark_phase 2
func.func @whole(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.negf %x {bppsa.backward_part = #bppsa.backward_part<cotangent>} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
