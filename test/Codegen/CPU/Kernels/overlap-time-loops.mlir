// RUN: bppsa-opt --bppsa-overlap-time-loops=min-work=0 %s | FileCheck %s
// RUN: bppsa-opt --bppsa-overlap-time-loops %s | FileCheck %s --check-prefix=LITTLE

func.func private @loop(%x: memref<?x?x4xf32>, %h0: memref<?x4xf32>, %h: memref<?x?x4xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x4xf32>) initial(%h0 : memref<?x4xf32>)
      into(%h : memref<?x?x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
    %next = arith.addf %xt, %ht : vector<4xf32>
    bppsa.yield %next : vector<4xf32>
  }
  return
}

func.func private @double(%x: memref<?x?x4xf32>, %y: memref<?x?x4xf32>) {
  linalg.add ins(%x, %x : memref<?x?x4xf32>, memref<?x?x4xf32>) outs(%y : memref<?x?x4xf32>)
  return
}

// Users of the first loop move after both loops; operands of the second loop stay before them.
// CHECK-LABEL: func.func @directions
//  CHECK-SAME: (%[[X:.*]]: memref<?x?x4xf32>, %[[H0:.*]]: memref<?x4xf32>, %[[A:.*]]: memref<?x?x4xf32>, %[[B:.*]]: memref<?x?x4xf32>, %[[Y:.*]]: memref<?x?x4xf32>, %[[Z:.*]]: memref<?x?x4xf32>)
//       CHECK:   call @double(%[[X]], %[[Z]])
//       CHECK:   %[[ROWS:.*]] = memref.dim %[[H0]], %{{.*}}
//       CHECK:   %[[ANSWER:.*]] = call @bppsa_rt_side_by_side(%c2{{.*}}, %[[ROWS]])
//       CHECK:   %[[IS:.*]] = arith.cmpi ne, %[[ANSWER]], %c0
//       CHECK:   scf.if %[[IS]] {
//       CHECK:     scf.parallel (%[[I:.*]]) = (%{{.*}}) to (%c2
//       CHECK:       scf.index_switch %[[I]]
//       CHECK:       case 0 {
//       CHECK:         call @loop(%[[X]], %[[H0]], %[[A]])
//       CHECK:       default {
//       CHECK:         call @loop(%[[Z]], %[[H0]], %[[B]])
//       CHECK:   } else {
//  CHECK-NEXT:     call @loop(%[[X]], %[[H0]], %[[A]])
//  CHECK-NEXT:     call @loop(%[[Z]], %[[H0]], %[[B]])
//  CHECK-NEXT:   }
//  CHECK-NEXT:   call @double(%[[A]], %[[Y]])
func.func @directions(%x: memref<?x?x4xf32>, %h0: memref<?x4xf32>, %a: memref<?x?x4xf32>,
                      %b: memref<?x?x4xf32>, %y: memref<?x?x4xf32>, %z: memref<?x?x4xf32>) {
  call @loop(%x, %h0, %a) : (memref<?x?x4xf32>, memref<?x4xf32>, memref<?x?x4xf32>) -> ()
  call @double(%a, %y) : (memref<?x?x4xf32>, memref<?x?x4xf32>) -> ()
  call @double(%x, %z) : (memref<?x?x4xf32>, memref<?x?x4xf32>) -> ()
  call @loop(%z, %h0, %b) : (memref<?x?x4xf32>, memref<?x4xf32>, memref<?x?x4xf32>) -> ()
  return
}

