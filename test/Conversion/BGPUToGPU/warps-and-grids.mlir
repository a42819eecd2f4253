// RUN: bppsa-opt %s --convert-bgpu-to-gpu --canonicalize --cse | FileCheck %s

// A reduce-scatter over four threads: each thread keeps half of its elements and sends the other
// half. Two threads end up with the same sum.

// CHECK-LABEL: func @scatter(
// CHECK-SAME:      %{{.*}}: index, %[[X:.*]]: memref<8x4x2xf32>, %[[Y:.*]]: memref<8x2xf32>)
// CHECK:         gpu.launch blocks({{.*}}) in {{.*}} threads(%[[THREAD:[^,]*]],
// CHECK:           %[[A:.*]] = memref.load %[[X]]
// CHECK:           %[[B:.*]] = memref.load %[[X]]
// CHECK:           %[[BIT:.*]] = arith.andi %[[THREAD]], %c2
// CHECK:           %[[LOWER:.*]] = arith.cmpi eq, %[[BIT]], %c0
// CHECK:           %[[SENT:.*]] = arith.select %[[LOWER]], %[[B]], %[[A]]
// CHECK:           %[[KEPT:.*]] = arith.select %[[LOWER]], %[[A]], %[[B]]
// CHECK:           %[[OTHER:.*]], %{{.*}} = gpu.shuffle xor %[[SENT]], %c2_i32, %c32_i32
// CHECK:           %[[SUM:.*]] = arith.addf %[[KEPT]], %[[OTHER]]
// CHECK:           %[[LAST:.*]], %{{.*}} = gpu.shuffle xor %[[SUM]], %c1_i32, %c32_i32
// CHECK:           %[[TOTAL:.*]] = arith.addf %[[SUM]], %[[LAST]]
// CHECK-NOT:       gpu.shuffle
// CHECK:           memref.store %[[TOTAL]], %[[Y]]
func.func @scatter(%n: index, %x: memref<8x4x2xf32>, %y: memref<8x2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  bgpu.kernel blocks(%block in %n) threads(32) {
    %parts = bgpu.for_each [8, 4] -> tensor<8x4xvector<2xf32>> {
    ^bb0(%i: index, %j: index):
      %0 = memref.load %x[%i, %j, %c0] : memref<8x4x2xf32>
      %1 = memref.load %x[%i, %j, %c1] : memref<8x4x2xf32>
      %2 = vector.from_elements %0, %1 : vector<2xf32>
      bgpu.yield %2 : vector<2xf32>
    }
    %sums = bgpu.reduce_scatter <add> %parts : tensor<8x4xvector<2xf32>> -> tensor<8x2xf32, #bgpu.replicated<2>>
    bgpu.for_each [8, 2] replicas(2) %sums : tensor<8x2xf32, #bgpu.replicated<2>> {
    ^bb0(%i: index, %j: index, %sum: f32):
      memref.store %sum, %y[%i, %j] : memref<8x2xf32>
    }
  }
  return
}

// A warp barrier synchronizes one warp. A group of blocks waits at its counter: between two block
// barriers, the first thread of each block increments it.

// CHECK-LABEL: func @barriers(
// CHECK-SAME:      %{{.*}}: index, %[[COUNTERS:.*]]: memref<?x32xi32>, %[[COUNT:.*]]: i32)
// CHECK:         gpu.launch blocks(%[[BLOCK:[^,]*]], {{.*}}) in {{.*}} threads(%[[THREAD:[^,]*]],
// CHECK:           nvvm.bar.warp.sync %c-1_i32
// CHECK-NEXT:      gpu.barrier
// CHECK:           %[[FIRST:.*]] = arith.cmpi eq, %[[THREAD]], %c0
// CHECK-NEXT:      scf.if %[[FIRST]] {
// CHECK:             memref.extract_aligned_pointer_as_index %[[COUNTERS]]
// CHECK:             arith.muli %[[BLOCK]], %c128
// CHECK:             %[[COUNTER:.*]] = llvm.inttoptr %{{.*}} : i64 to !llvm.ptr<1>
// CHECK:             llvm.fence syncscope("device") acq_rel
// CHECK-NEXT:        llvm.atomicrmw add %[[COUNTER]], %c1_i32 syncscope("device") monotonic
// CHECK:             scf.while
// CHECK-NEXT:          %[[FOUND:.*]] = llvm.load %[[COUNTER]] atomic syncscope("device") acquire
// CHECK-NEXT:          arith.cmpi ult, %[[FOUND]], %[[COUNT]]
// CHECK:           gpu.barrier
// CHECK-NEXT:      gpu.terminator
func.func @barriers(%n: index, %counters: memref<?x32xi32>, %count: i32) {
  bgpu.kernel blocks(%block in %n) threads(64) {
    bgpu.warp_barrier
    bgpu.grid_barrier %counters[%block] until %count : memref<?x32xi32>
  }
  return
}

// In kernels of many one-warp blocks, a block barrier becomes a warp barrier, because kernels with
// block barriers are given all registers.

// CHECK-LABEL: func private @many(
// CHECK:         gpu.launch
// CHECK-NOT:       gpu.barrier
// CHECK:           nvvm.bar.warp.sync
// CHECK:           gpu.terminator
func.func private @many(%n: index, %x: memref<?xf32>) {
  bgpu.kernel blocks(%block in %n) threads(32) {
    gpu.barrier
    bgpu.for_each [32] {
    ^bb0(%i: index):
      %zero = arith.constant 0.0 : f32
      memref.store %zero, %x[%i] : memref<?xf32>
    }
  } {many_blocks}
  return
}
