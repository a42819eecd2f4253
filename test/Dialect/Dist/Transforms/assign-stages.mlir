// RUN: bppsa-opt %s -bppsa-assign-stages="functions=step,modules,frozen,tied stages=2" | FileCheck %s
// RUN: bppsa-opt %s -bppsa-assign-stages="functions=step stages=3" | FileCheck %s --check-prefix=THREE

#row = affine_map<(b, o, i) -> (b, i)>
#matrix = affine_map<(b, o, i) -> (i, o)>
#out = affine_map<(b, o, i) -> (b, o)>
#transposed = affine_map<(b, o, i) -> (o, i)>
#left = affine_map<(o, i, b) -> (b, o)>
#right = affine_map<(o, i, b) -> (b, i)>
#sum = affine_map<(o, i, b) -> (o, i)>

// Three layers, of which the first has half of the work. What depends on parameters alone (the
// double of %w1), or on data alone (that of %t), has no stage. The gradient of a parameter is formed
// where the parameter is, also where its operands are known earlier.

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
        tensor<16x4xf32> {bppsa.gradient = "w0"}) {
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

// Where parameters have stages, these count, and not how much work there is.

// CHECK-LABEL: func.func @modules(
//       CHECK:   linalg.matmul {bppsa.stage = 0 : i64}
//       CHECK:   linalg.matmul {bppsa.stage = 0 : i64}
//       CHECK:   linalg.matmul {bppsa.stage = 0 : i64}
//       CHECK:   linalg.matmul {bppsa.stage = 1 : i64}
func.func @modules(%x: tensor<8x4xf32> {bppsa.input = "x"},
                   %a: tensor<4x4xf32> {bppsa.parameter = "a", bppsa.stage = 0 : i64},
                   %b: tensor<4x4xf32> {bppsa.parameter = "b", bppsa.stage = 0 : i64},
                   %c: tensor<4x4xf32> {bppsa.parameter = "c", bppsa.stage = 0 : i64},
                   %d: tensor<4x4xf32> {bppsa.parameter = "d", bppsa.stage = 1 : i64})
    -> (tensor<8x4xf32> {bppsa.output = "y"}, tensor<4x4xf32> {bppsa.gradient = "a"},
        tensor<4x4xf32> {bppsa.gradient = "b"}, tensor<4x4xf32> {bppsa.gradient = "c"},
        tensor<4x4xf32> {bppsa.gradient = "d"}) {
  %e = tensor.empty() : tensor<8x4xf32>
  %h0 = linalg.matmul ins(%x, %a : tensor<8x4xf32>, tensor<4x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32> loc("first")
  %h1 = linalg.matmul ins(%h0, %b : tensor<8x4xf32>, tensor<4x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32> loc("second")
  %h2 = linalg.matmul ins(%h1, %c : tensor<8x4xf32>, tensor<4x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32> loc("third")
  %h3 = linalg.matmul ins(%h2, %d : tensor<8x4xf32>, tensor<4x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32> loc("fourth")
  return %h3, %a, %b, %c, %d : tensor<8x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// Frozen parameters begin layers, too, and may be used by several stages; what joins two layers
// belongs to the last.

// CHECK-LABEL: func.func @frozen(
//       CHECK:   %[[A:.*]] = linalg.matmul {bppsa.stage = 0 : i64}
//       CHECK:   linalg.matmul {bppsa.stage = 0 : i64} ins(%[[A]], %[[F:.*]] :
//       CHECK:   %[[C:.*]] = linalg.matmul {bppsa.stage = 1 : i64}
//       CHECK:   linalg.matmul {bppsa.stage = 1 : i64} ins(%[[C]], %[[F]] :
//       CHECK:   linalg.add {bppsa.stage = 1 : i64} ins(%[[A]],
func.func @frozen(%x: tensor<8x4xf32> {bppsa.input = "x"},
                  %f: tensor<4x4xf32> {bppsa.parameter = "f", bppsa.frozen},
                  %a: tensor<4x4xf32> {bppsa.parameter = "a"},
                  %b: tensor<4x4xf32> {bppsa.parameter = "b"})
    -> (tensor<8x4xf32> {bppsa.output = "y"}, tensor<4x4xf32> {bppsa.gradient = "a"},
        tensor<4x4xf32> {bppsa.gradient = "b"}) {
  %e = tensor.empty() : tensor<8x4xf32>
  %h0 = linalg.matmul ins(%x, %a : tensor<8x4xf32>, tensor<4x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32> loc("first")
  %h1 = linalg.matmul ins(%h0, %f : tensor<8x4xf32>, tensor<4x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32> loc("second")
  %h2 = linalg.matmul ins(%h1, %b : tensor<8x4xf32>, tensor<4x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32> loc("third")
  %h3 = linalg.matmul ins(%h2, %f : tensor<8x4xf32>, tensor<4x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32> loc("fourth")
  %y = linalg.add ins(%h0, %h3 : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %y, %a, %b : tensor<8x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// The first and the last layer have one weight: it belongs to the first. The last one's contribution to its gradient is
// made there (%d2) and added in stage 0 (%d); its cotangent goes through the weight in stage 1 (%g1), that of
// the second layer in stage 1 (%g0), too.

// CHECK-LABEL: func.func @tied(
//       CHECK:   linalg.matmul {bppsa.stage = 0 : i64}
//       CHECK:   linalg.matmul {bppsa.stage = 1 : i64}
//       CHECK:   linalg.matmul {bppsa.stage = 1 : i64}
//       CHECK:   bppsa.mark_phase 1
//       CHECK:   linalg.sub {bppsa.stage = 1 : i64}
//       CHECK:   linalg.mul {bppsa.stage = 1 : i64}
//       CHECK:   linalg.matmul {bppsa.stage = 1 : i64}
//       CHECK:   linalg.mul {bppsa.stage = 1 : i64}
//       CHECK:   linalg.matmul {bppsa.stage = 1 : i64}
//       CHECK:   linalg.mul {bppsa.stage = 0 : i64}
//       CHECK:   linalg.add {bppsa.stage = 0 : i64}
func.func @tied(%x: tensor<4x4xf32> {bppsa.input = "x"},
                %w: tensor<4x4xf32> {bppsa.parameter = "w"},
                %v: tensor<4x4xf32> {bppsa.parameter = "v"},
                %t: tensor<4x4xf32> {bppsa.target})
    -> (tensor<4x4xf32> {bppsa.gradient = "w"}, tensor<4x4xf32> {bppsa.gradient = "v"}) {
  %e = tensor.empty() : tensor<4x4xf32>
  bppsa.mark_phase 0
  %h0 = linalg.matmul ins(%x, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32> loc("first")
  %h1 = linalg.matmul ins(%h0, %v : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32> loc("second")
  %h2 = linalg.matmul ins(%h1, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32> loc("third")
  bppsa.mark_phase 1
  %g2 = linalg.sub ins(%h2, %t : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %d2 = linalg.mul ins(%h1, %g2 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %g1 = linalg.matmul ins(%g2, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %d1 = linalg.mul ins(%h0, %g1 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %g0 = linalg.matmul ins(%g1, %v : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %d0 = linalg.mul ins(%x, %g0 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %d = linalg.add ins(%d2, %d0 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %d, %d1 : tensor<4x4xf32>, tensor<4x4xf32>
}
