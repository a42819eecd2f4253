// RUN: bppsa-opt %s --bppsa-roll-up-steps --split-input-file | FileCheck %s

// The second direction of a layer: steps read a reversed array from its start, and their outputs
// are concatenated in reverse. They become a reversed loop.

// CHECK-LABEL: func.func @reversed_array(
// CHECK-SAME: %[[X:.*]]: tensor<4x2x3xf32>
// CHECK: %[[H:.*]] = bppsa.recurrence reverse sequences(%[[X]] : tensor<4x2x3xf32>)
// CHECK: %[[Y:.*]] = tensor.extract_slice %[[H]][0, 0, 0] [4, 2, 3] [1, 1, 1]
// CHECK-NEXT: return %[[Y]]
#row = affine_map<(b, i) -> (b, i)>
#shared = affine_map<(b, i) -> (i)>
#all = affine_map<(t, b, i) -> (t, b, i)>
func.func @reversed_array(%x: tensor<4x2x3xf32>, %s: tensor<2x3xf32>, %u: tensor<3xf32>) -> tensor<4x2x3xf32> {
  %e = tensor.empty() : tensor<2x3xf32>
  %last = arith.constant 3 : index
  %e3 = tensor.empty() : tensor<4x2x3xf32>
  %r = linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel", "parallel"]} outs(%e3 : tensor<4x2x3xf32>) {
  ^bb0(%o: f32):
    %0 = linalg.index 0 : index
    %1 = linalg.index 1 : index
    %2 = linalg.index 2 : index
    %3 = arith.subi %last, %0 : index
    %4 = tensor.extract %x[%3, %1, %2] : tensor<4x2x3xf32>
    linalg.yield %4 : f32
  } -> tensor<4x2x3xf32>
  %sc0 = tensor.extract_slice %r[0, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<1x2x3xf32>
  %c0 = tensor.collapse_shape %sc0 [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %sc1 = tensor.extract_slice %r[1, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<1x2x3xf32>
  %c1 = tensor.collapse_shape %sc1 [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %sc2 = tensor.extract_slice %r[2, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<1x2x3xf32>
  %c2 = tensor.collapse_shape %sc2 [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %sc3 = tensor.extract_slice %r[3, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<1x2x3xf32>
  %c3 = tensor.collapse_shape %sc3 [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %h0 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%s, %u, %c0 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %h1 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h0, %u, %c1 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %h2 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h1, %u, %c2 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %h3 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h2, %u, %c3 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %x0 = tensor.expand_shape %h0 [[0, 1], [2]] output_shape [1, 2, 3] : tensor<2x3xf32> into tensor<1x2x3xf32>
  %x1 = tensor.expand_shape %h1 [[0, 1], [2]] output_shape [1, 2, 3] : tensor<2x3xf32> into tensor<1x2x3xf32>
  %x2 = tensor.expand_shape %h2 [[0, 1], [2]] output_shape [1, 2, 3] : tensor<2x3xf32> into tensor<1x2x3xf32>
  %x3 = tensor.expand_shape %h3 [[0, 1], [2]] output_shape [1, 2, 3] : tensor<2x3xf32> into tensor<1x2x3xf32>
  %y = tensor.concat dim(0) %x3, %x2, %x1, %x0 : (tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<4x2x3xf32>
  return %y : tensor<4x2x3xf32>
}

// -----

// The outputs of a reversed loop are in the order of its steps.

// CHECK-LABEL: func.func @reversed_outputs(
// CHECK: %[[H:.*]] = bppsa.recurrence reverse
// CHECK: %[[Y:.*]] = tensor.extract_slice %[[H]][0, 0, 0] [4, 2, 3] [1, 1, 1]
// CHECK: %[[R:.*]] = linalg.generic
// CHECK: arith.subi
// CHECK: tensor.extract %[[Y]]
// CHECK: return %[[R]]
#row = affine_map<(b, i) -> (b, i)>
#shared = affine_map<(b, i) -> (i)>
func.func @reversed_outputs(%x: tensor<4x2x3xf32>, %s: tensor<2x3xf32>, %u: tensor<3xf32>) -> tensor<4x2x3xf32> {
  %e = tensor.empty() : tensor<2x3xf32>
  %sc0 = tensor.extract_slice %x[3, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<1x2x3xf32>
  %c0 = tensor.collapse_shape %sc0 [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %sc1 = tensor.extract_slice %x[2, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<1x2x3xf32>
  %c1 = tensor.collapse_shape %sc1 [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %sc2 = tensor.extract_slice %x[1, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<1x2x3xf32>
  %c2 = tensor.collapse_shape %sc2 [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %sc3 = tensor.extract_slice %x[0, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<1x2x3xf32>
  %c3 = tensor.collapse_shape %sc3 [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %h0 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%s, %u, %c0 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %h1 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h0, %u, %c1 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %h2 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h1, %u, %c2 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %h3 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h2, %u, %c3 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %x0 = tensor.expand_shape %h0 [[0, 1], [2]] output_shape [1, 2, 3] : tensor<2x3xf32> into tensor<1x2x3xf32>
  %x1 = tensor.expand_shape %h1 [[0, 1], [2]] output_shape [1, 2, 3] : tensor<2x3xf32> into tensor<1x2x3xf32>
  %x2 = tensor.expand_shape %h2 [[0, 1], [2]] output_shape [1, 2, 3] : tensor<2x3xf32> into tensor<1x2x3xf32>
  %x3 = tensor.expand_shape %h3 [[0, 1], [2]] output_shape [1, 2, 3] : tensor<2x3xf32> into tensor<1x2x3xf32>
  %y = tensor.concat dim(0) %x0, %x1, %x2, %x3 : (tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<4x2x3xf32>
  return %y : tensor<4x2x3xf32>
}

// -----

// Every step has its own constant. No operation of an earlier step leads to the last constant.

// CHECK-LABEL: func.func @constants(
// CHECK: arith.constant dense<[0.000000e+00, 5.000000e-01, 1.000000e+00, 1.500000e+00]> : tensor<4xf32>
// CHECK: bppsa.recurrence sequences(%{{.*}}, %{{.*}} : tensor<4x2x3xf32>, tensor<4x2x3xf32>) {{.*}} -> (tensor<5x2x3xf32>)
// CHECK: math.tanh
// CHECK-NOT: math.tanh
// CHECK: return
#row = affine_map<(b, i) -> (b, i)>
#scalar = affine_map<(b, i) -> ()>
#shared = affine_map<(b, i) -> (i)>
func.func @constants(%x: tensor<4x2x3xf32>, %s: tensor<2x3xf32>, %u: tensor<3xf32>) -> tensor<2x3xf32> {
  %e = tensor.empty() : tensor<2x3xf32>
  %sd0 = tensor.extract_slice %x[0, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<1x2x3xf32>
  %d0 = tensor.collapse_shape %sd0 [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %sd1 = tensor.extract_slice %x[1, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<1x2x3xf32>
  %d1 = tensor.collapse_shape %sd1 [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %sd2 = tensor.extract_slice %x[2, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<1x2x3xf32>
  %d2 = tensor.collapse_shape %sd2 [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %sd3 = tensor.extract_slice %x[3, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<1x2x3xf32>
  %d3 = tensor.collapse_shape %sd3 [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %k0 = arith.constant dense<0.000000e+00> : tensor<f32>
  %c0 = linalg.generic {indexing_maps = [#row, #scalar, #row], iterator_types = ["parallel", "parallel"]}
      ins(%d0, %k0 : tensor<2x3xf32>, tensor<f32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<2x3xf32>
  %k1 = arith.constant dense<5.000000e-01> : tensor<f32>
  %c1 = linalg.generic {indexing_maps = [#row, #scalar, #row], iterator_types = ["parallel", "parallel"]}
      ins(%d1, %k1 : tensor<2x3xf32>, tensor<f32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<2x3xf32>
  %k2 = arith.constant dense<1.000000e+00> : tensor<f32>
  %c2 = linalg.generic {indexing_maps = [#row, #scalar, #row], iterator_types = ["parallel", "parallel"]}
      ins(%d2, %k2 : tensor<2x3xf32>, tensor<f32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<2x3xf32>
  %k3 = arith.constant dense<1.500000e+00> : tensor<f32>
  %c3 = linalg.generic {indexing_maps = [#row, #scalar, #row], iterator_types = ["parallel", "parallel"]}
      ins(%d3, %k3 : tensor<2x3xf32>, tensor<f32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<2x3xf32>
  %h0 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%s, %u, %c0 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %h1 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h0, %u, %c1 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %h2 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h1, %u, %c2 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %h3 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h2, %u, %c3 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  return %h3 : tensor<2x3xf32>
}

// -----

// The output of a step depends on a slice that the recurrence does not read.

// CHECK-LABEL: func.func @gated_outputs(
// CHECK-SAME: %[[X:.*]]: tensor<4x2x3xf32>, %[[G:.*]]: tensor<4x2x3xf32>
// CHECK: %{{.*}}, %[[Y:.*]] = bppsa.recurrence sequences({{.*}} : tensor<4x2x3xf32>, tensor<4x2x3xf32>) {{.*}} outputs(tensor<4x2x3xf32>)
// CHECK: math.tanh
// CHECK: arith.mulf
// CHECK: return %[[Y]]
#row = affine_map<(b, i) -> (b, i)>
#shared = affine_map<(b, i) -> (i)>
func.func @gated_outputs(%x: tensor<4x2x3xf32>, %g: tensor<4x2x3xf32>, %s: tensor<2x3xf32>, %u: tensor<3xf32>) -> tensor<4x2x3xf32> {
  %e = tensor.empty() : tensor<2x3xf32>
  %sc0 = tensor.extract_slice %x[0, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<1x2x3xf32>
  %c0 = tensor.collapse_shape %sc0 [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %sc1 = tensor.extract_slice %x[1, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<1x2x3xf32>
  %c1 = tensor.collapse_shape %sc1 [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %sc2 = tensor.extract_slice %x[2, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<1x2x3xf32>
  %c2 = tensor.collapse_shape %sc2 [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %sc3 = tensor.extract_slice %x[3, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<1x2x3xf32>
  %c3 = tensor.collapse_shape %sc3 [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %sg0 = tensor.extract_slice %g[0, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<1x2x3xf32>
  %g0 = tensor.collapse_shape %sg0 [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %sg1 = tensor.extract_slice %g[1, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<1x2x3xf32>
  %g1 = tensor.collapse_shape %sg1 [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %sg2 = tensor.extract_slice %g[2, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<1x2x3xf32>
  %g2 = tensor.collapse_shape %sg2 [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %sg3 = tensor.extract_slice %g[3, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<1x2x3xf32>
  %g3 = tensor.collapse_shape %sg3 [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %h0 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%s, %u, %c0 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %h1 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h0, %u, %c1 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %h2 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h1, %u, %c2 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %h3 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h2, %u, %c3 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %y0 = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h0, %g0 : tensor<2x3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<2x3xf32>
  %z0 = tensor.expand_shape %y0 [[0, 1], [2]] output_shape [1, 2, 3] : tensor<2x3xf32> into tensor<1x2x3xf32>
  %y1 = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h1, %g1 : tensor<2x3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<2x3xf32>
  %z1 = tensor.expand_shape %y1 [[0, 1], [2]] output_shape [1, 2, 3] : tensor<2x3xf32> into tensor<1x2x3xf32>
  %y2 = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h2, %g2 : tensor<2x3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<2x3xf32>
  %z2 = tensor.expand_shape %y2 [[0, 1], [2]] output_shape [1, 2, 3] : tensor<2x3xf32> into tensor<1x2x3xf32>
  %y3 = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h3, %g3 : tensor<2x3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<2x3xf32>
  %z3 = tensor.expand_shape %y3 [[0, 1], [2]] output_shape [1, 2, 3] : tensor<2x3xf32> into tensor<1x2x3xf32>
  %y = tensor.concat dim(0) %z0, %z1, %z2, %z3 : (tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<4x2x3xf32>
  return %y : tensor<4x2x3xf32>
}

// -----

// The array of the last step is identified by the operation that reads it.

// CHECK-LABEL: func.func @rows_of_steps(
// CHECK: tensor.concat dim(0)
// CHECK: bppsa.recurrence sequences(%{{.*}} : tensor<4x2x3xf32>) {{.*}} -> (tensor<5x2x3xf32>)
// CHECK: math.tanh
// CHECK-NOT: math.tanh
// CHECK: return
#row = affine_map<(b, i) -> (b, i)>
#shared = affine_map<(b, i) -> (i)>
func.func @rows_of_steps(%p0: tensor<3xf32>, %p1: tensor<3xf32>, %p2: tensor<3xf32>, %p3: tensor<3xf32>, %s: tensor<2x3xf32>, %u: tensor<3xf32>) -> tensor<2x3xf32> {
  %e = tensor.empty() : tensor<2x3xf32>
  %m0 = linalg.generic {indexing_maps = [#row, #shared, #row], iterator_types = ["parallel", "parallel"]}
      ins(%s, %u : tensor<2x3xf32>, tensor<3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<2x3xf32>
  %h0 = linalg.generic {indexing_maps = [#row, #shared, #row], iterator_types = ["parallel", "parallel"]}
      ins(%m0, %p0 : tensor<2x3xf32>, tensor<3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.addf %a, %b : f32
    %1 = math.tanh %0 : f32
    linalg.yield %1 : f32
  } -> tensor<2x3xf32>
  %m1 = linalg.generic {indexing_maps = [#row, #shared, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h0, %u : tensor<2x3xf32>, tensor<3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<2x3xf32>
  %h1 = linalg.generic {indexing_maps = [#row, #shared, #row], iterator_types = ["parallel", "parallel"]}
      ins(%m1, %p1 : tensor<2x3xf32>, tensor<3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.addf %a, %b : f32
    %1 = math.tanh %0 : f32
    linalg.yield %1 : f32
  } -> tensor<2x3xf32>
  %m2 = linalg.generic {indexing_maps = [#row, #shared, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h1, %u : tensor<2x3xf32>, tensor<3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<2x3xf32>
  %h2 = linalg.generic {indexing_maps = [#row, #shared, #row], iterator_types = ["parallel", "parallel"]}
      ins(%m2, %p2 : tensor<2x3xf32>, tensor<3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.addf %a, %b : f32
    %1 = math.tanh %0 : f32
    linalg.yield %1 : f32
  } -> tensor<2x3xf32>
  %m3 = linalg.generic {indexing_maps = [#row, #shared, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h2, %u : tensor<2x3xf32>, tensor<3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<2x3xf32>
  %h3 = linalg.generic {indexing_maps = [#row, #shared, #row], iterator_types = ["parallel", "parallel"]}
      ins(%m3, %p3 : tensor<2x3xf32>, tensor<3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.addf %a, %b : f32
    %1 = math.tanh %0 : f32
    linalg.yield %1 : f32
  } -> tensor<2x3xf32>
  return %h3 : tensor<2x3xf32>
}
