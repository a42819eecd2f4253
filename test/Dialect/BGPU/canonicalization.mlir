// RUN: bppsa-opt %s --canonicalize | FileCheck %s

#shared = #gpu.address_space<workgroup>

// Unused values are removed, and a kernel without writes is not launched.

// CHECK-LABEL: func @unused(
// CHECK-NEXT:    return
func.func @unused(%n: index, %x: memref<4x8xf32>) {
  bgpu.kernel blocks(%block in %n) threads(32) {
    %tile = tensor.generate {
    ^bb0(%i: index, %j: index):
      %0 = memref.load %x[%i, %j] : memref<4x8xf32>
      tensor.yield %0 : f32
    } : tensor<4x8xf32>
    %total = bgpu.reduce <add> %tile : tensor<4x8xf32> -> tensor<1x8xf32>
    bgpu.for_each [1, 8] %total : tensor<1x8xf32> {
    ^bb0(%i: index, %j: index, %sum: f32):
    }
  }
  return
}

// Writes to shared memory and barriers are kept.

// CHECK-LABEL: func @used(
// CHECK:         bgpu.kernel
// CHECK-NOT:       bgpu.get
// CHECK:           bgpu.put
// CHECK:           gpu.barrier
// CHECK:           %[[READ:.*]] = bgpu.get %{{.*}}[3]
// CHECK:           bgpu.for_each [1, 8] %[[READ]]
func.func @used(%n: index, %x: memref<4x8xf32>) {
  bgpu.kernel blocks(%block in %n) threads(32) {
    %buffer = memref.alloc() : memref<4x8xf32, #shared>
    %tile = arith.constant dense<1.0> : tensor<4x8xf32>
    %unused = bgpu.get %buffer[0] : memref<4x8xf32, #shared> -> tensor<4x8xf32>
    bgpu.put %tile, %buffer[0] : tensor<4x8xf32>, memref<4x8xf32, #shared>
    gpu.barrier
    %read = bgpu.get %buffer[3] : memref<4x8xf32, #shared> -> tensor<1x8xf32>
    bgpu.for_each [1, 8] %read : tensor<1x8xf32> {
    ^bb0(%i: index, %j: index, %value: f32):
      memref.store %value, %x[%i, %j] : memref<4x8xf32>
    }
  }
  return
}
