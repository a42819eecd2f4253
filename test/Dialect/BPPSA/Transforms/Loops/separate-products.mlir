// RUN: bppsa-opt %s --bppsa-separate-products=cache=100 | FileCheck %s
// RUN: bppsa-opt %s --bppsa-separate-products | FileCheck %s --check-prefix=SMALL
// RUN: bppsa-opt %s --bppsa-separate-products=of-samples=144 | FileCheck %s --check-prefix=SAMPLES
// RUN: bppsa-opt %s --bppsa-separate-products=cache=100 --remarks-filter=mapping 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

#units = #bppsa.cpu_mapping<units, width = 1>
#samples = #bppsa.cpu_mapping<samples, width = 16>

// Both products of the sequence are separated, and one of them adds the other. The loop with states
// reads their sum and the other sequence.
// CHECK-LABEL: func.func @cell(
// CHECK-SAME:    %[[X:.*]]: tensor<?x?x3xf32>, %[[Y:.*]]: tensor<?x?x6xf32>, %[[H0:[^:]*]]: tensor<?x6xf32>, %[[W:.*]]: tensor<6x3xf32>, %[[V:.*]]: tensor<6x6xf32>, %[[R:.*]]: tensor<6x6xf32>, %[[B:.*]]: tensor<6xf32>)
// CHECK:         %[[P:.*]] = bppsa.recurrence sequences(%[[X]], %[[Y]] :
// CHECK-NOT:       initial
// CHECK-SAME:      captures(%[[W]], %[[V]], %[[R]], %[[B]]
// CHECK-SAME:      bppsa.mapping = #{{.*}}units
// CHECK-SAME:      outputs(tensor<?x?x6xf32>)
// CHECK:           ^bb0(%[[XT:.*]]: vector<3xf32>, %[[YT:.*]]: vector<6xf32>, %[[WC:.*]]: vector<6x3xf32>, %[[VC:.*]]: vector<6x6xf32>, %{{.*}}: vector<6x6xf32>, %[[BC:.*]]: vector<6xf32>):
// CHECK-NEXT:      %[[FIRST:.*]] = bppsa.matvec %[[WC]], %[[XT]] plus %[[BC]]
// CHECK-NEXT:      %[[BOTH:.*]] = bppsa.matvec %[[VC]], %[[YT]] plus %[[FIRST]]
// CHECK-NEXT:      bppsa.yield %[[BOTH]] : vector<6xf32>
// CHECK:         bppsa.recurrence reverse sequences(%[[Y]], %[[P]] : tensor<?x?x6xf32>, tensor<?x?x6xf32>)
// CHECK-SAME:      initial(%[[H0]] : tensor<?x6xf32>) captures(%[[R]] : tensor<6x6xf32>)
// CHECK:           ^bb0(%[[YT:.*]]: vector<6xf32>, %[[PT:.*]]: vector<6xf32>, %[[HT:.*]]: vector<6xf32>, %[[RC:.*]]: vector<6x6xf32>):
// CHECK-NEXT:      %[[SUM:.*]] = bppsa.matvec %[[RC]], %[[HT]] plus %[[PT]]
// CHECK-NEXT:      %[[NEXT:.*]] = arith.mulf %[[SUM]], %[[YT]]
// CHECK-NEXT:      bppsa.yield %[[NEXT]]
// SMALL-LABEL: func.func @cell(
// SMALL-COUNT-1: bppsa.recurrence
// SMALL-NOT: bppsa.recurrence
// SMALL:      return
// REMARK: Function=cell {{.*}}"recurrence: 2 products of inputs in a loop of their own, as a step reads 360 bytes of matrices, at least 101"
// REMARK-NOT: Function=others
func.func @cell(%x: tensor<?x?x3xf32>, %y: tensor<?x?x6xf32>, %h0: tensor<?x6xf32>, %w: tensor<6x3xf32>,
    %v: tensor<6x6xf32>, %r: tensor<6x6xf32>, %b: tensor<6xf32>) -> tensor<?x?x6xf32> {
  %h = bppsa.recurrence reverse sequences(%x, %y : tensor<?x?x3xf32>, tensor<?x?x6xf32>) initial(%h0 : tensor<?x6xf32>)
      captures(%w, %v, %r, %b : tensor<6x3xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6xf32>)
      attributes {bppsa.mapping = #units} -> (tensor<?x?x6xf32>) {
  ^bb0(%xt: vector<3xf32>, %yt: vector<6xf32>, %ht: vector<6xf32>, %wc: vector<6x3xf32>, %vc: vector<6x6xf32>,
       %rc: vector<6x6xf32>, %bc: vector<6xf32>):
    %0 = bppsa.matvec %wc, %xt plus %bc : vector<6x3xf32>, vector<3xf32> plus vector<6xf32> -> vector<6xf32>
    %1 = bppsa.matvec %vc, %yt plus %0 : vector<6x6xf32>, vector<6xf32> plus vector<6xf32> -> vector<6xf32>
    %2 = bppsa.matvec %rc, %ht plus %1 : vector<6x6xf32>, vector<6xf32> plus vector<6xf32> -> vector<6xf32>
    %3 = arith.mulf %2, %yt : vector<6xf32>
    bppsa.yield %3 : vector<6xf32>
  }
  return %h : tensor<?x?x6xf32>
}

