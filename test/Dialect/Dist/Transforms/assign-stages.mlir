// RUN: bppsa-opt %s -bppsa-assign-stages="stages=2" | FileCheck %s
// RUN: bppsa-opt %s -bppsa-assign-stages=stages=3 | FileCheck %s --check-prefix=THREE

#row = affine_map<(b, o, i) -> (b, i)>
#matrix = affine_map<(b, o, i) -> (i, o)>
#out = affine_map<(b, o, i) -> (b, o)>
#transposed = affine_map<(b, o, i) -> (o, i)>
#left = affine_map<(o, i, b) -> (b, o)>
#right = affine_map<(o, i, b) -> (b, i)>
#sum = affine_map<(o, i, b) -> (o, i)>

// Three layers, the first with half of the work. Operations that depend only on parameters (%w1
// doubled) or only on data (%t doubled) have no stage. The gradient of a parameter is computed in
// the stage of the parameter, even if its operands are available earlier.

// CHECK-LABEL: func.func @step(
//       CHECK:   %[[DOUBLE:.*]] = linalg.add ins(%{{.*}}, %{{.*}} : tensor<4x4xf32>, tensor<4x4xf32>) outs(%{{.*}} : tensor<4x4xf32>) ->
//       CHECK:   linalg.add ins(%{{.*}}, %{{.*}} : tensor<8x4xf32>, tensor<8x4xf32>) outs(%{{.*}} : tensor<8x4xf32>) ->
//       CHECK:   %[[H0:.*]] = linalg.matmul {bppsa.stage = 0 : i64}
//       CHECK:   %[[H1:.*]] = linalg.matmul {bppsa.stage = 1 : i64} ins(%[[H0]], %[[DOUBLE]]
//       CHECK:   %[[H2:.*]] = linalg.matmul {bppsa.stage = 1 : i64} ins(%[[H1]],
//       CHECK:   bppsa.mark_phase 1
//       CHECK:   linalg.sub {bppsa.stage = 1 : i64}
//       CHECK:   linalg.generic {{.*}} ins(%[[H1]], {{.*}} attrs = {bppsa.stage = 1 : i64}
//       CHECK:   linalg.generic {{.*}} attrs = {bppsa.stage = 1 : i64}
//       CHECK:   linalg.generic {{.*}} ins(%[[H0]], {{.*}} attrs = {bppsa.stage = 1 : i64}
//       CHECK:   linalg.generic {{.*}} attrs = {bppsa.stage = 1 : i64}
//       CHECK:   linalg.generic {{.*}} ins(%arg0, {{.*}} attrs = {bppsa.stage = 0 : i64}

// THREE-LABEL: func.func @step(
//       THREE:   linalg.matmul {bppsa.stage = 0 : i64}
//       THREE:   linalg.matmul {bppsa.stage = 1 : i64}
//       THREE:   linalg.matmul {bppsa.stage = 2 : i64}
//       THREE:   bppsa.mark_phase 1
//       THREE:   linalg.sub {bppsa.stage = 2 : i64}
//       THREE:   linalg.generic {{.*}} attrs = {bppsa.stage = 2 : i64}
//       THREE:   linalg.generic {{.*}} attrs = {bppsa.stage = 2 : i64}
//       THREE:   linalg.generic {{.*}} attrs = {bppsa.stage = 1 : i64}
//       THREE:   linalg.generic {{.*}} attrs = {bppsa.stage = 1 : i64}
//       THREE:   linalg.generic {{.*}} attrs = {bppsa.stage = 0 : i64}
func.func @step(%x: tensor<8x16xf32> {bppsa.input = "x"},
                %w0: tensor<16x4xf32> {bppsa.parameter = "w0"},
                %w1: tensor<4x4xf32> {bppsa.parameter = "w1"},
                %w2: tensor<4x4xf32> {bppsa.parameter = "w2"},
                %t: tensor<8x4xf32> {bppsa.target})
    -> (tensor<4x4xf32> {bppsa.gradient = "w2"}, tensor<4x4xf32> {bppsa.gradient = "w1"},
        tensor<16x4xf32> {bppsa.gradient = "w0"})
    attributes {bppsa.entry = #bppsa.entry<role = step>} {
  %e = tensor.empty() : tensor<8x4xf32>
  %em = tensor.empty() : tensor<4x4xf32>
  %ex = tensor.empty() : tensor<16x4xf32>
  bppsa.mark_phase 0
  %v1 = linalg.add ins(%w1, %w1 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%em : tensor<4x4xf32>) -> tensor<4x4xf32>
  %u = linalg.add ins(%t, %t : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %h0 = linalg.matmul ins(%x, %w0 : tensor<8x16xf32>, tensor<16x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32> loc("first")
  %h1 = linalg.matmul ins(%h0, %v1 : tensor<8x4xf32>, tensor<4x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32> loc("second")
  %h2 = linalg.matmul ins(%h1, %w2 : tensor<8x4xf32>, tensor<4x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32> loc("third")
  bppsa.mark_phase 1
  %g2 = linalg.sub ins(%h2, %u : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %d2 = linalg.generic {indexing_maps = [#left, #right, #sum], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%h1, %g2 : tensor<8x4xf32>, tensor<8x4xf32>) outs(%em : tensor<4x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<4x4xf32>
  %g1 = linalg.generic {indexing_maps = [#row, #transposed, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%g2, %w2 : tensor<8x4xf32>, tensor<4x4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<8x4xf32>
  %d1 = linalg.generic {indexing_maps = [#left, #right, #sum], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%h0, %g1 : tensor<8x4xf32>, tensor<8x4xf32>) outs(%em : tensor<4x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<4x4xf32>
  %g0 = linalg.generic {indexing_maps = [#row, #transposed, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%g1, %v1 : tensor<8x4xf32>, tensor<4x4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<8x4xf32>
  %d0 = linalg.generic {indexing_maps = [#left, #right, #sum], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %g0 : tensor<8x16xf32>, tensor<8x4xf32>) outs(%ex : tensor<16x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<16x4xf32>
  return %d2, %d1, %d0 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<16x4xf32>
}
