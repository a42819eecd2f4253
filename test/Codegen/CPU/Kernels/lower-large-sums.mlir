// RUN: bppsa-opt %s --bppsa-lower-large-sums | FileCheck %s
// RUN: bppsa-opt %s --bppsa-lower-large-sums=min-bytes=262145 | FileCheck %s --check-prefix=LARGER

// Every lane has a sample: one product that reduces over batch blocks, steps and lanes.
// CHECK-DAG: #[[$LHS:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d2, d3, d0, d4)>
// CHECK-DAG: #[[$RHS:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d2, d3, d1, d4)>
// CHECK-DAG: #[[$SUM:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>
// CHECK-LABEL: func.func @whole(
// CHECK-SAME:    %[[A:.*]]: memref<?x?x128x16xf32>, %[[B:.*]]: memref<?x?x32x16xf32>, %[[C:.*]]: memref<128x32xf32>)
// CHECK:         linalg.fill ins(%{{.*}} : f32) outs(%[[C]] : memref<128x32xf32>)
// CHECK:         linalg.generic {indexing_maps = [#[[$LHS]], #[[$RHS]], #[[$SUM]]], iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%[[A]], %[[B]] :
// CHECK-SAME:      outs(%[[C]] : memref<128x32xf32>) attrs = {bppsa.mapping = #bppsa.product_mapping<packed_rhs>}
// CHECK-NOT:     linalg.generic
// CHECK:         return
// LARGER-LABEL: func.func @whole(
// LARGER:        bppsa.outer_sum
func.func @whole(%a: memref<?x?x128x16xf32>, %b: memref<?x?x32x16xf32>, %c: memref<128x32xf32>) {
  bppsa.outer_sum lanes 16 %a, %b into %c : memref<?x?x128x16xf32>, memref<?x?x32x16xf32> into memref<128x32xf32>
  return
}

// The last block may have fewer samples than lanes.
// CHECK-LABEL: func.func @batch(
// CHECK-SAME:    %[[A:.*]]: memref<?x?x128x16xf32>, %[[B:.*]]: memref<?x?x32x16xf32>, %[[C:.*]]: memref<128x32xf32>, %[[SAMPLES:.*]]: index)
// CHECK-DAG:     %[[WHOLE:.*]] = arith.divui %[[SAMPLES]], %c16
// CHECK-DAG:     %[[REST:.*]] = arith.remui %[[SAMPLES]], %c16
// CHECK-DAG:     %[[BLOCKS:.*]] = memref.dim %[[A]], %c0
// CHECK-DAG:     %[[LAST:.*]] = arith.addi %[[BLOCKS]], %c-1
// CHECK:         %[[FIRST:.*]] = memref.subview %[[A]][0, 0, 0, 0] [%[[WHOLE]], %{{.*}}, 128, 16]
// CHECK:         linalg.generic {{.*}} ins(%[[FIRST]], {{.*}}packed_rhs
// CHECK:         %[[OTHERS:.*]] = memref.subview %[[A]][%[[LAST]], 0, 0, 0] [1, %{{.*}}, 128, %[[REST]]]
// CHECK:         linalg.generic {{.*}} ins(%[[OTHERS]], {{.*}}packed_rhs
func.func @batch(%a: memref<?x?x128x16xf32>, %b: memref<?x?x32x16xf32>, %c: memref<128x32xf32>, %n: index) {
  bppsa.outer_sum lanes 16 %a, %b batch %n into %c : memref<?x?x128x16xf32>, memref<?x?x32x16xf32> into memref<128x32xf32>
  return
}

// Small sums, sums over units and sums fused into a chain are not lowered.
// CHECK-LABEL: func.func @others(
// CHECK-COUNT-3: bppsa.outer_sum
func.func @others(%a: memref<?x?x20x16xf32>, %c: memref<20x20xf32>, %d: memref<?x?x512x1xf32>, %e: memref<512x512xf32>,
    %f: memref<?x?x64x16xf32>, %g: memref<64x64xf32>) {
  bppsa.outer_sum lanes 16 %a, %a into %c : memref<?x?x20x16xf32>, memref<?x?x20x16xf32> into memref<20x20xf32>
  bppsa.outer_sum lanes 1 %d, %d into %e : memref<?x?x512x1xf32>, memref<?x?x512x1xf32> into memref<512x512xf32>
  memref.alloca_scope {
    bppsa.outer_sum lanes 16 %f, %f into %g : memref<?x?x64x16xf32>, memref<?x?x64x16xf32> into memref<64x64xf32>
  }
  return
}
