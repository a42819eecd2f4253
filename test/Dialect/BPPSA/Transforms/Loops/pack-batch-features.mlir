// RUN: bppsa-opt %s --bppsa-choose-cpu-mapping --bppsa-pack-batch --canonicalize --cse | FileCheck %s

// The outputs of both directions of a layer are concatenated along features in packed form.

// CHECK-LABEL: func @directions(
// CHECK:         %[[A:.*]] = bppsa.recurrence lanes 16
// CHECK:         %[[B:.*]] = bppsa.recurrence lanes 16
// CHECK-NOT:     bppsa.unpack_lanes
// CHECK:         %[[AB:.*]] = tensor.concat dim(2) %[[A]], %[[B]] : (tensor<2x7x4x16xf32>, tensor<2x7x3x16xf32>) -> tensor<2x7x7x16xf32>
// CHECK-NOT:     bppsa.pack_lanes
// CHECK:         bppsa.step_sum lanes 16 %[[AB]] batch
func.func @directions(%x: tensor<7x20x4xf32>, %y: tensor<7x20x3xf32>) -> tensor<7xf32> {
  %a = bppsa.recurrence sequences(%x : tensor<7x20x4xf32>) outputs(tensor<7x20x4xf32>) {
  ^bb0(%xt: vector<4xf32>):
    bppsa.yield %xt : vector<4xf32>
  }
  %b = bppsa.recurrence sequences(%y : tensor<7x20x3xf32>) outputs(tensor<7x20x3xf32>) {
  ^bb0(%yt: vector<3xf32>):
    bppsa.yield %yt : vector<3xf32>
  }
  %ab = tensor.concat dim(2) %a, %b : (tensor<7x20x4xf32>, tensor<7x20x3xf32>) -> tensor<7x20x7xf32>
  %s = bppsa.step_sum %ab : tensor<7x20x7xf32> -> tensor<7xf32>
  return %s : tensor<7xf32>
}

// Concatenations along steps or samples, or with other readers, use unpacked arrays.

// CHECK-LABEL: func @steps(
// CHECK:         tensor.concat dim(0) %{{.*}} : (tensor<7x20x4xf32>, tensor<7x20x4xf32>) -> tensor<14x20x4xf32>
// CHECK:         bppsa.pack_lanes
func.func @steps(%x: tensor<7x20x4xf32>) -> tensor<4xf32> {
  %a = bppsa.recurrence sequences(%x : tensor<7x20x4xf32>) outputs(tensor<7x20x4xf32>) {
  ^bb0(%xt: vector<4xf32>):
    bppsa.yield %xt : vector<4xf32>
  }
  %aa = tensor.concat dim(0) %a, %a : (tensor<7x20x4xf32>, tensor<7x20x4xf32>) -> tensor<14x20x4xf32>
  %s = bppsa.step_sum %aa : tensor<14x20x4xf32> -> tensor<4xf32>
  return %s : tensor<4xf32>
}

// CHECK-LABEL: func @returned(
// CHECK:         %[[PLAIN:.*]] = tensor.concat dim(2) %{{.*}} -> tensor<7x20x8xf32>
// CHECK:         bppsa.pack_lanes 16, %[[PLAIN]]
func.func @returned(%x: tensor<7x20x4xf32>) -> (tensor<8xf32>, tensor<7x20x8xf32>) {
  %a = bppsa.recurrence sequences(%x : tensor<7x20x4xf32>) outputs(tensor<7x20x4xf32>) {
  ^bb0(%xt: vector<4xf32>):
    bppsa.yield %xt : vector<4xf32>
  }
  %aa = tensor.concat dim(2) %a, %a : (tensor<7x20x4xf32>, tensor<7x20x4xf32>) -> tensor<7x20x8xf32>
  %s = bppsa.step_sum %aa : tensor<7x20x8xf32> -> tensor<8xf32>
  return %s, %aa : tensor<8xf32>, tensor<7x20x8xf32>
}

// Each direction gets a slice of the packed cotangents.

// CHECK-LABEL: func @features(
// CHECK:         %[[A:.*]] = bppsa.recurrence lanes 16
// CHECK:         %[[S:.*]] = tensor.extract_slice %[[A]][0, 2, 1, 0] [2, 5, 3, 16] [1, 1, 1, 1] : tensor<2x7x4x16xf32> to tensor<2x5x3x16xf32>
// CHECK:         bppsa.step_sum lanes 16 %[[S]] batch
func.func @features(%x: tensor<7x20x4xf32>) -> tensor<3xf32> {
  %a = bppsa.recurrence sequences(%x : tensor<7x20x4xf32>) outputs(tensor<7x20x4xf32>) {
  ^bb0(%xt: vector<4xf32>):
    bppsa.yield %xt : vector<4xf32>
  }
  %p = tensor.extract_slice %a[2, 0, 1] [5, 20, 3] [1, 1, 1] : tensor<7x20x4xf32> to tensor<5x20x3xf32>
  %s = bppsa.step_sum %p : tensor<5x20x3xf32> -> tensor<3xf32>
  return %s : tensor<3xf32>
}

#all = affine_map<(t, b, c) -> (t, b, c)>

// The results of two loops are added in packed form.

// CHECK-LABEL: func @added(
// CHECK:         %[[A:.*]] = bppsa.recurrence lanes 16
// CHECK:         %[[B:.*]] = bppsa.recurrence lanes 16
// CHECK:         %[[SUM:.*]] = linalg.generic {{.*}}"parallel", "parallel", "parallel", "parallel"]} ins(%[[A]], %[[B]] : tensor<2x7x4x16xf32>, tensor<2x7x4x16xf32>)
// CHECK:           arith.addf
// CHECK:         bppsa.step_sum lanes 16 %[[SUM]] batch
func.func @added(%x: tensor<7x20x4xf32>, %y: tensor<7x20x4xf32>) -> tensor<4xf32> {
  %a = bppsa.recurrence sequences(%x : tensor<7x20x4xf32>) outputs(tensor<7x20x4xf32>) {
  ^bb0(%xt: vector<4xf32>):
    bppsa.yield %xt : vector<4xf32>
  }
  %b = bppsa.recurrence sequences(%y : tensor<7x20x4xf32>) outputs(tensor<7x20x4xf32>) {
  ^bb0(%yt: vector<4xf32>):
    bppsa.yield %yt : vector<4xf32>
  }
  %init = tensor.empty() : tensor<7x20x4xf32>
  %sum = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a, %b : tensor<7x20x4xf32>, tensor<7x20x4xf32>) outs(%init : tensor<7x20x4xf32>) {
  ^bb0(%in: f32, %other: f32, %out: f32):
    %0 = arith.addf %in, %other : f32
    linalg.yield %0 : f32
  } -> tensor<7x20x4xf32>
  %s = bppsa.step_sum %sum : tensor<7x20x4xf32> -> tensor<4xf32>
  return %s : tensor<4xf32>
}

// Plain arrays are not packed for an elementwise operation, and operations that use linalg.index
// need plain arrays.

// CHECK-LABEL: func @with_plain(
// CHECK:         bppsa.unpack_lanes
// CHECK:         linalg.generic {{.*}}"parallel", "parallel", "parallel"]}
// CHECK:         bppsa.pack_lanes
func.func @with_plain(%x: tensor<7x20x4xf32>, %y: tensor<7x20x4xf32>) -> tensor<4xf32> {
  %a = bppsa.recurrence sequences(%x : tensor<7x20x4xf32>) outputs(tensor<7x20x4xf32>) {
  ^bb0(%xt: vector<4xf32>):
    bppsa.yield %xt : vector<4xf32>
  }
  %init = tensor.empty() : tensor<7x20x4xf32>
  %sum = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a, %y : tensor<7x20x4xf32>, tensor<7x20x4xf32>) outs(%init : tensor<7x20x4xf32>) {
  ^bb0(%in: f32, %other: f32, %out: f32):
    %0 = arith.addf %in, %other : f32
    linalg.yield %0 : f32
  } -> tensor<7x20x4xf32>
  %s = bppsa.step_sum %sum : tensor<7x20x4xf32> -> tensor<4xf32>
  return %s : tensor<4xf32>
}

// CHECK-LABEL: func @with_places(
// CHECK:         bppsa.unpack_lanes
// CHECK:         linalg.generic {{.*}}"parallel", "parallel", "parallel"]}
// CHECK:           linalg.index
// CHECK:         bppsa.pack_lanes
func.func @with_places(%x: tensor<7x20x4xf32>) -> tensor<4xf32> {
  %a = bppsa.recurrence sequences(%x : tensor<7x20x4xf32>) outputs(tensor<7x20x4xf32>) {
  ^bb0(%xt: vector<4xf32>):
    bppsa.yield %xt : vector<4xf32>
  }
  %zero = arith.constant 0.0 : f32
  %c3 = arith.constant 3 : index
  %init = tensor.empty() : tensor<7x20x4xf32>
  %part = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a : tensor<7x20x4xf32>) outs(%init : tensor<7x20x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = linalg.index 0 : index
    %1 = arith.cmpi ult, %0, %c3 : index
    %2 = arith.select %1, %in, %zero : f32
    linalg.yield %2 : f32
  } -> tensor<7x20x4xf32>
  %s = bppsa.step_sum %part : tensor<7x20x4xf32> -> tensor<4xf32>
  return %s : tensor<4xf32>
}

// A single element is read from the unpacked array.

// CHECK-LABEL: func @number(
// CHECK:         %[[U:.*]] = bppsa.unpack_lanes 16
// CHECK:         tensor.extract_slice %[[U]]{{.*}} to tensor<f32>
func.func @number(%x: tensor<1x1x4xf32>) -> tensor<f32> {
  %a = bppsa.recurrence sequences(%x : tensor<1x1x4xf32>) outputs(tensor<1x1x4xf32>) {
  ^bb0(%xt: vector<4xf32>):
    bppsa.yield %xt : vector<4xf32>
  }
  %n = tensor.extract_slice %a[0, 0, 0] [1, 1, 1] [1, 1, 1] : tensor<1x1x4xf32> to tensor<f32>
  return %n : tensor<f32>
}
