// RUN: bppsa-opt %s --bppsa-lower-graph-bodies=memory-limit=1000 --canonicalize --cse | FileCheck %s
// RUN: bppsa-opt %s --bppsa-lower-graph-bodies=memory-limit=1000 --canonicalize --cse --bppsa-separate-destinations \
// RUN:     --eliminate-empty-tensors --bppsa-bufferize --canonicalize --cse | FileCheck %s --check-prefix=MEMORY

// CHECK: func.func private @bppsa_rt_segment_steps(index, index, index, index, index, index) -> index

// The residual of 16 bytes and the state of 12 bytes have buffers for one segment. Values that the
// caller reads are stored for all steps.
// CHECK-LABEL: func.func @grad
// CHECK-DAG: %[[T:.*]] = tensor.dim %arg0, %c0
// CHECK: %[[K:.*]] = call @bppsa_rt_segment_steps(%[[T]], %{{.*}}, %c28, %c12, %c28, %c1000)
// CHECK: %[[S:.*]] = arith.ceildivsi %[[T]], %[[K]]
// CHECK: scf.forall
// CHECK: scf.for %{{.*}} = %c0 to %[[S]] step %c1
// CHECK: %[[LENGTH:.*]] = arith.minsi %[[K]]
// CHECK: scf.for %{{.*}} = %c0 to %[[LENGTH]] step %c1
// CHECK: math.tanh
// The final state is the state after the last segment.
// CHECK: tensor.extract_slice %{{.*}}[%[[S]], 0, 0] [1, %{{.*}}, 3] [1, 1, 1]
// The last segment is processed first and is not recomputed.
// CHECK: scf.forall
// CHECK: scf.for %[[I:.*]] = %c0 to %[[S]] step %c1
// CHECK: %[[IS_LAST:.*]] = arith.cmpi eq, %{{.*}}, %{{.*}} : index
// CHECK: %[[AGAIN:.*]] = arith.select %[[IS_LAST]], %c0
// CHECK: scf.for %{{.*}} = %c0 to %[[AGAIN]] step %c1
// CHECK: math.tanh
// CHECK: scf.for
// CHECK-NOT: math.tanh
// CHECK: bufferization.dealloc_tensor
// CHECK: return

// Loops do not create arrays of the size of a segment or a sequence.
// MEMORY-LABEL: func.func @grad
// MEMORY: scf.forall
// MEMORY-NOT: memref.alloc(%{{.*}}, %{{.*}})
// MEMORY: scf.forall
// MEMORY-NOT: memref.alloc(%{{.*}}, %{{.*}})
// MEMORY: return
#v = affine_map<(i) -> (i)>
#m = affine_map<(i, j) -> (i, j)>
#n = affine_map<(i, j) -> (i)>
#k = affine_map<(i, j) -> (j)>
func.func @grad(%x: tensor<?x?x3xf32>, %h: tensor<?x3xf32>, %w: tensor<4x3xf32>, %g: tensor<?x3xf32>)
    -> (tensor<?x?x3xf32>, tensor<?x3xf32>, tensor<4x3xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %T = tensor.dim %x, %c0 : tensor<?x?x3xf32>
  %N = tensor.dim %x, %c1 : tensor<?x?x3xf32>
  %0:3 = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) initial(%h : tensor<?x3xf32>)
      captures(%w : tensor<4x3xf32>) -> (tensor<?x?x3xf32>) outputs(tensor<?x?x3xf32>, tensor<?x?x4xf32>) {
  ^bb0(%xt: tensor<3xf32>, %ht: tensor<3xf32>, %wc: tensor<4x3xf32>):
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<4xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %p = linalg.matvec ins(%wc, %ht : tensor<4x3xf32>, tensor<3xf32>) outs(%z : tensor<4xf32>) -> tensor<4xf32>
    %q = math.tanh %p : tensor<4xf32>
    %some = tensor.extract_slice %q[0] [3] [1] : tensor<4xf32> to tensor<3xf32>
    %next = arith.addf %some, %xt : tensor<3xf32>
    bppsa.yield %next, %xt, %q : tensor<3xf32>, tensor<3xf32>, tensor<4xf32>
  }
  %last = tensor.extract_slice %0#0[%T, 0, 0] [1, %N, 3] [1, 1, 1] : tensor<?x?x3xf32> to tensor<1x?x3xf32>
  %final = tensor.collapse_shape %last [[0, 1], [2]] : tensor<1x?x3xf32> into tensor<?x3xf32>
  %before = tensor.extract_slice %0#0[0, 0, 0] [%T, %N, 3] [1, 1, 1] : tensor<?x?x3xf32> to tensor<?x?x3xf32>
  %1:2 = bppsa.chain saved(%before, %0#2 : tensor<?x?x3xf32>, tensor<?x?x4xf32>) seeds(%g : tensor<?x3xf32>)
      sum_with [-1] -> (tensor<?x3xf32>) sums(tensor<4x3xf32>) {
  ^bb0(%ht: tensor<3xf32>, %q: tensor<4xf32>, %gt: tensor<3xf32>):
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<4xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %wide = tensor.insert_slice %gt into %z[0] [3] [1] : tensor<3xf32> into tensor<4xf32>
    %d = arith.mulf %wide, %q : tensor<4xf32>
    %em = tensor.empty() : tensor<4x3xf32>
    %outer = linalg.generic {indexing_maps = [#n, #k, #m], iterator_types = ["parallel", "parallel"]}
        ins(%d, %ht : tensor<4xf32>, tensor<3xf32>) outs(%em : tensor<4x3xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %r = arith.mulf %a, %b : f32
      linalg.yield %r : f32
    } -> tensor<4x3xf32>
    bppsa.yield %gt, %outer : tensor<3xf32>, tensor<4x3xf32>
  }
  return %0#1, %final, %1#1 : tensor<?x?x3xf32>, tensor<?x3xf32>, tensor<4x3xf32>
}

// Without residuals, nothing is recomputed.
// CHECK-LABEL: func.func @states
// CHECK-NOT: call @bppsa_rt_segment_steps
// CHECK: return
func.func @states(%x: tensor<?x?x3xf32>, %h: tensor<?x3xf32>) -> tensor<?x?x3xf32> {
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) initial(%h : tensor<?x3xf32>) -> (tensor<?x?x3xf32>) {
  ^bb0(%xt: tensor<3xf32>, %ht: tensor<3xf32>):
    %next = arith.addf %ht, %xt : tensor<3xf32>
    bppsa.yield %next : tensor<3xf32>
  }
  return %0 : tensor<?x?x3xf32>
}
