// RUN: bppsa-opt %s --split-input-file "--bppsa-outline-kernels=group-fills any-window" --duplicate-function-elimination | FileCheck %s

// A fill and the operation that accumulates into it form one kernel, named after the operation.
// CHECK-LABEL: func.func @accumulate(
// CHECK:         call @reduce_kernel_0
// CHECK-NOT:     call
// CHECK:         return
// CHECK-LABEL: func.func private @reduce_kernel_0(
// CHECK:         linalg.fill
// CHECK-NEXT:    linalg.reduce
func.func @accumulate(%x: memref<4x5xf32>, %sum: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%sum : memref<4xf32>)
  %other = memref.alloc() : memref<4xf32>
  memref.dealloc %other : memref<4xf32>
  linalg.reduce { arith.addf } ins(%x : memref<4x5xf32>) outs(%sum : memref<4xf32>) dimensions = [1]
  return
}

// -----

// A fill that is read before the accumulation is a separate kernel.
// CHECK-LABEL: func.func @read(
// CHECK:         call @fill_kernel
// CHECK:         call @copy_kernel
// CHECK:         call @reduce_kernel
func.func @read(%x: memref<4x5xf32>, %sum: memref<4xf32>, %copy: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%sum : memref<4xf32>)
  memref.copy %sum, %copy : memref<4xf32> to memref<4xf32>
  linalg.reduce { arith.addf } ins(%x : memref<4x5xf32>) outs(%sum : memref<4xf32>) dimensions = [1]
  return
}

// -----

// Windows with the same shape share one kernel.
// CHECK-LABEL: func.func @windows(
// CHECK-COUNT-2: call @[[KERNEL:copy_kernel_[0-9]+]](%{{.*}}) : (memref<4xf32>, memref<4xf32, strided<[1], offset: ?>>) -> ()
// CHECK:         func.func private @[[KERNEL]](
// CHECK-NOT:     func.func private
func.func @windows(%a: memref<4xf32>, %b: memref<4xf32>, %all: memref<8xf32>) {
  %low = memref.subview %all[0] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1]>>
  %high = memref.subview %all[4] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: 4>>
  memref.copy %a, %low : memref<4xf32> to memref<4xf32, strided<[1]>>
  memref.copy %b, %high : memref<4xf32> to memref<4xf32, strided<[1], offset: 4>>
  return
}

// -----

// A chain of all rows and a chain of one row share a kernel, called from the loop over rows.
// CHECK-LABEL: func.func @chains(
// CHECK:         call @[[KERNEL:chain_kernel_[0-9]+]](
// CHECK:         scf.parallel
// CHECK:           func.call @[[KERNEL]](
// CHECK:         func.func private @[[KERNEL]](
// CHECK:           bppsa.chain
// CHECK-NOT:     func.func private
func.func @chains(%a: memref<?x?x4x16xf32>, %g: memref<?x4x16xf32>, %into: memref<?x4x16xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  bppsa.chain lanes 16 saved(%a : memref<?x?x4x16xf32>) seeds(%g : memref<?x4x16xf32>)
      into(%into : memref<?x4x16xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  %steps = memref.dim %a, %c1 : memref<?x?x4x16xf32>
  scf.parallel (%row) = (%c0) to (%n) step (%c1) {
    %s = memref.subview %a[%row, 0, 0, 0] [1, %steps, 4, 16] [1, 1, 1, 1]
        : memref<?x?x4x16xf32> to memref<1x?x4x16xf32, strided<[?, 64, 16, 1], offset: ?>>
    %seed = memref.subview %g[%row, 0, 0] [1, 4, 16] [1, 1, 1]
        : memref<?x4x16xf32> to memref<1x4x16xf32, strided<[64, 16, 1], offset: ?>>
    %to = memref.subview %into[%row, 0, 0] [1, 4, 16] [1, 1, 1]
        : memref<?x4x16xf32> to memref<1x4x16xf32, strided<[64, 16, 1], offset: ?>>
    bppsa.chain lanes 16 saved(%s : memref<1x?x4x16xf32, strided<[?, 64, 16, 1], offset: ?>>)
        seeds(%seed : memref<1x4x16xf32, strided<[64, 16, 1], offset: ?>>)
        into(%to : memref<1x4x16xf32, strided<[64, 16, 1], offset: ?>>) {
    ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
      %0 = arith.mulf %at, %gt : vector<4xf32>
      bppsa.yield %0 : vector<4xf32>
    }
    scf.reduce
  }
  return
}
