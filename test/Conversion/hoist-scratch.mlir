// RUN: bppsa-opt %s --convert-scf-to-openmp --bppsa-hoist-scratch | FileCheck %s

// CHECK-LABEL: func @parallel(
// CHECK:         omp.parallel {
// CHECK-NEXT:      %[[A:.*]] = memref.alloca() : memref<4x16xf32>
// CHECK:           omp.loop_nest
// CHECK-NOT:         memref.alloca_scope
// CHECK:             vector.store %{{.*}}, %[[A]]
func.func @parallel(%n: index, %v: vector<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %a = memref.alloca() : memref<4x16xf32>
    vector.store %v, %a[%c0, %c0] : memref<4x16xf32>, vector<16xf32>
    scf.reduce
  }
  return
}
