// RUN: bppsa-opt --bppsa-merge-directions %s | FileCheck %s
// RUN: bppsa-opt --bppsa-merge-directions %s | bppsa-opt --bppsa-merge-directions | FileCheck %s

// The direction becomes an argument of the kernel, set by its callers.
// CHECK-LABEL: func.func private @backward(
//  CHECK-SAME:     %[[REVERSE:[^:]*]]: i1) attributes {passthrough = ["noinline"]}
//       CHECK:   bppsa.reverse_if %[[REVERSE]] {
//       CHECK:     bppsa.recurrence reverse lanes 16
//   CHECK-NOT: func.func private @forward(
func.func private @backward(%x: memref<?x?x4x16xf32>, %h0: memref<?x4x16xf32>, %h: memref<?x?x4x16xf32>) attributes {passthrough = ["noinline"]} {
  bppsa.recurrence reverse lanes 16 sequences(%x : memref<?x?x4x16xf32>) initial(%h0 : memref<?x4x16xf32>) into(%h : memref<?x?x4x16xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
    %0 = arith.addf %xt, %ht : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return
}

func.func private @forward(%x: memref<?x?x4x16xf32>, %h0: memref<?x4x16xf32>, %h: memref<?x?x4x16xf32>) attributes {passthrough = ["noinline"]} {
  bppsa.recurrence lanes 16 sequences(%x : memref<?x?x4x16xf32>) initial(%h0 : memref<?x4x16xf32>) into(%h : memref<?x?x4x16xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
    %0 = arith.addf %xt, %ht : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return
}

// Operations in the scope of a chain are merged along with it.
// CHECK-LABEL: func.func private @chain_forward(
//  CHECK-SAME:     %[[REVERSE:[^:]*]]: i1)
//       CHECK:   bppsa.reverse_if %[[REVERSE]] {
//  CHECK-NEXT:     memref.alloca_scope {
//       CHECK:       bppsa.chain lanes 16
//       CHECK:       bppsa.step_sum
//   CHECK-NOT: func.func private @chain_backward(
func.func private @chain_forward(%a: memref<?x?x4x16xf32>, %g: memref<?x4x16xf32>, %g0: memref<?x4x16xf32>, %e: memref<?x?x4x16xf32>, %b: memref<4xf32>) {
  memref.alloca_scope {
    bppsa.chain lanes 16 saved(%a : memref<?x?x4x16xf32>) seeds(%g : memref<?x4x16xf32>) into(%g0, %e : memref<?x4x16xf32>, memref<?x?x4x16xf32>) {
    ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
      %0 = arith.mulf %at, %gt : vector<4xf32>
      bppsa.yield %0, %0 : vector<4xf32>, vector<4xf32>
    }
    bppsa.step_sum lanes 16 %e into %b : memref<?x?x4x16xf32> into memref<4xf32>
  }
  return
}

func.func private @chain_backward(%a: memref<?x?x4x16xf32>, %g: memref<?x4x16xf32>, %g0: memref<?x4x16xf32>, %e: memref<?x?x4x16xf32>, %b: memref<4xf32>) {
  memref.alloca_scope {
    bppsa.chain reverse lanes 16 saved(%a : memref<?x?x4x16xf32>) seeds(%g : memref<?x4x16xf32>) into(%g0, %e : memref<?x4x16xf32>, memref<?x?x4x16xf32>) {
    ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
      %0 = arith.mulf %at, %gt : vector<4xf32>
      bppsa.yield %0, %0 : vector<4xf32>, vector<4xf32>
    }
    bppsa.step_sum lanes 16 %e into %b : memref<?x?x4x16xf32> into memref<4xf32>
  }
  return
}

// A different cell, kernels of a single direction, and a public function are not merged.
// CHECK-LABEL: func.func private @another(
//       CHECK:   arith.subf
// CHECK-LABEL: func.func @visible(
//   CHECK-NOT:   bppsa.reverse_if
//       CHECK:   return
func.func private @another(%x: memref<?x?x4x16xf32>, %h0: memref<?x4x16xf32>, %h: memref<?x?x4x16xf32>) attributes {passthrough = ["noinline"]} {
  bppsa.recurrence lanes 16 sequences(%x : memref<?x?x4x16xf32>) initial(%h0 : memref<?x4x16xf32>) into(%h : memref<?x?x4x16xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
    %0 = arith.subf %xt, %ht : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return
}

func.func @visible(%x: memref<?x?x4x16xf32>, %h0: memref<?x4x16xf32>, %h: memref<?x?x4x16xf32>) {
  bppsa.recurrence reverse lanes 16 sequences(%x : memref<?x?x4x16xf32>) initial(%h0 : memref<?x4x16xf32>) into(%h : memref<?x?x4x16xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
    %0 = arith.subf %xt, %ht : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return
}

// CHECK-LABEL: func.func @model(
//       CHECK:   call @backward({{.*}}, %true)
//       CHECK:   call @backward({{.*}}, %false)
//       CHECK:   call @chain_forward({{.*}}, %false
//       CHECK:   call @chain_forward({{.*}}, %true
//       CHECK:   call @another(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}) :
func.func @model(%x: memref<?x?x4x16xf32>, %h0: memref<?x4x16xf32>, %a: memref<?x?x4x16xf32>, %b: memref<?x?x4x16xf32>, %s: memref<4xf32>) {
  call @forward(%x, %h0, %a) : (memref<?x?x4x16xf32>, memref<?x4x16xf32>, memref<?x?x4x16xf32>) -> ()
  call @backward(%x, %h0, %b) : (memref<?x?x4x16xf32>, memref<?x4x16xf32>, memref<?x?x4x16xf32>) -> ()
  call @chain_forward(%a, %h0, %h0, %x, %s) : (memref<?x?x4x16xf32>, memref<?x4x16xf32>, memref<?x4x16xf32>, memref<?x?x4x16xf32>, memref<4xf32>) -> ()
  call @chain_backward(%b, %h0, %h0, %x, %s) : (memref<?x?x4x16xf32>, memref<?x4x16xf32>, memref<?x4x16xf32>, memref<?x?x4x16xf32>, memref<4xf32>) -> ()
  call @another(%x, %h0, %a) : (memref<?x?x4x16xf32>, memref<?x4x16xf32>, memref<?x?x4x16xf32>) -> ()
  return
}
