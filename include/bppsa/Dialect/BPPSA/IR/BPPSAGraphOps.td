//===- BPPSAGraphOps.td - ops of a graph -------------------*- tablegen -*-===//
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
  let summary = "the operand, with a zero derivative";
  let arguments = (ins AnyType:$operand);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

def BPPSA_DropoutOp : BPPSA_Op<"dropout", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "drops elements while training, does nothing else";
  let description = [{
    While a model is trained each element is zero with probability `ratio` and
    is divided by `1 - ratio` otherwise; everywhere else the op is the identity.
    `stream` tells the dropouts of one graph apart. See
    `bppsa-specialize-training`.
  }];
  let arguments = (ins AnyRankedTensor:$input, F64Attr:$ratio, I64Attr:$stream);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `ratio` $ratio `stream` $stream attr-dict `:` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def BPPSA_RunningStatisticOp : BPPSA_Op<"running_statistic", [
    Pure, AllTypesMatch<["batch", "running", "statistic", "next"]>]> {
  let summary = "the statistic of the batch while training, the running one elsewhere";
  let description = [{
    While a model is trained `statistic` is `batch`, and `next` is `running *
    momentum + batch * (1 - momentum)`, which becomes the running statistic
    after the step; everywhere else both are `running`. See
    `bppsa-specialize-training`.
  }];
  let arguments = (ins AnyRankedTensor:$batch, AnyRankedTensor:$running, F64Attr:$momentum);
  let results = (outs AnyRankedTensor:$statistic, AnyRankedTensor:$next);
  let assemblyFormat = "$batch `of` $running `momentum` $momentum attr-dict `:` type($running)";
  let hasVerifier = 1;
}

def BPPSA_MarkPhaseOp : BPPSA_Op<"mark_phase"> {
  let summary = "tells the run time that a phase of a training step begins";
  let description = [{
    Phases are timed by the benchmark command of a compiled program:
    0 forward, 1 backward.
  }];
  let arguments = (ins I64Attr:$phase);
  let assemblyFormat = "$phase attr-dict";
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSAGRAPHOPS
