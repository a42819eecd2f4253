// RUN: bppsa-opt %s --bppsa-infer-structure=loops-only --bppsa-expand-scan=whole-levels --canonicalize --cse --bppsa-bufferize --canonicalize --cse \
// RUN:     --bppsa-outline-kernels=whole-levels --bppsa-hoist-input-products --bppsa-choose-gpu-mapping --convert-bppsa-to-bgpu --bgpu-stage-copies --bgpu-allocate-shared --bgpu-insert-barriers --convert-bgpu-to-gpu --canonicalize --cse --split-input-file \
// RUN:     | FileCheck %s

// A chunked scan has three launches. The first has a block for each column tile (here one) of the
// map of each chunk except the last. The second has a block for the carries of each sample and
// prefetches maps. The third has a block for the run of each chunk from its carry. See columns.mlir
// and column-tiles.mlir for runs of columns.

// CHECK-LABEL: func @scan(
// CHECK-COUNT-2: memref.alloc(
// CHECK:         call @forall_kernel_0(
// CHECK:         call @forall_kernel_1(
// CHECK:         call @forall_kernel_2(
// CHECK-NOT:     call @forall
// CHECK-LABEL: func private @forall_kernel_0(
// CHECK-COUNT-1: gpu.launch
// CHECK-NOT:     gpu.launch

// CHECK-LABEL: func private @forall_kernel_1(
// CHECK-SAME:      %[[SAMPLES:[^:]*]]: index, %[[CARRIES:[^:]*]]: memref<?x?x21xf32>, %[[CHUNKS:[^:]*]]: index, %[[G:[^:]*]]: memref<?x21xf32>, %[[MAPS:[^:]*]]: memref<?x?x21x21xf32>, %[[LAST:[^:]*]]: index)
// CHECK:         %[[VECTORS:.*]] = memref.collapse_shape %[[MAPS]] {{\[\[}}0], [1], [2, 3]]
// CHECK:         gpu.launch blocks(%[[ROW:[^,]*]], {{.*}}) in (%{{[^ ]*}} = %[[SAMPLES]], {{.*}} threads(%[[UNIT:[^,]*]], {{.*}} workgroup(%[[STATE:[^ ]*]] : memref<2x56xf32, {{.*}}, %[[RING:[^ ]*]] : memref<8x448xf32,
// CHECK-NOT:       arith.divui %[[ROW]]
// CHECK:           memref.load
// CHECK:           memref.store %{{.*}}, %[[STATE]][%c0, %[[UNIT]]]
// CHECK:           %[[FLAT_MAPS:.*]] = memref.reinterpret_cast %[[VECTORS]]
// CHECK:           nvvm.cp.async.wait.group 6
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      scf.for %[[I:.*]] = %c0 to %[[LAST]] step %c1 {
// CHECK:             %[[SLOT:.*]] = arith.andi %[[I]], %c1
// CHECK-COUNT-21:    memref.load %[[STATE]][%[[SLOT]],
// CHECK-NOT:         math.fma
// CHECK:             nvgpu.device_async_copy %[[FLAT_MAPS]]
// CHECK-COUNT-21:    math.fma
// CHECK:             %[[OTHER:.*]] = arith.xori %[[SLOT]], %c1
// CHECK-NEXT:        memref.store %[[NEXT:.*]], %[[STATE]][%[[OTHER]], %[[UNIT]]]
// CHECK:             scf.if
// CHECK-NEXT:          memref.store %[[NEXT]], %
// CHECK:             nvvm.cp.async.wait.group 6
// CHECK-NEXT:        gpu.barrier
// CHECK-NEXT:      }

// CHECK-LABEL: func private @forall_kernel_2(
// CHECK:         %[[BLOCKS:.*]] = arith.muli
// CHECK:         gpu.launch blocks(%{{.*}}) in (%{{[^ ]*}} = %[[BLOCKS]],
// CHECK:           scf.for
// CHECK:             nvgpu.device_async_copy
// CHECK-NOT:     gpu.launch
// CHECK:         func private @copy_kernel
func.func @scan(%a: tensor<?x?x21xf32>, %g: tensor<?x21xf32>, %w: tensor<21x21xf32>) -> tensor<?x?x21xf32> {
  %0:2 = bppsa.chain plan <chunked, 32> saved(%a : tensor<?x?x21xf32>) seeds(%g : tensor<?x21xf32>)
      captures(%w : tensor<21x21xf32>) -> (tensor<?x21xf32>) emitted(tensor<?x?x21xf32>) {
  ^bb0(%at: vector<21xf32>, %gt: vector<21xf32>, %wc: vector<21x21xf32>):
    %0 = arith.mulf %at, %gt : vector<21xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<21x21xf32>, vector<21xf32> -> vector<21xf32>
    bppsa.yield %1, %0 : vector<21xf32>, vector<21xf32>
  }
  return %0#1 : tensor<?x?x21xf32>
}

// -----

// The injected cotangent is one more column, with its own launch. A diagonal structure needs one
// column, initialized with ones. Only the last launch emits.

// CHECK-LABEL: func @diagonal_injected(
// CHECK:         memref.alloc({{.*}}) {{.*}} : memref<?x?x2x4xf32>
// CHECK-LABEL: func private @forall_kernel_0(
// CHECK-COUNT-2: gpu.launch
// CHECK-NOT:     gpu.launch
// CHECK-LABEL: func private @forall_kernel_1(
// CHECK-COUNT-1: gpu.launch
// CHECK-NOT:     gpu.launch
// CHECK-LABEL: func private @forall_kernel_2(
// CHECK-COUNT-1: gpu.launch
// CHECK-NOT:     gpu.launch
// CHECK:         func private @copy_kernel
func.func @diagonal_injected(%a: tensor<?x?x4xf32>, %s: tensor<?x?x4xf32>, %g: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x?x4xf32>) {
  %0:2 = bppsa.chain plan <chunked, 4> saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>) injected(%s : tensor<?x?x4xf32>)
      inject_into [0] -> (tensor<?x4xf32>) emitted(tensor<?x?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %0, %gt : vector<4xf32>, vector<4xf32>
  }
  return %0#0, %0#1 : tensor<?x4xf32>, tensor<?x?x4xf32>
}

