// RUN: bppsa-opt %s --bppsa-hoist-input-products --bppsa-choose-gpu-mapping --convert-bppsa-to-bgpu --canonicalize --cse --bgpu-insert-barriers | FileCheck %s

// Five blocks of 8 warps with 8 rows each share 300 rows, for groups of four samples. Barrier
// counters and arrays read by all blocks start as zeros. The number of launches depends on the
// multiprocessor count.

// CHECK-LABEL: func private @rnn(
// CHECK-SAME:      %[[X:.*]]: memref<?x?x300xf32>, %[[H0:.*]]: memref<?x300xf32>, %[[R:.*]]: memref<300x300xf32>, %[[H:.*]]: memref<?x?x300xf32>)
// CHECK-DAG:     %[[T:.*]] = memref.dim %[[X]], %c0
// CHECK-DAG:     %[[SAMPLES:.*]] = memref.dim %[[X]], %c1
// CHECK:         %[[GROUPS:.*]] = arith.ceildivui %[[SAMPLES]], %c4
// CHECK:         %[[COUNTERS:.*]] = memref.alloc(%[[GROUPS]]) {{.*}} : memref<?x32xi32>
// CHECK-NEXT:    linalg.fill ins(%c0_i32 : i32) outs(%[[COUNTERS]] : memref<?x32xi32>)
// CHECK-NEXT:    %[[STATES:.*]] = memref.alloc(%{{.*}}) {{.*}} : memref<2x?x384xf32>
// CHECK-NEXT:    linalg.fill ins(%{{.*}} : f32) outs(%[[STATES]] : memref<2x?x384xf32>)
// CHECK-NEXT:    %[[COUNT:.*]] = call @bppsa_rt_multiprocessors() : () -> i64
// CHECK-NEXT:    %[[HELD:.*]] = arith.index_cast %[[COUNT]] : i64 to index
// CHECK-NEXT:    arith.divui %[[HELD]], %c5
// CHECK:         scf.for
// CHECK:           bgpu.kernel blocks(%{{.*}} in %{{.*}}) threads(256) {
// CHECK:             %[[APART:.*]]:5 = memref.distinct_objects %[[X]], %[[H]], %[[H0]], %[[R]], %[[STATES]]
// CHECK-NEXT:        %[[SUMS:.*]] = memref.alloc() : memref<8x1x1x32xf32, #gpu.address_space<workgroup>>
// CHECK-NEXT:        %[[ENTRIES:.*]] = bgpu.for_each [8, 32] -> tensor<8x32xvector<96xf32>>
// CHECK:               memref.load %[[APART]]#3
// CHECK:             %[[START:.*]] = bgpu.for_each [8, 32] -> tensor<8x32xf32>
// CHECK:               memref.load %[[APART]]#2
// CHECK:             bgpu.for_each [8, 32] %[[START]]
// CHECK:               scf.if
// CHECK:                 memref.store %{{.*}}, %[[APART]]#1[%c0,
// CHECK-NEXT:            memref.store %{{.*}}, %[[APART]]#4[%c0,
// CHECK:             bgpu.grid_barrier %[[COUNTERS]][%[[GROUP:.*]]] until %c5_i32
// CHECK-NEXT:        scf.for %[[STEP:.*]] = %c0 to %[[T]] step %c1 iter_args(%[[XT:.*]] = %{{.*}}, %[[PASSED:.*]] = %c5_i32)
// CHECK:               %[[BEFORE:.*]] = arith.andi %[[STEP]], %c1
// CHECK:               %[[AFTER:.*]] = arith.xori %[[BEFORE]], %c1
// CHECK-NEXT:          scf.for %[[TILE:.*]] = %c0 to
// CHECK:                 %[[PARTS:.*]] = bgpu.for_each [8, 32] %[[ENTRIES]] : tensor<8x32xvector<96xf32>> -> tensor<8x32xvector<32xf32>>
// CHECK:                   vector.load %[[APART]]#4[%[[BEFORE]], %{{.*}}, %{{.*}}] {alignment = 16 : i64}
// CHECK:                 %[[TOTALS:.*]] = bgpu.reduce_scatter <add> %[[PARTS]] : tensor<8x32xvector<32xf32>> -> tensor<8x32xf32>
// CHECK-NEXT:            bgpu.for_each [8, 32] %[[TOTALS]] : tensor<8x32xf32> {
// CHECK-NEXT:            ^bb0(%[[WARP:.*]]: index, %{{.*}}: index, %[[TOTAL:.*]]: f32):
// CHECK:                   memref.store %[[TOTAL]], %[[SUMS]][%[[WARP]], %{{.*}}, %[[TILE]], %{{.*}}]
// A warp reads its own sums.
// CHECK:               bgpu.warp_barrier
// CHECK-NEXT:          %[[OWN:.*]] = bgpu.for_each [8, 32] -> tensor<8x32xf32>
// CHECK:               %[[SUM:.*]] = arith.addf %[[OWN]], %[[XT]] : tensor<8x32xf32>
// CHECK-NEXT:          %[[NEXT:.*]] = math.tanh %[[SUM]] : tensor<8x32xf32>
// CHECK:               bgpu.for_each [8, 32] %[[NEXT]]
// CHECK:                 memref.store %{{.*}}, %[[APART]]#4[%[[AFTER]],
// CHECK:                 memref.store %{{.*}}, %[[APART]]#1
// The input of the next step is requested before the grid barrier.
// CHECK:               %[[AHEAD:.*]] = bgpu.for_each [8, 32] -> tensor<8x32xf32>
// CHECK:                 memref.load %[[APART]]#0
// CHECK-NOT:           barrier
// CHECK:               %[[COUNT:.*]] = arith.addi %[[PASSED]], %c5_i32
// CHECK-NEXT:          bgpu.grid_barrier %[[COUNTERS]][%[[GROUP]]] until %[[COUNT]]
// CHECK-NEXT:          scf.yield %[[AHEAD]], %[[COUNT]]
// CHECK-NOT:       barrier
// CHECK:         memref.dealloc %[[COUNTERS]]
func.func private @rnn(%x: memref<?x?x300xf32>, %h0: memref<?x300xf32>, %r: memref<300x300xf32>,
    %h: memref<?x?x300xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x300xf32>) initial(%h0 : memref<?x300xf32>)
      captures(%r : memref<300x300xf32>) into(%h : memref<?x?x300xf32>) {
  ^bb0(%xt: vector<300xf32>, %ht: vector<300xf32>, %rc: vector<300x300xf32>):
    %0 = bppsa.matvec %rc, %ht : vector<300x300xf32>, vector<300xf32> -> vector<300xf32>
    %1 = arith.addf %0, %xt : vector<300xf32>
    %2 = math.tanh %1 : vector<300xf32>
    bppsa.yield %2 : vector<300xf32>
  }
  return
}

