// RUN: bppsa-opt %s --bppsa-choose-cpu-mapping --bppsa-pack-batch --canonicalize --cse | FileCheck %s
// RUN: bppsa-opt %s --bppsa-choose-cpu-mapping=lanes=8 --bppsa-pack-batch | FileCheck %s --check-prefix=EIGHT

#shape = affine_map<()[s0, s1] -> (s0, s1, 4)>

// The trajectory of one loop feeds the next loop, a slice along time and a sum; all of them stay
// packed.

// CHECK-LABEL: func @layers(
// CHECK-SAME:      %[[X:.*]]: tensor<?x?x4xf32>
// CHECK:         %[[B:.*]] = tensor.dim %[[X]], %c1
// CHECK:         %[[P:.*]] = bppsa.pack_lanes 16, %[[X]] : tensor<?x?x4xf32> -> tensor<?x?x4x16xf32>
// CHECK:         %[[I:.*]] = bppsa.pack_lanes 16, %{{.*}} : tensor<?x4xf32> -> tensor<?x4x16xf32>
// CHECK:         %[[H:.*]] = bppsa.recurrence lanes 16 sequences(%[[P]] : tensor<?x?x4x16xf32>)
// CHECK-SAME:        initial(%[[I]] : tensor<?x4x16xf32>)
// CHECK-NOT:     bppsa.unpack_lanes
// CHECK:         %[[S:.*]] = tensor.extract_slice %[[H]][0, 1, 0, 0] [%{{.*}}, %{{.*}}, 4, 16] [1, 1, 1, 1]
// CHECK-NOT:     bppsa.pack_lanes
// CHECK:         %[[D:.*]] = bppsa.outer_sum lanes 16 %[[S]], %[[P]] batch %[[B]]
// CHECK:         return %[[D]]
// EIGHT-LABEL: func @layers(
// EIGHT:         bppsa.recurrence lanes 8
func.func @layers(%x: tensor<?x?x4xf32> {bppsa.shape = #shape}, %h0: tensor<?x4xf32>)
    -> tensor<4x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = tensor.dim %x, %c0 : tensor<?x?x4xf32>
  %b = tensor.dim %x, %c1 : tensor<?x?x4xf32>
  %h = bppsa.recurrence sequences(%x : tensor<?x?x4xf32>) initial(%h0 : tensor<?x4xf32>)
      -> (tensor<?x?x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
    %0 = arith.addf %xt, %ht : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  %s = tensor.extract_slice %h[1, 0, 0] [%t, %b, 4] [1, 1, 1] : tensor<?x?x4xf32> to tensor<?x?x4xf32>
  %d = bppsa.outer_sum %s, %x : tensor<?x?x4xf32>, tensor<?x?x4xf32> -> tensor<4x4xf32>
  return %d : tensor<4x4xf32>
}

// Only the last state is unpacked, not the trajectory.

// CHECK-LABEL: func @last_state(
// CHECK:         %[[H:.*]] = bppsa.recurrence lanes 16
// CHECK:         %[[L:.*]] = tensor.extract_slice %[[H]][0, 7, 0, 0] [2, 1, 4, 16] [1, 1, 1, 1] : tensor<2x8x4x16xf32> to tensor<2x4x16xf32>
// CHECK:         %[[U:.*]] = bppsa.unpack_lanes 16, %[[L]], %{{.*}} : tensor<2x4x16xf32> -> tensor<20x4xf32>
// CHECK:         return %[[U]]
func.func @last_state(%x: tensor<7x20x4xf32>, %h0: tensor<20x4xf32>) -> tensor<20x4xf32> {
  %h = bppsa.recurrence sequences(%x : tensor<7x20x4xf32>) initial(%h0 : tensor<20x4xf32>)
      -> (tensor<8x20x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
    bppsa.yield %xt : vector<4xf32>
  }
  %l = tensor.extract_slice %h[7, 0, 0] [1, 20, 4] [1, 1, 1] : tensor<8x20x4xf32> to tensor<20x4xf32>
  return %l : tensor<20x4xf32>
}

// A subset of the samples cannot be sliced from packed lanes.

// CHECK-LABEL: func @some_samples(
// CHECK:         %[[U:.*]] = bppsa.unpack_lanes 16, %{{.*}} : tensor<2x8x4x16xf32> -> tensor<8x20x4xf32>
// CHECK:         tensor.extract_slice %[[U]][0, 3, 0] [8, 2, 4]
func.func @some_samples(%x: tensor<7x20x4xf32>, %h0: tensor<20x4xf32>) -> tensor<8x2x4xf32> {
  %h = bppsa.recurrence sequences(%x : tensor<7x20x4xf32>) initial(%h0 : tensor<20x4xf32>)
      -> (tensor<8x20x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
    bppsa.yield %xt : vector<4xf32>
  }
  %s = tensor.extract_slice %h[0, 3, 0] [8, 2, 4] [1, 1, 1] : tensor<8x20x4xf32> to tensor<8x2x4xf32>
  return %s : tensor<8x2x4xf32>
}

// Sizes of an unpacked array are computed from the operands of its loop, so the array is not
// unpacked for them.

// CHECK-LABEL: func @sizes(
// CHECK-SAME:    %[[X:.*]]: tensor<?x?x4xf32>, %[[H0:.*]]: tensor<?x4xf32>
// CHECK-NOT:     bppsa.unpack_lanes
// CHECK-DAG:     %[[B:.*]] = tensor.dim %[[X]], %c1
// CHECK-DAG:     %[[T:.*]] = tensor.dim %[[X]], %c0
// CHECK:         %[[SLOTS:.*]] = arith.addi %[[T]], %c1
// CHECK-NOT:     bppsa.unpack_lanes
// CHECK:         return %[[SLOTS]], %[[B]]
func.func @sizes(%x: tensor<?x?x4xf32>, %h0: tensor<?x4xf32>) -> (index, index) {
  %h = bppsa.recurrence sequences(%x : tensor<?x?x4xf32>) initial(%h0 : tensor<?x4xf32>)
      -> (tensor<?x?x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
    bppsa.yield %xt : vector<4xf32>
  }
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = tensor.dim %h, %c0 : tensor<?x?x4xf32>
  %b = tensor.dim %h, %c1 : tensor<?x?x4xf32>
  return %t, %b : index, index
}

// The columns of a transition are packed like the steps of a sequence.

// CHECK-LABEL: func @transition(
// CHECK-SAME:      %[[A:[^:]*]]: tensor<?x?x4xf32>
// CHECK:         %[[P:.*]] = bppsa.pack_lanes 16, %[[A]] : tensor<?x?x4xf32> -> tensor<?x?x4x16xf32>
// CHECK:         %[[M:.*]] = bppsa.transition lanes 16 states [4] saved(%[[P]] : tensor<?x?x4x16xf32>)
// CHECK-SAME:        captures(%{{.*}} : tensor<4x4xf32>) into(%{{.*}} : tensor<?x4x4x16xf32>) -> tensor<?x4x4x16xf32>
// CHECK:         %[[U:.*]] = bppsa.unpack_lanes 16, %[[M]], %{{.*}} : tensor<?x4x4x16xf32> -> tensor<4x?x4xf32>
// CHECK:         %[[T:.*]] = linalg.transpose ins(%[[U]] : tensor<4x?x4xf32>) outs(%{{.*}} : tensor<?x4x4xf32>) permutation = [1, 0, 2]
// CHECK:         return %[[T]]
// EIGHT-LABEL: func @transition(
// EIGHT:         bppsa.transition lanes 8
func.func @transition(%a: tensor<?x?x4xf32>, %w: tensor<4x4xf32>, %into: tensor<?x4x4xf32>) -> tensor<?x4x4xf32> {
  %m = bppsa.transition states [4] saved(%a : tensor<?x?x4xf32>)
      captures(%w : tensor<4x4xf32>) into(%into : tensor<?x4x4xf32>) -> tensor<?x4x4xf32> {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    %1 = bppsa.matvec transposed %wc, %0 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  return %m : tensor<?x4x4xf32>
}
