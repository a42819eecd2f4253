// RUN: bppsa-opt %s --split-input-file --bppsa-assign-streams --bppsa-verify-streams | FileCheck %s
// RUN: bppsa-opt %s --split-input-file --bppsa-assign-streams -o /dev/null --remarks-filter=schedule 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

// Parameter gradients, and the fills of their arrays, go to the sub stream as soon as their
// cotangents are available. The sub stream waits for the cotangents. The main stream waits at the
// end, before arrays that the gradients read are freed. Other operands of a gradient are computed
// earlier.

// REMARK: remark: [Passed] AssignStreams | Category:schedule | Function=step | Remark="4 of 7 launches of the backward pass on the sub stream, in 2 groups and 2 regions"

// CHECK-LABEL: func.func @step(
// CHECK-SAME:      [[X:%[a-z0-9_]+]]: memref<?x8xf32> {bppsa.input = "x"}, [[W1:%[a-z0-9_]+]]: memref<8x8xf32> {bppsa.parameter = "w1"}, [[W2:%[a-z0-9_]+]]: memref<8x8xf32> {bppsa.parameter = "w2"}
// CHECK-SAME:      [[DW1:%[a-z0-9_]+]]: memref<8x8xf32> {bppsa.gradient = "w1"}, [[DW2:%[a-z0-9_]+]]: memref<8x8xf32> {bppsa.gradient = "w2"}
// CHECK:         bppsa.mark_phase 1
// CHECK-NEXT:    bgpu.select_stream 0
// CHECK-NEXT:    [[G2:%[a-z0-9_]+]] = memref.alloc(
// CHECK-NEXT:    call @subtract(%{{.*}}, %{{.*}}, [[G2]])
// CHECK-NEXT:    [[SCRATCH:%[a-z0-9_]+]] = memref.alloc() : memref<8x8xf32>
// CHECK-NEXT:    bgpu.record_event 0
// CHECK-NEXT:    bgpu.select_stream 1
// CHECK-NEXT:    bgpu.wait_event 0
// CHECK-NEXT:    call @clear([[SCRATCH]])
// CHECK-NEXT:    call @weights([[H:%[a-z0-9_]+]], [[G2]], [[SCRATCH]])
// CHECK-NEXT:    call @copy([[SCRATCH]], [[DW2]])
// CHECK-NEXT:    bgpu.select_stream 0
// CHECK:         call @clear_rows
// CHECK-NEXT:    call @product([[G2]], [[W2]], [[G1:%[a-z0-9_]+]])
// CHECK-NEXT:    bgpu.record_event 1
// CHECK-NEXT:    bgpu.select_stream 1
// CHECK-NEXT:    bgpu.wait_event 1
// CHECK-NEXT:    call @weights([[X]], [[G1]], [[DW1]])
// CHECK-NEXT:    bgpu.record_event 2
// CHECK-NEXT:    bgpu.select_stream 0
// CHECK-NEXT:    bgpu.wait_event 2
// CHECK-DAG:     memref.dealloc [[G2]]
// CHECK-DAG:     memref.dealloc [[G1]]
// CHECK-DAG:     memref.dealloc [[H]]
// CHECK-DAG:     memref.dealloc [[SCRATCH]]
// CHECK:         return
func.func private @product(%a: memref<?x8xf32>, %b: memref<8x8xf32>, %c: memref<?x8xf32>) {
  linalg.matmul ins(%a, %b : memref<?x8xf32>, memref<8x8xf32>) outs(%c : memref<?x8xf32>)
  return
}
func.func private @subtract(%a: memref<?x8xf32>, %b: memref<?x8xf32>, %c: memref<?x8xf32>) {
  linalg.sub ins(%a, %b : memref<?x8xf32>, memref<?x8xf32>) outs(%c : memref<?x8xf32>)
  return
}
func.func private @weights(%a: memref<?x8xf32>, %g: memref<?x8xf32>, %dw: memref<8x8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, n) -> (n, i)>, affine_map<(i, j, n) -> (n, j)>,
                                   affine_map<(i, j, n) -> (i, j)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %g : memref<?x8xf32>, memref<?x8xf32>) outs(%dw : memref<8x8xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
func.func private @clear(%a: memref<8x8xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%a : memref<8x8xf32>)
  return
}
func.func private @clear_rows(%a: memref<?x8xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%a : memref<?x8xf32>)
  return
}
func.func private @copy(%a: memref<8x8xf32>, %b: memref<8x8xf32>) {
  memref.copy %a, %b : memref<8x8xf32> to memref<8x8xf32>
  return
}
func.func @step(%x: memref<?x8xf32> {bppsa.input = "x"},
                %w1: memref<8x8xf32> {bppsa.parameter = "w1"}, %w2: memref<8x8xf32> {bppsa.parameter = "w2"},
                %target: memref<?x8xf32> {bppsa.target},
                %dw1: memref<8x8xf32> {bppsa.gradient = "w1"}, %dw2: memref<8x8xf32> {bppsa.gradient = "w2"}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x8xf32>
  bppsa.mark_phase 0
  %h = memref.alloc(%n) : memref<?x8xf32>
  call @product(%x, %w1, %h) : (memref<?x8xf32>, memref<8x8xf32>, memref<?x8xf32>) -> ()
  %y = memref.alloc(%n) : memref<?x8xf32>
  call @product(%h, %w2, %y) : (memref<?x8xf32>, memref<8x8xf32>, memref<?x8xf32>) -> ()
  bppsa.mark_phase 1
  %g2 = memref.alloc(%n) : memref<?x8xf32>
  call @subtract(%y, %target, %g2) : (memref<?x8xf32>, memref<?x8xf32>, memref<?x8xf32>) -> ()
  memref.dealloc %y : memref<?x8xf32>
  %g1 = memref.alloc(%n) : memref<?x8xf32>
  call @clear_rows(%g1) : (memref<?x8xf32>) -> ()
  call @product(%g2, %w2, %g1) : (memref<?x8xf32>, memref<8x8xf32>, memref<?x8xf32>) -> ()
  %scratch = memref.alloc() : memref<8x8xf32>
  call @clear(%scratch) : (memref<8x8xf32>) -> ()
  call @weights(%h, %g2, %scratch) : (memref<?x8xf32>, memref<?x8xf32>, memref<8x8xf32>) -> ()
  call @copy(%scratch, %dw2) : (memref<8x8xf32>, memref<8x8xf32>) -> ()
  memref.dealloc %scratch : memref<8x8xf32>
  memref.dealloc %g2 : memref<?x8xf32>
  memref.dealloc %h : memref<?x8xf32>
  call @weights(%x, %g1, %dw1) : (memref<?x8xf32>, memref<?x8xf32>, memref<8x8xf32>) -> ()
  memref.dealloc %g1 : memref<?x8xf32>
  return
}

