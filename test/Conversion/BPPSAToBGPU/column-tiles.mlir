// RUN: bppsa-opt %s --bppsa-choose-gpu-mapping --convert-bppsa-to-bgpu --canonicalize --cse --split-input-file | FileCheck %s
// RUN: bppsa-opt %s --bppsa-choose-gpu-mapping=precision=bf16 --convert-bppsa-to-bgpu --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=BF16
// RUN: bppsa-opt %s --bppsa-choose-gpu-mapping --convert-bppsa-to-bgpu --bgpu-stage-copies --bgpu-allocate-shared --bgpu-insert-barriers --canonicalize --cse --split-input-file \
// RUN:     | FileCheck %s --check-prefix=BARRIERS

// 24 columns form a column tile of three tensor-core tiles, and 24 rows form two tiles, one per
// warp. Each warp keeps its part of the matrix in registers as fragments of depth 8. Rows past the
// last one repeat the last row.

// CHECK-LABEL: func private @registers(
// CHECK-SAME:      %[[A:.*]]: memref<?x?x24xf32>, %[[W:.*]]: memref<24x24xf32>, %[[MAPS:.*]]: memref<?x?x24x24xf32>)
// CHECK-DAG:     %[[SAMPLES:.*]] = memref.dim %[[A]], %c1
// CHECK-DAG:     %[[LAST:.*]] = memref.dim %[[MAPS]], %c0
// CHECK:         %[[RUNS:.*]] = arith.muli %[[SAMPLES]], %[[LAST]]
// CHECK:         bgpu.kernel blocks(%{{.*}} in %[[RUNS]]) threads(64) {
// CHECK:           %[[APART:.*]]:3 = memref.distinct_objects
// CHECK:           %[[TILE:.*]] = memref.alloc() : memref<32x24xf32, #gpu.address_space<workgroup>>
// CHECK:           %[[M0:.*]] = bgpu.for_each [2, 8, 4] -> tensor<2x8x4xvector<4xf32>> {
// CHECK-NEXT:      ^bb0(%[[WARP:.*]]: index, %[[GROUP:.*]]: index, %[[IN_GROUP:.*]]: index):
// CHECK-NEXT:        %[[FIRST:.*]] = arith.muli %[[WARP]], %c16
// CHECK-NEXT:        %[[ROW:.*]] = arith.addi %[[FIRST]], %[[GROUP]]
// CHECK-NEXT:        %[[LIMITED:.*]] = arith.minui %[[ROW]], %c23
// CHECK-NEXT:        memref.load %[[APART]]#1[%[[IN_GROUP]], %[[LIMITED]]]
// CHECK:           %[[START:.*]]:3 = bgpu.for_each [2, 8, 4] ->

// In each step, the operand is written to shared memory, with zeros in rows that the value does not
// have. Each matrix fragment multiplies one fragment of each of the three tiles.

// CHECK:           %[[END:.*]]:3 = scf.for {{.*}} iter_args(%[[G0:[^ ]*]] = %[[START]]#0,
// CHECK:             %[[SAVED:.*]] = bgpu.fetch %{{.*}} stages(8)
// CHECK:             %[[ROWS:.*]] = bgpu.for_each [2, 8, 4] -> tensor<2x8x4xvector<2xf32>> {
// CHECK:               memref.load %[[SAVED]]
// CHECK:             %[[VALUE:.*]]:3 = bgpu.for_each [2, 8, 4] %[[ROWS]], %[[G0]], {{.*}} {
// CHECK:               arith.mulf
// CHECK:             bgpu.for_each [2, 8, 4] %[[VALUE]]#0, %[[VALUE]]#1, %[[VALUE]]#2 {{.*}} {
// CHECK:               %[[EXISTS:.*]] = arith.cmpi ult, %[[ROW:.*]], %c24
// CHECK:               %[[STORED:.*]] = arith.select %[[EXISTS]], %{{.*}}, %cst
// CHECK:               memref.store %[[STORED]], %[[TILE]][%[[ROW]], %{{.*}}]
// CHECK:             %[[ZEROS:.*]]:3 = bgpu.for_each [2, 8, 4] ->
// CHECK:             %[[B:.*]]:3 = bgpu.for_each [2, 8, 4] -> tensor<2x8x4xvector<2xf32>>, tensor<2x8x4xvector<2xf32>>, tensor<2x8x4xvector<2xf32>> {
// CHECK-NEXT:        ^bb0(%{{.*}}: index, %[[GROUP:.*]]: index, %[[IN_GROUP:.*]]: index):
// CHECK-NEXT:          memref.load %[[TILE]][%[[IN_GROUP]], %[[GROUP]]]
// CHECK:             %[[S0:.*]] = bgpu.mma %[[M0]], %[[B]]#0, %[[ZEROS]]#0 precision(fp32) :
// CHECK:             bgpu.mma %[[M0]], %[[B]]#1, %[[ZEROS]]#1 precision(fp32) :
// CHECK:             bgpu.mma %[[M0]], %[[B]]#2, %[[ZEROS]]#2 precision(fp32) :
// CHECK:             bgpu.mma %{{.*}}, %{{.*}}, %[[S0]] precision(fp32) :
// CHECK-COUNT-5:     bgpu.mma
// CHECK-NOT:         bgpu.mma
// CHECK:             scf.yield
// CHECK:           bgpu.for_each [2, 8, 4] %[[END]]#0, %[[END]]#1, %[[END]]#2
// CHECK:             memref.store %{{.*}}, %[[APART]]#2[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}]

// With a depth of 16 the matrix has two tiles along the depth, and each thread holds twice as many
// elements per fragment.

// BF16-LABEL: func private @registers(
// BF16:           bgpu.for_each [2, 8, 4] -> tensor<2x8x4xvector<8xf32>> {
// BF16:           scf.for
// BF16-COUNT-6:     bgpu.mma {{.*}} precision(bf16) : tensor<2x8x4xvector<8xf32>>, tensor<2x8x4xvector<4xf32>>, tensor<2x8x4xvector<4xf32>>
// BF16-NOT:         bgpu.mma
// BF16:           scf.yield

// One barrier separates the write of the operand from its reads, and one separates steps.

// BARRIERS-LABEL: func private @registers(
// BARRIERS:         scf.for {{.*}} -> (tensor
// BARRIERS-NOT:       gpu.barrier
// BARRIERS:           memref.store
// BARRIERS:           gpu.barrier
// BARRIERS-NOT:       gpu.barrier
// BARRIERS:           bgpu.wait
// BARRIERS-NEXT:      gpu.barrier
// BARRIERS-NEXT:      scf.yield
func.func private @registers(%a: memref<?x?x24xf32>, %w: memref<24x24xf32>, %maps: memref<?x?x24x24xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %t = memref.dim %a, %c0 : memref<?x?x24xf32>
  %b = memref.dim %a, %c1 : memref<?x?x24xf32>
  %last = memref.dim %maps, %c0 : memref<?x?x24x24xf32>
  scf.forall (%k) in (%last) {
    %before = arith.muli %k, %c32 : index
    %rest = arith.subi %t, %before : index
    %first = arith.subi %rest, %c32 : index
    %a_k = memref.subview %a[%first, 0, 0] [32, %b, 24] [1, 1, 1] : memref<?x?x24xf32> to memref<32x?x24xf32, strided<[?, 24, 1], offset: ?>>
    %m_k = memref.subview %maps[%k, 0, 0, 0] [1, %b, 24, 24] [1, 1, 1, 1]
        : memref<?x?x24x24xf32> to memref<?x24x24xf32, strided<[576, 24, 1], offset: ?>>
    bppsa.transition states [24] saved(%a_k : memref<32x?x24xf32, strided<[?, 24, 1], offset: ?>>)
        captures(%w : memref<24x24xf32>) into(%m_k : memref<?x24x24xf32, strided<[576, 24, 1], offset: ?>>) {
    ^bb0(%at: vector<24xf32>, %gt: vector<24xf32>, %wc: vector<24x24xf32>):
      %0 = arith.mulf %at, %gt : vector<24xf32>
      %1 = bppsa.matvec transposed %wc, %0 : vector<24x24xf32>, vector<24xf32> -> vector<24xf32>
      bppsa.yield %1 : vector<24xf32>
    }
  }
  return
}

