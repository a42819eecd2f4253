//===- BPPSAGraphOps.td - training-dependent graph ops -----*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSAGRAPHOPS
#define BPPSA_DIALECT_BPPSA_IR_BPPSAGRAPHOPS

include "bppsa/Dialect/BPPSA/IR/BPPSAOpBase.td"

def BPPSA_StopGradientOp : BPPSA_Op<"stop_gradient", [
    Pure, SameOperandsAndResultType,
    DeclareOpInterfaceMethods<BPPSA_CellOpInterface, ["getSlope"]>]> {
  let summary = "Return the operand, with a zero derivative";
  let arguments = (ins AnyType:$operand);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

def BPPSA_DropoutOp : BPPSA_Op<"dropout", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "Drop elements at random during training";
  let description = [{
    During training, sets each element to zero with probability `ratio` and divides it by
    `1 - ratio` otherwise. Outside training the op is the identity. `stream` distinguishes the
    dropouts of one graph. See `bppsa-specialize-training`.

    ```mlir
    %y = bppsa.dropout %x ratio 5.000000e-01 stream 0 : tensor<?x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, F64Attr:$ratio, I64Attr:$stream);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `ratio` $ratio `stream` $stream attr-dict `:` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def BPPSA_RunningStatisticOp : BPPSA_Op<"running_statistic", [
    Pure, AllTypesMatch<["batch", "running", "statistic", "next"]>]> {
  let summary = "Select the batch statistic for training and the running statistic otherwise";
  let description = [{
    During training, `statistic` is `batch`, and `next` is
    `running * momentum + batch * (1 - momentum)`, the running statistic after the step. Outside
    training both results are `running`. See `bppsa-specialize-training`.

    ```mlir
    %statistic, %next = bppsa.running_statistic %mean of %running momentum 9.000000e-01 : tensor<8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$batch, AnyRankedTensor:$running, F64Attr:$momentum);
  let results = (outs AnyRankedTensor:$statistic, AnyRankedTensor:$next);
  let assemblyFormat = "$batch `of` $running `momentum` $momentum attr-dict `:` type($running)";
  let hasVerifier = 1;
}

def BPPSA_MarkPhaseOp : BPPSA_Op<"mark_phase"> {
  let summary = "Mark the start of a phase of a training step";
  let description = [{
    Notifies the run time that phase `phase` begins: 0 is forward, 1 is backward. The `bench`
    command of a compiled program times the phases.

    ```mlir
    bppsa.mark_phase 1
    ```
  }];
  let arguments = (ins I64Attr:$phase);
  let assemblyFormat = "$phase attr-dict";
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSAGRAPHOPS
