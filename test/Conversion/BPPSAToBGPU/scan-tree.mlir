// RUN: bppsa-opt %s --bppsa-infer-structure=loops-only --bppsa-expand-scan=whole-levels --canonicalize --cse --bppsa-bufferize --canonicalize --cse \
// RUN:     --bppsa-outline-kernels=whole-levels --bppsa-hoist-input-products --bppsa-choose-gpu-mapping --convert-bppsa-to-bgpu --bgpu-stage-copies --bgpu-allocate-shared --bgpu-insert-barriers --convert-bgpu-to-gpu --canonicalize --cse --split-input-file \
// RUN:     | FileCheck %s

// The host loops over tree levels, with one launch per level: leaves, up-sweep, roots in order,
// down-sweep, then the emitted values of all links at once.

// CHECK-LABEL: func @blelloch(
// CHECK-SAME:      %[[A:[^:]*]]: memref<?x?x4xf32>, %[[G:[^:]*]]: memref<?x4xf32>,
// CHECK:         call @copy_kernel_0(
// CHECK:         call @forall_kernel_1(
// CHECK:         scf.for
// CHECK-NOT:       func.call @
// CHECK:           func.call @forall_kernel_2(
// CHECK-NEXT:    }
// CHECK:         call @for_kernel_3(
// CHECK:         scf.for
// CHECK-NOT:       func.call @
// CHECK:           func.call @forall_kernel_4(
// CHECK-NEXT:    }
// CHECK:         call @recurrence_kernel_5(
// CHECK-NOT:     call @chain_kernel

// Each leaf is a run of one step, in reverse time order.

// CHECK-LABEL: func private @forall_kernel_1(
// CHECK-COUNT-1: gpu.launch
// CHECK-NOT:     gpu.launch

// There is one thread block per pair and row. The left factor of the first pair is the seed; every
// other pair is a matrix product. A thread keeps the row of the second factor that the product
// overwrites.

// CHECK-LABEL: func private @forall_kernel_2(
// CHECK-SAME:      %[[PAIRS:[^:]*]]: index,
// CHECK-SAME:      %[[VECTORS:[^:]*]]: memref<?x?x4xf32>, %[[ROWS:[^:]*]]: index, %[[MAPS:[^:]*]]: memref<?x?x4x4xf32>)
// CHECK:         %[[BLOCKS:.*]] = arith.muli %[[ROWS]], %[[PAIRS]]
// CHECK:         gpu.launch blocks(%[[BLOCK:[^,]*]], {{.*}}) in (%{{[^ ]*}} = %[[BLOCKS]], {{.*}} threads(%[[THREAD:[^,]*]], {{.*}} in (%{{[^ ]*}} = %c32,
// CHECK-DAG:       %[[ROW:.*]] = arith.divui %[[BLOCK]], %[[PAIRS]]
// CHECK-DAG:       %[[PAIR:.*]] = arith.remui %[[BLOCK]], %[[PAIRS]]
// CHECK:           %[[FIRST:.*]] = arith.cmpi eq, %[[PAIR]], %c0
// CHECK:           %[[RIGHT:.*]] = memref.subview %[[MAPS]]
// CHECK:           scf.if %[[FIRST]] {
// CHECK-NOT:         memref.alloca
// CHECK:             math.fma
// CHECK:             memref.store
// CHECK:           } else {
// CHECK:             %[[KEPT:.*]] = memref.alloca() : memref<4xf32>
// CHECK:             memref.store %{{.*}}, %[[KEPT]]
// CHECK:             scf.for
// CHECK:               scf.for
// CHECK:                 memref.load %[[KEPT]]
// CHECK:                 math.fma
// CHECK:               memref.store %{{.*}}, %[[RIGHT]][%[[ROW]],
// CHECK-NOT:     gpu.launch

// One block handles all roots of a row; its threads wait for the vector of the previous root.

// CHECK-LABEL: func private @for_kernel_3(
// CHECK-SAME:      %[[VECTORS:[^:]*]]: memref<?x?x4xf32>, %[[ROWS:[^:]*]]: index,
// CHECK:         gpu.launch blocks(%{{.*}}) in (%{{[^ ]*}} = %[[ROWS]],
// CHECK:           scf.for
// CHECK:             math.fma
// CHECK:             memref.store
// CHECK:             gpu.barrier
// CHECK-NOT:     gpu.launch

