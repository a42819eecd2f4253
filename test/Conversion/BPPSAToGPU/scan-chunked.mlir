// RUN: bppsa-opt %s --bppsa-hoist-input-products --bppsa-choose-gpu-mapping --convert-bppsa-to-gpu --canonicalize --cse | FileCheck %s

// Three launches: a block for each column tile of the map of each chunk but the
// last, here one, a block for the carries of each sample, which reads maps ahead, one for
// the run of each chunk from its carry. The ways to run columns: scan-columns.mlir, scan-column-tiles.mlir.

// CHECK-LABEL: func private @scan(
// CHECK-SAME:      %[[A:.*]]: memref<?x?x21xf32>, %[[G:.*]]: memref<?x21xf32>, %[[W:.*]]: memref<21x21xf32>, %[[OUT:.*]]: memref<?x21xf32>)
// CHECK-DAG:     %[[T:.*]] = memref.dim %[[A]], %c0
// CHECK-DAG:     %[[SAMPLES:.*]] = memref.dim %[[G]], %c0
// CHECK:         %[[CHUNKS:.*]] = arith.ceildivui %[[T]], %c32
// CHECK:         %[[LAST:.*]] = arith.addi %[[CHUNKS]], %c-1
// CHECK:         %[[MAPS:.*]] = memref.alloc(%[[LAST]], %[[SAMPLES]]) {{.*}} : memref<?x?x21x21xf32>
// CHECK:         %[[CARRIES:.*]] = memref.alloc(%[[SAMPLES]], %[[CHUNKS]]) {{.*}} : memref<?x?x21xf32>
// CHECK:         %[[RUNS:.*]] = arith.muli %[[SAMPLES]], %[[LAST]]
// CHECK:         gpu.launch blocks(%{{.*}}) in (%{{[^ ]*}} = %[[RUNS]], {{.*}} function(@scan)
// CHECK:           arith.select %{{.*}}, %cst_0, %cst
// CHECK:           %[[FLAT:.*]] = memref.reinterpret_cast %[[A]]
// CHECK:           scf.for
// CHECK:             nvgpu.device_async_copy %[[FLAT]]
// CHECK:           memref.store %{{.*}}, %[[MAPS]]
// CHECK:         %[[VECTORS:.*]] = memref.collapse_shape %[[MAPS]] {{\[\[}}0], [1], [2, 3]]
// CHECK:         gpu.launch blocks(%{{.*}}) in (%{{[^ ]*}} = %[[SAMPLES]], {{.*}} threads(%[[UNIT:[^,]*]], {{.*}} function(@scan_1) workgroup({{.*}}, %[[STATE:[^ ]*]] : memref<2x56xf32,
// CHECK:           memref.load %[[G]]
// CHECK:           %[[FLAT_MAPS:.*]] = memref.reinterpret_cast %[[VECTORS]]
// CHECK:           scf.for %{{.*}} = %c0 to %[[LAST]] step %c1 {
// CHECK-COUNT-21:    memref.load %[[STATE]]
// CHECK-NOT:         math.fma
// CHECK:             nvgpu.device_async_copy %[[FLAT_MAPS]]
// CHECK-COUNT-21:    math.fma
// CHECK:             memref.store %[[VALUE:.*]], %[[STATE]][%{{.*}}, %[[UNIT]]]
// CHECK-NEXT:        scf.if
// CHECK-NEXT:          memref.store %[[VALUE]], %[[CARRIES]]
// CHECK:             gpu.barrier
// CHECK:         memref.dealloc %[[MAPS]]
// CHECK:         %[[BLOCKS:.*]] = arith.muli %[[SAMPLES]], %[[CHUNKS]]
// CHECK:         gpu.launch blocks(%{{.*}}) in (%{{[^ ]*}} = %[[BLOCKS]], {{.*}} function(@scan_2)
// CHECK:           %[[IS_LAST:.*]] = arith.cmpi eq, %{{.*}}, %[[LAST]]
// CHECK-NOT:       memref.load %[[MAPS]][
// CHECK:           memref.load %[[CARRIES]]
// CHECK:           %[[FLAT_AGAIN:.*]] = memref.reinterpret_cast %[[A]]
// CHECK:           scf.for
// CHECK:             nvgpu.device_async_copy %[[FLAT_AGAIN]]
// CHECK:           scf.if %[[IS_LAST]] {
// CHECK:             memref.store %{{.*}}, %[[OUT]]
// CHECK-NOT:     gpu.launch
// CHECK:         memref.dealloc %[[CARRIES]]
func.func private @scan(%a: memref<?x?x21xf32>, %g: memref<?x21xf32>, %w: memref<21x21xf32>, %out: memref<?x21xf32>) {
  bppsa.chain plan <chunked, 32> saved(%a : memref<?x?x21xf32>) seeds(%g : memref<?x21xf32>) inject_into []
      captures(%w : memref<21x21xf32>) into(%out : memref<?x21xf32>) {
  ^bb0(%at: vector<21xf32>, %gt: vector<21xf32>, %wc: vector<21x21xf32>):
    %0 = arith.mulf %at, %gt : vector<21xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<21x21xf32>, vector<21xf32> -> vector<21xf32>
    bppsa.yield %1 : vector<21xf32>
  }
  return
}

