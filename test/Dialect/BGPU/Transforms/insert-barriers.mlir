// RUN: bppsa-opt %s --bgpu-insert-barriers --split-input-file | FileCheck %s
// RUN: bppsa-opt %s --bgpu-insert-barriers --split-input-file --remarks-filter=barriers 2>&1 | FileCheck %s --check-prefix=REMARK

!array = memref<4x8xf32, #gpu.address_space<workgroup>>

// A thread reads its own writes without a barrier. Reads of elements written by other threads need
// a barrier, and consecutive reads share it. Overwriting elements that other threads have read
// needs a barrier too.

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

// No barriers: disjoint rows, different arrays, and only reads. Existing barriers are reused.

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

// The next iteration overwrites elements that the current one reads, so a second barrier ends the
// iteration.

// REMARK: Function=loop | Remark="kernel: 2 barriers"
// CHECK-LABEL: func @loop(
// CHECK:           scf.for
// CHECK-NEXT:        bgpu.put
// CHECK-NEXT:        gpu.barrier
// CHECK-NEXT:        bgpu.get
// CHECK-NEXT:        gpu.barrier
// CHECK-NEXT:      }
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

// -----

!array = memref<4x8xf32, #gpu.address_space<workgroup>>

// A barrier that only the first iteration needs is placed before the loop, here before both loops.
// The inner loop needs no barrier of its own.

// REMARK: Function=loops | Remark="kernel: 1 barriers"
// CHECK-LABEL: func @loops(
// CHECK:           bgpu.put
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      scf.for
// CHECK-NEXT:        scf.for
// CHECK-NEXT:          bgpu.get
// CHECK-NOT:       gpu.barrier
func.func @loops(%n: index, %tile: tensor<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  bgpu.kernel blocks(%block in %n) threads(32) {
    %a = memref.alloc() : !array
    bgpu.put %tile, %a[0] : tensor<4x8xf32>, !array
    scf.for %i = %c0 to %n step %c1 {
      scf.for %j = %c0 to %n step %c1 {
        %last = bgpu.get %a[3] : !array -> tensor<1x8xf32>
      }
    }
  }
  return
}

// -----

// In device memory and in bodies, elements belong to one thread if the last indices are its
// position; the thread may overwrite the elements that it has read. Any thread may access other
// elements, and other arrays may alias.

// REMARK: Function=bodies | Remark="kernel: 3 barriers"
// CHECK-LABEL: func @bodies(
// CHECK:           tensor.generate
// CHECK-NOT:       gpu.barrier
// CHECK:           memref.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : memref<4x32xf32
// CHECK:           gpu.barrier
// CHECK-NEXT:      bgpu.for_each
// CHECK:           gpu.barrier
// CHECK-NEXT:      bgpu.for_each
// CHECK:           gpu.barrier
// CHECK-NEXT:      bgpu.for_each
// CHECK-NOT:       gpu.barrier
func.func @bodies(%n: index, %x: memref<8x4x32xf32>, %y: memref<32xf32>) {
  %c0 = arith.constant 0 : index
  bgpu.kernel blocks(%block in %n) threads(32) {
    %tile = tensor.generate {
    ^bb0(%i: index):
      %0 = memref.load %x[%c0, %block, %i] : memref<8x4x32xf32>
      tensor.yield %0 : f32
    } : tensor<32xf32>
    %view = memref.subview %x[%block, 0, 0] [1, 4, 32] [1, 1, 1] : memref<8x4x32xf32> to memref<4x32xf32, strided<[32, 1], offset: ?>>
    bgpu.for_each [32] %tile : tensor<32xf32> {
    ^bb0(%i: index, %value: f32):
      memref.store %value, %view[%c0, %i] : memref<4x32xf32, strided<[32, 1], offset: ?>>
    }
    bgpu.for_each [32] {
    ^bb0(%i: index):
      %0 = memref.load %view[%c0, %c0] : memref<4x32xf32, strided<[32, 1], offset: ?>>
      memref.store %0, %y[%i] : memref<32xf32>
    }
    bgpu.for_each [32] {
    ^bb0(%i: index):
      %0 = memref.load %x[%c0, %c0, %i] : memref<8x4x32xf32>
      memref.store %0, %x[%c0, %block, %i] : memref<8x4x32xf32>
    }
    %shifted = memref.subview %x[%block, 0, 1] [1, 4, 31] [1, 1, 1] : memref<8x4x32xf32> to memref<4x31xf32, strided<[32, 1], offset: ?>>
    bgpu.for_each [31] {
    ^bb0(%i: index):
      %0 = memref.load %shifted[%c0, %i] : memref<4x31xf32, strided<[32, 1], offset: ?>>
      memref.store %0, %shifted[%c0, %i] : memref<4x31xf32, strided<[32, 1], offset: ?>>
    }
  }
  return
}