// A loop that reads the output of another one, through any view, follows it.
// CHECK-LABEL: func.func @layers
//   CHECK-NOT:   side_by_side
//       CHECK:   return
func.func @layers(%x: memref<?x?x4xf32>, %h0: memref<?x4xf32>, %a: memref<?x?x4xf32>,
                  %b: memref<?x?x4xf32>, %t: index, %n: index) {
  call @loop(%x, %h0, %a) : (memref<?x?x4xf32>, memref<?x4xf32>, memref<?x?x4xf32>) -> ()
  %tail = memref.subview %a[1, 0, 0] [%t, %n, 4] [1, 1, 1]
      : memref<?x?x4xf32> to memref<?x?x4xf32, strided<[?, 4, 1], offset: ?>>
  %cast = memref.reinterpret_cast %tail to offset: [0], sizes: [%t, %n, 4], strides: [%n, 4, 1]
      : memref<?x?x4xf32, strided<[?, 4, 1], offset: ?>> to memref<?x?x4xf32, strided<[?, 4, 1]>>
  %y = memref.cast %cast : memref<?x?x4xf32, strided<[?, 4, 1]>> to memref<?x?x4xf32>
  call @loop(%y, %h0, %b) : (memref<?x?x4xf32>, memref<?x4xf32>, memref<?x?x4xf32>) -> ()
  return
}

// Operations do not move across the start of a phase or across operations that the pass does not
// know.
// CHECK-LABEL: func.func @phases
//   CHECK-NOT:   side_by_side
//       CHECK:   return
func.func @phases(%x: memref<?x?x4xf32>, %h0: memref<?x4xf32>, %a: memref<?x?x4xf32>,
                  %b: memref<?x?x4xf32>) {
  call @loop(%x, %h0, %a) : (memref<?x?x4xf32>, memref<?x4xf32>, memref<?x?x4xf32>) -> ()
  bppsa.mark_phase 1
  call @loop(%x, %h0, %b) : (memref<?x?x4xf32>, memref<?x4xf32>, memref<?x?x4xf32>) -> ()
  return
}

// Memory of the first loop is freed after both loops.
// CHECK-LABEL: func.func @temporary
//       CHECK:   %[[A:.*]] = memref.alloc
//       CHECK:   call @bppsa_rt_side_by_side(%c3{{.*}},
//       CHECK:   case 0 {
//       CHECK:   case 1 {
//       CHECK:   default {
//       CHECK:   } else {
//       CHECK:   }
//  CHECK-NEXT:   memref.dealloc %[[A]]
func.func @temporary(%x: memref<?x?x4xf32>, %h0: memref<?x4xf32>, %b: memref<?x?x4xf32>,
                     %c: memref<?x?x4xf32>, %t: index, %n: index) {
  %a = memref.alloc(%t, %n) : memref<?x?x4xf32>
  call @loop(%x, %h0, %a) : (memref<?x?x4xf32>, memref<?x4xf32>, memref<?x?x4xf32>) -> ()
  memref.dealloc %a : memref<?x?x4xf32>
  call @loop(%x, %h0, %b) : (memref<?x?x4xf32>, memref<?x4xf32>, memref<?x?x4xf32>) -> ()
  call @loop(%x, %h0, %c) : (memref<?x?x4xf32>, memref<?x4xf32>, memref<?x?x4xf32>) -> ()
  return
}

// Chains in a scope with their sums are time loops too.
func.func private @scoped(%a: memref<?x?x4x16xf32>, %g: memref<?x4x16xf32>, %c: memref<?x4x16xf32>,
                          %d: memref<?x?x4x16xf32>, %s: memref<4xf32>) {
  memref.alloca_scope {
    bppsa.chain lanes 16 saved(%a : memref<?x?x4x16xf32>) seeds(%g : memref<?x4x16xf32>)
        into(%c, %d : memref<?x4x16xf32>, memref<?x?x4x16xf32>) {
    ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
      %0 = arith.mulf %at, %gt : vector<4xf32>
      bppsa.yield %0, %0 : vector<4xf32>, vector<4xf32>
    }
    bppsa.step_sum lanes 16 %d into %s : memref<?x?x4x16xf32> into memref<4xf32>
  }
  return
}

