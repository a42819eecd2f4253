//===- BPPSASumOps.td - sums over samples and steps --------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSASUMOPS
#define BPPSA_DIALECT_BPPSA_IR_BPPSASUMOPS

include "bppsa/Dialect/BPPSA/IR/BPPSAOpBase.td"

class BPPSA_SumOp<string mnemonic> : BPPSA_ArrayOp<mnemonic, [
    AttrSizedOperandSegments, BPPSA_PackedOperands]> {
  let hasVerifier = 1;
}

def BPPSA_OuterSumOp : BPPSA_SumOp<"outer_sum"> {
  let summary = "Sum outer products over samples and steps";
  let description = [{
    Computes `result[m, k] = sum over t, b of lhs[t, b, m] * rhs[t, b, k]`: the gradient of a matrix
    that a cell multiplies with a vector. Operands are sequences `[T, B, N]`, or packed sequences
    `[ceil(B/L), T, N, L]` with `lanes = L`.

    With `lanes`, `batch` is the number of samples B, and lanes beyond the last sample are ignored
    whatever they contain. Without `batch` every lane holds a sample.

    ```mlir
    %dw = bppsa.outer_sum %g, %x : tensor<?x?x4xf32>, tensor<?x?x3xf32> -> tensor<4x3xf32>
    ```
  }];
  let arguments = (ins BPPSA_Shaped:$lhs, BPPSA_Shaped:$rhs, Optional<Index>:$batch,
                       Optional<AnyMemRef>:$destination, OptionalAttr<I64Attr>:$lanes);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    (`lanes` $lanes^)? $lhs `,` $rhs (`batch` $batch^)? (`into` $destination^)? attr-dict
    `:` type($lhs) `,` type($rhs) (`into` type($destination)^)? (`->` type($result)^)?
  }];
}

def BPPSA_StepSumOp : BPPSA_SumOp<"step_sum"> {
  let summary = "Sum a sequence over samples and steps";
  let description = [{
    Computes `result[n] = sum over t, b of sequence[t, b, n]`: the gradient of a vector that a cell
    adds or multiplies elementwise. Layouts and `batch` are as in `outer_sum`.

    ```mlir
    %db = bppsa.step_sum %g : tensor<?x?x4xf32> -> tensor<4xf32>
    ```
  }];
  let arguments = (ins BPPSA_Shaped:$sequence, Optional<Index>:$batch,
                       Optional<AnyMemRef>:$destination, OptionalAttr<I64Attr>:$lanes);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    (`lanes` $lanes^)? $sequence (`batch` $batch^)? (`into` $destination^)? attr-dict
    `:` type($sequence) (`into` type($destination)^)? (`->` type($result)^)?
  }];
}

def BPPSA_ReduceSumsOp : BPPSA_ArrayOp<"reduce_sums"> {
  let summary = "Reduce partial sums";
  let description = [{
    Adds up the K * B vectors of `parts` `[K, B, N]` and splits the total into the results, which
    are vectors or matrices. Each vector concatenates the elements of all results, each in
    column-major order: the flat sums of chains over different steps and samples.

    ```mlir
    %dw, %db = bppsa.reduce_sums %parts : tensor<?x?x80xf32> -> tensor<20x3xf32>, tensor<20xf32>
    ```
  }];
  let arguments = (ins BPPSA_Shaped:$parts, Variadic<AnyMemRef>:$destinations);
  let results = (outs Variadic<AnyRankedTensor>:$sums);
  let assemblyFormat = [{
    $parts (`into` $destinations^)? attr-dict `:` type($parts)
    (`into` type($destinations)^)? (`->` type($sums)^)?
  }];
  let hasVerifier = 1;
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSASUMOPS
