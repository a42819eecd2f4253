// RUN: bppsa-opt %s --convert-bppsa-to-vector --canonicalize --cse --loop-invariant-code-motion | FileCheck %s

// Position p is step p or, in reverse, T - 1 - p, computed as (p ^ -1) + T.

// CHECK-LABEL: func @recurrence(
// CHECK-SAME:      %[[REVERSE:[^:]*]]: i1, %[[X:[^:]*]]: memref<?x?x2x16xf32>, %{{[^:]*}}: memref<?x2x16xf32>, %[[H:[^:]*]]: memref<?x?x2x16xf32>)
// CHECK-NOT:     bppsa.reverse_if
// CHECK-DAG:     %[[T:.*]] = memref.dim %[[X]], %c1
// CHECK-DAG:     %[[MASK:.*]] = arith.select %[[REVERSE]], %c-1, %c0
// CHECK-DAG:     %[[BASE:.*]] = arith.select %[[REVERSE]], %[[T]], %c0
// CHECK-DAG:     %[[READ:.*]] = arith.select %[[REVERSE]], %c1, %c0
// CHECK-DAG:     %[[WRITTEN:.*]] = arith.select %[[REVERSE]], %c0, %c1
// CHECK:         vector.store %{{.*}}, %[[H]][%{{.*}}, %[[BASE]], %{{.*}}, %c0]
// CHECK:         scf.for %[[P:.*]] = %c0 to %[[T]] step %c1
// CHECK:           %[[TURNED:.*]] = arith.xori %[[P]], %[[MASK]]
// CHECK:           %[[STEP:.*]] = arith.addi %[[TURNED]], %[[BASE]]
// CHECK:           %[[BEFORE:.*]] = arith.addi %[[STEP]], %[[READ]]
// CHECK:           %[[AFTER:.*]] = arith.addi %[[STEP]], %[[WRITTEN]]
// CHECK:           vector.load %[[X]][%{{.*}}, %[[STEP]], %{{.*}}, %c0]
// CHECK:           vector.load %[[H]][%{{.*}}, %[[BEFORE]], %{{.*}}, %c0]
// CHECK:           vector.store %{{.*}}, %[[H]][%{{.*}}, %[[AFTER]], %{{.*}}, %c0]
func.func @recurrence(%reverse: i1, %x: memref<?x?x2x16xf32>, %h0: memref<?x2x16xf32>, %h: memref<?x?x2x16xf32>) {
  bppsa.reverse_if %reverse {
    bppsa.recurrence lanes 16 sequences(%x : memref<?x?x2x16xf32>) initial(%h0 : memref<?x2x16xf32>) into(%h : memref<?x?x2x16xf32>) {
    ^bb0(%xt: vector<2xf32>, %ht: vector<2xf32>):
      %0 = arith.addf %xt, %ht : vector<2xf32>
      bppsa.yield %0 : vector<2xf32>
    }
  }
  return
}

// A chain runs backward in time unless it is reversed.
// CHECK-LABEL: func @chain(
// CHECK-SAME:      %[[REVERSE:[^:]*]]: i1, %[[A:[^:]*]]: memref<?x?x2x16xf32>
// CHECK-DAG:     %[[T:.*]] = memref.dim %[[A]], %c1
// CHECK-DAG:     %[[MASK:.*]] = arith.select %[[REVERSE]], %c0, %c-1
// CHECK-DAG:     %[[BASE:.*]] = arith.select %[[REVERSE]], %c0, %[[T]]
// CHECK:         scf.for %[[P:.*]] = %c0 to %[[T]] step %c1
// CHECK:           %[[TURNED:.*]] = arith.xori %[[P]], %[[MASK]]
// CHECK:           %[[STEP:.*]] = arith.addi %[[TURNED]], %[[BASE]]
// CHECK:           vector.load %[[A]][%{{.*}}, %[[STEP]], %{{.*}}, %c0]
func.func @chain(%reverse: i1, %a: memref<?x?x2x16xf32>, %g: memref<?x2x16xf32>, %g0: memref<?x2x16xf32>, %e: memref<?x?x2x16xf32>) {
  bppsa.reverse_if %reverse {
    bppsa.chain lanes 16 saved(%a : memref<?x?x2x16xf32>) seeds(%g : memref<?x2x16xf32>) into(%g0, %e : memref<?x2x16xf32>, memref<?x?x2x16xf32>) {
    ^bb0(%at: vector<2xf32>, %gt: vector<2xf32>):
      %0 = arith.addf %at, %gt : vector<2xf32>
      bppsa.yield %0, %0 : vector<2xf32>, vector<2xf32>
    }
  }
  return
}
