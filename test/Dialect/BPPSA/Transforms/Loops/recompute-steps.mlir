// RUN: bppsa-opt %s --bppsa-recompute-steps=memory-limit=1000 --canonicalize --cse | FileCheck %s
// RUN: bppsa-opt %s --bppsa-recompute-steps=memory-limit=1000 --remarks-filter=memory -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// RUN: bppsa-opt %s --bppsa-recompute-steps | FileCheck %s --check-prefix=NONE
// RUN: bppsa-opt %s --bppsa-recompute-steps=memory-limit=1000 --canonicalize --cse --bppsa-separate-destinations \
// RUN:   --bppsa-bufferize --canonicalize --cse | FileCheck %s --check-prefix=BUFFER

// NONE-NOT: recomputed_steps
// NONE-NOT: scf.for

// Bytes per step and sample: the state, the output that the chain reads, and the sequence emitted
// for another loop take 8 each.
// REMARK: 24 bytes of a step of a sample are kept for one segment of steps, 8 of its states between segments; 2 sums and 1 loops go with the chain

// CHECK: func.func private @bppsa_rt_recomputed_steps(index, index, index, index, index, index) -> index

// CHECK-LABEL: func.func @step(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<?x?x3xf32>, %[[H0:[^:]*]]: tensor<?x2x4xf32>, %[[R:[^:]*]]: tensor<2x2xf32>, %[[N:[^:]*]]: index
// CHECK-DAG:     %[[T:.*]] = tensor.dim %[[X]], %c0
// CHECK-DAG:     %[[BLOCKS:.*]] = arith.ceildivui %{{.*}}, %c4
// CHECK-DAG:     %[[ROWS:.*]] = arith.muli %[[BLOCKS]], %c4
// CHECK:         %[[K:.*]] = call @bppsa_rt_recomputed_steps(%[[T]], %[[ROWS]], %c24, %c8, %c24, %c1000)
// CHECK:         %[[COUNT:.*]] = arith.ceildivui %[[T]], %[[K]]
// CHECK:         %[[SEGMENTS:.*]] = arith.maxui %[[COUNT]], %c1
// CHECK:         %[[LAST:.*]] = arith.subi %[[SEGMENTS]], %c1
// The states at the start of each segment are kept; the sequence is packed one segment at a time.
// CHECK:         %[[MEMORY:.*]] = bufferization.alloc_tensor(%[[SEGMENTS]], %[[BLOCKS]]) : tensor<?x?x2x4xf32>
// CHECK:         %[[FIRST:.*]] = tensor.insert_slice %[[H0]] into %[[MEMORY]][0, 0, 0, 0]
// CHECK:         %[[STARTS:.*]] = scf.for %[[I:.*]] = %c0 to %[[LAST]] step %c1 iter_args(%[[S:.*]] = %[[FIRST]])
// CHECK:           %[[BEGIN:.*]] = arith.muli %[[I]], %[[K]]
// CHECK:           %[[LEFT:.*]] = arith.subi %[[T]], %[[BEGIN]]
// CHECK:           %[[STEPS:.*]] = arith.minui %[[K]], %[[LEFT]]
// CHECK:           %[[XI:.*]] = tensor.extract_slice %[[X]][%[[BEGIN]], 0, 0] [%[[STEPS]],
// CHECK:           %[[PACKED:.*]] = bppsa.pack_lanes 4, %[[XI]]
// CHECK:           %[[START:.*]] = tensor.extract_slice %[[S]][%[[I]], 0, 0, 0]
// CHECK:           %[[TRAJECTORY:.*]], %{{.*}} = bppsa.recurrence lanes 4 sequences(%[[PACKED]] {{.*}} initial(%[[START]]
// CHECK:           %[[STATE:.*]] = tensor.extract_slice %[[TRAJECTORY]][0, %[[STEPS]], 0, 0]
// CHECK:           %[[KEPT:.*]] = tensor.insert_slice %[[STATE]] into %[[S]]
// CHECK:           scf.yield %[[KEPT]]
// The last segment is still available when the chain starts.
// CHECK:         %[[LASTSTART:.*]] = tensor.extract_slice %[[STARTS]][%[[LAST]], 0, 0, 0]
// CHECK:         %[[LASTTRAJECTORY:.*]], %[[LASTOUTPUT:.*]] = bppsa.recurrence lanes 4 {{.*}} initial(%[[LASTSTART]]
// CHECK:         %[[FINAL:.*]] = tensor.extract_slice %[[LASTTRAJECTORY]][0, %{{.*}}, 0, 0]
// CHECK:         bppsa.unpack_lanes 4, %[[FINAL]]
// CHECK:         %[[G:.*]], %[[D:.*]] = bppsa.chain lanes 4 saved(%[[LASTOUTPUT]]
// CHECK:         %[[GN:.*]] = bufferization.materialize_in_destination %[[G]] in
// CHECK:         %[[W0:.*]] = bppsa.add_to_sums 4 %[[D]], %{{.*}} into
// CHECK:         %[[B0:.*]] = bppsa.add_to_sums 4 %[[D]] into
// CHECK:         bppsa.recurrence lanes 4 sequences(%[[D]]
// CHECK:         %[[BACK:.*]]:4 = scf.for %[[J:.*]] = %c0 to %[[LAST]] step %c1 iter_args(%[[GJ:.*]] = %[[GN]], %[[WJ:.*]] = %[[W0]], %[[BJ:.*]] = %[[B0]], %{{.*}})
// CHECK:           %[[NEXT:.*]] = arith.addi %[[J]], %c1
// CHECK:           %[[NUMBER:.*]] = arith.subi %[[LAST]], %[[NEXT]]
// CHECK:           tensor.extract_slice %[[STARTS]][%[[NUMBER]], 0, 0, 0]
// CHECK:           %{{.*}}, %[[AGAIN:.*]] = bppsa.recurrence lanes 4
// CHECK:           %[[GI:.*]], %[[DI:.*]] = bppsa.chain lanes 4 saved(%[[AGAIN]] {{.*}} seeds(%[[GJ]]
// CHECK:           bufferization.materialize_in_destination %[[GI]] in %[[GJ]]
// CHECK:           bppsa.add_to_sums 4 %[[DI]], %{{.*}} into %[[WJ]]
// CHECK:           bppsa.add_to_sums 4 %[[DI]] into %[[BJ]]
// CHECK:         %[[W:.*]] = bppsa.finish_sums 4 %[[BACK]]#1 batch %[[N]]
// CHECK:         %[[B:.*]] = bppsa.finish_sums 4 %[[BACK]]#2 batch %[[N]]
// CHECK:         return %{{.*}}, %[[BACK]]#0, %[[BACK]]#3, %[[W]], %[[B]]

