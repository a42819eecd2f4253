// RUN: bppsa-opt %s --bppsa-hoist-input-products --bppsa-choose-gpu-mapping --convert-bppsa-to-gpu --convert-bppsa-to-bgpu --canonicalize --cse --split-input-file | FileCheck %s
// RUN: bppsa-opt %s --bppsa-hoist-input-products --bppsa-choose-gpu-mapping=precision=tf32 --convert-bppsa-to-gpu --convert-bppsa-to-bgpu --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=TF32
// RUN: bppsa-opt %s --bppsa-hoist-input-products --bppsa-choose-gpu-mapping=precision=bf16 --convert-bppsa-to-gpu --convert-bppsa-to-bgpu --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=BF16

// 24 columns are a column tile of three tiles, and 24 rows are two tiles: one for each warp,
// which keeps its part of the matrix in registers, in two numbers for each element. A row
// beyond the last is that again.

// CHECK-LABEL: func private @registers(
// CHECK-SAME:      %[[A:.*]]: memref<?x?x24xf32>, %[[W:.*]]: memref<24x24xf32>, %[[MAPS:.*]]: memref<?x?x24x24xf32>)
// CHECK-DAG:     %[[SAMPLES:.*]] = memref.dim %[[A]], %c1
// CHECK-DAG:     %[[LAST:.*]] = memref.dim %[[MAPS]], %c0
// CHECK:         %[[RUNS:.*]] = arith.muli %[[SAMPLES]], %[[LAST]]
// CHECK:         gpu.launch {{.*}} in (%{{[^ ]*}} = %[[RUNS]], {{.*}} threads(%[[THREAD:[^,]*]], {{.*}}) in (%{{[^ ]*}} = %c64, {{.*}} function(@registers) workgroup(%[[RING:[^ ]*]] : memref<8x32xf32, {{.*}}>, %[[PANEL:[^ ]*]] : memref<32x24xf32, {{[^)]*}}>)
// CHECK-NEXT:      %[[WARP:.*]] = arith.divui %[[THREAD]], %c32
// CHECK-NEXT:      %[[IN_GROUP:.*]] = arith.remui %[[THREAD]], %c4
// CHECK-NEXT:      arith.divui %[[THREAD]], %c4
// CHECK-NEXT:      %[[GROUP:.*]] = arith.remui %{{.*}}, %c8
// CHECK:           %[[FIRST:.*]] = arith.muli %[[WARP]], %c16
// CHECK:           %[[ROW:.*]] = arith.addi %[[FIRST]], %[[GROUP]]
// CHECK:           %[[LIMITED:.*]] = arith.minui %[[ROW]], %c23
// CHECK:           %[[E:.*]] = memref.load %[[W]][%[[IN_GROUP]], %[[LIMITED]]]
// CHECK:           %[[HIGH:.*]] = nvvm.convert.float.to.tf32 %[[E]] {rnd = #nvvm.fp_rnd_mode<rna>}
// CHECK:           %[[ROUNDED:.*]] = arith.bitcast %[[HIGH]] : i32 to f32
// CHECK:           %[[REST:.*]] = arith.subf %[[E]], %[[ROUNDED]]
// CHECK:           %[[LOW:.*]] = nvvm.convert.float.to.tf32 %[[REST]]

// A step: what is multiplied goes to shared memory, with zeros in the rows that the
// value does not have. Small products come first, and tiles are added by additions.

