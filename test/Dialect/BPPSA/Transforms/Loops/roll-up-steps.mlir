// RUN: bppsa-opt %s --bppsa-roll-up-steps --split-input-file | FileCheck %s
// RUN: bppsa-opt %s --bppsa-roll-up-steps=min-steps=5 --split-input-file | FileCheck %s --check-prefix=FEW
// RUN: bppsa-opt %s --bppsa-roll-up-steps --split-input-file --remarks-filter=roll-up --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK

// A leaky sum h = tanh(u h + x[t]) with four steps of two samples. Other tests use a different
// operation in one step or another time order.

// CHECK-LABEL: func.func @last(
// CHECK-SAME: %[[X:.*]]: tensor<2x4x3xf32>, %[[S:.*]]: tensor<2x3xf32>, %[[U:.*]]: tensor<3xf32>, %[[V:.*]]: tensor<3xf32>
// CHECK: %[[XT:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<2x4x3xf32>) outs({{.*}} : tensor<4x2x3xf32>)
// CHECK: %[[H:.*]] = bppsa.recurrence sequences(%[[XT]] : tensor<4x2x3xf32>) initial(%[[S]] : tensor<2x3xf32>) captures(%[[U]] : tensor<3xf32>) -> (tensor<5x2x3xf32>) {
// CHECK-NEXT: ^bb0(%[[XS:.*]]: tensor<3xf32>, %[[HS:.*]]: tensor<3xf32>, %[[US:.*]]: tensor<3xf32>):
// CHECK: %[[NEXT:.*]] = linalg.generic {{.*}} iterator_types = ["parallel"]} ins(%[[HS]], %[[US]], %[[XS]] :
// CHECK: math.tanh
// CHECK: bppsa.yield %[[NEXT]] : tensor<3xf32>
// CHECK: %[[ALL:.*]] = tensor.extract_slice %[[H]][1, 0, 0] [4, 2, 3]
// CHECK: %[[LAST:.*]] = tensor.extract_slice %[[ALL]][3, 0, 0] [1, 2, 3]
// CHECK: %[[R:.*]] = tensor.collapse_shape %[[LAST]]
// CHECK: return %[[R]]
// FEW-LABEL: func.func @last(
// FEW-NOT: bppsa.recurrence
// REMARK: remark: [Passed] RollUpSteps | Category:roll-up | Function=last | Remark="4 equal steps became one loop of 1 states"
#row = affine_map<(b, i) -> (b, i)>
#shared = affine_map<(b, i) -> (i)>
func.func @last(%x: tensor<2x4x3xf32>, %s: tensor<2x3xf32>, %u: tensor<3xf32>, %v: tensor<3xf32>) -> tensor<2x3xf32> {
  %x0 = tensor.extract_slice %x[0, 0, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x1x3xf32>
  %c0 = tensor.collapse_shape %x0 [[0, 1], [2]] : tensor<2x1x3xf32> into tensor<2x3xf32>
  %e0 = tensor.empty() : tensor<2x3xf32>
  %h0 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%s, %u, %c0 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e0 : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %x1 = tensor.extract_slice %x[0, 1, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x1x3xf32>
  %c1 = tensor.collapse_shape %x1 [[0, 1], [2]] : tensor<2x1x3xf32> into tensor<2x3xf32>
  %e1 = tensor.empty() : tensor<2x3xf32>
  %h1 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h0, %u, %c1 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e1 : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %x2 = tensor.extract_slice %x[0, 2, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x1x3xf32>
  %c2 = tensor.collapse_shape %x2 [[0, 1], [2]] : tensor<2x1x3xf32> into tensor<2x3xf32>
  %e2 = tensor.empty() : tensor<2x3xf32>
  %h2 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h1, %u, %c2 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e2 : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %x3 = tensor.extract_slice %x[0, 3, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x1x3xf32>
  %c3 = tensor.collapse_shape %x3 [[0, 1], [2]] : tensor<2x1x3xf32> into tensor<2x3xf32>
  %e3 = tensor.empty() : tensor<2x3xf32>
  %h3 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h2, %u, %c3 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e3 : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  return %h3 : tensor<2x3xf32>
}

// -----

// The outputs of all steps are one array, and nothing slices it.

// CHECK-LABEL: func.func @stacked(
// CHECK: %[[H:.*]] = bppsa.recurrence
// CHECK: %[[ALL:.*]] = tensor.extract_slice %[[H]][1, 0, 0] [4, 2, 3]
// CHECK: %[[R:.*]] = linalg.generic {{.*}} ins(%[[ALL]] : tensor<4x2x3xf32>) outs({{.*}} : tensor<2x4x3xf32>)
// CHECK-NOT: tensor.concat
// CHECK: return %[[R]]
#row = affine_map<(b, i) -> (b, i)>
#shared = affine_map<(b, i) -> (i)>
func.func @stacked(%x: tensor<2x4x3xf32>, %s: tensor<2x3xf32>, %u: tensor<3xf32>, %v: tensor<3xf32>) -> tensor<2x4x3xf32> {
  %x0 = tensor.extract_slice %x[0, 0, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x1x3xf32>
  %c0 = tensor.collapse_shape %x0 [[0, 1], [2]] : tensor<2x1x3xf32> into tensor<2x3xf32>
  %e0 = tensor.empty() : tensor<2x3xf32>
  %h0 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%s, %u, %c0 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e0 : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %x1 = tensor.extract_slice %x[0, 1, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x1x3xf32>
  %c1 = tensor.collapse_shape %x1 [[0, 1], [2]] : tensor<2x1x3xf32> into tensor<2x3xf32>
  %e1 = tensor.empty() : tensor<2x3xf32>
  %h1 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h0, %u, %c1 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e1 : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %x2 = tensor.extract_slice %x[0, 2, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x1x3xf32>
  %c2 = tensor.collapse_shape %x2 [[0, 1], [2]] : tensor<2x1x3xf32> into tensor<2x3xf32>
  %e2 = tensor.empty() : tensor<2x3xf32>
  %h2 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h1, %u, %c2 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e2 : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %x3 = tensor.extract_slice %x[0, 3, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x1x3xf32>
  %c3 = tensor.collapse_shape %x3 [[0, 1], [2]] : tensor<2x1x3xf32> into tensor<2x3xf32>
  %e3 = tensor.empty() : tensor<2x3xf32>
  %h3 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h2, %u, %c3 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e3 : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %j0 = tensor.expand_shape %h0 [[0, 1], [2]] output_shape [2, 1, 3] : tensor<2x3xf32> into tensor<2x1x3xf32>
  %j1 = tensor.expand_shape %h1 [[0, 1], [2]] output_shape [2, 1, 3] : tensor<2x3xf32> into tensor<2x1x3xf32>
  %j2 = tensor.expand_shape %h2 [[0, 1], [2]] output_shape [2, 1, 3] : tensor<2x3xf32> into tensor<2x1x3xf32>
  %j3 = tensor.expand_shape %h3 [[0, 1], [2]] output_shape [2, 1, 3] : tensor<2x3xf32> into tensor<2x1x3xf32>
  %j = tensor.concat dim(1) %j0, %j1, %j2, %j3 : (tensor<2x1x3xf32>, tensor<2x1x3xf32>, tensor<2x1x3xf32>, tensor<2x1x3xf32>) -> tensor<2x4x3xf32>
  return %j : tensor<2x4x3xf32>
}

// -----

// From the last step to the first.

// CHECK-LABEL: func.func @backwards(
// CHECK: %[[H:.*]] = bppsa.recurrence reverse sequences(
// CHECK: %[[ALL:.*]] = tensor.extract_slice %[[H]][0, 0, 0] [4, 2, 3]
// CHECK: tensor.extract_slice %[[ALL]][0, 0, 0] [1, 2, 3]
// CHECK: return
#row = affine_map<(b, i) -> (b, i)>
#shared = affine_map<(b, i) -> (i)>
func.func @backwards(%x: tensor<2x4x3xf32>, %s: tensor<2x3xf32>, %u: tensor<3xf32>, %v: tensor<3xf32>) -> tensor<2x3xf32> {
  %x0 = tensor.extract_slice %x[0, 3, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x1x3xf32>
  %c0 = tensor.collapse_shape %x0 [[0, 1], [2]] : tensor<2x1x3xf32> into tensor<2x3xf32>
  %e0 = tensor.empty() : tensor<2x3xf32>
  %h0 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%s, %u, %c0 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e0 : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %x1 = tensor.extract_slice %x[0, 2, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x1x3xf32>
  %c1 = tensor.collapse_shape %x1 [[0, 1], [2]] : tensor<2x1x3xf32> into tensor<2x3xf32>
  %e1 = tensor.empty() : tensor<2x3xf32>
  %h1 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h0, %u, %c1 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e1 : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %x2 = tensor.extract_slice %x[0, 1, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x1x3xf32>
  %c2 = tensor.collapse_shape %x2 [[0, 1], [2]] : tensor<2x1x3xf32> into tensor<2x3xf32>
  %e2 = tensor.empty() : tensor<2x3xf32>
  %h2 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h1, %u, %c2 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e2 : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %x3 = tensor.extract_slice %x[0, 0, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x1x3xf32>
  %c3 = tensor.collapse_shape %x3 [[0, 1], [2]] : tensor<2x1x3xf32> into tensor<2x3xf32>
  %e3 = tensor.empty() : tensor<2x3xf32>
  %h3 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h2, %u, %c3 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e3 : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  return %h3 : tensor<2x3xf32>
}

// -----

// The first state is computed by the operation of a step, but with other weights.

// CHECK-LABEL: func.func @like_a_step(
// CHECK: %[[FIRST:.*]] = linalg.generic
// CHECK: math.tanh
// CHECK: bppsa.recurrence sequences({{.*}}) initial(%[[FIRST]] : tensor<2x3xf32>)
// CHECK: return
#row = affine_map<(b, i) -> (b, i)>
#shared = affine_map<(b, i) -> (i)>
func.func @like_a_step(%x: tensor<2x4x3xf32>, %s: tensor<2x3xf32>, %u: tensor<3xf32>, %v: tensor<3xf32>) -> tensor<2x3xf32> {
  %i = tensor.empty() : tensor<2x3xf32>
  %first = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%s, %v, %s : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%i : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %x0 = tensor.extract_slice %x[0, 0, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x1x3xf32>
  %c0 = tensor.collapse_shape %x0 [[0, 1], [2]] : tensor<2x1x3xf32> into tensor<2x3xf32>
  %e0 = tensor.empty() : tensor<2x3xf32>
  %h0 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%first, %u, %c0 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e0 : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %x1 = tensor.extract_slice %x[0, 1, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x1x3xf32>
  %c1 = tensor.collapse_shape %x1 [[0, 1], [2]] : tensor<2x1x3xf32> into tensor<2x3xf32>
  %e1 = tensor.empty() : tensor<2x3xf32>
  %h1 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h0, %u, %c1 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e1 : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %x2 = tensor.extract_slice %x[0, 2, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x1x3xf32>
  %c2 = tensor.collapse_shape %x2 [[0, 1], [2]] : tensor<2x1x3xf32> into tensor<2x3xf32>
  %e2 = tensor.empty() : tensor<2x3xf32>
  %h2 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h1, %u, %c2 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e2 : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %x3 = tensor.extract_slice %x[0, 3, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x1x3xf32>
  %c3 = tensor.collapse_shape %x3 [[0, 1], [2]] : tensor<2x1x3xf32> into tensor<2x3xf32>
  %e3 = tensor.empty() : tensor<2x3xf32>
  %h3 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h2, %u, %c3 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e3 : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  return %h3 : tensor<2x3xf32>
}

// -----

// Not a loop: a different operation in one step, a different array, and slices at distances 1, 1
// and -1.

// CHECK-LABEL: func.func @other_operation(
// CHECK-NOT: bppsa.recurrence
#row = affine_map<(b, i) -> (b, i)>
#shared = affine_map<(b, i) -> (i)>
func.func @other_operation(%x: tensor<2x4x3xf32>, %s: tensor<2x3xf32>, %u: tensor<3xf32>, %v: tensor<3xf32>) -> tensor<2x3xf32> {
  %x0 = tensor.extract_slice %x[0, 0, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x1x3xf32>
  %c0 = tensor.collapse_shape %x0 [[0, 1], [2]] : tensor<2x1x3xf32> into tensor<2x3xf32>
  %e0 = tensor.empty() : tensor<2x3xf32>
  %h0 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%s, %u, %c0 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e0 : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %x1 = tensor.extract_slice %x[0, 1, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x1x3xf32>
  %c1 = tensor.collapse_shape %x1 [[0, 1], [2]] : tensor<2x1x3xf32> into tensor<2x3xf32>
  %e1 = tensor.empty() : tensor<2x3xf32>
  %h1 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h0, %u, %c1 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e1 : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %x2 = tensor.extract_slice %x[0, 2, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x1x3xf32>
  %c2 = tensor.collapse_shape %x2 [[0, 1], [2]] : tensor<2x1x3xf32> into tensor<2x3xf32>
  %e2 = tensor.empty() : tensor<2x3xf32>
  %h2 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h1, %u, %c2 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e2 : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.sin %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %x3 = tensor.extract_slice %x[0, 3, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x1x3xf32>
  %c3 = tensor.collapse_shape %x3 [[0, 1], [2]] : tensor<2x1x3xf32> into tensor<2x3xf32>
  %e3 = tensor.empty() : tensor<2x3xf32>
  %h3 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h2, %u, %c3 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e3 : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  return %h3 : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @other_array(
// CHECK-NOT: bppsa.recurrence
#row = affine_map<(b, i) -> (b, i)>
#shared = affine_map<(b, i) -> (i)>
func.func @other_array(%x: tensor<2x4x3xf32>, %s: tensor<2x3xf32>, %u: tensor<3xf32>, %v: tensor<3xf32>) -> tensor<2x3xf32> {
  %x0 = tensor.extract_slice %x[0, 0, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x1x3xf32>
  %c0 = tensor.collapse_shape %x0 [[0, 1], [2]] : tensor<2x1x3xf32> into tensor<2x3xf32>
  %e0 = tensor.empty() : tensor<2x3xf32>
  %h0 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%s, %u, %c0 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e0 : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %x1 = tensor.extract_slice %x[0, 1, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x1x3xf32>
  %c1 = tensor.collapse_shape %x1 [[0, 1], [2]] : tensor<2x1x3xf32> into tensor<2x3xf32>
  %e1 = tensor.empty() : tensor<2x3xf32>
  %h1 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h0, %u, %c1 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e1 : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %x2 = tensor.extract_slice %x[0, 2, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x1x3xf32>
  %c2 = tensor.collapse_shape %x2 [[0, 1], [2]] : tensor<2x1x3xf32> into tensor<2x3xf32>
  %e2 = tensor.empty() : tensor<2x3xf32>
  %h2 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h1, %v, %c2 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e2 : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %x3 = tensor.extract_slice %x[0, 3, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x1x3xf32>
  %c3 = tensor.collapse_shape %x3 [[0, 1], [2]] : tensor<2x1x3xf32> into tensor<2x3xf32>
  %e3 = tensor.empty() : tensor<2x3xf32>
  %h3 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h2, %u, %c3 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e3 : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  return %h3 : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @other_order(
// CHECK: %[[STACK:.*]] = tensor.concat dim(0)
// CHECK: bppsa.recurrence sequences(%[[STACK]] : tensor<4x2x1x3xf32>)
#row = affine_map<(b, i) -> (b, i)>
#shared = affine_map<(b, i) -> (i)>
func.func @other_order(%x: tensor<2x4x3xf32>, %s: tensor<2x3xf32>, %u: tensor<3xf32>, %v: tensor<3xf32>) -> tensor<2x3xf32> {
  %x0 = tensor.extract_slice %x[0, 0, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x1x3xf32>
  %c0 = tensor.collapse_shape %x0 [[0, 1], [2]] : tensor<2x1x3xf32> into tensor<2x3xf32>
  %e0 = tensor.empty() : tensor<2x3xf32>
  %h0 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%s, %u, %c0 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e0 : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %x1 = tensor.extract_slice %x[0, 1, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x1x3xf32>
  %c1 = tensor.collapse_shape %x1 [[0, 1], [2]] : tensor<2x1x3xf32> into tensor<2x3xf32>
  %e1 = tensor.empty() : tensor<2x3xf32>
  %h1 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h0, %u, %c1 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e1 : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %x2 = tensor.extract_slice %x[0, 3, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x1x3xf32>
  %c2 = tensor.collapse_shape %x2 [[0, 1], [2]] : tensor<2x1x3xf32> into tensor<2x3xf32>
  %e2 = tensor.empty() : tensor<2x3xf32>
  %h2 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h1, %u, %c2 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e2 : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  %x3 = tensor.extract_slice %x[0, 2, 0] [2, 1, 3] [1, 1, 1] : tensor<2x4x3xf32> to tensor<2x1x3xf32>
  %c3 = tensor.collapse_shape %x3 [[0, 1], [2]] : tensor<2x1x3xf32> into tensor<2x3xf32>
  %e3 = tensor.empty() : tensor<2x3xf32>
  %h3 = linalg.generic {indexing_maps = [#row, #shared, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%h2, %u, %c3 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) outs(%e3 : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = math.tanh %1 : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  return %h3 : tensor<2x3xf32>
}

// -----

// Steps without weights are recognized because they are equal and each depends on the previous one.

// CHECK-LABEL: func.func @without_weights(
// CHECK-SAME: %[[A:.*]]: tensor<4x2x3xf32>, %[[B:.*]]: tensor<4x2x3xf32>, %[[S:.*]]: tensor<2x3xf32>
// CHECK: bppsa.recurrence sequences(%[[A]], %[[B]] : {{.*}}) initial(%[[S]] : tensor<2x3xf32>) -> (tensor<5x2x3xf32>) {
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK: return
#row = affine_map<(b, i) -> (b, i)>
func.func @without_weights(%a: tensor<4x2x3xf32>, %b: tensor<4x2x3xf32>, %s: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %a0 = tensor.extract_slice %a[0, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<1x2x3xf32>
  %ca0 = tensor.collapse_shape %a0 [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %b0 = tensor.extract_slice %b[0, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<1x2x3xf32>
  %cb0 = tensor.collapse_shape %b0 [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %e0 = tensor.empty() : tensor<2x3xf32>
  %p0 = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%ca0, %s : tensor<2x3xf32>, tensor<2x3xf32>) outs(%e0 : tensor<2x3xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %0 = arith.mulf %x, %y : f32
    linalg.yield %0 : f32
  } -> tensor<2x3xf32>
  %h0 = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%p0, %cb0 : tensor<2x3xf32>, tensor<2x3xf32>) outs(%e0 : tensor<2x3xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %0 = arith.addf %x, %y : f32
    linalg.yield %0 : f32
  } -> tensor<2x3xf32>
  %a1 = tensor.extract_slice %a[1, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<1x2x3xf32>
  %ca1 = tensor.collapse_shape %a1 [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %b1 = tensor.extract_slice %b[1, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<1x2x3xf32>
  %cb1 = tensor.collapse_shape %b1 [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %e1 = tensor.empty() : tensor<2x3xf32>
  %p1 = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%ca1, %h0 : tensor<2x3xf32>, tensor<2x3xf32>) outs(%e1 : tensor<2x3xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %0 = arith.mulf %x, %y : f32
    linalg.yield %0 : f32
  } -> tensor<2x3xf32>
  %h1 = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%p1, %cb1 : tensor<2x3xf32>, tensor<2x3xf32>) outs(%e1 : tensor<2x3xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %0 = arith.addf %x, %y : f32
    linalg.yield %0 : f32
  } -> tensor<2x3xf32>
  %a2 = tensor.extract_slice %a[2, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<1x2x3xf32>
  %ca2 = tensor.collapse_shape %a2 [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %b2 = tensor.extract_slice %b[2, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<1x2x3xf32>
  %cb2 = tensor.collapse_shape %b2 [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %e2 = tensor.empty() : tensor<2x3xf32>
  %p2 = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%ca2, %h1 : tensor<2x3xf32>, tensor<2x3xf32>) outs(%e2 : tensor<2x3xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %0 = arith.mulf %x, %y : f32
    linalg.yield %0 : f32
  } -> tensor<2x3xf32>
  %h2 = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%p2, %cb2 : tensor<2x3xf32>, tensor<2x3xf32>) outs(%e2 : tensor<2x3xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %0 = arith.addf %x, %y : f32
    linalg.yield %0 : f32
  } -> tensor<2x3xf32>
  %a3 = tensor.extract_slice %a[3, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<1x2x3xf32>
  %ca3 = tensor.collapse_shape %a3 [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %b3 = tensor.extract_slice %b[3, 0, 0] [1, 2, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<1x2x3xf32>
  %cb3 = tensor.collapse_shape %b3 [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %e3 = tensor.empty() : tensor<2x3xf32>
  %p3 = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%ca3, %h2 : tensor<2x3xf32>, tensor<2x3xf32>) outs(%e3 : tensor<2x3xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %0 = arith.mulf %x, %y : f32
    linalg.yield %0 : f32
  } -> tensor<2x3xf32>
  %h3 = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%p3, %cb3 : tensor<2x3xf32>, tensor<2x3xf32>) outs(%e3 : tensor<2x3xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %0 = arith.addf %x, %y : f32
    linalg.yield %0 : f32
  } -> tensor<2x3xf32>
  return %h3 : tensor<2x3xf32>
}

// -----

// Layers with different weights are not steps.

// CHECK-LABEL: func.func @layers(
// CHECK-NOT: bppsa.recurrence
// CHECK: return
#row = affine_map<(b, i) -> (b, i)>
func.func @layers(%w0: tensor<2x3xf32>, %w1: tensor<2x3xf32>, %w2: tensor<2x3xf32>, %w3: tensor<2x3xf32>, %s: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %e = tensor.empty() : tensor<2x3xf32>
  %h0 = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%w0, %s : tensor<2x3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %0 = arith.mulf %x, %y : f32
    linalg.yield %0 : f32
  } -> tensor<2x3xf32>
  %h1 = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%w1, %h0 : tensor<2x3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %0 = arith.mulf %x, %y : f32
    linalg.yield %0 : f32
  } -> tensor<2x3xf32>
  %h2 = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%w2, %h1 : tensor<2x3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %0 = arith.mulf %x, %y : f32
    linalg.yield %0 : f32
  } -> tensor<2x3xf32>
  %h3 = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%w3, %h2 : tensor<2x3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %0 = arith.mulf %x, %y : f32
    linalg.yield %0 : f32
  } -> tensor<2x3xf32>
  return %h3 : tensor<2x3xf32>
}
