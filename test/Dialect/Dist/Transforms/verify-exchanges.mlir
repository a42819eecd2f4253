// RUN: bppsa-opt --bppsa-verify-exchanges --split-input-file --verify-diagnostics %s | FileCheck %s

// Every rank executes these exchanges equally often: in the function body, in scopes, and in loops
// with the same trip count on all ranks.
// CHECK-LABEL: func.func @step
func.func @step(%a: memref<8xf32> {bppsa.parameter = "a"}, %x: memref<?xf32>,
                %da: memref<8xf32> {bppsa.gradient = "a"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  dist.await_parameter %a : memref<8xf32>
  scf.for %i = %c0 to %c3 step %c1 {
    dist.rank_mean %a into %da : memref<8xf32> into memref<8xf32>
  }
  memref.alloca_scope {
    func.call @meet(%a, %da) : (memref<8xf32>, memref<8xf32>) -> ()
  }
  // Control flow without exchanges may depend on any value.
  scf.for %i = %c0 to %n step %c1 {
    %weight = dist.rank_weight : f32
    memref.store %weight, %x[%i] : memref<?xf32>
  }
  dist.signal_gradient %da : memref<8xf32>
  return
}

func.func private @meet(%own: memref<8xf32>, %all: memref<8xf32>) {
  dist.rank_mean %own into %all : memref<8xf32> into memref<8xf32>
  return
}

// -----

func.func @data(%c: memref<i1>, %own: tensor<8xf32>) {
  %0 = memref.load %c[] : memref<i1>
  // expected-note @below {{ranks may differ here}}
  scf.if %0 {
    // expected-error @below {{'dist.rank_mean' op needs a place that every rank reaches equally often, found it in scf.if; move it out of control flow that depends on data or sizes}}
    %1 = dist.rank_mean %own : tensor<8xf32> -> tensor<8xf32>
  }
  return
}

// -----

// The number of samples of a rank is a size.
func.func @samples(%x: memref<?xf32>, %da: memref<8xf32> {bppsa.gradient = "a"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  // expected-note @below {{ranks may differ here}}
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @below {{'dist.signal_gradient' op needs a place that every rank reaches equally often, found it in scf.for}}
    dist.signal_gradient %da : memref<8xf32>
  }
  return
}

// -----

// Exchanges in a parallel loop have no order.
func.func @parallel(%a: memref<8xf32> {bppsa.parameter = "a"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  // expected-note @below {{ranks may differ here}}
  scf.parallel (%i) = (%c0) to (%c3) step (%c1) {
    // expected-error @below {{'dist.await_parameter' op needs a place that every rank reaches equally often, found it in scf.parallel}}
    dist.await_parameter %a : memref<8xf32>
  }
  return
}

// -----

// expected-note @below {{ranks may differ here}}
func.func @branches(%c: i1, %own: memref<8xf32>, %all: memref<8xf32>) {
  cf.cond_br %c, ^some, ^end
^some:
  // expected-error @below {{'dist.rank_mean' op needs a place that every rank reaches equally often, found it in a function of several blocks}}
  dist.rank_mean %own into %all : memref<8xf32> into memref<8xf32>
  cf.br ^end
^end:
  return
}

// -----

// Calls to functions defined later are checked too.
func.func @calls(%c: i1, %own: memref<8xf32>, %all: memref<8xf32>) {
  // expected-note @below {{ranks may differ here}}
  scf.if %c {
    // expected-error @below {{'func.call' op needs a place that every rank reaches equally often, found it in scf.if}}
    func.call @outer(%own, %all) : (memref<8xf32>, memref<8xf32>) -> ()
  }
  return
}

func.func private @outer(%own: memref<8xf32>, %all: memref<8xf32>) {
  call @inner(%own, %all) : (memref<8xf32>, memref<8xf32>) -> ()
  return
}

func.func private @inner(%own: memref<8xf32>, %all: memref<8xf32>) {
  dist.rank_mean %own into %all : memref<8xf32> into memref<8xf32>
  return
}

// -----

func.func @states(%c: memref<i1>, %h: memref<4xf32>, %first: memref<4xf32>) {
  %0 = memref.load %c[] : memref<i1>
  // expected-note @below {{ranks may differ here}}
  scf.if %0 {
    // expected-error @below {{'dist.shard_enter' op needs a place that every rank reaches equally often, found it in scf.if}}
    dist.shard_enter %h into %first channel 0 : memref<4xf32> into memref<4xf32>
  }
  return
}

// -----

func.func @maps(%c: memref<i1>, %map: memref<2x4x4xf32>, %own: memref<2x4xf32>, %into: memref<2x4xf32>) {
  %0 = memref.load %c[] : memref<i1>
  // expected-note @below {{ranks may differ here}}
  scf.if %0 {
    // expected-error @below {{'dist.shard_scan' op needs a place that every rank reaches equally often, found it in scf.if}}
    dist.shard_scan %map, %own into %into channel 0 : memref<2x4x4xf32>, memref<2x4xf32> into memref<2x4xf32>
  }
  return
}
