// RUN: bppsa-opt %s --bppsa-hoist-input-products --bppsa-choose-gpu-mapping --convert-bppsa-to-bgpu --bgpu-insert-barriers --canonicalize --cse | FileCheck %s
// RUN: bppsa-opt %s --bppsa-hoist-input-products --bppsa-choose-gpu-mapping=precision=bf16 --convert-bppsa-to-bgpu --canonicalize --cse | FileCheck %s --check-prefix=BF16

// A loop that multiplies its input by a matrix becomes a matrix product. A block computes 64 rows,
// each a step of a sample, and all 20 columns. Accumulators start as the bias; each warp has two by
// two tiles, carried by the loop over chunks of the depth. Each chunk has one barrier.

// CHECK-LABEL: func private @product(
// CHECK-SAME:      %[[X:.*]]: memref<?x?x40xf32>, %[[W:.*]]: memref<20x40xf32, strided<[40, 1], offset: 800>>, %[[B:.*]]: memref<20xf32>, %[[Y:.*]]: memref<?x?x20xf32>)
// CHECK-DAG:     %[[SAMPLES:.*]] = memref.dim %[[Y]], %c1
// CHECK-DAG:     %[[T:.*]] = memref.dim %[[Y]], %c0
// CHECK:         %[[ROWS:.*]] = arith.muli %[[T]], %[[SAMPLES]]
// CHECK:         %[[BLOCKS:.*]] = arith.ceildivui %[[ROWS]], %c64
// CHECK:         bgpu.kernel blocks(%{{.*}} in %[[BLOCKS]]) threads(128) {
// CHECK-DAG:       %[[LEFT:.*]] = memref.alloc() : memref<4x64x20xf32, #gpu.address_space<workgroup>>
// CHECK-DAG:       %[[RIGHT:.*]] = memref.alloc() : memref<4x32x20xf32, #gpu.address_space<workgroup>>
// CHECK:           %[[FIRST:.*]]:4 = bgpu.for_each [2, 2, 8, 4] -> tensor<2x2x8x4xvector<4xf32>>,
// CHECK:             memref.load %[[B]]
// Two threads copy each row of the left factor and four threads each row of the right factor, 16
// bytes at a time.
// CHECK:           bgpu.for_each [64, 2] {
// CHECK-NEXT:      ^bb0(%[[ROW:.*]]: index, %[[PART:.*]]: index):
// CHECK:             nvgpu.device_async_copy %[[X]]{{.*}}, %[[LEFT]][%c0, %[[ROW]], %{{.*}}], 4, %{{.*}} {bypassL1}
// CHECK:             nvgpu.device_async_copy %[[X]]{{.*}}, %[[LEFT]][%c0, %[[ROW]], %{{.*}}], 4, %{{.*}} {bypassL1}
// CHECK:           bgpu.for_each [32, 4] {
// CHECK:             nvgpu.device_async_copy %[[W]]{{.*}}, %[[RIGHT]][%c0, %{{.*}}], 4, %{{.*}} {bypassL1}
// CHECK:           nvgpu.device_async_create_group
// CHECK-COUNT-2:   nvgpu.device_async_create_group
// CHECK:           bgpu.wait %{{.*}}, %{{.*}} groups(2)
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      %[[SUMS:.*]]:4 = scf.for %[[CHUNK:.*]] = %c0 to %c3 step %c1 iter_args(%[[SUM:[^ ]*]] = %[[FIRST]]#0,
// CHECK-NEXT:        %[[AHEAD:.*]] = arith.addi %[[CHUNK]], %c3
// CHECK:             nvgpu.device_async_copy %[[X]]
// CHECK:             %[[SLOT:.*]] = arith.andi %[[CHUNK]], %c3
// CHECK:             %[[OF_LEFT:.*]] = memref.subview %[[LEFT]][%[[SLOT]], 0, 0]
// CHECK:             %[[OF_RIGHT:.*]] = memref.subview %[[RIGHT]][%[[SLOT]], 0, 0]
// CHECK:             %[[COLUMNS:.*]]:2 = bgpu.for_each [2, 2, 8, 4] -> tensor<2x2x8x4xvector<2xf32>>, tensor<2x2x8x4xvector<2xf32>> {
// CHECK:               memref.load %[[OF_RIGHT]]
// CHECK:             %[[ROWS_OF_WARP:.*]] = bgpu.for_each [2, 2, 8, 4] -> tensor<2x2x8x4xvector<4xf32>> {
// CHECK:               memref.load %[[OF_LEFT]]
// CHECK:             bgpu.mma %[[ROWS_OF_WARP]], %[[COLUMNS]]#0, %[[SUM]] precision(fp32)
// CHECK-NEXT:        bgpu.mma %[[ROWS_OF_WARP]], %[[COLUMNS]]#1,
// CHECK-COUNT-6:     bgpu.mma
// CHECK-NOT:         bgpu.mma
// CHECK:             bgpu.wait %{{.*}}, %{{.*}} groups(2)
// CHECK-NEXT:        gpu.barrier
// CHECK-NEXT:        scf.yield
// CHECK:           bgpu.wait %[[LEFT]], %[[RIGHT]] groups(0)
// CHECK-NOT:       gpu.barrier
// CHECK:           bgpu.for_each [2, 2, 8, 4] %[[SUMS]]#0,
// CHECK:             %[[EXISTS:.*]] = arith.cmpi ult, %[[ROW:.*]], %[[ROWS]]
// CHECK:             scf.if %[[EXISTS]] {
// CHECK-DAG:           %[[SAMPLE:.*]] = arith.remui %[[ROW]], %[[SAMPLES]]
// CHECK-DAG:           %[[STEP:.*]] = arith.divui %[[ROW]], %[[SAMPLES]]
// CHECK:               memref.store %{{.*}}, %[[Y]][%[[STEP]], %[[SAMPLE]],
// CHECK-NOT:     bgpu.kernel
// CHECK:         return

// BF16-LABEL: func private @product(
// BF16-COUNT-4:  bgpu.mma {{.*}} precision(bf16) : tensor<2x2x8x4xvector<8xf32>>, tensor<2x2x8x4xvector<4xf32>>, tensor<2x2x8x4xvector<4xf32>>
// BF16-NOT:      bgpu.mma
// BF16:          return
func.func private @product(%x: memref<?x?x40xf32>, %w: memref<20x40xf32, strided<[40, 1], offset: 800>>,
    %b: memref<20xf32>, %y: memref<?x?x20xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x40xf32>)
      captures(%w, %b : memref<20x40xf32, strided<[40, 1], offset: 800>>, memref<20xf32>) into(%y : memref<?x?x20xf32>) {
  ^bb0(%xt: vector<40xf32>, %wc: vector<20x40xf32>, %bc: vector<20xf32>):
    %0 = bppsa.matvec %wc, %xt plus %bc : vector<20x40xf32>, vector<40xf32> plus vector<20xf32> -> vector<20xf32>
    bppsa.yield %0 : vector<20xf32>
  }
  return
}

