// RUN: bppsa-opt %s --convert-bppsa-to-vector --canonicalize --cse | FileCheck %s

// Running sums fused with a chain are neither cleared nor reduced.

// CHECK-LABEL: func.func @with_chain(
// CHECK-SAME:      {{.*}}, %[[SUMS:[^:]*]]: memref<?x5x16xf32>, %[[OTHERS:[^:]*]]: memref<?x5x16xf32>)
// CHECK-NOT:     zero_sums
// CHECK:         scf.parallel (%[[GROUP:.*]]) =
// CHECK:           %[[BUFFER:.*]] = memref.alloca() {{.*}}: memref<32x5x16xf32>
// CHECK:           %[[OF_GROUP:.*]] = memref.subview %[[SUMS]][%[[GROUP]], 0, 0]
// CHECK:           call @step_sum_slab
// CHECK-NOT:       finish_sums
// These sums run in the opposite order, so they are computed separately, starting with the first
// slab.
// CHECK:         scf.parallel (%[[BLOCK:.*]]) =
// CHECK:           scf.for %[[NUMBER:.*]] = %c0
// CHECK:             %[[FIRST:.*]] = arith.muli %[[NUMBER]], %c32
// CHECK:             scf.for %{{.*}} = %[[FIRST]] to
// CHECK:             vector.store %{{.*}}, %[[OTHERS]][%[[BLOCK]],
func.func @with_chain(%a: memref<?x?x5x16xf32>, %g: memref<?x5x16xf32>, %w: memref<5x5xf32>,
    %blocks: index, %steps: index, %sums: memref<?x5x16xf32>, %others: memref<?x5x16xf32>) {
  %d = memref.alloc(%blocks, %steps) : memref<?x?x5x16xf32>
  bppsa.chain lanes 16 saved(%a : memref<?x?x5x16xf32>) seeds(%g : memref<?x5x16xf32>)
      captures(%w : memref<5x5xf32>) into(%g, %d : memref<?x5x16xf32>, memref<?x?x5x16xf32>) {
  ^bb0(%at: vector<5xf32>, %gt: vector<5xf32>, %wc: vector<5x5xf32>):
    %0 = arith.mulf %at, %gt : vector<5xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<5x5xf32>, vector<5xf32> -> vector<5xf32>
    bppsa.yield %1, %0 : vector<5xf32>, vector<5xf32>
  }
  bppsa.add_to_sums 16 %d into %sums : memref<?x?x5x16xf32> into memref<?x5x16xf32>
  memref.dealloc %d : memref<?x?x5x16xf32>
  bppsa.add_to_sums 16 reverse %a into %others : memref<?x?x5x16xf32> into memref<?x5x16xf32>
  return
}

// Slabs are processed from last to first; products within a slab accumulate in registers.

// CHECK-LABEL: func.func @outer(
// CHECK-SAME:      %[[A:[^:]*]]: memref<?x?x2x16xf32>, %[[X:[^:]*]]: memref<?x?x3x16xf32>, %[[SUMS:[^:]*]]: memref<?x2x3x16xf32>
// CHECK:         scf.parallel (%[[BLOCK:.*]]) =
// CHECK:           %[[COUNT:.*]] = arith.ceildivui %{{.*}}, %c32
// CHECK:           scf.for %[[I:.*]] = %c0 to %[[COUNT]]
// CHECK:             %[[LEFT:.*]] = arith.subi %[[COUNT]], %[[I]]
// CHECK:             %[[NUMBER:.*]] = arith.addi %[[LEFT]], %c-1
// CHECK:             %[[FIRST:.*]] = arith.muli %[[NUMBER]], %c32
// CHECK:             scf.for %{{.*}} = %[[FIRST]] to {{.*}} iter_args
// CHECK:               vector.fma
// CHECK:             vector.store %{{.*}}, %[[SUMS]][%[[BLOCK]],
func.func @outer(%a: memref<?x?x2x16xf32>, %x: memref<?x?x3x16xf32>, %sums: memref<?x2x3x16xf32>) {
  bppsa.add_to_sums 16 %a, %x into %sums : memref<?x?x2x16xf32>, memref<?x?x3x16xf32> into memref<?x2x3x16xf32>
  return
}

// Blocks are added from last to first, without lanes that hold no sample.

// CHECK-LABEL: func.func @finish(
// CHECK-SAME:      %[[SUMS:[^:]*]]: memref<?x5x16xf32>, %[[N:[^:]*]]: index, %[[RESULT:[^:]*]]: memref<5xf32>
// CHECK:         call @[[FINISH:.*]](%[[SUMS]], %[[RESULT]], %[[N]])
// CHECK:       func.func private @[[FINISH]](%[[S:.*]]: memref<?x5x16xf32>, %{{.*}}: memref<5xf32>, %[[BATCH:.*]]: index)
// CHECK:         %[[BLOCKS:.*]] = memref.dim %[[S]], %c0
// CHECK:         scf.for
// CHECK:           scf.for %[[I:.*]] = %c0 to %[[BLOCKS]]
// CHECK:             %[[LEFT:.*]] = arith.subi %[[BLOCKS]], %[[I]]
// CHECK:             %[[BLOCK:.*]] = arith.addi %[[LEFT]], %c-1
// CHECK:             %[[LANES:.*]] = vector.load %[[S]][%[[BLOCK]],
// CHECK:             %[[BEFORE:.*]] = arith.muli %[[BLOCK]], %c16
// CHECK:             %[[PRESENT:.*]] = arith.subi %[[BATCH]], %[[BEFORE]]
// CHECK:             %[[MASK:.*]] = vector.create_mask %[[PRESENT]]
// CHECK:             arith.select %[[MASK]], %[[LANES]]
// CHECK:           vector.reduction <add>
func.func @finish(%s: memref<?x5x16xf32>, %n: index, %r: memref<5xf32>) {
  bppsa.finish_sums 16 %s batch %n into %r : memref<?x5x16xf32> into memref<5xf32>
  return
}