// CHECK-LABEL: func.func @scopes
//       CHECK:   call @bppsa_rt_side_by_side(%c2{{.*}},
func.func @scopes(%a: memref<?x?x4x16xf32>, %g: memref<?x4x16xf32>, %c: memref<?x4x16xf32>,
                  %d: memref<?x?x4x16xf32>, %s: memref<4xf32>, %e: memref<?x4x16xf32>,
                  %f: memref<?x?x4x16xf32>, %u: memref<4xf32>) {
  call @scoped(%a, %g, %c, %d, %s) : (memref<?x?x4x16xf32>, memref<?x4x16xf32>, memref<?x4x16xf32>, memref<?x?x4x16xf32>, memref<4xf32>) -> ()
  call @scoped(%a, %g, %e, %f, %u) : (memref<?x?x4x16xf32>, memref<?x4x16xf32>, memref<?x4x16xf32>, memref<?x?x4x16xf32>, memref<4xf32>) -> ()
  return
}

// The work of one core does not pay for moving data from the other core.
// LITTLE-LABEL: func.func @directions
//   LITTLE-NOT:   side_by_side

// A state of 48 elements has 16 multiply-adds per element of its step, a state of 47 elements 15.
func.func private @loop_48(%x: memref<?x?x48xf32>, %h0: memref<?x48xf32>, %r: memref<48x48xf32>, %h: memref<?x?x48xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x48xf32>) initial(%h0 : memref<?x48xf32>) captures(%r : memref<48x48xf32>) into(%h : memref<?x?x48xf32>) {
  ^bb0(%xt: vector<48xf32>, %ht: vector<48xf32>, %rc: vector<48x48xf32>):
    %0 = bppsa.matvec %rc, %ht plus %xt : vector<48x48xf32>, vector<48xf32> plus vector<48xf32> -> vector<48xf32>
    bppsa.yield %0 : vector<48xf32>
  }
  return
}

// LITTLE-LABEL: func.func @enough
//       LITTLE:   call @bppsa_rt_side_by_side
//       LITTLE:   return
func.func @enough(%x: memref<?x?x48xf32>, %h0: memref<?x48xf32>, %r: memref<48x48xf32>, %a: memref<?x?x48xf32>, %b: memref<?x?x48xf32>) {
  call @loop_48(%x, %h0, %r, %a) : (memref<?x?x48xf32>, memref<?x48xf32>, memref<48x48xf32>, memref<?x?x48xf32>) -> ()
  call @loop_48(%x, %h0, %r, %b) : (memref<?x?x48xf32>, memref<?x48xf32>, memref<48x48xf32>, memref<?x?x48xf32>) -> ()
  return
}

func.func private @loop_47(%x: memref<?x?x47xf32>, %h0: memref<?x47xf32>, %r: memref<47x47xf32>, %h: memref<?x?x47xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x47xf32>) initial(%h0 : memref<?x47xf32>) captures(%r : memref<47x47xf32>) into(%h : memref<?x?x47xf32>) {
  ^bb0(%xt: vector<47xf32>, %ht: vector<47xf32>, %rc: vector<47x47xf32>):
    %0 = bppsa.matvec %rc, %ht plus %xt : vector<47x47xf32>, vector<47xf32> plus vector<47xf32> -> vector<47xf32>
    bppsa.yield %0 : vector<47xf32>
  }
  return
}

// LITTLE-LABEL: func.func @not_enough
//   LITTLE-NOT:   side_by_side
//       LITTLE:   return
func.func @not_enough(%x: memref<?x?x47xf32>, %h0: memref<?x47xf32>, %r: memref<47x47xf32>, %a: memref<?x?x47xf32>, %b: memref<?x?x47xf32>) {
  call @loop_47(%x, %h0, %r, %a) : (memref<?x?x47xf32>, memref<?x47xf32>, memref<47x47xf32>, memref<?x?x47xf32>) -> ()
  call @loop_47(%x, %h0, %r, %b) : (memref<?x?x47xf32>, memref<?x47xf32>, memref<47x47xf32>, memref<?x?x47xf32>) -> ()
  return
}
