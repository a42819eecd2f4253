// RUN: bppsa-opt %s --bppsa-slice-early --canonicalize | FileCheck %s

// The last step of a batch-first sequence is sliced from the time-major one.

// CHECK-LABEL: func.func @last(
// CHECK-SAME:    %[[X:.*]]: tensor<?x?x8xf32>, %[[N:.*]]: index, %[[LAST:.*]]: index)
// CHECK:         %[[SLICE:.*]] = tensor.extract_slice %[[X]][%[[LAST]], 0, 0] [1, %[[N]], 8] [1, 1, 1]
// CHECK:         linalg.transpose ins(%[[SLICE]] : tensor<1x?x8xf32>)
func.func @last(%x: tensor<?x?x8xf32>, %n: index, %last: index) -> tensor<?x1x8xf32> {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x?x8xf32>
  %empty = tensor.empty(%n, %t) : tensor<?x?x8xf32>
  %0 = linalg.transpose ins(%x : tensor<?x?x8xf32>) outs(%empty : tensor<?x?x8xf32>) permutation = [1, 0, 2]
  %1 = tensor.extract_slice %0[0, %last, 0] [%n, 1, 8] [1, 1, 1] : tensor<?x?x8xf32> to tensor<?x1x8xf32>
  return %1 : tensor<?x1x8xf32>
}

// An operation that uses linalg.index is not sliced, because its indices would need an offset.

// CHECK-LABEL: func.func @reversed(
// CHECK: %[[R:.*]] = linalg.generic {{.*}} outs({{.*}} : tensor<4x3xf32>)
// CHECK: %[[S:.*]] = tensor.extract_slice %[[R]][1, 0] [2, 3] [1, 1]
// CHECK: return %[[S]]
#all = affine_map<(t, i) -> (t, i)>
func.func @reversed(%x: tensor<4x3xf32>) -> tensor<2x3xf32> {
  %last = arith.constant 3 : index
  %empty = tensor.empty() : tensor<4x3xf32>
  %r = linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel"]} outs(%empty : tensor<4x3xf32>) {
  ^bb0(%out: f32):
    %0 = linalg.index 0 : index
    %1 = linalg.index 1 : index
    %2 = arith.subi %last, %0 : index
    %3 = tensor.extract %x[%2, %1] : tensor<4x3xf32>
    linalg.yield %3 : f32
  } -> tensor<4x3xf32>
  %s = tensor.extract_slice %r[1, 0] [2, 3] [1, 1] : tensor<4x3xf32> to tensor<2x3xf32>
  return %s : tensor<2x3xf32>
}
