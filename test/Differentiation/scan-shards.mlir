// RUN: bppsa-opt %s --bppsa-shard-time --bppsa-differentiate="of=sharded_loss role=shard wrt=all" --canonicalize --cse --bppsa-scan-shards | FileCheck %s
// RUN: bppsa-opt %s --bppsa-shard-time=reversed-first --bppsa-differentiate="of=sharded_loss role=shard wrt=all" --canonicalize --cse --bppsa-scan-shards | FileCheck %s --check-prefix=LATE

// h[t] = w h[t - 1] + x[t], once forward from zeros and once in reverse from r0, and the loss l[b]
// = h[T] + h'[0] + sum of x.

// The forward pass, and values that no loop computes, are unchanged.
// CHECK-LABEL: func.func @scan_shard(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x?x4xf32>
// CHECK-COUNT-4: dist.shard_leave {{.*}} -> tensor<f32>
// CHECK:         bppsa.mark_phase 1
// CHECK:         dist.shard_leave transposed %{{.*}} channel 3
// CHECK:         dist.shard_enter transposed %{{.*}} channel 3
// CHECK:         dist.shard_leave transposed %{{.*}} channel 2
// CHECK:         %[[OUTER:.*]] = dist.shard_enter transposed %{{.*}} channel 2

// The map of the shard: its matrix, and the contribution of the cotangents of its own losses.
// CHECK:         %[[MAP:.*]] = bppsa.transition reverse states [4] saved(%[[X]] : tensor<?x?x4xf32>)
// CHECK-SAME:      -> tensor<?x4x4xf32>
// CHECK:         %[[OWN:.*]] = bppsa.chain reverse saved(%[[X]] : tensor<?x?x4xf32>) seeds(%[[OUTER]] : tensor<?x4xf32>)
// CHECK-SAME:      -> (tensor<?x4xf32>) {
// CHECK:         %[[BEHIND:.*]] = dist.shard_scan reverse %[[MAP]], %[[OWN]] channel 1 : tensor<?x4x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
// CHECK:         %[[SEED:.*]] = linalg.generic {{.*}} ins(%[[OUTER]], %[[BEHIND]] :
// CHECK:         %[[FIRST:.*]], %{{.*}} = bppsa.chain reverse saved(%[[X]] : tensor<?x?x4xf32>) seeds(%[[SEED]] : tensor<?x4xf32>)
// CHECK-SAME:      emitted(tensor<?x?x4xf32>)

// The reversed loop starts on the rank with the last steps, which holds the cotangent of the
// initial state.
// CHECK:         %[[BEGIN:.*]] = dist.shard_first_step
// CHECK:         %[[STEPS:.*]] = tensor.dim %[[X]], %{{.*}}
// CHECK:         %[[ALL:.*]] = dist.shard_all_steps %[[STEPS]]
// CHECK:         %[[END:.*]] = arith.addi %[[BEGIN]], %[[STEPS]]
// CHECK:         %[[IS_FIRST:.*]] = arith.cmpi eq, %[[END]], %[[ALL]]
// CHECK:         linalg.generic {{.*}} ins(%[[FIRST]] : tensor<?x4xf32>)
// CHECK:           arith.select %[[IS_FIRST]], %{{.*}}, %{{.*}} : f32

// The other direction, with cotangents of every step.
// CHECK:         %[[MAP:.*]] = bppsa.transition states [4]
// CHECK:         %[[OWN:.*]] = bppsa.chain saved({{.*}}) seeds({{.*}}) injected({{.*}}) inject_into [0]
// CHECK-SAME:      -> (tensor<?x4xf32>) {
// CHECK:         dist.shard_scan %[[MAP]], %[[OWN]] channel 0
// CHECK:         bppsa.chain saved({{.*}}) seeds({{.*}}) injected({{.*}}) inject_into [0]
// CHECK-NOT:     dist.shard_enter
// CHECK:         return

