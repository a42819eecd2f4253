// RUN: bppsa-opt %s --bppsa-drop-step-dims | FileCheck %s
// RUN: bppsa-opt %s --bppsa-drop-step-dims=min-steps=5 | FileCheck %s --check-prefix=FEW
// RUN: bppsa-opt %s --bppsa-drop-step-dims --bppsa-roll-up-steps | FileCheck %s --check-prefix=LOOP

// The state of a layer over time keeps the step dimension.

// CHECK-LABEL: func.func @layer(
// CHECK-SAME: %[[X:.*]]: tensor<4x?x8xf32>, %[[S:.*]]: tensor<?x8xf32>
// CHECK: %[[A:.*]] = linalg.generic {{.*}} ins(%[[S]], {{.*}} : tensor<?x8xf32>, tensor<8xf32>) outs({{.*}} : tensor<?x8xf32>)
// CHECK: %[[H:.*]] = linalg.generic {{.*}} ins(%[[A]], {{.*}} : tensor<?x8xf32>, tensor<?x8xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[H]], {{.*}} : tensor<?x8xf32>, tensor<8xf32>)
// CHECK-COUNT-5: linalg.generic {{.*}} outs({{.*}} : tensor<?x8xf32>)
// CHECK: tensor.concat dim(0) {{.*}} : (tensor<1x?x8xf32>, tensor<1x?x8xf32>, tensor<1x?x8xf32>, tensor<1x?x8xf32>)
// FEW-LABEL: func.func @layer(
// FEW-COUNT-8: linalg.generic {{.*}} outs({{.*}} : tensor<1x?x8xf32>)
// LOOP-LABEL: func.func @layer(
// LOOP-SAME: %[[X:.*]]: tensor<4x?x8xf32>, %[[S:.*]]: tensor<?x8xf32>
// LOOP: %[[H:.*]] = bppsa.recurrence sequences(%[[X]] : tensor<4x?x8xf32>) initial(%[[S]] : tensor<?x8xf32>)
// LOOP: %[[Y:.*]] = tensor.extract_slice %[[H]][1, 0, 0] [4,
// LOOP-NEXT: return %[[Y]]
#all = affine_map<(t, b, i) -> (t, b, i)>
#samples = affine_map<(t, b, i) -> (b, i)>
#shared = affine_map<(t, b, i) -> (i)>
func.func @layer(%x: tensor<4x?x8xf32>, %s: tensor<?x8xf32>, %u: tensor<8xf32>) -> tensor<4x?x8xf32> {
  %one = arith.constant 1 : index
  %b = tensor.dim %x, %one : tensor<4x?x8xf32>
  %first = tensor.expand_shape %s [[0, 1], [2]] output_shape [1, %b, 8] : tensor<?x8xf32> into tensor<1x?x8xf32>
  %f0 = tensor.empty(%b) : tensor<1x?x8xf32>
  %a0 = linalg.generic {indexing_maps = [#all, #shared, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%first, %u : tensor<1x?x8xf32>, tensor<8xf32>) outs(%f0 : tensor<1x?x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<1x?x8xf32>
  %s0 = tensor.extract_slice %x[0, 0, 0] [1, %b, 8] [1, 1, 1] : tensor<4x?x8xf32> to tensor<1x?x8xf32>
  %c0 = tensor.collapse_shape %s0 [[0, 1], [2]] : tensor<1x?x8xf32> into tensor<?x8xf32>
  %h0 = linalg.generic {indexing_maps = [#all, #samples, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a0, %c0 : tensor<1x?x8xf32>, tensor<?x8xf32>) outs(%f0 : tensor<1x?x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.addf %p, %q : f32
    %1 = math.tanh %0 : f32
    linalg.yield %1 : f32
  } -> tensor<1x?x8xf32>
  %f1 = tensor.empty(%b) : tensor<1x?x8xf32>
  %a1 = linalg.generic {indexing_maps = [#all, #shared, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%h0, %u : tensor<1x?x8xf32>, tensor<8xf32>) outs(%f1 : tensor<1x?x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<1x?x8xf32>
  %s1 = tensor.extract_slice %x[1, 0, 0] [1, %b, 8] [1, 1, 1] : tensor<4x?x8xf32> to tensor<1x?x8xf32>
  %c1 = tensor.collapse_shape %s1 [[0, 1], [2]] : tensor<1x?x8xf32> into tensor<?x8xf32>
  %h1 = linalg.generic {indexing_maps = [#all, #samples, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a1, %c1 : tensor<1x?x8xf32>, tensor<?x8xf32>) outs(%f1 : tensor<1x?x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.addf %p, %q : f32
    %1 = math.tanh %0 : f32
    linalg.yield %1 : f32
  } -> tensor<1x?x8xf32>
  %f2 = tensor.empty(%b) : tensor<1x?x8xf32>
  %a2 = linalg.generic {indexing_maps = [#all, #shared, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%h1, %u : tensor<1x?x8xf32>, tensor<8xf32>) outs(%f2 : tensor<1x?x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<1x?x8xf32>
  %s2 = tensor.extract_slice %x[2, 0, 0] [1, %b, 8] [1, 1, 1] : tensor<4x?x8xf32> to tensor<1x?x8xf32>
  %c2 = tensor.collapse_shape %s2 [[0, 1], [2]] : tensor<1x?x8xf32> into tensor<?x8xf32>
  %h2 = linalg.generic {indexing_maps = [#all, #samples, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a2, %c2 : tensor<1x?x8xf32>, tensor<?x8xf32>) outs(%f2 : tensor<1x?x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.addf %p, %q : f32
    %1 = math.tanh %0 : f32
    linalg.yield %1 : f32
  } -> tensor<1x?x8xf32>
  %f3 = tensor.empty(%b) : tensor<1x?x8xf32>
  %a3 = linalg.generic {indexing_maps = [#all, #shared, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%h2, %u : tensor<1x?x8xf32>, tensor<8xf32>) outs(%f3 : tensor<1x?x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    linalg.yield %0 : f32
  } -> tensor<1x?x8xf32>
  %s3 = tensor.extract_slice %x[3, 0, 0] [1, %b, 8] [1, 1, 1] : tensor<4x?x8xf32> to tensor<1x?x8xf32>
  %c3 = tensor.collapse_shape %s3 [[0, 1], [2]] : tensor<1x?x8xf32> into tensor<?x8xf32>
  %h3 = linalg.generic {indexing_maps = [#all, #samples, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a3, %c3 : tensor<1x?x8xf32>, tensor<?x8xf32>) outs(%f3 : tensor<1x?x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.addf %p, %q : f32
    %1 = math.tanh %0 : f32
    linalg.yield %1 : f32
  } -> tensor<1x?x8xf32>
  %y = tensor.concat dim(0) %h0, %h1, %h2, %h3 : (tensor<1x?x8xf32>, tensor<1x?x8xf32>, tensor<1x?x8xf32>, tensor<1x?x8xf32>) -> tensor<4x?x8xf32>
  return %y : tensor<4x?x8xf32>
}
