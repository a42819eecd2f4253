// RUN: bppsa-opt %s --bppsa-choose-gpu-mapping | FileCheck %s
// RUN: bppsa-opt %s --bppsa-choose-gpu-mapping=precision=tf32 | FileCheck %s --check-prefix=TF32
// RUN: bppsa-opt %s --bppsa-choose-gpu-mapping --remarks-filter=mapping 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: bppsa-opt %s --bppsa-choose-gpu-mapping --bppsa-choose-gpu-mapping --remarks-filter=mapping 2>&1 >/dev/null | FileCheck %s --check-prefix=TWICE

// TWICE-COUNT-13: ChooseGPUMapping
// TWICE-NOT: ChooseGPUMapping

// Eight stages of four rows, with one row per thread.
// CHECK-LABEL: @small(
// CHECK: bppsa.mapping = #bppsa.gpu_mapping<block_per_row, threads = 32, stages = 8>
// REMARK-DAG: Function=small {{.*}}recurrence: block_per_row, threads = 32, stages = 8; the first choice
func.func private @small(%x: memref<?x?x4xf32>, %h0: memref<?x4xf32>, %r: memref<4x4xf32>, %h: memref<?x?x4xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x4xf32>) initial(%h0 : memref<?x4xf32>)
      captures(%r : memref<4x4xf32>) into(%h : memref<?x?x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>, %rc: vector<4x4xf32>):
    %0 = bppsa.matvec %rc, %ht plus %xt : vector<4x4xf32>, vector<4xf32> plus vector<4xf32> -> vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return
}

// 136 entries per row are too many for one thread.
// CHECK-LABEL: @shared_rows(
// CHECK: bppsa.mapping = #bppsa.gpu_mapping<block_per_row, threads = 288, parts = 2, stages = 8>
// REMARK-DAG: Function=shared_rows {{.*}}parts = 2, stages = 8; parts = 1 needs 136 entries of matrices in a thread, above 128
func.func private @shared_rows(%x: memref<?x?x136xf32>, %h0: memref<?x136xf32>, %r: memref<136x136xf32>, %h: memref<?x?x136xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x136xf32>) initial(%h0 : memref<?x136xf32>)
      captures(%r : memref<136x136xf32>) into(%h : memref<?x?x136xf32>) {
  ^bb0(%xt: vector<136xf32>, %ht: vector<136xf32>, %rc: vector<136x136xf32>):
    %0 = bppsa.matvec %rc, %ht plus %xt : vector<136x136xf32>, vector<136xf32> plus vector<136xf32> -> vector<136xf32>
    bppsa.yield %0 : vector<136xf32>
  }
  return
}

// CHECK-LABEL: @several_blocks(
// CHECK: bppsa.mapping = #bppsa.gpu_mapping<cooperative, threads = 256, rows = 8>
// REMARK-DAG: Function=several_blocks {{.*}}cooperative, threads = 256, rows = 8; block_per_row needs 300 entries of matrices in a thread, above 128
func.func private @several_blocks(%x: memref<?x?x300xf32>, %h0: memref<?x300xf32>, %r: memref<300x300xf32>, %h: memref<?x?x300xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x300xf32>) initial(%h0 : memref<?x300xf32>)
      captures(%r : memref<300x300xf32>) into(%h : memref<?x?x300xf32>) {
  ^bb0(%xt: vector<300xf32>, %ht: vector<300xf32>, %rc: vector<300x300xf32>):
    %0 = bppsa.matvec %rc, %ht plus %xt : vector<300x300xf32>, vector<300xf32> plus vector<300xf32> -> vector<300xf32>
    bppsa.yield %0 : vector<300xf32>
  }
  return
}

// Blocks cannot share rows if a matrix multiplies a value that the step reads.
// CHECK-LABEL: @from_memory(
// CHECK: bppsa.mapping = #bppsa.gpu_mapping<block_per_row, threads = 320, matrices = memory, stages = 8>
// REMARK-DAG: Function=from_memory {{.*}}matrices = memory, stages = 8; blocks that share rows need only products of states and of values computed in steps
func.func private @from_memory(%x: memref<?x?x300xf32>, %h0: memref<?x300xf32>, %r: memref<300x300xf32>, %h: memref<?x?x300xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x300xf32>) initial(%h0 : memref<?x300xf32>)
      captures(%r : memref<300x300xf32>) into(%h : memref<?x?x300xf32>) {
  ^bb0(%xt: vector<300xf32>, %ht: vector<300xf32>, %rc: vector<300x300xf32>):
    %0 = bppsa.matvec %rc, %xt plus %ht : vector<300x300xf32>, vector<300xf32> plus vector<300xf32> -> vector<300xf32>
    bppsa.yield %0 : vector<300xf32>
  }
  return
}

