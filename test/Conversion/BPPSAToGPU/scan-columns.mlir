// RUN: bppsa-opt %s --bppsa-hoist-input-products --bppsa-choose-gpu-mapping --convert-bppsa-to-gpu --canonicalize --cse --split-input-file | FileCheck %s

// Small states: a thread for each column of the maps, in blocks of one warp, with the
// matrix in registers. What columns of the same run read is copied once, three links before.

// CHECK-LABEL: func private @chunked(
// CHECK-SAME:      %[[A:.*]]: memref<?x?x3xf32>, %[[W:.*]]: memref<3x3xf32>, %[[MAPS:.*]]: memref<?x?x3x3xf32>)
// CHECK-DAG:     %[[SAMPLES:.*]] = memref.dim %[[A]], %c1
// CHECK-DAG:     %[[LAST:.*]] = memref.dim %[[MAPS]], %c0
// CHECK:         %[[RUNS:.*]] = arith.muli %[[SAMPLES]], %[[LAST]]
// CHECK:         %[[COLUMNS:.*]] = arith.muli %[[RUNS]], %c3
// CHECK:         %[[BLOCKS:.*]] = arith.ceildivui %[[COLUMNS]], %c32
// CHECK:         gpu.launch blocks(%[[BLOCK:[^,]*]], {{.*}}) in (%{{[^ ]*}} = %[[BLOCKS]], {{.*}}) threads(%[[THREAD:[^,]*]], {{.*}}) in (%{{[^ ]*}} = %c32, {{.*}} function(@chunked) workgroup(%[[RING:[^ ]*]] : memref<4x64xf32, #gpu.address_space<workgroup>>)
// CHECK:           %[[E00:.*]] = memref.load %[[W]][%c0, %c0]
// CHECK-COUNT-8:   memref.load %[[W]]
// CHECK:           %[[EXISTS:.*]] = arith.cmpi ult, %{{.*}}, %[[COLUMNS]]
// CHECK:           %[[READ:.*]] = memref.cast %{{.*}} : memref<?xf32, strided<[1]>>
// CHECK-COUNT-6:   nvgpu.device_async_copy %[[READ]][{{.*}}], %[[RING]]
// CHECK:           nvgpu.device_async_wait %{{.*}} {numGroups = 2 : i32}

// A step has no barrier. Its warp waits. Places to read go on until the last link.
// Maps lie by rows.

// CHECK:           %[[END:.*]]:5 = scf.for {{.*}} iter_args(%[[G0:[^ ]*]] = %{{[^,]*}}, %[[G1:[^ ]*]] = %{{[^,]*}}, %[[G2:[^ ]*]] = %{{[^,]*}}, %[[AT0:[^ ]*]] = %{{[^,]*}}, %[[AT1:[^ ]*]] = %{{[^,]*}}) -> (f32, f32, f32, index, index) {
// CHECK-NEXT:        nvvm.bar.warp.sync %c-1_i32
// CHECK-NOT:         gpu.barrier
// CHECK:             %[[SLOT:.*]] = arith.andi %{{.*}}, %c3
// CHECK:             %[[A0:.*]] = memref.load %[[RING]][%[[SLOT]], %{{.*}}]
// CHECK:             %[[V0:.*]] = arith.mulf %[[A0]], %[[G0]]
// CHECK:             %[[V1:.*]] = arith.mulf %{{.*}}, %[[G1]]
// CHECK:             %[[V2:.*]] = arith.mulf %{{.*}}, %[[G2]]
// CHECK:             %[[S0:.*]] = math.fma %[[E00]], %[[V0]], %cst
// CHECK:             %[[S1:.*]] = math.fma %{{.*}}, %[[V1]], %[[S0]]
// CHECK:             %[[S2:.*]] = math.fma %{{.*}}, %[[V2]], %[[S1]]
// CHECK-NOT:         memref.load
// CHECK:             nvgpu.device_async_copy %[[READ]][%[[AT0]]], %[[RING]]
// CHECK:             nvgpu.device_async_copy %[[READ]][%[[AT1]]], %[[RING]]
// CHECK:             %[[MOVES:.*]] = arith.cmpi ult
// CHECK:             %[[WAY:.*]] = arith.select %[[MOVES]], %{{.*}}, %c0
// CHECK:             %[[NEXT0:.*]] = arith.addi %[[AT0]], %[[WAY]]
// CHECK:             %[[NEXT1:.*]] = arith.addi %[[AT1]], %[[WAY]]
// CHECK:             nvgpu.device_async_wait %{{.*}} {numGroups = 2 : i32}
// CHECK-NEXT:        scf.yield %[[S2]], %{{.*}}, %{{.*}}, %[[NEXT0]], %[[NEXT1]]
// CHECK:           scf.if %[[EXISTS]] {
// CHECK-NEXT:        memref.store %[[END]]#0, %[[MAPS]][%[[MAP:.*]], %[[SAMPLE:.*]], %c0, %[[COLUMN:.*]]]
// CHECK-NEXT:        memref.store %[[END]]#1, %[[MAPS]][%[[MAP]], %[[SAMPLE]], %c1, %[[COLUMN]]]
// CHECK-NEXT:        memref.store %[[END]]#2, %[[MAPS]][%[[MAP]], %[[SAMPLE]], %c2, %[[COLUMN]]]
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
    bppsa.transition by_rows states [3] saved(%a_k : memref<32x?x3xf32, strided<[?, 3, 1], offset: ?>>) inject_into []
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