// -----

!array = memref<32xf32, #gpu.address_space<workgroup>>

// All threads take the same branch; after the branches, pending accesses of either one count.
// Arrays allocated by a thread are private, and shared arrays do not alias each other.

// REMARK: Function=branches | Remark="kernel: 2 barriers"
// CHECK-LABEL: func @branches(
// CHECK:           scf.if
// CHECK-NEXT:        gpu.barrier
// CHECK-NEXT:        bgpu.for_each
// CHECK:           } else {
// CHECK-NOT:         gpu.barrier
// CHECK:           gpu.barrier
// CHECK-NEXT:      bgpu.for_each
// CHECK-NOT:       gpu.barrier
func.func @branches(%n: index, %condition: i1, %tile: tensor<32xf32>) {
  %c0 = arith.constant 0 : index
  bgpu.kernel blocks(%block in %n) threads(32) {
    %a = memref.alloc() : !array
    %b = memref.alloc() : !array
    bgpu.put %tile, %a[0] : tensor<32xf32>, !array
    scf.if %condition {
      bgpu.for_each [32] {
      ^bb0(%i: index):
        %0 = memref.load %a[%c0] : !array
        memref.store %0, %b[%i] : !array
      }
    } else {
      bgpu.for_each [32] {
      ^bb0(%i: index):
        %own = memref.alloca() : memref<4xf32>
        %0 = memref.load %a[%i] : !array
        memref.store %0, %own[%c0] : memref<4xf32>
        %1 = memref.load %own[%i] : memref<4xf32>
        memref.store %1, %b[%i] : !array
      }
    }
    bgpu.for_each [32] {
    ^bb0(%i: index):
      %0 = memref.load %b[%c0] : !array
      memref.store %0, %a[%i] : !array
    }
  }
  return
}

// -----

!arrays = memref<2x20xf32, #gpu.address_space<workgroup>>
!array = memref<20xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>

// Each iteration writes a different slot than the previous one, so it does not wait for readers of
// that slot. One barrier covers writes and copies. Code after the loop waits for the last
// iteration.

// REMARK: Function=slots | Remark="kernel: 2 barriers"
// CHECK-LABEL: func @slots(
// CHECK:           scf.for
// CHECK:             bgpu.put
// CHECK-NEXT:        bgpu.wait
// CHECK-NEXT:        gpu.barrier
// CHECK-NEXT:        bgpu.for_each
// CHECK-NOT:         gpu.barrier
// CHECK:           }
// CHECK-NOT:       gpu.barrier
// CHECK:           gpu.barrier
// CHECK-NEXT:      bgpu.for_each
func.func @slots(%n: index, %tile: tensor<20xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  bgpu.kernel blocks(%block in %n) threads(32) {
    %a = memref.alloc() : !arrays
    %b = memref.alloc() : !arrays
    scf.for %i = %c0 to %n step %c1 {
      %before = arith.andi %i, %c1 : index
      %slot = arith.xori %before, %c1 : index
      %own = memref.subview %a[%slot, 0] [1, 20] [1, 1] : !arrays to !array
      %copied = memref.subview %b[%slot, 0] [1, 20] [1, 1] : !arrays to !array
      bgpu.put %tile, %own[0] : tensor<20xf32>, !array
      bgpu.wait %copied groups(0) : !array
      %next = bgpu.for_each [20] -> tensor<20xf32> {
      ^bb0(%j: index):
        %0 = memref.load %own[%c0] : !array
        %1 = memref.load %copied[%c0] : !array
        %2 = arith.addf %0, %1 : f32
        bgpu.yield %2 : f32
      }
    }
    bgpu.for_each [20] {
    ^bb0(%j: index):
      %0 = memref.load %a[%c0, %j] : !arrays
      memref.store %0, %b[%c0, %j] : !arrays
    }
  }
  return
}

// -----

!arrays = memref<4x20xf32, #gpu.address_space<workgroup>>
!array = memref<20xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>

// Slots with different numbers in one iteration are disjoint: writes for the next iteration do not
// wait for readers. The slot four positions later is the same one.

