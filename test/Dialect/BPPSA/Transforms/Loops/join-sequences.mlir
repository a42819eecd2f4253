// RUN: bppsa-opt %s -split-input-file -bppsa-join-sequences -canonicalize | FileCheck %s

#length = affine_map<(d0, d1, d2) -> (d1)>
#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>

// Loops over indices fill the rows; two tables map each position of a row to its sequence and step.
// CHECK-LABEL: func.func @forward
// CHECK-SAME:    %[[X:.*]]: tensor<?x?x2xf32>, %[[LENGTHS:.*]]: tensor<?xi32>, %[[H0:.*]]: tensor<?x3xf32>
// CHECK:         arith.ceildivsi
// CHECK:         %[[TABLES:.*]]:2 = scf.for {{.*}} -> (tensor<?x?xindex>, tensor<?x?xindex>)
// CHECK:         %[[XR:.*]] = linalg.generic {{.*}} ins(%[[TABLES]]#0, %[[TABLES]]#1
// CHECK:           tensor.extract %[[X]]
// CHECK:         %[[KEEP:.*]] = linalg.generic {{.*}} ins(%[[TABLES]]#0, %[[TABLES]]#1
// CHECK:           arith.uitofp
// CHECK:         %[[STARTS:.*]] = linalg.generic {{.*}} ins(%[[TABLES]]#0, %[[TABLES]]#1
// CHECK:           tensor.extract %[[H0]]
// CHECK:         bppsa.recurrence sequences(%[[XR]], %[[KEEP]], %[[STARTS]] :
// CHECK-NEXT:    ^bb0(%[[XT:.*]]: vector<2xf32>, %[[KT:.*]]: vector<1xf32>, %[[ST:.*]]: vector<3xf32>, %[[H:.*]]: vector<3xf32>,
// CHECK:           %[[SPREAD:.*]] = bppsa.matvec %{{.*}}, %[[KT]]
// CHECK:           %[[GOES:.*]] = arith.cmpf ogt, %[[SPREAD]]
// CHECK:           %[[BEFORE:.*]] = arith.select %[[GOES]], %[[H]], %[[ST]]
// CHECK:           %[[NEXT:.*]] = bppsa.matvec %{{.*}}, %[[XT]] plus %[[BEFORE]]
// CHECK:           bppsa.yield %[[NEXT]]
// CHECK:         %[[LAST:.*]] = linalg.generic
// CHECK-SAME:      tensor<?x3xf32>) outs({{.*}} : tensor<1x?x3xf32>)
func.func @forward(%x: tensor<?x?x2xf32>, %lengths: tensor<?xi32>, %h0: tensor<?x3xf32>,
                   %w: tensor<3x2xf32>, %ones: tensor<3x1xf32>) -> tensor<1x?x3xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = tensor.dim %x, %c0 : tensor<?x?x2xf32>
  %b = tensor.dim %x, %c1 : tensor<?x?x2xf32>
  %e = tensor.empty(%t, %b) : tensor<?x?x1xf32>
  %mask = linalg.generic {indexing_maps = [#length, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%lengths : tensor<?xi32>) outs(%e : tensor<?x?x1xf32>) {
  ^bb0(%in: i32, %out: f32):
    %i = linalg.index 0 : index
    %step = arith.index_cast %i : index to i32
    %lt = arith.cmpi slt, %step, %in : i32
    %f = arith.uitofp %lt : i1 to f32
    linalg.yield %f : f32
  } -> tensor<?x?x1xf32>
  %h = bppsa.recurrence sequences(%x, %mask : tensor<?x?x2xf32>, tensor<?x?x1xf32>)
      initial(%h0 : tensor<?x3xf32>) captures(%w, %ones : tensor<3x2xf32>, tensor<3x1xf32>) -> (tensor<?x?x3xf32>) {
  ^bb0(%xt: vector<2xf32>, %m: vector<1xf32>, %ht: vector<3xf32>, %wc: vector<3x2xf32>, %oc: vector<3x1xf32>):
    %next = bppsa.matvec %wc, %xt plus %ht : vector<3x2xf32>, vector<2xf32> plus vector<3xf32> -> vector<3xf32>
    %spread = bppsa.matvec %oc, %m : vector<3x1xf32>, vector<1xf32> -> vector<3xf32>
    %zero = arith.constant dense<0.0> : vector<3xf32>
    %is_part = arith.cmpf ogt, %spread, %zero : vector<3xf32>
    %kept = arith.select %is_part, %next, %ht : vector<3xi1>, vector<3xf32>
    bppsa.yield %kept : vector<3xf32>
  }
  %last = tensor.extract_slice %h[%t, 0, 0] [1, %b, 3] [1, 1, 1] : tensor<?x?x3xf32> to tensor<1x?x3xf32>
  return %last : tensor<1x?x3xf32>
}

