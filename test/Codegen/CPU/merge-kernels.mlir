// RUN: bppsa-opt %s --bppsa-merge-kernels --split-input-file --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// Kernels that differ only in names and locations are merged; the result has the locations of both.

// CHECK-LABEL: func @equal(
// CHECK:         gpu.launch_func @device::@one {{.*}} args(%{{.*}} : memref<?xf32>) loc("first")
// CHECK:         gpu.launch_func @device::@one {{.*}} args(%{{.*}} : memref<?xf32>) loc("second")
// CHECK:       gpu.module @device
// CHECK:         gpu.func @one(
// CHECK:           memref.store {{.*}} loc(fused["a", "b"])
// CHECK-NEXT:      gpu.return loc("end")
// CHECK-NOT:     gpu.func
module attributes {gpu.container_module} {
  func.func @equal(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @device::@one blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>) loc("first")
    gpu.launch_func @device::@two blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1) args(%y : memref<?xf32>) loc("second")
    return
  }
  gpu.module @device {
    gpu.func @one(%x: memref<?xf32>) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
      %i = gpu.block_id x
      %zero = arith.constant 0.0 : f32
      memref.store %zero, %x[%i] : memref<?xf32> loc("a")
      gpu.return loc("end")
    }
    gpu.func @two(%x: memref<?xf32>) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
      %i = gpu.block_id x
      %zero = arith.constant 0.0 : f32
      memref.store %zero, %x[%i] : memref<?xf32> loc("b")
      gpu.return loc("end")
    }
  }
}

// -----

// Kernels that differ in body, block size or workgroup arrays are not merged.

// CHECK-LABEL: func @different(
// CHECK:         gpu.launch_func @device::@small
// CHECK:         gpu.launch_func @device::@large
// CHECK:         gpu.launch_func @device::@other
// CHECK:         gpu.launch_func @device::@array
module attributes {gpu.container_module} {
  func.func @different(%x: memref<?xf32>, %n: index) {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    gpu.launch_func @device::@small blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
    gpu.launch_func @device::@large blocks in (%n, %c1, %c1) threads in (%c2, %c1, %c1) args(%x : memref<?xf32>)
    gpu.launch_func @device::@other blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
    gpu.launch_func @device::@array blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
    return
  }
  gpu.module @device {
    gpu.func @small(%x: memref<?xf32>) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
      %i = gpu.block_id x
      %zero = arith.constant 0.0 : f32
      memref.store %zero, %x[%i] : memref<?xf32>
      gpu.return
    }
    gpu.func @large(%x: memref<?xf32>) kernel attributes {known_block_size = array<i32: 2, 1, 1>} {
      %i = gpu.block_id x
      %zero = arith.constant 0.0 : f32
      memref.store %zero, %x[%i] : memref<?xf32>
      gpu.return
    }
    gpu.func @other(%x: memref<?xf32>) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
      %i = gpu.block_id x
      %one = arith.constant 1.0 : f32
      memref.store %one, %x[%i] : memref<?xf32>
      gpu.return
    }
    gpu.func @array(%x: memref<?xf32>) workgroup(%shared: memref<4xf32, #gpu.address_space<workgroup>>) kernel
        attributes {known_block_size = array<i32: 1, 1, 1>} {
      %i = gpu.block_id x
      %zero = arith.constant 0.0 : f32
      memref.store %zero, %x[%i] : memref<?xf32>
      gpu.return
    }
  }
}
