//===- BPPSAChunkOps.td - chunks of time in SIMD lanes -----*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSACHUNKOPS
#define BPPSA_DIALECT_BPPSA_IR_BPPSACHUNKOPS

include "bppsa/Dialect/BPPSA/IR/BPPSALayoutOps.td"

def BPPSA_PackChunksOp : BPPSA_LayoutOp<"pack_chunks", BPPSA_PackableOpInterface> {
  let summary = "Pack chunks of time into SIMD lanes";
  let description = [{
    Splits each sample of `source`, `[B, T, N, 1]` (packed into one lane), into n = T/C chunks of
    `steps` = C steps, and packs the chunks into L lanes: `[ceil(B n/L), C, N, L]`. Chunk k of
    sample b is row `b n + k`; each block holds L rows in its lanes. T must be a multiple of C.
    Lanes beyond the last row are zero.

    ```mlir
    %p = bppsa.pack_chunks 16, %x steps %c : tensor<?x?x4x1xf32> -> tensor<?x?x4x16xf32>
    ```
  }];
  let arguments = (ins BPPSA_Shaped:$source, Index:$steps, Optional<AnyMemRef>:$destination,
                       I64Attr:$lanes);
  let assemblyFormat = [{
    $lanes `,` $source `steps` $steps (`into` $destination^)? attr-dict
    `:` type($source) (`into` type($destination)^)? (`->` type($result)^)?
  }];
}

def BPPSA_UnpackChunksOp : BPPSA_ArrayOp<"unpack_chunks", [
    DestinationStyleOpInterface, BPPSA_PackableOpInterface]> {
  let summary = "Unpack chunks of time from SIMD lanes";
  let description = [{
    Inverse of `pack_chunks`. Writes the chunks of `source`, `[ceil(B n/L), C, N, L]`, to `into`,
    sequences `[B, n C, N, 1]` in one lane. `into` may be a subview and is overwritten.

    ```mlir
    %x = bppsa.unpack_chunks 16, %p into %e : tensor<?x?x4x16xf32> into tensor<?x?x4x1xf32>
        -> tensor<?x?x4x1xf32>
    ```
  }];
  let arguments = (ins BPPSA_Shaped:$source, BPPSA_Shaped:$destination, I64Attr:$lanes);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    $lanes `,` $source `into` $destination attr-dict
    `:` type($source) `into` type($destination) (`->` type($result)^)?
  }];
  let hasVerifier = 1;
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSACHUNKOPS
