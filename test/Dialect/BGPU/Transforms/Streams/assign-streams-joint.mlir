// RUN: bppsa-opt %s --bppsa-assign-streams=joint=true --bppsa-verify-streams | FileCheck %s
// RUN: bppsa-opt %s --bppsa-assign-streams=joint=true -o /dev/null --remarks-filter=schedule 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: bppsa-opt %s --bppsa-assign-streams | FileCheck %s --check-prefix=OWN
// RUN: not bppsa-opt %s --bppsa-assign-streams="joint=true size=0" 2>&1 | FileCheck %s --check-prefix=SIZE

// Constants of an H200: 132 multiprocessors with 4 schedulers, 0.505 ns for an instruction of 64
// operations, 4.8 bytes per picosecond, and 1.5 us per launch. A product of 1024 x 1024 matrices
// needs 2 * 1024^3 / 64 / 528 * 0.505 ns = 32.09 us to issue, 33.59 us in total. A copy of 4096 x
// 4096 elements needs 2 * 4 * 4096^2 / 4.8e6 us = 27.96 us of memory time, 29.46 us in total. Two
// concurrent products hide only the launch overhead, 3.00 us together. A product hides a copy
// completely.

// REMARK: weights runs in region 2 in place of 1, which hides 29.46 of its 33.59 us by the cost model
// REMARK-NOT: in place of
// REMARK: Function=step | Remark="2 of 5 launches of the backward pass on the sub stream, in 2 groups and 2 regions

// Both gradients run in parallel with the copy.
// CHECK-LABEL: func.func @step(
// CHECK:         call @subtract
// CHECK-NEXT:    call @product
// CHECK-NEXT:    bgpu.record_event 0
// CHECK-NEXT:    bgpu.select_stream 1
// CHECK-NEXT:    bgpu.wait_event 0
// CHECK-NEXT:    call @weights
// CHECK-NEXT:    call @bias
// CHECK-NEXT:    bgpu.record_event 1
// CHECK-NEXT:    bgpu.select_stream 0
// CHECK-NEXT:    call @double
// CHECK-NEXT:    bgpu.wait_event 1

// An operand of a gradient is overwritten before the copy, so the gradient runs earlier and the
// overwrite waits for it.
// CHECK-LABEL: func.func @changed(
// CHECK:         call @subtract
// CHECK-NEXT:    bgpu.record_event 0
// CHECK-NEXT:    bgpu.select_stream 1
// CHECK-NEXT:    bgpu.wait_event 0
// CHECK-NEXT:    call @weights
// CHECK-NEXT:    bgpu.record_event 2
// CHECK-NEXT:    bgpu.select_stream 0
// CHECK-NEXT:    bgpu.wait_event 2
// CHECK-NEXT:    call @subtract
// CHECK-NEXT:    call @product
// CHECK-NEXT:    bgpu.record_event 1
// CHECK-NEXT:    bgpu.select_stream 1
// CHECK-NEXT:    bgpu.wait_event 1
// CHECK-NEXT:    call @bias
// CHECK:         call @double

// A temporary value in the array of a gradient that a cotangent reads is not a gradient.
// CHECK-LABEL: func.func @between(
// CHECK:         bgpu.select_stream 0
// CHECK-NEXT:    call @weights
// CHECK-NEXT:    call @product
// CHECK-NEXT:    bgpu.record_event 0
// CHECK-NEXT:    bgpu.select_stream 1
// CHECK-NEXT:    bgpu.wait_event 0
// CHECK-NEXT:    call @weights

// Contributions to one gradient move as a group. This group cannot move, because an operand of the
// first contribution is overwritten before the second one.
// CHECK-LABEL: func.func @tied(
// CHECK-NOT:     bgpu.select_stream
// REMARK: Function=tied | Remark="0 of 5 launches

// The group can move if the second cotangent has its own array.
// CHECK-LABEL: func.func @tied_apart(
// CHECK:         call @subtract
// CHECK-NEXT:    call @subtract
// CHECK:         bgpu.select_stream 1
// CHECK-NEXT:    bgpu.wait_event 0
// CHECK-NEXT:    call @weights
// CHECK-NEXT:    call @weights
// CHECK-NEXT:    call @subtract
// CHECK-NEXT:    bgpu.record_event 1
// CHECK-NEXT:    bgpu.select_stream 0
// REMARK: Function=tied_apart | Remark="3 of 5 launches

// OWN-LABEL: func.func @step(
// OWN:         call @subtract
// OWN:         bgpu.select_stream 1
// OWN:         call @weights
// OWN:         bgpu.select_stream 0
// OWN:         call @product
// OWN:         bgpu.select_stream 1
// OWN:         call @bias