// Of 15 rows two neighbouring threads have 8 each, by fours; the last one does not exist.
// What the product multiplies goes through shared memory, where each of the 16 columns of
// a warp has its own. Copies are of 4 bytes: 15 is odd.

// CHECK-LABEL: func private @shared_columns(
// CHECK-SAME:      %[[W:[^:]*]]: memref<15x15xf32>
// CHECK:         gpu.launch {{.*}} threads(%[[THREAD:[^,]*]], {{.*}} function(@shared_columns) workgroup(%[[VECTORS:[^ ]*]] : memref<16x16xf32, {{[^>]*>}}>, %[[RING:[^ ]*]] : memref<4x32xf32,
// CHECK:           %[[PART:.*]] = arith.remui %[[THREAD]], %c2
// CHECK:           %[[COLUMN:.*]] = arith.divui %[[THREAD]], %c2
// CHECK:           %[[ROW:.*]] = arith.muli %[[PART]], %c4
// CHECK:           %[[E0:.*]] = memref.load %[[W]][%c0, %[[ROW]]]
// CHECK:           %[[LAST:.*]] = arith.minui %{{.*}}, %c14
// CHECK:           memref.load %[[W]][%c0, %[[LAST]]]
// CHECK:           scf.for
// CHECK-NEXT:        nvvm.bar.warp.sync
// CHECK:             %[[V0:.*]] = arith.mulf
// CHECK:             memref.store %[[V0]], %[[VECTORS]][%[[COLUMN]], %[[ROW]]]
// CHECK-COUNT-7:     memref.store %{{.*}}, %[[VECTORS]][%[[COLUMN]], %{{.*}}]
// CHECK-NEXT:        nvvm.bar.warp.sync
// CHECK-NEXT:        %[[FIRST:.*]] = memref.load %[[VECTORS]][%[[COLUMN]], %c0]
// CHECK-NEXT:        math.fma %[[E0]], %[[FIRST]], %cst
// CHECK:             memref.load %[[VECTORS]][%[[COLUMN]], %c14]
// CHECK-NOT:         nvvm.bar.warp.sync
// CHECK:             nvgpu.device_async_copy %{{.*}}, %[[RING]][{{.*}}], 1 :
// CHECK:             scf.yield
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
    bppsa.transition by_rows states [15] saved(%a_k : memref<32x?x15xf32, strided<[?, 15, 1], offset: ?>>) inject_into []
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

// Two states, whose rows are one column; slices of vectors, a captured vector, constants,
// and a matrix that is multiplied both ways, which are two copies. Leaves of a tree are
// runs of one step. What is injected has a launch of blocks.

