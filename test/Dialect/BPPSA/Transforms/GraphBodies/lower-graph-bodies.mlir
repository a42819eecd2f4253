// RUN: bppsa-opt %s --bppsa-lower-graph-bodies --canonicalize --cse | FileCheck %s
// RUN: bppsa-opt %s --bppsa-lower-graph-bodies --canonicalize --cse --bppsa-separate-destinations \
// RUN:     --eliminate-empty-tensors --bppsa-bufferize --canonicalize --cse | FileCheck %s --check-prefix=MEMORY

// RUN: bppsa-opt %s --bppsa-lower-graph-bodies=row-blocks=false --canonicalize --cse | FileCheck %s --check-prefix=WHOLE

// Without blocks, rows are not distributed over threads.
// WHOLE-LABEL: func.func @step
// WHOLE: %[[ROWS:.*]] = tensor.dim %arg0, %c1
// WHOLE: scf.for
// WHOLE: tensor.extract_slice %{{.*}} [1, %[[ROWS]], 3] [1, 1, 1] : tensor<?x?x3xf32> to tensor<?x3xf32>
// WHOLE-NOT: scf.forall

// CHECK-DAG: #[[$BLOCKS:.*]] = affine_map<()[s0] -> (s0 ceildiv 8)>

// A state is read from its trajectory. Values shared by all samples are computed once, before the
// loop.
// CHECK-LABEL: func.func @step
// CHECK: %[[SHARED:.*]] = linalg.generic {{.*}} ins(%arg2 : tensor<3x3xf32>)
// CHECK: scf.forall (%{{.*}}) in (%{{.*}}) shared_outs(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (tensor<?x?x3xf32>, tensor<?x?x3xf32>)
// CHECK: scf.for %[[T:.*]] = {{.*}} iter_args(%[[TRAJECTORY:.*]] = %{{.*}}, %[[OUT:.*]] = %{{.*}})
// CHECK: %[[H:.*]] = tensor.extract_slice %[[TRAJECTORY]][%[[T]], 0, 0] [1, %{{.*}}, 3] [1, 1, 1] : tensor<?x?x3xf32> to tensor<?x3xf32>
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[SHARED]], %[[H]] : tensor<3x3xf32>, tensor<?x3xf32>)

// The loop neither creates nor copies arrays of the size of a sequence.
// MEMORY-LABEL: func.func @step
// MEMORY: scf.for
// MEMORY-NOT: alloc(%{{.*}}, %{{.*}})
// MEMORY-NOT: memref<?x?x{{.*}}> to memref<?x?x3xf32>
// MEMORY-NOT: memref.copy {{.*}} : memref<?x?x
// MEMORY: memref.dealloc %{{.*}} : memref<3x3xf32>
func.func @step(%x: tensor<?x?x3xf32>, %h: tensor<?x3xf32>, %w: tensor<3x3xf32>) -> (tensor<?x?x3xf32>, tensor<?x?x3xf32>) {
  %0:2 = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) initial(%h : tensor<?x3xf32>)
      captures(%w : tensor<3x3xf32>) -> (tensor<?x?x3xf32>) outputs(tensor<?x?x3xf32>) {
  ^bb0(%xt: tensor<3xf32>, %ht: tensor<3xf32>, %wc: tensor<3x3xf32>):
    %1 = math.exp %wc : tensor<3x3xf32>
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<3xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
    %2 = linalg.matvec ins(%1, %ht : tensor<3x3xf32>, tensor<3xf32>) outs(%z : tensor<3xf32>) -> tensor<3xf32>
    %3 = arith.addf %2, %xt : tensor<3xf32>
    %4 = math.tanh %3 : tensor<3xf32>
    bppsa.yield %4, %3 : tensor<3xf32>, tensor<3xf32>
  }
  return %0#0, %0#1 : tensor<?x?x3xf32>, tensor<?x?x3xf32>
}

