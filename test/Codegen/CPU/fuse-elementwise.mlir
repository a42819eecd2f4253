// RUN: bppsa-opt %s --bppsa-fuse-elementwise --split-input-file | FileCheck %s
// RUN: bppsa-opt %s --bppsa-fuse-elementwise=recompute --split-input-file | FileCheck %s --check-prefix=AGAIN

#all = affine_map<(b, c) -> (b, c)>

// The array between two operations is eliminated.

// CHECK-LABEL: func.func @chain(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<?x4xf32>, %[[Y:[^:]*]]: tensor<?x4xf32>
// CHECK:         linalg.generic {{.*}} ins(%[[X]], %[[Y]] :
// CHECK:           %[[E:.*]] = math.exp
// CHECK-NEXT:      arith.addf %[[E]]
// CHECK-NOT:     linalg.generic
func.func @chain(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>, %init: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x4xf32>) outs(%init : tensor<?x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = math.exp %in : f32
    linalg.yield %2 : f32
  } -> tensor<?x4xf32>
  %1 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%0, %y : tensor<?x4xf32>, tensor<?x4xf32>) outs(%init : tensor<?x4xf32>) {
  ^bb0(%in: f32, %other: f32, %out: f32):
    %2 = arith.addf %in, %other : f32
    linalg.yield %2 : f32
  } -> tensor<?x4xf32>
  return %1 : tensor<?x4xf32>
}

// -----

#all = affine_map<(b, c) -> (b, c)>

// A value with two readers is computed once.

// CHECK-LABEL: func.func @two_readers(
// CHECK-COUNT-3: linalg.generic
func.func @two_readers(%x: tensor<?x4xf32>, %init: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %0 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x4xf32>) outs(%init : tensor<?x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %3 = math.exp %in : f32
    linalg.yield %3 : f32
  } -> tensor<?x4xf32>
  %1 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<?x4xf32>) outs(%init : tensor<?x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %3 = math.sqrt %in : f32
    linalg.yield %3 : f32
  } -> tensor<?x4xf32>
  %2 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<?x4xf32>) outs(%init : tensor<?x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %3 = arith.negf %in : f32
    linalg.yield %3 : f32
  } -> tensor<?x4xf32>
  return %1, %2 : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

#all = affine_map<(b, c) -> (b, c)>
#rows = affine_map<(b, c) -> (b)>
#row = affine_map<(b) -> (b)>

// A value that is constant along a row is computed once per row.

// CHECK-LABEL: func.func @broadcast(
// CHECK-COUNT-2: linalg.generic
func.func @broadcast(%x: tensor<?xf32>, %y: tensor<?x4xf32>, %some: tensor<?xf32>, %init: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%some : tensor<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = math.exp %in : f32
    linalg.yield %2 : f32
  } -> tensor<?xf32>
  %1 = linalg.generic {indexing_maps = [#rows, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%0, %y : tensor<?xf32>, tensor<?x4xf32>) outs(%init : tensor<?x4xf32>) {
  ^bb0(%in: f32, %other: f32, %out: f32):
    %2 = arith.addf %in, %other : f32
    linalg.yield %2 : f32
  } -> tensor<?x4xf32>
  return %1 : tensor<?x4xf32>
}

// -----

#all = affine_map<(b, c) -> (b, c)>
#across = affine_map<(b, c) -> (c, b)>

// Fusion does not introduce reads across the rows of an array.

