// RUN: bppsa-opt %s --bppsa-infer-structure=loops-only --bppsa-expand-scan=whole-levels --canonicalize --cse --split-input-file | FileCheck %s
// RUN: bppsa-opt %s --bppsa-infer-structure=loops-only --bppsa-expand-scan=whole-levels --canonicalize --cse --bppsa-bufferize --canonicalize --cse \
// RUN:     --bppsa-outline-kernels=whole-levels --split-input-file | FileCheck %s --check-prefix=KERNELS

// The pairs of a level are one loop. The left block of the first pair is a vector, which leaves the
// matrix of the right block unchanged. The other pairs have matrices, which leave the vector
// unchanged.

// CHECK-LABEL: func @tree(
// CHECK:         bppsa.transition
// CHECK:         scf.for %
// CHECK-NOT:       bppsa.
// CHECK:           scf.forall (%[[PAIR:.*]]) in (%{{.*}}) shared_outs(%[[M:.*]] = %{{.*}}, %[[V:.*]] = %{{.*}})
// CHECK:             %[[FIRST:.*]] = arith.cmpi eq, %[[PAIR]], %c0
// CHECK:             %[[VECTOR:.*]] = tensor.extract_slice %[[V]]
// CHECK:             %[[MATRIX:.*]] = tensor.extract_slice %[[M]]
// CHECK:             %[[NEXT:.*]]:2 = scf.if %[[FIRST]]
// CHECK:               %[[APPLIED:.*]] = bppsa.apply_transition %[[MATRIX]], %{{.*}} into %[[VECTOR]]
// CHECK:               scf.yield %[[APPLIED]], %[[MATRIX]]
// CHECK:             } else {
// CHECK:               %[[COMPOSED:.*]] = bppsa.compose_transitions %{{.*}}, %[[MATRIX]] into %[[MATRIX]]
// CHECK:               scf.yield %[[VECTOR]], %[[COMPOSED]]
// CHECK:             tensor.parallel_insert_slice %[[NEXT]]#0 into %[[V]]
// CHECK:             tensor.parallel_insert_slice %[[NEXT]]#1 into %[[M]]

// After bufferization, the up-sweep copies nothing, and each level is a kernel.

// KERNELS-LABEL: func @tree(
// KERNELS:         call @forall_kernel_1(
// KERNELS:         scf.for
// KERNELS:           func.call @forall_kernel_2(
// KERNELS:         call @for_kernel_3(
// KERNELS:         scf.for
// KERNELS:           func.call @forall_kernel_4(
// KERNELS-LABEL: func private @forall_kernel_2(
// KERNELS-NOT:     memref.copy
// KERNELS-NOT:     memref.alloc
// KERNELS-LABEL: func private @for_kernel_3(
// KERNELS-NOT:     memref.copy
// KERNELS-NOT:     memref.alloc
// KERNELS-LABEL: func private @forall_kernel_4(
func.func @tree(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>, %w: tensor<4x4xf32>) -> tensor<?x?x4xf32> {
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

// A loop over rows concatenates the seeds of two states.

// CHECK-LABEL: func @two_states(
// CHECK-SAME:      %{{[^:]*}}: tensor<?x?x4xf32>, %[[G:[^:]*]]: tensor<?x4xf32>, %[[K:[^:]*]]: tensor<?x4xf32>)
// CHECK:         scf.forall (%[[ROW:.*]]) in (%{{.*}})
// CHECK-DAG:       %[[FIRST:.*]] = tensor.extract_slice %[[G]][%[[ROW]], 0] [1, 4] [1, 1]
// CHECK-DAG:       %[[SECOND:.*]] = tensor.extract_slice %[[K]][%[[ROW]], 0] [1, 4] [1, 1]
// CHECK:           tensor.parallel_insert_slice %[[FIRST]] into %{{[^ ]*}}[%{{.*}}, %[[ROW]], 0] [1, 1, 4]
// CHECK:           tensor.parallel_insert_slice %[[SECOND]] into %{{[^ ]*}}[%{{.*}}, %[[ROW]], 4] [1, 1, 4]
// KERNELS-LABEL: func @two_states(
func.func @two_states(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>, %k: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0:2 = bppsa.chain plan <hybrid, 1> saved(%a : tensor<?x?x4xf32>) seeds(%g, %k : tensor<?x4xf32>, tensor<?x4xf32>)
      -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %kt: vector<4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %kt, %0 : vector<4xf32>, vector<4xf32>
  }
  return %0#0 : tensor<?x4xf32>
}

