// RUN: bppsa-opt --bppsa-overlap-time-loops %s | FileCheck %s
// RUN: bppsa-opt --bppsa-overlap-time-loops=sums=false %s | FileCheck %s --check-prefix=APART

func.func private @wide(%d: memref<?x?x4x1xf32>, %x: memref<?x?x64x1xf32>, %n: index, %sum: memref<4x64xf32>) {
  bppsa.outer_sum lanes 1 %d, %x batch %n into %sum : memref<?x?x4x1xf32>, memref<?x?x64x1xf32> into memref<4x64xf32>
  return
}

func.func private @narrow(%d: memref<?x?x4x1xf32>, %n: index, %sum: memref<4xf32>) {
  bppsa.step_sum lanes 1 %d batch %n into %sum : memref<?x?x4x1xf32> into memref<4xf32>
  return
}

func.func private @loop(%x: memref<?x?x4x1xf32>, %h0: memref<?x4x1xf32>, %h: memref<?x?x4x1xf32>) {
  bppsa.recurrence lanes 1 sequences(%x : memref<?x?x4x1xf32>) initial(%h0 : memref<?x4x1xf32>)
      into(%h : memref<?x?x4x1xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
    %next = arith.addf %xt, %ht : vector<4xf32>
    bppsa.yield %next : vector<4xf32>
  }
  return
}

// Two threads each compute one long and one short sum. Deallocations follow all sums.
// CHECK-LABEL: func.func @gates
//  CHECK-SAME:   (%[[X:[a-z0-9]*]]: memref<?x?x64x1xf32>, %[[N:[a-z0-9]*]]: index,
//       CHECK:   call @bppsa_rt_side_by_side(%c4{{.*}}, %c4
//       CHECK:   scf.parallel
//       CHECK:     case 0 {
//  CHECK-NEXT:       func.call @[[FIRST:wide|narrow]](
//       CHECK:     case 1 {
//  CHECK-NEXT:       func.call @[[SECOND:wide|narrow]](
//       CHECK:     case 2 {
//  CHECK-NEXT:       func.call @[[FIRST]](
//       CHECK:     default {
//  CHECK-NEXT:       func.call @[[SECOND]](
//       CHECK:   } else {
// CHECK-COUNT-4:   call @{{wide|narrow}}
//       CHECK:   }
//  CHECK-NEXT:   memref.dealloc
// A sum after a time loop does not wait.
//       CHECK:   call @loop
//       CHECK:   call @narrow
// APART-LABEL: func.func @gates
//   APART-NOT:   side_by_side
//       APART:   return
func.func @gates(%x: memref<?x?x64x1xf32>, %n: index, %e: memref<?x?x4x1xf32>, %h0: memref<?x4x1xf32>,
                 %h: memref<?x?x4x1xf32>, %w0: memref<4x64xf32>, %w1: memref<4x64xf32>,
                 %b0: memref<4xf32>, %b1: memref<4xf32>, %b2: memref<4xf32>) {
  %d = memref.alloc(%n, %n) : memref<?x?x4x1xf32>
  call @loop(%e, %h0, %d) : (memref<?x?x4x1xf32>, memref<?x4x1xf32>, memref<?x?x4x1xf32>) -> ()
  call @wide(%d, %x, %n, %w0) : (memref<?x?x4x1xf32>, memref<?x?x64x1xf32>, index, memref<4x64xf32>) -> ()
  call @wide(%d, %x, %n, %w1) : (memref<?x?x4x1xf32>, memref<?x?x64x1xf32>, index, memref<4x64xf32>) -> ()
  call @narrow(%d, %n, %b0) : (memref<?x?x4x1xf32>, index, memref<4xf32>) -> ()
  memref.dealloc %d : memref<?x?x4x1xf32>
  call @narrow(%e, %n, %b1) : (memref<?x?x4x1xf32>, index, memref<4xf32>) -> ()
  call @loop(%e, %h0, %h) : (memref<?x?x4x1xf32>, memref<?x4x1xf32>, memref<?x?x4x1xf32>) -> ()
  call @narrow(%h, %n, %b2) : (memref<?x?x4x1xf32>, index, memref<4xf32>) -> ()
  return
}
