// RUN: bppsa-opt %s --bppsa-collapse-loops | FileCheck %s

#tbc = affine_map<(t, b, c) -> (t, b, c)>
#tb = affine_map<(t, b, c) -> (t, b)>
#t = affine_map<(t, b, c) -> (t)>
#none = affine_map<(t, b, c) -> ()>

// Steps and samples collapse, but not classes, because one array has no class dimension.

// CHECK-LABEL: func.func @rows(
// CHECK-SAME:    %[[X:.*]]: memref<?x?x10xf32>, %[[M:.*]]: memref<?x?xf32>, %[[Y:.*]]: memref<?x?x10xf32>)
// CHECK-DAG:     %[[CX:.*]] = memref.collapse_shape %[[X]] {{\[}}[0, 1], [2]]
// CHECK-DAG:     %[[CM:.*]] = memref.collapse_shape %[[M]] {{\[}}[0, 1]]
// CHECK-DAG:     %[[CY:.*]] = memref.collapse_shape %[[Y]] {{\[}}[0, 1], [2]]
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]
// CHECK-SAME:      ins(%[[CX]], %[[CM]] : memref<?x10xf32>, memref<?xf32>) outs(%[[CY]] : memref<?x10xf32>)
func.func @rows(%x: memref<?x?x10xf32>, %m: memref<?x?xf32>, %y: memref<?x?x10xf32>) {
  linalg.generic {indexing_maps = [#tbc, #tb, #tbc], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %m : memref<?x?x10xf32>, memref<?x?xf32>) outs(%y : memref<?x?x10xf32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %d = arith.subf %a, %b : f32
      linalg.yield %d : f32
  }
  return
}

// A scalar belongs to no loop; a sum keeps its loop.

// CHECK-LABEL: func.func @sums(
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
// CHECK-SAME:      ins({{.*}} : memref<?x10xf32>, memref<f32>) outs({{.*}} : memref<?xf32>)
func.func @sums(%x: memref<?x?x10xf32>, %s: memref<f32>, %y: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [#tbc, #none, #tb], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %s : memref<?x?x10xf32>, memref<f32>) outs(%y : memref<?x?xf32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %p = arith.mulf %a, %b : f32
      %sum = arith.addf %out, %p : f32
      linalg.yield %sum : f32
  }
  return
}

// Loops over non-contiguous samples, with an array indexed only by step, or with linalg.index do
// not collapse.

// CHECK-LABEL: func.func @others(
// CHECK-NOT:     memref.collapse_shape
// CHECK-COUNT-3: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]
func.func @others(%x: memref<?x?x10xf32>, %y: memref<?x?xf32, strided<[?, 1]>>, %z: memref<?xf32>, %i: memref<?x?xindex>) {
  linalg.generic {indexing_maps = [#tbc, #tb], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : memref<?x?x10xf32>) outs(%y : memref<?x?xf32, strided<[?, 1]>>) {
    ^bb0(%a: f32, %out: f32):
      %sum = arith.addf %out, %a : f32
      linalg.yield %sum : f32
  }
  linalg.generic {indexing_maps = [#tbc, #t, #tb], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %z : memref<?x?x10xf32>, memref<?xf32>) outs(%y : memref<?x?xf32, strided<[?, 1]>>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %sum = arith.addf %out, %a : f32
      linalg.yield %sum : f32
  }
  linalg.generic {indexing_maps = [#tbc, #tb], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : memref<?x?x10xf32>) outs(%i : memref<?x?xindex>) {
    ^bb0(%a: f32, %out: index):
      %step = linalg.index 0 : index
      %sum = arith.addi %out, %step : index
      linalg.yield %sum : index
  }
  return
}