// CHECK:           scf.for
// CHECK:             %[[SAVED:.*]] = memref.load %[[RING]][%{{.*}}, %[[LIMITED]]]
// CHECK:             %[[VALUE:.*]] = arith.mulf %[[SAVED]], %{{.*}} : f32
// CHECK:             %[[EXISTS:.*]] = arith.cmpi ult, %[[ROW]], %c24
// CHECK:             %[[STORED:.*]] = arith.select %[[EXISTS]], %[[VALUE]], %[[ZERO:.*]] : f32
// CHECK:             memref.store %[[STORED]], %[[PANEL]][%[[ROW]], %{{.*}}]
// CHECK:             gpu.barrier
// CHECK-NOT:         memref.load %[[W]]
// CHECK:             %[[B0:.*]] = memref.load %[[PANEL]][%[[IN_GROUP]], %[[GROUP]]]
// CHECK:             %[[B0_HIGH:.*]] = nvvm.convert.float.to.tf32 %[[B0]]
// CHECK:             %[[B0_LOW:.*]] = nvvm.convert.float.to.tf32
// CHECK:             %[[B1_HIGH:.*]] = nvvm.convert.float.to.tf32
// CHECK:             %[[B1_LOW:.*]] = nvvm.convert.float.to.tf32
// CHECK:             nvvm.mma.sync A[%[[LOW]], {{.*}}] B[%[[B0_HIGH]], %[[B1_HIGH]]] C[%[[ZERO]], {{.*}} shape = #nvvm.shape<m = 16, n = 8, k = 8>
// CHECK:             nvvm.mma.sync A[%[[HIGH]], {{.*}}] B[%[[B0_LOW]], %[[B1_LOW]]]
// CHECK:             %[[PART:.*]] = nvvm.mma.sync A[%[[HIGH]], {{.*}}] B[%[[B0_HIGH]], %[[B1_HIGH]]]
// CHECK:             %[[PART0:.*]] = llvm.extractvalue %[[PART]][0]
// CHECK:             arith.addf %[[PART0]], %{{.*}} : f32
// CHECK-COUNT-24:    nvvm.mma.sync
// CHECK:             nvgpu.device_async_wait
// CHECK-NEXT:        gpu.barrier
// CHECK-NEXT:        scf.yield
// CHECK:           scf.if
// CHECK-NEXT:        memref.store %{{.*}}, %[[MAPS]][%{{.*}}, %{{.*}}, %{{.*}}, %[[ROW]]]

// One product of rounded numbers, added to the sums of the tiles before.

// TF32-LABEL: func private @registers(
// TF32:           scf.for
// TF32:             gpu.barrier
// TF32-NOT:         arith.subf
// TF32:             %[[SUM:.*]] = nvvm.mma.sync {{.*}}<tf32>, {{.*}} k = 8>
// TF32:             %[[SUM0:.*]] = llvm.extractvalue %[[SUM]][0]
// TF32:             nvvm.mma.sync {{.*}} C[%[[SUM0]],
// TF32-COUNT-5:     nvvm.mma.sync
// TF32-NOT:         nvvm.mma.sync
// TF32:           scf.yield

// Two numbers in a register; the depth is 16, so the matrix is two tiles of it.

// BF16-LABEL: func private @registers(
// BF16-SAME:      %[[W:[^:]*]]: memref<24x24xf32>,
// BF16:           %[[FIRST:.*]] = memref.load %[[W]][%[[K:.*]], %[[ROW:.*]]] :
// BF16:           %[[SECOND:.*]] = memref.load %[[W]][%[[NEXT:.*]], %[[ROW]]] :
// BF16:           %[[PAIR:.*]] = nvvm.convert.f32x2.to.bf16x2 %[[SECOND]], %[[FIRST]] {rnd = #nvvm.fp_rnd_mode<rn>} : vector<2xbf16>
// BF16:           llvm.bitcast %[[PAIR]] : vector<2xbf16> to i32
// BF16:           scf.for
// BF16-COUNT-6:     nvvm.mma.sync {{.*}}<bf16>, {{.*}} k = 16>
// BF16-NOT:         nvvm.mma.sync
// BF16:           scf.yield
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
    bppsa.transition states [24] saved(%a_k : memref<32x?x24xf32, strided<[?, 24, 1], offset: ?>>) inject_into []
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

// Matrices that need more registers are read tile by tile in every step. Neighbouring
// rows of a column tile of four tiles are in different banks: columns change places in eights.
// Of 128 rows each warp has a tile, of 64 only four have one. Slices are read from shared
// memory, those of saved values where these are. A run of one step, as of a leaf, is no loop.

