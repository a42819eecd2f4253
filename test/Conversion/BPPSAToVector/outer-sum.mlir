// RUN: bppsa-opt %s --convert-bppsa-to-vector | FileCheck %s

// The running sums of 30 rows and all columns stay in the second-level cache.

// CHECK-LABEL: func.func @narrow(
// CHECK:         scf.parallel
// CHECK:           memref.alloca() {alignment = 64 : i64} : memref<30x128x16xf32>
// CHECK:         return
func.func @narrow(%a: memref<?x?x256x16xf32>, %x: memref<?x?x128x16xf32>, %sum: memref<256x128xf32>) {
  bppsa.outer_sum lanes 16 %a, %x into %sum : memref<256x128xf32> : memref<?x?x256x16xf32>, memref<?x?x128x16xf32>
  return
}

// More columns are taken 128 at a time.

// CHECK-LABEL: func.func @wide(
// CHECK:         scf.parallel
// CHECK:           %[[SUMS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<30x128x16xf32>
// CHECK:           scf.for %[[COL:.*]] = %c0{{.*}} to %c512{{.*}} step %c128
// CHECK:             vector.reduction <add>
// CHECK:             %[[AT:.*]] = arith.addi %[[COL]], %{{.*}}
// CHECK:             memref.store %{{.*}}, %{{.*}}[%{{.*}}, %[[AT]]] : memref<256x512xf32>
func.func @wide(%a: memref<?x?x256x16xf32>, %x: memref<?x?x512x16xf32>, %sum: memref<256x512xf32>) {
  bppsa.outer_sum lanes 16 %a, %x into %sum : memref<256x512xf32> : memref<?x?x256x16xf32>, memref<?x?x512x16xf32>
  return
}