// REMARK: Function=next_slots | Remark="kernel: 2 barriers"
// CHECK-LABEL: func @next_slots(
// CHECK:           bgpu.put
// CHECK:           gpu.barrier
// CHECK-NEXT:      scf.for
// CHECK-NOT:         gpu.barrier
// CHECK:             bgpu.for_each
// CHECK-NOT:         gpu.barrier
// CHECK:             bgpu.put
// CHECK-NOT:         gpu.barrier
// CHECK:             bgpu.wait
// CHECK:             gpu.barrier
// CHECK-NEXT:        bgpu.put
// CHECK-NOT:         gpu.barrier
func.func @next_slots(%n: index, %tile: tensor<20xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  bgpu.kernel blocks(%block in %n) threads(32) {
    %a = memref.alloc() : !arrays
    %b = memref.alloc() : !arrays
    %first = memref.subview %a[0, 0] [1, 20] [1, 1] : !arrays to memref<20xf32, strided<[1]>, #gpu.address_space<workgroup>>
    bgpu.put %tile, %first[0] : tensor<20xf32>, memref<20xf32, strided<[1]>, #gpu.address_space<workgroup>>
    scf.for %i = %c0 to %n step %c1 {
      %slot = arith.andi %i, %c3 : index
      %own = memref.subview %a[%slot, 0] [1, 20] [1, 1] : !arrays to !array
      %copied = memref.subview %b[%slot, 0] [1, 20] [1, 1] : !arrays to !array
      bgpu.for_each [20] {
      ^bb0(%j: index):
        %0 = memref.load %own[%c0] : !array
        %1 = memref.load %copied[%c0] : !array
      }
      %after = arith.addi %i, %c1 : index
      %afterSlot = arith.andi %after, %c3 : index
      %next = memref.subview %a[%afterSlot, 0] [1, 20] [1, 1] : !arrays to !array
      %nextCopied = memref.subview %b[%afterSlot, 0] [1, 20] [1, 1] : !arrays to !array
      bgpu.put %tile, %next[0] : tensor<20xf32>, !array
      bgpu.wait %nextCopied groups(0) : !array
      %far = arith.addi %i, %c4 : index
      %farSlot = arith.andi %far, %c3 : index
      %same = memref.subview %a[%farSlot, 0] [1, 20] [1, 1] : !arrays to !array
      bgpu.put %tile, %same[0] : tensor<20xf32>, !array
    }
  }
  return
}

// -----

!arrays = memref<2x20xf32, #gpu.address_space<workgroup>>
!array = memref<20xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>

// The slot of an outer loop is the same in all iterations of the inner loop. Iterations of a loop
// whose counter selects no slot may share a slot.

// REMARK: Function=other_slots | Remark="kernel: 2 barriers"
// CHECK-LABEL: func @other_slots(
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK-NEXT:          bgpu.put
// CHECK-NEXT:          gpu.barrier
// CHECK-NEXT:          bgpu.for_each
// CHECK:               gpu.barrier
// CHECK-NEXT:        }
func.func @other_slots(%n: index, %tile: tensor<20xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  bgpu.kernel blocks(%block in %n) threads(32) {
    %a = memref.alloc() : !arrays
    scf.for %i = %c0 to %n step %c1 {
      %slot = arith.andi %i, %c1 : index
      %own = memref.subview %a[%slot, 0] [1, 20] [1, 1] : !arrays to !array
      scf.for %j = %c0 to %n step %c1 {
        bgpu.put %tile, %own[0] : tensor<20xf32>, !array
        %next = bgpu.for_each [20] -> tensor<20xf32> {
        ^bb0(%k: index):
          %0 = memref.load %own[%c0] : !array
          bgpu.yield %0 : f32
        }
      }
    }
  }
  return
}

// -----

// Distinct objects do not overlap, so reads do not wait for the writes of the loop.

// REMARK: Function=distinct | Remark="kernel: 1 barriers"
// CHECK-LABEL: func @distinct(
// CHECK:           scf.for
// CHECK-NOT:         gpu.barrier
// CHECK:             memref.store
// CHECK:           gpu.barrier
// CHECK-NEXT:      bgpu.for_each
func.func @distinct(%n: index, %x: memref<?x20xf32>, %y: memref<?x20xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  bgpu.kernel blocks(%block in %n) threads(32) {
    %a, %b = memref.distinct_objects %x, %y : memref<?x20xf32>, memref<?x20xf32>
    scf.for %i = %c0 to %n step %c1 {
      bgpu.for_each [20] {
      ^bb0(%j: index):
        %0 = memref.load %a[%i, %c0] : memref<?x20xf32>
        memref.store %0, %b[%i, %j] : memref<?x20xf32>
      }
    }
    bgpu.for_each [20] {
    ^bb0(%j: index):
      %0 = memref.load %x[%c0, %j] : memref<?x20xf32>
      memref.store %0, %x[%c1, %j] : memref<?x20xf32>
    }
  }
  return
}

