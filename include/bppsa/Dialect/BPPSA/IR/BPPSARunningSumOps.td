//===- BPPSARunningSumOps.td - sums that go on from loop to loop *- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSARUNNINGSUMOPS
#define BPPSA_DIALECT_BPPSA_IR_BPPSARUNNINGSUMOPS

include "bppsa/Dialect/BPPSA/IR/BPPSAOpBase.td"

def BPPSA_AddToSumsOp : BPPSA_Op<"add_to_sums", [
    DestinationStyleOpInterface, BPPSA_Kernel, BPPSA_PackableOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>]> {
  let summary = "adds the steps of packed sequences to running sums";
  let description = [{
    Part of an `outer_sum` of `lhs` and `rhs`, or of a `step_sum` of `lhs` alone, over the steps
    of a segment. Operands are packed, `[ceil(B/L), T, N, L]`; the running sums `into` are
    `[ceil(B/L), M, K, L]`, or `[ceil(B/L), M, L]` without `rhs`: each block of samples has its own, in all
    lanes. Slabs of 32 steps are added from the last to the first, with `reverse` from the
    first to the last. So segments of whole slabs that come in that order add up to the bits of the
    sum over all steps. Lanes beyond the last sample are added as well; `finish_sums` leaves them out.

    ```mlir
    %r = bppsa.add_to_sums 16 %g, %x into %s : tensor<?x?x20x16xf32>, tensor<?x?x3x16xf32>
        into tensor<?x20x3x16xf32> -> tensor<?x20x3x16xf32>
    ```
  }];
  let arguments = (ins BPPSA_Shaped:$lhs, Optional<BPPSA_Shaped>:$rhs, BPPSA_Shaped:$destination,
                       I64Attr:$lanes, UnitAttr:$reverse);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    $lanes (`reverse` $reverse^)? $lhs (`,` $rhs^)? `into` $destination attr-dict
    `:` type($lhs) (`,` type($rhs)^)? `into` type($destination) (`->` type($result)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getDestinationMutable(); }
  }];
  let hasVerifier = 1;
}

def BPPSA_FinishSumsOp : BPPSA_Op<"finish_sums", [
    AttrSizedOperandSegments, BPPSA_Kernel, BPPSA_PackableOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>]> {
  let summary = "adds up the running sums of blocks and lanes";
  let description = [{
    The running sums of `add_to_sums`, `[ceil(B/L), N..., L]`, become one sum `[N...]`: blocks
    are added from the last to the first, then lanes. With `batch`, the number of samples B, lanes that hold no sample are left out; without it
    every lane holds one.

    ```mlir
    %w = bppsa.finish_sums 16 %s batch %b : tensor<?x20x3x16xf32> -> tensor<20x3xf32>
    ```
  }];
  let arguments = (ins BPPSA_Shaped:$sums, Optional<Index>:$batch, Optional<AnyMemRef>:$destination,
                       I64Attr:$lanes);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    $lanes $sums (`batch` $batch^)? (`into` $destination^ `:` type($destination))? attr-dict
    `:` type($sums) (`->` type($result)^)?
  }];
  let hasVerifier = 1;
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSARUNNINGSUMOPS
