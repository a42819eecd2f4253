//===- BPPSARunningSumOps.td - running sums across loops ---*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSARUNNINGSUMOPS
#define BPPSA_DIALECT_BPPSA_IR_BPPSARUNNINGSUMOPS

include "bppsa/Dialect/BPPSA/IR/BPPSAOpBase.td"

def BPPSA_AddToSumsOp : BPPSA_ArrayOp<"add_to_sums", [
    DestinationStyleOpInterface, BPPSA_PackableOpInterface]> {
  let summary = "Add the steps of packed sequences to running sums";
  let description = [{
    Computes the part of an `outer_sum` of `lhs` and `rhs`, or of a `step_sum` of `lhs`, that
    belongs to the steps of one segment. Operands are packed, `[ceil(B/L), T, N, L]`. The running
    sums `into` are `[ceil(B/L), M, K, L]`, or `[ceil(B/L), M, L]` without `rhs`.

    Steps are added in slabs of 32, from the last slab to the first; with `reverse`, from the first
    to the last. Segments of whole slabs therefore produce bitwise the same result as one sum over
    all steps. `finish_sums` ignores lanes beyond the last sample.

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
    bool addsToDestinations() { return true; }
  }];
  let hasVerifier = 1;
}

def BPPSA_FinishSumsOp : BPPSA_ArrayOp<"finish_sums", [
    AttrSizedOperandSegments, BPPSA_PackableOpInterface]> {
  let summary = "Reduce running sums over blocks and lanes";
  let description = [{
    Reduces the running sums of `add_to_sums`, `[ceil(B/L), N..., L]`, to one sum `[N...]`. Blocks
    are added from the last to the first, then lanes. `batch` is the number of samples B; lanes
    without a sample are ignored. Without `batch` every lane holds a sample.

    ```mlir
    %w = bppsa.finish_sums 16 %s batch %b : tensor<?x20x3x16xf32> -> tensor<20x3xf32>
    ```
  }];
  let arguments = (ins BPPSA_Shaped:$sums, Optional<Index>:$batch, Optional<AnyMemRef>:$destination,
                       I64Attr:$lanes);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    $lanes $sums (`batch` $batch^)? (`into` $destination^)? attr-dict
    `:` type($sums) (`into` type($destination)^)? (`->` type($result)^)?
  }];
  let hasVerifier = 1;
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSARUNNINGSUMOPS
