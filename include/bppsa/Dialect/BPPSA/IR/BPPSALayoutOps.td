//===- BPPSALayoutOps.td - SIMD lane layouts ---------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSALAYOUTOPS
#define BPPSA_DIALECT_BPPSA_IR_BPPSALAYOUTOPS

include "bppsa/Dialect/BPPSA/IR/BPPSAOpBase.td"

class BPPSA_LayoutOp<string mnemonic, Trait packable> : BPPSA_ArrayOp<mnemonic, [packable]> {
  let arguments = (ins BPPSA_Shaped:$source, Optional<AnyMemRef>:$destination, I64Attr:$lanes);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let hasVerifier = 1;
}

def BPPSA_PackLanesOp : BPPSA_LayoutOp<"pack_lanes", BPPSA_PackedOperands> {
  let summary = "Pack samples into SIMD lanes";
  let description = [{
    Converts `[T, B, N]` to `[ceil(B/L), T, N, L]` and `[B, N]` to `[ceil(B/L), N, L]`. Lanes beyond
    the last sample are zero.

    ```mlir
    %p = bppsa.pack_lanes 16, %x : tensor<?x?x3xf32> -> tensor<?x?x3x16xf32>
    ```
  }];
  let assemblyFormat = [{
    $lanes `,` $source (`into` $destination^)? attr-dict
    `:` type($source) (`into` type($destination)^)? (`->` type($result)^)?
  }];
}

def BPPSA_UnpackLanesOp : BPPSA_LayoutOp<"unpack_lanes", BPPSA_PackedOperands> {
  let summary = "Unpack samples from SIMD lanes";
  let description = [{
    Inverse of `pack_lanes`. `batch` is the number of samples B of the result.

    ```mlir
    %x = bppsa.unpack_lanes 16, %p, %batch : tensor<?x?x3x16xf32> -> tensor<?x?x3xf32>
    ```
  }];
  let arguments = (ins BPPSA_Shaped:$source, Index:$batch, Optional<AnyMemRef>:$destination,
                       I64Attr:$lanes);
  let assemblyFormat = [{
    $lanes `,` $source `,` $batch (`into` $destination^)? attr-dict
    `:` type($source) (`into` type($destination)^)? (`->` type($result)^)?
  }];
  let hasFolder = 1;
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSALAYOUTOPS
