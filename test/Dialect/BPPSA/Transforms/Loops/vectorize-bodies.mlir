// RUN: bppsa-opt %s --bppsa-vectorize-bodies --split-input-file | FileCheck %s

// A cell with one product: the product is split by gate and by operand vector.

#w = affine_map<(d0, d1) -> (d0, d1)>
#x = affine_map<(d0, d1) -> (d1)>
#y = affine_map<(d0, d1) -> (d0)>
#e = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @gates(
// CHECK-SAME: %[[S:[^:]*]]: tensor<?x?x3xf32>, %[[H:[^:]*]]: tensor<?x4xf32>, %[[W:[^:]*]]: tensor<8x7xf32>, %[[B:[^:]*]]: tensor<8xf32>
// CHECK-DAG: %[[W0X:.*]] = tensor.extract_slice %[[W]][0, 0] [4, 3]
// CHECK-DAG: %[[W0H:.*]] = tensor.extract_slice %[[W]][0, 3] [4, 4]
// CHECK-DAG: %[[W1X:.*]] = tensor.extract_slice %[[W]][4, 0] [4, 3]
// CHECK-DAG: %[[W1H:.*]] = tensor.extract_slice %[[W]][4, 3] [4, 4]
// CHECK-DAG: %[[B0:.*]] = tensor.extract_slice %[[B]][0] [4]
// CHECK-DAG: %[[B1:.*]] = tensor.extract_slice %[[B]][4] [4]
// CHECK: %[[R:.*]] = bppsa.recurrence sequences(%[[S]] : tensor<?x?x3xf32>) initial(%[[H]] : tensor<?x4xf32>)
// CHECK-SAME: captures(%[[W0X]], %[[W0H]], %[[B0]], %[[W1X]], %[[W1H]], %[[B1]] :
// CHECK-NEXT: ^bb0(%[[XT:.*]]: vector<3xf32>, %[[HT:.*]]: vector<4xf32>, %[[C0X:.*]]: vector<4x3xf32>, %[[C0H:.*]]: vector<4x4xf32>, %[[D0:.*]]: vector<4xf32>, %[[C1X:.*]]: vector<4x3xf32>, %[[C1H:.*]]: vector<4x4xf32>, %[[D1:.*]]: vector<4xf32>):
// CHECK-NEXT: %[[A0:.*]] = bppsa.matvec %[[C0X]], %[[XT]] :
// CHECK-NEXT: %[[P0:.*]] = bppsa.matvec %[[C0H]], %[[HT]] plus %[[A0]] :
// CHECK-NEXT: %[[G0:.*]] = arith.addf %[[P0]], %[[D0]] : vector<4xf32>
// CHECK-NEXT: %[[A1:.*]] = bppsa.matvec %[[C1X]], %[[XT]] :
// CHECK-NEXT: %[[P1:.*]] = bppsa.matvec %[[C1H]], %[[HT]] plus %[[A1]] :
// CHECK-NEXT: %[[G1:.*]] = arith.addf %[[P1]], %[[D1]] : vector<4xf32>
// CHECK-NEXT: %[[I:.*]] = bppsa.sigmoid %[[G0]] : vector<4xf32>
// CHECK-NEXT: %[[N:.*]] = arith.mulf %[[I]], %[[G1]] : vector<4xf32>
// CHECK-NEXT: bppsa.yield %[[N]] : vector<4xf32>
func.func @gates(%xs: tensor<?x?x3xf32>, %h0: tensor<?x4xf32>, %w: tensor<8x7xf32>, %b: tensor<8xf32>) -> tensor<?x?x4xf32> {
  %r = bppsa.recurrence sequences(%xs : tensor<?x?x3xf32>) initial(%h0 : tensor<?x4xf32>)
      captures(%w, %b : tensor<8x7xf32>, tensor<8xf32>) -> (tensor<?x?x4xf32>) {
  ^bb0(%x: tensor<3xf32>, %h: tensor<4xf32>, %wc: tensor<8x7xf32>, %bc: tensor<8xf32>):
    %xh = tensor.concat dim(0) %x, %h : (tensor<3xf32>, tensor<4xf32>) -> tensor<7xf32>
    %zero = arith.constant 0.0 : f32
    %e8 = tensor.empty() : tensor<8xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e8 : tensor<8xf32>) -> tensor<8xf32>
    %p = linalg.generic {indexing_maps = [#w, #x, #y], iterator_types = ["parallel", "reduction"]}
        ins(%wc, %xh : tensor<8x7xf32>, tensor<7xf32>) outs(%z : tensor<8xf32>) {
    ^bb0(%m: f32, %v: f32, %o: f32):
      %0 = arith.mulf %m, %v : f32
      %1 = arith.addf %o, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<8xf32>
    %g = linalg.generic {indexing_maps = [#e, #e, #e], iterator_types = ["parallel"]}
        ins(%p, %bc : tensor<8xf32>, tensor<8xf32>) outs(%e8 : tensor<8xf32>) {
    ^bb0(%m: f32, %v: f32, %o: f32):
      %0 = arith.addf %m, %v : f32
      linalg.yield %0 : f32
    } -> tensor<8xf32>
    %g0 = tensor.extract_slice %g[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
    %g1 = tensor.extract_slice %g[4] [4] [1] : tensor<8xf32> to tensor<4xf32>
    %e4 = tensor.empty() : tensor<4xf32>
    %n = linalg.generic {indexing_maps = [#e, #e, #e], iterator_types = ["parallel"]}
        ins(%g0, %g1 : tensor<4xf32>, tensor<4xf32>) outs(%e4 : tensor<4xf32>) {
    ^bb0(%m: f32, %v: f32, %o: f32):
      %0 = bppsa.sigmoid %m : f32
      %1 = arith.mulf %0, %v : f32
      linalg.yield %1 : f32
    } -> tensor<4xf32>
    bppsa.yield %n : tensor<4xf32>
  }
  return %r : tensor<?x?x4xf32>
}

// -----

// Unit dimensions, a transposed matrix with a unit dimension, a scalar broadcast to all elements,
// and no sequence.

#t = affine_map<(d0, d1, d2) -> (d2, d0, d1)>
#x = affine_map<(d0, d1, d2) -> (d0, d2)>
#y = affine_map<(d0, d1, d2) -> (d0, d1)>
#e = affine_map<(d0, d1) -> (d0, d1)>
#n = affine_map<(d0, d1) -> ()>
// CHECK-LABEL: func.func @ones(
// CHECK-SAME: %[[H:[^:]*]]: tensor<?x1x4xf32>, %[[W:[^:]*]]: tensor<4x1x4xf32>, %[[A:[^:]*]]: tensor<f32>
// CHECK-DAG: %[[W2:.*]] = tensor.collapse_shape %[[W]] {{\[}}[0, 1], [2]] :
// CHECK-DAG: %[[SPREAD:.*]] = linalg.generic {{.*}} ins(%[[A]] : tensor<f32>) outs({{.*}} : tensor<1x4xf32>)
// CHECK-DAG: %[[FLAT:.*]] = tensor.collapse_shape %[[SPREAD]]
// CHECK-DAG: %[[H2:.*]] = tensor.collapse_shape %[[H]] {{\[}}[0], [1, 2]] : tensor<?x1x4xf32> into tensor<?x4xf32>
// CHECK-DAG: %[[CLOCK:.*]] = linalg.fill {{.*}} -> tensor<5x?x1xf32>
// CHECK: %[[R:.*]] = bppsa.recurrence sequences(%[[CLOCK]] : tensor<5x?x1xf32>) initial(%[[H2]] : tensor<?x4xf32>) captures(%[[W2]], %[[FLAT]] :
// CHECK-NEXT: ^bb0(%{{.*}}: vector<1xf32>, %[[HT:.*]]: vector<4xf32>, %[[WC:.*]]: vector<4x4xf32>, %[[AC:.*]]: vector<4xf32>):
// CHECK-NEXT: %[[P:.*]] = bppsa.matvec transposed %[[WC]], %[[HT]] :
// CHECK-NEXT: %[[N:.*]] = arith.mulf %[[P]], %[[AC]] : vector<4xf32>
// CHECK-NEXT: bppsa.yield %[[N]]
// CHECK: tensor.expand_shape %[[R]] {{\[}}[0], [1], [2, 3]]
func.func @ones(%h0: tensor<?x1x4xf32>, %w: tensor<4x1x4xf32>, %a: tensor<f32>) -> tensor<6x?x1x4xf32> {
  %c5 = arith.constant 5 : index
  %r = bppsa.recurrence steps %c5 initial(%h0 : tensor<?x1x4xf32>)
      captures(%w, %a : tensor<4x1x4xf32>, tensor<f32>) -> (tensor<6x?x1x4xf32>) {
  ^bb0(%h: tensor<1x4xf32>, %wc: tensor<4x1x4xf32>, %ac: tensor<f32>):
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<1x4xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4xf32>) -> tensor<1x4xf32>
    %p = linalg.generic {indexing_maps = [#x, #t, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%h, %wc : tensor<1x4xf32>, tensor<4x1x4xf32>) outs(%z : tensor<1x4xf32>) {
    ^bb0(%m: f32, %v: f32, %o: f32):
      %0 = arith.mulf %m, %v : f32
      %1 = arith.addf %o, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<1x4xf32>
    %n = linalg.generic {indexing_maps = [#e, #n, #e], iterator_types = ["parallel", "parallel"]}
        ins(%p, %ac : tensor<1x4xf32>, tensor<f32>) outs(%e : tensor<1x4xf32>) {
    ^bb0(%m: f32, %v: f32, %o: f32):
      %0 = arith.mulf %m, %v : f32
      linalg.yield %0 : f32
    } -> tensor<1x4xf32>
    bppsa.yield %n : tensor<1x4xf32>
  }
  return %r : tensor<6x?x1x4xf32>
}

// -----

// An output that is a state is read from the state; other outputs are computed for all steps at
// once.

#e = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @outputs(
// CHECK-SAME: %[[S:[^:]*]]: tensor<5x?x4xf32>, %[[H:[^:]*]]: tensor<?x4xf32>
// CHECK: %[[R:.*]] = bppsa.recurrence reverse sequences(%[[S]] : tensor<5x?x4xf32>) initial(%[[H]] : tensor<?x4xf32>) -> (tensor<6x?x4xf32>) {
// CHECK: %[[BEFORE:.*]] = tensor.extract_slice %[[R]][1, 0, 0] [5,
// CHECK: %[[AFTER:.*]] = tensor.extract_slice %[[R]][0, 0, 0] [5,
// CHECK: %[[O:.*]] = bppsa.recurrence sequences(%[[BEFORE]], %[[AFTER]] : tensor<5x?x4xf32>, tensor<5x?x4xf32>) outputs(tensor<5x?x4xf32>) {
// CHECK-NEXT: ^bb0(%[[B:.*]]: vector<4xf32>, %[[A:.*]]: vector<4xf32>):
// CHECK-NEXT: %[[D:.*]] = arith.subf %[[A]], %[[B]] : vector<4xf32>
// CHECK-NEXT: bppsa.yield %[[D]]
// CHECK: %[[STATES:.*]] = tensor.extract_slice %[[R]][0, 0, 0] [5,
// CHECK: return %[[STATES]], %[[O]]
func.func @outputs(%xs: tensor<5x?x4xf32>, %h0: tensor<?x4xf32>) -> (tensor<5x?x4xf32>, tensor<5x?x4xf32>) {
  %h, %y, %d = bppsa.recurrence reverse sequences(%xs : tensor<5x?x4xf32>) initial(%h0 : tensor<?x4xf32>)
      -> (tensor<6x?x4xf32>) outputs(tensor<5x?x4xf32>, tensor<5x?x4xf32>) {
  ^bb0(%x: tensor<4xf32>, %s: tensor<4xf32>):
    %e = tensor.empty() : tensor<4xf32>
    %n = linalg.generic {indexing_maps = [#e, #e, #e], iterator_types = ["parallel"]}
        ins(%s, %x : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%m: f32, %v: f32, %o: f32):
      %0 = arith.mulf %m, %v : f32
      linalg.yield %0 : f32
    } -> tensor<4xf32>
    %c = linalg.generic {indexing_maps = [#e, #e, #e], iterator_types = ["parallel"]}
        ins(%n, %s : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%m: f32, %v: f32, %o: f32):
      %0 = arith.subf %m, %v : f32
      linalg.yield %0 : f32
    } -> tensor<4xf32>
    bppsa.yield %n, %n, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %y, %d : tensor<5x?x4xf32>, tensor<5x?x4xf32>
}

// -----

// A product of two values of a step is not a product with a captured matrix; integers are not
// vectors of a cell.

#m = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
#r = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @products_of_states(
// CHECK: bppsa.recurrence
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<4x4xf32>, %{{.*}}: tensor<4xf32>)
func.func @products_of_states(%xs: tensor<?x?x4x4xf32>, %h0: tensor<?x4xf32>) -> tensor<?x?x4xf32> {
  %r = bppsa.recurrence sequences(%xs : tensor<?x?x4x4xf32>) initial(%h0 : tensor<?x4xf32>) -> (tensor<?x?x4xf32>) {
  ^bb0(%x: tensor<4x4xf32>, %h: tensor<4xf32>):
    %p = linalg.generic {indexing_maps = [#m, #v, #r], iterator_types = ["parallel", "reduction"]}
        ins(%x, %h : tensor<4x4xf32>, tensor<4xf32>) outs(%h : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %0 = arith.mulf %a, %b : f32
      %1 = arith.addf %o, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<4xf32>
    bppsa.yield %p : tensor<4xf32>
  }
  return %r : tensor<?x?x4xf32>
}

// -----

// CHECK-LABEL: func.func @integers(
// CHECK: bppsa.recurrence
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<2xi64>)
func.func @integers(%xs: tensor<?x?x2xi64>) -> tensor<?x?x2xi64> {
  %r = bppsa.recurrence sequences(%xs : tensor<?x?x2xi64>) outputs(tensor<?x?x2xi64>) {
  ^bb0(%x: tensor<2xi64>):
    bppsa.yield %x : tensor<2xi64>
  }
  return %r : tensor<?x?x2xi64>
}
