// RUN: bppsa-opt %s --split-input-file --verify-diagnostics

func.func @threads(%n: index) {
  // expected-error @below {{has 2048 threads; a block has 1 to 1024}}
  bgpu.kernel blocks(%block in %n) threads(2048) {
  }
  return
}

// -----

func.func @many_large_blocks(%n: index) {
  // expected-error @below {{has many_blocks, which are of 32 threads each, but has 64}}
  bgpu.kernel blocks(%block in %n) threads(64) {
  } {many_blocks}
  return
}

// -----

func.func @large_tile(%n: index) {
  // expected-error @below {{has 32 threads, but a tile of type 'tensor<8x8xf32>'; use one thread per element}}
  bgpu.kernel blocks(%block in %n) threads(32) {
    %tile = arith.constant dense<0.0> : tensor<8x8xf32>
  }
  return
}

// -----

func.func @block_argument(%n: index) {
  // expected-error @below {{needs one argument of type index in its body, the number of the block}}
  "bgpu.kernel"(%n) <{threads = 32 : i64}> ({
  ^bb0:
    %c0 = arith.constant 0 : index
  }) : (index) -> ()
  return
}

// -----

func.func @odd_rows(%tile: tensor<3x8xf32>) {
  // expected-error @below {{needs a power of two of rows, but combines rows of 'tensor<3x8xf32>'}}
  %0 = bgpu.reduce <add> %tile : tensor<3x8xf32> -> tensor<1x8xf32>
  return
}

// -----

func.func @kind(%tile: tensor<4x8xf32>) {
  // expected-error @below {{cannot combine elements of 'tensor<4x8xf32>' by this kind}}
  %0 = bgpu.reduce <maxsi> %tile : tensor<4x8xf32> -> tensor<1x8xf32>
  return
}

// -----

