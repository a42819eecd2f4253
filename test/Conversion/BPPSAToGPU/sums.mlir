// RUN: bppsa-opt %s --bppsa-hoist-input-products --bppsa-choose-gpu-mapping --convert-bppsa-to-gpu --bgpu-allocate-shared --bgpu-insert-barriers --convert-bgpu-to-gpu --canonicalize --cse | FileCheck %s

// Thread n has row n of both sums in registers for 512 steps, and adds them to those of its block in
// memory then. The factor is read ahead as what is saved. A second launch adds the blocks up.

// CHECK-LABEL: func private @chain(
// CHECK-SAME:      %[[A:[^:]*]]: memref<?x?x4xf32>, %[[X:[^:]*]]: memref<?x?x2xf32>, %{{[^:]*}}: memref<?x4xf32>, %{{[^:]*}}: memref<?x4xf32>, %[[W:[^:]*]]: memref<4x2xf32>, %[[B:[^:]*]]: memref<4xf32>)
// CHECK:         %[[PARTS:.*]] = memref.alloc(%[[BLOCKS:.*]]) {{.*}} : memref<?x12xf32>
// CHECK:         gpu.launch blocks(%[[BLOCK:[^,]*]], {{.*}} in (%{{[^ ]*}} = %[[BLOCKS]], {{.*}} threads(%[[ROW:[^,]*]],
// CHECK-SAME:        function(@chain) workgroup({{.*}}%[[FACTOR:[^ ]*]] : memref<8x32xf32, #gpu.address_space<workgroup>>, %[[STATE:[^ ]*]] : memref<2x40xf32
// CHECK:           memref.store %[[ZERO:.*]], %[[PARTS]][%[[BLOCK]], %[[ROW]]]
// CHECK:           %[[SECOND:.*]] = arith.addi %[[ROW]], %c4
// CHECK:           memref.store %[[ZERO]], %[[PARTS]][%[[BLOCK]], %[[SECOND]]]
// CHECK:           %[[THIRD:.*]] = arith.addi %[[ROW]], %c8
// CHECK:           memref.store %[[ZERO]], %[[PARTS]][%[[BLOCK]], %[[THIRD]]]
// CHECK:           %[[SUMS:.*]]:4 = scf.for %[[POSITION:.*]] = {{.*}} iter_args(%{{.*}}, %[[W0:.*]] = %[[ZERO]], %[[W1:.*]] = %[[ZERO]], %[[B0:.*]] = %[[ZERO]])
// CHECK:             %[[D:.*]] = arith.mulf
// CHECK:             %[[X0:.*]] = memref.load %[[FACTOR]][%[[SLOT:.*]], %c0]
// CHECK-NEXT:        %[[NEXT0:.*]] = math.fma %[[D]], %[[X0]], %[[W0]]
// CHECK-NEXT:        %[[X1:.*]] = memref.load %[[FACTOR]][%[[SLOT]], %c1]
// CHECK-NEXT:        %[[NEXT1:.*]] = math.fma %[[D]], %[[X1]], %[[W1]]
// CHECK-NEXT:        %[[NEXT2:.*]] = arith.addf %[[B0]], %[[D]]
// CHECK:             %[[IN_PART:.*]] = arith.andi %[[POSITION]], %c511
// CHECK-NEXT:        %[[FULL:.*]] = arith.cmpi eq, %[[IN_PART]], %c511
// CHECK-NEXT:        %[[LEFT:.*]]:3 = scf.if %[[FULL]]
// CHECK:               memref.store %{{.*}}, %[[PARTS]]
// CHECK:               %[[NONE:.*]] = memref.load %[[STATE]][%c0, %c4]
// CHECK-NEXT:          scf.yield %[[NONE]], %[[NONE]], %[[NONE]]
// CHECK:             } else {
// CHECK-NEXT:          scf.yield %[[NEXT0]], %[[NEXT1]], %[[NEXT2]]
// CHECK:             scf.yield %{{.*}}, %[[LEFT]]#0, %[[LEFT]]#1, %[[LEFT]]#2
// CHECK:           %[[OLD:.*]] = memref.load %[[PARTS]][%[[BLOCK]], %[[ROW]]]
// CHECK:           %[[NEW:.*]] = arith.addf %[[OLD]], %[[SUMS]]#1
// CHECK:           memref.store %[[NEW]], %[[PARTS]][%[[BLOCK]], %[[ROW]]]
// CHECK:         gpu.launch {{.*}} function(@chain_1)
// CHECK:           scf.for %{{.*}} to %[[BLOCKS]] step %c16
// CHECK:             memref.load %[[PARTS]]
// CHECK:           memref.store %{{.*}}, %[[W]]
// CHECK:           memref.store %{{.*}}, %[[B]]
// CHECK:         memref.dealloc %[[PARTS]]
func.func private @chain(%a: memref<?x?x4xf32>, %x: memref<?x?x2xf32>, %g: memref<?x4xf32>, %out: memref<?x4xf32>,
    %w: memref<4x2xf32>, %b: memref<4xf32>) {
  bppsa.chain saved(%a : memref<?x?x4xf32>) seeds(%g : memref<?x4xf32>) inject_into []
      factors(%x : memref<?x?x2xf32>) sum_with [0, -1]
      into(%out, %w, %b : memref<?x4xf32>, memref<4x2xf32>, memref<4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %0 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %0, %0, %0 : vector<4xf32>, vector<4xf32>, vector<4xf32>
  }
  return
}