// The product stays in shared memory until all threads have read the vector that it overwrites.

// CHECK-LABEL: func private @forall_kernel_4(
// CHECK:         gpu.launch {{.*}} workgroup(%[[PRODUCT:[^ ]*]] : memref<4xf32, #gpu.address_space<workgroup>>)
// CHECK:           math.fma
// CHECK:           memref.store %{{.*}}, %[[PRODUCT]][
// CHECK:           gpu.barrier
// CHECK-NOT:       gpu.barrier
// CHECK:           memref.load %[[PRODUCT]][
// CHECK-LABEL: func private @recurrence_kernel_5(
func.func @blelloch(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>, %w: tensor<4x4xf32>) -> tensor<?x?x4xf32> {
  %0:2 = bppsa.chain plan <blelloch> saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>)
      captures(%w : tensor<4x4xf32>) -> (tensor<?x4xf32>) emitted(tensor<?x?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %1, %0 : vector<4xf32>, vector<4xf32>
  }
  return %0#1 : tensor<?x?x4xf32>
}

// -----

// The seeds of several states are one launch. A hybrid scan has a bounded number of levels. A
// product of diagonals is elementwise, with an offset if cotangents are injected. The cotangent
// that leaves the last link is a chain of one step.

// CHECK-LABEL: func @hybrid(
// CHECK:         %[[LOG:.*]] = arith.index_cast %{{.*}} : i64 to index
// CHECK:         %[[LEVELS:.*]] = arith.minui %[[LOG]], %c2
// CHECK:         scf.for %{{.*}} = %c0 to %[[LEVELS]]
// CHECK:         call @chain_kernel_
// CHECK-LABEL: func private @forall_kernel_0(
// CHECK-COUNT-1: gpu.launch
// CHECK-NOT:     gpu.launch
// CHECK-LABEL: func private @forall_kernel_1(
// CHECK-LABEL: func private @forall_kernel_2(
// CHECK:           } else {
// CHECK:             %[[SECOND:.*]] = memref.load %[[B:.*]][%[[ROW:.*]], %c0, %[[THREAD:.*]]]
// CHECK:             %[[OFFSET:.*]] = math.fma %[[SECOND]],
// CHECK:             memref.store %[[OFFSET]], %[[B]][%[[ROW]], %c1, %[[THREAD]]]
// CHECK:             %[[PRODUCT:.*]] = arith.mulf %[[SECOND]],
// CHECK:             memref.store %[[PRODUCT]], %[[B]][%[[ROW]], %c0, %[[THREAD]]]
func.func @hybrid(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>, %k: tensor<?x4xf32>, %s: tensor<?x?x4xf32>)
    -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %0:2 = bppsa.chain plan <hybrid, 2> saved(%a : tensor<?x?x4xf32>) seeds(%g, %k : tensor<?x4xf32>, tensor<?x4xf32>)
      injected(%s : tensor<?x?x4xf32>) inject_into [0] -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %kt: vector<4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %0, %kt : vector<4xf32>, vector<4xf32>
  }
  return %0#0, %0#1 : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// A linear scan, and a hybrid scan without levels, is a chain.

// CHECK-LABEL: func private @linear(
// CHECK-COUNT-1: call @chain_kernel_0(
// CHECK-LABEL: func private @no_levels(
// CHECK-COUNT-1: call @chain_kernel_1(
// CHECK-LABEL: func private @chain_kernel_0(
// CHECK-COUNT-1: gpu.launch
// CHECK-NOT:     gpu.launch
// CHECK-LABEL: func private @chain_kernel_1(
// CHECK-COUNT-1: gpu.launch
// CHECK-NOT:     gpu.launch
func.func private @linear(%a: memref<?x?x4xf32>, %g: memref<?x4xf32>, %out: memref<?x4xf32>) {
  bppsa.chain plan <linear> saved(%a : memref<?x?x4xf32>) seeds(%g : memref<?x4xf32>)
      into(%out : memref<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return
}
func.func private @no_levels(%a: memref<?x?x4xf32>, %g: memref<?x4xf32>, %out: memref<?x4xf32>) {
  bppsa.chain plan <hybrid, 0> saved(%a : memref<?x?x4xf32>) seeds(%g : memref<?x4xf32>)
      into(%out : memref<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return
}
