// RUN: bppsa-opt %s --convert-gpu-launch-to-call --split-input-file --verify-diagnostics | FileCheck %s

// Each kernel has a launch function, whose arguments are the grid and block sizes and the arguments
// of the kernel.

// CHECK-LABEL: module attributes {gpu.container_module}
// CHECK:         func private @bppsa_launch_scale(index, index, memref<?xf32>, f32)
// CHECK-NOT:     func private @bppsa_launch_scale
// CHECK:         func @f(%[[A:.*]]: memref<?xf32>, %[[N:.*]]: index)
// CHECK:           %[[THREADS:.*]] = arith.constant 128 : index
// CHECK:           %[[FACTOR:.*]] = arith.constant 2.000000e+00 : f32
// CHECK:           call @bppsa_launch_scale(%[[N]], %[[THREADS]], %[[A]], %[[FACTOR]])
// CHECK:           scf.for
// CHECK:             call @bppsa_launch_scale(%[[N]], %[[THREADS]], %[[A]], %[[FACTOR]])
// CHECK-NOT:       gpu.launch_func
// CHECK:         gpu.module @device
// CHECK:           gpu.func @scale
module attributes {gpu.container_module} {
  func.func @f(%a: memref<?xf32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %two = arith.constant 2.0 : f32
    gpu.launch_func @device::@scale blocks in (%n, %c1, %c1) threads in (%c128, %c1, %c1)
        args(%a : memref<?xf32>, %two : f32)
    scf.for %i = %c0 to %n step %c1 {
      gpu.launch_func @device::@scale blocks in (%n, %c1, %c1) threads in (%c128, %c1, %c1)
          args(%a : memref<?xf32>, %two : f32)
    }
    return
  }
  gpu.module @device {
    gpu.func @scale(%a: memref<?xf32>, %factor: f32) kernel {
      gpu.return
    }
  }
}

// -----

module attributes {gpu.container_module} {
  func.func @plane(%n: index) {
    %c1 = arith.constant 1 : index
    // expected-error @below {{has a grid or block of more than one dimension}}
    gpu.launch_func @device::@k blocks in (%n, %n, %c1) threads in (%c1, %c1, %c1)
    return
  }
  gpu.module @device {
    gpu.func @k() kernel {
      gpu.return
    }
  }
}

// -----

// A kernel with acquire loads is launched cooperatively, because its blocks wait for each other.

// CHECK-LABEL:   func @g
// CHECK:           call @bppsa_launch_cooperative_wait(
module attributes {gpu.container_module} {
  func.func @g(%n: index) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @device::@wait blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1)
    return
  }
  gpu.module @device {
    gpu.func @wait() kernel {
      %null = llvm.mlir.zero : !llvm.ptr<1>
      %count = llvm.load %null atomic syncscope("device") acquire {alignment = 4} : !llvm.ptr<1> -> i32
      gpu.return
    }
  }
}
