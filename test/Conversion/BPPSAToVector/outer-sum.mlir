// RUN: bppsa-opt %s --convert-bppsa-to-vector | FileCheck %s

// The running sums of 30 rows and all columns fit in the L2 cache.

// CHECK-LABEL: func.func @narrow(
// CHECK:         scf.parallel
// CHECK:           memref.alloca() {alignment = 64 : i64} : memref<30x128x16xf32>
// CHECK:         return
func.func @narrow(%a: memref<?x?x256x16xf32>, %x: memref<?x?x128x16xf32>, %sum: memref<256x128xf32>) {
  bppsa.outer_sum lanes 16 %a, %x into %sum : memref<?x?x256x16xf32>, memref<?x?x128x16xf32> into memref<256x128xf32>
  return
}

// Wider results are computed 128 columns at a time.

// CHECK-LABEL: func.func @wide(
// CHECK:         scf.parallel
// CHECK:           %[[SUMS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<30x128x16xf32>
// CHECK:           scf.for %[[COL:.*]] = %c0{{.*}} to %c512{{.*}} step %c128
// CHECK:             vector.reduction <add>
// CHECK:             %[[AT:.*]] = arith.addi %[[COL]], %{{.*}}
// CHECK:             memref.store %{{.*}}, %{{.*}}[%{{.*}}, %[[AT]]] : memref<256x512xf32>
func.func @wide(%a: memref<?x?x256x16xf32>, %x: memref<?x?x512x16xf32>, %sum: memref<256x512xf32>) {
  bppsa.outer_sum lanes 16 %a, %x into %sum : memref<?x?x256x16xf32>, memref<?x?x512x16xf32> into memref<256x512xf32>
  return
}

// If a vector of 16 lanes takes two registers, each half of the lanes has its own sums. The rows of
// a slab are copied contiguously for the second half and for later blocks.

// RUN: bppsa-opt %s --convert-bppsa-to-vector=registers=8 | FileCheck %s --check-prefix=HALVES
// HALVES-LABEL: func.func @narrow(
// HALVES:         memref.alloca() {alignment = 64 : i64} : memref<4x32x16xf32>
// HALVES:         %[[RIGHT:.*]] = memref.alloca() {alignment = 64 : i64} : memref<{{.*}}x32x16xf32>
// HALVES:         scf.for %[[LANE:.*]] = %c0{{.*}} to %c16{{.*}} step %c8
// HALVES:           vector.store {{.*}}, %[[RIGHT]][{{.*}}, %[[LANE]]] : memref<{{.*}}>, vector<8xf32>
// HALVES-COUNT-12:  vector.fma {{.*}} : vector<8xf32>
