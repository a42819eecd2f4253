// RUN: bppsa-opt %s --convert-bppsa-to-bgpu --split-input-file --verify-diagnostics

func.func private @tensors(%x: tensor<8x4x3xf32>) -> tensor<3xf32> {
  // expected-error @below {{works on tensors; run bppsa-bufferize first}}
  %0 = bppsa.step_sum %x : tensor<8x4x3xf32> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

func.func private @lanes(%x: memref<1x8x3x16xf32>, %s: memref<3xf32>) {
  // expected-error @below {{has lanes, which GPUs do not support; do not run bppsa-pack-batch}}
  bppsa.step_sum lanes 16 %x into %s : memref<1x8x3x16xf32> into memref<3xf32>
  return
}

// -----

func.func private @products_of_two_dimensions(%m: memref<4x3x3xf32>, %g: memref<4x3xf32>, %h: memref<4x3xf32>) {
  // expected-error @below {{has 2 dimensions, and a loop of transitions one; run bppsa-expand-scan with whole-levels}}
  scf.forall (%b, %k) in (4, 8) {
    bppsa.apply_transition %m, %g into %h : memref<4x3x3xf32>, memref<4x3xf32>, memref<4x3xf32>
  }
  return
}

// -----

func.func private @sum_among_products(%m: memref<4x3x3xf32>, %g: memref<4x3xf32>, %h: memref<4x3xf32>, %x: memref<8x4x3xf32>, %s: memref<3xf32>) {
  scf.forall (%k) in (8) {
    bppsa.apply_transition %m, %g into %h : memref<4x3x3xf32>, memref<4x3xf32>, memref<4x3xf32>
    // expected-error @below {{has no kernel in a loop of transitions; use --target=cpu}}
    bppsa.step_sum %x into %s : memref<8x4x3xf32> into memref<3xf32>
  }
  return
}

// -----

func.func private @packed_products(%m: memref<4x3x3x16xf32>, %g: memref<4x3x16xf32>, %h: memref<4x3x16xf32>) {
  scf.forall (%k) in (8) {
    // expected-error @below {{has no kernel in a loop of transitions; use --target=cpu}}
    bppsa.apply_transition lanes 16 %m, %g into %h : memref<4x3x3x16xf32>, memref<4x3x16xf32>, memref<4x3x16xf32>
  }
  return
}

// -----

func.func private @empty_loop(%g: memref<4x3xf32>) {
  // expected-error @below {{has no kernels for GPUs; use --target=cpu}}
  scf.forall (%k) in (8) {
    %v = memref.subview %g[0, 0] [4, 3] [1, 1] : memref<4x3xf32> to memref<4x3xf32, strided<[3, 1]>>
  }
  return
}

// -----

func.func private @more_than_products(%x: memref<?x?x16xf32>, %y: memref<?x?x16xf32>) {
  // expected-error @below {{cannot be mapped to 'tiled_product', which supports only products of its sequences with captured matrices; use block_per_row}}
  bppsa.recurrence sequences(%x : memref<?x?x16xf32>) into(%y : memref<?x?x16xf32>)
      attributes {bppsa.mapping = #bppsa.gpu_mapping<tiled_product, threads = 128>} {
  ^bb0(%xt: vector<16xf32>):
    %0 = math.tanh %xt : vector<16xf32>
    bppsa.yield %0 : vector<16xf32>
  }
  return
}

// -----

func.func private @gaps_in_rows(%a: memref<?x?x16xf32, strided<[?, ?, 2]>>, %s: memref<16x16xf32>) {
  // expected-error @below {{cannot be mapped to 'tiled_product', which needs f32 sequences with contiguous rows; use thread_per_element}}
  bppsa.outer_sum %a, %a into %s {bppsa.mapping = #bppsa.gpu_mapping<tiled_product, threads = 128>} : memref<?x?x16xf32, strided<[?, ?, 2]>>, memref<?x?x16xf32, strided<[?, ?, 2]>> into memref<16x16xf32>
  return
}

// -----

func.func private @products_of_inputs(%x: memref<?x?x4xf32>, %h0: memref<?x4xf32>, %w: memref<4x4xf32>, %h: memref<?x?x4xf32>) {
  // expected-error @below {{cannot be mapped to 'cooperative', which needs only products of states and of values computed in steps; use block_per_row}}
  bppsa.recurrence sequences(%x : memref<?x?x4xf32>) initial(%h0 : memref<?x4xf32>) captures(%w : memref<4x4xf32>)
      into(%h : memref<?x?x4xf32>) attributes {bppsa.mapping = #bppsa.gpu_mapping<cooperative, threads = 256, rows = 8>} {
  ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>, %wc: vector<4x4xf32>):
    %0 = bppsa.matvec %wc, %xt plus %ht : vector<4x4xf32>, vector<4xf32> plus vector<4xf32> -> vector<4xf32>
    bppsa.yield %0 : vector<4xf32>
  }
  return
}

// -----

func.func private @unmapped(%x: memref<?x?x4xf32>, %y: memref<?x?x4xf32>) {
  // expected-error @below {{has no mapping to a GPU; run bppsa-choose-gpu-mapping first}}
  bppsa.recurrence sequences(%x : memref<?x?x4xf32>) into(%y : memref<?x?x4xf32>) {
  ^bb0(%xt: vector<4xf32>):
    bppsa.yield %xt : vector<4xf32>
  }
  return
}

// -----

func.func private @unmapped_chains(%a: memref<8x4x3xf32>, %g: memref<1x3xf32>, %out: memref<1x3xf32>) {
  scf.forall (%b, %k) in (4, 8) {
    %a_k = memref.subview %a[%k, %b, 0] [1, 1, 3] [1, 1, 1] : memref<8x4x3xf32> to memref<1x1x3xf32, strided<[12, 3, 1], offset: ?>>
    // expected-error @below {{has no mapping to a GPU; run bppsa-choose-gpu-mapping first}}
    bppsa.chain saved(%a_k : memref<1x1x3xf32, strided<[12, 3, 1], offset: ?>>) seeds(%g : memref<1x3xf32>)
        into(%out : memref<1x3xf32>) {
    ^bb0(%at: vector<3xf32>, %gt: vector<3xf32>):
      bppsa.yield %gt : vector<3xf32>
    }
  }
  return
}

// -----

func.func private @no_products(%a: memref<8x3x4xf32>, %maps: memref<8x3x4x4xf32>) {
  scf.forall (%k) in (8) {
    %a_k = memref.subview %a[%k, 0, 0] [1, 3, 4] [1, 1, 1] : memref<8x3x4xf32> to memref<1x3x4xf32, strided<[12, 4, 1], offset: ?>>
    %m_k = memref.subview %maps[%k, 0, 0, 0] [1, 3, 4, 4] [1, 1, 1, 1] : memref<8x3x4x4xf32> to memref<3x4x4xf32, strided<[16, 4, 1], offset: ?>>
    // expected-error @below {{cannot be mapped to 'column_tile', which needs vectors of f32 and products of cotangents with captured matrices; use block_per_column}}
    bppsa.transition states [4] saved(%a_k : memref<1x3x4xf32, strided<[12, 4, 1], offset: ?>>)
        into(%m_k : memref<3x4x4xf32, strided<[16, 4, 1], offset: ?>>)
        attributes {bppsa.mapping = #bppsa.gpu_mapping<column_tile, threads = 32, columns = 1>} {
    ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
      bppsa.yield %gt : vector<4xf32>
    }
  }
  return
}

// -----

func.func private @slices_of_columns(%a: memref<8x3x4xf32>, %w: memref<2x4xf32>, %maps: memref<8x3x4x4xf32>) {
  scf.forall (%k) in (8) {
    %a_k = memref.subview %a[%k, 0, 0] [1, 3, 4] [1, 1, 1] : memref<8x3x4xf32> to memref<1x3x4xf32, strided<[12, 4, 1], offset: ?>>
    %m_k = memref.subview %maps[%k, 0, 0, 0] [1, 3, 4, 4] [1, 1, 1, 1] : memref<8x3x4x4xf32> to memref<3x4x4xf32, strided<[16, 4, 1], offset: ?>>
    // expected-error @below {{cannot be mapped to 'thread_per_column', which needs that the threads of a column do not share rows of slices; use block_per_column}}
    bppsa.transition states [4] saved(%a_k : memref<1x3x4xf32, strided<[12, 4, 1], offset: ?>>)
        captures(%w : memref<2x4xf32>)
        into(%m_k : memref<3x4x4xf32, strided<[16, 4, 1], offset: ?>>)
        attributes {bppsa.mapping = #bppsa.gpu_mapping<thread_per_column, threads = 32, parts = 2>} {
    ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<2x4xf32>):
      %0 = vector.extract_strided_slice %gt {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
      %1 = bppsa.matvec transposed %wc, %0 : vector<2x4xf32>, vector<2xf32> -> vector<4xf32>
      bppsa.yield %1 : vector<4xf32>
    }
  }
  return
}
