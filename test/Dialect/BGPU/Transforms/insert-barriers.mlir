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

// What an iteration reads the next one overwrites: a barrier stands at its end, too.

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

// What the first iteration alone waits for stands in front of the loop, of both loops here; the inner one waits
// for nothing of its own.

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

// In device memory and in bodies, a thread has its own elements alone where the last indices are those of its position: it
// writes what it has read. Other elements are those of any thread, and another array may be part of the same.

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

// All threads take the same branch; behind the branches, what one of them has left open is. What a thread allocates is its
// own, and shared arrays are apart from each other.

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

// An iteration writes another slot than the one before, whose readers it need not wait for: one barrier for what is written and
// copied. What is behind the loop waits for the last one.

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

// Slots of an iteration whose numbers differ are apart: what is written for the next one waits for no reader. Four slots
// later is the same one.

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

// The slot of an outer loop is the same in all iterations of an inner one, and two iterations of a loop by whose number no slot
// goes may have the same.

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

// Arrays that are distinct objects are no parts of each other: what the loop writes it need not wait to read.

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

// Of threads with the same element one writes it: the others wait to read it. What each of them stores for its own
// position is apart from what those of other positions do only where they are one thread.

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

// A thread always adds to the same elements. Sums are apart from each other, as parts of an array that is apart from what is
// read.

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