// Memory is written in place, so the loops carry no arrays.
// BUFFER-LABEL: func.func @step(
// BUFFER:         scf.for %{{.*}} = %c0 to %{{.*}} step %c1 {
// BUFFER:         scf.for %{{.*}} = %c0 to %{{.*}} step %c1 {
// BUFFER:           bppsa.add_to_sums
// BUFFER-NOT:     scf.for
func.func @step(%x: tensor<?x?x3xf32>, %h0: tensor<?x2x4xf32>, %r: tensor<2x2xf32>, %n: index,
    %g: tensor<?x2x4xf32>)
    -> (tensor<1x?x2xf32>, tensor<?x2x4xf32>, tensor<?x?x2x4xf32>, tensor<2x3xf32>, tensor<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %p = bppsa.pack_lanes 4, %x : tensor<?x?x3xf32> -> tensor<?x?x3x4xf32>
  %h, %y = bppsa.recurrence lanes 4 sequences(%p : tensor<?x?x3x4xf32>) initial(%h0 : tensor<?x2x4xf32>)
      captures(%r : tensor<2x2xf32>) -> (tensor<?x?x2x4xf32>) outputs(tensor<?x?x2x4xf32>) {
  ^bb0(%xt: vector<3xf32>, %ht: vector<2xf32>, %rc: vector<2x2xf32>):
    %0 = bppsa.matvec %rc, %ht : vector<2x2xf32>, vector<2xf32> -> vector<2xf32>
    %1 = math.tanh %0 : vector<2xf32>
    bppsa.yield %1, %0 : vector<2xf32>, vector<2xf32>
  }
  %t = tensor.dim %x, %c0 : tensor<?x?x3xf32>
  %b = tensor.dim %x, %c1 : tensor<?x?x3xf32>
  %blocks = arith.ceildivui %b, %c4 : index
  %end = tensor.extract_slice %h[0, %t, 0, 0] [%blocks, 1, 2, 4] [1, 1, 1, 1] : tensor<?x?x2x4xf32> to tensor<?x1x2x4xf32>
  %final = bppsa.unpack_lanes 4, %end, %b : tensor<?x1x2x4xf32> -> tensor<1x?x2xf32>
  %gn, %d = bppsa.chain lanes 4 saved(%y : tensor<?x?x2x4xf32>) seeds(%g : tensor<?x2x4xf32>)
      captures(%r : tensor<2x2xf32>) -> (tensor<?x2x4xf32>) emitted(tensor<?x?x2x4xf32>) {
  ^bb0(%yt: vector<2xf32>, %gt: vector<2xf32>, %rc: vector<2x2xf32>):
    %0 = arith.mulf %yt, %gt : vector<2xf32>
    %1 = bppsa.matvec transposed %rc, %0 : vector<2x2xf32>, vector<2xf32> -> vector<2xf32>
    bppsa.yield %1, %0 : vector<2xf32>, vector<2xf32>
  }
  %dx = bppsa.recurrence lanes 4 sequences(%d : tensor<?x?x2x4xf32>) captures(%r : tensor<2x2xf32>)
      outputs(tensor<?x?x2x4xf32>) {
  ^bb0(%dt: vector<2xf32>, %rc: vector<2x2xf32>):
    %0 = bppsa.matvec %rc, %dt : vector<2x2xf32>, vector<2xf32> -> vector<2xf32>
    bppsa.yield %0 : vector<2xf32>
  }
  %w = bppsa.outer_sum lanes 4 %d, %p batch %n : tensor<?x?x2x4xf32>, tensor<?x?x3x4xf32> -> tensor<2x3xf32>
  %s = bppsa.step_sum lanes 4 %d batch %n : tensor<?x?x2x4xf32> -> tensor<2xf32>
  return %final, %gn, %dx, %w, %s
      : tensor<1x?x2xf32>, tensor<?x2x4xf32>, tensor<?x?x2x4xf32>, tensor<2x3xf32>, tensor<2xf32>
}
