// RUN: bppsa-opt %s --bppsa-choose-gpu-mapping --convert-bppsa-to-bgpu --bgpu-insert-barriers --canonicalize --cse | FileCheck %s

// Outer products large enough for tiles use tensor cores. Four warps compute 64 x 64 elements, and
// chunks of 16 rows are copied to shared memory three chunks ahead. 40 columns are copied in groups
// of four, 33 columns one at a time. Missing rows and columns are zeros. The loop carries the step
// and sample of the rows to be copied next.

// CHECK-LABEL: func private @outer_sum_in_tiles(
// CHECK-SAME:      %[[L:.*]]: memref<?x?x40xf32>, %[[R:.*]]: memref<?x?x33xf32, strided<[?, 33, 1], offset: ?>>, %[[OUT:.*]]: memref<40x33xf32>)
// CHECK:         %[[ROWS:.*]] = arith.muli
// CHECK:         %[[SLABS:.*]] = arith.ceildivui %[[ROWS]], %c1024
// CHECK:         %[[PARTS:.*]] = memref.alloc(%[[SLABS]]) {{.*}} : memref<?x1320xf32>
// CHECK:         bgpu.kernel blocks(%[[BLOCK:.*]] in %[[SLABS]]) threads(128) {
// CHECK:           %[[FIRST:.*]] = arith.muli %[[BLOCK]], %c1024
// CHECK:           %[[LAST:.*]] = arith.minui %{{.*}}, %[[ROWS]]
// CHECK:           %[[LEFT:.*]] = memref.alloc() : memref<4x16x72xf32, #gpu.address_space<workgroup>>
// CHECK-NEXT:      %[[RIGHT:.*]] = memref.alloc() : memref<4x16x72xf32, #gpu.address_space<workgroup>>
// CHECK:           %[[SAMPLES:.*]] = memref.dim %[[R]], %c1
// CHECK:           %[[DIGITS:.*]]:2 = bgpu.for_each [16, 8] -> tensor<16x8xindex>, tensor<16x8xindex> {
// CHECK-NEXT:      ^bb0(%[[I:.*]]: index, %{{.*}}: index):
// CHECK:             %[[ROW:.*]] = arith.addi %[[FIRST]], %[[I]]
// CHECK-DAG:         arith.divui %[[ROW]],
// CHECK-DAG:         arith.remui %[[ROW]],
// CHECK:           bgpu.for_each [16, 8] %[[DIGITS]]#0, %[[DIGITS]]#1 : tensor<16x8xindex>, tensor<16x8xindex> {
// CHECK-NEXT:      ^bb0(%[[I:.*]]: index, %{{.*}}: index, %[[STEP:.*]]: index, %[[SAMPLE:.*]]: index):
// CHECK:             %[[ROW:.*]] = arith.addi %[[FIRST]], %[[I]]
// CHECK:             %[[EXISTS:.*]] = arith.cmpi ult, %[[ROW]], %[[LAST]]
// CHECK:             %[[AT:.*]] = arith.select %[[EXISTS]], %[[STEP]], %c0
// CHECK:             %[[HAS_COLUMN:.*]] = arith.cmpi ult, %[[COLUMN:.*]], %c40
// CHECK:             %[[BOTH:.*]] = arith.andi %[[EXISTS]], %[[HAS_COLUMN]]
// CHECK:             %[[COUNT:.*]] = arith.select %[[BOTH]], %c4, %c0
// CHECK:             %[[READ:.*]] = arith.minui %[[COLUMN]], %c36
// CHECK:             nvgpu.device_async_copy %[[L]][%[[AT]], %[[SAMPLE]], %[[READ]]], %[[LEFT]][%c0, %[[I]], %{{.*}}], 4, %[[COUNT]] {bypassL1}
// CHECK:             nvgpu.device_async_copy %[[R]]{{.*}}, %[[RIGHT]]{{.*}}, 1, %{{.*}} :
// CHECK:           bgpu.for_each [16, 8] %[[DIGITS]]#0, %[[DIGITS]]#1 : tensor<16x8xindex>, tensor<16x8xindex> -> tensor<16x8xindex>, tensor<16x8xindex> {
// CHECK:             arith.cmpi ult, %{{.*}}, %[[SAMPLES]]
// CHECK:           bgpu.wait %{{.*}}, %{{.*}} groups(2)
// CHECK:           gpu.barrier
// CHECK-NEXT:      %{{.*}} = scf.for %[[CHUNK:.*]] = %c0 to %{{.*}} -> (tensor<16x8xindex>, tensor<16x8xindex>, tensor<2x2x8x4xvector<4xf32>>,
// CHECK:             %[[AHEAD:.*]] = arith.addi %[[CHUNK]], %c3
// CHECK:             nvgpu.device_async_copy %[[L]]
// CHECK:             %[[SLOT:.*]] = arith.andi %[[CHUNK]], %c3
// CHECK-DAG:         memref.subview %[[RIGHT]][%[[SLOT]],
// CHECK-DAG:         memref.subview %[[LEFT]][%[[SLOT]],
// CHECK-COUNT-16:    bgpu.mma {{.*}} precision(fp32)
// CHECK-NOT:         bgpu.mma
// CHECK:             bgpu.wait %{{.*}}, %{{.*}} groups(2)
// CHECK-NEXT:        gpu.barrier
// CHECK-NEXT:        scf.yield
// CHECK:           bgpu.wait %[[LEFT]], %[[RIGHT]] groups(0)
// CHECK-NOT:       gpu.barrier
// CHECK-COUNT-32:  memref.store %{{.*}}, %[[PARTS]][%[[BLOCK]],
// CHECK:         bgpu.kernel
// CHECK:           memref.store %{{.*}}, %[[OUT]]
// CHECK:         memref.dealloc %[[PARTS]]
func.func private @outer_sum_in_tiles(%l: memref<?x?x40xf32>, %r: memref<?x?x33xf32, strided<[?, 33, 1], offset: ?>>, %out: memref<40x33xf32>) {
  bppsa.outer_sum %l, %r into %out : memref<?x?x40xf32>, memref<?x?x33xf32, strided<[?, 33, 1], offset: ?>> into memref<40x33xf32>
  return
}

// Sums with the same right factor are merged: their result rows are numbered consecutively, and
// each part of a row along the depth is copied from the left factor that contains it.

// CHECK-LABEL: func private @outer_sums(
// CHECK-SAME:      %[[A:[^:]*]]: memref<?x?x20xf32>, %[[B:[^:]*]]: memref<?x?x40xf32>, %[[X:[^:]*]]: memref<?x?x24xf32>, %[[V:[^:]*]]: memref<20x24xf32>, %[[W:[^:]*]]: memref<40x24xf32>)
// CHECK:         %[[PARTS:.*]] = memref.alloc(%[[SLABS:.*]]) {{.*}} : memref<?x1440xf32>
// CHECK:         bgpu.kernel blocks(%{{.*}} in %[[TILES:.*]]) threads(128)
// CHECK:           %[[A0:.*]] = memref.cast %[[A]]
// CHECK:           arith.cmpi ult, %{{.*}}, %c20
// CHECK:           %[[B0:.*]] = memref.cast %[[B]]
// CHECK:           %[[LEFT:.*]] = arith.select %{{.*}}, %[[A0]], %[[B0]]
// CHECK:           nvgpu.device_async_copy %[[LEFT]][{{.*}}, 4, %{{.*}} {bypassL1}
// CHECK:           nvgpu.device_async_copy %[[X]]
// CHECK:           memref.store %{{.*}}, %[[PARTS]]
// CHECK:         bgpu.kernel
// CHECK:           %[[V0:.*]] = memref.cast %[[V]]
// CHECK:           %[[W0:.*]] = memref.cast %[[W]]
// CHECK:           %[[RESULT:.*]] = arith.select %{{.*}}, %[[V0]], %[[W0]]
// CHECK:           memref.store %{{.*}}, %[[RESULT]]
// CHECK-NOT:     bgpu.kernel
// CHECK:         return
func.func private @outer_sums(%a: memref<?x?x20xf32>, %b: memref<?x?x40xf32>, %x: memref<?x?x24xf32>, %v: memref<20x24xf32>,
    %w: memref<40x24xf32>) {
  bppsa.outer_sum %a, %x into %v : memref<?x?x20xf32>, memref<?x?x24xf32> into memref<20x24xf32>
  bppsa.outer_sum %b, %x into %w : memref<?x?x40xf32>, memref<?x?x24xf32> into memref<40x24xf32>
  return
}

// A result of 2^18 elements uses slabs of 2048 rows, because each slab stores a partial result of
// this size.

// CHECK-LABEL: func private @large_sum(
// CHECK:         %[[SLABS:.*]] = arith.ceildivui %{{.*}}, %c2048
// CHECK:         memref.alloc(%[[SLABS]]) {{.*}} : memref<?x262144xf32>
// CHECK:         bgpu.kernel
// CHECK:           arith.muli %{{.*}}, %c2048
// CHECK:           arith.addi %{{.*}}, %c2048
func.func private @large_sum(%l: memref<?x?x512xf32>, %r: memref<?x?x512xf32>, %out: memref<512x512xf32>) {
  bppsa.outer_sum %l, %r into %out : memref<?x?x512xf32>, memref<?x?x512xf32> into memref<512x512xf32>
  return
}

// Sums whose vectors are copied element by element are separate kernels.

// CHECK-LABEL: func private @odd_sums(
// CHECK-COUNT-4: bgpu.kernel
// CHECK-NOT:     bgpu.kernel
// CHECK:         return
func.func private @odd_sums(%a: memref<?x?x33xf32>, %b: memref<?x?x33xf32>, %x: memref<?x?x24xf32>, %v: memref<33x24xf32>,
    %w: memref<33x24xf32>) {
  bppsa.outer_sum %a, %x into %v : memref<?x?x33xf32>, memref<?x?x24xf32> into memref<33x24xf32>
  bppsa.outer_sum %b, %x into %w : memref<?x?x33xf32>, memref<?x?x24xf32> into memref<33x24xf32>
  return
}
