// RUN: bppsa-opt %s --bgpu-verify-barriers --split-input-file --verify-diagnostics
// RUN: bppsa-opt %s --bgpu-insert-barriers --bgpu-verify-barriers --split-input-file | FileCheck %s

!array = memref<4x8xf32, #gpu.address_space<workgroup>>

// A thread reads an element that another thread has written.

// CHECK-LABEL: func @reads(
func.func @reads(%n: index, %tile: tensor<4x8xf32>) {
  bgpu.kernel blocks(%block in %n) threads(32) {
    %a = memref.alloc() : !array
    bgpu.put %tile, %a[0] : tensor<4x8xf32>, !array
    %own = bgpu.get %a[0] : !array -> tensor<1x8xf32>
    // expected-error @below {{needs a barrier before it, between accesses of different threads that include a write; run bgpu-insert-barriers}}
    %other = bgpu.get %a[1] : !array -> tensor<1x8xf32>
  }
  return
}

// -----

!array = memref<4x8xf32, #gpu.address_space<workgroup>>

// Only the first iteration depends on an access before the loop.

// CHECK-LABEL: func @first(
func.func @first(%n: index, %tile: tensor<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  bgpu.kernel blocks(%block in %n) threads(32) {
    %a = memref.alloc() : !array
    bgpu.put %tile, %a[0] : tensor<4x8xf32>, !array
    // expected-error @below {{needs a barrier before its first iteration}}
    scf.for %i = %c0 to %n step %c1 {
      %last = bgpu.get %a[3] : !array -> tensor<1x8xf32>
    }
  }
  return
}

// -----

!array = memref<4x8xf32, #gpu.address_space<workgroup>>

// An iteration overwrites elements that threads may still read in the previous one.

// CHECK-LABEL: func @between(
func.func @between(%n: index, %tile: tensor<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  bgpu.kernel blocks(%block in %n) threads(32) {
    %a = memref.alloc() : !array
    // expected-error @below {{needs a barrier between its iterations}}
    scf.for %i = %c0 to %n step %c1 {
      bgpu.put %tile, %a[0] : tensor<4x8xf32>, !array
      gpu.barrier
      %last = bgpu.get %a[3] : !array -> tensor<1x8xf32>
    }
  }
  return
}

// -----

!array = memref<4x8xf32, #gpu.address_space<workgroup>>

// Explicit barriers are accepted if they are sufficient.

// CHECK-LABEL: func @complete(
// CHECK-COUNT-2: gpu.barrier
// CHECK-NOT:     gpu.barrier
func.func @complete(%n: index, %tile: tensor<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  bgpu.kernel blocks(%block in %n) threads(32) {
    %a = memref.alloc() : !array
    scf.for %i = %c0 to %n step %c1 {
      bgpu.put %tile, %a[0] : tensor<4x8xf32>, !array
      gpu.barrier
      %last = bgpu.get %a[3] : !array -> tensor<1x8xf32>
      gpu.barrier
    }
  }
  return
}

// -----

!array = memref<4x32xf32, #gpu.address_space<workgroup>>

// A warp barrier is sufficient only for data of a single warp.

// CHECK-LABEL: func @warps(
func.func @warps(%n: index, %tile: tensor<4x32xf32>) {
  %c0 = arith.constant 0 : index
  bgpu.kernel blocks(%block in %n) threads(128) {
    %a = memref.alloc() : !array
    %b = memref.alloc() : !array
    bgpu.put %tile, %a[0] : tensor<4x32xf32>, !array
    bgpu.warp_barrier
    bgpu.put %tile, %b[0] : tensor<4x32xf32>, !array
    // expected-error @below {{needs a barrier of its warp before it, between accesses of different threads}}
    bgpu.for_each [4, 32] {
    ^bb0(%warp: index, %lane: index):
      %0 = memref.load %a[%warp, %c0] : !array
      %1 = memref.load %b[%warp, %c0] : !array
    }
  }
  return
}

// -----

!array = memref<4x32xf32, #gpu.address_space<workgroup>>

// CHECK-LABEL: func @other_warps(
func.func @other_warps(%n: index, %tile: tensor<4x32xf32>) {
  bgpu.kernel blocks(%block in %n) threads(128) {
    %a = memref.alloc() : !array
    bgpu.put %tile, %a[0] : tensor<4x32xf32>, !array
    bgpu.warp_barrier
    // expected-error @below {{needs a barrier before it, between accesses of different threads}}
    %last = bgpu.get %a[3] : !array -> tensor<1x32xf32>
  }
  return
}