// SIZE: bppsa-assign-streams: 'size' must be at least 1, found 0
module {
  func.func private @product(%a: memref<1024x1024xf32>, %b: memref<1024x1024xf32>, %c: memref<1024x1024xf32>) {
    linalg.matmul ins(%a, %b : memref<1024x1024xf32>, memref<1024x1024xf32>) outs(%c : memref<1024x1024xf32>)
    return
  }
  func.func private @weights(%a: memref<1024x1024xf32>, %b: memref<1024x1024xf32>, %c: memref<1024x1024xf32>) {
    linalg.matmul ins(%a, %b : memref<1024x1024xf32>, memref<1024x1024xf32>) outs(%c : memref<1024x1024xf32>)
    return
  }
  func.func private @subtract(%a: memref<1024x1024xf32>, %b: memref<1024x1024xf32>, %c: memref<1024x1024xf32>) {
    linalg.sub ins(%a, %b : memref<1024x1024xf32>, memref<1024x1024xf32>) outs(%c : memref<1024x1024xf32>)
    return
  }
  func.func private @bias(%g: memref<1024x1024xf32>, %db: memref<1024xf32>) {
    linalg.reduce ins(%g : memref<1024x1024xf32>) outs(%db : memref<1024xf32>) dimensions = [0]
        (%x: f32, %sum: f32) {
      %0 = arith.addf %sum, %x : f32
      linalg.yield %0 : f32
    }
    return
  }
  func.func private @double(%a: memref<4096x4096xf32>, %b: memref<4096x4096xf32>) {
    linalg.add ins(%a, %a : memref<4096x4096xf32>, memref<4096x4096xf32>) outs(%b : memref<4096x4096xf32>)
    return
  }
  func.func @step(%x: memref<1024x1024xf32> {bppsa.input = "x"}, %w: memref<1024x1024xf32> {bppsa.parameter = "w"},
                  %b: memref<1024xf32> {bppsa.parameter = "b"}, %target: memref<1024x1024xf32> {bppsa.target},
                  %large: memref<4096x4096xf32> {bppsa.input = "large"}, %dlarge: memref<4096x4096xf32> {bppsa.gradient = "large"},
                  %dx: memref<1024x1024xf32> {bppsa.gradient = "x"}, %dw: memref<1024x1024xf32> {bppsa.gradient = "w"}, %db: memref<1024xf32> {bppsa.gradient = "b"}) {
    bppsa.mark_phase 1
    %g = memref.alloc() : memref<1024x1024xf32>
    call @subtract(%x, %target, %g) : (memref<1024x1024xf32>, memref<1024x1024xf32>, memref<1024x1024xf32>) -> ()
    call @product(%g, %w, %dx) : (memref<1024x1024xf32>, memref<1024x1024xf32>, memref<1024x1024xf32>) -> ()
    call @weights(%x, %g, %dw) : (memref<1024x1024xf32>, memref<1024x1024xf32>, memref<1024x1024xf32>) -> ()
    call @bias(%dx, %db) : (memref<1024x1024xf32>, memref<1024xf32>) -> ()
    call @double(%large, %dlarge) : (memref<4096x4096xf32>, memref<4096x4096xf32>) -> ()
    memref.dealloc %g : memref<1024x1024xf32>
    return
  }
  func.func @changed(%x: memref<1024x1024xf32> {bppsa.input = "x"}, %w: memref<1024x1024xf32> {bppsa.parameter = "w"},
                  %b: memref<1024xf32> {bppsa.parameter = "b"}, %target: memref<1024x1024xf32> {bppsa.target},
                  %large: memref<4096x4096xf32> {bppsa.input = "large"}, %dlarge: memref<4096x4096xf32> {bppsa.gradient = "large"},
                  %dx: memref<1024x1024xf32> {bppsa.gradient = "x"}, %dw: memref<1024x1024xf32> {bppsa.gradient = "w"},
                  %db: memref<1024xf32> {bppsa.gradient = "b"}) {
    bppsa.mark_phase 1
    %g = memref.alloc() : memref<1024x1024xf32>
    call @subtract(%x, %target, %g) : (memref<1024x1024xf32>, memref<1024x1024xf32>, memref<1024x1024xf32>) -> ()
    call @weights(%x, %g, %dw) : (memref<1024x1024xf32>, memref<1024x1024xf32>, memref<1024x1024xf32>) -> ()
    call @subtract(%target, %x, %g) : (memref<1024x1024xf32>, memref<1024x1024xf32>, memref<1024x1024xf32>) -> ()
    call @product(%g, %w, %dx) : (memref<1024x1024xf32>, memref<1024x1024xf32>, memref<1024x1024xf32>) -> ()
    call @bias(%dx, %db) : (memref<1024x1024xf32>, memref<1024xf32>) -> ()
    call @double(%large, %dlarge) : (memref<4096x4096xf32>, memref<4096x4096xf32>) -> ()
    memref.dealloc %g : memref<1024x1024xf32>
    return
  }
  func.func @between(%x: memref<1024x1024xf32> {bppsa.input = "x"}, %w: memref<1024x1024xf32> {bppsa.parameter = "w"},
                  %target: memref<1024x1024xf32> {bppsa.target}, %dx: memref<1024x1024xf32> {bppsa.gradient = "x"},
                  %dw: memref<1024x1024xf32> {bppsa.gradient = "w"}) {
    bppsa.mark_phase 1
    call @weights(%x, %target, %dw) : (memref<1024x1024xf32>, memref<1024x1024xf32>, memref<1024x1024xf32>) -> ()
    call @product(%dw, %w, %dx) : (memref<1024x1024xf32>, memref<1024x1024xf32>, memref<1024x1024xf32>) -> ()
    call @weights(%x, %dx, %dw) : (memref<1024x1024xf32>, memref<1024x1024xf32>, memref<1024x1024xf32>) -> ()
    return
  }
  func.func @tied(%x: memref<1024x1024xf32> {bppsa.input = "x"}, %w: memref<1024x1024xf32> {bppsa.parameter = "w"},
                  %target: memref<1024x1024xf32> {bppsa.target}, %dw: memref<1024x1024xf32> {bppsa.gradient = "w"}) {
    bppsa.mark_phase 1
    %g = memref.alloc() : memref<1024x1024xf32>
    %first = memref.alloc() : memref<1024x1024xf32>
    %second = memref.alloc() : memref<1024x1024xf32>
    call @subtract(%x, %target, %g) : (memref<1024x1024xf32>, memref<1024x1024xf32>, memref<1024x1024xf32>) -> ()
    call @weights(%x, %g, %first) : (memref<1024x1024xf32>, memref<1024x1024xf32>, memref<1024x1024xf32>) -> ()
    call @subtract(%target, %x, %g) : (memref<1024x1024xf32>, memref<1024x1024xf32>, memref<1024x1024xf32>) -> ()
    call @weights(%x, %g, %second) : (memref<1024x1024xf32>, memref<1024x1024xf32>, memref<1024x1024xf32>) -> ()
    call @subtract(%first, %second, %dw) : (memref<1024x1024xf32>, memref<1024x1024xf32>, memref<1024x1024xf32>) -> ()
    memref.dealloc %g : memref<1024x1024xf32>
    memref.dealloc %first : memref<1024x1024xf32>
    memref.dealloc %second : memref<1024x1024xf32>
    return
  }
  func.func @tied_apart(%x: memref<1024x1024xf32> {bppsa.input = "x"}, %w: memref<1024x1024xf32> {bppsa.parameter = "w"},
                  %target: memref<1024x1024xf32> {bppsa.target}, %dw: memref<1024x1024xf32> {bppsa.gradient = "w"}) {
    bppsa.mark_phase 1
    %g = memref.alloc() : memref<1024x1024xf32>
    %h = memref.alloc() : memref<1024x1024xf32>
    %first = memref.alloc() : memref<1024x1024xf32>
    %second = memref.alloc() : memref<1024x1024xf32>
    call @subtract(%x, %target, %g) : (memref<1024x1024xf32>, memref<1024x1024xf32>, memref<1024x1024xf32>) -> ()
    call @weights(%x, %g, %first) : (memref<1024x1024xf32>, memref<1024x1024xf32>, memref<1024x1024xf32>) -> ()
    call @subtract(%target, %x, %h) : (memref<1024x1024xf32>, memref<1024x1024xf32>, memref<1024x1024xf32>) -> ()
    call @weights(%x, %h, %second) : (memref<1024x1024xf32>, memref<1024x1024xf32>, memref<1024x1024xf32>) -> ()
    call @subtract(%first, %second, %dw) : (memref<1024x1024xf32>, memref<1024x1024xf32>, memref<1024x1024xf32>) -> ()
    memref.dealloc %g : memref<1024x1024xf32>
    memref.dealloc %h : memref<1024x1024xf32>
    memref.dealloc %first : memref<1024x1024xf32>
    memref.dealloc %second : memref<1024x1024xf32>
    return
  }
}
