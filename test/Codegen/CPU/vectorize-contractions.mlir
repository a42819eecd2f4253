// RUN: bppsa-opt %s --bppsa-vectorize-contractions="registers=8" --split-input-file | FileCheck %s

// A convolution: 2 tiles of 4 features and one of 1 share the vectors of x. 20 positions form one
// full vector and one of 4 lanes.

#x = affine_map<(n, m, o, c, k) -> (n, c, o + k * 2)>
#w = affine_map<(n, m, o, c, k) -> (m, c, k)>
#y = affine_map<(n, m, o, c, k) -> (n, m, o)>

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:.*]]: memref<?x3x24xf32>, %[[W:.*]]: memref<9x3x3xf32>, %[[Y:.*]]: memref<?x9x20xf32>
// CHECK: scf.for
// CHECK: scf.for
// CHECK: scf.for
// CHECK-COUNT-4: vector.load %[[Y]]
// CHECK: scf.for {{.*}} iter_args(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} =
// CHECK: scf.for {{.*}} iter_args
// CHECK: vector.load %[[X]]
// CHECK: memref.load %[[W]]
// CHECK-COUNT-4: vector.fma {{.*}} : vector<16xf32>
// CHECK-COUNT-4: vector.store {{.*}}, %[[Y]]
// CHECK: %[[MASK:.*]] = vector.create_mask
// CHECK-COUNT-4: vector.maskedload %[[Y]]{{.*}}, %[[MASK]]
// CHECK: vector.maskedstore %[[Y]]
// CHECK-NOT: linalg.generic
func.func @forward(%x: memref<?x3x24xf32>, %w: memref<9x3x3xf32>, %y: memref<?x9x20xf32>) {
  linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : memref<?x3x24xf32>, memref<9x3x3xf32>) outs(%y : memref<?x9x20xf32>) {
    ^bb0(%a: f32, %b: f32, %acc: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %acc, %p : f32
      linalg.yield %s : f32
  }
  return
}

// -----

// The cotangent of x: only samples and channels are parallel, and there are enough samples for
// threads.

#g = affine_map<(n, m, o, c, k) -> (n, m, o)>
#w = affine_map<(n, m, o, c, k) -> (m, c, k)>
#x = affine_map<(n, m, o, c, k) -> (n, c, o + k)>

// CHECK-LABEL: func.func @input(
// CHECK: scf.parallel
// CHECK-NOT: scf.parallel
// CHECK: return
func.func @input(%g: memref<?x64x16xf32>, %w: memref<64x64x5xf32>, %x: memref<?x64x20xf32>) {
  linalg.generic {indexing_maps = [#g, #w, #x], iterator_types = ["parallel", "reduction", "reduction", "parallel", "reduction"]}
      ins(%g, %w : memref<?x64x16xf32>, memref<64x64x5xf32>) outs(%x : memref<?x64x20xf32>) {
    ^bb0(%a: f32, %b: f32, %acc: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %acc, %p : f32
      linalg.yield %s : f32
  }
  return
}

// -----

// A product of rows reduces over lanes, by halves.

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (j, k)>
#c = affine_map<(i, j, k) -> (i, j)>

// CHECK-LABEL: func.func @rows(
// CHECK: vector.extract_strided_slice {{.*}} {offsets = [0], sizes = [8], strides = [1]}
// CHECK: arith.addf {{.*}} : vector<8xf32>
// CHECK: arith.addf {{.*}} : vector<1xf32>
func.func @rows(%a: memref<?x32xf32>, %b: memref<10x32xf32>, %c: memref<?x10xf32>) {
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<?x32xf32>, memref<10x32xf32>) outs(%c : memref<?x10xf32>) {
    ^bb0(%x: f32, %y: f32, %acc: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %p, %acc : f32
      linalg.yield %s : f32
  }
  return
}

// -----

// A transposed convolution with stride 2: lanes are positions of x, whose sums are two elements
// apart.

#x = affine_map<(n, c, i, m, k) -> (n, c, i)>
#w = affine_map<(n, c, i, m, k) -> (c, m, k)>
#y = affine_map<(n, c, i, m, k) -> (n, m, i * 2 + k)>

// CHECK-LABEL: func.func @spread(
// CHECK-SAME: %[[X:.*]]: memref<?x8x20xf32>, %[[W:.*]]: memref<8x4x3xf32>, %[[Y:.*]]: memref<?x4x41xf32>
// CHECK: arith.constant dense<[0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30]>
// CHECK: arith.constant dense<true>
// CHECK-COUNT-4: vector.gather %[[Y]]
// CHECK: vector.load %[[X]]
// CHECK-COUNT-4: vector.fma
// CHECK-COUNT-4: vector.scatter %[[Y]]
// CHECK: %[[MASK:.*]] = vector.create_mask
// CHECK: vector.gather %[[Y]]{{.*}}, %[[MASK]],
// CHECK: vector.scatter %[[Y]]{{.*}}, %[[MASK]],
func.func @spread(%x: memref<?x8x20xf32>, %w: memref<8x4x3xf32>, %y: memref<?x4x41xf32>) {
  linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "reduction", "reduction", "parallel", "reduction"]}
      ins(%x, %w : memref<?x8x20xf32>, memref<8x4x3xf32>) outs(%y : memref<?x4x41xf32>) {
    ^bb0(%a: f32, %b: f32, %acc: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %acc, %p : f32
      linalg.yield %s : f32
  }
  return
}

// -----

// A convolution with stride 2 gathers the inputs of its lanes.

#x = affine_map<(m, o, c, k) -> (c, o * 2 + k)>
#w = affine_map<(m, o, c, k) -> (m, c, k)>
#y = affine_map<(m, o, c, k) -> (m, o)>

// CHECK-LABEL: func.func @strided(
// CHECK-SAME: %[[X:.*]]: memref<3x35xf32>, %{{.*}}, %[[Y:.*]]: memref<4x16xf32>
// CHECK-COUNT-4: vector.load %[[Y]]
// CHECK: vector.gather %[[X]]
// CHECK-NOT: vector.gather
// CHECK-COUNT-4: vector.store {{.*}}, %[[Y]]
func.func @strided(%x: memref<3x35xf32>, %w: memref<4x3x4xf32>, %y: memref<4x16xf32>) {
  linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : memref<3x35xf32>, memref<4x3x4xf32>) outs(%y : memref<4x16xf32>) {
    ^bb0(%a: f32, %b: f32, %acc: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %acc, %p : f32
      linalg.yield %s : f32
  }
  return
}

// -----

// Positions without a constant stride cannot be lanes, and a difference is not a product.

#x = affine_map<(o, m, k) -> (o + o floordiv 2 + k)>
#w = affine_map<(o, m, k) -> (k, m)>
#y = affine_map<(o, m, k) -> (m, o)>

// CHECK-LABEL: func.func @others(
// CHECK-COUNT-2: linalg.generic
func.func @others(%x: memref<11xf32>, %w: memref<3x4xf32>, %y: memref<4x5xf32>, %v: memref<4xf32>) {
  linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<11xf32>, memref<3x4xf32>) outs(%y : memref<4x5xf32>) {
    ^bb0(%a: f32, %b: f32, %acc: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %acc, %p : f32
      linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%v, %v : memref<4xf32>, memref<4xf32>) outs(%v : memref<4xf32>) {
    ^bb0(%a: f32, %b: f32, %acc: f32):
      %d = arith.subf %a, %b : f32
      linalg.yield %d : f32
  }
  return
}
