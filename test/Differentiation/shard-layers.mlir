// RUN: bppsa-opt %s --bppsa-shard-time | FileCheck %s
// RUN: bppsa-opt %s --bppsa-shard-time --bppsa-differentiate="of=sharded_loss name=shard" --canonicalize --cse | FileCheck %s --check-prefix=GRADIENTS
// RUN: bppsa-opt %s --bppsa-shard-time="reversed-first" | FileCheck %s --check-prefix=LATE

// h[t] = w h[t - 1] + x[t], once forward and once in reverse, and the loss l[b] = h[T] + h'[0] +
// sum of x.

// The function on a whole sequence is unchanged.
// CHECK-LABEL: func.func @training_loss(
// CHECK-NOT:     dist.shard
// CHECK-LABEL: func.func private @sharded_loss(
// CHECK:         %[[ENTER:.*]] = dist.shard_enter %[[H0:.*]] channel 0 : tensor<?x4xf32> -> tensor<?x4xf32>
// CHECK-NEXT:    %[[H:.*]] = bppsa.recurrence sequences(%[[X:.*]] : tensor<?x?x4xf32>) initial(%[[ENTER]] : tensor<?x4xf32>)
// CHECK:         %[[T:.*]] = tensor.dim %[[X]]
// CHECK:         %[[LAST:.*]] = tensor.extract_slice %[[H]][%[[T]], 0, 0] [1, %{{.*}}, 4]
// CHECK-NEXT:    %[[REST:.*]] = dist.shard_leave %[[LAST]] channel 0 : tensor<?x4xf32> -> tensor<f32>
// CHECK:         %[[BACK:.*]] = dist.shard_enter reverse %{{.*}} channel 1
// CHECK-NEXT:    %[[R:.*]] = bppsa.recurrence reverse sequences(%[[X]] : tensor<?x?x4xf32>) initial(%[[BACK]]
// CHECK:         tensor.extract_slice %[[R]][0, 0, 0] [1, %{{.*}}, 4]
// CHECK-NEXT:    dist.shard_leave reverse %{{.*}} channel 1

// The final state of the reversed loop is on the first rank and is sent to the last one.
// CHECK:         %[[FINAL:.*]] = tensor.extract_slice %[[R]][0, 0, 0]
// CHECK-NEXT:    %[[PASSED:.*]] = dist.shard_enter %[[FINAL]] channel 2
// CHECK-NEXT:    dist.shard_leave %[[PASSED]] channel 2

// A sum over steps starts from the sum of the previous rank.
// CHECK:         %[[SUM:.*]] = linalg.generic {{.*}} iterator_types = ["reduction", "parallel", "parallel"]
// CHECK:         %[[BEFORE:.*]] = dist.shard_enter %{{.*}} channel 3
// CHECK:         %[[TOTAL:.*]] = linalg.generic {{.*}} ins(%[[BEFORE]], %[[SUM]] :
// CHECK:         dist.shard_leave %[[TOTAL]] channel 3

// The objective is the weighted loss plus the contribution of later ranks.
// CHECK:         dist.rank_weight
// CHECK:         %[[OBJECTIVE:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %[[REST]], %{{.*}}, %{{.*}}, %{{.*}} : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
// CHECK:         return %{{.*}}, %[[OBJECTIVE]]

// Each loop runs backward once the cotangent of its final state arrives, and sends the cotangent of
// its first state.
// GRADIENTS-LABEL: func.func @shard(
// GRADIENTS:         bppsa.mark_phase 1
// GRADIENTS:         dist.shard_leave transposed %{{.*}} channel 3
// GRADIENTS:         dist.shard_enter transposed %{{.*}} channel 3
// GRADIENTS:         dist.shard_leave transposed %{{.*}} channel 2
// GRADIENTS:         dist.shard_enter transposed %{{.*}} channel 2
// GRADIENTS:         dist.shard_leave reverse transposed %{{.*}} channel 1
// GRADIENTS:         bppsa.chain reverse
// GRADIENTS:         dist.shard_enter reverse transposed %{{.*}} channel 1
// GRADIENTS:         %[[G:.*]] = dist.shard_leave transposed %{{.*}} channel 0
// GRADIENTS:         bppsa.chain
// GRADIENTS:         dist.shard_enter transposed %{{.*}} channel 0

// Ranks with late steps start with the reversed loop.
// LATE-LABEL: func.func private @sharded_loss(
// LATE:         dist.shard_enter reverse %{{.*}} channel 1
// LATE-NEXT:    bppsa.recurrence reverse
// LATE:         dist.shard_leave reverse %{{.*}} channel 1
// LATE:         dist.shard_enter %{{.*}} channel 0
// LATE-NEXT:    bppsa.recurrence sequences
// LATE:         dist.shard_leave %{{.*}} channel 0
// LATE:         dist.shard_enter %{{.*}} channel 2

#steps = affine_map<(t, b, i) -> (t, b, i)>
#sample = affine_map<(t, b, i) -> (b, i)>
#all = affine_map<(b, i) -> (b, i)>
#none = affine_map<(b, i) -> ()>
func.func @training_loss(
    %x: tensor<?x?x4xf32> {bppsa.input = "x", bppsa.time_axis = 0 : i64, bppsa.shape = affine_map<()[s0, s1] -> (s0, s1, 4)>},
    %w: tensor<4x4xf32> {bppsa.parameter = "w"},
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
  %r = bppsa.recurrence reverse sequences(%x : tensor<?x?x4xf32>) initial(%h0 : tensor<?x4xf32>)
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
