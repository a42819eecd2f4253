// RUN: bppsa-opt %s -bppsa-bufferize | FileCheck %s

// Globals are numbered in module order, even if functions are bufferized in another order.

// CHECK-DAG: memref.global "private" constant @__constant_2xf32 : memref<2xf32> = dense<[1.000000e+00, 2.000000e+00]>
// CHECK-DAG: memref.global "private" constant @__constant_2xf32_0 : memref<2xf32> = dense<[3.000000e+00, 4.000000e+00]>
// CHECK-DAG: memref.global "private" constant @__constant_2xf32_1 : memref<2xf32> = dense<[5.000000e+00, 6.000000e+00]>
// CHECK-DAG: memref.global "private" constant @__constant_2xf32_2 : memref<2xf32> = dense<[7.000000e+00, 8.000000e+00]>
func.func @a() -> tensor<2xf32> {
  %0 = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @b() -> tensor<2xf32> {
  %0 = arith.constant dense<[3.0, 4.0]> : tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @c() -> tensor<2xf32> {
  %0 = arith.constant dense<[5.0, 6.0]> : tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @d() -> tensor<2xf32> {
  %0 = arith.constant dense<[7.0, 8.0]> : tensor<2xf32>
  return %0 : tensor<2xf32>
}
