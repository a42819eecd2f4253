// RUN: bppsa-opt %s --pass-pipeline='builtin.module(func.func(bppsa-separate-destinations))' | FileCheck %s

// Each operation gets its own empty tensor; several uses in one operation share it.

// CHECK-LABEL: func.func @two(
// CHECK-NEXT:    %[[FIRST:.*]] = tensor.empty() : tensor<8xf32>
// CHECK-NEXT:    linalg.exp {{.*}} outs(%[[FIRST]] :
// CHECK-NEXT:    %[[SECOND:.*]] = tensor.empty() : tensor<8xf32>
// CHECK-NEXT:    linalg.log {{.*}} outs(%[[SECOND]] :
func.func @two(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %empty = tensor.empty() : tensor<8xf32>
  %a = linalg.exp ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
  %b = linalg.log ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @loop(
// CHECK:         tensor.empty
// CHECK:         linalg.exp
// CHECK:         %[[OWN:.*]] = tensor.empty() : tensor<8xf32>
// CHECK-NEXT:    scf.for {{.*}} iter_args(%{{.*}} = %[[OWN]])
// CHECK-NOT:       tensor.empty
// CHECK:           linalg.log {{.*}} outs(%[[OWN]] :
func.func @loop(%x: tensor<8xf32>, %n: index) -> (tensor<8xf32>, tensor<8xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %empty = tensor.empty() : tensor<8xf32>
  %a = linalg.exp ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
  %b = scf.for %i = %zero to %n step %one iter_args(%sum = %empty) -> tensor<8xf32> {
    %c = linalg.log ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %c : tensor<8xf32>
  }
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// Zeros that are read remain a single tensor.

// CHECK-LABEL: func.func @zeros(
// CHECK:         %[[READ:.*]] = linalg.fill
// CHECK:         %[[FIRST:.*]] = linalg.fill
// CHECK-NEXT:    tensor.insert_slice %{{.*}} into %[[FIRST]]
// CHECK:         %[[SECOND:.*]] = linalg.fill
// CHECK-NEXT:    tensor.insert_slice %{{.*}} into %[[SECOND]]
// CHECK-NEXT:    return %{{.*}}, %{{.*}}, %[[READ]]
func.func @zeros(%x: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
  %a = tensor.insert_slice %x into %zeros[0] [4] [1] : tensor<4xf32> into tensor<8xf32>
  %b = tensor.insert_slice %x into %zeros[4] [4] [1] : tensor<4xf32> into tensor<8xf32>
  return %a, %b, %zeros : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// A tensor written in slices remains one array, and the slices are inserted in place.

// CHECK-LABEL: func.func @slices(
// CHECK:         %[[EMPTY:.*]] = tensor.empty() : tensor<8xf32>
// CHECK-NOT:     tensor.empty
// CHECK:         tensor.extract_slice %[[EMPTY]]
// CHECK:         tensor.insert_slice %{{.*}} into %[[EMPTY]]
func.func @slices(%x: tensor<4xf32>) -> tensor<8xf32> {
  %empty = tensor.empty() : tensor<8xf32>
  %into = tensor.extract_slice %empty[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %a = linalg.exp ins(%x : tensor<4xf32>) outs(%into : tensor<4xf32>) -> tensor<4xf32>
  %b = tensor.insert_slice %a into %empty[0] [4] [1] : tensor<4xf32> into tensor<8xf32>
  return %b : tensor<8xf32>
}
