// RUN: bppsa-opt %s --bppsa-hoist-input-products --bppsa-choose-gpu-mapping --convert-bppsa-to-bgpu --canonicalize --cse | FileCheck %s

// With the input, a row has 64 + 72 entries and would be shared by two threads; without it, one
// thread has a row of 64. The input projections, including the bias, are computed for all steps in
// advance and replace the input.

// CHECK-LABEL: func private @wide_input(
// CHECK-SAME:      %[[X:.*]]: memref<?x?x72xf32>, %[[H0:.*]]: memref<?x64xf32>, %[[W:.*]]: memref<64x72xf32>, %[[R:.*]]: memref<64x64xf32>, %[[B:.*]]: memref<64xf32>, %[[H:.*]]: memref<?x?x64xf32>)
// CHECK-DAG:     %[[T:.*]] = memref.dim %[[X]], %c0
// CHECK-DAG:     %[[SAMPLES:.*]] = memref.dim %[[X]], %c1
// CHECK:         %[[PRODUCTS:.*]] = memref.alloc(%[[T]], %[[SAMPLES]]) {alignment = 64 : i64} : memref<?x?x64xf32>
// CHECK:         bgpu.kernel {{.*}} threads(128)
// CHECK:           memref.load %[[B]]
// CHECK:           nvgpu.device_async_copy %[[X]]
// CHECK:           nvgpu.device_async_copy %[[W]]
// CHECK:           bgpu.mma
// CHECK:           memref.store %{{.*}}, %[[PRODUCTS]]
// CHECK:         bgpu.kernel {{.*}} threads(64)
// CHECK-NOT:       %[[X]]
// CHECK:           %[[APART:.*]]:{{.*}} = memref.distinct_objects %[[PRODUCTS]]
// CHECK:           %[[VECTORS:.*]] = memref.collapse_shape %[[PRODUCTS]]
// CHECK:           bgpu.fetch %[[VECTORS]]{{.*}} stages(8)
// CHECK-COUNT-64:  math.fma
// CHECK-NOT:       math.fma
// CHECK:         memref.dealloc %[[PRODUCTS]]
func.func private @wide_input(%x: memref<?x?x72xf32>, %h0: memref<?x64xf32>, %w: memref<64x72xf32>,
    %r: memref<64x64xf32>, %b: memref<64xf32>, %h: memref<?x?x64xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x72xf32>) initial(%h0 : memref<?x64xf32>)
      captures(%w, %r, %b : memref<64x72xf32>, memref<64x64xf32>, memref<64xf32>) into(%h : memref<?x?x64xf32>) {
  ^bb0(%xt: vector<72xf32>, %ht: vector<64xf32>, %wc: vector<64x72xf32>, %rc: vector<64x64xf32>, %bc: vector<64xf32>):
    %0 = bppsa.matvec %wc, %xt plus %bc : vector<64x72xf32>, vector<72xf32> plus vector<64xf32> -> vector<64xf32>
    %1 = bppsa.matvec %rc, %ht plus %0 : vector<64x64xf32>, vector<64xf32> plus vector<64xf32> -> vector<64xf32>
    bppsa.yield %1 : vector<64xf32>
  }
  return
}

// A row of 64 + 64 entries fits in one thread, so nothing is hoisted.

// CHECK-LABEL: func private @narrow_input(
// CHECK-NOT:     memref.alloc
// CHECK:         bgpu.kernel
// CHECK-NOT:     bgpu.kernel
// CHECK:         return
func.func private @narrow_input(%x: memref<?x?x64xf32>, %h0: memref<?x64xf32>, %w: memref<64x64xf32>,
    %r: memref<64x64xf32>, %h: memref<?x?x64xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x64xf32>) initial(%h0 : memref<?x64xf32>)
      captures(%w, %r : memref<64x64xf32>, memref<64x64xf32>) into(%h : memref<?x?x64xf32>) {
  ^bb0(%xt: vector<64xf32>, %ht: vector<64xf32>, %wc: vector<64x64xf32>, %rc: vector<64x64xf32>):
    %0 = bppsa.matvec %wc, %xt : vector<64x64xf32>, vector<64xf32> -> vector<64xf32>
    %1 = bppsa.matvec %rc, %ht plus %0 : vector<64x64xf32>, vector<64xf32> plus vector<64xf32> -> vector<64xf32>
    bppsa.yield %1 : vector<64xf32>
  }
  return
}

// An input that the step uses elsewhere is kept, and so is an addend that varies between steps.

