// RUN: bppsa-opt %s --split-input-file --verify-diagnostics --bppsa-pass-results-by-argument | FileCheck %s
// RUN: bppsa-opt %s --split-input-file --verify-diagnostics --bppsa-pass-results-by-argument --eliminate-empty-tensors --bppsa-bufferize --canonicalize | FileCheck %s --check-prefix=MEMORY

// CHECK-LABEL: func.func @twice(
// CHECK-SAME:      %[[X:.*]]: tensor<?xf32>, %[[Y:.*]]: memref<?xf32> {bppsa.output = "y"}) {
// CHECK:         %[[SUM:.*]] = linalg.add
// CHECK:         bufferization.materialize_in_destination %[[SUM]] in restrict writable %[[Y]]
// CHECK-NEXT:    return{{$}}

// The result is computed in its destination.
// MEMORY-LABEL: func.func @twice(
// MEMORY-SAME:      %[[X:.*]]: memref<?xf32>, %[[Y:.*]]: memref<?xf32>
// MEMORY-NOT:     alloc
// MEMORY:         linalg.add ins(%[[X]], %[[X]] : {{.*}}) outs(%[[Y]] :
// MEMORY-NEXT:    return
func.func @twice(%x: tensor<?xf32>) -> (tensor<?xf32> {bppsa.output = "y"}) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %empty = tensor.empty(%n) : tensor<?xf32>
  %y = linalg.add ins(%x, %x : tensor<?xf32>, tensor<?xf32>) outs(%empty : tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// expected-error @below {{must return ranked tensors, found 'index'}}
func.func @number(%x: tensor<?xf32>) -> index {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  return %n : index
}
