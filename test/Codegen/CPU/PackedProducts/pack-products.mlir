// RUN: bppsa-opt %s --bppsa-pack-products --canonicalize --cse --split-input-file --verify-diagnostics | FileCheck %s
// RUN: bppsa-opt %s --bppsa-pack-products=registers=8 --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=AVX2

// A product of rows: tasks compute blocks of up to 256 x 512 elements. Rows of %a are contiguous
// along the reduction and are transposed in tiles of four terms. Columns of %b are copied, and
// added to %c, in vectors.

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>

// CHECK-LABEL: func.func @rows(
// CHECK: %[[PARTS:.*]] = call @bppsa_rt_task_size(%{{.*}}, %c1{{.*}}, %c8{{.*}})
// CHECK: %[[ROWS:.*]] = arith.muli %[[PARTS]], %c32
// CHECK: scf.parallel ({{.*}}) = {{.*}} step (%c512, %[[ROWS]])
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<51200xf32>
// CHECK: scf.for {{.*}} to %c400 step %c200 {
// CHECK: scf.for {{.*}} step %c8 {
// CHECK: call @pack_1_by_4_of_8
// CHECK: scf.for {{.*}} step %c32 {
// CHECK: call @pack_16_by_1_of_32
// CHECK: scf.for {{.*}} step %c8 {
// CHECK: arith.muli
// CHECK-NEXT: call @multiply_8_by_32
// CHECK: call @add_tile_by_16
// CHECK-NOT: linalg.generic

// CHECK: func.func private @pack_1_by_4_of_8
// CHECK-COUNT-8: vector.load {{.*}} vector<4xf32>
// CHECK-COUNT-12: vector.shuffle
// CHECK-COUNT-4: vector.store {{.*}} vector<8xf32>
// CHECK: func.func private @multiply_8_by_32
// CHECK: scf.for
// CHECK-COUNT-2: vector.load {{.*}} vector<16xf32>
// CHECK-COUNT-16: vector.fma
// CHECK: scf.yield
// CHECK-COUNT-16: vector.store

// AVX2-LABEL: func.func private @pack_1_by_4_of_6
// AVX2-COUNT-4: vector.load {{.*}} vector<4xf32>
// AVX2-COUNT-8: vector.shuffle
// AVX2-COUNT-4: vector.store {{.*}} vector<4xf32>
// AVX2-LABEL: func.func private @multiply_6_by_16
// AVX2-COUNT-6: vector.fma
// AVX2: scf.yield
func.func @rows(%a: memref<?x400xf32>, %b: memref<400x640xf32>, %c: memref<?x640xf32>) {
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<?x400xf32>, memref<400x640xf32>) outs(%c : memref<?x640xf32>)
      attrs = {bppsa.mapping = #bppsa.product_mapping<packed_rhs>} {
    ^bb0(%x: f32, %y: f32, %acc: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %p, %acc : f32
      linalg.yield %s : f32
  }
  return
}

// -----

// If consecutive cache lines hold terms of consecutive rows, rows are read in place for a few
// panels of columns.

#a = affine_map<(i, j, t, l) -> (t, i, l)>
#b = affine_map<(i, j, t, l) -> (t, j, l)>
#c = affine_map<(i, j, t, l) -> (i, j)>

// CHECK-LABEL: func.func @lines(
// CHECK-NOT: call @pack_{{.*}}_of_8
// CHECK: call @pack_1_by_4_of_32
// CHECK: call @multiply_in_place_8_by_32
func.func @lines(%a: memref<?x96x16xf32>, %b: memref<?x128x16xf32>, %c: memref<96x128xf32>) {
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %b : memref<?x96x16xf32>, memref<?x128x16xf32>) outs(%c : memref<96x128xf32>)
      attrs = {bppsa.mapping = #bppsa.product_mapping<packed_rhs>} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %z, %p : f32
    linalg.yield %s : f32
  }
  return
}

// CHECK-LABEL: func.func @many_columns(
// CHECK: call @pack_1_by_4_of_8
// CHECK: call @multiply_8_by_32
func.func @many_columns(%a: memref<?x96x16xf32>, %b: memref<?x160x16xf32>, %c: memref<96x160xf32>) {
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %b : memref<?x96x16xf32>, memref<?x160x16xf32>) outs(%c : memref<96x160xf32>)
      attrs = {bppsa.mapping = #bppsa.product_mapping<packed_rhs>} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %z, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// The cotangent of an image: windows overlap, so a task has whole windows (72 rows are 8 channels
// of 9) and whole images (lanes are 64 positions of each image, 8 of them adjacent in an image
// row).

#g = affine_map<(n, m, i, j, c, k, l) -> (n, m, i, j)>
#w = affine_map<(n, m, i, j, c, k, l) -> (m, c, k, l)>
#x = affine_map<(n, m, i, j, c, k, l) -> (n, c, i + k, j + l)>

// CHECK-LABEL: func.func @image(
// CHECK: %[[PARTS:.*]] = call @bppsa_rt_task_size(%{{.*}}, %c1{{.*}}, %c3{{.*}})
// CHECK: %[[ROWS:.*]] = arith.muli %[[PARTS]], %c72
// CHECK: scf.parallel ({{.*}}) = {{.*}} step (%c512, %[[ROWS]])
// CHECK: call @pack_8_by_1_of_8
// CHECK: call @pack_16_by_1_of_32
// CHECK: call @add_tile_by_8
func.func @image(%g: memref<?x48x8x8xf32>, %w: memref<48x64x3x3xf32>, %x: memref<?x64x10x10xf32>) {
  linalg.generic {indexing_maps = [#g, #w, #x], iterator_types = ["parallel", "reduction", "reduction", "reduction", "parallel", "reduction", "reduction"]}
      ins(%g, %w : memref<?x48x8x8xf32>, memref<48x64x3x3xf32>) outs(%x : memref<?x64x10x10xf32>)
      attrs = {bppsa.mapping = #bppsa.product_mapping<packed_lhs>} {
    ^bb0(%a: f32, %b: f32, %acc: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %acc, %p : f32
      linalg.yield %s : f32
  }
  return
}

// -----

// A small product runs on one thread; buffers are allocated once.

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>

// CHECK-LABEL: func.func @small(
// CHECK-NOT: scf.for
// CHECK: memref.alloca
// CHECK-NOT: scf.parallel
// CHECK: call @multiply
func.func @small(%a: memref<?x5xf32>, %b: memref<5x7xf32>, %c: memref<?x7xf32>) {
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<?x5xf32>, memref<5x7xf32>) outs(%c : memref<?x7xf32>)
      attrs = {bppsa.mapping = #bppsa.product_mapping<packed_rhs>} {
    ^bb0(%x: f32, %y: f32, %acc: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %p, %acc : f32
      linalg.yield %s : f32
  }
  return
}

// -----

#x = affine_map<(o, m, k) -> (o + o floordiv 2 + k)>
#w = affine_map<(o, m, k) -> (k, m)>
#y = affine_map<(o, m, k) -> (m, o)>

func.func @not_linear(%x: memref<11xf32>, %w: memref<3x4xf32>, %y: memref<4x5xf32>) {
  // expected-error @below {{needs a matrix product of f32 arrays in memory at linear offsets to have a packed mapping; use 'direct'}}
  linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<11xf32>, memref<3x4xf32>) outs(%y : memref<4x5xf32>)
      attrs = {bppsa.mapping = #bppsa.product_mapping<packed_lhs>} {
    ^bb0(%a: f32, %b: f32, %acc: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %acc, %p : f32
      linalg.yield %s : f32
  }
  return
}
