// RUN: bppsa-opt %s --bgpu-insert-barriers --split-input-file | FileCheck %s
// RUN: bppsa-opt %s --bgpu-insert-barriers --split-input-file --remarks-filter=barriers 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: bppsa-opt %s --bgpu-insert-barriers --bgpu-verify-barriers --split-input-file -o /dev/null

!array = memref<4x32xf32, #gpu.address_space<workgroup>>

// Accesses to data of a single warp need only a warp barrier. A warp barrier does not order
// accesses with other warps.

// REMARK: Function=warps | Remark="kernel: 2 barriers, 1 of them for single warps"
// CHECK-LABEL: func @warps(
// CHECK:           memref.store
// CHECK:           bgpu.warp_barrier
// CHECK-NEXT:      bgpu.for_each [4, 32] ->
// CHECK-NOT:       barrier
// CHECK:           memref.load
// CHECK:           gpu.barrier
// CHECK-NEXT:      bgpu.for_each [32, 4] ->
// CHECK:           gpu.barrier
// CHECK-NEXT:      bgpu.for_each [4, 32]
// CHECK-NOT:       barrier
func.func @warps(%n: index, %tile: tensor<4x32xf32>) {
  %c0 = arith.constant 0 : index
  %c31 = arith.constant 31 : index
  bgpu.kernel blocks(%block in %n) threads(128) {
    %a = memref.alloc() : !array
    bgpu.for_each [4, 32] %tile : tensor<4x32xf32> {
    ^bb0(%warp: index, %lane: index, %value: f32):
      %last = arith.subi %c31, %lane : index
      memref.store %value, %a[%warp, %last] : !array
    }
    %own = bgpu.for_each [4, 32] -> tensor<4x32xf32> {
    ^bb0(%warp: index, %lane: index):
      %0 = memref.load %a[%warp, %c0] : !array
      bgpu.yield %0 : f32
    }
    %any = bgpu.for_each [32, 4] -> tensor<32x4xf32> {
    ^bb0(%i: index, %j: index):
      %0 = memref.load %a[%j, %i] : !array
      bgpu.yield %0 : f32
    }
    bgpu.for_each [4, 32] %own : tensor<4x32xf32> {
    ^bb0(%warp: index, %lane: index, %value: f32):
      memref.store %value, %a[%warp, %c31] : !array
    }
  }
  return
}

// -----

!array = memref<4x32xf32, #gpu.address_space<workgroup>>

// Rows of a tile belong to warps if the tile starts at the first row of the array and 32 threads
// hold each row, even if several threads hold one element.

// REMARK: Function=tiles | Remark="kernel: 1 barriers, 2 of them for single warps"
// CHECK-LABEL: func @tiles(
// CHECK:           bgpu.put %{{.*}}[0]
// CHECK-NEXT:      bgpu.warp_barrier
// CHECK-NEXT:      bgpu.for_each [4, 16, 2] ->
// CHECK:           bgpu.warp_barrier
// CHECK-NEXT:      bgpu.for_each [4, 16] replicas(2)
// CHECK:           gpu.barrier
// CHECK-NEXT:      bgpu.get %{{.*}}[1]
// CHECK-NOT:       barrier
func.func @tiles(%n: index, %tile: tensor<4x32xf32>, %half: tensor<4x16xf32, #bgpu.replicated<2>>) {
  %c0 = arith.constant 0 : index
  bgpu.kernel blocks(%block in %n) threads(128) {
    %a = memref.alloc() : !array
    bgpu.put %tile, %a[0] : tensor<4x32xf32>, !array
    %own = bgpu.for_each [4, 16, 2] -> tensor<4x16x2xf32> {
    ^bb0(%warp: index, %i: index, %j: index):
      %0 = memref.load %a[%warp, %c0] : !array
      bgpu.yield %0 : f32
    }
    bgpu.for_each [4, 16] replicas(2) %half : tensor<4x16xf32, #bgpu.replicated<2>> {
    ^bb0(%warp: index, %i: index, %value: f32):
      memref.store %value, %a[%warp, %i] : !array
    }
    %others = bgpu.get %a[1] : !array -> tensor<2x32xf32>
  }
  return
}

// -----

!array = memref<4x32xf32, #gpu.address_space<workgroup>>

// Other arrays with the same number of rows do not belong to warps: a view that starts after the
// first row, and rows held by fewer than 32 threads.

// REMARK: Function=others | Remark="kernel: 2 barriers"
// CHECK-LABEL: func @others(
// CHECK:           gpu.barrier
// CHECK-NEXT:      bgpu.for_each [2, 32]
// CHECK:           gpu.barrier
// CHECK-NEXT:      bgpu.for_each [4, 16]
// CHECK-NOT:       barrier
func.func @others(%n: index, %tile: tensor<4x32xf32>) {
  %c0 = arith.constant 0 : index
  bgpu.kernel blocks(%block in %n) threads(128) {
    %a = memref.alloc() : !array
    %rest = memref.subview %a[2, 0] [2, 32] [1, 1] : !array to memref<2x32xf32, strided<[32, 1], offset: 64>, #gpu.address_space<workgroup>>
    bgpu.put %tile, %a[0] : tensor<4x32xf32>, !array
    %0 = bgpu.for_each [2, 32] -> tensor<2x32xf32> {
    ^bb0(%warp: index, %lane: index):
      %1 = memref.load %rest[%warp, %lane] : memref<2x32xf32, strided<[32, 1], offset: 64>, #gpu.address_space<workgroup>>
      memref.store %1, %a[%warp, %c0] : !array
      bgpu.yield %1 : f32
    }
    bgpu.for_each [4, 16] {
    ^bb0(%i: index, %j: index):
      %1 = memref.load %a[%i, %c0] : !array
    }
  }
  return
}

// -----

!array = memref<2x4x8xf32, #gpu.address_space<workgroup>>

// Each iteration of the inner loop writes its own part of the elements of a warp. Reads after the
// inner loop wait once. Writes in the next iteration of the outer loop wait at the end of the
// current one.

// REMARK: Function=parts | Remark="kernel: 0 barriers, 2 of them for single warps"
// CHECK-LABEL: func @parts(
// CHECK:           scf.for
// CHECK-NEXT:        scf.for
// CHECK-NOT:           barrier
// CHECK:             bgpu.warp_barrier
// CHECK-NEXT:        bgpu.for_each [2, 32] ->
// CHECK:             bgpu.warp_barrier
// CHECK-NEXT:      }
// CHECK-NOT:       barrier
func.func @parts(%n: index, %tile: tensor<2x8xf32, #bgpu.replicated<4>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  bgpu.kernel blocks(%block in %n) threads(64) {
    %a = memref.alloc() : !array
    scf.for %i = %c0 to %n step %c1 {
      scf.for %part = %c0 to %c4 step %c1 {
        bgpu.for_each [2, 8] replicas(4) %tile : tensor<2x8xf32, #bgpu.replicated<4>> {
        ^bb0(%warp: index, %j: index, %value: f32):
          memref.store %value, %a[%warp, %part, %j] : !array
        }
      }
      %own = bgpu.for_each [2, 32] -> tensor<2x32xf32> {
      ^bb0(%warp: index, %lane: index):
        %part = arith.divui %lane, %c8 : index
        %j = arith.remui %lane, %c8 : index
        %0 = memref.load %a[%warp, %part, %j] : !array
        bgpu.yield %0 : f32
      }
    }
  }
  return
}

// -----

// A grid barrier also acts as a block barrier. Slots indexed by the iteration number are disjoint
// if an index shows it, as for views. A fence is not an access.

// REMARK: Function=blocks | Remark="kernel: 1 barriers"
// CHECK-LABEL: func @blocks(
// CHECK:           scf.for
// CHECK-NOT:         gpu.barrier
// CHECK:             memref.store
// CHECK:             bgpu.grid_barrier
// CHECK-NOT:         gpu.barrier
// CHECK:             vector.load
// CHECK-NOT:         gpu.barrier
// CHECK:           }
// CHECK:           gpu.barrier
// CHECK-NEXT:      bgpu.for_each
func.func @blocks(%n: index, %x: memref<2x4x32xf32>, %counters: memref<?x32xi32>, %first: tensor<32xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  bgpu.kernel blocks(%block in %n) threads(32) {
    %last:2 = scf.for %i = %c0 to %n step %c1 iter_args(%tile = %first, %passed = %zero) -> (tensor<32xf32>, i32) {
      %slot = arith.andi %i, %c1 : index
      bgpu.for_each [32] %tile : tensor<32xf32> {
      ^bb0(%j: index, %value: f32):
        memref.store %value, %x[%slot, %block, %c0] : memref<2x4x32xf32>
      }
      %count = arith.addi %passed, %one : i32
      bgpu.grid_barrier %counters[%c0] until %count : memref<?x32xi32>
      %next = bgpu.for_each [32] -> tensor<32xf32> {
      ^bb0(%j: index):
        %0 = vector.load %x[%slot, %c0, %j] : memref<2x4x32xf32>, vector<1xf32>
        llvm.fence syncscope("block") acq_rel
        %1 = vector.extract %0[0] : f32 from vector<1xf32>
        bgpu.yield %1 : f32
      }
      scf.yield %next, %count : tensor<32xf32>, i32
    }
    bgpu.for_each [32] %last#0 : tensor<32xf32> {
    ^bb0(%j: index, %value: f32):
      memref.store %value, %x[%c0, %c0, %j] : memref<2x4x32xf32>
    }
  }
  return
}

// -----

// A vector load covers more than the element of the current iteration.

// REMARK: Function=vectors | Remark="kernel: 2 barriers"
// CHECK-LABEL: func @vectors(
// CHECK:             vector.load
// CHECK:             gpu.barrier
// CHECK-NEXT:        bgpu.for_each
// CHECK:             gpu.barrier
// CHECK-NEXT:      }
func.func @vectors(%n: index, %x: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  bgpu.kernel blocks(%block in %n) threads(32) {
    scf.for %i = %c0 to %n step %c1 {
      %tile = bgpu.for_each [32] -> tensor<32xf32> {
      ^bb0(%j: index):
        %0 = vector.load %x[%i] : memref<64xf32>, vector<4xf32>
        %1 = vector.extract %0[3] : f32 from vector<4xf32>
        bgpu.yield %1 : f32
      }
      bgpu.for_each [32] %tile : tensor<32xf32> {
      ^bb0(%j: index, %value: f32):
        memref.store %value, %x[%i] : memref<64xf32>
      }
    }
  }
  return
}