// CHECK-LABEL: func private @tree(
// CHECK-SAME:      %[[A:[^:]*]]: memref<?x?x4xf32>, %{{[^:]*}}: memref<?x?x2xf32>, %[[W:[^:]*]]: memref<2x2xf32>, %[[P:[^:]*]]: memref<2xf32>, %[[MAPS:[^:]*]]: memref<?x?x5x4xf32>)
// CHECK:         gpu.launch {{.*}} function(@tree) workgroup(%[[MATRIX:[^ ]*]] : memref<2x4xf32, {{.*}}>, %[[TRANSPOSED:[^ ]*]] : memref<2x4xf32, {{[^)]*}}>)
// CHECK:           %[[E:.*]] = memref.load %[[W]][%[[THREAD:.*]], %c1]
// CHECK:           memref.store %[[E]], %[[MATRIX]][%c1, %[[THREAD]]]
// CHECK:           %[[E:.*]] = memref.load %[[W]][%c1, %[[THREAD]]]
// CHECK:           memref.store %[[E]], %[[TRANSPOSED]][%c1, %[[THREAD]]]
// CHECK:           gpu.barrier
// CHECK-NOT:         memref.load %[[A]][{{.*}}, %c0]
// CHECK-DAG:         %[[A2:.*]] = memref.load %[[A]][{{.*}}, %c2]
// CHECK-DAG:         %[[P0:.*]] = memref.load %[[P]][%c0]
// CHECK:             %[[GATED:.*]] = arith.mulf %[[A2]], %{{.*}}
// CHECK:             %[[PEEP:.*]] = arith.mulf %[[P0]], %[[GATED]]
// CHECK:             %[[HALF:.*]] = arith.mulf %[[PEEP]], %cst
// CHECK:             memref.load %[[MATRIX]][%c1, %c1]
// CHECK:             %[[FIRST:.*]] = memref.load %[[TRANSPOSED]][%c0, %c0]
// CHECK:             math.fma %[[FIRST]], %[[HALF]], %[[GATED]]
// CHECK:             memref.store %{{.*}}, %[[MAPS]]
// CHECK:         bgpu.kernel blocks(%{{.*}} in %{{.*}}) threads(32) {
// CHECK-NOT:       scf.for
// CHECK:             memref.store %{{.*}}, %[[MAPS]][%{{.*}}, %{{.*}}, %c4, %{{.*}}]
// CHECK:             %[[BEHIND:.*]] = arith.addi %{{.*}}, %c2
// CHECK-NEXT:        memref.store %{{.*}}, %[[MAPS]][%{{.*}}, %{{.*}}, %c4, %[[BEHIND]]]
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
      %4 = bppsa.matvec transposed %wc, %2 plus %0 : vector<2xf32> : vector<2x2xf32>, vector<2xf32> -> vector<2xf32>
      bppsa.yield %3, %4 : vector<2xf32>, vector<2xf32>
    }
  }
  return
}

// -----

// Panels where a vector of the link has more rows than the state.

// CHECK-LABEL: func private @wide_inside(
// CHECK:         gpu.launch {{.*}} function(@wide_inside)
// CHECK-NOT:     nvvm.bar.warp.sync
// CHECK:         nvvm.mma.sync
func.func private @wide_inside(%a: memref<?x?x30xf32>, %u: memref<30x4xf32>, %v: memref<4x30xf32>,
    %maps: memref<?x?x4x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %t = memref.dim %a, %c0 : memref<?x?x30xf32>
  %b = memref.dim %a, %c1 : memref<?x?x30xf32>
  %last = memref.dim %maps, %c0 : memref<?x?x4x4xf32>
  scf.forall (%k) in (%last) {
    %before = arith.muli %k, %c32 : index
    %rest = arith.subi %t, %before : index
    %first = arith.subi %rest, %c32 : index
    %a_k = memref.subview %a[%first, 0, 0] [32, %b, 30] [1, 1, 1] : memref<?x?x30xf32> to memref<32x?x30xf32, strided<[?, 30, 1], offset: ?>>
    %m_k = memref.subview %maps[%k, 0, 0, 0] [1, %b, 4, 4] [1, 1, 1, 1]
        : memref<?x?x4x4xf32> to memref<?x4x4xf32, strided<[16, 4, 1], offset: ?>>
    bppsa.transition states [4] saved(%a_k : memref<32x?x30xf32, strided<[?, 30, 1], offset: ?>>) inject_into []
        captures(%u, %v : memref<30x4xf32>, memref<4x30xf32>) into(%m_k : memref<?x4x4xf32, strided<[16, 4, 1], offset: ?>>) {
    ^bb0(%at: vector<30xf32>, %gt: vector<4xf32>, %uc: vector<30x4xf32>, %vc: vector<4x30xf32>):
      %0 = bppsa.matvec %uc, %gt : vector<30x4xf32>, vector<4xf32> -> vector<30xf32>
      %1 = arith.mulf %at, %0 : vector<30xf32>
      %2 = bppsa.matvec %vc, %1 : vector<4x30xf32>, vector<30xf32> -> vector<4xf32>
      bppsa.yield %2 : vector<4xf32>
    }
  }
  return
}