// -----

// Threads that run chunks keep sums in registers and add them to partial sums in memory at the end
// of a run. One launch adds the partial sums.

// CHECK-LABEL: func private @forall_kernel_2(
// CHECK:         gpu.launch
// CHECK:           %[[PART:.*]] = memref.subview %{{.*}} [1, 1, 12] [1, 1, 1] : memref<?x?x12xf32> to memref<12xf32,
// CHECK:           memref.store %{{.*}}, %[[PART]]
// CHECK:           scf.for
// CHECK:             math.fma
// CHECK:           memref.load %[[PART]]
// CHECK:           memref.store %{{.*}}, %[[PART]]
// CHECK-NOT:     gpu.launch
// CHECK-LABEL: func private @reduce_sums_kernel_
// CHECK-SAME:      %[[PARTS:[^:]*]]: memref<?x?x12xf32>, %[[W:[^:]*]]: memref<4x2xf32>, %[[B:[^:]*]]: memref<4xf32>)
// CHECK:         %[[COUNT:.*]] = arith.muli
// CHECK:         %[[VECTORS:.*]] = memref.collapse_shape %[[PARTS]] {{\[\[}}0, 1], [2]]
// CHECK:         gpu.launch
// CHECK:           scf.for %{{.*}} to %[[COUNT]] step %c16
// CHECK:             memref.load %[[VECTORS]]
// CHECK:           memref.store %{{.*}}, %[[W]]
// CHECK:           memref.store %{{.*}}, %[[B]]
// CHECK-NOT:     gpu.launch
// CHECK:         func private @copy_kernel
func.func @sums(%a: tensor<?x?x4xf32>, %x: tensor<?x?x2xf32>, %g: tensor<?x4xf32>) -> (tensor<4x2xf32>, tensor<4xf32>) {
  %0:3 = bppsa.chain plan <chunked, 4> saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>)
      factors(%x : tensor<?x?x2xf32>) sum_with [0, -1] -> (tensor<?x4xf32>) sums(tensor<4x2xf32>, tensor<4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %0, %0, %0 : vector<4xf32>, vector<4xf32>, vector<4xf32>
  }
  return %0#1, %0#2 : tensor<4x2xf32>, tensor<4xf32>
}