// CHECK-LABEL: func private @memory(
// CHECK-SAME:      %[[A:.*]]: memref<?x?x128xf32>, %[[W:.*]]: memref<64x128xf32>,
// CHECK:         gpu.launch {{.*}} in (%{{[^ ]*}} = %c256, {{.*}} workgroup(%[[PART:[^ ]*]] : memref<64x32xf32, {{.*}}>, %[[WHOLE:[^ ]*]] : memref<128x32xf32, {{[^)]*}}>)
// CHECK-NOT:       memref.load %[[W]]
// CHECK:             %[[LIMITED:.*]] = arith.minui %[[ROW:.*]], %c63
// CHECK:             %[[AT:.*]] = arith.addi %[[LIMITED]], %c60
// CHECK:             memref.load %[[A]][%{{.*}}, %{{.*}}, %[[AT]]]
// CHECK:             %[[EXISTS:.*]] = arith.cmpi ult, %[[ROW]], %c64
// CHECK:             scf.if %[[EXISTS]] {
// CHECK:               %[[BITS:.*]] = arith.andi %[[ROW]], %c3
// CHECK:               %[[MOVED:.*]] = arith.muli %[[BITS]], %c8
// CHECK:               %[[COLUMN:.*]] = arith.xori %{{.*}}, %[[MOVED]]
// CHECK:               memref.store %{{.*}}, %[[PART]][%[[ROW]], %[[COLUMN]]]
// CHECK:             gpu.barrier
// CHECK:             %[[SHIFTED:.*]] = arith.subi %[[ROW]], %c3
// CHECK:             %[[INSIDE:.*]] = arith.cmpi ult, %[[SHIFTED]], %c64
// CHECK:             %[[PART_ROW:.*]] = arith.select %[[INSIDE]], %[[SHIFTED]], %c0
// CHECK:             %[[INSERTED:.*]] = memref.load %[[PART]][%[[PART_ROW]], %{{.*}}]
// CHECK:             %[[KEPT:.*]] = memref.load %[[A]][%{{.*}}, %{{.*}}, %[[ROW]]]
// CHECK:             %[[ENTRY:.*]] = arith.select %[[INSIDE]], %[[INSERTED]], %[[KEPT]]
// CHECK:             memref.store %[[ENTRY]], %[[WHOLE]][%[[ROW]], %{{.*}}]
// CHECK:             gpu.barrier
// CHECK:             %[[SLICED:.*]] = arith.addi %[[LIMITED]], %c5
// CHECK:             %[[SUM:.*]] = memref.load %[[WHOLE]][%[[SLICED]], %{{.*}}]
// CHECK:             scf.for %[[TILE:.*]] = %c0 to %c16 step %c1 iter_args(%{{.*}} = %[[SUM]],
// CHECK:               %[[DEPTH:.*]] = arith.muli %[[TILE]], %c8
// CHECK:               memref.load %[[WHOLE]]
// CHECK:               %[[K:.*]] = arith.addi %[[DEPTH]], %{{.*}}
// CHECK:               memref.load %[[W]][%[[LIMITED]], %[[K]]]
// CHECK-COUNT-12:      nvvm.mma.sync
// CHECK-NOT:           nvvm.mma.sync
// CHECK:               scf.yield
// CHECK:             gpu.barrier
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
    bppsa.transition reverse states [64] saved(%a_k : memref<1x?x128xf32, strided<[?, 128, 1], offset: ?>>) inject_into []
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

// A block runs one column where a product is not one of a column tile.

// CHECK-LABEL: func private @product_of_saved(
// CHECK-NOT:     nvvm.mma.sync
// CHECK:         bgpu.kernel blocks(%{{.*}} in %{{.*}}) threads(32) {
// CHECK:           scf.for {{.*}} -> (tensor<24xf32>) {
// CHECK-NOT:     nvvm.mma.sync
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
    bppsa.transition states [24] saved(%a_k : memref<32x?x24xf32, strided<[?, 24, 1], offset: ?>>) inject_into []
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
