//===- BPPSAChunkOps.td - chunks of time in SIMD lanes -----*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSACHUNKOPS
#define BPPSA_DIALECT_BPPSA_IR_BPPSACHUNKOPS

include "bppsa/Dialect/BPPSA/IR/BPPSALayoutOps.td"

def BPPSA_PackChunksOp : BPPSA_LayoutOp<"pack_chunks"> {
  let summary = "groups chunks of time into SIMD lanes";
  let description = [{
    Cuts each sample of `source`, `[B, T, N, 1]` as it is packed into one lane, into n = T/C
    chunks of `steps` = C steps; T must be a multiple of C. Row `b n + k` of the result
    is chunk k of sample b, and L rows are in the lanes of a block: `[ceil(B n/L), C, N, L]`.
    Lanes beyond the last row are zero.

    ```mlir
    %p = bppsa.pack_chunks 16, %x steps %c : tensor<?x?x4x1xf32> -> tensor<?x?x4x16xf32>
    ```
  }];
  let arguments = (ins BPPSA_Shaped:$source, Index:$steps, Optional<AnyMemRef>:$destination,
                       I64Attr:$lanes);
  let assemblyFormat = [{
    $lanes `,` $source `steps` $steps (`into` $destination^ `:` type($destination))? attr-dict
    `:` type($source) (`->` type($result)^)?
  }];
}

def BPPSA_UnpackChunksOp : BPPSA_Op<"unpack_chunks", [
    DestinationStyleOpInterface, BPPSA_Kernel, BPPSA_PackableOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>]> {
  let summary = "undoes `pack_chunks`";
  let description = [{
    Writes the chunks of `source`, `[ceil(B n/L), C, N, L]`, to the sequences of one lane `into`,
    `[B, n C, N, 1]`, which may be a part of an array. `into` is overwritten.

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
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getDestinationMutable(); }
  }];
  let hasVerifier = 1;
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSACHUNKOPS
