// RUN: bppsa-opt %s --convert-bppsa-to-gpu --canonicalize --cse | FileCheck %s

// The host walks the levels, with a launch for each: leaves, up, the roots in order,
// down, and the links again for what they emit.

// CHECK-LABEL: func private @blelloch(
// CHECK-SAME:      %[[A:.*]]: memref<?x?x4xf32>, %[[G:.*]]: memref<?x4xf32>, %[[W:.*]]: memref<4x4xf32>, %[[OUT:.*]]: memref<?x4xf32>)
// CHECK-DAG:     %[[T:.*]] = memref.dim %[[A]], %c0
// CHECK-DAG:     %[[SAMPLES:.*]] = memref.dim %[[G]], %c0
// CHECK:         %[[ZEROS:.*]] = math.ctlz
// CHECK:         %[[LOG:.*]] = arith.subi %c63_i64, %[[ZEROS]]
// CHECK:         %[[LEVELS:.*]] = arith.index_cast %[[LOG]]
// CHECK:         %[[MAPS:.*]] = memref.alloc(%[[T]], %[[SAMPLES]]) {{.*}} : memref<?x?x4x4xf32>
// CHECK:         %[[COUNT:.*]] = arith.addi %[[T]], %c1
// CHECK:         %[[VECTORS:.*]] = memref.alloc(%[[SAMPLES]], %[[COUNT]]) {{.*}} : memref<?x?x4xf32>
// CHECK:         gpu.launch {{.*}} function(@blelloch)
// CHECK:           memref.store %{{.*}}, %[[VECTORS]]
// CHECK:         gpu.launch {{.*}} function(@blelloch_1)
// CHECK:           memref.store %{{.*}}, %[[MAPS]]

// A thread keeps the row of the second factor that it replaces.

// CHECK:         scf.for %[[LEVEL:.*]] = %c0 to %[[LEVELS]] step %c1 {
// CHECK:           %[[HALF:.*]] = arith.shli %c1, %[[LEVEL]]
// CHECK:           %[[WHOLE:.*]] = arith.shli %[[HALF]], %c1
// CHECK:           %[[REST:.*]] = arith.subi %[[T]], %[[HALF]]
// CHECK:           %[[PAIRS:.*]] = arith.divui %[[REST]], %[[WHOLE]]
// CHECK:           %[[ALL:.*]] = arith.addi %[[PAIRS]], %c1
// CHECK:           %[[BLOCKS:.*]] = arith.muli %[[SAMPLES]], %[[ALL]]
// CHECK:           gpu.launch blocks(%{{.*}}) in (%{{[^ ]*}} = %[[BLOCKS]], {{.*}} function(@blelloch_2)
// CHECK:             memref.store %{{.*}}, %[[VECTORS]]
// CHECK:           } else {
// CHECK:             %[[KEPT:.*]] = memref.alloca() : memref<4xf32>
// CHECK:             memref.store %{{.*}}, %[[KEPT]]
// CHECK:             scf.for
// CHECK:               scf.for
// CHECK:                 memref.load %[[KEPT]]
// CHECK:                 math.fma
// CHECK:               memref.store %{{.*}}, %[[MAPS]]

// CHECK:         gpu.launch blocks(%{{.*}}) in (%{{[^ ]*}} = %[[SAMPLES]], {{.*}} function(@blelloch_3)

// CHECK:         scf.for %[[DOWN:.*]] = %c0 to %[[LEVELS]] step %c1 {
// CHECK:           %[[LEFT:.*]] = arith.subi %[[LEVELS]], %[[DOWN]]
// CHECK:           %[[LEVEL:.*]] = arith.addi %[[LEFT]], %c-1
// CHECK:           arith.shli %c1, %[[LEVEL]]
// CHECK:           gpu.launch {{.*}} function(@blelloch_4) workgroup(%[[PREFIX:[^ ]*]] : memref<4xf32, #gpu.address_space<workgroup>>)
// CHECK:             memref.store %{{.*}}, %[[PREFIX]]
// CHECK:             gpu.barrier
// CHECK:             memref.load %[[PREFIX]]
// CHECK:             memref.store %{{.*}}, %[[VECTORS]]

