// RUN: bppsa-opt %s --bppsa-choose-gpu-mapping --convert-bppsa-to-bgpu --canonicalize --cse --split-input-file | FileCheck %s
// RUN: bppsa-opt %s --bppsa-choose-gpu-mapping --convert-bppsa-to-bgpu --bgpu-stage-copies --bgpu-allocate-shared --bgpu-insert-barriers --convert-bgpu-to-gpu --canonicalize --split-input-file | FileCheck %s --check-prefix=THREADS

// For small states, each thread runs one column of the maps, in one-warp blocks, with the matrix in
// registers. Operands shared by columns of the same run are copied once, three links ahead.

// CHECK-LABEL: func private @chunked(
// CHECK-SAME:      %[[A:.*]]: memref<?x?x3xf32>, %[[W:.*]]: memref<3x3xf32>, %[[MAPS:.*]]: memref<?x?x3x3xf32>)
// CHECK-DAG:     %[[SAMPLES:.*]] = memref.dim %[[A]], %c1
// CHECK-DAG:     %[[LAST:.*]] = memref.dim %[[MAPS]], %c0
// CHECK:         %[[RUNS:.*]] = arith.muli %[[SAMPLES]], %[[LAST]]
// CHECK:         %[[COLUMNS:.*]] = arith.muli %[[RUNS]], %c3
// CHECK:         %[[BLOCKS:.*]] = arith.ceildivui %[[COLUMNS]], %c32
// CHECK:         bgpu.kernel blocks(%{{.*}} in %[[BLOCKS]]) threads(32) {
// CHECK:           %[[APART:.*]]:3 = memref.distinct_objects %[[A]], %[[W]], %[[MAPS]]
// CHECK:           %[[ENTRIES:.*]] = bgpu.for_each [32] -> tensor<32xvector<9xf32>> {
// CHECK-COUNT-9:     memref.load %[[APART]]#1
// CHECK:           %[[START:.*]] = bgpu.for_each [32] -> tensor<32xvector<3xf32>> {
// CHECK:           %[[RING:.*]] = memref.alloc() : memref<4x64xf32, #gpu.address_space<workgroup>>
// CHECK:           %[[FIRST:.*]] = bgpu.for_each [32] -> tensor<32xvector<2xindex>> {
// CHECK:           %[[SECOND:.*]] = bgpu.for_each [32] %[[FIRST]]
// CHECK-COUNT-2:     nvgpu.device_async_copy %{{.*}}, %[[RING]][%c0,
// CHECK:           bgpu.for_each [32] %{{.*}} : tensor<32xvector<2xindex>>
// CHECK-COUNT-2:     nvgpu.device_async_copy %{{.*}}, %[[RING]][%c2,
// CHECK:           bgpu.wait %{{.*}} groups(2)

// Read positions advance up to the last link. Maps are stored row-major.

// CHECK:           %[[END:.*]]:2 = scf.for %[[LINK:.*]] = {{.*}} iter_args(%[[G:[^ ]*]] = %[[START]], %[[AT:[^ ]*]] = %{{[^,)]*}})
// CHECK:             %[[SLOT:.*]] = arith.andi %[[LINK]], %c3
// CHECK:             %[[VECTORS:.*]] = memref.subview %[[RING]][%[[SLOT]], 0]
// CHECK:             %[[NEXT:.*]] = bgpu.for_each [32] %[[ENTRIES]], %[[G]] : {{.*}} -> tensor<32xvector<3xf32>> {
// CHECK:             ^bb0(%{{.*}}: index, %[[OWN:.*]]: vector<9xf32>, %[[ROWS:.*]]: vector<3xf32>):
// CHECK:               %[[E00:.*]] = vector.extract %[[OWN]][0]
// CHECK:               %[[A0:.*]] = memref.load %[[VECTORS]]
// CHECK:               %[[G0:.*]] = vector.extract %[[ROWS]][0]
// CHECK:               %[[V0:.*]] = arith.mulf %[[A0]], %[[G0]]
// CHECK:               math.fma %[[E00]], %[[V0]], %cst
// CHECK:             %[[MOVES:.*]] = arith.cmpi ult
// CHECK:             %[[FURTHER:.*]] = bgpu.for_each [32] %[[AT]]
// CHECK-COUNT-2:       nvgpu.device_async_copy %{{.*}}, %[[RING]]
// CHECK:               arith.select %[[MOVES]], %{{.*}}, %c0
// CHECK:             bgpu.wait %{{.*}} groups(2)
// CHECK-NEXT:        scf.yield %[[NEXT]], %[[FURTHER]]
// CHECK:           bgpu.for_each [32] %[[END]]#0
// CHECK:             scf.if
// CHECK:               memref.store %{{.*}}, %[[APART]]#2[%[[MAP:.*]], %[[SAMPLE:.*]], %c0, %[[COLUMN:.*]]]
// CHECK-NEXT:          memref.store %{{.*}}, %[[APART]]#2[%[[MAP]], %[[SAMPLE]], %c1, %[[COLUMN]]]
// CHECK-NEXT:          memref.store %{{.*}}, %[[APART]]#2[%[[MAP]], %[[SAMPLE]], %c2, %[[COLUMN]]]
// CHECK:         } {many_blocks}

