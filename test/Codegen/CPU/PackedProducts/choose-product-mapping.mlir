// RUN: bppsa-opt %s --bppsa-choose-product-mapping | FileCheck %s
// RUN: bppsa-opt %s --bppsa-choose-product-mapping --remarks-filter=mapping 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

#x = affine_map<(n, m, i, j, c, k, l) -> (n, c, i + k, j + l)>
#w = affine_map<(n, m, i, j, c, k, l) -> (m, c, k, l)>
#y = affine_map<(n, m, i, j, c, k, l) -> (n, m, i, j)>

// Images of 32 columns fill vectors, and 27 terms are too few to amortize a copy.
// CHECK-LABEL: func.func @wide(
// CHECK: bppsa.mapping = #bppsa.product_mapping<direct>
// REMARK-DAG: Function=wide {{.*}}"product: direct, as a sample takes {{.*}} thousand cycles direct, {{.*}} packed_lhs and {{.*}} packed_rhs"
func.func @wide(%x: memref<?x3x34x34xf32>, %w: memref<64x3x3x3xf32>, %y: memref<?x64x32x32xf32>) {
  linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : memref<?x3x34x34xf32>, memref<64x3x3x3xf32>) outs(%y : memref<?x64x32x32xf32>) {
    ^bb0(%a: f32, %b: f32, %acc: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %acc, %p : f32
      linalg.yield %s : f32
  }
  return
}

// Images of 2 columns do not fill vectors.
// CHECK-LABEL: func.func @narrow(
// CHECK: bppsa.mapping = #bppsa.product_mapping<packed_rhs>
// REMARK-DAG: Function=narrow {{.*}}"product: packed_rhs
func.func @narrow(%x: memref<?x512x4x4xf32>, %w: memref<512x512x3x3xf32>, %y: memref<?x512x2x2xf32>) {
  linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : memref<?x512x4x4xf32>, memref<512x512x3x3xf32>) outs(%y : memref<?x512x2x2xf32>) {
    ^bb0(%a: f32, %b: f32, %acc: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %acc, %p : f32
      linalg.yield %s : f32
  }
  return
}

// An existing mapping is kept.
// CHECK-LABEL: func.func @by_hand(
// CHECK: bppsa.mapping = #bppsa.product_mapping<packed_lhs>
// REMARK-NOT: Function=by_hand
func.func @by_hand(%x: memref<?x3x34x34xf32>, %w: memref<64x3x3x3xf32>, %y: memref<?x64x32x32xf32>) {
  linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : memref<?x3x34x34xf32>, memref<64x3x3x3xf32>) outs(%y : memref<?x64x32x32xf32>)
      attrs = {bppsa.mapping = #bppsa.product_mapping<packed_lhs>} {
    ^bb0(%a: f32, %b: f32, %acc: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %acc, %p : f32
      linalg.yield %s : f32
  }
  return
}
