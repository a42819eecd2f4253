// RUN: bppsa-opt %s -split-input-file --bppsa-infer-structure=loops-only --bppsa-expand-scan --canonicalize --cse | FileCheck %s
// RUN: bppsa-opt %s -split-input-file --bppsa-infer-structure=loops-only --bppsa-expand-scan --remarks-filter=scan 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: bppsa-opt %s -split-input-file --bppsa-infer-structure=loops-only --bppsa-expand-scan --canonicalize --cse --bppsa-bufferize --canonicalize --cse | FileCheck %s --check-prefix=BUFFERS

// The cotangent that enters the first chunk is known, so this chunk runs as a chain directly. Then
// come transitions of the other chunks except the last, a carry from chunk to chunk, and one chain
// per chunk.

// REMARK: [Passed] ExpandScan
// REMARK-SAME: chunked:8 scan expanded to loops; work and depth are known at run time

// CHECK-LABEL: func.func @chunks
// CHECK-SAME:      %[[A:[^:]*]]: tensor<?x?x4xf32>, %[[G:[^:]*]]: tensor<?x4xf32>
// CHECK:         %[[CHUNKS:.*]] = arith.ceildivui %{{.*}}, %c8
// CHECK:         %[[LAST:.*]] = arith.subi %[[CHUNKS]], %c1
// CHECK:         %[[FIRST:.*]], %{{.*}} = bppsa.chain saved(%{{[^:]*}} : tensor<?x?x4xf32>) seeds(%[[G]] : tensor<?x4xf32>)
// CHECK:         %[[M:.*]] = scf.forall (%[[K:.*]]) = (1) to (%{{.*}}) step (1) shared_outs(%[[MS:.*]] = %{{.*}}) -> (tensor<?x?x4x4xf32>)
// CHECK-DAG:       %[[SLOT:.*]] = arith.subi %[[K]], %c1
// CHECK-DAG:       %[[STEPS:.*]] = tensor.extract_slice %[[A]][%{{.*}}, 0, 0] [8, %{{.*}}, 4] [1, 1, 1] : tensor<?x?x4xf32> to tensor<8x?x4xf32>
// CHECK-DAG:       %[[INTO:.*]] = tensor.extract_slice %[[MS]][%[[SLOT]], 0, 0, 0] [1, %{{.*}}, 4, 4]
// CHECK:           %[[J:.*]] = bppsa.transition states [4] saved(%[[STEPS]] : tensor<8x?x4xf32>)
// CHECK-SAME:          into(%[[INTO]] : tensor<?x4x4xf32>)
// CHECK:           tensor.parallel_insert_slice %[[J]] into %[[MS]][%[[SLOT]], 0, 0, 0]
// CHECK:         %[[CARRIED:.*]] = tensor.insert_slice %[[FIRST]] into %{{.*}}[1, 0, 0]
// CHECK:         %[[C:.*]] = scf.for %[[K:.*]] = %c1 to %[[LAST]] step %c1 iter_args(%[[CS:.*]] = %[[CARRIED]])
// CHECK:           %[[NEXT:.*]] = arith.addi %[[K]], %c1
// CHECK:           bppsa.apply_transition
// CHECK:           tensor.insert_slice %{{.*}} into %[[CS]][%[[NEXT]], 0, 0]
// CHECK:         scf.forall (%[[K:.*]]) = (1) to (%{{.*}}) step (1)
// CHECK:           bppsa.chain saved(
// CHECK-SAME:          into(

// BUFFERS-LABEL: func.func @chunks
// BUFFERS-COUNT-4: memref.alloc(
// BUFFERS:         bppsa.chain
// BUFFERS-NOT:     memref.{{alloc|copy}}
// BUFFERS:         scf.forall
// BUFFERS-NOT:       memref.{{alloc|copy}}
// BUFFERS:         memref.copy
// BUFFERS-NEXT:    scf.for
// BUFFERS-NOT:       memref.{{alloc|copy}}
// BUFFERS:         scf.forall
// BUFFERS-NOT:       memref.{{alloc|copy}}
// BUFFERS:           }
// BUFFERS:         return
func.func @chunks(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>, %w: tensor<4x4xf32>) -> (tensor<?x4xf32>, tensor<?x?x4xf32>) {
  %0, %d = bppsa.chain plan <chunked, 8> saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>)
      captures(%w : tensor<4x4xf32>) -> (tensor<?x4xf32>) emitted(tensor<?x?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %1, %0 : vector<4xf32>, vector<4xf32>
  }
  return %0, %d : tensor<?x4xf32>, tensor<?x?x4xf32>
}

