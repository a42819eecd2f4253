// RUN: bppsa-opt %s --bgpu-insert-barriers --split-input-file | FileCheck %s
// RUN: bppsa-opt %s --bgpu-insert-barriers --split-input-file --remarks-filter=barriers 2>&1 | FileCheck %s --check-prefix=REMARK

!array = memref<4x8xf32, #gpu.address_space<workgroup>>

// A thread reads what it has written itself without a barrier, and what others have with one, which
// reads in front of it share. What it overwrites, others have read.

// REMARK: Function=rows | Remark="kernel: 2 barriers"
// CHECK-LABEL: func @rows(
// CHECK:           bgpu.put %{{.*}}[0]
// CHECK-NEXT:      bgpu.get %{{.*}}[0] {{.*}} -> tensor<4x8xf32>
// CHECK-NEXT:      bgpu.put
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      bgpu.get %{{.*}}[0] {{.*}} -> tensor<2x8xf32>
// CHECK-NEXT:      bgpu.get %{{.*}}[2]
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      bgpu.put %{{.*}}[3]
// CHECK-NOT:       gpu.barrier
func.func @rows(%n: index, %tile: tensor<4x8xf32>, %row: tensor<1x8xf32>) {
  bgpu.kernel blocks(%block in %n) threads(32) {
    %a = memref.alloc() : !array
    bgpu.put %tile, %a[0] : tensor<4x8xf32>, !array
    %own = bgpu.get %a[0] : !array -> tensor<4x8xf32>
    bgpu.put %own, %a[0] : tensor<4x8xf32>, !array
    %first = bgpu.get %a[0] : !array -> tensor<2x8xf32>
    %second = bgpu.get %a[2] : !array -> tensor<2x8xf32>
    bgpu.put %row, %a[3] : tensor<1x8xf32>, !array
  }
  return
}

// -----

!array = memref<4x8xf32, #gpu.address_space<workgroup>>

// Rows without common elements, other arrays and reads alone need none; barriers that are there are
// used.

// REMARK: Function=none | Remark="kernel: 0 barriers"
// CHECK-LABEL: func @none(
// CHECK-COUNT-1: gpu.barrier
// CHECK-NOT:     gpu.barrier
func.func @none(%n: index, %half: tensor<2x8xf32>) {
  bgpu.kernel blocks(%block in %n) threads(32) {
    %a = memref.alloc() : !array
    %b = memref.alloc() : !array
    bgpu.put %half, %a[0] : tensor<2x8xf32>, !array
    bgpu.put %half, %a[2] : tensor<2x8xf32>, !array
    %other = bgpu.get %b[1] : !array -> tensor<2x8xf32>
    gpu.barrier
    %0 = bgpu.get %a[0] : !array -> tensor<4x8xf32>
    %1 = bgpu.get %a[1] : !array -> tensor<2x8xf32>
  }
  return
}

// -----

!array = memref<4x8xf32, #gpu.address_space<workgroup>>

// What an iteration reads the next one overwrites: a barrier stands before the writing, too.

// REMARK: Function=loop | Remark="kernel: 2 barriers"
// CHECK-LABEL: func @loop(
// CHECK:           scf.for
// CHECK-NEXT:        gpu.barrier
// CHECK-NEXT:        bgpu.put
// CHECK-NEXT:        gpu.barrier
// CHECK-NEXT:        bgpu.get
// CHECK-NOT:       gpu.barrier
func.func @loop(%n: index, %tile: tensor<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  bgpu.kernel blocks(%block in %n) threads(32) {
    %a = memref.alloc() : !array
    scf.for %i = %c0 to %n step %c1 {
      bgpu.put %tile, %a[0] : tensor<4x8xf32>, !array
      %last = bgpu.get %a[3] : !array -> tensor<1x8xf32>
    }
  }
  return
}
