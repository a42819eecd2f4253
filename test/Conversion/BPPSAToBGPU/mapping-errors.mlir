// RUN: bppsa-opt %s --convert-bppsa-to-bgpu --split-input-file --verify-diagnostics -o /dev/null

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
    bppsa.chain saved(%a_k : memref<1x1x3xf32, strided<[12, 3, 1], offset: ?>>) seeds(%g : memref<1x3xf32>) inject_into []
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
    bppsa.transition states [4] saved(%a_k : memref<1x3x4xf32, strided<[12, 4, 1], offset: ?>>) inject_into []
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
    // expected-error @below {{cannot be mapped to 'thread_per_column', which needs a column's threads not to share rows of slices; use block_per_column}}
    bppsa.transition states [4] saved(%a_k : memref<1x3x4xf32, strided<[12, 4, 1], offset: ?>>) inject_into []
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