// CHECK-LABEL: @products(
// CHECK: bppsa.mapping = #bppsa.gpu_mapping<tiled_product, threads = 128>
// TF32-LABEL: @products(
// TF32: bppsa.mapping = #bppsa.gpu_mapping<tiled_product, threads = 128, precision = tf32>
// REMARK-DAG: Function=products {{.*}}recurrence: tiled_product, threads = 128; the first choice
func.func private @products(%x: memref<?x?x16xf32>, %w: memref<32x16xf32>, %y: memref<?x?x32xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x16xf32>) captures(%w : memref<32x16xf32>) into(%y : memref<?x?x32xf32>) {
  ^bb0(%xt: vector<16xf32>, %wc: vector<32x16xf32>):
    %0 = bppsa.matvec %wc, %xt : vector<32x16xf32>, vector<16xf32> -> vector<32xf32>
    bppsa.yield %0 : vector<32xf32>
  }
  return
}

// An existing mapping is kept.
// CHECK-LABEL: @by_hand(
// CHECK: bppsa.mapping = #bppsa.gpu_mapping<block_per_row, threads = 64, matrices = memory>
func.func private @by_hand(%x: memref<?x?x16xf32>, %w: memref<32x16xf32>, %y: memref<?x?x32xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x16xf32>) captures(%w : memref<32x16xf32>) into(%y : memref<?x?x32xf32>)
      attributes {bppsa.mapping = #bppsa.gpu_mapping<block_per_row, threads = 64, matrices = memory>} {
  ^bb0(%xt: vector<16xf32>, %wc: vector<32x16xf32>):
    %0 = bppsa.matvec %wc, %xt : vector<32x16xf32>, vector<16xf32> -> vector<32xf32>
    bppsa.yield %0 : vector<32xf32>
  }
  return
}

// The offsets of transitions have their own mapping.
// CHECK-LABEL: @offsets(
// CHECK: bppsa.mapping = #bppsa.gpu_mapping<thread_per_column, threads = 32, stages = 4, offset = <block_per_column, threads = 32, stages = 8>>
// REMARK-DAG: Function=offsets {{.*}}transition: thread_per_column, threads = 32, stages = 4, offset = <block_per_column, threads = 32, stages = 8>; the first choice
func.func private @offsets(%a: memref<8x?x3xf32>, %s: memref<8x?x3xf32>, %w: memref<3x3xf32>, %m: memref<?x4x3xf32>) {
  bppsa.transition states [3] saved(%a : memref<8x?x3xf32>) injected(%s : memref<8x?x3xf32>) inject_into [0]
      captures(%w : memref<3x3xf32>) into(%m : memref<?x4x3xf32>) {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>, %wc: vector<3x3xf32>):
    %0 = arith.mulf %at, %gt : vector<3xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<3x3xf32>, vector<3xf32> -> vector<3xf32>
    bppsa.yield %1 : vector<3xf32>
  }
  return
}

// Each chain of a parallel loop runs on one block, even if the matrix does not fit in its
// registers.
// CHECK-LABEL: @chains(
// CHECK: bppsa.mapping = #bppsa.gpu_mapping<block_per_row, threads = 320, matrices = memory, stages = 8>
// REMARK-DAG: Function=chains {{.*}}chain: block_per_row, threads = 320, matrices = memory, stages = 8
func.func private @chains(%a: memref<?x?x300xf32>, %g: memref<1x300xf32>, %w: memref<300x300xf32>, %out: memref<1x300xf32>) {
  scf.forall (%b, %k) in (4, 8) {
    %a_k = memref.subview %a[%k, %b, 0] [1, 1, 300] [1, 1, 1]
        : memref<?x?x300xf32> to memref<1x1x300xf32, strided<[?, 300, 1], offset: ?>>
    bppsa.chain saved(%a_k : memref<1x1x300xf32, strided<[?, 300, 1], offset: ?>>) seeds(%g : memref<1x300xf32>)
        captures(%w : memref<300x300xf32>) into(%out : memref<1x300xf32>) {
    ^bb0(%at: vector<300xf32>, %gt: vector<300xf32>, %wc: vector<300x300xf32>):
      %0 = arith.mulf %at, %gt : vector<300xf32>
      %1 = bppsa.matvec transposed %wc, %0 : vector<300x300xf32>, vector<300xf32> -> vector<300xf32>
      bppsa.yield %1 : vector<300xf32>
    }
  }
  return
}

