// RUN: bppsa-opt %s --split-input-file --verify-diagnostics --convert-parallel-to-runtime | FileCheck %s

// CHECK:       func.func private @bppsa_rt_parallel_for(i64, !llvm.ptr, !llvm.ptr)

// The body function allocates its buffer outside the loop, recreates the constant, and gets the
// address and size of the array from the capture structure.
// CHECK-LABEL: func.func private @fill_body(
// CHECK-SAME:      %[[FIRST:.*]]: i64, %[[LAST:.*]]: i64, %[[CAPTURES:.*]]: !llvm.ptr)
// CHECK-NEXT:    %[[BUFFER:.*]] = memref.alloca() : memref<4xf32>
// CHECK-NEXT:    %[[FIELD0:.*]] = llvm.getelementptr %[[CAPTURES]][0, 0] : {{.*}}, !llvm.struct<(ptr, i64)>
// CHECK-NEXT:    %[[START:.*]] = llvm.load %[[FIELD0]] : !llvm.ptr -> !llvm.ptr
// CHECK-NEXT:    %[[FIELD1:.*]] = llvm.getelementptr %[[CAPTURES]][0, 1]
// CHECK-NEXT:    %[[SIZE:.*]] = llvm.load %[[FIELD1]] : !llvm.ptr -> i64
// CHECK-NEXT:    %[[X:.*]] = builtin.unrealized_conversion_cast %[[START]], %[[SIZE]] : !llvm.ptr, i64 to memref<?xf32>
// CHECK-DAG:     %[[CST:.*]] = arith.constant 2.0
// CHECK-DAG:     %[[FROM:.*]] = arith.index_cast %[[FIRST]] : i64 to index
// CHECK-DAG:     %[[TO:.*]] = arith.index_cast %[[LAST]] : i64 to index
// CHECK:         scf.for %[[I:.*]] = %[[FROM]] to %[[TO]]
// CHECK:           memref.store %[[CST]], %[[BUFFER]]
// CHECK:           memref.store %[[CST]], %[[X]]

// CHECK-LABEL: func.func @fill(
// CHECK:         %[[STACK:.*]] = llvm.alloca
// CHECK:         %[[BODY:.*]] = constant @fill_body
// CHECK:         %[[POINTER:.*]] = builtin.unrealized_conversion_cast %[[BODY]]
// CHECK:         %[[WORDS:.*]]:2 = builtin.unrealized_conversion_cast %arg0 : memref<?xf32> to !llvm.ptr, i64
// CHECK-NEXT:    %[[FIELD0:.*]] = llvm.getelementptr %[[STACK]][0, 0]
// CHECK-NEXT:    llvm.store %[[WORDS]]#0, %[[FIELD0]]
// CHECK-NEXT:    %[[FIELD1:.*]] = llvm.getelementptr %[[STACK]][0, 1]
// CHECK-NEXT:    llvm.store %[[WORDS]]#1, %[[FIELD1]]
// CHECK:         call @bppsa_rt_parallel_for(%{{.*}}, %[[POINTER]], %[[STACK]])
func.func @fill(%x: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %two = arith.constant 2.0 : f32
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %a = memref.alloca() : memref<4xf32>
    memref.store %two, %a[%c0] : memref<4xf32>
    memref.store %two, %x[%i] : memref<?xf32>
    scf.reduce
  }
  return
}

// -----

// Iterations are numbered over all dimensions, and an inner parallel loop is sequential in its
// thread.
// CHECK-LABEL: func.func private @two_body(
// CHECK:         scf.for %[[I:.*]] =
// CHECK-DAG:       %[[COLUMN:.*]] = arith.remui %[[I]], %[[M:.*]] : index
// CHECK-DAG:       %[[ROW:.*]] = arith.divui %[[I]], %[[M]] : index
// CHECK:           scf.for
// CHECK-NOT:     scf.parallel
// CHECK-LABEL: func.func @two(
func.func @two(%x: memref<?x?xf32>, %n: index, %m: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%n, %m) step (%c1, %c1) {
    scf.parallel (%k) = (%c0) to (%m) step (%c1) {
      memref.store %v, %x[%i, %j] : memref<?x?xf32>
      scf.reduce
    }
    scf.reduce
  }
  return
}

// -----

func.func @sum(%x: memref<?xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  // expected-error @+1 {{is a reduction, which the run time's parallel loop does not support; use scf.for}}
  %sum = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%zero) -> f32 {
    %v = memref.load %x[%i] : memref<?xf32>
    scf.reduce(%v : f32) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      scf.reduce.return %s : f32
    }
  }
  return %sum : f32
}