// Each step waits once, with a warp barrier.

// THREADS-LABEL: func private @chunked(
// THREADS-NOT:     gpu.barrier
// THREADS:         nvvm.bar.warp.sync
// THREADS:         scf.for
// THREADS-NOT:       nvvm.bar.warp.sync
// THREADS:           nvvm.cp.async.wait.group 2
// THREADS:           nvvm.bar.warp.sync
// THREADS-NEXT:      scf.yield
// THREADS-NOT:     nvvm.bar.warp.sync
// THREADS:         gpu.terminator
func.func private @chunked(%a: memref<?x?x3xf32>, %w: memref<3x3xf32>, %maps: memref<?x?x3x3xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %t = memref.dim %a, %c0 : memref<?x?x3xf32>
  %b = memref.dim %a, %c1 : memref<?x?x3xf32>
  %last = memref.dim %maps, %c0 : memref<?x?x3x3xf32>
  scf.forall (%k) in (%last) {
    %before = arith.muli %k, %c32 : index
    %rest = arith.subi %t, %before : index
    %first = arith.subi %rest, %c32 : index
    %a_k = memref.subview %a[%first, 0, 0] [32, %b, 3] [1, 1, 1] : memref<?x?x3xf32> to memref<32x?x3xf32, strided<[?, 3, 1], offset: ?>>
    %m_k = memref.subview %maps[%k, 0, 0, 0] [1, %b, 3, 3] [1, 1, 1, 1]
        : memref<?x?x3x3xf32> to memref<?x3x3xf32, strided<[9, 3, 1], offset: ?>>
    bppsa.transition by_rows states [3] saved(%a_k : memref<32x?x3xf32, strided<[?, 3, 1], offset: ?>>)
        captures(%w : memref<3x3xf32>) into(%m_k : memref<?x3x3xf32, strided<[9, 3, 1], offset: ?>>) {
    ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>, %wc: vector<3x3xf32>):
      %0 = arith.mulf %at, %gt : vector<3xf32>
      %1 = bppsa.matvec transposed %wc, %0 : vector<3x3xf32>, vector<3xf32> -> vector<3xf32>
      bppsa.yield %1 : vector<3xf32>
    }
  }
  return
}

// -----

// With 15 rows, two neighbouring threads have 8 rows each, in groups of four; the 16th row does not
// exist. The operand of the product goes through shared memory, with a separate slot for each of
// the 16 columns of a warp. Copies are 4 bytes wide because 15 is odd.

// CHECK-LABEL: func private @shared_columns(
// CHECK-SAME:      %[[W:[^:]*]]: memref<15x15xf32>
// CHECK:         bgpu.kernel
// CHECK:           %[[VECTORS:.*]] = memref.alloc() : memref<16x16xf32, #gpu.address_space<workgroup>>
// CHECK:           %[[ENTRIES:.*]] = bgpu.for_each [16, 2] -> tensor<16x2xvector<120xf32>> {
// CHECK-NEXT:      ^bb0(%{{.*}}: index, %[[PART:.*]]: index):
// CHECK-NEXT:        %[[ROW:.*]] = arith.muli %[[PART]], %c4
// CHECK-NEXT:        memref.load %{{.*}}[%c0, %[[ROW]]]
// CHECK:             %[[LAST:.*]] = arith.minui %{{.*}}, %c14
// CHECK-NEXT:        memref.load %{{.*}}[%c0, %[[LAST]]]
// CHECK:           %[[RING:.*]] = memref.alloc() : memref<4x32xf32, #gpu.address_space<workgroup>>
// CHECK:           scf.for
// CHECK:             bgpu.for_each [16, 2] %[[ENTRIES]], %{{.*}} {
// CHECK-NEXT:        ^bb0(%[[COLUMN:.*]]: index, %[[PART:.*]]: index,
// CHECK:               %[[ROW:.*]] = arith.muli %[[PART]], %c4
// CHECK:               %[[V0:.*]] = arith.mulf
// CHECK:               memref.store %[[V0]], %[[VECTORS]][%[[COLUMN]], %[[ROW]]]
// CHECK-COUNT-7:       memref.store %{{.*}}, %[[VECTORS]][%[[COLUMN]], %{{.*}}]
// CHECK:             bgpu.for_each [16, 2] %[[ENTRIES]] : tensor<16x2xvector<120xf32>> -> tensor<16x2xvector<8xf32>> {
// CHECK-NEXT:        ^bb0(%[[COLUMN:.*]]: index, %{{.*}}: index, %[[OWN:.*]]: vector<120xf32>):
// CHECK:               %[[E0:.*]] = vector.extract %[[OWN]][0]
// CHECK:               %[[FIRST:.*]] = memref.load %[[VECTORS]][%[[COLUMN]], %c0]
// CHECK-NEXT:          math.fma %[[E0]], %[[FIRST]], %cst
// CHECK:               memref.load %[[VECTORS]][%[[COLUMN]], %c14]
// CHECK:             nvgpu.device_async_copy %{{.*}}, %[[RING]][{{.*}}], 1 :