// -----

// Matrices that do not fit in registers are read fragment by fragment in every step. With a column
// tile of four tiles, columns are permuted in groups of eight so that neighbouring rows use
// different banks. Of 128 rows each warp has one tile; of 64 rows only four warps have one. Slices
// are read from shared memory, and slices of saved values from their source. A run of one step,
// such as a leaf, is not a loop.

// CHECK-LABEL: func private @memory(
// CHECK:         bgpu.kernel {{.*}} threads(256) {
// CHECK:           %[[APART:.*]]:3 = memref.distinct_objects
// CHECK-DAG:       %[[PART:.*]] = memref.alloc() : memref<64x32xf32, #gpu.address_space<workgroup>>
// CHECK-DAG:       %[[WHOLE:.*]] = memref.alloc() : memref<128x32xf32, #gpu.address_space<workgroup>>
// CHECK-NOT:       memref.load %[[APART]]#1
// CHECK:           bgpu.for_each
// CHECK:             %[[LIMITED:.*]] = arith.minui %{{.*}}, %c63
// CHECK:             %[[AT:.*]] = arith.addi %[[LIMITED]], %c60
// CHECK:             memref.load %[[APART]]#0[%{{.*}}, %{{.*}}, %[[AT]]]
// CHECK:           bgpu.for_each
// CHECK:             %[[EXISTS:.*]] = arith.cmpi ult, %[[ROW:.*]], %c64
// CHECK:             scf.if %[[EXISTS]] {
// CHECK:               %[[BITS:.*]] = arith.andi %[[ROW]], %c3
// CHECK:               %[[MOVED:.*]] = arith.muli %[[BITS]], %c8
// CHECK:               %[[COLUMN:.*]] = arith.xori %{{.*}}, %[[MOVED]]
// CHECK:               memref.store %{{.*}}, %[[PART]][%[[ROW]], %[[COLUMN]]]
// CHECK:           bgpu.for_each
// CHECK:             %[[SHIFTED:.*]] = arith.subi %[[ROW:.*]], %c3
// CHECK:             %[[INSIDE:.*]] = arith.cmpi ult, %[[SHIFTED]], %c64
// CHECK:             %[[PART_ROW:.*]] = arith.select %[[INSIDE]], %[[SHIFTED]], %c0
// CHECK:             %[[INSERTED:.*]] = memref.load %[[PART]][%[[PART_ROW]], %{{.*}}]
// CHECK:             arith.select %[[INSIDE]], %[[INSERTED]], %{{.*}}
// CHECK:           bgpu.for_each
// CHECK:             memref.store %{{.*}}, %[[WHOLE]][%{{.*}}, %{{.*}}]
// CHECK:           %[[SUMS:.*]]:4 = bgpu.for_each
// CHECK:             %[[SLICED:.*]] = arith.addi %{{.*}}, %c5
// CHECK:             memref.load %[[WHOLE]][%[[SLICED]], %{{.*}}]
// CHECK:           scf.for %[[TILE:.*]] = %c0 to %c16 step %c1 iter_args(%{{.*}} = %[[SUMS]]#0,
// CHECK:             %[[DEPTH:.*]] = arith.muli %[[TILE]], %c8
// CHECK:             bgpu.for_each
// CHECK:               memref.load %[[WHOLE]]
// CHECK:             bgpu.for_each
// CHECK:               %[[K:.*]] = arith.addi %[[DEPTH]], %{{.*}}
// CHECK:               memref.load %[[APART]]#1[%{{.*}}, %[[K]]]
// CHECK-COUNT-4:     bgpu.mma
// CHECK-NOT:         bgpu.mma
// CHECK:             scf.yield
func.func private @memory(%a: memref<?x?x128xf32>, %w: memref<64x128xf32>, %maps: memref<?x?x64x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = memref.dim %a, %c0 : memref<?x?x128xf32>
  %b = memref.dim %a, %c1 : memref<?x?x128xf32>
  scf.forall (%k) in (%t) {
    %a_k = memref.subview %a[%k, 0, 0] [1, %b, 128] [1, 1, 1]
        : memref<?x?x128xf32> to memref<1x?x128xf32, strided<[?, 128, 1], offset: ?>>
    %m_k = memref.subview %maps[%k, 0, 0, 0] [1, %b, 64, 64] [1, 1, 1, 1]
        : memref<?x?x64x64xf32> to memref<?x64x64xf32, strided<[4096, 64, 1], offset: ?>>
    bppsa.transition reverse states [64] saved(%a_k : memref<1x?x128xf32, strided<[?, 128, 1], offset: ?>>)
        captures(%w : memref<64x128xf32>) into(%m_k : memref<?x64x64xf32, strided<[4096, 64, 1], offset: ?>>) {
    ^bb0(%at: vector<128xf32>, %gt: vector<64xf32>, %wc: vector<64x128xf32>):
      %end = vector.extract_strided_slice %at {offsets = [60], sizes = [64], strides = [1]} : vector<128xf32> to vector<64xf32>
      %0 = arith.mulf %end, %gt : vector<64xf32>
      %1 = vector.insert_strided_slice %0, %at {offsets = [3], strides = [1]} : vector<64xf32> into vector<128xf32>
      %2 = bppsa.matvec %wc, %1 : vector<64x128xf32>, vector<128xf32> -> vector<64xf32>
      %3 = vector.extract_strided_slice %1 {offsets = [5], sizes = [64], strides = [1]} : vector<128xf32> to vector<64xf32>
      %4 = arith.addf %2, %3 : vector<64xf32>
      bppsa.yield %4 : vector<64xf32>
    }
  }
  return
}

