// RUN: bppsa-opt %s --convert-bppsa-to-bgpu --canonicalize --cse | FileCheck %s

// A kernel sums slabs of 1024 rows, and a second kernel adds the slab sums. Each of the 16 threads
// per column adds every 16th row. Contiguous rows need no division.

// CHECK-LABEL: func private @step_sum(
// CHECK-SAME:      %[[X:.*]]: memref<?x?x5xf32>, %[[Y:.*]]: memref<5xf32>)
// CHECK-DAG:     %[[SAMPLES:.*]] = memref.dim %[[X]], %c1
// CHECK-DAG:     %[[T:.*]] = memref.dim %[[X]], %c0
// CHECK:         %[[NUM_ROWS:.*]] = arith.muli %[[T]], %[[SAMPLES]]
// CHECK:         %[[SLABS:.*]] = arith.ceildivui %[[NUM_ROWS]], %c1024
// CHECK:         %[[PARTS:.*]] = memref.alloc(%[[SLABS]]) {{.*}} : memref<?x5xf32>
// CHECK:         %[[ROWS:.*]] = memref.collapse_shape %[[X]] {{\[\[}}0, 1], [2]]
// CHECK:         bgpu.kernel blocks(%[[SLAB:.*]] in %[[SLABS]]) threads(512) {
// CHECK:           %[[FIRST:.*]] = arith.muli %[[SLAB]], %c1024
// CHECK:           %[[END:.*]] = arith.addi %[[FIRST]], %c1024
// CHECK:           %[[LAST:.*]] = arith.minui %[[END]], %[[NUM_ROWS]]
// CHECK:           %[[SLICES:.*]] = tensor.generate
// CHECK-NEXT:      ^bb0(%[[SLICE:.*]]: index, %[[ELEMENT:.*]]: index):
// CHECK:             %[[READ:.*]] = arith.minui %[[ELEMENT]], %c4
// CHECK:             %[[BEGIN:.*]] = arith.addi %[[FIRST]], %[[SLICE]]
// CHECK:             scf.for %[[ROW:.*]] = %[[BEGIN]] to %[[LAST]] step %c16
// CHECK:               memref.load %[[ROWS]][%[[ROW]], %[[READ]]]
// CHECK:           %[[SUMS:.*]] = bgpu.reduce <add> %[[SLICES]] : tensor<16x32xf32> -> tensor<1x32xf32>
// CHECK:           bgpu.for_each [1, 32] %[[SUMS]]
// CHECK-NEXT:      ^bb0(%{{.*}}: index, %[[COLUMN:.*]]: index, %[[SUM:.*]]: f32):
// CHECK:             memref.store %[[SUM]], %[[PARTS]][%[[SLAB]], %[[COLUMN]]]
// CHECK:         bgpu.kernel blocks(%[[BLOCK:.*]] in %c1) threads(512) {
// CHECK:           %[[START:.*]] = arith.muli %[[BLOCK]], %c32
// CHECK:           %[[SLICES:.*]] = tensor.generate
// CHECK-NEXT:      ^bb0(%[[SLICE:.*]]: index, %[[ELEMENT:.*]]: index):
// CHECK:             %[[POSITION:.*]] = arith.addi %[[START]], %[[ELEMENT]]
// CHECK:             %[[READ:.*]] = arith.minui %[[POSITION]], %c4
// CHECK:             scf.for %[[PART:.*]] = %[[SLICE]] to %[[SLABS]] step %c16
// CHECK:               memref.load %[[PARTS]][%[[PART]], %[[READ]]]
// CHECK:           %[[TOTALS:.*]] = bgpu.reduce <add> %[[SLICES]] : tensor<16x32xf32> -> tensor<1x32xf32>
// CHECK:           bgpu.for_each [1, 32] %[[TOTALS]]
// CHECK-NEXT:      ^bb0(%{{.*}}: index, %[[COLUMN:.*]]: index, %[[TOTAL:.*]]: f32):
// CHECK:             %[[AT:.*]] = arith.addi %[[START]], %[[COLUMN]]
// CHECK:             %[[EXISTS:.*]] = arith.cmpi ult, %[[AT]], %c5
// CHECK:             scf.if %[[EXISTS]]
// CHECK:               memref.store %[[TOTAL]], %[[Y]][%[[AT]]]
// CHECK:         memref.dealloc %[[PARTS]]
func.func private @step_sum(%x: memref<?x?x5xf32>, %y: memref<5xf32>) {
  bppsa.step_sum %x into %y : memref<?x?x5xf32> into memref<5xf32>
  return
}

// Partial sums store the results one after the other, each column-major.

// CHECK-LABEL: func private @reduce_sums(
// CHECK-SAME:      %[[PARTS:.*]]: memref<?x?x36xf32>, %[[W:.*]]: memref<4x8xf32>, %[[B:.*]]: memref<4xf32>)
// CHECK:         %[[RUNS:.*]] = arith.muli
// CHECK:         %[[FLAT:.*]] = memref.collapse_shape %[[PARTS]] {{\[\[}}0, 1], [2]]
// CHECK:         bgpu.kernel blocks(%{{.*}} in %c2) threads(512) {
// CHECK:             scf.for %{{.*}} to %[[RUNS]] step %c16
// CHECK:               memref.load %[[FLAT]]
// CHECK:           bgpu.for_each
// CHECK:             scf.if
// CHECK:             scf.if
// CHECK-DAG:           %[[ROW:.*]] = arith.remui %[[AT:.*]], %c4
// CHECK-DAG:           %[[COLUMN:.*]] = arith.divui %[[AT]], %c4
// CHECK:               memref.store %[[TOTAL:.*]], %[[W]][%[[ROW]], %[[COLUMN]]]
// CHECK:             %[[IN_B:.*]] = arith.subi %{{.*}}, %c32
// CHECK:               memref.store %[[TOTAL]], %[[B]]
func.func private @reduce_sums(%parts: memref<?x?x36xf32>, %w: memref<4x8xf32>, %b: memref<4xf32>) {
  bppsa.reduce_sums %parts into %w, %b : memref<?x?x36xf32> into memref<4x8xf32>, memref<4xf32>
  return
}

// Host functions get no kernels.

// CHECK-LABEL: func @host(
// CHECK:         bppsa.step_sum
func.func @host(%x: memref<?x?x5xf32>, %y: memref<5xf32>) {
  bppsa.step_sum %x into %y : memref<?x?x5xf32> into memref<5xf32>
  return
}