// Reading few entries from memory in one block is faster than synchronizing several blocks, if the
// threads of a warp read adjacent entries.
// CHECK-LABEL: @few_entries(
// CHECK: bppsa.mapping = #bppsa.gpu_mapping<block_per_row, threads = 256, matrices = memory, stages = 8>
// CHECK-LABEL: @many_entries(
// CHECK: bppsa.mapping = #bppsa.gpu_mapping<cooperative, threads = 256, rows = 8>
func.func private @few_entries(%a: memref<?x?x256xf32>, %g: memref<?x256xf32>, %w: memref<256x256xf32>, %out: memref<?x256xf32>) {
  bppsa.chain saved(%a : memref<?x?x256xf32>) seeds(%g : memref<?x256xf32>)
      captures(%w : memref<256x256xf32>) into(%out : memref<?x256xf32>) {
  ^bb0(%at: vector<256xf32>, %gt: vector<256xf32>, %wc: vector<256x256xf32>):
    %0 = arith.mulf %at, %gt : vector<256xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<256x256xf32>, vector<256xf32> -> vector<256xf32>
    bppsa.yield %1 : vector<256xf32>
  }
  return
}
func.func private @many_entries(%a: memref<?x?x260xf32>, %g: memref<?x260xf32>, %w: memref<260x260xf32>, %out: memref<?x260xf32>) {
  bppsa.chain saved(%a : memref<?x?x260xf32>) seeds(%g : memref<?x260xf32>)
      captures(%w : memref<260x260xf32>) into(%out : memref<?x260xf32>) {
  ^bb0(%at: vector<260xf32>, %gt: vector<260xf32>, %wc: vector<260x260xf32>):
    %0 = arith.mulf %at, %gt : vector<260xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<260x260xf32>, vector<260xf32> -> vector<260xf32>
    bppsa.yield %1 : vector<260xf32>
  }
  return
}

// CHECK-LABEL: @tiles(
// CHECK: bppsa.transition {{.*}}bppsa.mapping = #bppsa.gpu_mapping<column_tile, threads = 64, columns = 4, stages = 8>
// TF32-LABEL: @tiles(
// TF32: bppsa.mapping = #bppsa.gpu_mapping<column_tile, threads = 64, columns = 4, stages = 8, precision = tf32>
// REMARK-DAG: Function=tiles {{.*}}transition: column_tile, {{.*}}; thread_per_column needs 32 rows of a column, above 20
func.func private @tiles(%a: memref<8x?x32xf32>, %w: memref<32x32xf32>, %m: memref<?x32x32xf32>) {
  bppsa.transition states [32] saved(%a : memref<8x?x32xf32>) captures(%w : memref<32x32xf32>)
      into(%m : memref<?x32x32xf32>) {
  ^bb0(%at: vector<32xf32>, %gt: vector<32xf32>, %wc: vector<32x32xf32>):
    %0 = arith.mulf %at, %gt : vector<32xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<32x32xf32>, vector<32xf32> -> vector<32xf32>
    bppsa.yield %1 : vector<32xf32>
  }
  return
}

// With a single step, neither prefetching nor keeping the matrix in registers pays off.
// CHECK-LABEL: @one_step(
// CHECK: bppsa.transition {{.*}}bppsa.mapping = #bppsa.gpu_mapping<thread_per_column, threads = 32, matrices = shared>
// REMARK-DAG: Function=one_step {{.*}}transition: thread_per_column
func.func private @one_step(%a: memref<1x?x3xf32>, %w: memref<3x3xf32>, %m: memref<?x3x3xf32>) {
  bppsa.transition states [3] saved(%a : memref<1x?x3xf32>) captures(%w : memref<3x3xf32>)
      into(%m : memref<?x3x3xf32>) {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>, %wc: vector<3x3xf32>):
    %0 = arith.mulf %at, %gt : vector<3xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<3x3xf32>, vector<3xf32> -> vector<3xf32>
    bppsa.yield %1 : vector<3xf32>
  }
  return
}

// Two sums together fill tiles that neither fills on its own.
// CHECK-LABEL: @sums(
// CHECK-COUNT-2: bppsa.outer_sum {{.*}}bppsa.mapping = #bppsa.gpu_mapping<tiled_product, threads = 128>
// REMARK-DAG: Function=sums {{.*}}outer_sum: tiled_product, threads = 128; the first choice
// REMARK-DAG: Function=sums {{.*}}outer_sum: tiled_product, threads = 128; the first choice
func.func private @sums(%a: memref<?x?x4xf32>, %b: memref<?x?x4xf32>, %x: memref<?x?x8xf32>, %s: memref<4x8xf32>, %t: memref<4x8xf32>) {
  bppsa.outer_sum %a, %x into %s : memref<?x?x4xf32>, memref<?x?x8xf32> into memref<4x8xf32>
  bppsa.outer_sum %b, %x into %t : memref<?x?x4xf32>, memref<?x?x8xf32> into memref<4x8xf32>
  return
}
