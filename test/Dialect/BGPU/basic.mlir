// RUN: bppsa-opt %s | bppsa-opt | FileCheck %s
// RUN: bppsa-opt %s --mlir-print-op-generic | bppsa-opt | FileCheck %s

#shared = #gpu.address_space<workgroup>

// CHECK-LABEL: func @kernel(
// CHECK-SAME:      %[[N:.*]]: index, %[[OUT:.*]]: memref<?x32xf32>)
// CHECK:         bgpu.kernel blocks(%[[BLOCK:.*]] in %[[N]]) threads(512) {
// CHECK:           %[[BUFFER:.*]] = memref.alloc() : memref<16x32xf32, #gpu.address_space<workgroup>>
// CHECK:           %[[TILE:.*]] = tensor.generate
// CHECK:           %[[TOTALS:.*]] = bgpu.reduce <maximumf> %[[TILE]] : tensor<16x32xf32> -> tensor<1x32xf32>
// CHECK:           bgpu.put %[[TILE]], %[[BUFFER]][0] : tensor<16x32xf32>, memref<16x32xf32, #gpu.address_space<workgroup>>
// CHECK:           gpu.barrier
// CHECK:           %[[LAST:.*]] = bgpu.get %[[BUFFER]][15] : memref<16x32xf32, #gpu.address_space<workgroup>> -> tensor<1x32xf32>
// CHECK:           %[[BOTH:.*]] = arith.addf %[[TOTALS]], %[[LAST]] : tensor<1x32xf32>
// CHECK:           %[[SUMS:.*]]:2 = bgpu.for_each [1, 32] %[[BOTH]], %[[LAST]] : tensor<1x32xf32>, tensor<1x32xf32> -> tensor<1x32xf32>, tensor<1x32xindex> {
// CHECK-NEXT:      ^bb0(%{{.*}}: index, %[[J:.*]]: index, %[[A:.*]]: f32, %[[B:.*]]: f32):
// CHECK-NEXT:        %[[SUM:.*]] = arith.addf %[[A]], %[[B]]
// CHECK-NEXT:        bgpu.yield %[[SUM]], %[[J]] : f32, index
// CHECK:           bgpu.for_each [32] {
// CHECK-NEXT:      ^bb0(%[[I:.*]]: index):
// CHECK-NOT:         bgpu.yield
// CHECK:           bgpu.for_each [1, 32] %[[SUMS]]#0 : tensor<1x32xf32> {
// CHECK-NEXT:      ^bb0(%{{.*}}: index, %[[J:.*]]: index, %[[SUM:.*]]: f32):
// CHECK-NEXT:        memref.store %[[SUM]], %[[OUT]][%[[BLOCK]], %[[J]]]
func.func @kernel(%n: index, %out: memref<?x32xf32>) {
  bgpu.kernel blocks(%block in %n) threads(512) {
    %buffer = memref.alloc() : memref<16x32xf32, #shared>
    %tile = tensor.generate {
    ^bb0(%i: index, %j: index):
      %c0 = arith.constant 0 : index
      %x = memref.load %out[%c0, %j] : memref<?x32xf32>
      tensor.yield %x : f32
    } : tensor<16x32xf32>
    %totals = bgpu.reduce <maximumf> %tile : tensor<16x32xf32> -> tensor<1x32xf32>
    bgpu.put %tile, %buffer[0] : tensor<16x32xf32>, memref<16x32xf32, #shared>
    gpu.barrier
    %last = bgpu.get %buffer[15] : memref<16x32xf32, #shared> -> tensor<1x32xf32>
    %both = arith.addf %totals, %last : tensor<1x32xf32>
    %sums:2 = bgpu.for_each [1, 32] %both, %last : tensor<1x32xf32>, tensor<1x32xf32> -> tensor<1x32xf32>, tensor<1x32xindex> {
    ^bb0(%i: index, %j: index, %a: f32, %b: f32):
      %sum = arith.addf %a, %b : f32
      bgpu.yield %sum, %j : f32, index
    }
    bgpu.for_each [32] {
    ^bb0(%i: index):
      %zero = arith.constant 0.0 : f32
      memref.store %zero, %out[%block, %i] : memref<?x32xf32>
    }
    bgpu.for_each [1, 32] %sums#0 : tensor<1x32xf32> {
    ^bb0(%i: index, %j: index, %sum: f32):
      memref.store %sum, %out[%block, %j] : memref<?x32xf32>
    }
  }
  return
}

// Threads that share a row all hold its sum.

// CHECK-LABEL: func @replicated(
// CHECK:           %[[SUMS:.*]] = bgpu.reduce_across <add> %{{.*}} : tensor<8x4xf32> -> tensor<8xf32, #bgpu.replicated<4>>
// CHECK:           %[[ALL:.*]] = bgpu.for_each [8] replicas(4) %[[SUMS]] : tensor<8xf32, #bgpu.replicated<4>> -> tensor<8xf32, #bgpu.replicated<4>> {
// CHECK-NEXT:      ^bb0(%{{.*}}: index, %{{.*}}: f32):
// CHECK:           bgpu.put %[[ALL]], %{{.*}}[0] : tensor<8xf32, #bgpu.replicated<4>>, memref<8xf32, #gpu.address_space<workgroup>>
// CHECK:           bgpu.share %[[ALL]] : tensor<8xf32, #bgpu.replicated<4>>
func.func @replicated(%n: index, %x: memref<8xf32>) {
  bgpu.kernel blocks(%block in %n) threads(32) {
    %buffer = memref.alloc() : memref<8xf32, #shared>
    %parts = arith.constant dense<1.0> : tensor<8x4xf32>
    %sums = bgpu.reduce_across <add> %parts : tensor<8x4xf32> -> tensor<8xf32, #bgpu.replicated<4>>
    %all = bgpu.for_each [8] replicas(4) %sums : tensor<8xf32, #bgpu.replicated<4>> -> tensor<8xf32, #bgpu.replicated<4>> {
    ^bb0(%i: index, %sum: f32):
      %0 = memref.load %x[%i] : memref<8xf32>
      %1 = arith.addf %sum, %0 : f32
      bgpu.yield %1 : f32
    }
    bgpu.put %all, %buffer[0] : tensor<8xf32, #bgpu.replicated<4>>, memref<8xf32, #shared>
    %whole = bgpu.share %all : tensor<8xf32, #bgpu.replicated<4>>
  }
  return
}

// Threads that share a row hold its element in addition to their own elements.

// CHECK-LABEL: func @accumulated(
// CHECK-SAME:      %[[N:[^:]*]]: index, %[[ZEROS:[^:]*]]: tensor<8x4xvector<3xf32>>, %[[ROWS:[^:]*]]: tensor<8xf32, #bgpu.replicated<4>>, %[[SUMS:[^:]*]]: memref<10x8xf32>, %[[TOTALS:[^:]*]]: memref<8xf32>)
// CHECK:           %[[NEXT:.*]] = bgpu.for_each [8, 4] %[[ZEROS]], %[[ROWS]] : tensor<8x4xvector<3xf32>>, tensor<8xf32, #bgpu.replicated<4>> -> tensor<8x4xvector<3xf32>> {
// CHECK-NEXT:      ^bb0(%{{.*}}: index, %{{.*}}: index, %{{.*}}: vector<3xf32>, %{{.*}}: f32):
// CHECK:           bgpu.accumulate overwrite %[[ZEROS]], %[[SUMS]] : tensor<8x4xvector<3xf32>>, memref<10x8xf32>
// CHECK:           bgpu.accumulate %[[NEXT]], %[[SUMS]] : tensor<8x4xvector<3xf32>>, memref<10x8xf32>
// CHECK:           bgpu.accumulate %[[ROWS]], %[[TOTALS]] : tensor<8xf32, #bgpu.replicated<4>>, memref<8xf32>
func.func @accumulated(%n: index, %zeros: tensor<8x4xvector<3xf32>>, %rows: tensor<8xf32, #bgpu.replicated<4>>,
    %sums: memref<10x8xf32>, %totals: memref<8xf32>) {
  bgpu.kernel blocks(%block in %n) threads(32) {
    %next = bgpu.for_each [8, 4] %zeros, %rows : tensor<8x4xvector<3xf32>>, tensor<8xf32, #bgpu.replicated<4>> -> tensor<8x4xvector<3xf32>> {
    ^bb0(%i: index, %j: index, %sum: vector<3xf32>, %row: f32):
      %0 = vector.broadcast %row : f32 to vector<3xf32>
      %1 = arith.addf %sum, %0 : vector<3xf32>
      bgpu.yield %1 : vector<3xf32>
    }
    bgpu.accumulate overwrite %zeros, %sums : tensor<8x4xvector<3xf32>>, memref<10x8xf32>
    bgpu.accumulate %next, %sums : tensor<8x4xvector<3xf32>>, memref<10x8xf32>
    bgpu.accumulate %rows, %totals : tensor<8xf32, #bgpu.replicated<4>>, memref<8xf32>
  }
  return
}

