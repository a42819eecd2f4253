// RUN: bppsa-opt %s --bppsa-hoist-input-products --bppsa-choose-gpu-mapping --convert-bppsa-to-gpu --bgpu-allocate-shared --bgpu-insert-barriers --convert-bgpu-to-gpu --canonicalize --cse | FileCheck %s

// Outer products that are worth tiles go to tensor cores: four warps have 64 x 64 elements, and 16 rows at a time are copied
// to shared memory, three such chunks ahead. 40 columns are copied by fours, 33 one by one; rows and
// columns that do not exist are zeros.

// CHECK-LABEL: func private @outer_sum_in_tiles(
// CHECK-SAME:      %[[L:.*]]: memref<?x?x40xf32>, %[[R:.*]]: memref<?x?x33xf32, strided<[?, 33, 1], offset: ?>>, %[[OUT:.*]]: memref<40x33xf32>)
// CHECK:         %[[ROWS:.*]] = arith.muli
// CHECK:         %[[SLABS:.*]] = arith.ceildivui %[[ROWS]], %c1024
// CHECK:         %[[PARTS:.*]] = memref.alloc(%[[SLABS]]) {{.*}} : memref<?x1320xf32>
// CHECK:         gpu.launch blocks({{.*}}) in (%{{[^ ]*}} = %[[SLABS]], {{.*}} threads({{.*}}) in (%{{[^ ]*}} = %c128,
// CHECK-SAME:        workgroup(%[[LEFT:[^ ]*]] : memref<4x16x72xf32, #gpu.address_space<workgroup>>, %[[RIGHT:[^ ]*]] : memref<4x16x72xf32, #gpu.address_space<workgroup>>)
// CHECK:           %[[FIRST:.*]] = arith.muli %{{.*}}, %c1024
// CHECK:           %[[LAST:.*]] = arith.minui %{{.*}}, %[[ROWS]]
// CHECK:           %[[ROW:.*]] = arith.addi %[[FIRST]]
// CHECK-DAG:       %[[SAMPLES:.*]] = memref.dim %[[R]], %c1
// CHECK-DAG:       %[[STEP:.*]] = arith.divui %[[ROW]], %[[SAMPLES]]
// CHECK:           %[[EXISTS:.*]] = arith.cmpi ult, %[[ROW]], %[[LAST]]
// CHECK:           %[[AT:.*]] = arith.select %[[EXISTS]], %[[STEP]], %c0
// CHECK:           %[[HAS_COLUMN:.*]] = arith.cmpi ult, %[[COLUMN:.*]], %c40
// CHECK:           %[[BOTH:.*]] = arith.andi %[[EXISTS]], %[[HAS_COLUMN]]
// CHECK:           %[[COUNT:.*]] = arith.select %[[BOTH]], %c4, %c0
// CHECK:           %[[READ:.*]] = arith.minui %[[COLUMN]], %c36
// CHECK:           nvgpu.device_async_copy %[[L]][%[[AT]], %{{.*}}, %[[READ]]], %[[LEFT]][%c0, %{{.*}}, %{{.*}}], 4, %[[COUNT]] {bypassL1}
// CHECK:           nvgpu.device_async_copy %[[R]]{{.*}}, %[[RIGHT]]{{.*}}, 1, %{{.*}} :
// CHECK:           nvgpu.device_async_wait %{{.*}} {numGroups = 2 : i32}
// CHECK-NEXT:      gpu.barrier
// CHECK:           scf.for %[[CHUNK:.*]] = %c0 to
// CHECK:             %[[AHEAD:.*]] = arith.addi %[[CHUNK]], %c3
// CHECK:             nvgpu.device_async_copy %[[L]]
// CHECK:             %[[SLOT:.*]] = arith.andi %[[CHUNK]], %c3
// CHECK:             memref.load %[[RIGHT]][%[[SLOT]],
// CHECK:             memref.load %[[LEFT]][%[[SLOT]],
// CHECK-COUNT-48:    nvvm.mma.sync
// CHECK-NOT:         nvvm.mma.sync
// CHECK:             nvgpu.device_async_wait %{{.*}} {numGroups = 2 : i32}
// CHECK-NEXT:        gpu.barrier
// CHECK-NEXT:        scf.yield
// CHECK:           nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
// CHECK-COUNT-32:  memref.store %{{.*}}, %[[PARTS]]
// CHECK:         gpu.launch {{.*}} function(@outer_sum_in_tiles_1)
// CHECK:           memref.store %{{.*}}, %[[OUT]]
// CHECK:         memref.dealloc %[[PARTS]]
func.func private @outer_sum_in_tiles(%l: memref<?x?x40xf32>, %r: memref<?x?x33xf32, strided<[?, 33, 1], offset: ?>>, %out: memref<40x33xf32>) {
  bppsa.outer_sum %l, %r into %out : memref<40x33xf32> : memref<?x?x40xf32>, memref<?x?x33xf32, strided<[?, 33, 1], offset: ?>>
  return
}