// Rows become one more reduction dimension. No array holds an outer product per sample; there is
// one sum per block of 8 samples, and blocks are added in order.
// CHECK-LABEL: func.func @sum
// CHECK: affine.apply #[[$BLOCKS]]
// CHECK: tensor.empty(%{{.*}}) : tensor<?x3x3xf32>
// CHECK: scf.for {{.*}} iter_args(%[[G:.*]] = %{{.*}}, %[[SUM:.*]] = %{{.*}})
// CHECK-NOT: tensor<?x3x3xf32>
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction", "parallel", "parallel"]} ins({{.*}} : tensor<?x3xf32>, tensor<?x3xf32>) outs(%[[SUM]] : tensor<3x3xf32>)
// CHECK-NOT: tensor<?x3x3xf32>
// CHECK: scf.forall.in_parallel
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction", "parallel", "parallel"]} ins({{.*}} : tensor<?x3x3xf32>)
// CHECK: return

// MEMORY-LABEL: func.func @sum
// MEMORY: scf.for %
// MEMORY-NOT: memref.alloc
// MEMORY: linalg.generic {{.*}}"reduction", {{.*}} outs({{.*}} : memref<3x3xf32, strided
// MEMORY: return
func.func @sum(%a: tensor<?x?x3xf32>, %g: tensor<?x3xf32>) -> (tensor<?x3xf32>, tensor<3x3xf32>) {
  %0:2 = bppsa.chain saved(%a : tensor<?x?x3xf32>) seeds(%g : tensor<?x3xf32>)
      sum_with [-1] -> (tensor<?x3xf32>) sums(tensor<3x3xf32>) {
  ^bb0(%at: tensor<3xf32>, %gt: tensor<3xf32>):
    %1 = arith.mulf %at, %gt : tensor<3xf32>
    %e = tensor.empty() : tensor<3x3xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%1, %at : tensor<3xf32>, tensor<3xf32>) outs(%e : tensor<3x3xf32>) {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %p = arith.mulf %x, %y : f32
      linalg.yield %p : f32
    } -> tensor<3x3xf32>
    bppsa.yield %1, %2 : tensor<3xf32>, tensor<3x3xf32>
  }
  return %0#0, %0#1 : tensor<?x3xf32>, tensor<3x3xf32>
}

// The position in the sum depends on the sample, so rows are accumulated one after the other.
// CHECK-LABEL: func.func @scatter
// CHECK: scf.for {{.*}} iter_args(%[[SUM:[^ ]*]] = %{{.*}})
// CHECK-NOT: tensor<?x5x3xf32>
// CHECK: scf.for {{.*}} iter_args(%[[ROWS:[^ ]*]] = %[[SUM]]) -> (tensor<5x3xf32>)
// CHECK: scf.for {{.*}} iter_args(%[[ROW:[^ ]*]] = %[[ROWS]]) -> (tensor<5x3xf32>)
// CHECK: tensor.insert %{{.*}} into %[[ROW]]
// CHECK-NOT: tensor<?x5x3xf32>
// CHECK: scf.forall.in_parallel
func.func @scatter(%p: tensor<?x?x1xi64>, %g: tensor<?x3xf32>) -> (tensor<?x3xf32>, tensor<5x3xf32>) {
  %0:2 = bppsa.chain saved(%p : tensor<?x?x1xi64>) seeds(%g : tensor<?x3xf32>)
      sum_with [-1] -> (tensor<?x3xf32>) sums(tensor<5x3xf32>) {
  ^bb0(%pt: tensor<1xi64>, %gt: tensor<3xf32>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<5x3xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<5x3xf32>) -> tensor<5x3xf32>
    %i = tensor.extract %pt[%c0] : tensor<1xi64>
    %row = arith.index_cast %i : i64 to index
    %sum = scf.for %j = %c0 to %c3 step %c1 iter_args(%acc = %z) -> (tensor<5x3xf32>) {
      %old = tensor.extract %acc[%row, %j] : tensor<5x3xf32>
      %v = tensor.extract %gt[%j] : tensor<3xf32>
      %new = arith.addf %old, %v : f32
      %next = tensor.insert %new into %acc[%row, %j] : tensor<5x3xf32>
      scf.yield %next : tensor<5x3xf32>
    }
    bppsa.yield %gt, %sum : tensor<3xf32>, tensor<5x3xf32>
  }
  return %0#0, %0#1 : tensor<?x3xf32>, tensor<5x3xf32>
}