// One barrier separates the write of the vectors from their reads, and one separates steps.

// THREADS-LABEL: func private @shared_columns(
// THREADS:         scf.for
// THREADS-NOT:       nvvm.bar.warp.sync
// THREADS:           memref.store
// THREADS:           nvvm.bar.warp.sync
// THREADS-NOT:       nvvm.bar.warp.sync
// THREADS:           nvvm.cp.async.wait.group 2
// THREADS:           nvvm.bar.warp.sync
// THREADS-NEXT:      scf.yield
func.func private @shared_columns(%w: memref<15x15xf32>, %a: memref<?x?x15xf32>, %maps: memref<?x?x15x15xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %t = memref.dim %a, %c0 : memref<?x?x15xf32>
  %b = memref.dim %a, %c1 : memref<?x?x15xf32>
  %last = memref.dim %maps, %c0 : memref<?x?x15x15xf32>
  scf.forall (%k) in (%last) {
    %before = arith.muli %k, %c32 : index
    %rest = arith.subi %t, %before : index
    %first = arith.subi %rest, %c32 : index
    %a_k = memref.subview %a[%first, 0, 0] [32, %b, 15] [1, 1, 1] : memref<?x?x15xf32> to memref<32x?x15xf32, strided<[?, 15, 1], offset: ?>>
    %m_k = memref.subview %maps[%k, 0, 0, 0] [1, %b, 15, 15] [1, 1, 1, 1]
        : memref<?x?x15x15xf32> to memref<?x15x15xf32, strided<[225, 15, 1], offset: ?>>
    bppsa.transition by_rows states [15] saved(%a_k : memref<32x?x15xf32, strided<[?, 15, 1], offset: ?>>)
        captures(%w : memref<15x15xf32>) into(%m_k : memref<?x15x15xf32, strided<[225, 15, 1], offset: ?>>) {
    ^bb0(%at: vector<15xf32>, %gt: vector<15xf32>, %wc: vector<15x15xf32>):
      %0 = arith.mulf %at, %gt : vector<15xf32>
      %1 = bppsa.matvec transposed %wc, %0 : vector<15x15xf32>, vector<15xf32> -> vector<15xf32>
      bppsa.yield %1 : vector<15xf32>
    }
  }
  return
}

// -----

// The rows of two states form one column. The link has slices of vectors, a captured vector,
// constants, and a matrix multiplied in both orientations, which is stored twice. Leaves of a tree
// are runs of one step. Injected cotangents have their own kernel.

