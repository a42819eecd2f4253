// RUN: bppsa-opt %s --bppsa-infer-structure=loops-only --bppsa-expand-scan=whole-levels --canonicalize --cse --split-input-file | FileCheck %s
// RUN: bppsa-opt %s --bppsa-infer-structure=loops-only --bppsa-expand-scan=whole-levels --canonicalize --cse --bppsa-bufferize --canonicalize --cse \
// RUN:     --bppsa-outline-kernels=whole-levels --split-input-file | FileCheck %s --check-prefix=KERNELS

// The pairs of a level are one loop: the first one has a vector for its left block, which does not change the matrix of
// its right one, and the others have matrices, which leave the vector as it is.

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

// In memory nothing is copied on the way up, and each level is a kernel.

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
  %0:2 = bppsa.chain plan <blelloch> saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>) inject_into []
      captures(%w : tensor<4x4xf32>) -> (tensor<?x4xf32>) emitted(tensor<?x?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %1, %0 : vector<4xf32>, vector<4xf32>
  }
  return %0#1 : tensor<?x?x4xf32>
}

// -----

// The seeds of two states are put side by side by one loop over rows.

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
      inject_into [] -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %kt: vector<4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %kt, %0 : vector<4xf32>, vector<4xf32>
  }
  return %0#0 : tensor<?x4xf32>
}

// -----

// The transitions of all chunks but the last are one loop, the carries of each row another one, which begins with its
// seed, and the chunks of all rows the third.

// CHECK-LABEL: func @chunks(
// CHECK-SAME:      %[[A:[^:]*]]: tensor<?x?x4xf32>, %[[G:[^:]*]]: tensor<?x4xf32>
// CHECK:         %[[CHUNKS:.*]] = arith.ceildivui %{{.*}}, %c8
// CHECK:         %[[M:.*]] = scf.forall (%[[CHUNK:.*]]) in (%{{.*}}) shared_outs(%[[INTO:.*]] = %{{.*}})
// CHECK:           bppsa.transition states [4] saved(%{{.*}} : tensor<8x?x4xf32>)
// CHECK:           tensor.parallel_insert_slice %{{.*}} into %[[INTO]][%[[CHUNK]], 0, 0, 0] [1, %{{.*}}, 4, 4]
// CHECK:         scf.forall (%[[ROW:.*]]) in (%{{.*}}) shared_outs(%[[CARRIES:.*]] = %{{.*}})
// CHECK:           %[[SEED:.*]] = tensor.extract_slice %[[G]][%[[ROW]], 0] [1, 4]
// CHECK:           tensor.insert_slice %[[SEED]] into %{{.*}}[0, 0, 0]
// CHECK:           scf.for %[[K:.*]] = %c0 to
// CHECK:             tensor.extract_slice %[[M]][%[[K]], %[[ROW]], 0, 0] [1, 1, 4, 4]
// CHECK:             bppsa.apply_transition
// CHECK:         scf.forall (%[[ROW:.*]], %[[CHUNK:.*]]) in (%{{.*}}, %{{.*}})
// CHECK:           %[[A_K:.*]] = tensor.extract_slice %[[A]][%{{.*}}, %[[ROW]], 0] [%{{.*}}, 1, 4]
// CHECK:           bppsa.chain saved(%[[A_K]] : tensor<?x1x4xf32>)
// CHECK-NOT:     bppsa.reduce_partials

// Nobody reads what leaves the chunks: it has memory of its own, which is not kept.

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
  %0:2 = bppsa.chain plan <chunked, 8> saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>) inject_into []
      captures(%w : tensor<4x4xf32>) -> (tensor<?x4xf32>) emitted(tensor<?x?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %1, %0 : vector<4xf32>, vector<4xf32>
  }
  return %0#1 : tensor<?x?x4xf32>
}
