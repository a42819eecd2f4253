// RUN: bppsa-opt %s --convert-device-to-nvvm | FileCheck %s

#rolled = #llvm.loop_annotation<unroll = <disable = true>>

// Math functions with GPU instructions become intrinsics, not calls to libdevice.

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

  // A division whose divisor is known to be a normal number has no branch.

  // CHECK-LABEL: llvm.func @divide(
  // CHECK-SAME:      %[[X:[^:]*]]: f32, %[[Y:[^:]*]]: f32
  // CHECK:         %[[R:.*]] = nvvm.rcp.approx.ftz.f %[[Y]]
  // CHECK:         %[[Q:.*]] = llvm.fmul %[[X]], %[[R]]
  // CHECK:         %[[MINUS:.*]] = llvm.fneg %[[Y]]
  // CHECK:         %[[REST:.*]] = llvm.intr.fma(%[[MINUS]], %[[Q]], %[[X]])
  // CHECK:         %[[Z:.*]] = llvm.intr.fma(%[[REST]], %[[R]], %[[Q]])
  // CHECK:         llvm.fdiv %[[Z]], %[[Y]]
  gpu.func @divide(%x: f32, %y: f32, %out: memref<1xf32>) kernel {
    %c0 = arith.constant 0 : index
    %0 = arith.divf %x, %y fastmath<arcp> : f32
    %1 = arith.divf %0, %y : f32
    memref.store %1, %out[%c0] : memref<1xf32>
    gpu.return
  }

  // Asynchronous copies to shared memory, and groups of them. Shared arrays are aligned to the
  // widest load.

  // CHECK:         llvm.mlir.global internal @__wg_ahead_0() {addr_space = 3 : i32, alignment = 16 : i64}
  // CHECK-LABEL: llvm.func @ahead(
  // CHECK:         nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 4, cache = ca
  // CHECK:         nvvm.cp.async.commit.group
  // CHECK:         nvvm.cp.async.wait.group 6
  gpu.func @ahead(%x: memref<?xf32>) workgroup(%shared: memref<32xf32, #gpu.address_space<workgroup>>) kernel {
    %thread = gpu.thread_id x
    %0 = nvgpu.device_async_copy %x[%thread], %shared[%thread], 1
        : memref<?xf32> to memref<32xf32, #gpu.address_space<workgroup>>
    %1 = nvgpu.device_async_create_group
    nvgpu.device_async_wait %1 {numGroups = 6 : i32}
    gpu.return
  }

  // A block of one warp needs no block barrier. Small blocks with barriers may use all registers.

  // CHECK-LABEL: llvm.func @one_warp(
  // CHECK-SAME:      nvvm.minctasm = 1 : i32
  // CHECK:         %[[ALL:.*]] = llvm.mlir.constant(-1 : i32)
  // CHECK-NEXT:    nvvm.bar.warp.sync %[[ALL]]
  gpu.func @one_warp() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    gpu.barrier
    gpu.return
  }

  // CHECK-LABEL: llvm.func @two_warps(
  // CHECK-SAME:      nvvm.minctasm = 1 : i32
  // CHECK:         nvvm.barrier
  gpu.func @two_warps() kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    gpu.barrier
    gpu.return
  }

  // CHECK-LABEL: llvm.func @eight_warps(
  // CHECK-NOT:     nvvm.minctasm
  // CHECK:         nvvm.barrier
  gpu.func @eight_warps() kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    gpu.barrier
    gpu.return
  }

  // CHECK-LABEL: llvm.func @waits_for_nobody(
  // CHECK-NOT:     nvvm.minctasm
  // CHECK:         llvm.return
  gpu.func @waits_for_nobody() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
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

  // A loop marked as not unrolled is not unrolled by LLVM either.

  // CHECK-LABEL: llvm.func @rolled(
  // CHECK:         llvm.cond_br %{{.*}}, ^[[BODY:.*]], ^
  // CHECK:       ^[[BODY]]:
  // CHECK:         llvm.br ^{{.*}}(%{{.*}} : i64) {loop_annotation = #{{.*}}}
  gpu.func @rolled(%n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    cf.br ^head(%c0 : index)
  ^head(%i: index):
    %goesOn = arith.cmpi slt, %i, %n : index
    cf.cond_br %goesOn, ^body, ^end
  ^body:
    %next = arith.addi %i, %c1 : index
    cf.br ^head(%next : index) {llvm.loop_annotation = #rolled}
  ^end:
    gpu.return
  }
}
