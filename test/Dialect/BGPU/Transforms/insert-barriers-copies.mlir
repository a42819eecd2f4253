// RUN: bppsa-opt %s --bgpu-insert-barriers | FileCheck %s
// RUN: bppsa-opt %s --bgpu-insert-barriers --remarks-filter=barriers 2>&1 | FileCheck %s --check-prefix=REMARK

!ring = memref<4x32xf32, #gpu.address_space<workgroup>>
!slot = memref<32xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>

// A slot that copies overwrite was read in the previous iteration. One barrier covers these reads
// and the reads of the next iteration. After all threads have waited for a copy, the next copy may
// overwrite its slot. Copies do not wait for other copies.

// REMARK: Function=copies | Remark="kernel: 3 barriers"
// CHECK-LABEL: func @copies(
// CHECK:           bgpu.for_each [32]
// CHECK:           bgpu.wait
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      scf.for
// CHECK:             bgpu.for_each [32]
// CHECK:             bgpu.for_each [32] -> tensor<32xf32>
// CHECK:             bgpu.wait
// CHECK-NEXT:        gpu.barrier
// CHECK-NEXT:      }
// CHECK-NEXT:      nvgpu.device_async_create_group
// CHECK-NEXT:      bgpu.wait
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      bgpu.for_each [32]
// CHECK-NOT:       gpu.barrier
func.func @copies(%n: index, %x: memref<?x32xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  bgpu.kernel blocks(%block in %n) threads(32) {
    %ring = memref.alloc() : !ring
    bgpu.for_each [32] {
    ^bb0(%i: index):
      nvgpu.device_async_copy %x[%c0, %i], %ring[%c0, %i], 1 : memref<?x32xf32> to !ring
      nvgpu.device_async_copy %x[%c1, %i], %ring[%c1, %i], 1 : memref<?x32xf32> to !ring
    }
    %first = memref.subview %ring[%c0, 0] [1, 32] [1, 1] : !ring to !slot
    %group = nvgpu.device_async_create_group
    bgpu.wait %first groups(0) : !slot
    scf.for %i = %c0 to %n step %c1 {
      %ahead = arith.addi %i, %c3 : index
      %farSlot = arith.andi %ahead, %c3 : index
      bgpu.for_each [32] {
      ^bb0(%j: index):
        nvgpu.device_async_copy %x[%ahead, %j], %ring[%farSlot, %j], 1 : memref<?x32xf32> to !ring
      }
      %inLoop = nvgpu.device_async_create_group {}
      %slot = arith.andi %i, %c3 : index
      %own = memref.subview %ring[%slot, 0] [1, 32] [1, 1] : !ring to !slot
      %sums = bgpu.for_each [32] -> tensor<32xf32> {
      ^bb0(%j: index):
        %0 = memref.load %own[%c3] : !slot
        bgpu.yield %0 : f32
      }
      %after = arith.addi %i, %c1 : index
      %nextSlot = arith.andi %after, %c3 : index
      %next = memref.subview %ring[%nextSlot, 0] [1, 32] [1, 1] : !ring to !slot
      bgpu.wait %next groups(2) : !slot
    }
    %last = nvgpu.device_async_create_group
    bgpu.wait %ring groups(0) : !ring
    bgpu.for_each [32] {
    ^bb0(%i: index):
      nvgpu.device_async_copy %x[%c0, %i], %ring[%c0, %i], 1 : memref<?x32xf32> to !ring
    }
  }
  return
}