// -----

// The transitions of all chunks except the last are one loop. The carries of each row are a second
// loop that starts from the seed, and the chunks of all rows are a third.

// CHECK-LABEL: func @chunks(
// CHECK-SAME:      %[[A:[^:]*]]: tensor<?x?x4xf32>, %[[G:[^:]*]]: tensor<?x4xf32>
// CHECK:         %[[CHUNKS:.*]] = arith.ceildivui %{{.*}}, %c8
// CHECK:         %[[M:.*]] = scf.forall (%[[CHUNK:.*]]) in (%{{.*}}) shared_outs(%[[INTO:.*]] = %{{.*}})
// CHECK:           bppsa.transition by_rows states [4] saved(%{{.*}} : tensor<8x?x4xf32>)
// CHECK:           tensor.parallel_insert_slice %{{.*}} into %[[INTO]][%[[CHUNK]], 0, 0, 0] [1, %{{.*}}, 4, 4]
// CHECK:         scf.forall (%[[ROW:.*]]) in (%{{.*}}) shared_outs(%[[CARRIES:.*]] = %{{.*}})
// CHECK:           %[[SEED:.*]] = tensor.extract_slice %[[G]][%[[ROW]], 0] [1, 4]
// CHECK:           tensor.insert_slice %[[SEED]] into %{{.*}}[0, 0, 0]
// CHECK:           scf.for %[[K:.*]] = %c0 to
// CHECK:             tensor.extract_slice %[[M]][%[[K]], %[[ROW]], 0, 0] [1, 1, 4, 4]
// CHECK:             bppsa.apply_transition by_rows
// CHECK:         scf.forall (%[[ROW:.*]], %[[CHUNK:.*]]) in (%{{.*}}, %{{.*}})
// CHECK:           %[[A_K:.*]] = tensor.extract_slice %[[A]][%{{.*}}, %[[ROW]], 0] [%{{.*}}, 1, 4]
// CHECK:           bppsa.chain saved(%[[A_K]] : tensor<?x1x4xf32>)
// CHECK-NOT:     bppsa.reduce_sums

// The cotangent that leaves the chunks is unused and stored in temporary memory.

// KERNELS-LABEL: func @chunks(
// KERNELS-COUNT-2: memref.alloc(
// KERNELS-NOT:     memref.alloc(
// KERNELS:         call @forall_kernel_0(
// KERNELS:         call @forall_kernel_1(
// KERNELS:         memref.alloc(
// KERNELS-NOT:     memref.alloc(
// KERNELS:         call @forall_kernel_2(
// KERNELS-NOT:     call @forall
// KERNELS-LABEL: func private @forall_kernel_1(
// KERNELS-NOT:     memref.alloc
// KERNELS:         memref.copy
// KERNELS:         scf.for
// KERNELS-NOT:     memref.copy
// KERNELS-LABEL: func private @forall_kernel_2(
// KERNELS-NOT:     memref.copy
// KERNELS:         %[[NOBODY:.*]] = memref.alloca() {{.*}} : memref<1x4xf32>
// KERNELS-NOT:     memref.copy
// KERNELS:         into(%[[NOBODY]],
func.func @chunks(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>, %w: tensor<4x4xf32>) -> tensor<?x?x4xf32> {
  %0:2 = bppsa.chain plan <chunked, 8> saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>)
      captures(%w : tensor<4x4xf32>) -> (tensor<?x4xf32>) emitted(tensor<?x?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %1, %0 : vector<4xf32>, vector<4xf32>
  }
  return %0#1 : tensor<?x?x4xf32>
}

// -----

// Each run has its own partial sums. 64 chunks of 16 rows would have 1024 of them, but partial sums
// of more than 8192 elements are limited to 512, so a run has two chunks. If a thread does not hold
// a whole column, columns are contiguous.