// -----

!array = memref<8xf32, #gpu.address_space<workgroup>>

// One of the threads with the same element writes it, and the others wait before they read it.
// Stores of a thread to its own position are disjoint from accesses at other positions only if each
// position has a single thread.

// REMARK: Function=replicated | Remark="kernel: 2 barriers"
// CHECK-LABEL: func @replicated(
// CHECK:           bgpu.put
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      bgpu.get
// CHECK-NEXT:      bgpu.for_each
// CHECK:           gpu.barrier
// CHECK-NEXT:      bgpu.for_each
func.func @replicated(%n: index, %tile: tensor<8xf32, #bgpu.replicated<4>>, %x: memref<8xf32>) {
  bgpu.kernel blocks(%block in %n) threads(32) {
    %a = memref.alloc() : !array
    bgpu.put %tile, %a[0] : tensor<8xf32, #bgpu.replicated<4>>, !array
    %own = bgpu.get %a[0] : !array -> tensor<8xf32, #bgpu.replicated<4>>
    bgpu.for_each [8] replicas(4) %own : tensor<8xf32, #bgpu.replicated<4>> {
    ^bb0(%i: index, %value: f32):
      memref.store %value, %x[%i] : memref<8xf32>
    }
    bgpu.for_each [8] {
    ^bb0(%i: index):
      %0 = memref.load %x[%i] : memref<8xf32>
      memref.store %0, %x[%i] : memref<8xf32>
    }
  }
  return
}

// -----

// A thread always accumulates into the same elements. Sums do not alias each other: they are parts
// of an array that is distinct from the arrays that are read.

// REMARK: Function=accumulated | Remark="kernel: 1 barriers"
// CHECK-LABEL: func @accumulated(
// CHECK:           scf.for
// CHECK-NOT:       gpu.barrier
// CHECK:             bgpu.accumulate
// CHECK-NEXT:        bgpu.accumulate
// CHECK-NEXT:      }
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      bgpu.for_each
func.func @accumulated(%n: index, %x: memref<?x8xf32>, %y: memref<104xf32>, %sum: tensor<8x4xvector<3xf32>>, %row: tensor<8xf32, #bgpu.replicated<4>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  bgpu.kernel blocks(%block in %n) threads(32) {
    %a, %b = memref.distinct_objects %x, %y : memref<?x8xf32>, memref<104xf32>
    %first = memref.subview %b[8] [80] [1] : memref<104xf32> to memref<80xf32, strided<[1], offset: 8>>
    %matrix = memref.expand_shape %first [[0, 1]] output_shape [10, 8] : memref<80xf32, strided<[1], offset: 8>> into memref<10x8xf32, strided<[8, 1], offset: 8>>
    %vector = memref.subview %b[88] [8] [1] : memref<104xf32> to memref<8xf32, strided<[1], offset: 88>>
    %sums, %totals = memref.distinct_objects %matrix, %vector : memref<10x8xf32, strided<[8, 1], offset: 8>>, memref<8xf32, strided<[1], offset: 88>>
    bgpu.accumulate overwrite %sum, %sums : tensor<8x4xvector<3xf32>>, memref<10x8xf32, strided<[8, 1], offset: 8>>
    scf.for %i = %c0 to %n step %c1 {
      %own = bgpu.for_each [8] -> tensor<8xf32> {
      ^bb0(%j: index):
        %0 = memref.load %a[%i, %c1] : memref<?x8xf32>
        bgpu.yield %0 : f32
      }
      bgpu.accumulate %sum, %sums : tensor<8x4xvector<3xf32>>, memref<10x8xf32, strided<[8, 1], offset: 8>>
      bgpu.accumulate %row, %totals : tensor<8xf32, #bgpu.replicated<4>>, memref<8xf32, strided<[1], offset: 88>>
    }
    bgpu.for_each [8] {
    ^bb0(%j: index):
      %0 = memref.load %b[%j] : memref<104xf32>
      memref.store %0, %a[%c0, %j] : memref<?x8xf32>
    }
  }
  return
}