// Warps accumulate products of tiles. The tile shape may or may not specify the distribution of
// elements over threads.

// CHECK-LABEL: func @products(
// CHECK-SAME:      %[[N:[^:]*]]: index, %[[A:[^:]*]]: tensor<4x32xvector<4xf32>>, %[[B:[^:]*]]: tensor<4x32xvector<2xf32>>, %[[C:[^:]*]]: tensor<2x2x8x4xvector<8xf32>>, %[[D:[^:]*]]: tensor<2x2x8x4xvector<4xf32>>)
// CHECK:           %[[SUMS:.*]] = bgpu.mma %[[A]], %[[B]], %[[A]] precision(fp32) : tensor<4x32xvector<4xf32>>, tensor<4x32xvector<2xf32>>, tensor<4x32xvector<4xf32>>
// CHECK:           bgpu.mma %[[A]], %[[B]], %[[SUMS]] precision(tf32)
// CHECK:           bgpu.mma %[[C]], %[[D]], %[[D]] precision(bf16) : tensor<2x2x8x4xvector<8xf32>>, tensor<2x2x8x4xvector<4xf32>>, tensor<2x2x8x4xvector<4xf32>>
func.func @products(%n: index, %a: tensor<4x32xvector<4xf32>>, %b: tensor<4x32xvector<2xf32>>,
    %c: tensor<2x2x8x4xvector<8xf32>>, %d: tensor<2x2x8x4xvector<4xf32>>) {
  bgpu.kernel blocks(%block in %n) threads(128) {
    %sums = bgpu.mma %a, %b, %a precision(fp32) : tensor<4x32xvector<4xf32>>, tensor<4x32xvector<2xf32>>, tensor<4x32xvector<4xf32>>
    %more = bgpu.mma %a, %b, %sums precision(tf32) : tensor<4x32xvector<4xf32>>, tensor<4x32xvector<2xf32>>, tensor<4x32xvector<4xf32>>
    %others = bgpu.mma %c, %d, %d precision(bf16)
        : tensor<2x2x8x4xvector<8xf32>>, tensor<2x2x8x4xvector<4xf32>>, tensor<2x2x8x4xvector<4xf32>>
  }
  return
}

// Threads that share a row divide the sums of their vectors; if the vectors are shorter, several
// threads hold the same sum. Warps and groups of blocks have their own barriers.

// CHECK-LABEL: func @scattered(
// CHECK:           bgpu.reduce_scatter <add> %{{.*}} : tensor<2x32xvector<32xf32>> -> tensor<2x32xf32>
// CHECK:           bgpu.warp_barrier
// CHECK:           bgpu.reduce_scatter <maximumf> %{{.*}} : tensor<16x4xvector<2xf32>> -> tensor<16x2xf32, #bgpu.replicated<2>>
// CHECK:           bgpu.grid_barrier %{{.*}}[%{{.*}}] until %{{.*}} : memref<?x32xi32>
func.func @scattered(%all: tensor<2x32xvector<32xf32>>, %some: tensor<16x4xvector<2xf32>>, %counters: memref<?x32xi32>,
    %count: i32, %n: index) {
  bgpu.kernel blocks(%block in %n) threads(64) {
    %0 = bgpu.reduce_scatter <add> %all : tensor<2x32xvector<32xf32>> -> tensor<2x32xf32>
    bgpu.warp_barrier
    %1 = bgpu.reduce_scatter <maximumf> %some : tensor<16x4xvector<2xf32>> -> tensor<16x2xf32, #bgpu.replicated<2>>
    bgpu.grid_barrier %counters[%block] until %count : memref<?x32xi32>
  }
  return
}
