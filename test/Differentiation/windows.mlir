// RUN: bppsa-opt %s --bppsa-differentiate="wrt=all" | FileCheck %s

// The cotangent of the input of a window is accumulated through the window.

// CHECK-DAG: #[[$WINDOW:.*]] = affine_map<(d0, d1) -> (d0 * 2 + d1)>
// CHECK-DAG: #[[$PLACE:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #[[$TAP:.*]] = affine_map<(d0, d1) -> (d1)>
#window = affine_map<(d0, d1) -> (d0 * 2 + d1)>
#place = affine_map<(d0, d1) -> (d0)>
#tap = affine_map<(d0, d1) -> (d1)>

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[X:.*]]: tensor<9xf32> {{.*}}, %[[K:.*]]: tensor<3xf32>
func.func @loss(%x: tensor<9xf32> {bppsa.input = "x"}, %k: tensor<3xf32> {bppsa.parameter = "k"})
    -> (tensor<f32> {bppsa.loss}) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#window, #tap, #place], iterator_types = ["parallel", "reduction"]}
      ins(%x, %k : tensor<9xf32>, tensor<3xf32>) outs(%zeros : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
  } -> tensor<4xf32>
  %loss = tensor.extract_slice %y[1] [1] [1] : tensor<4xf32> to tensor<f32>
  return %loss : tensor<f32>
}

// CHECK: bppsa.mark_phase 1
// CHECK: %[[G:.*]] = tensor.insert_slice
// CHECK: %[[ZEROS:.*]] = linalg.fill {{.*}} -> tensor<9xf32>
// CHECK: %[[DX:.*]] = linalg.generic {indexing_maps = [#[[$PLACE]], #[[$TAP]], #[[$WINDOW]]], iterator_types = ["reduction", "reduction"]}
// CHECK-SAME: ins(%[[G]], %[[K]] : {{.*}}) outs(%[[ZEROS]] : tensor<9xf32>)
// CHECK: %[[DK:.*]] = linalg.generic {indexing_maps = [#[[$PLACE]], #[[$WINDOW]], #[[$TAP]]], iterator_types = ["reduction", "parallel"]}
// CHECK-SAME: ins(%[[G]], %[[X]] : {{.*}}
// CHECK: return %{{.*}}, %[[DX]], %[[DK]]