// -----

// A block runs a single column if a product does not multiply a column tile.

// CHECK-LABEL: func private @product_of_saved(
// CHECK-NOT:     bgpu.mma
// CHECK:         bgpu.kernel blocks(%{{.*}} in %{{.*}}) threads(32) {
// CHECK:           scf.for {{.*}} -> (tensor<24xf32>) {
// CHECK-NOT:     bgpu.mma
func.func private @product_of_saved(%a: memref<?x?x24xf32>, %w: memref<24x24xf32>, %maps: memref<?x?x24x24xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %t = memref.dim %a, %c0 : memref<?x?x24xf32>
  %b = memref.dim %a, %c1 : memref<?x?x24xf32>
  %last = memref.dim %maps, %c0 : memref<?x?x24x24xf32>
  scf.forall (%k) in (%last) {
    %before = arith.muli %k, %c32 : index
    %rest = arith.subi %t, %before : index
    %first = arith.subi %rest, %c32 : index
    %a_k = memref.subview %a[%first, 0, 0] [32, %b, 24] [1, 1, 1] : memref<?x?x24xf32> to memref<32x?x24xf32, strided<[?, 24, 1], offset: ?>>
    %m_k = memref.subview %maps[%k, 0, 0, 0] [1, %b, 24, 24] [1, 1, 1, 1]
        : memref<?x?x24x24xf32> to memref<?x24x24xf32, strided<[576, 24, 1], offset: ?>>
    bppsa.transition states [24] saved(%a_k : memref<32x?x24xf32, strided<[?, 24, 1], offset: ?>>)
        captures(%w : memref<24x24xf32>) into(%m_k : memref<?x24x24xf32, strided<[576, 24, 1], offset: ?>>) {
    ^bb0(%at: vector<24xf32>, %gt: vector<24xf32>, %wc: vector<24x24xf32>):
      %0 = bppsa.matvec %wc, %at : vector<24x24xf32>, vector<24xf32> -> vector<24xf32>
      %1 = arith.mulf %0, %gt : vector<24xf32>
      %2 = bppsa.matvec transposed %wc, %1 : vector<24x24xf32>, vector<24xf32> -> vector<24xf32>
      bppsa.yield %2 : vector<24xf32>
    }
  }
  return
}
// -----

// Column tiles are also used if a vector of the link has more rows than the state.

// CHECK-LABEL: func private @wide_inside(
// CHECK:         bgpu.kernel
// CHECK-NOT:       many_blocks
// CHECK:           bgpu.mma
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
    bppsa.transition states [4] saved(%a_k : memref<32x?x30xf32, strided<[?, 30, 1], offset: ?>>)
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
