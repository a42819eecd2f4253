// RUN: bppsa-opt %s -split-input-file --pass-pipeline="builtin.module(func.func(bppsa-block-rows{bytes=8192}))" | FileCheck %s

#row = affine_map<(t, b, n) -> (t, b)>
#all = affine_map<(t, b, n) -> (t, b, n)>
#one = affine_map<(t, b, n) -> (n)>

// A row takes 40 bytes plus two scalars of 4 bytes, so a block has 128 rows. The sums are a buffer
// of one block.
// CHECK-DAG:   #[[$ROW:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG:   #[[$ALL:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG:   #[[$ONE:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @scores
// CHECK-SAME:    (%[[X:[a-z0-9]*]]: memref<?x?x10xf32>, %[[SHIFT:[a-z0-9]*]]: memref<10xf32>, %[[MOST:[a-z0-9]*]]: memref<?x?xf32>,
// CHECK-DAG:     %[[ROWS:.*]] = memref.collapse_shape %[[X]] {{\[}}[0, 1], [2]]
// CHECK-DAG:     %[[MOSTROWS:.*]] = memref.collapse_shape %[[MOST]] {{\[}}[0, 1]]
// CHECK:         %[[COUNT:.*]] = memref.dim
// CHECK:         %[[BLOCKS:.*]] = arith.ceildivui %[[COUNT]], %c128
// CHECK:         scf.forall (%[[BLOCK:.*]]) in (%[[BLOCKS]])
// CHECK:           %[[FIRST:.*]] = arith.muli %[[BLOCK]], %c128
// CHECK:           %[[BUFFER:.*]] = memref.alloca() {{.*}} : memref<128xf32>
// CHECK:           linalg.fill ins(%{{.*}}) outs(%[[SUMS:.*]] : memref<?xf32, strided<[1]>>)
// CHECK:           linalg.generic {indexing_maps = [#[[$ALL]], #[[$ONE]], #[[$ROW]]], iterator_types = ["parallel", "reduction"]}
// CHECK-SAME:        outs(%[[SUMS]]
// CHECK:           linalg.generic {indexing_maps = [#[[$ALL]], #[[$ROW]], #[[$ROW]]], iterator_types = ["parallel", "reduction"]}
// CHECK:             linalg.index 1
// CHECK-NOT:     memref.dealloc
func.func @scores(%x: memref<?x?x10xf32>, %shift: memref<10xf32>, %most: memref<?x?xf32>, %t: index, %b: index) {
  %zero = arith.constant 0.0 : f32
  %sum = memref.alloc(%t, %b) : memref<?x?xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<?x?xf32>)
  linalg.generic {indexing_maps = [#all, #one, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %shift : memref<?x?x10xf32>, memref<10xf32>) outs(%sum : memref<?x?xf32>) {
  ^bb0(%in: f32, %s: f32, %out: f32):
    %0 = arith.subf %in, %s : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  }
  linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %sum : memref<?x?x10xf32>, memref<?x?xf32>) outs(%most : memref<?x?xf32>) {
  ^bb0(%in: f32, %s: f32, %out: f32):
    %n = linalg.index 2 : index
    %i = arith.index_cast %n : index to i32
    %f = arith.sitofp %i : i32 to f32
    %0 = arith.mulf %in, %s : f32
    %1 = arith.mulf %0, %f : f32
    %2 = arith.maximumf %1, %out : f32
    linalg.yield %2 : f32
  }
  memref.dealloc %sum : memref<?x?xf32>
  return
}

// -----

#row = affine_map<(b, n) -> (b)>
#all = affine_map<(b, n) -> (b, n)>
#other = affine_map<(b, n) -> (n, b)>

// No blocks: a single operation, rows that are also accessed along columns, and long rows.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     scf.forall
// CHECK:         return
func.func @others(%x: memref<?x4xf32>, %s: memref<?xf32>, %y: memref<4x4xf32>, %z: memref<4x4xf32>,
                  %v: memref<?x400xf32>, %w: memref<?x400xf32>) {
  linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<?x4xf32>) outs(%s : memref<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  }
  linalg.generic {indexing_maps = [#other, #all], iterator_types = ["parallel", "parallel"]}
      ins(%y : memref<4x4xf32>) outs(%z : memref<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  linalg.generic {indexing_maps = [#other, #all], iterator_types = ["parallel", "parallel"]}
      ins(%z : memref<4x4xf32>) outs(%y : memref<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  linalg.exp ins(%v : memref<?x400xf32>) outs(%w : memref<?x400xf32>)
  linalg.exp ins(%w : memref<?x400xf32>) outs(%v : memref<?x400xf32>)
  return
}
