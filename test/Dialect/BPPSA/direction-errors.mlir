// RUN: bppsa-opt %s -split-input-file -verify-diagnostics

func.func @no_loop(%reverse: i1) {
  // expected-error @below {{needs one recurrence, chain or transition in its body, found 0; use one op per loop}}
  bppsa.reverse_if %reverse {
  }
  return
}

// -----

func.func @two_loops(%reverse: i1, %x: memref<?x?x4x16xf32>, %h0: memref<?x4x16xf32>, %h: memref<?x?x4x16xf32>) {
  // expected-error @below {{needs one recurrence, chain or transition in its body, found 2; use one op per loop}}
  bppsa.reverse_if %reverse {
    bppsa.recurrence lanes 16 sequences(%x : memref<?x?x4x16xf32>) initial(%h0 : memref<?x4x16xf32>) into(%h : memref<?x?x4x16xf32>) {
    ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
      bppsa.yield %xt : vector<4xf32>
    }
    bppsa.recurrence lanes 16 sequences(%x : memref<?x?x4x16xf32>) initial(%h0 : memref<?x4x16xf32>) into(%h : memref<?x?x4x16xf32>) {
    ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
      bppsa.yield %ht : vector<4xf32>
    }
  }
  return
}
