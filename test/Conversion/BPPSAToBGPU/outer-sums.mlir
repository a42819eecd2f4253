// RUN: bppsa-opt %s --bppsa-choose-gpu-mapping --convert-bppsa-to-bgpu --bgpu-insert-barriers --canonicalize --cse | FileCheck %s

// A block computes a tile of 16 x 16 elements of one slab and holds 16 rows at a time in shared
// memory. One barrier follows the write of these rows and another their reads. A second kernel adds
// the slabs.

// CHECK-LABEL: func private @outer_sum(
// CHECK-SAME:      %[[L:.*]]: memref<?x?x40xf32>, %[[R:.*]]: memref<?x?x3xf32>, %[[OUT:.*]]: memref<40x3xf32>)
// CHECK:         %[[SLABS:.*]] = arith.ceildivui %{{.*}}, %c1024
// CHECK:         %[[PARTS:.*]] = memref.alloc(%[[SLABS]]) {{.*}} : memref<?x120xf32>
// CHECK:         %[[TILES:.*]] = arith.muli %[[SLABS]], %c3
// CHECK:         bgpu.kernel blocks(%[[BLOCK:.*]] in %[[TILES]]) threads(256) {
// CHECK-DAG:       %[[TILE:.*]] = arith.remui %[[BLOCK]], %c3
// CHECK-DAG:       %[[SLAB:.*]] = arith.divui %[[BLOCK]], %c3
// CHECK-DAG:       %[[ROW:.*]] = arith.muli %[[TILE]], %c16
// CHECK-DAG:       %[[LEFT:.*]] = memref.alloc() : memref<16x16xf32, #gpu.address_space<workgroup>>
// CHECK-DAG:       %[[RIGHT:.*]] = memref.alloc() : memref<16x16xf32, #gpu.address_space<workgroup>>
// CHECK:           %[[SUMS:.*]] = scf.for %[[FIRST:.*]] = %{{.*}} to %[[LAST:.*]] step %c16 iter_args(%[[RUNNING:.*]] = %{{.*}}) -> (tensor<16x16xf32>) {
// CHECK:             %[[OF_LEFT:.*]] = tensor.generate
// CHECK-NEXT:        ^bb0(%[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-DAG:           %[[DEPTH:.*]] = arith.addi %[[FIRST]], %[[I]]
// CHECK-DAG:           %[[COLUMN:.*]] = arith.addi %[[ROW]], %[[J]]
// CHECK-DAG:           %[[IN_SLAB:.*]] = arith.cmpi ult, %[[DEPTH]], %[[LAST]]
// CHECK-DAG:           %[[IN_ROWS:.*]] = arith.cmpi ult, %[[COLUMN]], %c40
// CHECK:               scf.if
// CHECK:                 memref.load %[[L]][%{{.*}}, %{{.*}}, %[[COLUMN]]]
// CHECK:             bgpu.put %[[OF_LEFT]], %[[LEFT]][0]
// CHECK:             %[[OF_RIGHT:.*]] = tensor.generate
// CHECK:                 memref.load %[[R]]
// CHECK:             bgpu.put %[[OF_RIGHT]], %[[RIGHT]][0]
// CHECK-NEXT:        gpu.barrier
// CHECK-NEXT:        %[[NEXT:.*]] = bgpu.for_each [16, 16] %[[RUNNING]] : tensor<16x16xf32> -> tensor<16x16xf32> {
// CHECK-NEXT:        ^bb0(%[[I:.*]]: index, %[[J:.*]]: index, %[[SUM:.*]]: f32):
// CHECK-NEXT:          %[[A:.*]] = memref.load %[[LEFT]][%c0, %[[I]]]
// CHECK-NEXT:          %[[B:.*]] = memref.load %[[RIGHT]][%c0, %[[J]]]
// CHECK-NEXT:          math.fma %[[A]], %[[B]], %[[SUM]]
// CHECK-COUNT-15:      math.fma
// CHECK:             gpu.barrier
// CHECK-NEXT:        scf.yield %[[NEXT]]
// CHECK:           bgpu.for_each [16, 16] %[[SUMS]]
// CHECK:             scf.if
// CHECK:               memref.store %{{.*}}, %[[PARTS]][%[[SLAB]], %{{.*}}]
// CHECK:         bgpu.kernel
// CHECK:           bgpu.for_each [1, 32]
// CHECK:             memref.store %{{.*}}, %[[OUT]]
// CHECK:         memref.dealloc %[[PARTS]]
func.func private @outer_sum(%l: memref<?x?x40xf32>, %r: memref<?x?x3xf32>, %out: memref<40x3xf32>) {
  bppsa.outer_sum %l, %r into %out : memref<?x?x40xf32>, memref<?x?x3xf32> into memref<40x3xf32>
  return
}