// CHECK-LABEL: func.func @transposed(
// CHECK-COUNT-2: linalg.generic
func.func @transposed(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>, %init: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = linalg.generic {indexing_maps = [#across, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x?xf32>) outs(%init : tensor<?x?xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<?x?xf32>
  %1 = linalg.generic {indexing_maps = [#across, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%0, %y : tensor<?x?xf32>, tensor<?x?xf32>) outs(%init : tensor<?x?xf32>) {
  ^bb0(%in: f32, %other: f32, %out: f32):
    %2 = arith.addf %in, %other : f32
    linalg.yield %2 : f32
  } -> tensor<?x?xf32>
  return %1 : tensor<?x?xf32>
}

// -----

#all = affine_map<(b, c) -> (b, c)>
#rows = affine_map<(b, c) -> (b)>

// Operands of sums are not fused.

// CHECK-LABEL: func.func @sum(
// CHECK-COUNT-2: linalg.generic
func.func @sum(%x: tensor<?x4xf32>, %init: tensor<?x4xf32>, %some: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x4xf32>) outs(%init : tensor<?x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = math.exp %in : f32
    linalg.yield %2 : f32
  } -> tensor<?x4xf32>
  %1 = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%0 : tensor<?x4xf32>) outs(%some : tensor<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = arith.addf %in, %out : f32
    linalg.yield %2 : f32
  } -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// -----

#all = affine_map<(b, c) -> (b, c)>

// A product is not fused into a sum of it, because an fma would round only once.

// CHECK-LABEL: func.func @product_and_sum(
// CHECK:         arith.negf
// CHECK:         linalg.yield
// CHECK:         arith.addf
func.func @product_and_sum(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>, %init: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<?x4xf32>, tensor<?x4xf32>) outs(%init : tensor<?x4xf32>) {
  ^bb0(%in: f32, %other: f32, %out: f32):
    %2 = arith.mulf %in, %other : f32
    %3 = arith.negf %2 : f32
    linalg.yield %3 : f32
  } -> tensor<?x4xf32>
  %1 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%0, %y : tensor<?x4xf32>, tensor<?x4xf32>) outs(%init : tensor<?x4xf32>) {
  ^bb0(%in: f32, %other: f32, %out: f32):
    %2 = arith.addf %in, %other : f32
    linalg.yield %2 : f32
  } -> tensor<?x4xf32>
  return %1 : tensor<?x4xf32>
}

// -----

#all = affine_map<(b, c) -> (b, c)>
#rows = affine_map<(b, c) -> (b)>
#row = affine_map<(b) -> (b)>

// With `recompute`, arithmetic is recomputed for both readers and for each column, but math
// functions are not.

// CHECK-LABEL: func.func @arithmetic(
// CHECK-COUNT-3: linalg.generic
// AGAIN-LABEL: func.func @arithmetic(
// AGAIN-SAME:      %[[X:[^:]*]]: tensor<?xf32>, %[[Y:[^:]*]]: tensor<?x4xf32>
// AGAIN:         linalg.generic {{.*}} ins(%[[X]], %[[Y]] :
// AGAIN:           %[[HALF:.*]] = arith.divf
// AGAIN-NEXT:      arith.mulf %[[HALF]]
// AGAIN:         linalg.generic {{.*}} ins(%[[X]] :
// AGAIN:           arith.divf
// AGAIN-NEXT:      arith.negf
// AGAIN-NOT:     linalg.generic
// AGAIN-LABEL: func.func @function(
// AGAIN-COUNT-2: linalg.generic
func.func @arithmetic(%x: tensor<?xf32>, %y: tensor<?x4xf32>, %some: tensor<?xf32>, %init: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?xf32>) {
  %two = arith.constant 2.0 : f32
  %0 = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%some : tensor<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %3 = arith.divf %in, %two : f32
    linalg.yield %3 : f32
  } -> tensor<?xf32>
  %1 = linalg.generic {indexing_maps = [#rows, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%0, %y : tensor<?xf32>, tensor<?x4xf32>) outs(%init : tensor<?x4xf32>) {
  ^bb0(%in: f32, %other: f32, %out: f32):
    %3 = arith.mulf %in, %other : f32
    linalg.yield %3 : f32
  } -> tensor<?x4xf32>
  %2 = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
      ins(%0 : tensor<?xf32>) outs(%some : tensor<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %3 = arith.negf %in : f32
    linalg.yield %3 : f32
  } -> tensor<?xf32>
  return %1, %2 : tensor<?x4xf32>, tensor<?xf32>
}
func.func @function(%x: tensor<?xf32>, %y: tensor<?x4xf32>, %some: tensor<?xf32>, %init: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%some : tensor<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = math.exp %in : f32
    linalg.yield %2 : f32
  } -> tensor<?xf32>
  %1 = linalg.generic {indexing_maps = [#rows, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%0, %y : tensor<?xf32>, tensor<?x4xf32>) outs(%init : tensor<?x4xf32>) {
  ^bb0(%in: f32, %other: f32, %out: f32):
    %2 = arith.addf %in, %other : f32
    linalg.yield %2 : f32
  } -> tensor<?x4xf32>
  return %1 : tensor<?x4xf32>
}
