// RUN: bppsa-opt %s --convert-bppsa-to-vector --split-input-file | FileCheck %s

// Tiles cover four features of sixteen samples; the last tile overlaps the one before it. Lanes
// past the last sample read the last sample and are set to zero.

// CHECK-LABEL: func.func @pack_lanes(
// CHECK:         scf.if
// CHECK:           scf.for %[[F:.*]] = %c0{{.*}} to %c10{{.*}} step %c4
// CHECK:             %[[FIRST:.*]] = arith.minui %[[F]], %c6
// CHECK-COUNT-16:    vector.load %{{.*}}, %[[FIRST]]] : memref<?x?x10xf32>, vector<4xf32>
// CHECK-COUNT-20:    vector.shuffle
// CHECK-NOT:         arith.select
// CHECK-COUNT-4:     vector.store %{{.*}} vector<16xf32>
// CHECK:         } else {
// CHECK-COUNT-16:  arith.minui
// CHECK:           %[[MASK:.*]] = vector.create_mask
// CHECK:             arith.select %[[MASK]]
func.func @pack_lanes(%x: memref<?x?x10xf32>, %p: memref<?x?x10x16xf32>) {
  bppsa.pack_lanes 16, %x into %p : memref<?x?x10xf32> into memref<?x?x10x16xf32>
  return
}

// -----

// Two features are too few for a tile.

// CHECK-LABEL: func.func @pack_few(
// CHECK-COUNT-16: memref.load
// CHECK:          vector.from_elements
// CHECK-NOT:      vector.shuffle
func.func @pack_few(%x: memref<?x2xf32>, %p: memref<?x2x16xf32>) {
  bppsa.pack_lanes 16, %x into %p : memref<?x2xf32> into memref<?x2x16xf32>
  return
}

// -----

// The last sample is stored after the lanes that have no sample.

// CHECK-LABEL: func.func @unpack_lanes(
// CHECK:         %[[LAST:.*]] = arith.addi %{{.*}}, %c-1
// CHECK:         } else {
// CHECK:           %[[L0:.*]] = arith.minui %{{.*}}, %[[LAST]]
// CHECK-NEXT:      arith.constant
// CHECK-NEXT:      arith.addi
// CHECK-NEXT:      %[[L1:.*]] = arith.minui
// CHECK:             vector.load %{{.*}}, vector<16xf32>
// CHECK:             vector.store %{{.*}}, %{{.*}}[%[[L1]], %{{.*}}] : memref<?x4xf32>, vector<4xf32>
// CHECK-NEXT:        vector.store %{{.*}}, %{{.*}}[%[[L0]], %{{.*}}] : memref<?x4xf32>, vector<4xf32>
func.func @unpack_lanes(%p: memref<?x4x16xf32>, %b: index, %x: memref<?x4xf32>) {
  bppsa.unpack_lanes 16, %p, %b into %x : memref<?x4x16xf32> into memref<?x4xf32>
  return
}

// -----

// Chunks have at least four values.

// CHECK-LABEL: func.func @chunks(
// CHECK-COUNT-16: vector.load %{{.*}} vector<4xf32>
// CHECK:          arith.select
// CHECK:          vector.store %{{.*}} vector<16xf32>
// CHECK:          } else {
// CHECK:            memref.load
// CHECK-COUNT-4:  vector.load %{{.*}} vector<16xf32>
// CHECK-COUNT-16: vector.store %{{.*}} vector<4xf32>
func.func @chunks(%x: memref<?x?x4x1xf32>, %c: index, %p: memref<?x?x4x16xf32>) {
  bppsa.pack_chunks 16, %x steps %c into %p : memref<?x?x4x1xf32> into memref<?x?x4x16xf32>
  bppsa.unpack_chunks 16, %p into %x : memref<?x?x4x16xf32> into memref<?x?x4x1xf32>
  return
}