// A link computes the operand of its product, so its only barrier is in the middle of a step and
// the cotangent stays in registers.

// CHECK-LABEL: func private @chain(
// CHECK-SAME:      %{{.*}}: memref<?x?x300xf32>, %[[SEED:.*]]: memref<?x300xf32>, %{{.*}}: memref<300x300xf32>, %[[OUT:.*]]: memref<?x300xf32>)
// CHECK:             %[[APART:.*]]:5 = memref.distinct_objects %{{.*}}, %[[SEED]], %[[OUT]], %{{.*}}, %{{.*}}
// CHECK:             %[[START:.*]] = bgpu.for_each [8, 32] -> tensor<8x32xf32>
// CHECK:               memref.load %[[APART]]#1
// CHECK-NOT:         barrier
// CHECK:             %[[LAST:.*]]:3 = scf.for {{.*}} iter_args(%[[G:[^ ]*]] = %[[START]], %[[A:[^ ]*]] = %{{.*}}, %{{.*}} = %c0_i32)
// CHECK:               %[[D:.*]] = arith.mulf %[[A]], %[[G]] : tensor<8x32xf32>
// CHECK:               bgpu.for_each [8, 32] %[[D]]
// CHECK:                 memref.store %{{.*}}, %[[APART]]#4
// CHECK:               bgpu.grid_barrier
// CHECK:               vector.load %[[APART]]#4
// CHECK:               bgpu.warp_barrier
// CHECK-NEXT:          %[[NEXT:.*]] = bgpu.for_each [8, 32] -> tensor<8x32xf32>
// CHECK-NOT:           barrier
// CHECK:               scf.yield %[[NEXT]],
// CHECK:             bgpu.for_each [8, 32] %[[LAST]]#0
// CHECK:               memref.store %{{.*}}, %[[APART]]#2
// CHECK-NOT:         barrier
func.func private @chain(%a: memref<?x?x300xf32>, %g: memref<?x300xf32>, %w: memref<300x300xf32>,
    %out: memref<?x300xf32>) {
  bppsa.chain saved(%a : memref<?x?x300xf32>) seeds(%g : memref<?x300xf32>)
      captures(%w : memref<300x300xf32>) into(%out : memref<?x300xf32>) {
  ^bb0(%at: vector<300xf32>, %gt: vector<300xf32>, %wc: vector<300x300xf32>):
    %0 = arith.mulf %at, %gt : vector<300xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<300x300xf32>, vector<300xf32> -> vector<300xf32>
    bppsa.yield %1 : vector<300xf32>
  }
  return
}

// A warp with two rows of three products pads 24 sums to 32. Lanes past the last sum do not store.

// CHECK-LABEL: func private @gates(
// CHECK:             memref.alloc() : memref<8x3x4x8xf32, #gpu.address_space<workgroup>>
// CHECK:                 bgpu.reduce_scatter <add> %{{.*}} : tensor<8x32xvector<32xf32>> -> tensor<8x32xf32>
// CHECK-NEXT:            bgpu.for_each [8, 32]
// CHECK:                   arith.cmpi ult, %{{.*}}, %c24
// CHECK-NOT:       reduce_scatter
func.func private @gates(%x: memref<?x?x128xf32>, %h0: memref<?x128xf32>, %r: memref<128x128xf32>, %s: memref<128x128xf32>,
    %u: memref<128x128xf32>, %h: memref<?x?x128xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x128xf32>) initial(%h0 : memref<?x128xf32>)
      captures(%r, %s, %u : memref<128x128xf32>, memref<128x128xf32>, memref<128x128xf32>) into(%h : memref<?x?x128xf32>)
      attributes {bppsa.mapping = #bppsa.gpu_mapping<cooperative, threads = 256, rows = 2>} {
  ^bb0(%xt: vector<128xf32>, %ht: vector<128xf32>, %rc: vector<128x128xf32>, %sc: vector<128x128xf32>, %uc: vector<128x128xf32>):
    %0 = bppsa.matvec %rc, %ht : vector<128x128xf32>, vector<128xf32> -> vector<128xf32>
    %1 = bppsa.matvec %sc, %ht : vector<128x128xf32>, vector<128xf32> -> vector<128xf32>
    %2 = bppsa.matvec %uc, %ht : vector<128x128xf32>, vector<128xf32> -> vector<128xf32>
    %3 = arith.mulf %0, %1 : vector<128xf32>
    %4 = arith.mulf %3, %2 : vector<128xf32>
    %5 = arith.addf %4, %xt : vector<128xf32>
    bppsa.yield %5 : vector<128xf32>
  }
  return
}
