// RUN: bppsa-opt %s --bppsa-build-optimizer=optimizer=momentum | FileCheck %s --check-prefix=PRUNED
// RUN: bppsa-opt %s --bppsa-build-optimizer="optimizer=momentum lanes=1" | FileCheck %s --check-prefix=THREADS

func.func private @forward(tensor<2x2xf32> {bppsa.nonzeros = dense<[[true, false], [false, true]]> : tensor<2x2xi1>, bppsa.parameter = "w"})

// PRUNED-LABEL: @forward
// PRUNED-LABEL: func.func @update(
// PRUNED-SAME:    %[[PARAMS:[^:]*]]: memref<?xf32>, %[[GRADS:[^:]*]]: memref<?xf32>, %[[STATE:[^:]*]]: memref<?xf32>, %{{[^:]*}}: memref<?xf32>, %{{.*}}: memref<8xf32>, %[[BLOCKS:.*]]: memref<?xi32>)
// PRUNED:         %[[COUNT:.*]] = memref.dim %[[BLOCKS]]
// PRUNED:         scf.for %[[I:.*]] = %{{.*}} to %[[COUNT]]
// PRUNED-COUNT-3:   memref.prefetch
// PRUNED:           %[[BLOCK:.*]] = memref.load %[[BLOCKS]][%[[I]]]
// PRUNED:           %[[NUMBER:.*]] = arith.index_cast %[[BLOCK]]
// PRUNED:           %[[FIRST:.*]] = arith.muli %[[NUMBER]]
// PRUNED:           vector.load %[[PARAMS]][%[[FIRST]]]
// PRUNED-LABEL: func.func @sumsq(
// PRUNED-SAME:    %{{.*}}: memref<f64>, %[[BLOCKS:.*]]: memref<?xi32>)

// THREADS-LABEL: @forward
// THREADS:       func.func @update({{.*}}, %{{.*}}: memref<8xf32>) {