// -----

// Packed batch blocks and chunks run in parallel, and a diagonal is one column.

// CHECK-LABEL: func.func @packed_chunks
// CHECK:         bppsa.chain lanes 16
// CHECK:         scf.forall (%[[BLOCK:.*]], %[[K:.*]]) = (0, 1) to
// CHECK:           bppsa.transition diagonal lanes 16 states [4] saved(%{{.*}} : tensor<1x8x4x16xf32>)
// CHECK-SAME:          -> tensor<1x1x4x16xf32>
// CHECK:         scf.forall (%[[BLOCK:.*]]) in
// CHECK:           scf.for
// CHECK:             bppsa.apply_transition diagonal lanes 16
// CHECK:         scf.forall (%[[BLOCK:.*]], %[[K:.*]]) = (0, 1) to
// CHECK:           bppsa.chain lanes 16

// BUFFERS-LABEL: func.func @packed_chunks
// BUFFERS:         scf.forall
// BUFFERS-NOT:       memref.alloc
// BUFFERS:         return
func.func @packed_chunks(%a: tensor<?x?x4x16xf32>, %g: tensor<?x4x16xf32>) -> tensor<?x4x16xf32> {
  %0 = bppsa.chain plan <chunked, 8> lanes 16 saved(%a : tensor<?x?x4x16xf32>) seeds(%g : tensor<?x4x16xf32>)
      -> (tensor<?x4x16xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return %0 : tensor<?x4x16xf32>
}

// -----

// A tree processes batch blocks one after the other. Leaves are transitions of one step; the
// up-sweep composes and the down-sweep applies. Emitted values are computed for all steps at once.
// The last link is a chain of one step if the cotangent of the initial state is used.

// CHECK-LABEL: func.func @tree
// CHECK:         scf.for %{{.*}} = %c0 to %{{.*}} step %c1 iter_args
// CHECK:           bufferization.alloc_tensor(%{{.*}}) : tensor<1x?x5x4x16xf32>
// CHECK:           bufferization.alloc_tensor(%{{.*}}) : tensor<1x?x4x16xf32>
// CHECK:           scf.forall
// CHECK:             bppsa.transition lanes 16 states [4] saved(%{{[^:]*}} : tensor<1x1x4x16xf32>) injected(
// CHECK-SAME:            -> tensor<1x5x4x16xf32>
// CHECK:           scf.for
// CHECK:             bppsa.apply_transition
// CHECK:             scf.forall
// CHECK:               bppsa.compose_transitions lanes 16 %{{[^,]*}}, %[[R:[^ ]*]] into %[[R]]
// CHECK:           scf.for
// CHECK:             bppsa.apply_transition
// CHECK:           scf.for
// CHECK:             scf.forall
// CHECK:               bppsa.apply_transition
// CHECK:               tensor.parallel_insert_slice
// CHECK-NEXT:          tensor.parallel_insert_slice
// CHECK:           bppsa.recurrence lanes 16 sequences(
// CHECK:           bppsa.chain lanes 16 saved(%{{.*}} : tensor<1x1x4x16xf32>)

// Each level works on two arrays, and its loops allocate only vectors on the stack of each thread.

// BUFFERS-LABEL: func.func @tree
// BUFFERS:         scf.for
// BUFFERS:           memref.alloc(%{{.*}}) {{.*}} : memref<1x?x5x4x16xf32>
// BUFFERS:           memref.alloc(%{{.*}}) {{.*}} : memref<1x?x4x16xf32>
// BUFFERS-NOT:       memref.alloc(
// BUFFERS:           scf.forall
// BUFFERS:           bppsa.compose_transitions
// BUFFERS-NOT:       memref.alloc(
// BUFFERS:             memref.alloca() {alignment = 64 : i64} : memref<1x4x16xf32>
// BUFFERS-NOT:       memref.alloc(
// BUFFERS:         return
func.func @tree(%a: tensor<?x?x4x16xf32>, %s: tensor<?x?x4x16xf32>, %g: tensor<?x4x16xf32>, %w: tensor<4x4xf32>) -> (tensor<?x4x16xf32>, tensor<?x?x4x16xf32>) {
  %0, %d = bppsa.chain plan <blelloch> lanes 16 saved(%a : tensor<?x?x4x16xf32>) seeds(%g : tensor<?x4x16xf32>)
      injected(%s : tensor<?x?x4x16xf32>) inject_into [0] captures(%w : tensor<4x4xf32>)
      -> (tensor<?x4x16xf32>) emitted(tensor<?x?x4x16xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %1, %0 : vector<4xf32>, vector<4xf32>
  }
  return %0, %d : tensor<?x4x16xf32>, tensor<?x?x4x16xf32>
}

// -----

// The remark includes the number of steps if it is static; the code is the same.

// REMARK: blelloch scan of 7 steps expanded to loops: 2 compose, 7 apply, depth 5

// CHECK-LABEL: func.func @static
// CHECK:         scf.forall
// CHECK:           bppsa.transition
func.func @static(%a: tensor<7x8x2xf32>, %g: tensor<8x2xf32>) -> tensor<8x2xf32> {
  %0 = bppsa.chain plan <blelloch> saved(%a : tensor<7x8x2xf32>) seeds(%g : tensor<8x2xf32>)
      -> (tensor<8x2xf32>) {
  ^bb0(%at: vector<2xf32>, %gt: vector<2xf32>):
    %0 = arith.mulf %at, %gt : vector<2xf32>
    bppsa.yield %0 : vector<2xf32>
  }
  return %0 : tensor<8x2xf32>
}

// -----

// States that do not mix form one diagonal. Exchanged states do not, although each block of the
// matrix is diagonal.

// CHECK-LABEL: func.func @two_states
// CHECK:         bppsa.transition diagonal states [4, 3]
// CHECK-SAME:        -> tensor<?x2x7xf32>
// CHECK-LABEL: func.func @exchanged
// CHECK:         bppsa.transition states [4, 4]
// CHECK-SAME:        -> tensor<?x8x8xf32>
func.func @two_states(%f: tensor<?x?x4xf32>, %i: tensor<?x?x3xf32>, %s: tensor<?x?x3xf32>,
    %c: tensor<?x4xf32>, %n: tensor<?x3xf32>) -> (tensor<?x4xf32>, tensor<?x3xf32>) {
  %0:2 = bppsa.chain plan <blelloch> saved(%f, %i : tensor<?x?x4xf32>, tensor<?x?x3xf32>)
      seeds(%c, %n : tensor<?x4xf32>, tensor<?x3xf32>) injected(%s : tensor<?x?x3xf32>) inject_into [1]
      -> (tensor<?x4xf32>, tensor<?x3xf32>) {
  ^bb0(%ft: vector<4xf32>, %it: vector<3xf32>, %ct: vector<4xf32>, %nt: vector<3xf32>):
    %0 = arith.mulf %ft, %ct : vector<4xf32>
    %1 = arith.mulf %it, %nt : vector<3xf32>
    %2 = arith.subf %nt, %1 : vector<3xf32>
    bppsa.yield %0, %2 : vector<4xf32>, vector<3xf32>
  }
  return %0#0, %0#1 : tensor<?x4xf32>, tensor<?x3xf32>
}
func.func @exchanged(%f: tensor<?x?x4xf32>, %c: tensor<?x4xf32>, %n: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %0:2 = bppsa.chain plan <blelloch> saved(%f : tensor<?x?x4xf32>) seeds(%c, %n : tensor<?x4xf32>, tensor<?x4xf32>)
      -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  ^bb0(%ft: vector<4xf32>, %ct: vector<4xf32>, %nt: vector<4xf32>):
    %0 = arith.mulf %ft, %nt : vector<4xf32>
    %1 = arith.mulf %ft, %ct : vector<4xf32>
    bppsa.yield %0, %1 : vector<4xf32>, vector<4xf32>
  }
  return %0#0, %0#1 : tensor<?x4xf32>, tensor<?x4xf32>
}