// A sum of products is one launch. The rows of a transposed matrix run along the depth, and eight
// threads copy each of them.

// CHECK-LABEL: func private @sum_of_products(
// CHECK-SAME:      %[[A:.*]]: memref<?x?x33xf32>, %[[C:.*]]: memref<?x?x33xf32>, %[[V:.*]]: memref<33x64xf32>, %[[W:.*]]: memref<33x64xf32>, %[[Y:.*]]: memref<?x?x64xf32>)
// CHECK:         bgpu.kernel
// CHECK-DAG:       %[[LEFT:.*]] = memref.alloc() : memref<4x64x20xf32, #gpu.address_space<workgroup>>
// CHECK-DAG:       %[[RIGHT:.*]] = memref.alloc() : memref<4x16x72xf32, #gpu.address_space<workgroup>>
// CHECK:           nvgpu.device_async_copy %[[C]]{{.*}}, %[[LEFT]]{{.*}}, 1,
// CHECK:           bgpu.for_each [16, 8] {
// CHECK:             nvgpu.device_async_copy %[[W]]{{.*}}, %[[RIGHT]]{{.*}}, 4,
// CHECK:           %[[SUMS:.*]]:8 = scf.for
// CHECK-COUNT-16:    bgpu.mma
// CHECK:           bgpu.wait %[[LEFT]], %[[RIGHT]] groups(0)
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      bgpu.for_each [64, 2] {
// CHECK:             nvgpu.device_async_copy %[[A]]{{.*}}, %[[LEFT]]
// CHECK:             nvgpu.device_async_copy %[[V]]{{.*}}, %[[RIGHT]]
// CHECK:           scf.for {{.*}} iter_args(%{{[^ ]*}} = %[[SUMS]]#0,
// CHECK-COUNT-32:  memref.store %{{.*}}, %[[Y]]
// CHECK-NOT:     bgpu.kernel
// CHECK:         return
func.func private @sum_of_products(%a: memref<?x?x33xf32>, %c: memref<?x?x33xf32>, %v: memref<33x64xf32>,
    %w: memref<33x64xf32>, %y: memref<?x?x64xf32>) {
  bppsa.recurrence sequences(%a, %c : memref<?x?x33xf32>, memref<?x?x33xf32>)
      captures(%v, %w : memref<33x64xf32>, memref<33x64xf32>) into(%y : memref<?x?x64xf32>) {
  ^bb0(%at: vector<33xf32>, %ct: vector<33xf32>, %vc: vector<33x64xf32>, %wc: vector<33x64xf32>):
    %0 = bppsa.matvec transposed %vc, %at : vector<33x64xf32>, vector<33xf32> -> vector<64xf32>
    %1 = bppsa.matvec transposed %wc, %ct plus %0 : vector<33x64xf32>, vector<33xf32> plus vector<64xf32> -> vector<64xf32>
    bppsa.yield %1 : vector<64xf32>
  }
  return
}

// Products of the same vectors with several matrices are one launch, and tiles span matrix
// boundaries. A block has all 20 + 33 columns; each thread copies a row from the matrix that
// contains it.

// CHECK-LABEL: func private @gates(
// CHECK-SAME:      %[[X:.*]]: memref<?x?x40xf32>, %[[V:.*]]: memref<20x40xf32, strided<[40, 1], offset: 800>>, %[[W:.*]]: memref<33x40xf32>, %[[B:.*]]: memref<20xf32>, %[[C:.*]]: memref<33xf32>, %[[Y:.*]]: memref<?x?x20xf32>, %[[Z:.*]]: memref<?x?x33xf32>)
// CHECK:         bgpu.kernel
// CHECK:           %[[LEFT:.*]] = memref.alloc() : memref<4x64x20xf32, #gpu.address_space<workgroup>>
// CHECK-NEXT:      %[[RIGHT:.*]] = memref.alloc() : memref<4x64x20xf32, #gpu.address_space<workgroup>>
// CHECK-DAG:       %[[B0:.*]] = memref.cast %[[B]]
// CHECK-DAG:       %[[C0:.*]] = memref.cast %[[C]]
// CHECK:           %[[BIAS:.*]] = arith.select %{{.*}}, %[[B0]], %[[C0]]
// CHECK:           memref.load %[[BIAS]]
// CHECK:           nvgpu.device_async_copy %[[X]]{{.*}}, %[[LEFT]]{{.*}}, 4, %{{.*}} {bypassL1}
// CHECK:           %[[V0:.*]] = memref.cast %[[V]] : {{.*}} to memref<?x40xf32, strided<[40, 1], offset: ?>>
// CHECK-NEXT:      %[[IS_FIRST:.*]] = arith.cmpi ult, %[[ROW:.*]], %c20
// CHECK-NEXT:      %[[NEXT:.*]] = arith.addi %[[ROW]], %c-20
// CHECK-NEXT:      %[[W0:.*]] = memref.cast %[[W]]
// CHECK-NEXT:      %[[MATRIX:.*]] = arith.select %[[IS_FIRST]], %[[V0]], %[[W0]]
// CHECK-NEXT:      %[[IN_MATRIX:.*]] = arith.select %[[IS_FIRST]], %[[ROW]], %[[NEXT]]
// CHECK:           nvgpu.device_async_copy %[[MATRIX]][%[[IN_MATRIX]], {{.*}}, %[[RIGHT]]{{.*}}, 4, %{{.*}} {bypassL1}
// CHECK-COUNT-16:  bgpu.mma
// CHECK-NOT:       bgpu.mma
// CHECK-DAG:       %[[Y0:.*]] = memref.cast %[[Y]]
// CHECK-DAG:       %[[Z0:.*]] = memref.cast %[[Z]]
// CHECK:           %[[DESTINATION:.*]] = arith.select %{{.*}}, %[[Y0]], %[[Z0]]
// CHECK:           memref.store %{{.*}}, %[[DESTINATION]]
// CHECK-NOT:     bgpu.kernel
// CHECK:         return
func.func private @gates(%x: memref<?x?x40xf32>, %v: memref<20x40xf32, strided<[40, 1], offset: 800>>, %w: memref<33x40xf32>,
    %b: memref<20xf32>, %c: memref<33xf32>, %y: memref<?x?x20xf32>, %z: memref<?x?x33xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x40xf32>)
      captures(%v, %w, %b, %c : memref<20x40xf32, strided<[40, 1], offset: 800>>, memref<33x40xf32>, memref<20xf32>, memref<33xf32>)
      into(%y, %z : memref<?x?x20xf32>, memref<?x?x33xf32>) {
  ^bb0(%xt: vector<40xf32>, %vc: vector<20x40xf32>, %wc: vector<33x40xf32>, %bc: vector<20xf32>, %cc: vector<33xf32>):
    %0 = bppsa.matvec %vc, %xt plus %bc : vector<20x40xf32>, vector<40xf32> plus vector<20xf32> -> vector<20xf32>
    %1 = bppsa.matvec %wc, %xt plus %cc : vector<33x40xf32>, vector<40xf32> plus vector<33xf32> -> vector<33xf32>
    bppsa.yield %0, %1 : vector<20xf32>, vector<33xf32>
  }
  return
}

