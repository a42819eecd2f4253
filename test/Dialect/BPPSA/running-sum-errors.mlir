// RUN: bppsa-opt %s -split-input-file -verify-diagnostics

func.func @rank(%d: memref<?x?x4xf32>, %s: memref<?x4x16xf32>) {
  // expected-error @below {{a sequence must have rank 4 and 16 lanes in its last dimension, found 'memref<?x?x4xf32>'}}
  bppsa.add_to_sums 16 %d into %s : memref<?x?x4xf32> into memref<?x4x16xf32>
  return
}

// -----

func.func @shape(%d: memref<?x?x4x16xf32>, %x: memref<?x?x3x16xf32>, %s: memref<?x3x4x16xf32>) {
  // expected-error @below {{needs running sums of shape 'tensor<?x4x3x16xf32>', found 'memref<?x3x4x16xf32>'}}
  bppsa.add_to_sums 16 %d, %x into %s : memref<?x?x4x16xf32>, memref<?x?x3x16xf32> into memref<?x3x4x16xf32>
  return
}

// -----

func.func @no_result(%d: tensor<?x?x4x16xf32>, %s: tensor<?x4x16xf32>) {
  // expected-error @below {{with the destination 'tensor<?x4x16xf32>' must have one result of that type}}
  bppsa.add_to_sums 16 %d into %s : tensor<?x?x4x16xf32> into tensor<?x4x16xf32>
  return
}

// -----

func.func @result_on_memory(%d: memref<?x?x4x16xf32>, %s: memref<?x4x16xf32>) {
  // expected-error @below {{with the destination 'memref<?x4x16xf32>' must have no results}}
  %0 = bppsa.add_to_sums 16 %d into %s : memref<?x?x4x16xf32> into memref<?x4x16xf32> -> tensor<?x4x16xf32>
  return
}

// -----

func.func @no_sum(%s: memref<?x4x16xf32>) {
  // expected-error @below {{must have either a result or a destination}}
  bppsa.finish_sums 16 %s : memref<?x4x16xf32>
  return
}

// -----

func.func @lanes(%s: tensor<?x4x8xf32>) -> tensor<4xf32> {
  // expected-error @below {{running sums must have blocks, 16 lanes in their last dimension and others between, found 'tensor<?x4x8xf32>'}}
  %0 = bppsa.finish_sums 16 %s : tensor<?x4x8xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @sum(%s: tensor<?x4x16xf32>) -> tensor<5xf32> {
  // expected-error @below {{needs a result with the dimensions of 'tensor<?x4x16xf32>' between blocks and lanes, found 'tensor<5xf32>'}}
  %0 = bppsa.finish_sums 16 %s : tensor<?x4x16xf32> -> tensor<5xf32>
  return %0 : tensor<5xf32>
}