func.func @result(%tile: tensor<4x8xf32>) {
  // expected-error @below {{must give one row of 'tensor<4x8xf32>', but gives 'tensor<8xf32>'}}
  %0 = bgpu.reduce <add> %tile : tensor<4x8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @device_memory(%buffer: memref<4x8xf32>) {
  // expected-error @below {{needs an array in shared memory, but has 'memref<4x8xf32>'}}
  %0 = bgpu.get %buffer[0] : memref<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @columns(%buffer: memref<4x8xf32, #gpu.address_space<workgroup>>) {
  // expected-error @below {{needs a tile that is rows of 'memref<4x8xf32, #gpu.address_space<workgroup>>', but has 'tensor<4x4xf32>'}}
  %0 = bgpu.get %buffer[0] : memref<4x8xf32, #gpu.address_space<workgroup>> -> tensor<4x4xf32>
  return
}

// -----

func.func @rows(%buffer: memref<4x8xf32, #gpu.address_space<workgroup>>, %tile: tensor<2x8xf32>) {
  // expected-error @below {{has rows 3 to 4 of an array of 4}}
  bgpu.put %tile, %buffer[3] : tensor<2x8xf32>, memref<4x8xf32, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @arguments(%tile: tensor<2x8xf32>) {
  // expected-error @below {{needs an index for each of 2 dimensions and an element of each tile as arguments of its body}}
  bgpu.for_each [2, 8] %tile : tensor<2x8xf32> {
  ^bb0(%i: index, %value: f32):
  }
  return
}

// -----

func.func @shape(%tile: tensor<2x8xf32>) {
  // expected-error @below {{has a tile of type 'tensor<2x8xf32>', but runs a body for each element of [16]}}
  bgpu.for_each [16] %tile : tensor<2x8xf32> {
  ^bb0(%i: index, %value: f32):
  }
  return
}

// -----

func.func @yield(%tile: tensor<8xf32>) {
  // expected-error @below {{needs a body that yields an element of each of its 1 results}}
  %0 = bgpu.for_each [8] %tile : tensor<8xf32> -> tensor<8xf32> {
  ^bb0(%i: index, %value: f32):
    bgpu.yield %i : index
  }
  return
}

// -----

func.func @large_loop(%n: index) {
  // expected-error @below {{has 32 threads, but a tile of type 'tensor<64xindex>'; use one thread per element}}
  bgpu.kernel blocks(%block in %n) threads(32) {
    bgpu.for_each [64] {
    ^bb0(%i: index):
    }
  }
  return
}

// -----

func.func @fetched_rank(%n: index, %x: memref<?x?x20xf32>) {
  %c0 = arith.constant 0 : index
  scf.for %i = %c0 to %n step %n {
    // expected-error @below {{needs an array of vectors of static size and an index for each other dimension, but has 1 indices into 'memref<?x?x20xf32>'}}
    %0 = bgpu.fetch %x[%i] stages(4) : memref<?x?x20xf32>
  }
  return
}

// -----

func.func @fetched_elements(%n: index, %x: memref<?x20xf64>) {
  %c0 = arith.constant 0 : index
  scf.for %i = %c0 to %n step %n {
    // expected-error @below {{copies elements of 32 bits, but has 'memref<?x20xf64>'}}
    %0 = bgpu.fetch %x[%i] stages(4) : memref<?x20xf64>
  }
  return
}

// -----

func.func @stages(%n: index, %x: memref<?x20xf32>) {
  %c0 = arith.constant 0 : index
  scf.for %i = %c0 to %n step %n {
    // expected-error @below {{has 6 stages, which must be a power of two above 1}}
    %0 = bgpu.fetch %x[%i] stages(6) : memref<?x20xf32>
  }
  return
}

// -----

func.func @no_loop(%n: index, %x: memref<?x20xf32>) {
  // expected-error @below {{must be in an scf.for, because it prefetches for later iterations}}
  %0 = bgpu.fetch %x[%n] stages(4) : memref<?x20xf32>
  return
}

// -----

// expected-error @below {{needs a power of two from 2 to 32 of threads that have an element, but has 3}}
func.func @replicated(%tile: tensor<8xf32, #bgpu.replicated<3>>) {
  return
}

// -----

func.func @large_replicated_tile(%n: index) {
  // expected-error @below {{has 32 threads, but a tile of type 'tensor<20xf32, #bgpu.replicated<2>>'; use one thread per element}}
  bgpu.kernel blocks(%block in %n) threads(32) {
    %tile = arith.constant dense<0.0> : tensor<20xf32, #bgpu.replicated<2>>
  }
  return
}

// -----

func.func @long_rows(%tile: tensor<2x64xf32>) {
  // expected-error @below {{needs rows of 2 to 32 elements, a power of two, one per thread, but combines rows of 'tensor<2x64xf32>'}}
  %0 = bgpu.reduce_across <add> %tile : tensor<2x64xf32> -> tensor<2xf32>
  return
}

// -----

func.func @wide_elements(%tile: tensor<2x4xf64>) {
  // expected-error @below {{cannot combine elements of 'tensor<2x4xf64>' by this kind; they need 32 bits}}
  %0 = bgpu.reduce_across <add> %tile : tensor<2x4xf64> -> tensor<2xf64, #bgpu.replicated<4>>
  return
}

// -----

func.func @other_layout(%tile: tensor<2x4xf32>) {
  // expected-error @below {{must give 'tensor<2xf32, #bgpu.replicated<4>>', but gives 'tensor<2xf32, #bgpu.replicated<2>>'}}
  %0 = bgpu.reduce_across <add> %tile : tensor<2x4xf32> -> tensor<2xf32, #bgpu.replicated<2>>
  return
}

// -----

func.func @replicas() {
  // expected-error @below {{needs a power of two up to 32 of threads that have a position, but has 6}}
  bgpu.for_each [4] replicas(6) {
  ^bb0(%i: index):
  }
  return
}

// -----

func.func @replicas_of_tiles(%tile: tensor<4xf32, #bgpu.replicated<2>>) {
  // expected-error @below {{has a tile of type 'tensor<4xf32, #bgpu.replicated<2>>', but has each position in 4 threads; give both the same}}
  bgpu.for_each [4] replicas(4) %tile : tensor<4xf32, #bgpu.replicated<2>> {
  ^bb0(%i: index, %value: f32):
  }
  return
}

// -----

func.func @rows_of_others(%row: tensor<4xf32, #bgpu.replicated<4>>) {
  // expected-error @below {{has a tile of type 'tensor<4xf32, #bgpu.replicated<4>>', but runs a body for each element of [4, 2]}}
  bgpu.for_each [4, 2] %row : tensor<4xf32, #bgpu.replicated<4>> {
  ^bb0(%i: index, %j: index, %value: f32):
  }
  return
}

// -----

func.func @accumulates_shared(%tile: tensor<8xf32>, %sums: memref<8xf32, #gpu.address_space<workgroup>>) {
  // expected-error @below {{needs an array in device memory, but has 'memref<8xf32, #gpu.address_space<workgroup>>'}}
  bgpu.accumulate %tile, %sums : tensor<8xf32>, memref<8xf32, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @accumulates_integers(%tile: tensor<8xi32>, %sums: memref<8xi32>) {
  // expected-error @below {{needs a vector or matrix of floating-point elements, but has 'memref<8xi32>'}}
  bgpu.accumulate %tile, %sums : tensor<8xi32>, memref<8xi32>
  return
}

// -----

func.func @accumulates_fewer(%tile: tensor<7xf32>, %sums: memref<8xf32>) {
  // expected-error @below {{needs a tile of the elements of 'memref<8xf32>', but has 'tensor<7xf32>'}}
  bgpu.accumulate %tile, %sums : tensor<7xf32>, memref<8xf32>
  return
}

// -----

func.func @accumulates_too_many_columns(%tile: tensor<8x4xvector<4xf32>>, %sums: memref<10x8xf32>) {
  // expected-error @below {{needs a tile of type 'tensor<8x4xvector<3xf32>>', the columns of 'memref<10x8xf32>' that each thread of a row has, but has 'tensor<8x4xvector<4xf32>>'}}
  bgpu.accumulate %tile, %sums : tensor<8x4xvector<4xf32>>, memref<10x8xf32>
  return
}

// -----

func.func @product_of_half_a_warp(%a: tensor<4x4xvector<4xf32>>, %b: tensor<4x4xvector<2xf32>>) {
  // expected-error @below {{needs tiles with an element for each thread of whole warps, but has 'tensor<4x4xvector<4xf32>>'; give them a multiple of 32 elements}}
  %0 = bgpu.mma %a, %b, %a precision(fp32) : tensor<4x4xvector<4xf32>>, tensor<4x4xvector<2xf32>>, tensor<4x4xvector<4xf32>>
  return
}

// -----

func.func @product_of_replicas(%a: tensor<32xvector<4xf32>, #bgpu.replicated<2>>) {
  // expected-error @below {{needs tiles with an element for each thread of whole warps, but has 'tensor<32xvector<4xf32>, #bgpu.replicated<2>>'; give them a multiple of 32 elements}}
  %0 = bgpu.mma %a, %a, %a precision(fp32)
      : tensor<32xvector<4xf32>, #bgpu.replicated<2>>, tensor<32xvector<4xf32>, #bgpu.replicated<2>>, tensor<32xvector<4xf32>, #bgpu.replicated<2>>
  return
}

// -----

func.func @product_of_other_warps(%a: tensor<2x32xvector<4xf32>>, %b: tensor<4x32xvector<2xf32>>) {
  // expected-error @below {{needs a tile of type 'tensor<2x32xvector<2xf32>>' for B with precision 'tf32', but has 'tensor<4x32xvector<2xf32>>'}}
  %0 = bgpu.mma %a, %b, %a precision(tf32) : tensor<2x32xvector<4xf32>>, tensor<4x32xvector<2xf32>>, tensor<2x32xvector<4xf32>>
  return
}

// -----

func.func @product_of_less_depth(%a: tensor<32xvector<4xf32>>, %b: tensor<32xvector<2xf32>>) {
  // expected-error @below {{needs a tile of type 'tensor<32xvector<8xf32>>' for A with precision 'bf16', but has 'tensor<32xvector<4xf32>>'}}
  %0 = bgpu.mma %a, %b, %a precision(bf16) : tensor<32xvector<4xf32>>, tensor<32xvector<2xf32>>, tensor<32xvector<4xf32>>
  return
}

// -----

func.func @product_of_doubles(%a: tensor<32xvector<4xf32>>, %b: tensor<32xvector<2xf32>>, %c: tensor<32xvector<4xf64>>) {
  // expected-error @below {{needs a tile of type 'tensor<32xvector<4xf32>>' for C with precision 'fp32', but has 'tensor<32xvector<4xf64>>'}}
  %0 = bgpu.mma %a, %b, %c precision(fp32) : tensor<32xvector<4xf32>>, tensor<32xvector<2xf32>>, tensor<32xvector<4xf64>>
  return
}

// -----

func.func @long_scattered_rows(%tile: tensor<2x64xvector<2xf32>>) {
  // expected-error @below {{needs rows of 2 to 32 threads, a power of two, but combines rows of 'tensor<2x64xvector<2xf32>>'}}
  %0 = bgpu.reduce_scatter <add> %tile : tensor<2x64xvector<2xf32>> -> tensor<2x2xf32>
  return
}

// -----

func.func @scattered_numbers(%tile: tensor<2x32xf32>) {
  // expected-error @below {{needs vectors of a power of two of elements, at most one per thread of a row, but combines vectors of 'tensor<2x32xf32>'}}
  %0 = bgpu.reduce_scatter <add> %tile : tensor<2x32xf32> -> tensor<2x32xf32>
  return
}

// -----

func.func @long_vectors(%tile: tensor<4x8xvector<16xf32>>) {
  // expected-error @below {{needs vectors of a power of two of elements, at most one per thread of a row, but combines vectors of 'tensor<4x8xvector<16xf32>>'}}
  %0 = bgpu.reduce_scatter <add> %tile : tensor<4x8xvector<16xf32>> -> tensor<4x16xf32>
  return
}

// -----

func.func @wide_vectors(%tile: tensor<4x8xvector<4xf64>>) {
  // expected-error @below {{cannot combine elements of 'tensor<4x8xvector<4xf64>>' by this kind; they need 32 bits}}
  %0 = bgpu.reduce_scatter <add> %tile : tensor<4x8xvector<4xf64>> -> tensor<4x4xf64, #bgpu.replicated<2>>
  return
}

// -----

func.func @scattered_layout(%tile: tensor<4x8xvector<4xf32>>) {
  // expected-error @below {{must give 'tensor<4x4xf32, #bgpu.replicated<2>>', but gives 'tensor<4x4xf32>'}}
  %0 = bgpu.reduce_scatter <add> %tile : tensor<4x8xvector<4xf32>> -> tensor<4x4xf32>
  return
}

// -----

func.func @shared_counters(%counters: memref<4x32xi32, #gpu.address_space<workgroup>>, %group: index, %count: i32) {
  // expected-error @below {{needs counters in rows of static size in device memory, but has 'memref<4x32xi32, #gpu.address_space<workgroup>>'}}
  bgpu.grid_barrier %counters[%group] until %count : memref<4x32xi32, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @dynamic_counters(%counters: memref<4x?xi32>, %group: index, %count: i32) {
  // expected-error @below {{needs counters in rows of static size in device memory, but has 'memref<4x?xi32>'}}
  bgpu.grid_barrier %counters[%group] until %count : memref<4x?xi32>
  return
}
