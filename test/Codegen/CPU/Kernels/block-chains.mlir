// RUN: bppsa-opt %s -split-input-file --pass-pipeline="builtin.module(func.func(bppsa-block-chains{min-bytes=4096}))" | FileCheck %s

// A large sum becomes an accumulating product; a small one is added. The emitted sequence is a
// buffer of at most two blocks.
// CHECK-LABEL: func.func @chain(
// CHECK-SAME:    %[[H:[a-z0-9]*]]: memref<?x?x8x16xf32>, %[[S:[a-z0-9]*]]: memref<?x8x16xf32>, %[[R:[a-z0-9]*]]: memref<8x8xf32>, %[[G:[a-z0-9]*]]: memref<?x8x16xf32>, %[[W:[a-z0-9]*]]: memref<8x8xf32>, %[[B:[a-z0-9]*]]: memref<8xf32>,
// CHECK:         %[[BUFFER:.*]] = memref.alloc(%{{.*}}, %{{.*}}) {{.*}} : memref<?x?x8x16xf32>
// CHECK:         %[[FEW:.*]] = arith.cmpi ule
// CHECK:         scf.if %[[FEW]] {
// CHECK:           bppsa.chain {{.*}} seeds(%[[S]] :
// CHECK:           linalg.fill {{.*}} outs(%[[W]] :
// CHECK:           linalg.generic {{.*}} outs(%[[W]] : {{.*}}bppsa.mapping = #bppsa.product_mapping<packed_rhs>
// CHECK:           bppsa.step_sum {{.*}} into %[[B]] :
// CHECK:         } else {
// CHECK:           %[[SEEDS:.*]] = memref.alloc
// CHECK:           memref.copy %[[S]], %[[G]]
// CHECK:           linalg.fill {{.*}} outs(%[[W]] :
// CHECK:           linalg.fill {{.*}} outs(%[[B]] :
// CHECK:           %[[PART:.*]] = memref.alloc() {{.*}} : memref<8xf32>
// CHECK:           scf.for %[[DONE:.*]] = %c0{{.*}} to %[[STEPS:.*]] step
// CHECK:             %[[LEFT:.*]] = arith.subi %[[STEPS]], %[[DONE]]
// CHECK:             %[[COUNT:.*]] = arith.minui %[[LEFT]]
// CHECK:             %[[FIRST:.*]] = arith.subi %[[LEFT]], %[[COUNT]]
// CHECK:             memref.copy %[[G]], %[[SEEDS]]
// CHECK:             linalg.generic {{.*}}"reduction", "reduction", "reduction"]} ins(%[[SEEDS]]
// CHECK:             %[[ACTIVE:.*]] = arith.cmpf une
// CHECK:             bppsa.chain {{.*}} seeds(%[[SEEDS]] : {{.*}} into(%[[G]],
// CHECK:             scf.if %[[ACTIVE]] {
// CHECK-NOT:           linalg.fill
// CHECK:               linalg.generic {{.*}} outs(%[[W]] :
// CHECK:               bppsa.step_sum {{.*}} into %[[PART]] :
// CHECK:               linalg.add ins(%[[B]], %[[PART]] : {{.*}}) outs(%[[B]] :
// CHECK:         memref.dealloc %[[BUFFER]]
func.func @chain(%h: memref<?x?x8x16xf32>, %s: memref<?x8x16xf32>, %r: memref<8x8xf32>, %g: memref<?x8x16xf32>,
    %w: memref<8x8xf32>, %b: memref<8xf32>, %n: index, %blocks: index, %steps: index) {
  %d = memref.alloc(%blocks, %steps) {alignment = 64 : i64} : memref<?x?x8x16xf32>
  bppsa.chain lanes 16 saved(%h : memref<?x?x8x16xf32>) seeds(%s : memref<?x8x16xf32>)
      captures(%r : memref<8x8xf32>) into(%g, %d : memref<?x8x16xf32>, memref<?x?x8x16xf32>) {
  ^bb0(%ht: vector<8xf32>, %gt: vector<8xf32>, %rc: vector<8x8xf32>):
    %0 = arith.mulf %ht, %gt : vector<8xf32>
    %1 = bppsa.matvec transposed %rc, %0 : vector<8x8xf32>, vector<8xf32> -> vector<8xf32>
    bppsa.yield %1, %0 : vector<8xf32>, vector<8xf32>
  }
  bppsa.outer_sum lanes 16 %d, %h into %w : memref<?x?x8x16xf32>, memref<?x?x8x16xf32> into memref<8x8xf32>
  bppsa.step_sum lanes 16 %d batch %n into %b : memref<?x?x8x16xf32> into memref<8xf32>
  memref.dealloc %d : memref<?x?x8x16xf32>
  return
}

// -----

// A reversed chain starts with the first steps. The whole emitted sequence has another reader.
// Nonlinear links emit a value even without cotangents.
// CHECK-LABEL: func.func @reverse(
// CHECK-SAME:    %{{.*}}, %[[D:[a-z0-9]*]]: memref<?x?x8x16xf32>,
// CHECK:         scf.for %[[DONE:.*]] = %c0
// CHECK:           memref.subview %[[D]][0, %[[DONE]], 0, 0]
// CHECK:           bppsa.chain reverse
// CHECK-NOT:       scf.if
// CHECK:           linalg.generic
func.func @reverse(%h: memref<?x?x8x16xf32>, %s: memref<?x8x16xf32>, %g: memref<?x8x16xf32>, %d: memref<?x?x8x16xf32>,
    %w: memref<8x8xf32>) {
  bppsa.chain reverse lanes 16 saved(%h : memref<?x?x8x16xf32>) seeds(%s : memref<?x8x16xf32>)
      into(%g, %d : memref<?x8x16xf32>, memref<?x?x8x16xf32>) {
  ^bb0(%ht: vector<8xf32>, %gt: vector<8xf32>):
    %0 = arith.addf %ht, %gt : vector<8xf32>
    bppsa.yield %0, %0 : vector<8xf32>, vector<8xf32>
  }
  bppsa.outer_sum lanes 16 %d, %h into %w : memref<?x?x8x16xf32>, memref<?x?x8x16xf32> into memref<8x8xf32>
  return
}

// -----

// Directions run in parallel; a small sum over lanes is fused into its chain.
// CHECK-LABEL: func.func @small(
// CHECK-NOT:     scf.for
// CHECK:         return
func.func @small(%h: memref<?x?x2x16xf32>, %s: memref<?x2x16xf32>, %g: memref<?x2x16xf32>, %d: memref<?x?x2x16xf32>,
    %w: memref<2x2xf32>) {
  bppsa.chain lanes 16 saved(%h : memref<?x?x2x16xf32>) seeds(%s : memref<?x2x16xf32>)
      into(%g, %d : memref<?x2x16xf32>, memref<?x?x2x16xf32>) {
  ^bb0(%ht: vector<2xf32>, %gt: vector<2xf32>):
    %0 = arith.mulf %ht, %gt : vector<2xf32>
    bppsa.yield %0, %0 : vector<2xf32>, vector<2xf32>
  }
  bppsa.outer_sum lanes 16 %d, %h into %w : memref<?x?x2x16xf32>, memref<?x?x2x16xf32> into memref<2x2xf32>
  return
}
