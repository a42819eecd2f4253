// RUN: bppsa-opt %s --convert-bppsa-to-vector --canonicalize --cse | FileCheck %s

// The chain runs backward in blocks of 32 steps and emits to a buffer of 32 steps that the sums
// read. Rows of a later step are prefetched along with the columns of the product. Each group of
// samples has running sums, which are reduced at the end. The full emitted sequence no longer
// exists. Two sums of the same shape share one function.

// CHECK-LABEL: func.func @step(
// CHECK-SAME:      %[[A:[^:]*]]: memref<?x?x5x16xf32>, {{.*}}, %[[DB:[^:]*]]: memref<5xf32>, %[[DC:[^:]*]]: memref<5xf32>
// CHECK:         %[[SUMS:.*]] = memref.alloc(%{{.*}}) {{.*}}: memref<?x5x16xf32>
// CHECK:         %[[OTHERS:.*]] = memref.alloc(%{{.*}}) {{.*}}: memref<?x5x16xf32>
// CHECK-NOT:     memref.alloc(
// CHECK:         scf.parallel (%[[GROUP:.*]]) =
// CHECK-DAG:       %[[BUFFER:.*]] = memref.alloca() {{.*}}: memref<32x5x16xf32>
// CHECK-DAG:       %[[OF_GROUP:.*]] = memref.subview %[[SUMS]][%[[GROUP]], 0, 0]
// CHECK:           call @[[ZERO:zero_sums_.*]](%
// CHECK:           call @[[ZERO]](%
// CHECK:           scf.for %{{.*}} = %c0 to %{{.*}} step %c1 {
// CHECK:             vector.reduction <or>
// CHECK:             %[[ENDED:.*]] = arith.cmpi eq
// CHECK:             scf.if %[[ENDED]] {
// CHECK-NEXT:        } else {
// CHECK:             scf.for
// CHECK:               vector.store %{{.*}}, %[[BUFFER]]
// CHECK:               scf.for {{.*}} iter_args
// CHECK:                 memref.prefetch %[[A]][%[[GROUP]], {{.*}}], read, locality<2>, data
// CHECK:             %[[STEPS:.*]] = memref.subview %[[BUFFER]][0, 0, 0]
// CHECK:             call @[[SLAB:step_sum_slab_.*]](%{{.*}}, %[[CAST:.*]])
// CHECK:             call @[[SLAB]](%{{.*}}, %{{.*}})
// CHECK:         call @[[REDUCE:finish_sums_of_.*]](%[[SUMS]], %[[DB]], %{{.*}})
// CHECK:         memref.dealloc %[[SUMS]]
// CHECK:         call @[[REDUCE]](%[[OTHERS]], %[[DC]], %{{.*}})

// CHECK:       func.func private @[[ZERO]](
// CHECK:       func.func private @[[SLAB]](%[[RUNNING:.*]]: memref<5x16xf32, {{.*}}>, %[[ROWS:.*]]: memref<?x5x16xf32,
// CHECK:         scf.for {{.*}} iter_args
// CHECK:           vector.load %[[ROWS]]
// CHECK:         vector.load %[[RUNNING]]
// CHECK:       func.func private @[[REDUCE]](%{{.*}}, %[[RESULT:.*]]: memref<5xf32>, %{{.*}}: index) {{.*}}noinline
// CHECK:         vector.reduction <add>
// CHECK:         memref.store %{{.*}}, %[[RESULT]]
// CHECK-NOT:   func.func
func.func @step(%a: memref<?x?x5x16xf32>, %g: memref<?x5x16xf32>, %w: memref<5x5xf32>,
    %n: index, %blocks: index, %steps: index, %db: memref<5xf32>, %dc: memref<5xf32>) {
  %d = memref.alloc(%blocks, %steps) : memref<?x?x5x16xf32>
  bppsa.chain lanes 16 saved(%a : memref<?x?x5x16xf32>) seeds(%g : memref<?x5x16xf32>)
      captures(%w : memref<5x5xf32>) into(%g, %d : memref<?x5x16xf32>, memref<?x?x5x16xf32>) {
  ^bb0(%at: vector<5xf32>, %gt: vector<5xf32>, %wc: vector<5x5xf32>):
    %0 = arith.mulf %at, %gt : vector<5xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<5x5xf32>, vector<5xf32> -> vector<5xf32>
    bppsa.yield %1, %0 : vector<5xf32>, vector<5xf32>
  }
  bppsa.step_sum lanes 16 %d batch %n into %db : memref<?x?x5x16xf32> into memref<5xf32>
  bppsa.step_sum lanes 16 %d batch %n into %dc : memref<?x?x5x16xf32> into memref<5xf32>
  memref.dealloc %d : memref<?x?x5x16xf32>
  return
}