// CHECK-LABEL: func private @tree(
// CHECK:         bgpu.kernel blocks(%{{.*}} in %{{.*}}) threads(32) {
// CHECK:           %[[APART:.*]]:4 = memref.distinct_objects
// CHECK:           %[[MATRIX:.*]] = memref.alloc() : memref<2x4xf32, #gpu.address_space<workgroup>>
// CHECK-NEXT:      bgpu.for_each [2] {
// CHECK-NEXT:      ^bb0(%[[ROW:.*]]: index):
// CHECK:             %[[E:.*]] = memref.load %[[APART]]#1[%[[ROW]], %c1]
// CHECK-NEXT:        memref.store %[[E]], %[[MATRIX]][%c1, %[[ROW]]]
// CHECK:           %[[TRANSPOSED:.*]] = memref.alloc() : memref<2x4xf32, #gpu.address_space<workgroup>>
// CHECK-NEXT:      bgpu.for_each [2] {
// CHECK-NEXT:      ^bb0(%[[ROW:.*]]: index):
// CHECK:             %[[E:.*]] = memref.load %[[APART]]#1[%c1, %[[ROW]]]
// CHECK-NEXT:        memref.store %[[E]], %[[TRANSPOSED]][%c1, %[[ROW]]]
// CHECK:           gpu.barrier
// CHECK-NEXT:      bgpu.for_each [32]
// CHECK-NOT:         memref.load %[[APART]]#0[{{.*}}, %c0]
// CHECK-DAG:         %[[A2:.*]] = memref.load %[[APART]]#0[{{.*}}, %c2]
// CHECK-DAG:         %[[P0:.*]] = memref.load %[[APART]]#2[%c0]
// CHECK:             %[[GATED:.*]] = arith.mulf %[[A2]], %{{.*}}
// CHECK:             %[[PEEP:.*]] = arith.mulf %[[P0]], %[[GATED]]
// CHECK:             %[[HALF:.*]] = arith.mulf %[[PEEP]], %cst
// CHECK:             memref.load %[[MATRIX]][%c1, %c1]
// CHECK:             %[[FIRST:.*]] = memref.load %[[TRANSPOSED]][%c0, %c0]
// CHECK:             math.fma %[[FIRST]], %[[HALF]], %[[GATED]]
// CHECK:             memref.store %{{.*}}, %[[APART]]#3
// CHECK-NOT:     many_blocks
// CHECK:         bgpu.kernel blocks(%{{.*}} in %{{.*}}) threads(32) {
// CHECK-NOT:       scf.for
// CHECK:             memref.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %c4, %{{.*}}]
// CHECK:             %[[BEHIND:.*]] = arith.addi %{{.*}}, %c2
// CHECK-NEXT:        memref.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %c4, %[[BEHIND]]]

// THREADS-LABEL: func private @tree(
func.func private @tree(%a: memref<?x?x4xf32>, %s: memref<?x?x2xf32>, %w: memref<2x2xf32>, %p: memref<2xf32>,
    %maps: memref<?x?x5x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = memref.dim %a, %c0 : memref<?x?x4xf32>
  %b = memref.dim %a, %c1 : memref<?x?x4xf32>
  scf.forall (%k) = (1) to (%t) step (1) {
    %step = arith.subi %t, %k : index
    %slot = arith.subi %k, %c1 : index
    %a_k = memref.subview %a[%step, 0, 0] [1, %b, 4] [1, 1, 1]
        : memref<?x?x4xf32> to memref<1x?x4xf32, strided<[?, 4, 1], offset: ?>>
    %s_k = memref.subview %s[%step, 0, 0] [1, %b, 2] [1, 1, 1]
        : memref<?x?x2xf32> to memref<1x?x2xf32, strided<[?, 2, 1], offset: ?>>
    %m_k = memref.subview %maps[%slot, 0, 0, 0] [1, %b, 5, 4] [1, 1, 1, 1]
        : memref<?x?x5x4xf32> to memref<?x5x4xf32, strided<[20, 4, 1], offset: ?>>
    bppsa.transition states [2, 2] saved(%a_k : memref<1x?x4xf32, strided<[?, 4, 1], offset: ?>>)
        injected(%s_k : memref<1x?x2xf32, strided<[?, 2, 1], offset: ?>>) inject_into [0]
        captures(%w, %p : memref<2x2xf32>, memref<2xf32>) into(%m_k : memref<?x5x4xf32, strided<[20, 4, 1], offset: ?>>) {
    ^bb0(%at: vector<4xf32>, %gt: vector<2xf32>, %kt: vector<2xf32>, %wc: vector<2x2xf32>, %pc: vector<2xf32>):
      %half = arith.constant dense<0.5> : vector<2xf32>
      %end = vector.extract_strided_slice %at {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
      %0 = arith.mulf %end, %gt : vector<2xf32>
      %1 = arith.mulf %pc, %0 : vector<2xf32>
      %2 = arith.mulf %1, %half : vector<2xf32>
      %3 = bppsa.matvec %wc, %kt : vector<2x2xf32>, vector<2xf32> -> vector<2xf32>
      %4 = bppsa.matvec transposed %wc, %2 plus %0 : vector<2x2xf32>, vector<2xf32> plus vector<2xf32> -> vector<2xf32>
      bppsa.yield %3, %4 : vector<2xf32>, vector<2xf32>
    }
  }
  return
}

