// RUN: bppsa-opt %s --bppsa-fuse-injected --split-input-file | FileCheck %s

// The link computes the injected cotangent itself. Sums of the sequence that it now saves move
// after the chain; the sum of cotangents of another chain is unchanged.

// CHECK-LABEL: func.func @head(
// CHECK-SAME:      %[[H:[^:]*]]: tensor<?x?x4x16xf32>, %[[D:[^:]*]]: tensor<?x?x2x16xf32>, %[[W:[^:]*]]: tensor<4x2xf32>
// CHECK-NOT:     bppsa.recurrence
// CHECK:         %{{.*}}, %[[E:.*]] = bppsa.chain lanes 16 saved(%[[D]] :
// CHECK:         bppsa.outer_sum lanes 16 %[[E]], %[[D]]
// CHECK:         bppsa.chain lanes 16 saved(%[[H]], %[[D]] : {{.*}}) seeds(%{{[^ ]*}} : {{.*}}) captures(%{{.*}}, %[[W]] :
// CHECK-NEXT:    ^bb0(%[[HT:.*]]: vector<4xf32>, %[[DT:.*]]: vector<2xf32>, %[[GT:.*]]: vector<4xf32>, %{{.*}}: vector<4x4xf32>, %[[WC:.*]]: vector<4x2xf32>):
// CHECK-NEXT:      %[[SUM:.*]] = bppsa.matvec %[[WC]], %[[DT]] plus %[[GT]]
// CHECK-NEXT:      arith.mulf %[[HT]], %[[SUM]]
// CHECK:         bppsa.outer_sum lanes 16 %[[H]], %[[D]] batch
// CHECK:         bppsa.step_sum lanes 16 %[[D]] batch
func.func @head(%h: tensor<?x?x4x16xf32>, %d: tensor<?x?x2x16xf32>, %w: tensor<4x2xf32>, %g: tensor<?x4x16xf32>,
    %v: tensor<4x4xf32>, %k: tensor<?x2x16xf32>, %n: index)
    -> (tensor<?x4x16xf32>, tensor<4x2xf32>, tensor<2xf32>, tensor<2x2xf32>) {
  %c, %e = bppsa.chain lanes 16 saved(%d : tensor<?x?x2x16xf32>) seeds(%k : tensor<?x2x16xf32>)
      -> (tensor<?x2x16xf32>) emitted(tensor<?x?x2x16xf32>) {
  ^bb0(%dt: vector<2xf32>, %kt: vector<2xf32>):
    %0 = arith.mulf %dt, %kt : vector<2xf32>
    bppsa.yield %0, %0 : vector<2xf32>, vector<2xf32>
  }
  %s = bppsa.recurrence lanes 16 sequences(%d : tensor<?x?x2x16xf32>) captures(%w : tensor<4x2xf32>)
      outputs(tensor<?x?x4x16xf32>) {
  ^bb0(%dt: vector<2xf32>, %wc: vector<4x2xf32>):
    %0 = bppsa.matvec %wc, %dt : vector<4x2xf32>, vector<2xf32> -> vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  %dw = bppsa.outer_sum lanes 16 %h, %d batch %n : tensor<?x?x4x16xf32>, tensor<?x?x2x16xf32> -> tensor<4x2xf32>
  %db = bppsa.step_sum lanes 16 %d batch %n : tensor<?x?x2x16xf32> -> tensor<2xf32>
  %de = bppsa.outer_sum lanes 16 %e, %d batch %n : tensor<?x?x2x16xf32>, tensor<?x?x2x16xf32> -> tensor<2x2xf32>
  %r = bppsa.chain lanes 16 saved(%h : tensor<?x?x4x16xf32>) seeds(%g : tensor<?x4x16xf32>)
      injected(%s : tensor<?x?x4x16xf32>) inject_into [0] captures(%v : tensor<4x4xf32>) -> (tensor<?x4x16xf32>) {
  ^bb0(%ht: vector<4xf32>, %gt: vector<4xf32>, %vc: vector<4x4xf32>):
    %0 = arith.mulf %ht, %gt : vector<4xf32>
    %1 = bppsa.matvec transposed %vc, %0 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  return %r, %dw, %db, %de : tensor<?x4x16xf32>, tensor<4x2xf32>, tensor<2xf32>, tensor<2x2xf32>
}

// -----

// Not fused: a loop with more multiply-adds than the link, a sequence with other readers, loops
// over units, and loops of another phase.

// CHECK-LABEL: func.func @wide(
// CHECK:         bppsa.recurrence lanes 16
// CHECK:         bppsa.chain lanes 16 {{.*}} injected(
func.func @wide(%h: tensor<?x?x4x16xf32>, %d: tensor<?x?x5x16xf32>, %w: tensor<4x5xf32>, %g: tensor<?x4x16xf32>,
    %v: tensor<4x4xf32>) -> tensor<?x4x16xf32> {
  %s = bppsa.recurrence lanes 16 sequences(%d : tensor<?x?x5x16xf32>) captures(%w : tensor<4x5xf32>)
      outputs(tensor<?x?x4x16xf32>) {
  ^bb0(%dt: vector<5xf32>, %wc: vector<4x5xf32>):
    %0 = bppsa.matvec %wc, %dt : vector<4x5xf32>, vector<5xf32> -> vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  %r = bppsa.chain lanes 16 saved(%h : tensor<?x?x4x16xf32>) seeds(%g : tensor<?x4x16xf32>)
      injected(%s : tensor<?x?x4x16xf32>) inject_into [0] captures(%v : tensor<4x4xf32>) -> (tensor<?x4x16xf32>) {
  ^bb0(%ht: vector<4xf32>, %gt: vector<4xf32>, %vc: vector<4x4xf32>):
    %0 = arith.mulf %ht, %gt : vector<4xf32>
    %1 = bppsa.matvec transposed %vc, %0 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  return %r : tensor<?x4x16xf32>
}

// CHECK-LABEL: func.func @read_again(
// CHECK:         bppsa.recurrence lanes 16
// CHECK:         bppsa.chain lanes 16 {{.*}} injected(
func.func @read_again(%h: tensor<?x?x4x16xf32>, %d: tensor<?x?x4x16xf32>, %g: tensor<?x4x16xf32>)
    -> (tensor<?x4x16xf32>, tensor<?x?x4x16xf32>) {
  %s = bppsa.recurrence lanes 16 sequences(%d : tensor<?x?x4x16xf32>) outputs(tensor<?x?x4x16xf32>) {
  ^bb0(%dt: vector<4xf32>):
    %0 = math.tanh %dt : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  %r = bppsa.chain lanes 16 saved(%h : tensor<?x?x4x16xf32>) seeds(%g : tensor<?x4x16xf32>)
      injected(%s : tensor<?x?x4x16xf32>) inject_into [0] -> (tensor<?x4x16xf32>) {
  ^bb0(%ht: vector<4xf32>, %gt: vector<4xf32>):
    %0 = arith.mulf %ht, %gt : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return %r, %s : tensor<?x4x16xf32>, tensor<?x?x4x16xf32>
}

// CHECK-LABEL: func.func @units(
// CHECK:         bppsa.recurrence lanes 1
// CHECK:         bppsa.chain lanes 1 {{.*}} injected(
func.func @units(%h: tensor<?x?x4x1xf32>, %d: tensor<?x?x4x1xf32>, %g: tensor<?x4x1xf32>) -> tensor<?x4x1xf32> {
  %s = bppsa.recurrence lanes 1 sequences(%d : tensor<?x?x4x1xf32>) outputs(tensor<?x?x4x1xf32>) {
  ^bb0(%dt: vector<4xf32>):
    %0 = math.tanh %dt : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  %r = bppsa.chain lanes 1 saved(%h : tensor<?x?x4x1xf32>) seeds(%g : tensor<?x4x1xf32>)
      injected(%s : tensor<?x?x4x1xf32>) inject_into [0] -> (tensor<?x4x1xf32>) {
  ^bb0(%ht: vector<4xf32>, %gt: vector<4xf32>):
    %0 = arith.mulf %ht, %gt : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return %r : tensor<?x4x1xf32>
}

// CHECK-LABEL: func.func @phases(
// CHECK:         bppsa.recurrence lanes 16
// CHECK:         bppsa.chain lanes 16 {{.*}} injected(
func.func @phases(%h: tensor<?x?x4x16xf32>, %d: tensor<?x?x4x16xf32>, %g: tensor<?x4x16xf32>) -> tensor<?x4x16xf32> {
  %s = bppsa.recurrence lanes 16 sequences(%d : tensor<?x?x4x16xf32>) outputs(tensor<?x?x4x16xf32>) {
  ^bb0(%dt: vector<4xf32>):
    %0 = math.tanh %dt : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  bppsa.mark_phase 1
  %r = bppsa.chain lanes 16 saved(%h : tensor<?x?x4x16xf32>) seeds(%g : tensor<?x4x16xf32>)
      injected(%s : tensor<?x?x4x16xf32>) inject_into [0] -> (tensor<?x4x16xf32>) {
  ^bb0(%ht: vector<4xf32>, %gt: vector<4xf32>):
    %0 = arith.mulf %ht, %gt : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return %r : tensor<?x4x16xf32>
}

// -----

// The second injected sequence remains injected, at the same position.

// CHECK-LABEL: func.func @two(
// CHECK-SAME:      %[[H:[^:]*]]: tensor<?x?x4x16xf32>, %[[D:[^:]*]]: tensor<?x?x4x16xf32>
// CHECK:         bppsa.chain lanes 16 saved(%[[H]], %[[D]] : {{.*}}) injected(%[[H]] : {{.*}}) inject_into [1]
// CHECK:         ^bb0(%{{.*}}, %[[DT:[^:]*]]: vector<4xf32>, %[[GT:[^:]*]]: vector<4xf32>, %[[KT:[^:]*]]: vector<4xf32>):
// CHECK:           %[[MADE:.*]] = math.tanh %[[DT]]
// CHECK:           %[[SUM:.*]] = arith.addf %[[GT]], %[[MADE]]
// CHECK:           bppsa.yield %[[KT]], %[[SUM]]
func.func @two(%h: tensor<?x?x4x16xf32>, %d: tensor<?x?x4x16xf32>, %g: tensor<?x4x16xf32>, %k: tensor<?x4x16xf32>)
    -> (tensor<?x4x16xf32>, tensor<?x4x16xf32>) {
  %s = bppsa.recurrence lanes 16 sequences(%d : tensor<?x?x4x16xf32>) outputs(tensor<?x?x4x16xf32>) {
  ^bb0(%dt: vector<4xf32>):
    %0 = math.tanh %dt : vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  %r:2 = bppsa.chain lanes 16 saved(%h : tensor<?x?x4x16xf32>) seeds(%g, %k : tensor<?x4x16xf32>, tensor<?x4x16xf32>)
      injected(%h, %s : tensor<?x?x4x16xf32>, tensor<?x?x4x16xf32>) inject_into [1, 0]
      -> (tensor<?x4x16xf32>, tensor<?x4x16xf32>) {
  ^bb0(%ht: vector<4xf32>, %gt: vector<4xf32>, %kt: vector<4xf32>):
    bppsa.yield %kt, %gt : vector<4xf32>, vector<4xf32>
  }
  return %r#0, %r#1 : tensor<?x4x16xf32>, tensor<?x4x16xf32>
}