// What is injected is one more column, of a launch of its own; a diagonal, as the chain
// says it is, is one column, which starts as ones. Only the last launch emits.

// CHECK-LABEL: func private @diagonal_injected(
// CHECK-SAME:      %[[S:[^:]*]]: memref<?x?x4xf32>, %{{[^:]*}}: memref<?x4xf32>, %{{[^:]*}}: memref<?x4xf32>, %[[EMITTED:[^:]*]]: memref<?x?x4xf32>)
// CHECK:         memref.alloc(%{{.*}}, %{{.*}}) {{.*}} : memref<?x?x2x4xf32>
// CHECK:         gpu.launch {{.*}} function(@diagonal_injected)
// CHECK-NOT:       memref.reinterpret_cast %[[S]]
// CHECK:         gpu.launch {{.*}} function(@diagonal_injected_1)
// CHECK:           %[[FLAT:.*]] = memref.reinterpret_cast %[[S]]
// CHECK:           nvgpu.device_async_copy %[[FLAT]][
// CHECK:         gpu.launch {{.*}} function(@diagonal_injected_2)
// CHECK-NOT:       memref.store %{{.*}}, %[[EMITTED]][
// CHECK:         gpu.launch {{.*}} function(@diagonal_injected_3)
// CHECK:           memref.store %{{.*}}, %[[EMITTED]][
func.func private @diagonal_injected(%a: memref<?x?x4xf32>, %s: memref<?x?x4xf32>, %g: memref<?x4xf32>,
    %out: memref<?x4xf32>, %emitted: memref<?x?x4xf32>) {
  bppsa.chain plan <chunked, 4> structure <diagonal> saved(%a : memref<?x?x4xf32>) seeds(%g : memref<?x4xf32>) injected(%s : memref<?x?x4xf32>)
      inject_into [0] into(%out, %emitted : memref<?x4xf32>, memref<?x?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %0, %gt : vector<4xf32>, vector<4xf32>
  }
  return
}

// A length that the run time chooses by the counts of the chain: a root of T, or longer
// where there are many samples, from 8 to 64.

// CHECK-LABEL: func private @length_of_the_run_time(
// CHECK-SAME:      %[[A:[^:]*]]: memref<?x?x4xf32>, %[[G:[^:]*]]: memref<?x4xf32>
// CHECK-DAG:     %[[T:.*]] = memref.dim %[[A]], %c0
// CHECK-DAG:     %[[SAMPLES:.*]] = memref.dim %[[G]], %c0
// CHECK:         %[[STEPS:.*]] = arith.sitofp
// CHECK:         %[[PART:.*]] = arith.mulf %[[STEPS]], %{{.*}} : f64
// CHECK:         %[[ROOT:.*]] = math.sqrt %[[PART]] : f64
// CHECK:         arith.fptosi %[[ROOT]]
// CHECK:         %[[COUNT:.*]] = arith.sitofp
// CHECK:         %[[POSITIONS:.*]] = arith.mulf %[[STEPS]], %[[COUNT]] : f64
// CHECK:         %[[WORK:.*]] = arith.mulf %[[POSITIONS]], %{{.*}} : f64
// CHECK:         arith.fptosi %[[WORK]]
// CHECK:         %[[LONGER:.*]] = arith.maxui
// CHECK:         %[[LONG:.*]] = arith.maxui %[[LONGER]], %c8
// CHECK:         %[[CHUNK:.*]] = arith.minui %[[LONG]], %c64
// CHECK:         arith.ceildivui %[[T]], %[[CHUNK]]
func.func private @length_of_the_run_time(%a: memref<?x?x4xf32>, %g: memref<?x4xf32>, %out: memref<?x4xf32>) {
  bppsa.chain plan <chunked> saved(%a : memref<?x?x4xf32>) seeds(%g : memref<?x4xf32>) inject_into []
      into(%out : memref<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return
}
