// RUN: bppsa-opt %s | FileCheck %s

// CHECK-LABEL: func.func @transition
// CHECK:         bppsa.transition reverse states [4] saved(%{{[^:]*}} : tensor<8x?x4xf32>)
// CHECK-SAME:        injected(%{{[^:]*}} : tensor<8x?x4xf32>) inject_into [0] captures(%{{[^:]*}} : tensor<4x4xf32>)
// CHECK-SAME:        into(%{{[^:]*}} : tensor<?x5x4xf32>) -> tensor<?x5x4xf32>
func.func @transition(%a: tensor<8x?x4xf32>, %w: tensor<4x4xf32>, %e: tensor<?x5x4xf32>) -> tensor<?x5x4xf32> {
  %0 = bppsa.transition reverse states [4] saved(%a : tensor<8x?x4xf32>) injected(%a : tensor<8x?x4xf32>) inject_into [0]
      captures(%w : tensor<4x4xf32>) into(%e : tensor<?x5x4xf32>) -> tensor<?x5x4xf32> {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %1 = bppsa.matvec transposed %wc, %gt : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  return %0 : tensor<?x5x4xf32>
}

// CHECK-LABEL: func.func @by_rows
// CHECK:         %[[M:.*]] = bppsa.transition by_rows states [4] saved(
// CHECK:         bppsa.apply_transition by_rows %[[M]], %{{.*}} into
func.func @by_rows(%a: tensor<8x?x4xf32>, %g: tensor<?x4xf32>, %e: tensor<?x4x4xf32>, %o: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = bppsa.transition by_rows states [4] saved(%a : tensor<8x?x4xf32>)
      into(%e : tensor<?x4x4xf32>) -> tensor<?x4x4xf32> {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %2 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %2 : vector<4xf32>
  }
  %1 = bppsa.apply_transition by_rows %0, %g into %o : tensor<?x4x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %1 : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @packed_diagonal
// CHECK:         bppsa.transition diagonal lanes 16 states [3, 1]
// CHECK-SAME:        into(%{{.*}} : memref<1x1x4x16xf32>) {
func.func @packed_diagonal(%f: memref<1x?x3x16xf32>, %i: memref<1x?x1x16xf32>, %e: memref<1x1x4x16xf32>) {
  bppsa.transition diagonal lanes 16 states [3, 1] saved(%f, %i : memref<1x?x3x16xf32>, memref<1x?x1x16xf32>)
      into(%e : memref<1x1x4x16xf32>) {
  ^bb0(%ft: vector<3xf32>, %it: vector<1xf32>, %gt: vector<3xf32>, %kt: vector<1xf32>):
    %0 = arith.mulf %ft, %gt : vector<3xf32>
    %1 = arith.mulf %it, %kt : vector<1xf32>
    bppsa.yield %0, %1 : vector<3xf32>, vector<1xf32>
  }
  return
}

// CHECK-LABEL: func.func @factored
// CHECK:         bppsa.factored_transition states [4, 2]
// CHECK-SAME:        terms [#bppsa.term<row = 0, col = 0, matrix = 0, right = 0, transposed = true>, #bppsa.term<row = 0, col = 1, left = 0, matrix = 1, right = 1>, #bppsa.term<row = 1, col = 1>]
// CHECK-SAME:        scales(%{{[^:]*}} : tensor<?x4xf32>, tensor<?x2xf32>) matrices(%{{[^:]*}} : tensor<4x4xf32>, tensor<4x2xf32>)
// CHECK-SAME:        injected(%{{[^:]*}} : tensor<?x2xf32>) inject_into [1] into(%{{[^:]*}} : tensor<?x7x6xf32>) -> tensor<?x7x6xf32>
// CHECK:         bppsa.factored_transition lanes 16 states [4] terms [#bppsa.term<row = 0, col = 0, left = 0>] scales(%{{[^:]*}} : memref<?x4x16xf32>) into(%{{[^:]*}} : memref<?x4x4x16xf32>)
func.func @factored(%d: tensor<?x4xf32>, %s: tensor<?x2xf32>, %w: tensor<4x4xf32>, %u: tensor<4x2xf32>,
    %e: tensor<?x7x6xf32>, %m: memref<?x4x16xf32>, %o: memref<?x4x4x16xf32>) -> tensor<?x7x6xf32> {
  %0 = bppsa.factored_transition states [4, 2]
      terms [#bppsa.term<row = 0, col = 0, matrix = 0, right = 0, transposed = true>,
             #bppsa.term<row = 0, col = 1, left = 0, matrix = 1, right = 1>, #bppsa.term<row = 1, col = 1>]
      scales(%d, %s : tensor<?x4xf32>, tensor<?x2xf32>) matrices(%w, %u : tensor<4x4xf32>, tensor<4x2xf32>)
      injected(%s : tensor<?x2xf32>) inject_into [1] into(%e : tensor<?x7x6xf32>) -> tensor<?x7x6xf32>
  bppsa.factored_transition lanes 16 states [4] terms [#bppsa.term<row = 0, col = 0, left = 0>]
      scales(%m : memref<?x4x16xf32>) into(%o : memref<?x4x4x16xf32>)
  return %0 : tensor<?x7x6xf32>
}

// CHECK-LABEL: func.func @products
// CHECK:         %[[C:.*]] = bppsa.compose_transitions %{{.*}}, %[[B:.*]] into %[[B]] : tensor<?x4x4xf32>, tensor<?x4x4xf32>, tensor<?x4x4xf32> -> tensor<?x4x4xf32>
// CHECK:         bppsa.apply_transition %[[C]], %{{.*}} into %{{.*}} : tensor<?x4x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
// CHECK:         bppsa.apply_transition diagonal lanes 2 %{{.*}}, %{{.*}} into %{{.*}} : memref<?x2x4x2xf32>, memref<?x4x2xf32>, memref<?x4x2xf32>
func.func @products(%a: tensor<?x4x4xf32>, %b: tensor<?x4x4xf32>, %g: tensor<?x4xf32>, %e: tensor<?x4xf32>,
    %m: memref<?x2x4x2xf32>, %k: memref<?x4x2xf32>, %o: memref<?x4x2xf32>) -> tensor<?x4xf32> {
  %0 = bppsa.compose_transitions %a, %b into %b : tensor<?x4x4xf32>, tensor<?x4x4xf32>, tensor<?x4x4xf32> -> tensor<?x4x4xf32>
  %1 = bppsa.apply_transition %0, %g into %e : tensor<?x4x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  bppsa.apply_transition diagonal lanes 2 %m, %k into %o : memref<?x2x4x2xf32>, memref<?x4x2xf32>, memref<?x4x2xf32>
  return %1 : tensor<?x4xf32>
}

// A loop on tensors may have destinations for its results.

// CHECK-LABEL: func.func @loop_destinations
// CHECK:         bppsa.chain saved(%{{[^:]*}} : tensor<?x2x4xf32>) seeds(%{{[^:]*}} : tensor<2x4xf32>)
// CHECK-SAME:        into(%{{[^:]*}} : tensor<2x4xf32>, tensor<?x2x4xf32>) -> (tensor<2x4xf32>) emitted(tensor<?x2x4xf32>)
func.func @loop_destinations(%a: tensor<?x2x4xf32>, %g: tensor<2x4xf32>, %e: tensor<2x4xf32>, %d: tensor<?x2x4xf32>) -> tensor<?x2x4xf32> {
  %0, %1 = bppsa.chain saved(%a : tensor<?x2x4xf32>) seeds(%g : tensor<2x4xf32>)
      into(%e, %d : tensor<2x4xf32>, tensor<?x2x4xf32>) -> (tensor<2x4xf32>) emitted(tensor<?x2x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    bppsa.yield %gt, %at : vector<4xf32>, vector<4xf32>
  }
  return %1 : tensor<?x2x4xf32>
}
