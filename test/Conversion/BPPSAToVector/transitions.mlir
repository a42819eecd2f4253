// RUN: bppsa-opt %s --convert-bppsa-to-vector --canonicalize --cse | FileCheck %s

// The transition of a run is computed by columns: groups of columns, then steps of the run, then
// columns of the group. A run of one batch block needs no parallel loop.

// CHECK-LABEL: func @transition(
// CHECK-SAME:      %[[A:[^:]*]]: memref<1x?x4x16xf32>, %[[B:[^:]*]]: memref<1x?x4x16xf32>
// CHECK-NOT:     scf.parallel
// CHECK:         vector.store
// CHECK:         %[[T:.*]] = memref.dim %[[A]], %c1
// CHECK:         scf.for %[[STEP:.*]] = %c0 to %[[T]] step %c1
// CHECK:           scf.for %[[COLUMN:.*]] = %c0 to %c4 step %c1
// CHECK:             vector.load %{{.*}}[%c0, %[[COLUMN]], %{{.*}}, %c0] : memref<1x4x4x16xf32>
// CHECK-NOT:     scf.parallel
// CHECK:         return
func.func @transition(%a: memref<1x?x4x16xf32>, %b: memref<1x?x4x16xf32>, %w: memref<4x4xf32>, %out: memref<1x4x4x16xf32>) {
  bppsa.transition lanes 16 states [4] saved(%a, %b : memref<1x?x4x16xf32>, memref<1x?x4x16xf32>)
      captures(%w : memref<4x4xf32>) into(%out : memref<1x4x4x16xf32>) {
  ^bb0(%at: vector<4xf32>, %bt: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  return
}

// A diagonal results from applying the links to one column of ones; s is a column that starts as
// zeros and accumulates injected cotangents.

// CHECK-LABEL: func @diagonal_injected(
// CHECK-SAME:      %[[S:[^:]*]]: memref<?x?x4x16xf32>, %[[OUT:[^:]*]]: memref<?x2x4x16xf32>
// CHECK-DAG:     %[[ONE:.*]] = arith.constant dense<1.000000e+00> : vector<16xf32>
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<16xf32>
// CHECK:         scf.parallel
// CHECK:           vector.store %[[ONE]], %[[OUT]][%{{.*}}, %c0,
// CHECK:           vector.store %[[ZERO]], %[[OUT]][%{{.*}}, %c1,
// CHECK:           vector.load %[[S]]
func.func @diagonal_injected(%s: memref<?x?x4x16xf32>, %out: memref<?x2x4x16xf32>) {
  bppsa.transition diagonal lanes 16 states [4] saved(%s : memref<?x?x4x16xf32>)
      injected(%s : memref<?x?x4x16xf32>) inject_into [0] into(%out : memref<?x2x4x16xf32>) {
  ^bb0(%st: vector<4xf32>, %gt: vector<4xf32>):
    %0 = arith.mulf %st, %gt : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return
}

// A product of two diagonals is elementwise and in place.

// CHECK-LABEL: func @compose_diagonals(
// CHECK-SAME:      %[[A:[^:]*]]: memref<1x1x4x16xf32>, %[[B:[^:]*]]: memref<1x1x4x16xf32>
// CHECK:         scf.for %[[ROW:[^ ]*]] = %c0 to %c4 step %c1 {
// CHECK-NEXT:      %[[FIRST:.*]] = vector.load %[[A]][%c0, %c0, %[[ROW]], %c0]
// CHECK-NEXT:      %[[SECOND:.*]] = vector.load %[[B]][%c0, %c0, %[[ROW]], %c0]
// CHECK-NEXT:      %[[PRODUCT:.*]] = arith.mulf %[[FIRST]], %[[SECOND]]
// CHECK-NEXT:      vector.store %[[PRODUCT]], %[[B]][%c0, %c0, %[[ROW]], %c0]
// CHECK-NEXT:    }
// CHECK-NEXT:    return
func.func @compose_diagonals(%a: memref<1x1x4x16xf32>, %b: memref<1x1x4x16xf32>) {
  bppsa.compose_transitions diagonal lanes 16 %a, %b into %b : memref<1x1x4x16xf32>, memref<1x1x4x16xf32>, memref<1x1x4x16xf32>
  return
}

// A product that preserves its second factor copies it first.

// CHECK-LABEL: func @compose_elsewhere(
// CHECK-SAME:      %{{[^:]*}}: memref<1x4x4x16xf32>, %[[B:[^:]*]]: memref<1x4x4x16xf32>, %[[OUT:[^:]*]]: memref<1x4x4x16xf32>
// CHECK:         %[[KEPT:.*]] = vector.load %[[B]]
// CHECK-NEXT:    vector.store %[[KEPT]], %[[OUT]]
// CHECK:         vector.fma
// CHECK:         return
func.func @compose_elsewhere(%a: memref<1x4x4x16xf32>, %b: memref<1x4x4x16xf32>, %out: memref<1x4x4x16xf32>) {
  bppsa.compose_transitions lanes 16 %a, %b into %out : memref<1x4x4x16xf32>, memref<1x4x4x16xf32>, memref<1x4x4x16xf32>
  return
}

// The sums of a product with a cotangent start from the offset.

// CHECK-LABEL: func @apply(
// CHECK-SAME:      %[[M:[^:]*]]: memref<?x3x2x16xf32>, %[[G:[^:]*]]: memref<?x2x16xf32>, %[[OUT:[^:]*]]: memref<?x2x16xf32>
// CHECK:         scf.parallel (%[[BLOCK:.*]]) =
// CHECK:           %[[S:.*]] = vector.load %[[M]][%[[BLOCK]], %c2, %c0, %c0]
// CHECK:           scf.for %{{.*}} iter_args(%{{.*}} = %[[S]]
// CHECK:             vector.load %[[G]][%[[BLOCK]],
// CHECK:           vector.store %{{.*}}, %[[OUT]][%[[BLOCK]], %c0, %c0]
func.func @apply(%m: memref<?x3x2x16xf32>, %g: memref<?x2x16xf32>, %out: memref<?x2x16xf32>) {
  bppsa.apply_transition lanes 16 %m, %g into %out : memref<?x3x2x16xf32>, memref<?x2x16xf32>, memref<?x2x16xf32>
  return
}

// Over units, a column is a sequence of vectors, and each element of an identity column is a
// scalar. Samples and groups of eight columns are distributed over threads.

// CHECK-LABEL: func @units(
// CHECK-SAME:      %[[A:[^:]*]]: memref<?x?x20x1xf32>, %[[M:[^:]*]]: memref<?x20x20x1xf32>
// CHECK-DAG:     %[[COLUMNS:.*]] = memref.collapse_shape %[[M]] {{.*}} into memref<?x20x20xf32>
// CHECK-DAG:     %[[SAVED:.*]] = memref.collapse_shape %[[A]] {{.*}} into memref<?x?x20xf32>
// CHECK-DAG:     %[[ONE:.*]] = arith.constant dense<1.000000e+00> : vector<1xf32>
// CHECK:         scf.parallel (%[[TASK:.*]]) =
// CHECK:           %[[SAMPLE:.*]] = arith.divui %[[TASK]], %[[GROUPS:.*]]
// CHECK:           %[[GROUP:.*]] = arith.remui %[[TASK]], %[[GROUPS]]
// CHECK:           arith.muli %[[GROUP]], %c8
// CHECK:           arith.minui %{{.*}}, %c20
// CHECK:           vector.store %[[ONE]], %[[COLUMNS]][%[[SAMPLE]], %[[COLUMN:.*]], %[[COLUMN]]] : memref<?x20x20xf32>, vector<1xf32>
// CHECK:           vector.load %[[SAVED]]
// CHECK:           arith.mulf {{.*}} : vector<16xf32>
func.func @units(%a: memref<?x?x20x1xf32>, %m: memref<?x20x20x1xf32>) {
  bppsa.transition lanes 1 states [20] saved(%a : memref<?x?x20x1xf32>) into(%m : memref<?x20x20x1xf32>) {
  ^bb0(%at: vector<20xf32>, %gt: vector<20xf32>):
    %0 = arith.mulf %at, %gt : vector<20xf32>
    bppsa.yield %0 : vector<20xf32>
  }
  return
}