// The rows of a transposed matrix run along the depth, so each part of a row is copied from the
// matrix that contains it. Parts have 2 elements because both 18 and 30 are even.

// CHECK-LABEL: func private @transposed_gates(
// CHECK-SAME:      %[[X:.*]]: memref<?x?x40xf32>, %[[V:.*]]: memref<40x18xf32>, %[[W:.*]]: memref<40x30xf32>,
// CHECK:         bgpu.kernel
// CHECK-DAG:       %[[V0:.*]] = memref.cast %[[V]]
// CHECK-DAG:       %[[W0:.*]] = memref.cast %[[W]]
// CHECK:           %[[MATRIX:.*]] = arith.select %{{.*}}, %[[V0]], %[[W0]]
// CHECK:           nvgpu.device_async_copy %[[MATRIX]][{{.*}}, 2,
// CHECK-NOT:     bgpu.kernel
// CHECK:         return
func.func private @transposed_gates(%x: memref<?x?x40xf32>, %v: memref<40x18xf32>, %w: memref<40x30xf32>,
    %y: memref<?x?x18xf32>, %z: memref<?x?x30xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x40xf32>) captures(%v, %w : memref<40x18xf32>, memref<40x30xf32>)
      into(%y, %z : memref<?x?x18xf32>, memref<?x?x30xf32>) {
  ^bb0(%xt: vector<40xf32>, %vc: vector<40x18xf32>, %wc: vector<40x30xf32>):
    %0 = bppsa.matvec transposed %vc, %xt : vector<40x18xf32>, vector<40xf32> -> vector<18xf32>
    %1 = bppsa.matvec transposed %wc, %xt : vector<40x30xf32>, vector<40xf32> -> vector<30xf32>
    bppsa.yield %0, %1 : vector<18xf32>, vector<30xf32>
  }
  return
}

