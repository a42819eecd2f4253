// RUN: bppsa-opt %s -bppsa-assign-stages=stages=2 | FileCheck %s

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
        tensor<4x4xf32> {bppsa.gradient = "d"})
    attributes {bppsa.entry = #bppsa.entry<role = step, variant = "modules">} {
  %e = tensor.empty() : tensor<8x4xf32>
  %h0 = linalg.matmul ins(%x, %a : tensor<8x4xf32>, tensor<4x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32> loc("first")
  %h1 = linalg.matmul ins(%h0, %b : tensor<8x4xf32>, tensor<4x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32> loc("second")
  %h2 = linalg.matmul ins(%h1, %c : tensor<8x4xf32>, tensor<4x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32> loc("third")
  %h3 = linalg.matmul ins(%h2, %d : tensor<8x4xf32>, tensor<4x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32> loc("fourth")
  return %h3, %a, %b, %c, %d : tensor<8x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// Frozen parameters start layers too and may be used by several stages. An operation that joins two
// layers belongs to the later one.

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
        tensor<4x4xf32> {bppsa.gradient = "b"})
    attributes {bppsa.entry = #bppsa.entry<role = step, variant = "frozen">} {
  %e = tensor.empty() : tensor<8x4xf32>
  %h0 = linalg.matmul ins(%x, %a : tensor<8x4xf32>, tensor<4x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32> loc("first")
  %h1 = linalg.matmul ins(%h0, %f : tensor<8x4xf32>, tensor<4x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32> loc("second")
  %h2 = linalg.matmul ins(%h1, %b : tensor<8x4xf32>, tensor<4x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32> loc("third")
  %h3 = linalg.matmul ins(%h2, %f : tensor<8x4xf32>, tensor<4x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32> loc("fourth")
  %y = linalg.add ins(%h0, %h3 : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %y, %a, %b : tensor<8x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// The first and last layers share a weight, which belongs to the first. Stage 1 computes the
// contribution of the last layer to the gradient (%d2), and stage 0 adds it (%d). Stage 1
// multiplies the cotangent by the weight (%g1) and also computes the cotangent of the second layer
// (%g0).

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
    -> (tensor<4x4xf32> {bppsa.gradient = "w"}, tensor<4x4xf32> {bppsa.gradient = "v"})
    attributes {bppsa.entry = #bppsa.entry<role = step, variant = "tied">} {
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