// A product whose addend depends on a state is not step-invariant. A loop without states has
// nothing to share. With samples in lanes, separation pays off only for larger matrices.
// SAMPLES-LABEL: func.func @others(
// SAMPLES-COUNT-4: bppsa.recurrence
// SAMPLES-NOT: bppsa.recurrence
// SAMPLES:     return
// CHECK-LABEL: func.func @others(
// CHECK-COUNT-3: bppsa.recurrence
// CHECK-NOT: bppsa.recurrence
// CHECK:      return
func.func @others(%x: tensor<?x?x6xf32>, %h0: tensor<?x6xf32>, %r: tensor<6x6xf32>)
    -> (tensor<?x?x6xf32>, tensor<?x?x6xf32>, tensor<?x?x6xf32>) {
  %h = bppsa.recurrence sequences(%x : tensor<?x?x6xf32>) initial(%h0 : tensor<?x6xf32>)
      captures(%r : tensor<6x6xf32>) attributes {bppsa.mapping = #units} -> (tensor<?x?x6xf32>) {
  ^bb0(%xt: vector<6xf32>, %ht: vector<6xf32>, %rc: vector<6x6xf32>):
    %0 = bppsa.matvec %rc, %ht : vector<6x6xf32>, vector<6xf32> -> vector<6xf32>
    %1 = bppsa.matvec %rc, %xt plus %0 : vector<6x6xf32>, vector<6xf32> plus vector<6xf32> -> vector<6xf32>
    bppsa.yield %1 : vector<6xf32>
  }
  %k = bppsa.recurrence sequences(%x : tensor<?x?x6xf32>) initial(%h0 : tensor<?x6xf32>)
      captures(%r : tensor<6x6xf32>) attributes {bppsa.mapping = #samples} -> (tensor<?x?x6xf32>) {
  ^bb0(%xt: vector<6xf32>, %ht: vector<6xf32>, %rc: vector<6x6xf32>):
    %0 = bppsa.matvec %rc, %xt : vector<6x6xf32>, vector<6xf32> -> vector<6xf32>
    %1 = arith.addf %0, %ht : vector<6xf32>
    bppsa.yield %1 : vector<6xf32>
  }
  %p = bppsa.recurrence sequences(%x : tensor<?x?x6xf32>) captures(%r : tensor<6x6xf32>)
      attributes {bppsa.mapping = #units} outputs(tensor<?x?x6xf32>) {
  ^bb0(%xt: vector<6xf32>, %rc: vector<6x6xf32>):
    %0 = bppsa.matvec %rc, %xt : vector<6x6xf32>, vector<6xf32> -> vector<6xf32>
    bppsa.yield %0 : vector<6xf32>
  }
  return %h, %k, %p : tensor<?x?x6xf32>, tensor<?x?x6xf32>, tensor<?x?x6xf32>
}
