// RUN: bppsa-opt %s --bppsa-tile-transposes | FileCheck %s
// RUN: bppsa-opt %s --bppsa-tile-transposes=registers=16 | FileCheck %s --check-prefix=NARROW

// Tiles of sixteen rows and four columns, plus the remainder.

// CHECK-LABEL: func.func @transpose(
// CHECK-SAME:    %[[A:.*]]: memref<?x64xf32>, %[[B:.*]]: memref<64x?xf32>)
// CHECK:         scf.for %[[I:.*]] = %c0{{.*}} to %{{.*}} step %c16
// CHECK:           scf.for %[[J:.*]] = %c0{{.*}} to %{{.*}} step %c4
// CHECK-COUNT-16:    vector.load %[[A]][%{{.*}}, %[[J]]] : memref<?x64xf32>, vector<4xf32>
// CHECK-COUNT-20:    vector.shuffle
// CHECK-COUNT-4:     vector.store %{{.*}}, %[[B]][%{{.*}}, %[[I]]] : memref<64x?xf32>, vector<16xf32>
// CHECK:         scf.for %[[REST:.*]] =
// CHECK:           scf.for %[[K:.*]] =
// CHECK:             %[[X:.*]] = memref.load %[[A]][%[[REST]], %[[K]]]
// CHECK:             memref.store %[[X]], %[[B]][%[[K]], %[[REST]]]
// NARROW-LABEL: func.func @transpose(
// NARROW-COUNT-8: vector.load %{{.*}} : memref<?x64xf32>, vector<4xf32>
// NARROW-NOT:     vector.load
func.func @transpose(%a: memref<?x64xf32>, %b: memref<64x?xf32>) {
  linalg.transpose ins(%a : memref<?x64xf32>) outs(%b : memref<64x?xf32>) permutation = [1, 0]
  return
}

// Not tiled: arrays smaller than a tile, other element types, and non-contiguous elements.

// CHECK-LABEL: func.func @others(
// CHECK-COUNT-3: linalg.transpose
// CHECK-NOT:     scf.for
func.func @others(%a: memref<?x3xf32>, %b: memref<3x?xf32>, %c: memref<?x64xi64>, %d: memref<64x?xi64>,
                  %e: memref<?x64xf32, strided<[?, 2]>>, %f: memref<64x?xf32>) {
  linalg.transpose ins(%a : memref<?x3xf32>) outs(%b : memref<3x?xf32>) permutation = [1, 0]
  linalg.transpose ins(%c : memref<?x64xi64>) outs(%d : memref<64x?xi64>) permutation = [1, 0]
  linalg.transpose ins(%e : memref<?x64xf32, strided<[?, 2]>>) outs(%f : memref<64x?xf32>) permutation = [1, 0]
  return
}
