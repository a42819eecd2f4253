// RUN: bppsa-opt %s --bgpu-allocate-shared --split-input-file --verify-diagnostics

func.func @uses(%n: index, %tile: tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  bgpu.kernel blocks(%block in %n) threads(32) {
    // expected-error @below {{is read by 'memref.dim'; use memref.load}}
    %whole = bgpu.share %tile : tensor<8xf32>
    %size = memref.dim %whole, %c0 : memref<8xf32, #gpu.address_space<workgroup>>
  }
  return
}

// -----

func.func @steps(%n: index, %tile: tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  bgpu.kernel blocks(%block in %n) threads(32) {
    %last = scf.for %i = %c0 to %n step %n iter_args(%carried = %tile) -> (tensor<8xf32>) {
      // expected-error @below {{is in a loop whose steps are not known to be 1, by whose number it has one of two arrays by turns; use steps of 1}}
      %whole = bgpu.share %carried : tensor<8xf32>
      scf.yield %carried : tensor<8xf32>
    }
  }
  return
}