// CHECK-LABEL: func private @other_use(
// CHECK-SAME:      %[[X:.*]]: memref<?x?x128xf32>, %{{.*}}: memref<?x128xf32>
// CHECK:         %[[PRODUCTS:.*]] = memref.alloc
// CHECK:         bgpu.kernel {{.*}} threads(128)
// CHECK:         bgpu.kernel {{.*}} threads(128)
// CHECK:           %[[VECTORS_X:.*]] = memref.collapse_shape %[[X]]
// CHECK:           %[[VECTORS:.*]] = memref.collapse_shape %[[PRODUCTS]]
// CHECK:           bgpu.fetch %[[VECTORS_X]]
// CHECK:           bgpu.fetch %[[VECTORS]]
// CHECK-COUNT-128: math.fma
// CHECK-NOT:       math.fma
func.func private @other_use(%x: memref<?x?x128xf32>, %h0: memref<?x128xf32>, %w: memref<128x128xf32>,
    %r: memref<128x128xf32>, %h: memref<?x?x128xf32>) {
  bppsa.recurrence reverse sequences(%x : memref<?x?x128xf32>) initial(%h0 : memref<?x128xf32>)
      captures(%w, %r : memref<128x128xf32>, memref<128x128xf32>) into(%h : memref<?x?x128xf32>) {
  ^bb0(%xt: vector<128xf32>, %ht: vector<128xf32>, %wc: vector<128x128xf32>, %rc: vector<128x128xf32>):
    %0 = arith.mulf %xt, %ht : vector<128xf32>
    %1 = bppsa.matvec %wc, %xt plus %0 : vector<128x128xf32>, vector<128xf32> plus vector<128xf32> -> vector<128xf32>
    %2 = bppsa.matvec %rc, %ht plus %1 : vector<128x128xf32>, vector<128xf32> plus vector<128xf32> -> vector<128xf32>
    bppsa.yield %2 : vector<128xf32>
  }
  return
}

// The input projections of both gates are one kernel, including step-invariant addends. If only a
// part of an addend is step-invariant, the rest stays in the step.

// CHECK-LABEL: func private @gates(
// CHECK-SAME:      %[[V:[^:]*]]: memref<64x72xf32>, %[[W:[^:]*]]: memref<64x72xf32>, %{{[^:]*}}: memref<64x64xf32>, %[[B:[^:]*]]: memref<64xf32>, %[[C:[^:]*]]: memref<64xf32>,
// CHECK:         %[[FIRST:.*]] = memref.alloc
// CHECK:         %[[SECOND:.*]] = memref.alloc
// CHECK:         bgpu.kernel {{.*}} threads(128)
// CHECK:           arith.select %{{.*}}, %[[B]], %[[C]] : memref<64xf32>
// CHECK:           arith.select %{{.*}}, %[[V]], %[[W]] : memref<64x72xf32>
// CHECK:           arith.select %{{.*}}, %[[FIRST]], %[[SECOND]] : memref<?x?x64xf32>
// CHECK:         bgpu.kernel
// CHECK:           %[[APART:.*]]:9 = memref.distinct_objects %[[FIRST]], %[[SECOND]], {{.*}}, %[[C]], %{{.*}}
// CHECK-NOT:       memref.load %[[APART]]#7
// CHECK:           %[[VECTORS_FIRST:.*]] = memref.collapse_shape %[[FIRST]]
// CHECK:           %[[VECTORS_SECOND:.*]] = memref.collapse_shape %[[SECOND]]
// CHECK:           bgpu.fetch %[[VECTORS_FIRST]]
// CHECK:           bgpu.fetch %[[VECTORS_SECOND]]
// CHECK-COUNT-64:  math.fma
// CHECK-NOT:       math.fma
// CHECK-NOT:     bgpu.kernel
func.func private @gates(%x: memref<?x?x72xf32>, %h0: memref<?x64xf32>, %v: memref<64x72xf32>, %w: memref<64x72xf32>,
    %r: memref<64x64xf32>, %b: memref<64xf32>, %c: memref<64xf32>, %h: memref<?x?x64xf32>) {
  bppsa.recurrence sequences(%x : memref<?x?x72xf32>) initial(%h0 : memref<?x64xf32>)
      captures(%v, %w, %r, %b, %c : memref<64x72xf32>, memref<64x72xf32>, memref<64x64xf32>, memref<64xf32>, memref<64xf32>)
      into(%h : memref<?x?x64xf32>) {
  ^bb0(%xt: vector<72xf32>, %ht: vector<64xf32>, %vc: vector<64x72xf32>, %wc: vector<64x72xf32>, %rc: vector<64x64xf32>,
       %bc: vector<64xf32>, %cc: vector<64xf32>):
    %0 = bppsa.matvec %vc, %xt plus %bc : vector<64x72xf32>, vector<72xf32> plus vector<64xf32> -> vector<64xf32>
    %1 = bppsa.matvec %rc, %ht plus %0 : vector<64x64xf32>, vector<64xf32> plus vector<64xf32> -> vector<64xf32>
    %2 = arith.mulf %1, %ht : vector<64xf32>
    %3 = arith.addf %2, %cc : vector<64xf32>
    %4 = bppsa.matvec %wc, %xt plus %3 : vector<64x72xf32>, vector<72xf32> plus vector<64xf32> -> vector<64xf32>
    bppsa.yield %4 : vector<64xf32>
  }
  return
}