// -----

// A mask that is not computed from lengths may have holes, so the loop is unchanged.
// CHECK-LABEL: func.func @any_mask
// CHECK-NOT:     scf.for
// CHECK:         bppsa.recurrence sequences(%{{.*}}, %{{.*}} : tensor<?x?x3xf32>, tensor<?x?x1xf32>)
func.func @any_mask(%x: tensor<?x?x3xf32>, %mask: tensor<?x?x1xf32>, %h0: tensor<?x3xf32>,
                    %ones: tensor<3x1xf32>) -> tensor<?x?x3xf32> {
  %h = bppsa.recurrence sequences(%x, %mask : tensor<?x?x3xf32>, tensor<?x?x1xf32>)
      initial(%h0 : tensor<?x3xf32>) captures(%ones : tensor<3x1xf32>) -> (tensor<?x?x3xf32>) {
  ^bb0(%xt: vector<3xf32>, %m: vector<1xf32>, %ht: vector<3xf32>, %oc: vector<3x1xf32>):
    %next = arith.addf %xt, %ht : vector<3xf32>
    %spread = bppsa.matvec %oc, %m : vector<3x1xf32>, vector<1xf32> -> vector<3xf32>
    %zero = arith.constant dense<0.0> : vector<3xf32>
    %is_part = arith.cmpf ogt, %spread, %zero : vector<3xf32>
    %kept = arith.select %is_part, %next, %ht : vector<3xi1>, vector<3xf32>
    bppsa.yield %kept : vector<3xf32>
  }
  return %h : tensor<?x?x3xf32>
}

// -----

#length = affine_map<(d0, d1, d2) -> (d1)>
#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>

// One of two states changes past the end of the sequence, so the loop is unchanged.
// CHECK-LABEL: func.func @state_that_goes_on
// CHECK-NOT:     scf.for
// CHECK:         bppsa.recurrence
func.func @state_that_goes_on(%lengths: tensor<5xi64>, %h0: tensor<5x3xf32>,
                              %ones: tensor<3x1xf32>) -> tensor<8x5x3xf32> {
  %e = tensor.empty() : tensor<7x5x1xf32>
  %mask = linalg.generic {indexing_maps = [#length, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%lengths : tensor<5xi64>) outs(%e : tensor<7x5x1xf32>) {
  ^bb0(%in: i64, %out: f32):
    %i = linalg.index 0 : index
    %step = arith.index_cast %i : index to i64
    %lt = arith.cmpi slt, %step, %in : i64
    %f = arith.uitofp %lt : i1 to f32
    linalg.yield %f : f32
  } -> tensor<7x5x1xf32>
  %h:2 = bppsa.recurrence sequences(%mask : tensor<7x5x1xf32>)
      initial(%h0, %h0 : tensor<5x3xf32>, tensor<5x3xf32>) captures(%ones : tensor<3x1xf32>)
      -> (tensor<8x5x3xf32>, tensor<8x5x3xf32>) {
  ^bb0(%m: vector<1xf32>, %ht: vector<3xf32>, %ct: vector<3xf32>, %oc: vector<3x1xf32>):
    %next = arith.addf %ct, %ht : vector<3xf32>
    %spread = bppsa.matvec %oc, %m : vector<3x1xf32>, vector<1xf32> -> vector<3xf32>
    %zero = arith.constant dense<0.0> : vector<3xf32>
    %is_part = arith.cmpf ogt, %spread, %zero : vector<3xf32>
    %kept = arith.select %is_part, %next, %ht : vector<3xi1>, vector<3xf32>
    bppsa.yield %kept, %next : vector<3xf32>, vector<3xf32>
  }
  return %h#0 : tensor<8x5x3xf32>
}