// CHECK-LABEL: func @sums(
// CHECK-SAME:      %[[A:[^:]*]]: tensor<128x16x24xf32>, %[[G:[^:]*]]: tensor<16x24xf32>, %[[X:[^:]*]]: tensor<128x16x400xf32>
// CHECK:         scf.forall (%{{.*}}) in (63)
// CHECK:           bppsa.transition states [24]
// CHECK:           bppsa.apply_transition %
// CHECK:         %[[PARTS:.*]] = bufferization.alloc_tensor() : tensor<32x16x9624xf32>
// CHECK:         scf.forall (%[[ROW:.*]], %[[INDEX:.*]]) in (16, 32)
// CHECK:           %[[CHUNK:.*]] = arith.muli %[[INDEX]], %c2
// CHECK:           %[[SEED:.*]] = tensor.extract_slice %{{.*}}[%[[CHUNK]], %[[ROW]], 0] [1, 1, 24]
// CHECK:           bppsa.chain saved(%{{.*}}) seeds(%[[SEED]] : tensor<1x24xf32>)
// CHECK-SAME:          sum_with [0, -1] flat_sums
// CHECK:           tensor.parallel_insert_slice %{{.*}} into %{{[^ ]*}}[%[[INDEX]], %[[ROW]], 0] [1, 1, 9624] [1, 1, 1] : tensor<9624xf32>
// CHECK:         %[[SUMS:.*]]:2 = bppsa.reduce_sums %{{.*}} : tensor<32x16x9624xf32> -> tensor<24x400xf32>, tensor<24xf32>
// CHECK:         return %[[SUMS]]#0, %[[SUMS]]#1
// KERNELS-LABEL: func @sums(
// KERNELS:         call @reduce_sums_kernel_
func.func @sums(%a: tensor<128x16x24xf32>, %g: tensor<16x24xf32>, %x: tensor<128x16x400xf32>, %w: tensor<24x24xf32>)
    -> (tensor<24x400xf32>, tensor<24xf32>) {
  %0:3 = bppsa.chain plan <chunked, 2> saved(%a : tensor<128x16x24xf32>) seeds(%g : tensor<16x24xf32>)
      factors(%x : tensor<128x16x400xf32>) sum_with [0, -1] captures(%w : tensor<24x24xf32>)
      -> (tensor<16x24xf32>) sums(tensor<24x400xf32>, tensor<24xf32>) {
  ^bb0(%at: vector<24xf32>, %gt: vector<24xf32>, %wc: vector<24x24xf32>):
    %0 = arith.mulf %at, %gt : vector<24xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<24x24xf32>, vector<24xf32> -> vector<24xf32>
    bppsa.yield %1, %0, %0 : vector<24xf32>, vector<24xf32>, vector<24xf32>
  }
  return %0#1, %0#2 : tensor<24x400xf32>, tensor<24xf32>
}

// -----

// The runtime chooses the chunk length from the sizes of the chain: about the square root of T, or
// longer for large batches, between 8 and 64.

// CHECK-LABEL: func @length_of_the_run_time(
// CHECK-SAME:      %[[A:[^:]*]]: tensor<?x?x4xf32>
// CHECK-DAG:     %[[T:.*]] = tensor.dim %[[A]], %c0
// CHECK-DAG:     %[[SAMPLES:.*]] = tensor.dim %[[A]], %c1
// CHECK:         %[[STEPS:.*]] = arith.sitofp
// CHECK:         %[[PART:.*]] = arith.mulf %[[STEPS]], %{{.*}} : f64
// CHECK:         %[[ROOT:.*]] = math.sqrt %[[PART]] : f64
// CHECK:         arith.fptosi %[[ROOT]]
// CHECK:         %[[COUNT:.*]] = arith.sitofp
// CHECK:         %[[POSITIONS:.*]] = arith.mulf %[[STEPS]], %[[COUNT]] : f64
// CHECK:         %[[WORK:.*]] = arith.mulf %[[POSITIONS]], %{{.*}} : f64
// CHECK:         arith.fptosi %[[WORK]]
// CHECK:         %[[LONGER:.*]] = arith.maxui
// CHECK:         %[[LONG:.*]] = arith.maxui %[[LONGER]], %c8
// CHECK:         %[[CHUNK:.*]] = arith.minui %[[LONG]], %c64
// CHECK:         arith.ceildivui %[[T]], %[[CHUNK]]
// KERNELS-LABEL: func @length_of_the_run_time(
func.func @length_of_the_run_time(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = bppsa.chain plan <chunked> saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>)
      -> (tensor<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return %0 : tensor<?x4xf32>
}