// A single step of a nested loop reads its samples from rows without a transpose.
// CHECK-LABEL: func.func @one_nested_step
// CHECK-NOT: linalg.transpose
// CHECK: bppsa.recurrence sequences(%{{.*}} : tensor<1x?x3xf32>) initial(%{{.*}} : tensor<?x3xf32>)
// CHECK-NOT: linalg.transpose
// CHECK: return
func.func @one_nested_step(%x: tensor<?x?x1x2x3xf32>, %h: tensor<?x2x3xf32>) -> tensor<?x?x2x3xf32> {
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x1x2x3xf32>) initial(%h : tensor<?x2x3xf32>) -> (tensor<?x?x2x3xf32>) {
  ^bb0(%xt: tensor<1x2x3xf32>, %ht: tensor<2x3xf32>):
    %1 = bppsa.recurrence sequences(%xt : tensor<1x2x3xf32>) initial(%ht : tensor<2x3xf32>) -> (tensor<2x2x3xf32>) {
    ^bb0(%xb: vector<3xf32>, %hb: vector<3xf32>):
      %2 = arith.addf %xb, %hb : vector<3xf32>
      bppsa.yield %2 : vector<3xf32>
    }
    %last = tensor.extract_slice %1[1, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<2x2x3xf32> to tensor<2x3xf32>
    bppsa.yield %last : tensor<2x3xf32>
  }
  return %0 : tensor<?x?x2x3xf32>
}

// A state that no step changes is read in place, without a trajectory.
// CHECK-LABEL: func.func @steady
// CHECK-NOT: tensor<?x?x5x3xf32>
// CHECK: scf.for
// CHECK: tensor.extract_slice %arg1[%{{.*}}, 0, 0] [%{{.*}}, 5, 3] [1, 1, 1] : tensor<?x5x3xf32> to tensor<?x5x3xf32>
// CHECK-NOT: tensor<?x?x5x3xf32>
// CHECK: scf.for
// CHECK: tensor.extract_slice %arg1[%{{.*}}, 0, 0] [%{{.*}}, 5, 3] [1, 1, 1] : tensor<?x5x3xf32> to tensor<?x5x3xf32>
// CHECK-NOT: tensor<?x?x5x3xf32>
// CHECK: return %{{.*}}, %arg1
func.func @steady(%x: tensor<?x?x3xf32>, %m: tensor<?x5x3xf32>, %g: tensor<?x5x3xf32>)
    -> (tensor<?x?x3xf32>, tensor<?x5x3xf32>, tensor<?x5x3xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %T = tensor.dim %x, %c0 : tensor<?x?x3xf32>
  %N = tensor.dim %x, %c1 : tensor<?x?x3xf32>
  %0:2 = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) initial(%m : tensor<?x5x3xf32>)
      -> (tensor<?x?x5x3xf32>) outputs(tensor<?x?x3xf32>) {
  ^bb0(%xt: tensor<3xf32>, %mt: tensor<5x3xf32>):
    %e = tensor.empty() : tensor<3xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
        ins(%mt : tensor<5x3xf32>) outs(%xt : tensor<3xf32>) {
    ^bb0(%a: f32, %b: f32):
      %p = arith.mulf %a, %a : f32
      %r = arith.addf %b, %p : f32
      linalg.yield %r : f32
    } -> tensor<3xf32>
    bppsa.yield %mt, %y : tensor<5x3xf32>, tensor<3xf32>
  }
  %last = tensor.extract_slice %0#0[%T, 0, 0, 0] [1, %N, 5, 3] [1, 1, 1, 1] : tensor<?x?x5x3xf32> to tensor<1x?x5x3xf32>
  %final = tensor.collapse_shape %last [[0, 1], [2], [3]] : tensor<1x?x5x3xf32> into tensor<?x5x3xf32>
  %before = tensor.extract_slice %0#0[0, 0, 0, 0] [%T, %N, 5, 3] [1, 1, 1, 1] : tensor<?x?x5x3xf32> to tensor<?x?x5x3xf32>
  %1 = bppsa.chain saved(%before, %0#1 : tensor<?x?x5x3xf32>, tensor<?x?x3xf32>) seeds(%g : tensor<?x5x3xf32>)
      -> (tensor<?x5x3xf32>) {
  ^bb0(%mt: tensor<5x3xf32>, %yt: tensor<3xf32>, %gt: tensor<5x3xf32>):
    %d = arith.mulf %gt, %mt : tensor<5x3xf32>
    bppsa.yield %d : tensor<5x3xf32>
  }
  return %0#1, %1, %final : tensor<?x?x3xf32>, tensor<?x5x3xf32>, tensor<?x5x3xf32>
}