// Products of different vectors are separate launches, and so are products with and without a bias.

// CHECK-LABEL: func private @unlike_products(
// CHECK-COUNT-3: bgpu.kernel
// CHECK-NOT:     bgpu.kernel
// CHECK:         return
func.func private @unlike_products(%a: memref<?x?x40xf32>, %c: memref<?x?x40xf32>, %w: memref<20x40xf32>, %b: memref<20xf32>,
    %y: memref<?x?x20xf32>, %z: memref<?x?x20xf32>, %u: memref<?x?x20xf32>) {
  bppsa.recurrence sequences(%a, %c : memref<?x?x40xf32>, memref<?x?x40xf32>)
      captures(%w, %b : memref<20x40xf32>, memref<20xf32>) into(%y, %z, %u : memref<?x?x20xf32>, memref<?x?x20xf32>, memref<?x?x20xf32>) {
  ^bb0(%at: vector<40xf32>, %ct: vector<40xf32>, %wc: vector<20x40xf32>, %bc: vector<20xf32>):
    %0 = bppsa.matvec %wc, %at : vector<20x40xf32>, vector<40xf32> -> vector<20xf32>
    %1 = bppsa.matvec %wc, %ct : vector<20x40xf32>, vector<40xf32> -> vector<20xf32>
    %2 = bppsa.matvec %wc, %ct plus %bc : vector<20x40xf32>, vector<40xf32> plus vector<20xf32> -> vector<20xf32>
    bppsa.yield %0, %1, %2 : vector<20xf32>, vector<20xf32>, vector<20xf32>
  }
  return
}

// Vectors of 7 elements are multiplied row by row.

// CHECK-LABEL: func private @short_vectors(
// CHECK-NOT:     bgpu.mma
// CHECK:         return
func.func private @short_vectors(%x: memref<?x?x7xf32>, %w: memref<64x7xf32>, %y: memref<?x?x64xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x7xf32>) captures(%w : memref<64x7xf32>) into(%y : memref<?x?x64xf32>) {
  ^bb0(%xt: vector<7xf32>, %wc: vector<64x7xf32>):
    %0 = bppsa.matvec %wc, %xt : vector<64x7xf32>, vector<7xf32> -> vector<64xf32>
    bppsa.yield %0 : vector<64xf32>
  }
  return
}
