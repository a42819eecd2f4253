// RUN: bppsa-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{kernel 'cooperative' has blocks of 256 threads, found 128}}
func.func private @threads() attributes {a = #bppsa.gpu_mapping<cooperative, threads = 128, rows = 8>}

// -----

// expected-error @below {{a block has whole warps of 32 threads and at most 1024 threads, found 48}}
func.func private @warps() attributes {a = #bppsa.gpu_mapping<block_per_row, threads = 48>}

// -----

// expected-error @below {{1, 2, 4 or 8 threads share a row, found 3}}
func.func private @parts() attributes {a = #bppsa.gpu_mapping<block_per_row, threads = 32, parts = 3>}

// -----

// expected-error @below {{threads share rows in blocks of rows or columns with matrices in registers; set parts to 1}}
func.func private @parts_of_memory() attributes {a = #bppsa.gpu_mapping<block_per_row, threads = 32, parts = 2, matrices = memory>}

// -----

// expected-error @below {{kernel 'block_per_row' cannot have matrices in 'shared'; use registers}}
func.func private @shared() attributes {a = #bppsa.gpu_mapping<block_per_row, threads = 32, matrices = shared>}

// -----

// expected-error @below {{kernel 'cooperative' has 1, 2, 4 or 8 rows a warp, found rows = 0}}
func.func private @no_rows() attributes {a = #bppsa.gpu_mapping<cooperative, threads = 256>}

// -----

// expected-error @below {{kernel 'block_per_row' has no rows a warp, found rows = 4}}
func.func private @rows() attributes {a = #bppsa.gpu_mapping<block_per_row, threads = 32, rows = 4>}

// -----

// expected-error @below {{kernel 'column_tile' has tiles of columns, found columns = 0}}
func.func private @no_columns() attributes {a = #bppsa.gpu_mapping<column_tile, threads = 32>}

// -----

// expected-error @below {{kernel 'thread_per_column' has no tiles of columns, found columns = 2}}
func.func private @columns() attributes {a = #bppsa.gpu_mapping<thread_per_column, threads = 32, columns = 2>}

// -----

// expected-error @below {{kernel 'block_per_row' copies 0, 2, 4 or 8 stages ahead, found stages = 3}}
func.func private @stages() attributes {a = #bppsa.gpu_mapping<block_per_row, threads = 32, stages = 3>}

// -----

// expected-error @below {{kernel 'tiled_product' copies 0 stages ahead, found stages = 4}}
func.func private @stages_of_tiles() attributes {a = #bppsa.gpu_mapping<tiled_product, threads = 128, stages = 4>}

// -----

// expected-error @below {{kernel 'block_per_row' uses no tensor cores and has the precision fp32, found bf16}}
func.func private @precision() attributes {a = #bppsa.gpu_mapping<block_per_row, threads = 32, precision = bf16>}

// -----

// expected-error @below {{offsets need a block_per_column, found block_per_row}}
func.func private @offset() attributes {a = #bppsa.gpu_mapping<thread_per_column, threads = 32, offset = <block_per_row, threads = 32>>}

// -----

// expected-error @below {{lanes of units need a width of 1, found 16}}
func.func private @units() attributes {a = #bppsa.cpu_mapping<units, width = 16>}

// -----

// expected-error @below {{lanes of samples need a positive width, found 0}}
func.func private @samples() attributes {a = #bppsa.cpu_mapping<samples, width = 0>}

// -----

func.func @more_rows_than_threads(%x: memref<?x?x40xf32>, %y: memref<?x?x40xf32>) {
  // expected-error @below {{has a vector of 40 rows, each of which 1 of a block's 32 threads share; set threads to 64 or more, or use another mapping}}
  bppsa.recurrence sequences(%x : memref<?x?x40xf32>) into(%y : memref<?x?x40xf32>)
      attributes {bppsa.mapping = #bppsa.gpu_mapping<block_per_row, threads = 32>} {
  ^bb0(%xt: vector<40xf32>):
    bppsa.yield %xt : vector<40xf32>
  }
  return
}

// -----

func.func @too_many_entries(%x: memref<?x?x300xf32>, %w: memref<300x300xf32>, %y: memref<?x?x300xf32>) {
  // expected-error @below {{has 300 entries of matrices for each of 320 threads, and a block has 65536 registers; raise parts or set matrices to memory}}
  bppsa.recurrence sequences(%x : memref<?x?x300xf32>) captures(%w : memref<300x300xf32>) into(%y : memref<?x?x300xf32>)
      attributes {bppsa.mapping = #bppsa.gpu_mapping<block_per_row, threads = 320>} {
  ^bb0(%xt: vector<300xf32>, %wc: vector<300x300xf32>):
    %0 = bppsa.matvec %wc, %xt : vector<300x300xf32>, vector<300xf32> -> vector<300xf32>
    bppsa.yield %0 : vector<300xf32>
  }
  return
}

// -----

func.func @without_states(%x: memref<?x?x4xf32>, %y: memref<?x?x4xf32>) {
  // expected-error @below {{cannot be mapped to 'cooperative'; use block_per_row, as blocks that share rows need states and add nothing up over steps}}
  bppsa.recurrence sequences(%x : memref<?x?x4xf32>) into(%y : memref<?x?x4xf32>)
      attributes {bppsa.mapping = #bppsa.gpu_mapping<cooperative, threads = 256, rows = 8>} {
  ^bb0(%xt: vector<4xf32>):
    bppsa.yield %xt : vector<4xf32>
  }
  return
}

// -----

func.func @steps_in_order(%g: memref<?x4xf32>, %a: memref<?x?x4xf32>, %out: memref<?x4xf32>) {
  // expected-error @below {{cannot be mapped to 'tiled_product'; use block_per_row or cooperative, as its steps follow each other}}
  bppsa.chain saved(%a : memref<?x?x4xf32>) seeds(%g : memref<?x4xf32>) into(%out : memref<?x4xf32>)
      attributes {bppsa.mapping = #bppsa.gpu_mapping<tiled_product, threads = 128>} {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    bppsa.yield %gt : vector<4xf32>
  }
  return
}

// -----

func.func @columns_of_a_loop(%x: memref<?x?x4xf32>, %y: memref<?x?x4xf32>) {
  // expected-error @below {{cannot be mapped to 'thread_per_column'; use block_per_row, cooperative or tiled_product}}
  bppsa.recurrence sequences(%x : memref<?x?x4xf32>) into(%y : memref<?x?x4xf32>)
      attributes {bppsa.mapping = #bppsa.gpu_mapping<thread_per_column, threads = 32>} {
  ^bb0(%xt: vector<4xf32>):
    bppsa.yield %xt : vector<4xf32>
  }
  return
}

// -----

func.func @rows_of_a_transition(%a: memref<8x4x3xf32>, %m: memref<4x3x3xf32>) {
  // expected-error @below {{cannot be mapped to 'block_per_row'; use thread_per_column, column_tile or block_per_column}}
  bppsa.transition states [3] saved(%a : memref<8x4x3xf32>) into(%m : memref<4x3x3xf32>)
      attributes {bppsa.mapping = #bppsa.gpu_mapping<block_per_row, threads = 32>} {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
    bppsa.yield %gt : vector<3xf32>
  }
  return
}

// -----

func.func @diagonal(%a: memref<8x4x3xf32>, %m: memref<4x1x3xf32>) {
  // expected-error @below {{cannot be mapped to 'column_tile'; use block_per_column, as a diagonal is one column}}
  bppsa.transition diagonal states [3] saved(%a : memref<8x4x3xf32>) into(%m : memref<4x1x3xf32>)
      attributes {bppsa.mapping = #bppsa.gpu_mapping<column_tile, threads = 32, columns = 1>} {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
    bppsa.yield %gt : vector<3xf32>
  }
  return
}

// -----

func.func @no_offset(%a: memref<8x4x3xf32>, %m: memref<4x4x3xf32>) {
  // expected-error @below {{has injected cotangents; add a block_per_column as the offset of its mapping}}
  bppsa.transition states [3] saved(%a : memref<8x4x3xf32>) injected(%a : memref<8x4x3xf32>) inject_into [0] into(%m : memref<4x4x3xf32>)
      attributes {bppsa.mapping = #bppsa.gpu_mapping<thread_per_column, threads = 32>} {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
    bppsa.yield %gt : vector<3xf32>
  }
  return
}

// -----

func.func @offset_of_nothing(%a: memref<8x4x3xf32>, %m: memref<4x3x3xf32>) {
  // expected-error @below {{has no injected cotangents; remove the offset of its mapping}}
  bppsa.transition states [3] saved(%a : memref<8x4x3xf32>) into(%m : memref<4x3x3xf32>)
      attributes {bppsa.mapping = #bppsa.gpu_mapping<thread_per_column, threads = 32, offset = <block_per_column, threads = 32>>} {
  ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
    bppsa.yield %gt : vector<3xf32>
  }
  return
}

// -----

func.func @lanes(%x: memref<?x?x4x16xf32>, %y: memref<?x?x4x16xf32>) {
  // expected-error @below {{has lanes and a mapping; remove one of them}}
  bppsa.recurrence lanes 16 sequences(%x : memref<?x?x4x16xf32>) into(%y : memref<?x?x4x16xf32>)
      attributes {bppsa.mapping = #bppsa.gpu_mapping<block_per_row, threads = 32>} {
  ^bb0(%xt: vector<4xf32>):
    bppsa.yield %xt : vector<4xf32>
  }
  return
}

// -----

func.func @graph(%x: tensor<?x?x1x33xf32>) -> tensor<?x?x1x33xf32> {
  // expected-error @below {{has a graph as its body, which has no mapping to a GPU; run bppsa-vectorize-bodies first}}
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x1x33xf32>)
      attributes {bppsa.mapping = #bppsa.gpu_mapping<block_per_row, threads = 32>} outputs(tensor<?x?x1x33xf32>) {
  ^bb0(%xt: tensor<1x33xf32>):
    bppsa.yield %xt : tensor<1x33xf32>
  }
  return %0 : tensor<?x?x1x33xf32>
}

// -----

func.func @rows_of_a_sum(%a: memref<?x?x4xf32>, %s: memref<4x4xf32>) {
  // expected-error @below {{cannot be mapped to 'block_per_row'; use tiled_product or thread_per_element}}
  bppsa.outer_sum %a, %a into %s {bppsa.mapping = #bppsa.gpu_mapping<block_per_row, threads = 32>} : memref<?x?x4xf32>, memref<?x?x4xf32> into memref<4x4xf32>
  return
}

// -----

func.func @no_loop(%a: memref<4xf32>) {
  // expected-error @below {{has no mapping to a GPU; remove 'bppsa.mapping'}}
  memref.dealloc %a {bppsa.mapping = #bppsa.gpu_mapping<block_per_row, threads = 32>} : memref<4xf32>
  return
}

// -----

func.func @no_vectors(%a: memref<4xf32>) {
  // expected-error @below {{has no vectors to map; remove 'bppsa.mapping'}}
  memref.dealloc %a {bppsa.mapping = #bppsa.cpu_mapping<samples, width = 16>} : memref<4xf32>
  return
}

// -----

func.func @no_chunks(%a: tensor<?x?x4xf32>, %g: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @below {{has no chunks for the lanes of 'bppsa.mapping'; give a chain the plan <chunked>, or take 'units'}}
  %0 = bppsa.chain plan <blelloch> saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>)
      attributes {bppsa.mapping = #bppsa.cpu_mapping<chunks, width = 16>} -> (tensor<?x4xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  return %0 : tensor<?x4xf32>
}

// -----

func.func @samples_and_chunks(%a: tensor<?x?x4x16xf32>, %g: tensor<?x4x16xf32>) -> tensor<?x4x16xf32> {
  // expected-error @below {{needs one lane of samples if chunks have lanes, found 16; use 'lanes 1'}}
  %0 = bppsa.chain plan <chunked> lanes 16 saved(%a : tensor<?x?x4x16xf32>) seeds(%g : tensor<?x4x16xf32>)
      attributes {bppsa.mapping = #bppsa.cpu_mapping<chunks, width = 16>} -> (tensor<?x4x16xf32>) {
  ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
    %1 = arith.mulf %at, %gt : vector<4xf32>
    bppsa.yield %1 : vector<4xf32>
  }
  return %0 : tensor<?x4x16xf32>
}

// -----

func.func @no_mapping(%a: memref<4xf32>) {
  // expected-error @below {{'bppsa.mapping' must be a #bppsa.gpu_mapping, a #bppsa.cpu_mapping, a #bppsa.task_mapping or, of a product, a #bppsa.product_mapping, found "packed"}}
  memref.dealloc %a {bppsa.mapping = "packed"} : memref<4xf32>
  return
}

// -----

func.func @no_product(%a: memref<4xf32>) {
  // expected-error @below {{adds no products of two factors; remove 'bppsa.mapping'}}
  memref.dealloc %a {bppsa.mapping = #bppsa.product_mapping<direct>} : memref<4xf32>
  return
}

// -----

func.func @no_lanes(%x: tensor<?x?x4xf32>, %h: tensor<?x4xf32>) -> tensor<?x?x4xf32> {
  // expected-error @below {{takes no samples together; 'bppsa.mapping' of tasks needs a time loop with 'lanes'}}
  %0 = bppsa.recurrence sequences(%x : tensor<?x?x4xf32>) initial(%h : tensor<?x4xf32>)
      attributes {bppsa.mapping = #bppsa.task_mapping<most = 4>} -> (tensor<?x?x4xf32>) {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
    bppsa.yield %xt : vector<4xf32>
  }
  return %0 : tensor<?x?x4xf32>
}

// -----

// expected-error @below {{takes a power of two of samples together, at least 2, found 3}}
#three = #bppsa.task_mapping<most = 3>