// CHECK:         %[[LINKS:.*]] = arith.muli %[[SAMPLES]], %[[T]]
// CHECK:         gpu.launch blocks(%{{.*}}) in (%{{[^ ]*}} = %[[LINKS]], {{.*}} function(@blelloch_5)
// CHECK:           memref.load %[[VECTORS]]
// CHECK:           memref.load %[[A]]
// CHECK:           memref.store %{{.*}}, %[[OUT]]
// CHECK-NOT:     gpu.launch
// CHECK:         memref.dealloc %[[MAPS]]
// CHECK:         memref.dealloc %[[VECTORS]]
func.func private @blelloch(%a: memref<?x?x4xf32>, %g: memref<?x4xf32>, %w: memref<4x4xf32>, %out: memref<?x4xf32>) {
  bppsa.chain plan <blelloch> saved(%a : memref<?x?x4xf32>) seeds(%g : memref<?x4xf32>) inject_into []
      captures(%w : memref<4x4xf32>) into(%out : memref<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  return
}

// A hybrid scan has at most so many levels; a product of diagonals is one of elements.

// CHECK-LABEL: func private @hybrid(
// CHECK:         %[[LOG:.*]] = arith.index_cast %{{.*}} : i64 to index
// CHECK:         %[[LEVELS:.*]] = arith.minui %[[LOG]], %c2
// CHECK:         %[[MAPS:.*]] = memref.alloc(%{{.*}}) {{.*}} : memref<?x?x1x4xf32>
// CHECK:         scf.for %{{.*}} = %c0 to %[[LEVELS]]
// CHECK:           } else {
// CHECK-NEXT:        %[[SECOND:.*]] = memref.load %[[MAPS]][%[[END:.*]], %[[SAMPLE:.*]], %c0, %[[ROW:.*]]]
// CHECK-NEXT:        %[[FIRST:.*]] = memref.load %[[MAPS]][%{{.*}}, %[[SAMPLE]], %c0, %[[ROW]]]
// CHECK-NEXT:        %[[PRODUCT:.*]] = arith.mulf %[[SECOND]], %[[FIRST]]
// CHECK-NEXT:        memref.store %[[PRODUCT]], %[[MAPS]][%[[END]], %[[SAMPLE]], %c0, %[[ROW]]]
// CHECK-NEXT:      }
func.func private @hybrid(%a: memref<?x?x4xf32>, %g: memref<?x4xf32>, %out: memref<?x4xf32>) {
  bppsa.chain plan <hybrid, 2> saved(%a : memref<?x?x4xf32>) seeds(%g : memref<?x4xf32>) inject_into []
      into(%out : memref<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return
}

// Linear, and hybrid without levels: a chain.

// CHECK-LABEL: func private @linear(
// CHECK-COUNT-1: gpu.launch
// CHECK-NOT:     gpu.launch
// CHECK-LABEL: func private @no_levels(
// CHECK-COUNT-1: gpu.launch
// CHECK-NOT:     gpu.launch
func.func private @linear(%a: memref<?x?x4xf32>, %g: memref<?x4xf32>, %out: memref<?x4xf32>) {
  bppsa.chain plan <linear> saved(%a : memref<?x?x4xf32>) seeds(%g : memref<?x4xf32>) inject_into []
      into(%out : memref<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return
}
func.func private @no_levels(%a: memref<?x?x4xf32>, %g: memref<?x4xf32>, %out: memref<?x4xf32>) {
  bppsa.chain plan <hybrid, 0> saved(%a : memref<?x?x4xf32>) seeds(%g : memref<?x4xf32>) inject_into []
      into(%out : memref<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return
}
