// RUN: bppsa-opt %s --split-input-file --verify-diagnostics

func.func @lanes(%x: tensor<?x?x4x1xf32>, %c: index) {
  // expected-error @below {{'bppsa.pack_chunks' op lanes must be positive, found 0}}
  %0 = bppsa.pack_chunks 0, %x steps %c : tensor<?x?x4x1xf32> -> tensor<?x?x4x0xf32>
  return
}

// -----

func.func @plain(%x: tensor<?x?x4xf32>, %c: index) {
  // expected-error @below {{cuts sequences of one lane, [B, T, N, 1], into chunks, found 'tensor<?x?x4xf32>'; pack it into one lane first}}
  %0 = bppsa.pack_chunks 16, %x steps %c : tensor<?x?x4xf32> -> tensor<?x?x4x16xf32>
  return
}

// -----

func.func @values(%x: tensor<?x?x4x1xf32>, %c: index) {
  // expected-error @below {{chunks of 'tensor<?x?x4x1xf32>' must be an array of rank 4 of 4 values in 16 lanes, found 'tensor<?x?x5x16xf32>'}}
  %0 = bppsa.pack_chunks 16, %x steps %c : tensor<?x?x4x1xf32> -> tensor<?x?x5x16xf32>
  return
}

// -----

func.func @no_result(%x: tensor<?x?x4x16xf32>, %y: tensor<?x?x4x1xf32>) {
  // expected-error @below {{'bppsa.unpack_chunks' op with the destination 'tensor<?x?x4x1xf32>' must have one result of that type}}
  bppsa.unpack_chunks 16, %x into %y : tensor<?x?x4x16xf32> into tensor<?x?x4x1xf32>
  return
}
