// RUN: bppsa-opt %s --convert-device-to-nvvm | FileCheck %s

// What a GPU has instructions for becomes intrinsics; libdevice is not called.

// CHECK-LABEL: gpu.module @device
// CHECK-NOT:     __nv_
gpu.module @device {
  // CHECK-LABEL: llvm.func @math(
  // CHECK-SAME:      %[[X:[^:]*]]: f32
  // CHECK-SAME:      nvvm.kernel
  // CHECK:         %[[ROOT:.*]] = llvm.intr.sqrt(%[[X]]) : (f32) -> f32
  // CHECK:         %[[FMA:.*]] = llvm.intr.fma(%[[ROOT]], %[[X]], %[[X]])
  // CHECK:         %[[ABS:.*]] = llvm.intr.fabs(%[[FMA]])
  // CHECK:         llvm.intr.floor(%[[ABS]])
  gpu.func @math(%x: f32, %out: memref<1xf32>) kernel {
    %c0 = arith.constant 0 : index
    %0 = math.sqrt %x : f32
    %1 = math.fma %0, %x, %x : f32
    %2 = math.absf %1 : f32
    %3 = math.floor %2 : f32
    memref.store %3, %out[%c0] : memref<1xf32>
    gpu.return
  }

  // Arrays of a block are in shared memory, and indices have 64 bits.

  // CHECK: llvm.mlir.global internal @[[$SHARED:.*]]() {{{.*}}addr_space = 3 : i32{{.*}}} : !llvm.array<128 x f32>
  // CHECK-LABEL: llvm.func @block(
  // CHECK-DAG:     nvvm.read.ptx.sreg.tid.x
  // CHECK-DAG:     llvm.mlir.addressof @[[$SHARED]] : !llvm.ptr<3>
  // CHECK:         llvm.store %{{.*}}, %{{.*}} : f32, !llvm.ptr<3>
  // CHECK:         nvvm.barrier
  // CHECK:         nvvm.shfl.sync bfly
  gpu.func @block(%x: f32, %out: memref<?xf32>) workgroup(%shared: memref<128xf32, #gpu.address_space<workgroup>>) kernel {
    %one = arith.constant 1 : i32
    %warp = arith.constant 32 : i32
    %c0 = arith.constant 0 : index
    %thread = gpu.thread_id x
    memref.store %x, %shared[%thread] : memref<128xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %y = memref.load %shared[%c0] : memref<128xf32, #gpu.address_space<workgroup>>
    %z, %valid = gpu.shuffle xor %y, %one, %warp : f32
    memref.store %z, %out[%thread] : memref<?xf32>
    gpu.return
  }
}