// Sums with the same right factor are one: the rows of their results are counted through all of them,
// and each part of a row of the depth is copied from the left factor that has it.

// CHECK-LABEL: func private @outer_sums(
// CHECK-SAME:      %[[A:[^:]*]]: memref<?x?x20xf32>, %[[B:[^:]*]]: memref<?x?x40xf32>, %[[X:[^:]*]]: memref<?x?x24xf32>, %[[V:[^:]*]]: memref<20x24xf32>, %[[W:[^:]*]]: memref<40x24xf32>)
// CHECK:         %[[PARTS:.*]] = memref.alloc(%[[SLABS:.*]]) {{.*}} : memref<?x1440xf32>
// CHECK:         gpu.launch blocks({{.*}}) in (%{{[^ ]*}} = %[[SLABS]], {{.*}} function(@outer_sums)
// CHECK:           %[[A0:.*]] = memref.cast %[[A]]
// CHECK:           arith.cmpi ult, %{{.*}}, %c20
// CHECK:           %[[B0:.*]] = memref.cast %[[B]]
// CHECK:           %[[LEFT:.*]] = arith.select %{{.*}}, %[[A0]], %[[B0]]
// CHECK:           nvgpu.device_async_copy %[[LEFT]][{{.*}}, 4, %{{.*}} {bypassL1}
// CHECK:           nvgpu.device_async_copy %[[X]]
// CHECK:           memref.store %{{.*}}, %[[PARTS]]
// CHECK:         gpu.launch {{.*}} function(@outer_sums_1)
// CHECK:           %[[V0:.*]] = memref.cast %[[V]]
// CHECK:           %[[W0:.*]] = memref.cast %[[W]]
// CHECK:           %[[RESULT:.*]] = arith.select %{{.*}}, %[[V0]], %[[W0]]
// CHECK:           memref.store %{{.*}}, %[[RESULT]]
// CHECK-NOT:     gpu.launch
// CHECK:         return
func.func private @outer_sums(%a: memref<?x?x20xf32>, %b: memref<?x?x40xf32>, %x: memref<?x?x24xf32>, %v: memref<20x24xf32>,
    %w: memref<40x24xf32>) {
  bppsa.outer_sum %a, %x into %v : memref<20x24xf32> : memref<?x?x20xf32>, memref<?x?x24xf32>
  bppsa.outer_sum %b, %x into %w : memref<40x24xf32> : memref<?x?x40xf32>, memref<?x?x24xf32>
  return
}

// A result of 2^18 elements has slabs of 2048 rows, as each of them has such a result in memory.

// CHECK-LABEL: func private @large_sum(
// CHECK:         %[[SLABS:.*]] = arith.ceildivui %{{.*}}, %c2048
// CHECK:         memref.alloc(%[[SLABS]]) {{.*}} : memref<?x262144xf32>
// CHECK:         gpu.launch
// CHECK:           arith.muli %{{.*}}, %c2048
// CHECK:           arith.addi %{{.*}}, %c2048
func.func private @large_sum(%l: memref<?x?x512xf32>, %r: memref<?x?x512xf32>, %out: memref<512x512xf32>) {
  bppsa.outer_sum %l, %r into %out : memref<512x512xf32> : memref<?x?x512xf32>, memref<?x?x512xf32>
  return
}

// Those whose vectors are copied element by element are launches of their own.

// CHECK-LABEL: func private @odd_sums(
// CHECK-COUNT-4: gpu.launch
// CHECK-NOT:     gpu.launch
// CHECK:         return
func.func private @odd_sums(%a: memref<?x?x33xf32>, %b: memref<?x?x33xf32>, %x: memref<?x?x24xf32>, %v: memref<33x24xf32>,
    %w: memref<33x24xf32>) {
  bppsa.outer_sum %a, %x into %v : memref<33x24xf32> : memref<?x?x33xf32>, memref<?x?x24xf32>
  bppsa.outer_sum %b, %x into %w : memref<33x24xf32> : memref<?x?x33xf32>, memref<?x?x24xf32>
  return
}
