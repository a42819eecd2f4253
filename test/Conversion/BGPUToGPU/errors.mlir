// RUN: bppsa-opt %s --convert-bgpu-to-gpu --split-input-file --verify-diagnostics

func.func @reduction(%n: index, %x: memref<4xf32>) {
  bgpu.kernel blocks(%block in %n) threads(32) {
    %tile = arith.constant dense<1.0> : tensor<4x8xf32>
    // expected-error @below {{needs shared memory; run bgpu-allocate-shared first}}
    %total = bgpu.reduce <add> %tile : tensor<4x8xf32> -> tensor<1x8xf32>
    bgpu.for_each [1, 8] %total : tensor<1x8xf32> {
    ^bb0(%i: index, %j: index, %value: f32):
      memref.store %value, %x[%i] : memref<4xf32>
    }
  }
  return
}

// -----

func.func @dynamic_array(%n: index) {
  bgpu.kernel blocks(%block in %n) threads(32) {
    // expected-error @below {{needs a static shape in shared memory}}
    %array = memref.alloc(%n) : memref<?x8xf32, #gpu.address_space<workgroup>>
  }
  return
}

// -----

func.func @other_element(%n: index, %x: memref<8xf32>) {
  bgpu.kernel blocks(%block in %n) threads(32) {
    %tile = arith.constant dense<1.0> : tensor<8xf32>
    // expected-error @below {{has a tile in its body, in which each thread has a single element; pass tiles with bgpu.put and bgpu.get}}
    bgpu.for_each [8] %tile : tensor<8xf32> {
    ^bb0(%i: index, %value: f32):
      %c0 = arith.constant 0 : index
      %first = tensor.extract %tile[%c0] : tensor<8xf32>
      memref.store %first, %x[%i] : memref<8xf32>
    }
  }
  return
}

// -----

func.func @outside(%n: index, %tile: tensor<8xf32>, %x: memref<8xf32>) {
  // expected-error @below {{uses a tensor from outside, which is in no memory of the GPU; bufferize it first}}
  bgpu.kernel blocks(%block in %n) threads(32) {
    bgpu.for_each [8] %tile : tensor<8xf32> {
    ^bb0(%i: index, %value: f32):
      memref.store %value, %x[%i] : memref<8xf32>
    }
  }
  return
}

// -----

func.func @other_operation(%n: index, %x: memref<8xf32>) {
  bgpu.kernel blocks(%block in %n) threads(32) {
    %tile = arith.constant dense<1.0> : tensor<2x4xf32>
    // expected-error @below {{cannot be distributed to threads in a kernel; move the computation of one element into tensor.generate or bgpu.for_each}}
    %flat = tensor.collapse_shape %tile [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
    bgpu.for_each [8] %flat : tensor<8xf32> {
    ^bb0(%i: index, %value: f32):
      memref.store %value, %x[%i] : memref<8xf32>
    }
  }
  return
}

// -----

func.func @shared_tile(%n: index) {
  bgpu.kernel blocks(%block in %n) threads(32) {
    %tile = arith.constant dense<1.0> : tensor<8xf32>
    // expected-error @below {{needs shared memory; run bgpu-allocate-shared first}}
    %whole = bgpu.share %tile : tensor<8xf32>
  }
  return
}

// -----

func.func @fetched_vector(%n: index, %x: memref<?x20xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  bgpu.kernel blocks(%block in %n) threads(32) {
    scf.for %i = %c0 to %n step %c1 {
      // expected-error @below {{needs copies; run bgpu-stage-copies first}}
      %vector = bgpu.fetch %x[%i] stages(4) : memref<?x20xf32>
    }
  }
  return
}