// Ranks with late steps run the reversed loop first in the forward pass, but exchange in the same
// order as the other ranks.
// LATE-LABEL: func.func @scan_shard(
// LATE:         bppsa.mark_phase 1
// LATE:         dist.shard_enter transposed %{{.*}} channel 2
// LATE:         dist.shard_scan reverse
// LATE:         dist.shard_scan %
// LATE:         bppsa.chain saved
// LATE:         bppsa.chain reverse saved

#steps = affine_map<(t, b, i) -> (t, b, i)>
#sample = affine_map<(t, b, i) -> (b, i)>
#all = affine_map<(b, i) -> (b, i)>
#none = affine_map<(b, i) -> ()>
func.func @training_loss(
    %x: tensor<?x?x4xf32> {bppsa.input = "x", bppsa.time_axis = 0 : i64, bppsa.shape = affine_map<()[s0, s1] -> (s0, s1, 4)>},
    %w: tensor<4x4xf32> {bppsa.parameter = "w"},
    %r0: tensor<?x4xf32> {bppsa.input = "r0", bppsa.shape = affine_map<()[s0, s1] -> (s1, 4)>},
    %target: tensor<?x4xf32> {bppsa.target, bppsa.shape = affine_map<()[s0, s1] -> (s1, 4)>}) -> (tensor<f32> {bppsa.loss}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = tensor.dim %x, %c0 : tensor<?x?x4xf32>
  %b = tensor.dim %x, %c1 : tensor<?x?x4xf32>
  %e = tensor.empty(%b) : tensor<?x4xf32>
  %h0 = linalg.fill ins(%zero : f32) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
  %h = bppsa.recurrence sequences(%x : tensor<?x?x4xf32>) initial(%h0 : tensor<?x4xf32>)
      captures(%w : tensor<4x4xf32>) -> (tensor<?x?x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>, %m: vector<4x4xf32>):
    %0 = bppsa.matvec %m, %ht plus %xt : vector<4x4xf32>, vector<4xf32> plus vector<4xf32> -> vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  %r = bppsa.recurrence reverse sequences(%x : tensor<?x?x4xf32>) initial(%r0 : tensor<?x4xf32>)
      captures(%w : tensor<4x4xf32>) -> (tensor<?x?x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>, %m: vector<4x4xf32>):
    %0 = bppsa.matvec %m, %ht plus %xt : vector<4x4xf32>, vector<4xf32> plus vector<4xf32> -> vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  %last = tensor.extract_slice %h[%t, 0, 0] [1, %b, 4] [1, 1, 1] : tensor<?x?x4xf32> to tensor<?x4xf32>
  %first = tensor.extract_slice %r[0, 0, 0] [1, %b, 4] [1, 1, 1] : tensor<?x?x4xf32> to tensor<?x4xf32>
  %steps = tensor.extract_slice %h[1, 0, 0] [%t, %b, 4] [1, 1, 1] : tensor<?x?x4xf32> to tensor<?x?x4xf32>
  %sum = linalg.generic {indexing_maps = [#steps, #sample], iterator_types = ["reduction", "parallel", "parallel"]}
      ins(%steps : tensor<?x?x4xf32>) outs(%h0 : tensor<?x4xf32>) {
    ^bb0(%a: f32, %s: f32):
      %0 = arith.addf %s, %a : f32
      linalg.yield %0 : f32
  } -> tensor<?x4xf32>
  %scalar = tensor.empty() : tensor<f32>
  %none = linalg.fill ins(%zero : f32) outs(%scalar : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [#all, #all, #all, #all, #none], iterator_types = ["reduction", "reduction"]}
      ins(%last, %first, %sum, %target : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>)
      outs(%none : tensor<f32>) {
    ^bb0(%l: f32, %f: f32, %s: f32, %y: f32, %o: f32):
      %0 = arith.addf %l, %f : f32
      %1 = arith.addf %0, %s : f32
      %2 = arith.mulf %1, %y : f32
      %3 = arith.addf %o, %2 : f32
      linalg.yield %3 : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}