// -----

// A cotangent that overwrites an operand of a gradient waits for this gradient. The arrays of the
// gradient are freed after this wait, so later operations need not wait.

// REMARK: remark: [Passed] AssignStreams | Category:schedule | Function=reused | Remark="1 of 4 launches of the backward pass on the sub stream, in 1 groups and 1 regions"
// CHECK-LABEL: func.func @reused(
// CHECK:         bppsa.mark_phase 1
// CHECK:         call @double(%{{.*}}, [[G:%[a-z0-9_]+]])
// CHECK:         bgpu.record_event 0
// CHECK-NEXT:    bgpu.select_stream 1
// CHECK-NEXT:    bgpu.wait_event 0
// CHECK-NEXT:    call @sum([[G]], %{{.*}}, %{{.*}})
// CHECK-NEXT:    bgpu.record_event 1
// CHECK-NEXT:    bgpu.select_stream 0
// CHECK-NEXT:    bgpu.wait_event 1
// CHECK-NEXT:    memref.dealloc [[H:%[a-z0-9_]+]]
// CHECK-NEXT:    call @double(%{{.*}}, [[G]])
// CHECK-NEXT:    call @double([[G]], %{{.*}})
// CHECK-NEXT:    memref.dealloc [[G]]
// CHECK-NEXT:    return
func.func private @double(%a: memref<8xf32>, %b: memref<8xf32>) {
  linalg.add ins(%a, %a : memref<8xf32>, memref<8xf32>) outs(%b : memref<8xf32>)
  return
}
func.func private @sum(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>) {
  linalg.mul ins(%a, %b : memref<8xf32>, memref<8xf32>) outs(%c : memref<8xf32>)
  return
}
func.func @reused(%x: memref<8xf32> {bppsa.input = "x"}, %w: memref<8xf32> {bppsa.parameter = "w"},
                  %target: memref<8xf32> {bppsa.target},
                  %dx: memref<8xf32> {bppsa.gradient = "x"}, %dw: memref<8xf32> {bppsa.gradient = "w"}) {
  %h = memref.alloc() : memref<8xf32>
  call @double(%x, %h) : (memref<8xf32>, memref<8xf32>) -> ()
  bppsa.mark_phase 1
  %g = memref.alloc() : memref<8xf32>
  call @double(%target, %g) : (memref<8xf32>, memref<8xf32>) -> ()
  call @sum(%g, %h, %dw) : (memref<8xf32>, memref<8xf32>, memref<8xf32>) -> ()
  memref.dealloc %h : memref<8xf32>
  call @double(%w, %g) : (memref<8xf32>, memref<8xf32>) -> ()
  call @double(%g, %dx) : (memref<8xf32>, memref<8xf32>) -> ()
  memref.dealloc %g : memref<8xf32>
  return
}

// -----

// Launches with unknown arrays, and functions without parameter gradients, stay on one stream.

// REMARK: remark: [Missed] AssignStreams | Category:schedule | Function=unknown | Remark="one stream: the arrays that func.call uses are not known"
// REMARK: remark: [Passed] AssignStreams | Category:schedule | Function=none | Remark="0 of 1 launches of the backward pass on the sub stream, in 0 groups and 0 regions"
// CHECK-LABEL: func.func @unknown(
// CHECK-NOT:     bgpu.select_stream
// CHECK-LABEL: func.func @none(
// CHECK-NOT:     bgpu.select_stream
// CHECK-LABEL: func.func @forward(
// CHECK-NOT:     bgpu.select_stream
func.func private @double(%a: memref<8xf32>, %b: memref<8xf32>) {
  linalg.add ins(%a, %a : memref<8xf32>, memref<8xf32>) outs(%b : memref<8xf32>)
  return
}
func.func @unknown(%c: i1, %x: memref<8xf32> {bppsa.input = "x"}, %w: memref<8xf32> {bppsa.parameter = "w"},
                   %dw: memref<8xf32> {bppsa.gradient = "w"}) {
  bppsa.mark_phase 1
  %either = arith.select %c, %x, %w : memref<8xf32>
  call @double(%either, %dw) : (memref<8xf32>, memref<8xf32>) -> ()
  return
}
func.func @none(%x: memref<8xf32> {bppsa.input = "x"}, %dx: memref<8xf32> {bppsa.gradient = "x"}) {
  bppsa.mark_phase 1
  call @double(%x, %dx) : (memref<8xf32>, memref<8xf32>) -> ()
  return
}
func.func @forward(%x: memref<8xf32> {bppsa.input = "x"}, %y: memref<8xf32> {bppsa.output = "y"}) {
  call @double(%x, %y) : (memref<8xf32>, memref<8xf32>) -> ()
  return
}
